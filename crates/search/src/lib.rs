//! From a query to ranked documents.
//!
//! [`models`] runs the models that expressions of rank profiles name.
#![forbid(unsafe_code)]

pub mod models;
