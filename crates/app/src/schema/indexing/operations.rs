//! The words of the indexing language, and what stands behind each of them.

/// What stands behind a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Takes {
    /// Nothing.
    Nothing,
    /// A field, or nothing for the field whose script it is.
    MayField,
    /// A name.
    Name,
    /// A text in quotes.
    Text,
    /// Whole numbers.
    Integers(usize),
    /// A whole number or nothing.
    MayInteger,
    /// A number or nothing.
    MayNumber,
    /// The id of a component or nothing, then any number of texts, numbers and names.
    Component,
    /// Settings of the analysis of text.
    Analysis,
    /// Flags of a weighted set.
    SetFlags,
}

/// Words and what stands behind them.
pub(super) const OPERATIONS: [(&str, Takes); 55] = [
    ("attribute", Takes::MayField),
    ("base64decode", Takes::Nothing),
    ("base64encode", Takes::Nothing),
    ("binarize", Takes::MayNumber),
    ("chunk", Takes::Component),
    ("clear_state", Takes::Nothing),
    ("documentid", Takes::MayField),
    ("echo", Takes::Nothing),
    ("embed", Takes::Component),
    ("exact", Takes::Analysis),
    ("flatten", Takes::Nothing),
    ("generate", Takes::Component),
    ("get_field", Takes::Name),
    ("get_language", Takes::Nothing),
    ("get_value", Takes::Name),
    ("get_var", Takes::Name),
    ("hash", Takes::Nothing),
    ("hex_decode", Takes::Nothing),
    ("hex_encode", Takes::Nothing),
    ("hexdecode", Takes::Nothing),
    ("hexencode", Takes::Nothing),
    ("hostname", Takes::Nothing),
    ("index", Takes::MayField),
    ("input", Takes::MayField),
    ("join", Takes::Text),
    ("lowercase", Takes::Nothing),
    ("ngram", Takes::Integers(1)),
    ("normalize", Takes::Nothing),
    ("now", Takes::Nothing),
    ("optimize_predicate", Takes::Nothing),
    ("pack_bits", Takes::Nothing),
    ("passthrough", Takes::MayField),
    ("random", Takes::MayInteger),
    ("set_language", Takes::Nothing),
    ("set_var", Takes::Name),
    ("split", Takes::Text),
    ("substring", Takes::Integers(2)),
    ("summary", Takes::MayField),
    ("this", Takes::Nothing),
    ("to_array", Takes::Nothing),
    ("to_bool", Takes::Nothing),
    ("to_byte", Takes::Nothing),
    ("to_double", Takes::Nothing),
    ("to_epoch_second", Takes::Nothing),
    ("to_float", Takes::Nothing),
    ("to_int", Takes::Nothing),
    ("to_long", Takes::Nothing),
    ("to_pos", Takes::Nothing),
    ("to_string", Takes::Nothing),
    ("to_uri", Takes::Nothing),
    ("to_wset", Takes::SetFlags),
    ("tokenize", Takes::Analysis),
    ("trim", Takes::Nothing),
    ("uri", Takes::Nothing),
    ("zcurve", Takes::Nothing),
];

/// Words that begin a form of their own.
pub(super) const FORMS: [&str; 6] = ["for_each", "guard", "if", "select_input", "switch", "_"];

/// Whether a word begins a step.
pub(super) fn begins_step(word: &str) -> bool {
    FORMS.contains(&word) || OPERATIONS.iter().any(|(name, _)| *name == word)
}

/// Words that are texts or settings of the analysis of text, with whether a value stands behind them.
pub(super) const ANALYSIS: [(&str, Takes); 7] = [
    ("stem", Takes::Text),
    ("profile", Takes::Text),
    ("max-length", Takes::Integers(1)),
    ("max-occurrences", Takes::Integers(1)),
    ("max-token-length", Takes::Integers(1)),
    ("normalize", Takes::Nothing),
    ("keep-case", Takes::Nothing),
];

/// The flags of a weighted set.
pub(super) const SET_FLAGS: [&str; 2] = ["create_if_non_existent", "remove_if_zero"];
