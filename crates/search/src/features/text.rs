//! Lists and weighted sets in the parameters of a query: `[a b]`, `{a:1,b:2}`, or JSON.

use serde_json::Value as Json;

/// The elements of `[a b]` or `["a","b"]`.
pub(super) fn list(text: &str) -> Result<Vec<String>, String> {
    let text = text.trim();
    if let Ok(Json::Array(list)) = serde_json::from_str(text) {
        return Ok(list.iter().map(plain).collect());
    }
    let inner = text.strip_prefix('[').and_then(|t| t.strip_suffix(']'));
    let Some(inner) = inner else {
        return Err(format!("expected a list such as [a b], found {text:.40}"));
    };
    Ok(inner.split_ascii_whitespace().map(str::to_owned).collect())
}

/// The elements of `{a:1,b:2}`, `(a:1,b:2)` or `{"a":1,"b":2}`, with their weights.
pub(super) fn weights(text: &str) -> Result<Vec<(String, f64)>, String> {
    let text = text.trim();
    let expected = |found: &str| format!("expected weights such as {{a:1,b:2}}, found {found:.40}");
    let weight = |text: &str| text.trim().parse::<f64>().map_err(|_| expected(text));
    if let Ok(Json::Object(object)) = serde_json::from_str(text) {
        return object.iter().map(|(key, json)| Ok((key.clone(), weight(&plain(json))?))).collect();
    }
    let braces = text.strip_prefix('{').and_then(|t| t.strip_suffix('}'));
    let inner = braces.or_else(|| text.strip_prefix('(').and_then(|t| t.strip_suffix(')')));
    let inner = inner.ok_or_else(|| expected(text))?;
    let mut found = Vec::new();
    for part in inner.split(',').filter(|p| !p.trim().is_empty()) {
        let (key, number) = part.split_once(':').ok_or_else(|| expected(part))?;
        found.push((key.trim().to_owned(), weight(number)?));
    }
    Ok(found)
}

fn plain(json: &Json) -> String {
    match json {
        Json::String(text) => text.clone(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::{list, weights};

    #[test]
    fn lists_and_weights_are_read() {
        for (text, expected) in [
            ("[a b]", vec!["a", "b"]),
            ("[\"a b\",1]", vec!["a b", "1"]),
            ("[]", vec![]),
            (" [x] ", vec!["x"]),
        ] {
            assert_eq!(list(text).unwrap(), expected, "{text}");
        }
        for text in ["{a:1, b:-2.5}", "(a:1,b:-2.5)", "{\"a\":1,\"b\":\"-2.5\"}", "{a:1,b:-2.5,}"] {
            let found = weights(text).unwrap();
            assert_eq!(found, [("a".to_owned(), 1.0), ("b".to_owned(), -2.5)], "{text}");
        }
        assert_eq!(weights("{}").unwrap(), []);
        assert_eq!(list("a b").unwrap_err(), "expected a list such as [a b], found a b");
        assert_eq!(weights("{a}").unwrap_err(), "expected weights such as {a:1,b:2}, found a");
        assert_eq!(weights("{a:x}").unwrap_err(), "expected weights such as {a:1,b:2}, found x");
    }
}
