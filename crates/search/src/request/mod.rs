//! Requests of searches: parameters from a URL or JSON, defaults from query profiles, and what they mean.
//!
//! [`PARAMETERS`] is the one table of names, aliases, types and defaults: requests are read by it, and the documentation is checked
//! against it.

mod body;
mod embed;
mod offline;
mod profiles;
mod query;
mod read;
mod streaming;
mod table;
mod values;

pub use body::{MAX_BODY, flatten};
pub use embed::{EmbedCall, is_embed, read_embed};
pub use query::QueryText;
pub use read::{Format, Presentation, SearchRequest};
pub use streaming::StreamingRequest;
pub use table::{Effect, Kind, PARAMETERS, Parameter, find};
pub use values::{Values, substitute};
