//! Bodies of requests: an object, flattened to names with dots
//! (Vespa, `container-search/src/main/java/com/yahoo/search/handler/Json2SingleLevelMap.java`).

use crate::ordered::Ordered;
use crate::query::SearchError;

/// The largest body, in bytes: a query of the greatest length and some vectors.
pub const MAX_BODY: usize = 16 << 20;

/// The deepest that parameters nest.
const MAX_DEPTH: usize = 8;

/// Objects that stay as they are written.
const WHOLE: [&str; 2] = ["select.where", "select.grouping"];

/// The parameters of a body with their values as texts. Lists and objects that are values stay JSON, with their members in their
/// order.
///
/// # Errors
/// When it is no object.
pub fn flatten(body: &[u8]) -> Result<Vec<(String, String)>, SearchError> {
    if body.len() > MAX_BODY {
        let text = format!("a body of {} bytes; {MAX_BODY} is the most", body.len());
        return Err(SearchError::illegal(text));
    }
    let text = std::str::from_utf8(body);
    let text = text.map_err(|_| SearchError::illegal("expected a body of UTF-8"))?;
    let parsed = Ordered::read(text);
    let Ordered::Object(members) =
        parsed.map_err(|error| SearchError::illegal(format!("Json parse error. {error}")))?
    else {
        return Err(SearchError::illegal("Expected start of object"));
    };
    let mut found = Vec::new();
    object("", members, 0, &mut found)?;
    Ok(found)
}

fn object(
    prefix: &str,
    members: Vec<(String, Ordered)>,
    depth: usize,
    found: &mut Vec<(String, String)>,
) -> Result<(), SearchError> {
    if depth == MAX_DEPTH {
        return Err(SearchError::illegal(format!("{prefix:.60}: parameters nest too deep")));
    }
    for (name, value) in members {
        let name = format!("{prefix}{name}");
        match value {
            Ordered::Object(members) if !is_whole(&name) => {
                object(&format!("{name}."), members, depth + 1, found)?;
            }
            Ordered::Text(text) => found.push((name, text)),
            value => found.push((name, value.to_string())),
        }
    }
    Ok(())
}

/// Whether an object of this name stays as it is written.
fn is_whole(name: &str) -> bool {
    let groups = ["input.", "ranking.features.", "rankfeature."];
    WHOLE.contains(&name) || groups.iter().any(|group| name.starts_with(group))
}

#[cfg(test)]
mod tests {
    use super::flatten;

    #[test]
    fn objects_become_names_with_dots() {
        for (body, expected) in [
            ("{}", vec![]),
            (
                r#"{"a": 1, "b": {"c": true, "d": null}}"#,
                vec![("a", "1"), ("b.c", "true"), ("b.d", "null")],
            ),
            (r#"{"input.query(q)": {"a": 1}}"#, vec![("input.query(q)", r#"{"a":1}"#)]),
            (r#"{"input": {"query(q)": {"a": 1}}}"#, vec![("input.query(q)", r#"{"a":1}"#)]),
            (
                r#"{"ranking": {"features": {"query(q)": [1, 2]}}}"#,
                vec![("ranking.features.query(q)", "[1,2]")],
            ),
            (
                r#"{"ranking": {"features.query(q)": {"a": 1}}}"#,
                vec![("ranking.features.query(q)", r#"{"a":1}"#)],
            ),
            (
                r#"{"select": {"where": {"b": 2, "a": 1}, "grouping": [{"all": {}}]}}"#,
                vec![("select.where", r#"{"b":2,"a":1}"#), ("select.grouping", r#"[{"all":{}}]"#)],
            ),
            (r#"{"select": {"where": true}}"#, vec![("select.where", "true")]),
            (
                r#"{'yql': 'select "a"', "b": "it\'s"}"#,
                vec![("yql", "select \"a\""), ("b", "it's")],
            ),
            ("{\"yql\": \"a\n\tb\"}", vec![("yql", "a\n\tb")]),
            (r#"{"a": "\u00e9\"\\"}"#, vec![("a", "\u{e9}\"\\")]),
        ] {
            let found = flatten(body.as_bytes()).unwrap_or_else(|error| panic!("{body}: {error}"));
            let found: Vec<(&str, &str)> =
                found.iter().map(|(k, v)| (k.as_str(), v.as_str())).collect();
            assert_eq!(found, expected, "{body}");
        }
    }

    #[test]
    fn hostile_bodies_are_refused() {
        let deep = "{\"a\":".repeat(100_000);
        let lists = format!("{{\"a\":{}", "[".repeat(100_000));
        for body in ["", "[]", "1", "{", "{\"a\"}", "{'a: 1}", &deep, &lists, "{\"a\": 1} x"] {
            assert!(flatten(body.as_bytes()).is_err(), "{body:.20}");
        }
        assert!(flatten(b"\xff").is_err());
        let nested = "{\"a\":".repeat(9) + "1" + &"}".repeat(9);
        assert!(
            flatten(nested.as_bytes()).unwrap_err().message.ends_with("parameters nest too deep")
        );
    }
}
