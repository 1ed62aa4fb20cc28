//! What a profile has of its own and what its parents have, put together.

use std::collections::{HashMap, HashSet};

use crate::package::{Place, Report};
use crate::schema::Name;

/// Where a conflict is reported: the profile with the place of its name.
pub(super) struct Heir<'p> {
    pub(super) profile: &'p str,
    pub(super) place: &'p Place,
}

impl Heir<'_> {
    /// Its own if there is one, else that of its parents, which must not differ.
    pub(super) fn one<T: Clone>(
        &self,
        what: &str,
        own: Option<T>,
        parents: &[(&str, Option<&T>)],
        is_same: impl Fn(&T, &T) -> bool,
        report: &mut Report,
    ) -> Option<T> {
        if own.is_some() {
            return own;
        }
        let mut found: Option<(&str, &T)> = None;
        for (name, value) in parents {
            let Some(value) = value else { continue };
            match found {
                Some((first, other)) if !is_same(other, value) => {
                    self.conflict(what, first, name, report);
                }
                Some(_) => {}
                None => found = Some((name, value)),
            }
        }
        found.map(|(_, value)| value.clone())
    }

    /// Those of its parents that it has not by name, which must not differ, then its own.
    pub(super) fn list<T: Clone>(
        &self,
        what: &str,
        own: Vec<T>,
        parents: &[(&str, &[T])],
        name: impl Fn(&T) -> &Name,
        is_same: impl Fn(&T, &T) -> bool,
        report: &mut Report,
    ) -> Vec<T> {
        let mine: HashSet<&str> = own.iter().map(|o| name(o).value.as_str()).collect();
        let mut found: Vec<(&str, &T)> = Vec::new();
        let mut places: HashMap<&str, usize> = HashMap::new();
        for (parent, list) in parents {
            for value in *list {
                let key = name(value).value.as_str();
                if mine.contains(key) {
                    continue;
                }
                match places.get(key).map(|at| found[*at]) {
                    Some((first, other)) if !is_same(other, value) => {
                        self.conflict(&format!("{what} {key}"), first, parent, report);
                    }
                    Some(_) => {}
                    None => {
                        places.insert(key, found.len());
                        found.push((parent, value));
                    }
                }
            }
        }
        let mut list: Vec<T> = found.into_iter().map(|(_, value)| value.clone()).collect();
        list.extend(own);
        list
    }

    fn conflict(&self, what: &str, first: &str, second: &str, report: &mut Report) {
        let text = format!(
            "rank-profile {} inherits {what} from {first} and another one from {second}; define it here",
            self.profile
        );
        report.error(self.place, text);
    }
}
