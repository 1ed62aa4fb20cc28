//! The words of an address on the web (`uri`), by the part of it that they stand in.
//!
//! Words and parts are those of Vespa's search core (`searchlib/util/url.h`), so that queries find the same: an address is read as RFC 2396 has it,
//! but a host is only looked for behind `http` and `https`, or where an address begins with `www.`. What is neither, such as `mailto:`, has a
//! scheme and words that belong to no part.

use std::borrow::Cow;
use std::ops::Range;

use crate::analysis::Term;
use crate::letters::compared;

/// Behind so many bytes nothing of an address is looked at, as in Vespa.
const LONGEST: usize = 4096;

/// The word before the first of a host in the index of [host names](AddressPart::HostName). No word of an address is so: they have no capitals.
pub const HOST_BEGINS: &str = "StArThOsT";

/// The word behind the last one of a host, likewise.
pub const HOST_ENDS: &str = "EnDhOsT";

/// Ports that are not words: those that are meant where none is said.
const USUAL_PORTS: [&str; 2] = ["80", "443"];

/// What an index has of addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AddressPart {
    /// All words.
    All,
    /// `http`
    Scheme,
    /// The words of the host.
    Host,
    /// The port, if it is not the usual one.
    Port,
    /// The words of the path with its parameters.
    Path,
    /// The words behind `?`.
    Query,
    /// The words behind `#`.
    Fragment,
    /// The words of the host between [`HOST_BEGINS`] and [`HOST_ENDS`].
    HostName,
}

impl AddressPart {
    /// The parts that have an index of their own, by what stands behind the dot of its name.
    pub const NAMED: [(&str, AddressPart); 7] = [
        ("scheme", AddressPart::Scheme),
        ("host", AddressPart::Host),
        ("port", AddressPart::Port),
        ("path", AddressPart::Path),
        ("query", AddressPart::Query),
        ("fragment", AddressPart::Fragment),
        ("hostname", AddressPart::HostName),
    ];

    /// Its name: `all` of the whole.
    #[must_use]
    pub fn name(self) -> &'static str {
        AddressPart::NAMED.iter().find(|(_, part)| *part == self).map_or("all", |(name, _)| name)
    }
}

/// The words of an address or a part of one, as ranges of its bytes: letters and digits of ASCII, `-` and `_`.
pub fn address_words(text: &str) -> impl Iterator<Item = Range<usize>> {
    let bytes = text.as_bytes();
    let mut at = 0;
    std::iter::from_fn(move || {
        let begin = at + bytes.get(at..)?.iter().position(|byte| is_of_word(*byte))?;
        let rest = bytes.get(begin..)?;
        at = begin + rest.iter().position(|byte| !is_of_word(*byte)).unwrap_or(rest.len());
        Some(begin..at)
    })
}

/// The terms that the index of a part has of an address.
pub(crate) fn terms(text: &str, part: AddressPart) -> Vec<Term<'_>> {
    let text = &text[..text.floor_char_boundary(LONGEST)];
    let parts = Parts::of(text);
    let mut terms = Vec::new();
    if part == AddressPart::HostName {
        terms.push(Term { text: Cow::Borrowed(HOST_BEGINS), bytes: parts.host..parts.host });
    }
    for bytes in address_words(text) {
        let word = &text[bytes.clone()];
        let of = parts.part_before(bytes.end);
        let is_said = match (of, part) {
            (AddressPart::Port, _) if USUAL_PORTS.contains(&word) => false,
            (_, AddressPart::All) => true,
            (AddressPart::Host, AddressPart::HostName) => true,
            (of, part) => of == part,
        };
        if is_said {
            terms.push(Term { text: compared(word, false), bytes });
        }
    }
    if part == AddressPart::HostName {
        let end = terms.last().map_or(parts.host, |term| term.bytes.end);
        terms.push(Term { text: Cow::Borrowed(HOST_ENDS), bytes: end..end });
    }
    terms
}

/// Where the parts of an address begin; at its end those that it has not.
struct Parts {
    host: usize,
    port: usize,
    path: usize,
    query: usize,
    fragment: usize,
    /// What is none of these.
    rest: usize,
}

