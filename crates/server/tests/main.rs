//! The tests of the server but for [that of a program with the server within](native_components.rs), as one program: each of its own would be
//! linked with all that they test, which is 130 MB.

mod common;

mod admission;
mod console;
mod deploy;
mod document_metrics;
mod documents;
mod draining;
mod hostile;
mod kserve;
mod lifecycle;
mod pipelines;
mod security;
mod sequence_admin;
mod sequences;
mod tfserving;
mod tls;
mod triton_grpc;
mod triton_http;
