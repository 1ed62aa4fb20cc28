//! Parameters of URLs and forms.

use crate::http::percent_decode;

/// The names and values of `a=1&b=2`, decoded; nothing if one of them is not UTF-8.
pub fn pairs(query: &str) -> Option<Vec<(String, String)>> {
    let decode = |text: &str| Some(percent_decode(&text.replace('+', " "))?.into_owned());
    let parts = query.split('&').filter(|part| !part.is_empty());
    parts
        .map(|part| {
            let (name, value) = part.split_once('=').unwrap_or((part, ""));
            Some((decode(name)?, decode(value)?))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_decoded() {
        let pair = |a: &str, b: &str| (a.to_owned(), b.to_owned());
        for (query, expected) in [
            ("", Some(vec![])),
            ("a=1&b=x+y%2B%3D&c", Some(vec![pair("a", "1"), pair("b", "x y+="), pair("c", "")])),
            ("a=b=c", Some(vec![pair("a", "b=c")])),
            ("a=%ff", None),
            ("a=%f", None),
        ] {
            assert_eq!(pairs(query), expected, "{query}");
        }
    }
}
