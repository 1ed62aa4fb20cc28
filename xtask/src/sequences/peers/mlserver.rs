//! MLServer, which has no sequences: the client carries the state.

use super::{Context, FIRST, Measured, load};
pub use crate::mlserver::VERSION;
use crate::{mlserver, models};

/// The most streams whose state the client carries.
pub fn largest(context: &Context, protocol: &str) -> Measured {
    let model = models::silero_batch()?;
    let server = mlserver::start("vad", &model, &context.folder.join("mlserver.log"))?;
    let model = model.to_string_lossy().into_owned();
    let args = ["--carry", "state=stateN", "--expect", &model];
    load::largest(context, &server, protocol, FIRST, &args)
}
