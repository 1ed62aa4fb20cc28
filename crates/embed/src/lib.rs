//! Text as token ids and images as numbers, token ids as the inputs of cross encoders and embedders, and what embedders give as vectors, bits and weights.
//!
//! ```
//! use stead_embed::{attention_mask, input_ids, token_type_ids};
//!
//! // A query of two tokens in a tensor of four cells, a document of three.
//! let texts: [&[f32]; 2] = [&[7.0, 8.0, 0.0, 0.0], &[3.0, 4.0, 5.0]];
//! let (mut ids, mut types, mut mask) = ([0.0; 10], [0.0; 10], [0.0; 10]);
//! input_ids(&texts, 101.0, 102.0, &mut ids);
//! token_type_ids(&texts, &mut types);
//! attention_mask(&texts, &mut mask);
//! assert_eq!(ids, [101.0, 7.0, 8.0, 102.0, 3.0, 4.0, 5.0, 102.0, 0.0, 0.0]);
//! assert_eq!(types, [0.0, 0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 1.0, 0.0, 0.0]);
//! assert_eq!(mask, [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 0.0, 0.0]);
//! ```
//!
//! The rank features `tokenInputIds`, `customTokenInputIds`, `tokenTypeIds` and `tokenAttentionMask` are
//! these functions on cells of tensors; training data is made by the same ones, so that a ranker
//! is trained on what it is served. [`Tokenizer`] makes the ids of texts.
#![forbid(unsafe_code)]

mod batches;
pub mod colbert;
pub mod image;
mod join;
mod pooling;
mod sparse;
mod tokenizer;
mod tokens;

pub use batches::{Batch, BatchLimits, batches};
pub use join::{CLS, SEP, attention_mask, input_ids, token_count, token_type_ids};
pub use pooling::{Pooling, mean, normalize, pack_bits};
pub use sparse::term_weights;
pub use tokenizer::{Cut, Settings, Specials, Tokenizer, TokenizerError};
pub use tokens::Tokens;
