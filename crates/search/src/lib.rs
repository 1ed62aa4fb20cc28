//! From a query to ranked documents.
#![forbid(unsafe_code)]
