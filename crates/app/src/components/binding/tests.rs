use std::cmp::Ordering;

use super::*;

fn pattern(text: &str) -> BindingPattern {
    BindingPattern::parse(text).unwrap_or_else(|e| panic!("{text}: {e}"))
}

/// What the wildcards of a pattern's path stand for in `host:port/path`, `name=` before those with a name; nothing if it does
/// not match.
fn matched(text: &str, url: &str) -> Option<Vec<String>> {
    let (authority, path) = url.split_once('/').unwrap();
    let (host, port) = authority.split_once(':').unwrap();
    let path = format!("/{path}");
    let found = pattern(text).matches(host, port.parse().unwrap(), &path)?;
    let shown = |(name, value): (Option<String>, &str)| match name {
        Some(name) => format!("{name}={value}"),
        None => value.to_owned(),
    };
    Some(found.wildcards.into_iter().map(shown).collect())
}

#[test]
fn urls_match_patterns() {
    let none: Option<&[&str]> = Some(&[]);
    for (text, url, expected) in [
        // Vespa, `UriPatternTestCase`.
        ("http://bar:69/path", "bar:69/path", none),
        ("http://bar:69/path", "foobar:69/path", None),
        ("http://*:69/path", "foobar:69/path", none),
        ("http://*bar:69/path", "bar:69/path", none),
        ("http://*bar:69/path", "barbaz:69/path", None),
        ("http://bar*:69/path", "barbaz:69/path", none),
        ("http://host:69/path", "host:699/path", None),
        ("http://host:*/path", "host:699/path", none),
        ("http://host/path", "host:699/path", none),
        ("http://host:69/", "host:69/", none),
        ("http://host:69/", "host:69/foo", None),
        ("http://host:69/*", "host:69/", Some(&[""])),
        ("http://host:69/*", "host:69/foo/bar", Some(&["foo/bar"])),
        ("http://host:69/*bar", "host:69/foobar", Some(&["foo"])),
        ("http://host:69/*bar", "host:69/barbaz", None),
        ("http://host:69/bar*", "host:69/bar", Some(&[""])),
        ("http://host:69/bar*", "host:69/barbaz", Some(&["baz"])),
        ("http://*.host/path", "a.b.host:80/path", none),
        ("https://host:443/path", "host:443/path", none),
        ("http://host:80/one%2Fpath", "host:80/one%2Fpath", none),
        ("http://host:80/one%2Fpath", "host:80/one/path", None),
        // Names.
        ("http://*/{user}", "h:80/7", Some(&["user=7"])),
        ("http://*/{user}", "h:80/", None),
        ("http://*/{user}", "h:80/7/", None),
        ("http://*/rank/{user}/of/{rest}", "h:80/rank/7/of/b", Some(&["user=7", "rest=b"])),
        ("http://*/rank/{user}/of/{rest}", "h:80/rank/7/8/of/b", None),
        ("http://*/rank/{user}/*", "h:80/rank/7/a/b", Some(&["user=7", "a/b"])),
        ("http://*/*/{user}", "h:80/a/b/7", Some(&["a/b", "user=7"])),
        ("http://*/{user}/*", "h:80/7", None),
        // Stars within, several of them, and their overlaps.
        ("http://*/a*a", "h:80/a", None),
        ("http://*/a*a", "h:80/aa", Some(&[""])),
        ("http://*/a*a", "h:80/aaa", Some(&["a"])),
        ("http://*/a*b*c", "h:80/a/b/b/c", Some(&["/", "/b/"])),
        ("http://*/a*b*c", "h:80/a/c/b", None),
        ("http://EXAMPLE.com/a", "example.com:80/a", none),
        ("*://*/*", "h:1/a/b", Some(&["a/b"])),
    ] {
        let expected =
            expected.map(|list| list.iter().map(|w| (*w).to_owned()).collect::<Vec<_>>());
        assert_eq!(matched(text, url), expected, "{text} on {url}");
    }
    for (text, port) in [("http://[::1]:80/a", 80), ("http://[::1]/a", 81)] {
        assert!(pattern(text).matches("[::1]", port, "/a").is_some(), "{text}");
    }
}

#[test]
fn many_stars_do_not_take_long() {
    let text = format!("http://*/{}b", "a*".repeat(400));
    let path = format!("/{}", "a".repeat(8000));
    assert!(pattern(&text).matches("h", 80, &path).is_none());
    let begin = "a".repeat(400);
    assert!(pattern(&text).matches("h", 80, &format!("/{begin}{}b", "a".repeat(4000))).is_some());
}

#[test]
fn the_more_specific_comes_first() {
    // Vespa, `UriPatternTestCase.requireThatStrictPatternsOrderBeforeWildcards` and its neighbours.
    for (first, second) in [
        ("http://host:69/path", "*://host:69/path"),
        ("http://a:69/path", "http://*:69/path"),
        ("http://a:69/path", "http://*a:69/path"),
        ("http://*aa:69/path", "http://*a:69/path"),
        ("http://host:69/path", "http://host:*/path"),
        ("http://host:69/a", "http://host:69/*"),
        ("http://host:69/a", "http://host:69/a*"),
        ("http://host:69/aa*", "http://host:69/a*"),
        ("http://*:69/path", "*://host:69/path"),
        ("http://host:*/path", "http://*:69/path"),
        ("http://host:*/path", "http://host:69/*"),
        ("http://host:69/foo/bar/baz", "http://host:69/foo/bar/*"),
        ("http://host:69/foo/bar", "http://host:69/foo"),
        ("http://b:69/*", "http://a:69/path"),
        ("http://host:*/b", "http://host:69/a"),
        ("http://host:70/path", "http://host:69/path"),
        // Names are less than letters and more than stars.
        ("http://*/a/b", "http://*/a/{x}"),
        ("http://*/a/{x}", "http://*/a/*"),
        ("http://*/a/{x}/*", "http://*/a/*"),
        ("http://*/{x}", "http://*/*"),
    ] {
        let (a, b) = (pattern(first), pattern(second));
        assert_eq!((a.cmp(&b), b.cmp(&a)), (Ordering::Less, Ordering::Greater), "{first} {second}");
    }
    for (one, same) in [
        ("http://*/a", "https://*:*/a"),
        ("http://*/a/{x}", "http://*/a/{y}"),
        ("http://Host/a", "http://host/a"),
    ] {
        assert_eq!(pattern(one), pattern(same), "{one}");
    }
}

