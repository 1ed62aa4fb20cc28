//! A signal that comes in chunks gives what the whole signal gives, when the states go from step to step.
//!
//! Each test runs over fixed seeds. To repeat one: `STEAD_SEED=17 cargo test -p stead-engine --test all lift::`.
#![allow(clippy::unwrap_used)]

mod branches;
mod first_values;
mod harness;
mod layers;
mod limits;
mod loops;
mod variables;
