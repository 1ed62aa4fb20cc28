//! How the rows of a ranker are made: `stead encode` writes it beside training data, who trains puts it into the metadata of the
//! model, and a package whose profiles make other rows for that model is refused.

mod check;
mod row;
mod tokenizer;

use serde::{Deserialize, Serialize};

use crate::schema::{Argument, IndexingLiteral, Operation, Script};

pub(crate) use check::check;
pub use row::{RowText, TokenRow};
pub use tokenizer::tokenizer_hash;

/// The key of [`RowEncoding`] in the metadata of an ONNX model.
pub const ENCODING_KEY: &str = "stead.encoding";

/// What is written today.
const FORMAT: u32 = 1;

/// All that the tokens of a row depend on beside the texts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RowEncoding {
    /// The version of this description.
    format: u32,
    /// The tokens of a row; zeros fill it.
    pub length: usize,
    /// The id before the first text.
    pub start: i64,
    /// The id behind each text.
    pub end: i64,
    /// The texts in their order.
    pub texts: Vec<TextEncoding>,
}

/// How a text becomes tokens.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TextEncoding {
    /// Whose text it is.
    pub of: TextOf,
    /// The tokens at which it is cut.
    pub size: usize,
    /// The [hash](tokenizer_hash) of the file of its tokenizer.
    pub tokenizer: String,
    /// The steps of the script that makes it of a document; none of a query.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub indexing: Vec<String>,
}

/// Whose text it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TextOf {
    /// That of the query.
    Query,
    /// One of the document.
    Document,
}

impl TextOf {
    fn name(self) -> &'static str {
        match self {
            TextOf::Query => "query",
            TextOf::Document => "document",
        }
    }
}

impl RowEncoding {
    /// That of a row with these texts.
    #[must_use]
    pub fn new(row: &TokenRow, texts: Vec<TextEncoding>) -> RowEncoding {
        RowEncoding { format: FORMAT, length: row.length, start: row.start, end: row.end, texts }
    }

    /// As JSON on one line.
    #[must_use]
    pub fn to_json(&self) -> String {
        // There is nothing in it that JSON cannot say.
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Reads what [`RowEncoding::to_json`] wrote.
    ///
    /// # Errors
    /// What is wrong with it, in words.
    pub fn from_json(text: &str) -> Result<RowEncoding, String> {
        #[derive(Deserialize)]
        struct Version {
            format: u32,
        }
        let Version { format } = serde_json::from_str(text).map_err(|e| e.to_string())?;
        if format != FORMAT {
            return Err(format!("its format is {format}, and this stead reads {FORMAT}"));
        }
        serde_json::from_str(text).map_err(|e| e.to_string())
    }
}

/// The steps of a script that decide what a text is, each before those within it: where its value goes and the name of the component
/// do not.
#[must_use]
pub fn script_steps(script: &Script) -> Vec<String> {
    let steps = script.steps().into_iter().filter_map(|step| {
        let literal = |literal: &IndexingLiteral| match literal {
            IndexingLiteral::Text(text) => format!("{text:?}"),
            IndexingLiteral::Integer(number) => number.to_string(),
            IndexingLiteral::Number(number) => number.to_string(),
            IndexingLiteral::Bool(is) => is.to_string(),
        };
        let argument = |argument: &Argument| match argument {
            Argument::Name(name) => name.clone(),
            Argument::Setting(name, value) => format!("{name}: {}", literal(value)),
            Argument::Literal(value) => literal(value),
        };
        Some(match &step.operation {
            Operation::Call("attribute" | "index" | "summary", _) => return None,
            Operation::Call("embed", _) => "embed".to_owned(),
            Operation::Call(name, arguments) => {
                let words = arguments.iter().map(argument);
                std::iter::once((*name).to_owned()).chain(words).collect::<Vec<_>>().join(" ")
            }
            Operation::Literal(value) => literal(value),
            Operation::Value => "_".to_owned(),
            Operation::Choice(steps) => format!("|| of {}", steps.len()),
            Operation::Concat(steps) => format!(". of {}", steps.len()),
            Operation::Arithmetic(_, operator, _) => format!("{operator:?}").to_lowercase(),
            Operation::If { comparison, then, otherwise, .. } => {
                let count = |script: &Script| script.steps().len();
                let (then, otherwise) = (count(then), otherwise.as_ref().map_or(0, count));
                format!("if {comparison:?} {then} else {otherwise}").to_lowercase()
            }
            Operation::ForEach(statement) => format!("for_each of {}", statement.steps.len()),
            Operation::Switch { cases, default } => {
                let cases: Vec<String> = cases
                    .iter()
                    .map(|(name, s)| format!("{name:?} of {}", s.steps.len()))
                    .collect();
                let default = default.as_ref().map_or(0, |s| s.steps.len());
                format!("switch {} default of {default}", cases.join(" "))
            }
            Operation::SelectInput(cases) => {
                let cases: Vec<String> =
                    cases.iter().map(|(name, s)| format!("{name} of {}", s.steps.len())).collect();
                format!("select_input {}", cases.join(" "))
            }
            Operation::Guard(script) => format!("guard of {}", script.statements.len()),
            Operation::Script(script) => format!("script of {}", script.statements.len()),
            Operation::Group(statement) => format!("( ) of {}", statement.steps.len()),
        })
    });
    steps.collect()
}

#[cfg(test)]
mod tests;
