//! What detectors of objects end with: boxes that hide others, and regions of features read in a fixed size.

mod roi_align;
mod suppress;

pub use roi_align::{RoiAlign, RoiMode, roi_align};
pub use suppress::{Boxes, suppress};
