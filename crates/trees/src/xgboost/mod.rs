//! Models of XGBoost.

pub(crate) mod dump;
pub(crate) mod objective;
pub(crate) mod saved;
