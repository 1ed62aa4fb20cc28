//! `search/query-profiles`: named parameters of queries, with types and inheritance
//! (Vespa, documentation, `reference/querying/query-profiles.html`).

mod read;
mod resolve;
mod types;

pub use read::read_query_profiles;
pub use types::{FieldKind, ProfileField, QueryProfile, QueryProfileType, QueryProfiles};
