//! The order of texts in a language: the Unicode Collation Algorithm with the tables of CLDR, which Vespa's ICU has too.

use std::fmt;
use std::sync::Arc;

use icu_collator::options::{CollatorOptions, Strength};
use icu_collator::{Collator, CollatorBorrowed, CollatorPreferences};
use icu_locale_core::Locale;

/// How much of texts counts, by the names of queries: letters; accents too; capitals too; what is mostly left out, such as punctuation,
/// too; everything.
const STRENGTHS: [(&str, Strength); 5] = [
    ("primary", Strength::Primary),
    ("secondary", Strength::Secondary),
    ("tertiary", Strength::Tertiary),
    ("quaternary", Strength::Quaternary),
    ("identical", Strength::Identical),
];

/// The order of texts in a language.
#[derive(Clone)]
pub struct Collation {
    locale: String,
    strength: &'static str,
    collator: Arc<CollatorBorrowed<'static>>,
}

impl Collation {
    /// The order of a locale such as `nb_NO`, of a strength such as `tertiary`, whose capitals do not matter. Locales without an order of
    /// their own have that of all languages.
    ///
    /// # Errors
    /// When one of them is none, as a sentence for people.
    pub fn new(locale: &str, strength: &str) -> Result<Collation, String> {
        let known = match locale.trim() {
            // The name of ICU for the order of all languages.
            "root" => Ok(Locale::UNKNOWN),
            locale => Locale::try_from_str(&locale.replace('_', "-")),
        };
        let known = known.map_err(|_| format!("'{locale:.40}' is no locale such as en-US"))?;
        let row = STRENGTHS.iter().find(|(name, _)| name.eq_ignore_ascii_case(strength));
        let (strength, of) =
            row.ok_or_else(|| format!("Unknown collation strength: '{strength:.40}'"))?;
        let mut options = CollatorOptions::default();
        options.strength = Some(*of);
        let collator = Collator::try_new(CollatorPreferences::from(&known), options)
            .map_err(|error| format!("there is no order of texts for '{locale:.40}': {error}"))?;
        Ok(Collation { locale: known.to_string(), strength, collator: Arc::new(collator) })
    }

    /// The bytes that stand for a text: they are in the order that texts are in, and equal where these are.
    #[must_use]
    pub fn key(&self, text: &str) -> Vec<u8> {
        let mut key = Vec::new();
        // A vector takes all that is written.
        let Ok(()) = self.collator.write_sort_key_to(text, &mut key);
        key
    }
}

impl PartialEq for Collation {
    fn eq(&self, other: &Collation) -> bool {
        (&self.locale, self.strength) == (&other.locale, other.strength)
    }
}

impl Eq for Collation {}

impl fmt::Debug for Collation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.locale, self.strength)
    }
}

#[cfg(test)]
mod tests {
    use super::Collation;

    /// Texts from the least to the greatest, with `=` behind those that are as the one before.
    fn sorted(locale: &str, strength: &str, texts: &[&str]) -> String {
        let collation = Collation::new(locale, strength).unwrap();
        let mut keys: Vec<(Vec<u8>, &str)> =
            texts.iter().map(|text| (collation.key(text), *text)).collect();
        keys.sort_by(|a, b| a.0.cmp(&b.0));
        let mut shown = String::new();
        for (at, (key, text)) in keys.iter().enumerate() {
            let is_same = at > 0 && keys[at - 1].0 == *key;
            shown += if is_same { "=" } else { " " };
            shown += text;
        }
        shown.trim_start().to_owned()
    }

    #[test]
    fn texts_are_in_the_order_of_their_language() {
        for (locale, strength, texts, expected) in [
            // The examples of Unicode's report 10, table 1, and of ICU's guide.
            ("sv", "tertiary", &["z", "\u{f6}"][..], "z \u{f6}"),
            ("de", "tertiary", &["z", "\u{f6}"], "\u{f6} z"),
            ("de-u-co-phonebk", "tertiary", &["of", "\u{f6}f"], "\u{f6}f of"),
            (
                "en_US",
                "tertiary",
                &["role", "Role", "roles", "r\u{f4}le"],
                "role Role r\u{f4}le roles",
            ),
            ("en_US", "secondary", &["role", "Role", "r\u{f4}le"], "role=Role r\u{f4}le"),
            ("en_US", "PRIMARY", &["role", "Role", "r\u{f4}le"], "role=Role=r\u{f4}le"),
            // Norwegian writes an old letter as two.
            ("nb_NO", "primary", &["aa", "z", "\u{e5}"], "z aa=\u{e5}"),
            ("nb_NO", "tertiary", &["aa", "z", "\u{e5}"], "z \u{e5} aa"),
            ("en", "identical", &["a", "B", "A", "b"], "a A b B"),
            ("root", "primary", &["b", "a", ""], " a b"),
        ] {
            let expected = expected.trim_start();
            assert_eq!(sorted(locale, strength, texts), expected, "{locale} {strength}");
        }
    }

    #[test]
    fn what_is_no_locale_or_strength_is_named() {
        let error = |locale, strength| Collation::new(locale, strength).unwrap_err();
        assert_eq!(error("e", "primary"), "'e' is no locale such as en-US");
        assert_eq!(error("en", "iron"), "Unknown collation strength: 'iron'");
    }
}
