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
use crate::package::{Place, Report};

/// The schemas by their names.
fn by_name(schemas: &[Schema]) -> HashMap<String, usize> {
    schemas.iter().enumerate().map(|(at, s)| (s.name.value.clone(), at)).collect()
}

/// The most fields, functions and the like that all documents, summaries and profiles may inherit together: a short
/// text could ask for gigabytes of copies.
const MAX_INHERITED: usize = 100_000;

/// Counts what is inherited.
struct Budget {
    left: usize,
    is_told: bool,
}

impl Budget {
    fn new() -> Budget {
        Budget { left: MAX_INHERITED, is_told: false }
    }

    /// Whether so many more may be inherited; if not, an error says so once.
    fn takes(&mut self, count: usize, what: &str, place: &Place, report: &mut Report) -> bool {
        match self.left.checked_sub(count) {
            Some(left) => self.left = left,
            None if self.is_told => return false,
            None => {
                self.is_told = true;
                report.error(
                    place,
                    format!("{what} together inherit more than {MAX_INHERITED} elements"),
                );
                return false;
            }
        }
        true
    }
}
