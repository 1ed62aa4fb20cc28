//! Which fields a profile looks at.

use super::models::Taken;
use super::plan::RankPlan;
use super::query::RankQuery;

impl RankPlan {
    /// Whether ranking by a query may look at a field because the profile or the query names it. Features that name none, such as `nativeRank`,
    /// look at the fields that the terms of a query ask.
    pub(crate) fn names_field(&self, field: &str, query: &RankQuery) -> bool {
        let is_named = |name: &str| has_word(name, field);
        let taken =
            self.models.iter().flat_map(|model| model.query.iter().chain(&model.of_documents));
        let mut taken = taken.filter_map(|taken| match taken {
            Taken::Field(name) => Some(name.as_str()),
            Taken::Node(_) | Taken::Text(_) => None,
        });
        let limit = self.match_limit(query).map(|limit| limit.attribute);
        let diversity = self.diversity(query).map(|diversity| diversity.attribute);
        let mut limited = limit.iter().chain(&diversity).map(String::as_str);
        self.nodes.iter().any(|node| is_named(&node.name))
            || taken.any(is_named)
            || limited.any(is_named)
            || query.list_features
                && self.listed.as_ref().is_some_and(|listed| listed.names_field(field, query))
    }
}

/// Whether a word stands in a text, with no letter, digit or `_` right before or behind it.
fn has_word(text: &str, word: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(word).any(|(at, _)| {
        !text[..at].ends_with(is_part) && !text[at + word.len()..].starts_with(is_part)
    })
}

#[cfg(test)]
mod tests {
    use super::has_word;

    #[test]
    fn words_stand_alone() {
        for (text, word, expected) in [
            ("bm25(title)", "title", true),
            ("bm25(subtitle)", "title", false),
            ("bm25(title_2)", "title", false),
            ("attribute(people.name)", "people", true),
            ("fieldMatch( a-b ).proximity", "a-b", true),
            ("nativeFieldMatch(subtitle,title)", "title", true),
            ("title", "title", true),
            ("nativeRank", "title", false),
        ] {
            assert_eq!(has_word(text, word), expected, "{text} {word}");
        }
    }
}
