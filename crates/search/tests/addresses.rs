//! Fields of addresses (`uri`): their parts, and hosts that are asked for by their beginning or end.
#![allow(clippy::unwrap_used)]

use serde_json::{Value as Json, json};

use crate::asked::Asked;

const SCHEMA: &str = "schema page {
  document page {
    field url type uri { indexing: index | summary }
    field links type array<uri> { indexing: index | summary }
    field text type string { indexing: index }
  }
  fieldset default { fields: url, text }
  rank-profile hosts {
    first-phase { expression: bm25(url.host) }
    match-features: matches(url) matches(url.host) fieldMatch(url.hostname).matches
  }
}";

fn pages() -> Vec<Json> {
    vec![
        json!({"url": "https://www.example.com:8080/my-blog/Index_1.html?page=2#top", "text": "example"}),
        json!({"url": "http://example.com/", "links": ["http://a.org/x", "https://docs.b.org:81/y#z"]}),
        json!({"url": "http://example.com.evil.net:80/www/com"}),
        json!({"url": "mailto:me@example.com"}),
        json!({"text": "www.example.com"}),
    ]
}

fn found(asked: &Asked, view: &stead_store::View, query: &Json) -> Vec<usize> {
    let mut body = json!({"ranking": "unranked"});
    body.as_object_mut().unwrap().extend(query.as_object().unwrap().clone());
    asked.features(view, &body).into_iter().map(|(number, _)| number).collect()
}

#[test]
fn words_are_found_in_parts_of_addresses() {
    let asked = Asked::new(&[("page", false, SCHEMA)]);
    let pages = asked.documents("page", &pages());
    for (filter, expected) in [
        // The same words are in each of these, but not as the same part.
        ("url contains uri('example.com')", vec![0, 1, 2, 3]),
        ("url contains 'example.com'", vec![0, 1, 2, 3]),
        ("url.host contains 'example.com'", vec![0, 1, 2]),
        ("url.host contains 'EXAMPLE'", vec![0, 1, 2]),
        ("url.scheme contains 'http'", vec![1, 2]),
        ("url.scheme contains 'mailto'", vec![3]),
        ("url.port contains '8080'", vec![0]),
        ("url.port contains '80'", vec![]),
        ("url contains '80'", vec![]),
        ("url.path contains 'com'", vec![2]),
        ("url.path contains 'my-blog'", vec![0]),
        ("url.path contains 'blog'", vec![]),
        ("url.path contains phrase('my-blog', 'index_1', 'html')", vec![0]),
        ("url.path contains ({prefix: true}'index')", vec![0]),
        ("url.query contains 'page'", vec![0]),
        ("url.fragment contains 'top'", vec![0]),
        // A host to its end, unless something else is said.
        ("url.hostname contains uri('example.com')", vec![0, 1]),
        ("url.hostname contains ({startAnchor: true}uri('example.com'))", vec![1]),
        ("url.hostname contains ({endAnchor: false}uri('example.com'))", vec![0, 1, 2]),
        (
            "url.hostname contains ({startAnchor: true, endAnchor: false}uri('example.com'))",
            vec![1, 2],
        ),
        ("url.hostname contains ({startAnchor: true}uri(''))", vec![3]),
        ("url.host contains uri('www.example.com')", vec![0]),
        ("url.host contains ({endAnchor: true}uri('com'))", vec![]),
        ("url.hostname contains uri('www.example')", vec![]),
        ("url contains uri('...')", vec![]),
        ("default contains uri('www.example')", vec![0, 4]),
        // What people type of a host.
        ("userInput('url.hostname:example.com')", vec![0, 1]),
        ("userInput('url.hostname:example.com*')", vec![0, 1, 2]),
        ("userInput('url.hostname:^example.com')", vec![1]),
        ("userInput('url.hostname:^example.com*')", vec![1, 2]),
        ("userInput('+url:example.com -url.scheme:mailto')", vec![0, 1, 2]),
        ("links.hostname contains uri('a.org')", vec![1]),
        ("links contains phrase('a', 'org', 'x')", vec![1]),
        // Elements are addresses of their own.
        ("links contains phrase('x', 'https')", vec![]),
        ("links.port contains '81' and links.fragment contains 'z'", vec![1]),
    ] {
        let yql = format!("select * from page where {filter}");
        assert_eq!(found(&asked, pages.view(), &json!({"yql": yql})), expected, "{filter}");
    }
}

#[test]
fn select_asks_for_addresses_too() {
    let asked = Asked::new(&[("page", false, SCHEMA)]);
    let pages = asked.documents("page", &pages());
    for (filter, expected) in [
        (json!({"contains": ["url.hostname", {"uri": ["example.com"]}]}), vec![0, 1]),
        (
            json!({"contains": ["url.hostname", {"uri": {
                "children": ["example.com"], "attributes": {"startAnchor": true}}}]}),
            vec![1],
        ),
    ] {
        let select = json!({"select": {"where": filter}});
        assert_eq!(found(&asked, pages.view(), &select), expected, "{filter}");
    }
}

#[test]
fn parts_are_ranked() {
    let asked = Asked::new(&[("page", false, SCHEMA)]);
    let pages = asked.documents("page", &pages());
    let yql = "select * from page where url.hostname contains uri('example.com') or url.host contains 'example'";
    let hits = asked.features(pages.view(), &json!({"yql": yql, "ranking": "hosts"}));
    let matches: Vec<String> = hits
        .iter()
        .map(|(number, features)| {
            let hosts = &features["fieldMatch(url.hostname).matches"];
            format!(
                "{number}: {} {} {hosts}",
                features["matches(url)"], features["matches(url.host)"]
            )
        })
        .collect();
    // The end of a host is a word too.
    assert_eq!(matches, ["0: 0.0 1.0 3.0", "1: 0.0 1.0 3.0", "2: 0.0 1.0 0.0"]);
}

#[test]
fn what_has_no_addresses_is_told() {
    let asked = Asked::new(&[("page", false, SCHEMA)]);
    let pages = asked.documents("page", &pages());
    for (filter, expected) in [
        ("url contains uri()", "Expected 1 argument, got 0."),
        ("url.site contains uri('a')", "Field 'url.site' does not exist."),
        ("text.host contains uri('a')", "Field 'text.host' does not exist."),
        (
            "url contains ({startAnchor: 3}uri('a'))",
            "expected true or false for annotation 'startAnchor', got 3",
        ),
    ] {
        let yql = format!("select * from page where {filter}");
        let (status, result) = asked.search(&[pages.view()], &json!({"yql": yql}));
        let message = result["root"]["errors"][0]["message"].as_str().unwrap_or_default();
        assert_eq!(status, 400, "{filter}: {result}");
        assert!(message.contains(expected), "{filter}: {message}");
    }
}
