//! NVIDIA Triton on the model repository `bench/peers/sequences/triton/models`.

use super::{Context, FIRST, Measured, load};
use crate::{models, triton};

/// The most streams.
pub fn largest(context: &Context, protocol: &str) -> Measured {
    let silero = models::silero_batch()?;
    let variables = [("SILERO", silero.as_path())];
    let server = triton::start("sequences/triton/models", &variables, &context.folder)?;
    let expect = context.config("stateful.json", true)?;
    let expect = expect.to_string_lossy().into_owned();
    load::largest(context, &server, protocol, FIRST, &["--expect", &expect])
}
