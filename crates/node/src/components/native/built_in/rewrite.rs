//! `rewrite`: queries changed by a table.

use stead_app::components::Parameters;
use stead_search::request::substitute;
use stead_search::result::SearchResult;

use crate::components::native::{Execution, NativeError, Query, Searcher};

/// Sets parameters by what one of them is.
pub(super) struct Rewrite {
    parameter: String,
    rules: Vec<Rule>,
    ignores_case: bool,
}

struct Rule {
    /// What stands between the stars.
    parts: Vec<String>,
    set: Vec<(String, String)>,
}

impl Rewrite {
    pub(super) fn new(given: &Parameters) -> Result<Rewrite, String> {
        let ignores_case = given.bool("ignore-case");
        let rule = |rule: &Parameters| {
            let when = folded(rule.text("when").unwrap_or_default(), ignores_case);
            let parts = when.split('*').map(str::to_owned).collect();
            Rule { parts, set: rule.map("set").to_vec() }
        };
        Ok(Rewrite {
            parameter: given.text("parameter").unwrap_or_default().to_owned(),
            rules: given.rules("rules").iter().map(rule).collect(),
            ignores_case,
        })
    }
}

fn folded(text: &str, ignores_case: bool) -> String {
    if ignores_case { text.trim().to_lowercase() } else { text.trim().to_owned() }
}

/// Whether a text has these parts in this order, with any characters between them.
fn fits(text: &str, parts: &[String]) -> bool {
    let [first, middle @ .., last] = parts else {
        return parts.first().is_some_and(|only| only == text);
    };
    let Some(mut rest) = text.strip_prefix(first.as_str()) else { return false };
    for part in middle {
        match rest.find(part.as_str()) {
            Some(at) => rest = rest.get(at + part.len()..).unwrap_or_default(),
            None => return false,
        }
    }
    rest.ends_with(last.as_str())
}

impl Searcher for Rewrite {
    fn search(
        &self,
        mut query: Query,
        execution: &Execution<'_>,
    ) -> Result<SearchResult, NativeError> {
        if let Some(value) = query.values.get(&self.parameter) {
            let value = folded(value, self.ignores_case);
            if let Some(rule) = self.rules.iter().find(|rule| fits(&value, &rule.parts)) {
                let before = query.values.clone();
                for (name, text) in &rule.set {
                    match substitute(text, &before) {
                        Ok(text) => query.values.set(name, text),
                        Err(error) => return Ok(SearchResult::failed(error)),
                    }
                }
            }
        }
        execution.search(query)
    }
}

#[cfg(test)]
mod tests {
    use super::fits;

    #[test]
    fn stars_stand_for_any_characters() {
        for (pattern, text, expected) in [
            ("a", "a", true),
            ("a", "ab", false),
            ("*", "", true),
            ("*", "anything", true),
            ("a*", "abc", true),
            ("*c", "abc", true),
            ("a*c", "ac", true),
            ("a*c", "abcd", false),
            ("*b*", "abc", true),
            ("a*b*a", "aba", true),
            ("aba*aba", "aba", false),
            ("", "", true),
            ("", "a", false),
        ] {
            let parts: Vec<String> = pattern.split('*').map(str::to_owned).collect();
            assert_eq!(fits(text, &parts), expected, "{pattern} {text}");
        }
    }
}
