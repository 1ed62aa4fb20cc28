//! Tree models of XGBoost and LightGBM: their files read into one forest, evaluated for a batch of rows.
//!
//! ```
//! use stead_trees::{Forest, Mode, ReadOptions, Rows, read};
//!
//! // What XGBoost's `dump_model` writes.
//! let file = br#"[{"nodeid": 0, "split": "fieldMatch(title)", "split_condition": 0.5, "yes": 1, "no": 2,
//!     "missing": 1, "children": [{"nodeid": 1, "leaf": -1.5}, {"nodeid": 2, "leaf": 2.0}]}]"#;
//! let model = read(file, &ReadOptions::default())?;
//! assert_eq!(model.features()[0].name, "fieldMatch(title)");
//! for difference in model.differences() {
//!     println!("Vespa: {difference}");
//! }
//! let forest = Forest::new(&model, Mode::Compat);
//! let mut scores = [0.0; 3];
//! forest.predict(&Rows::of_f64(&[0.4, 0.6, f64::NAN], 1), &mut scores)?;
//! assert_eq!(scores, [-1.5, 2.0, -1.5]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! [`read`] takes `dump_model` and `save_model` of both libraries ([`Format`]). A [`Model`] is what the
//! file says; [`Forest`] is what is computed from it, either the scores that Vespa gives for the
//! same file or those of the library ([`Mode`]).
//!
//! The crate does *not* know where features come from: rows hold numbers in the order of
//! [`Model::features`], a missing value is NaN and a category is its place in
//! [`Feature::categories`].
#![forbid(unsafe_code)]

mod assemble;
mod document;
mod error;
mod forest;
mod lightgbm;
mod limits;
mod link;
mod mode;
mod model;
mod read;
mod xgboost;

pub use error::{Place, TreeError};
pub use forest::{Column, Forest, PredictError, Rows, Scratch};
pub use limits::Limits;
pub use mode::{Difference, Mode};
pub use model::{Categories, Feature, Format, Library, Model};
pub use read::{DumpFacts, ReadOptions, feature_names, read};
