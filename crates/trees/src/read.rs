//! Which format bytes are of, and reading them.

use crate::document::{json, ubjson};
use crate::error::{Place, TreeError};
use crate::limits::Limits;
use crate::model::{Format, Model};
use crate::{lightgbm, xgboost};

/// What the file does not say and the caller knows.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ReadOptions {
    /// Bounds of the model.
    pub limits: Limits,
    /// Names of all features in the order of training. They replace those of an XGBoost file, as
    /// the file `<model>-features.txt` of Vespa does ([`feature_names`] reads one).
    pub feature_names: Option<Vec<String>>,
    /// For XGBoost's `dump_model`, whose files hold only trees.
    pub dump: DumpFacts,
}

/// What XGBoost's `dump_model` leaves out and exact predictions need.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct DumpFacts {
    /// The objective; without one the sum of the leaves is the prediction.
    pub objective: Option<String>,
    /// `base_score`, before the inverse of the objective's link; without one nothing is added.
    pub base_score: Option<f64>,
    /// Classes or targets, to which the trees belong in turn; 0 is 1.
    pub outputs: usize,
}

/// Reads a model of any format that [`Format`] lists.
///
/// # Errors
/// What is wrong with the bytes, by tree and node; what is not supported, by name.
pub fn read(bytes: &[u8], options: &ReadOptions) -> Result<Model, TreeError> {
    match detect(bytes)? {
        Shape::Ubj => {
            let document = ubjson::parse(bytes, &options.limits)?;
            xgboost::saved::read(document.root(), Format::XgBoostUbj, options)
        }
        Shape::Text => lightgbm::text::read(bytes, &options.limits),
        Shape::Json => {
            let document = json::parse(bytes, &options.limits)?;
            let root = document.root();
            if root.is_array() {
                xgboost::dump::read(root, options)
            } else if root.get("learner").is_some() {
                xgboost::saved::read(root, Format::XgBoostJson, options)
            } else if root.get("tree_info").is_some() {
                lightgbm::json::read(root, &options.limits)
            } else {
                Err(TreeError::UnknownFormat)
            }
        }
    }
}

/// How the bytes are written.
enum Shape {
    Json,
    Ubj,
    Text,
}

fn detect(bytes: &[u8]) -> Result<Shape, TreeError> {
    let start = bytes.iter().position(|b| !b.is_ascii_whitespace()).unwrap_or(bytes.len());
    match &bytes[start..] {
        // The length of the first name follows, where JSON has a quote.
        [b'{', b'i' | b'U' | b'I' | b'l' | b'L' | b'$' | b'#', ..] => Ok(Shape::Ubj),
        [b'{' | b'[', ..] => Ok(Shape::Json),
        [b't', b'r', b'e', b'e', b'\n' | b'\r', ..] => Ok(Shape::Text),
        // The binary format that XGBoost no longer writes or reads since 3.1.
        [b'b', b'i', b'n', b'f', ..] => {
            Err(TreeError::unsupported(Place::Model, "the old binary format of XGBoost"))
        }
        _ => Err(TreeError::UnknownFormat),
    }
}

/// The names in a `<model>-features.txt`: one in a line; empty lines and those that begin with `#` do not count.
pub fn feature_names(text: &str) -> Vec<String> {
    let lines = text.lines().map(str::trim);
    lines.filter(|line| !line.is_empty() && !line.starts_with('#')).map(str::to_owned).collect()
}
