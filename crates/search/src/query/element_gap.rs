//! How many words lie between the elements of fields, for operators that look across them: by a parameter of the request, or the rank
//! profile (Vespa, documentation, `reference/schemas/schemas.html#rank-element-gap`, `reference/api/query.html#ranking.elementgap`).

use std::collections::BTreeMap;
use std::sync::Arc;

use stead_text::Pattern;

use super::tree::{QueryTree, Test};

/// The gaps that are said, by the names of fields; nothing said as `infinity`: elements have nothing to do with each other.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ElementGaps(BTreeMap<String, Option<u32>>);

impl ElementGaps {
    /// Says that of a field.
    pub fn say(&mut self, field: &str, gap: Option<u32>) {
        self.0.insert(field.to_owned(), gap);
    }

    /// A gap as it is written; nothing if it is none.
    #[must_use]
    pub fn parse(text: &str) -> Option<Option<u32>> {
        match text.trim() {
            "infinity" => Some(None),
            number => number.parse().ok().map(Some),
        }
    }

    /// A gap as rank profiles have it: infinite if elements have nothing to do with each other.
    #[must_use]
    pub fn of_profile(gap: f64) -> Option<u32> {
        gap.is_finite().then_some(gap as u32)
    }

    /// That of a field, `usual` where nothing is said here.
    #[must_use]
    pub fn of(&self, field: &str, usual: &ElementGaps) -> Option<u32> {
        self.0.get(field).or_else(|| usual.0.get(field)).copied().flatten()
    }

    /// Tells the operators of a query; `usual` is said by the profile.
    pub fn tell(&self, tree: &mut QueryTree, usual: &ElementGaps) {
        for term in &mut tree.terms {
            let Test::Indexed(indexed) = &mut term.test else { continue };
            let (Pattern::Near(near) | Pattern::NearPart(near, _)) = &mut indexed.pattern else {
                continue;
            };
            if let Some(gap) = self.of(&term.attribute, usual) {
                Arc::make_mut(near).element_gap = Some(gap);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::ElementGaps;

    #[test]
    fn requests_go_before_profiles() {
        let gaps = |list: &[(&str, &str)]| {
            let mut gaps = ElementGaps::default();
            for (field, text) in list {
                gaps.say(field, ElementGaps::parse(text).unwrap());
            }
            gaps
        };
        let profile = gaps(&[("a", "3"), ("b", "4"), ("c", "infinity")]);
        let request = gaps(&[("a", "0"), ("b", "infinity"), ("c", " 2 ")]);
        for (field, own, both) in
            [("a", Some(3), Some(0)), ("b", Some(4), None), ("c", None, Some(2)), ("d", None, None)]
        {
            assert_eq!(ElementGaps::default().of(field, &profile), own, "{field}");
            assert_eq!(request.of(field, &profile), both, "{field}");
        }
        for wrong in ["", "-1", "1.5", "Infinity", "4294967296"] {
            assert_eq!(ElementGaps::parse(wrong), None, "{wrong}");
        }
    }
}
