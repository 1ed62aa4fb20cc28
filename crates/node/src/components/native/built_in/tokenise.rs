//! `tokenise`: token ids of texts.

use stead_app::components::Parameters;
use stead_app::package::PackageFiles;
use stead_embed::{Cut, Settings, Specials, Tokenizer};
use stead_expr::{Cells, Labels, TensorType, Value};
use stead_store::{DataType, FieldValue};

use super::{Making, concerned, field_type};
use crate::components::native::{Call, DocumentOperation, DocumentProcessor, NativeError};

/// The largest file of a tokenizer.
const MAX_FILE: u64 = 256 << 20;

/// Makes token ids of a field of texts.
pub(super) struct Tokenise {
    kinds: Vec<String>,
    tokenizer: Tokenizer,
    from: String,
    to: String,
    target: Target,
}

/// What the ids become.
enum Target {
    /// A tensor of one dimension of this size, with zeros behind the ids.
    Tensor(TensorType, usize),
    Array,
}

impl Tokenise {
    pub(super) fn new(given: &Parameters, making: &Making<'_>) -> Result<Tokenise, String> {
        let text = |name: &str| given.text(name).unwrap_or_default().to_owned();
        let (from, to) = (text("from"), text("to"));
        let kinds = concerned(given, &[&from, &to], making)?;
        let of = field_type(&kinds, &from)?;
        if *of != DataType::Text {
            return Err(format!("field {from} is of the type {of}; expected a string"));
        }
        let target = match field_type(&kinds, &to)? {
            DataType::Tensor(kind) => match kind.dimensions() {
                [only] if only.size().is_some() => {
                    Target::Tensor(kind.clone(), only.size().unwrap_or_default())
                }
                _ => return Err(format!("field {to} is a {kind}; expected tensor<float>(d0[n])")),
            },
            DataType::Array(of) if matches!(**of, DataType::Int | DataType::Long) => Target::Array,
            other => {
                return Err(format!(
                    "field {to} is of the type {other}; expected tensor<float>(d0[n]) or array<int>"
                ));
            }
        };
        let mut most = given.count("max-tokens");
        if let Target::Tensor(_, size) = &target {
            most = most.min(*size);
        }
        let specials = given.bool("specials");
        let tokenizer = tokenizer(making.files, &text("tokenizer"), most, specials)?;
        let kinds = kinds.iter().map(|kind| kind.name().to_owned()).collect();
        Ok(Tokenise { kinds, tokenizer, from, to, target })
    }

    fn value(&self, text: &str) -> Result<FieldValue, NativeError> {
        let ids = self.tokenizer.encode(text).map_err(|e| NativeError::Failed(e.to_string()))?;
        Ok(match &self.target {
            Target::Array => FieldValue::Array(
                ids.iter().map(|id| FieldValue::Integer(i64::from(*id))).collect(),
            ),
            Target::Tensor(kind, size) => {
                let mut cells: Vec<f64> = ids.iter().map(|id| f64::from(*id)).collect();
                cells.resize(*size, 0.0);
                let cells = Cells::from_numbers(kind.cell(), &cells);
                let value = Value::new(kind.clone(), Labels::default(), cells);
                FieldValue::Tensor(value.map_err(|e| NativeError::Failed(e.to_string()))?)
            }
        })
    }
}

/// The tokenizer of a file of the package.
///
/// # Errors
/// That it is none.
pub(super) fn tokenizer(
    files: &PackageFiles,
    path: &str,
    most: usize,
    specials: bool,
) -> Result<Tokenizer, String> {
    let bytes = files.read(path, MAX_FILE).map_err(|error| error.to_string())?;
    let wrong = |error: &dyn std::fmt::Display| format!("{path}: {error}");
    if !path.ends_with(".txt") {
        let specials = if specials { Specials::OfFile } else { Specials::None };
        let found = Tokenizer::from_json(&bytes, Settings { specials, cut: Cut::At(most) });
        return found.map_err(|error| wrong(&error));
    }
    let text = std::str::from_utf8(&bytes).map_err(|error| wrong(&error))?;
    let id = |word: &str| {
        let at = text.lines().position(|line| line == word).and_then(|at| u32::try_from(at).ok());
        at.ok_or_else(|| format!("{path} has no {word}"))
    };
    let specials = match specials {
        true => Specials::Around(id("[CLS]")?, id("[SEP]")?),
        false => Specials::None,
    };
    let found = Tokenizer::from_vocabulary(text, Settings { specials, cut: Cut::At(most) });
    found.map_err(|error| wrong(&error))
}

impl DocumentProcessor for Tokenise {
    fn process(
        &self,
        mut operation: DocumentOperation,
        _: &Call,
    ) -> Result<Vec<DocumentOperation>, NativeError> {
        if self.kinds.iter().any(|name| name == operation.kind().name())
            && let Some(FieldValue::Text(text)) = operation.get(&self.from)
        {
            let value = self.value(text)?;
            operation.set(&self.to, Some(value))?;
        }
        Ok(vec![operation])
    }
}
