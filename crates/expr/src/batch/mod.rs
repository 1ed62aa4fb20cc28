//! Expressions for many documents: what depends on the query only is computed once for the query, the rest for a block
//! of documents at a time, over columns that are read where they lie.
//!
//! ```
//! use stead_expr::{Attribute, Cells, Documents, Numbers, Rate, Scratch, TensorType, Value, compile, parse_type};
//!
//! let scope = |name: &str| -> Option<(TensorType, Rate)> {
//!     Some(match name {
//!         "query(user)" => (parse_type("tensor<float>(x[2])").ok()?, Rate::Query),
//!         "attribute(taste)" => (parse_type("tensor<float>(x[2])").ok()?, Rate::Document),
//!         "attribute(age)" => (TensorType::double(), Rate::Document),
//!         _ => return None,
//!     })
//! };
//! let expression = compile("sum(query(user) * attribute(taste)) / attribute(age)", &scope)?;
//! assert_eq!(expression.query_names().collect::<Vec<_>>(), ["query(user)"]);
//! assert_eq!(expression.document_names().collect::<Vec<_>>(), ["attribute(taste)", "attribute(age)"]);
//!
//! let user = compile("tensor<float>(x[2]):[1,2]", &scope)?.run(&[]).unwrap();
//! let ranking = expression.for_query(&[&user]).unwrap();
//!
//! // The attributes of three documents.
//! let taste = Attribute::Dense { cells: Cells::Float((&[1.0, 1.0, 0.0, 4.0, 3.0, 0.0][..]).into()), stride: 2 };
//! let age = Attribute::Numbers(Numbers::I32(&[1, 2, 3]));
//! let documents = Documents { count: 3, index: None, attributes: &[taste, age] };
//! let (mut scratch, mut scores) = (Scratch::default(), Vec::new());
//! ranking.scores(&documents, &mut scratch, &mut scores).unwrap();
//! assert_eq!(scores, [3.0, 4.0, 1.0]);
//! # Ok::<(), stead_expr::ExprError>(())
//! ```

mod bound;
mod store;

pub use bound::{Bound, Documents, Scratch};
pub use store::Stored;
