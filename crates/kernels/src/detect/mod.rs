//! What detectors of objects end with: boxes that hide others, and regions of features brought to a fixed size.

mod roi_align;
mod roi_pool;
mod suppress;

pub use roi_align::{RoiAlign, RoiMode, roi_align};
pub use roi_pool::{REGION, RoiPool, max_roi_pool};
pub use suppress::{Boxes, suppress};
