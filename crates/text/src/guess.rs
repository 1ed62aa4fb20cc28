//! The language of a text by its letters.

/// The letters of a text that are looked at: no more say something else.
const MOST: usize = 256;

/// What a letter tells.
enum Told {
    Surely(&'static str),
    /// Unless others tell more.
    Maybe(&'static str),
}

fn told(letter: char) -> Option<Told> {
    match letter {
        '\u{0e00}'..='\u{0e7f}' => Some(Told::Surely("th")),
        // Hangul, and what is written with it
        '\u{1100}'..='\u{11ff}'
        | '\u{302e}'..='\u{302f}'
        | '\u{3130}'..='\u{318f}'
        | '\u{3200}'..='\u{321f}'
        | '\u{3260}'..='\u{327f}'
        | '\u{ac00}'..='\u{d7af}'
        | '\u{ffa0}'..='\u{ffdf}' => Some(Told::Surely("ko")),
        // Hiragana, Katakana and Kanbun
        '\u{3040}'..='\u{30ff}' | '\u{3190}'..='\u{319f}' | '\u{31f0}'..='\u{31ff}' => {
            Some(Told::Surely("ja"))
        }
        // Bopomofo
        '\u{3100}'..='\u{312f}' | '\u{31a0}'..='\u{31bf}' => Some(Told::Surely("zh-Hant")),
        // Ideographs of the first plane, their parts, signs and forms
        '\u{2e80}'..='\u{2eff}'
        | '\u{3000}'..='\u{303f}'
        | '\u{3300}'..='\u{33ff}'
        | '\u{3400}'..='\u{4dbf}'
        | '\u{4e00}'..='\u{9fff}'
        | '\u{f900}'..='\u{faff}'
        | '\u{fe30}'..='\u{fe4f}' => Some(Told::Maybe("zh-Hant")),
        _ => None,
    }
}

/// The tag of the language of a text whose letters tell it: Thai, Korean, Japanese or Chinese (Vespa,
/// `linguistics/src/main/java/com/yahoo/language/simple/SimpleDetector.java`). Nothing is known of languages that share their letters.
#[must_use]
pub fn guessed_language(text: &str) -> Option<&'static str> {
    let mut maybe = None;
    for letter in text.chars().take(MOST) {
        match told(letter) {
            Some(Told::Surely(tag)) => return Some(tag),
            Some(Told::Maybe(tag)) => maybe = Some(tag),
            None => {}
        }
    }
    maybe
}

#[cfg(test)]
mod tests {
    use super::guessed_language;

    #[test]
    fn letters_tell_languages() {
        for (text, expected) in [
            ("", None),
            ("hello caf\u{e9} \u{3b1}\u{434} \u{5d0}", None),
            ("\u{0e2a}\u{0e27}\u{0e31}", Some("th")),
            ("a \u{d55c}\u{ad6d}", Some("ko")),
            ("\u{65e5}\u{672c}", Some("zh-Hant")),
            ("\u{65e5}\u{672c}\u{306e}", Some("ja")),
            ("\u{65e5} \u{d55c} \u{306e}", Some("ko")),
            ("\u{3105}", Some("zh-Hant")),
            // The second plane tells nothing, as in Vespa.
            ("\u{20000}", None),
            (&("a".repeat(255) + "\u{306e}"), Some("ja")),
            (&("a".repeat(256) + "\u{306e}"), None),
        ] {
            assert_eq!(guessed_language(text), expected, "{text}");
        }
    }
}
