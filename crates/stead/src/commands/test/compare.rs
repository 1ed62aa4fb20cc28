//! Whether a response has what a test expects of it: the members of objects that are named, all elements of lists, numbers
//! to nine digits behind the point (Vespa, `client/go/internal/cli/cmd/test.go`).

use serde_json::Value as Json;

/// How much numbers may differ.
const TOLERANCE: f64 = 1e-9;

/// The first difference, with its place.
pub fn difference(expected: &Json, found: &Json) -> Option<String> {
    at("response", expected, found)
}

/// JSON nests no deeper than its reader lets it.
fn at(path: &str, expected: &Json, found: &Json) -> Option<String> {
    let differ =
        || Some(format!("{path}: expected {expected:.100}, got {:.100}", found.to_string()));
    match (expected, found) {
        (Json::Object(members), Json::Object(known)) => {
            members.iter().find_map(|(name, expected)| match known.get(name) {
                Some(found) => at(&format!("{path}.{name}"), expected, found),
                None => Some(format!("{path}.{name}: expected {expected:.100}, got nothing")),
            })
        }
        (Json::Array(list), Json::Array(known)) => {
            if list.len() != known.len() {
                let (wanted, got) = (list.len(), known.len());
                return Some(format!("{path}: expected {wanted} elements, got {got}"));
            }
            let mut pairs = list.iter().zip(known).enumerate();
            pairs.find_map(|(n, (expected, found))| at(&format!("{path}[{n}]"), expected, found))
        }
        (Json::Number(a), Json::Number(b)) => match (a.as_f64(), b.as_f64()) {
            (Some(a), Some(b)) if (a - b).abs() < TOLERANCE => None,
            _ => differ(),
        },
        (a, b) if a == b => None,
        _ => differ(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::difference;

    #[test]
    fn what_is_expected_is_a_part_of_what_is_found() {
        let found = json!({"a": 1, "b": [1.0, {"c": "x", "d": null}], "e": true});
        for (expected, difference_is) in [
            (json!({}), None),
            (json!({"a": 1.000_000_000_1, "b": [1, {"c": "x"}]}), None),
            (json!({"a": 2}), Some("response.a: expected 2, got 1")),
            (json!({"b": [1]}), Some("response.b: expected 1 elements, got 2")),
            (json!({"b": [1, {"c": "y"}]}), Some("response.b[1].c: expected \"y\", got \"x\"")),
            (json!({"f": [1]}), Some("response.f: expected [1], got nothing")),
            (json!({"e": 1}), Some("response.e: expected 1, got true")),
            (
                json!([]),
                Some(
                    "response: expected [], got {\"a\":1,\"b\":[1.0,{\"c\":\"x\",\"d\":null}],\"e\":true}",
                ),
            ),
        ] {
            assert_eq!(difference(&expected, &found).as_deref(), difference_is, "{expected}");
        }
    }
}
