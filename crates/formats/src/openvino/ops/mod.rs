//! How layers become nodes of ONNX, one file for each family.

pub(super) mod activation;
pub(super) mod compare;
pub(super) mod control;
pub(super) mod conv;
pub(super) mod elementwise;
pub(super) mod movement;
pub(super) mod normalize;
pub(super) mod pool;
pub(super) mod recurrent;
pub(super) mod reduce;
pub(super) mod resize;
pub(super) mod search;
pub(super) mod shape;
pub(super) mod state;
