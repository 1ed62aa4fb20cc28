//! Query files of vespa-fbench: a path with its parameters on each line. With its option `-P` the lines behind a path, up to
//! the next line that begins with a slash, are the body of a POST; a file that has such lines is of that form.

use hyper::http::{HeaderMap, Method, header};

use super::{JSON, Plain};

/// The requests, each with its line.
///
/// # Errors
/// A body before the first path.
pub fn read(text: &str) -> Result<Vec<(usize, Plain)>, String> {
    let mut found: Vec<(usize, String, Vec<&str>)> = Vec::new();
    let mut is_post = false;
    for (line, text) in text.lines().enumerate().map(|(at, text)| (at + 1, text)) {
        if text.starts_with('/') {
            found.push((line, text.trim_end().to_owned(), Vec::new()));
        } else if let Some((_, _, body)) = found.last_mut() {
            is_post |= !text.trim().is_empty();
            body.push(text);
        } else if !text.trim().is_empty() {
            return Err(format!(
                "line {line}: expected JSON, or a path such as /search/?query=..., found `{text:.60}`"
            ));
        }
    }
    let plain = |(line, path, body): (usize, String, Vec<&str>)| {
        let body = body.join("\n").trim_end().to_owned().into();
        let headers = HeaderMap::from_iter(is_post.then_some((header::CONTENT_TYPE, JSON)));
        let method = if is_post { Method::POST } else { Method::GET };
        (line, Plain { method, path, headers, body })
    };
    Ok(found.into_iter().map(plain).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_paths_with_or_without_bodies() {
        let cases: [(&str, &str, Option<&[(&str, usize, &str, &str)]>); 5] = [
            (
                "paths",
                "/search/?query=a\n\n/search/?query=b&hits=3 \n",
                Some(&[
                    ("GET", 1, "/search/?query=a", ""),
                    ("GET", 3, "/search/?query=b&hits=3", ""),
                ]),
            ),
            (
                "bodies",
                "/search/\n{\"yql\": 1}\n/search/\n{\n \"yql\":\n2}\n",
                Some(&[
                    ("POST", 1, "/search/", "{\"yql\": 1}"),
                    ("POST", 3, "/search/", "{\n \"yql\":\n2}"),
                ]),
            ),
            (
                "a body may be empty",
                "/a\n/b\nx",
                Some(&[("POST", 1, "/a", ""), ("POST", 2, "/b", "x")]),
            ),
            ("a body without a path", "query=a\n/search/", None),
            ("a body behind an empty line", "/a\n\nx", Some(&[("POST", 1, "/a", "\nx")])),
        ];
        for (label, text, expected) in cases {
            let found = read(text).ok();
            let found: Option<Vec<_>> = found.as_ref().map(|found| {
                let tuple = |(line, p): &(usize, Plain)| {
                    (
                        p.method.to_string(),
                        *line,
                        p.path.clone(),
                        String::from_utf8(p.body.to_vec()).unwrap(),
                    )
                };
                found.iter().map(tuple).collect()
            });
            let expected: Option<Vec<_>> = expected.map(|all| {
                all.iter()
                    .map(|(m, l, p, b)| (m.to_string(), *l, p.to_string(), b.to_string()))
                    .collect()
            });
            assert_eq!(found, expected, "{label}");
        }
    }
}