impl Parts {
    fn of(text: &str) -> Parts {
        let end = text.len();
        let run = |from: usize, is_of: &dyn Fn(u8) -> bool| {
            let rest = text.as_bytes().get(from..).unwrap_or_default();
            from + rest.iter().position(|byte| !is_of(*byte)).unwrap_or(rest.len())
        };
        let begins = |from: usize, with: &str| matches!(text.get(from..from + with.len()), Some(is) if is.eq_ignore_ascii_case(with));
        let mut parts =
            Parts { host: end, port: end, path: end, query: end, fragment: end, rest: end };
        // In Vespa the host of `www.a.com:8080` is `8080`, and its scheme the rest.
        let is_bare_host = begins(0, "www.");
        let colon = run(0, &|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte));
        let has_scheme = !is_bare_host && begins(colon, ":");
        let mut at = if has_scheme { colon + 1 } else { 0 };
        if has_scheme && !begins(0, "http") {
            parts.rest = at;
            return parts;
        }
        let has_slashes = has_scheme && begins(at, "//");
        if has_slashes || is_bare_host {
            at += if has_slashes { 2 } else { 0 };
            parts.host = at;
            at = run(at, &|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte));
            if begins(at, ":") {
                parts.port = at + 1;
                at = run(at + 1, &|byte| byte.is_ascii_digit());
            }
        }
        parts.path = at;
        at = run(at, &|byte| is_of_path(byte) || b"/;".contains(&byte));
        for (sign, part) in [("?", &mut parts.query), ("#", &mut parts.fragment)] {
            if begins(at, sign) {
                *part = at + 1;
                at = run(at + 1, &|byte| is_of_path(byte) || b";/?".contains(&byte));
            }
        }
        parts.rest = at;
        parts
    }

    /// The part that ends at a place or has it in it: the last that begins before.
    fn part_before(&self, end: usize) -> AddressPart {
        let parts = [
            (self.rest, AddressPart::All),
            (self.fragment, AddressPart::Fragment),
            (self.query, AddressPart::Query),
            (self.path, AddressPart::Path),
            (self.port, AddressPart::Port),
            (self.host, AddressPart::Host),
        ];
        let found = parts.into_iter().find(|(begin, _)| *begin < end);
        found.map_or(AddressPart::Scheme, |(_, part)| part)
    }
}

fn is_of_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-'
}

