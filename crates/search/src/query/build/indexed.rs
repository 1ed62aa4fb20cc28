//! Words that an index of text is asked for: a word or a text alone.

use stead_text::{Affix, Analysis, Language, Pattern, Phrases, Unit, compared, without_accents};

use super::super::error::SearchError;
use super::super::fields::Searched;
use super::super::tree::{Indexed, Test, Tree};
use super::{Builder, fail};

/// Of `nonEmpty` around a text without words (Vespa, `YqlParser.java`).
pub(super) const EMPTY: &str = "Searching for empty string inside nonEmpty()";

impl Builder<'_> {
    /// The words of a text as a field's index has them: a phrase where there are several, or all grams. `part` is what people typed with `*`
    /// beside it, which means nothing beside several words and, but for beginnings, in an index that the schema does not want matched
    /// so (Vespa, `StructuredParser.java`, `memory_index.cpp`).
    pub(super) fn indexed(
        &mut self,
        (field, index): (&Searched, usize),
        text: &str,
        part: Option<Affix>,
    ) -> Result<Tree, SearchError> {
        let part = part.filter(|part| *part == Affix::Prefix || self.may_be(field, *part));
        let affix = match part {
            Some(part) => Some(part),
            None => self.text_mode(field)?,
        };
        let analysis = self.analysis(index, affix.is_some())?;
        let terms = self.terms(&analysis, text)?;
        if part.is_some() && terms.len() > 1 {
            return self.indexed((field, index), text, None);
        }
        if let (Unit::Gram(_), None) = (analysis.unit, affix) {
            return self.grams(field, index, terms);
        }
        let pattern = match (<[String; 1]>::try_from(terms), affix) {
            (Ok([term]), Some(affix)) => Pattern::Part(affix, term),
            (Ok([term]), None) => Pattern::Term(term),
            // Where a schema says that words are parts, texts of several are phrases still.
            (Err(terms), affix)
                if !terms.is_empty()
                    && (affix.is_none() || self.searches.documents.is_of_stream()) =>
            {
                Pattern::Phrases(Phrases::one(terms))
            }
            (Err(terms), Some(affix)) if !terms.is_empty() => {
                let how = match affix {
                    Affix::Prefix => "to begin with",
                    Affix::Infix => "or a part of one",
                    Affix::Suffix => "to end with",
                };
                return fail(format_args!("expected one word {how}, got {text:.40?}"));
            }
            (Err(_), _) if self.is_non_empty => return fail(EMPTY),
            // Nothing to look for is found nowhere.
            (Err(_), _) => return Ok(Tree::None),
        };
        self.pattern(field, index, pattern)
    }

    /// A test of an index.
    pub(super) fn pattern(
        &mut self,
        field: &Searched,
        index: usize,
        pattern: Pattern,
    ) -> Result<Tree, SearchError> {
        self.term(&field.name, Test::Indexed(Indexed { index, pattern }))
    }

    /// How the words of a query become those of an index, by what its annotations say.
    pub(super) fn analysis(&self, index: usize, is_part: bool) -> Result<Analysis, SearchError> {
        let found = self.searches.documents.texts().get(index);
        let mut analysis = found.map(|of| of.analysis).unwrap_or_default();
        analysis.unit = analysis.unit.of_queries();
        // A part of a word has no stem.
        let is_stemmed = self.is_transformed()? && self.bool_annotation("stem")?.unwrap_or(true);
        analysis.is_stemmed &= !is_part && is_stemmed;
        analysis.drops_accents &= self.bool_annotation("accentDrop")?.unwrap_or(true);
        analysis.is_cased |= !self.bool_annotation("normalizeCase")?.unwrap_or(true);
        Ok(analysis)
    }

    /// The words of a text, in the language of the query's words where it stands; the text as one where nothing is to be made of it.
    pub(super) fn terms(
        &self,
        analysis: &Analysis,
        text: &str,
    ) -> Result<Vec<String>, SearchError> {
        if analysis.unit == Unit::Word && !self.is_transformed()? {
            let small = compared(text, analysis.is_cased);
            let word = match analysis.drops_accents {
                true => without_accents(&small),
                false => small.into_owned(),
            };
            return Ok(Some(word).filter(|word| !word.is_empty()).into_iter().collect());
        }
        let own = self.language_annotation()?;
        let tag = own.as_deref().or(self.language.as_deref());
        let language = tag.map_or_else(Language::english, Language::of_tag);
        Ok(analysis.terms(text, language).map(|term| term.text.into_owned()).collect())
    }

    /// The tag of the language that an annotation says.
    pub(super) fn language_annotation(&self) -> Result<Option<String>, SearchError> {
        let is_one = |tag: &String| !["un", "unknown"].iter().any(|u| tag.eq_ignore_ascii_case(u));
        Ok(self.text_annotation("language")?.and_then(language).filter(is_one))
    }
}

/// The tag of a language, if something is said.
pub(super) fn language(tag: String) -> Option<String> {
    let tag = tag.trim();
    (!tag.is_empty()).then(|| tag.to_owned())
}
