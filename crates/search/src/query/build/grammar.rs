//! Ways to read what people type (Vespa, documentation, `reference/api/query.html#model.type`; `QueryType.java` and `ParserFactory.java`).

use super::super::error::SearchError;
use super::super::simple::Syntax;
use super::fail;

/// How the parts of a text belong together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Composite {
    And,
    Or,
    WeakAnd,
    /// One behind the other.
    Phrase,
    Near,
    /// Near each other in this order.
    Onear,
}

/// A way to read a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Grammar {
    pub(super) composite: Composite,
    /// Nothing where signs mean nothing.
    pub(super) syntax: Option<Syntax>,
    /// Whether each run of letters and digits is a part of its own, even between apostrophes.
    pub(super) is_linguistics: bool,
    /// Whether it is read as people type: else annotations say what becomes of its words, as of any other text.
    pub(super) is_typed: bool,
}

const fn grammar(composite: Composite, syntax: Option<Syntax>) -> Grammar {
    Grammar { composite, syntax, is_linguistics: false, is_typed: true }
}

/// The name of none of them.
const RAW: &str = "raw";

/// The ways by their names.
const GRAMMARS: [(&str, Grammar); 10] = [
    ("weakAnd", grammar(Composite::WeakAnd, Some(Syntax::Simple))),
    ("all", grammar(Composite::And, Some(Syntax::Simple))),
    ("any", grammar(Composite::Or, Some(Syntax::Simple))),
    ("web", grammar(Composite::And, Some(Syntax::Web))),
    ("phrase", grammar(Composite::Phrase, None)),
    ("near", grammar(Composite::Near, Some(Syntax::Simple))),
    ("onear", grammar(Composite::Onear, Some(Syntax::Simple))),
    ("segment", Grammar { is_typed: false, ..grammar(Composite::Phrase, None) }),
    ("tokenize", grammar(Composite::WeakAnd, None)),
    ("linguistics", Grammar { is_linguistics: true, ..grammar(Composite::WeakAnd, None) }),
];

/// The parts of a way by their names, which are said behind the name of the way: `grammar.composite`, `model.type.composite`.
pub(super) const PARTS: [&str; 3] = ["composite", "tokenization", "syntax"];

const COMPOSITES: [(&str, Composite); 6] = [
    ("and", Composite::And),
    ("or", Composite::Or),
    ("weakAnd", Composite::WeakAnd),
    ("phrase", Composite::Phrase),
    ("near", Composite::Near),
    ("oNear", Composite::Onear),
];
const TOKENIZATIONS: [(&str, bool); 2] = [("internal", false), ("linguistics", true)];
const SYNTAXES: [(&str, Option<Syntax>); 3] =
    [("simple", Some(Syntax::Simple)), ("web", Some(Syntax::Web)), ("none", None)];

/// What a name stands for in a table.
fn named<T: Copy>(table: &[(&str, T)], name: &str, what: &str) -> Result<T, SearchError> {
    match table.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)) {
        Some((_, value)) => Ok(*value),
        None => {
            let names: Vec<&str> = table.iter().map(|(known, _)| *known).collect();
            fail(format_args!("expected one of {} as the {what}, got {name:.40}", names.join(", ")))
        }
    }
}

impl Grammar {
    /// The way of a name; nothing for `raw`, which leaves a text as it is.
    pub(super) fn of(name: &str) -> Result<Option<Grammar>, SearchError> {
        if name == RAW {
            return Ok(None);
        }
        match GRAMMARS.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)) {
            Some((_, grammar)) => Ok(Some(*grammar)),
            None => {
                let names: Vec<&str> = GRAMMARS.iter().map(|(known, _)| *known).collect();
                fail(format_args!(
                    "expected one of {RAW}, {} as the grammar, got {name:.40}",
                    names.join(", ")
                ))
            }
        }
    }

    /// The same with other [parts](PARTS), those that something is said of.
    pub(super) fn with(
        mut self,
        [composite, tokenization, syntax]: &[Option<String>; 3],
    ) -> Result<Grammar, SearchError> {
        if let Some(name) = composite {
            self.composite = named(&COMPOSITES, name, "composite of the grammar")?;
        }
        if let Some(name) = tokenization {
            self.is_linguistics = named(&TOKENIZATIONS, name, "tokenization of the grammar")?;
        }
        if let Some(name) = syntax {
            self.syntax = named(&SYNTAXES, name, "syntax of the grammar")?;
        }
        match self.is_linguistics && self.syntax.is_some() {
            true => fail("Linguistics tokenization can only be combined with syntax none"),
            false => Ok(self),
        }
    }
}