#[test]
fn patterns_meet_where_a_url_matches_both() {
    for (one, other, expected) in [
        ("http://*/a/*", "http://*/a/b", true),
        ("http://*/a/*", "http://*/b/*", false),
        ("http://*/*b", "http://*/a*", true),
        ("http://*/{x}", "http://*/a/b", false),
        ("http://*/{x}/b", "http://*/a/*", true),
        ("http://*/{x}", "http://*/", false),
        ("http://a/x", "http://b/x", false),
        ("http://*.a/x", "http://b.*/x", true),
        ("http://*:1/x", "http://*:2/x", false),
        ("http://*:1/x", "http://*/x", true),
    ] {
        let (a, b) = (pattern(one), pattern(other));
        assert_eq!((a.meets(&b), b.meets(&a)), (expected, expected), "{one} {other}");
    }
}

#[test]
fn what_is_no_pattern_is_told() {
    for (text, expected) in [
        ("", "expected scheme://host[:port]/path such as http://*/rank/*, found "),
        ("/rank", "expected scheme://host[:port]/path such as http://*/rank/*, found /rank"),
        ("http://host", "expected scheme://host"),
        ("http:///a", "expected scheme://host"),
        ("ftp://*/a", "the scheme must be http or *, found ftp"),
        ("http://h:0/", "the port must be a number from 1 to 65535 or *, found 0"),
        ("http://h:6*/", "the port must be a number from 1 to 65535 or *, found 6*"),
        ("http://h/a b", "URLs have no ' '; write it percent-encoded"),
        ("http://h/a?b", "URLs have no '?'; write it percent-encoded"),
        ("http://h/\u{e9}", "URLs have no '\u{e9}'; write it percent-encoded"),
        ("http://h/{", "expected {name} with a name of its own between slashes, found {"),
        ("http://h/{}", "expected {name} with a name of its own between slashes, found {}"),
        ("http://h/a}", "expected {name} with a name of its own between slashes, found }"),
        ("http://h/{a}/{a}", "expected {name} with a name of its own between slashes, found {a}"),
        ("http://h/{a}b", "expected {name} with a name of its own between slashes, found {a}b"),
        ("http://h/b{a}", "expected {name} with a name of its own between slashes, found b{a}"),
        ("http://h/*{a}", "expected {name} with a name of its own between slashes, found *{a}"),
    ] {
        let error = BindingPattern::parse(text).unwrap_err().to_string();
        assert!(error.starts_with(expected), "{text}: {error}");
    }
    let long = format!("http://h/{}", "a".repeat(2000));
    assert_eq!(BindingPattern::parse(&long), Err(BindingError::TooLong(2009)));
}

/// Random patterns over few letters: what matches, matches what its own definition says, by backtracking over all splits; and
/// two patterns meet if some text matches both.
#[test]
fn random_patterns_match_as_backtracking_does() {
    for seed in 1..=400_u64 {
        let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let mut next = |below: u64| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state % below
        };
        let mut text = |letters: &[&str]| -> String {
            (0..next(6)).map(|_| letters[next(letters.len() as u64) as usize]).collect()
        };
        let (one, other) = (text(&["a", "b", "/", "*", "*"]), text(&["a", "b", "/", "*", "*"]));
        let (a, b) = (Glob::of_stars(&one), Glob::of_stars(&other));
        let mut both = false;
        for path in all_texts(4) {
            let (is_a, is_b) = (slow(one.as_bytes(), &path), slow(other.as_bytes(), &path));
            let path = std::str::from_utf8(&path).unwrap();
            assert_eq!(a.matches(path), is_a, "seed {seed}: {one} on {path}");
            both |= is_a && is_b;
        }
        // Texts that match both may be longer than those that were tried.
        assert!(!both || a.meets(&b), "seed {seed}: {one} and {other}");
        assert_eq!(a.meets(&b), b.meets(&a), "seed {seed}: {one} and {other}");
    }
}

fn all_texts(longest: usize) -> Vec<Vec<u8>> {
    let (mut all, mut last) = (vec![Vec::new()], vec![Vec::new()]);
    for _ in 0..longest {
        let with = |text: &Vec<u8>| b"ab/".map(|c| [text.as_slice(), &[c]].concat());
        last = last.iter().flat_map(with).collect();
        all.extend(last.clone());
    }
    all
}

fn slow(pattern: &[u8], text: &[u8]) -> bool {
    match pattern.split_first() {
        None => text.is_empty(),
        Some((b'*', rest)) => (0..=text.len()).any(|at| slow(rest, &text[at..])),
        Some((letter, rest)) => text.first() == Some(letter) && slow(rest, &text[1..]),
    }
}
