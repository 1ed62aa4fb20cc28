//! Names looked up, and what is inherited put in its place.

mod checks;
mod documents;
mod expressions;
mod merge;
mod profiles;
mod schemas;

pub(super) use checks::check;
pub(super) use documents::documents;
pub(super) use expressions::{files, from_profile_files};
pub(super) use profiles::profiles;
pub(super) use schemas::schemas;

use std::collections::HashMap;

use super::schema::Schema;

/// The schemas by their names.
fn by_name(schemas: &[Schema]) -> HashMap<String, usize> {
    schemas.iter().enumerate().map(|(at, s)| (s.name.value.clone(), at)).collect()
}
