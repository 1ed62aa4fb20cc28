//! Pipelines on real models, from `config.json` to answers.
#![allow(clippy::unwrap_used)]

mod flow;
mod models;
mod random;
mod reloads;
mod server;
mod service;
mod steps;