/// `pchar` of RFC 2396, section 3.3.
fn is_of_path(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-_.!~*'()%:@&=+$,".contains(&byte)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{any, proptest};

    use super::{AddressPart, HOST_BEGINS, HOST_ENDS, address_words, terms};

    fn words(text: &str, part: AddressPart) -> String {
        let words: Vec<_> = terms(text, part).into_iter().map(|term| term.text).collect();
        words.join(" ")
    }

    /// Addresses and the parts of their words of Vespa's `searchlib/src/tests/url/url_test.cpp` (Apache License 2.0).
    #[test]
    fn words_are_of_the_parts_that_vespa_says() {
        for (address, expected) in [
            ("", ""),
            ("..", ""),
            ("CHANGES_2.0a", "path: changes_2 0a"),
            ("patches/patch-cvs-1.9.10", "path: patches patch-cvs-1 9 10"),
            ("http:patches/patch-ssh-1.2.14", "scheme: http, path: patches patch-ssh-1 2 14"),
            (
                "http://180.uninett.no/servlet/online.Bransje",
                "scheme: http, host: 180 uninett no, path: servlet online bransje",
            ),
            ("./fakadm/grafikk/indus_bilde.JPG", "path: fakadm grafikk indus_bilde jpg"),
            (
                "http://www.underdusken.no/?page=dusker/html/0008/Uholdbar.html",
                "scheme: http, host: www underdusken no, query: page dusker html 0008 uholdbar html",
            ),
            (
                "http://www.uni-karlsruhe.de/~ig25/ssh-faq/",
                "scheme: http, host: www uni-karlsruhe de, path: ig25 ssh-faq",
            ),
            (
                "javascript:OpenWindow('/survey/faq.html', 'Issues'",
                "scheme: javascript, all: openwindow survey faq html issues",
            ),
            ("mailto: dmf-post@medisin.ntnu.no", "scheme: mailto, all: dmf-post medisin ntnu no"),
            (
                "mailto:%20Harald%20Danielsen@energy.sintef.no",
                "scheme: mailto, all: 20harald 20danielsen energy sintef no",
            ),
            ("www.underdusken.no", "host: www underdusken no"),
            ("~janie/", "path: janie"),
            (
                "https://dette.er.en:2020/~janie/index.htm?param1=q&param2=r",
                "scheme: https, host: dette er en, port: 2020, path: janie index htm, query: param1 q param2 r",
            ),
            (
                "http://arthur/qm/images/qm1.gif",
                "scheme: http, host: arthur, path: qm images qm1 gif",
            ),
            ("http://foo.com/ui;.gif", "scheme: http, host: foo com, path: ui gif"),
            (
                "http://www.foo.no:8080/path/filename.ext;par1=hello/par2=world?query=test#fragment",
                "scheme: http, host: www foo no, port: 8080, path: path filename ext par1 hello par2 world, \
                 query: query test, fragment: fragment",
            ),
            (
                "http://canonsarang.com/zboard/data/gallery04/HU&BANG.jpg",
                "scheme: http, host: canonsarang com, path: zboard data gallery04 hu bang jpg",
            ),
            // Of our own: usual ports, hosts that no scheme stands before, letters of others.
            ("http://a.com:80/b", "scheme: http, host: a com, path: b"),
            ("https://a.com:443", "scheme: https, host: a com"),
            ("WWW.a.com:8080/b?c", "host: www a com, port: 8080, path: b, query: c"),
            ("http://a.com/caf\u{e9}-s?x", "scheme: http, host: a com, path: caf, all: -s x"),
        ] {
            let named = AddressPart::NAMED.into_iter().filter(|(name, _)| *name != "hostname");
            let mut parts: Vec<String> = named
                .map(|(name, part)| (name, words(address, part)))
                .filter(|(_, words)| !words.is_empty())
                .map(|(name, words)| format!("{name}: {words}"))
                .collect();
            let all = words(address, AddressPart::All);
            let of_parts: Vec<&str> =
                parts.iter().filter_map(|part| Some(part.split_once(": ")?.1)).collect();
            let rest = all.strip_prefix(&of_parts.join(" ")).expect(address).trim();
            if !rest.is_empty() {
                parts.push(format!("all: {rest}"));
            }
            assert_eq!(parts.join(", "), expected, "{address}");
            let host = words(address, AddressPart::Host);
            let marked = format!("{HOST_BEGINS} {host} {HOST_ENDS}").replace("  ", " ");
            assert_eq!(words(address, AddressPart::HostName), marked, "{address}");
        }
    }

    /// Those of Vespa's `YqlParserTestCase.testUriTokenization` (Apache License 2.0).
    #[test]
    fn queries_have_words() {
        for (text, expected) in [
            ("my-subdomain.example.com", &["my-subdomain", "example", "com"][..]),
            ("foo_bar.example.com", &["foo_bar", "example", "com"]),
            ("my%2dsub.example.com", &["my", "2dsub", "example", "com"]),
            ("a\u{212a}b.example.com", &["a", "b", "example", "com"]),
            ("://example..com/", &["example", "com"]),
            ("", &[]),
            ("...", &[]),
        ] {
            let words: Vec<&str> = address_words(text).map(|bytes| &text[bytes]).collect();
            assert_eq!(words, expected, "{text}");
        }
    }

    proptest! {
        /// A word is of one part, and where it stands is told.
        #[test]
        fn any_text_has_words_in_order(text in any::<String>(), address in "(https?:)?(//)?[a-z.:/?#;&=@\u{e9}0-9-]{0,40}") {
            for text in [text, address] {
                let mut of_parts = 0;
                for part in AddressPart::NAMED.map(|(_, part)| part).into_iter().chain([AddressPart::All]) {
                    let found = terms(&text, part);
                    assert!(found.windows(2).all(|pair| pair[0].bytes.end <= pair[1].bytes.start), "{text}");
                    assert!(found.iter().all(|term| term.bytes.end <= text.len()));
                    match part {
                        AddressPart::All => assert!(of_parts <= found.len(), "{text}"),
                        AddressPart::HostName => {}
                        _ => of_parts += found.len(),
                    }
                }
            }
        }
    }
}
