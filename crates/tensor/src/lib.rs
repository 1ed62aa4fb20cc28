//! Element types, shapes, tensors and the arena: the one vocabulary for data in stead.
//!
//! Every layer above speaks in these types: the model reader makes [`Tensor`]s of initializers, the engine
//! plans over [`Shape`]s and keeps intermediate values in [`Blocks`], the server borrows request bytes as
//! [`TensorView`]s. The crate holds no arithmetic and knows no protocol.
//!
//! ```
//! use stead_tensor::{DType, Shape, Tensor};
//!
//! let t = Tensor::from_slice(&[1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0], &[2, 3])?;
//! assert_eq!(t.dtype(), DType::F32);
//! assert_eq!(t.shape(), Shape::new(&[2, 3])?);
//! assert_eq!(t.view().as_slice::<f32>()?[4], 5.0);
//! # Ok::<(), stead_tensor::TensorError>(())
//! ```
//!
//! It is not an array library: there is no indexing, no broadcasting and no maths here.

mod aside;
mod bits;
mod blocks;
mod buffer;
mod dtype;
mod element;
mod error;
mod fork;
mod growth;
mod huge;
pub mod npy;
pub mod npz;
mod pages;
mod places;
mod precision;
mod rows;
mod shape;
mod tensor;
mod unfilled;
mod view;

pub use aside::Aside;
pub use bits::Bits;
pub use blocks::{Blocks, MAX_READS, Span, StepMem, StepSpans};
pub use buffer::{ALIGNMENT, AlignedBuf, SharedBytes};
pub use dtype::DType;
pub use element::{Bool, Element};
pub use error::TensorError;
pub use fork::{Branch, BranchSpans, Fork, MAX_BRANCHES};
pub use growth::{Growth, grown_strides};
pub use huge::on_huge_pages;
pub use precision::{Precision, UnknownPrecision};
pub use shape::{MAX_RANK, Shape};
pub use tensor::Tensor;
pub use unfilled::Unfilled;
pub use view::{Data, TensorView};
