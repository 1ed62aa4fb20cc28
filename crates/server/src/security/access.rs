//! Who may administrate a server that asks for no tokens.

use crate::fault::Fault;
use http::HeaderMap;
use http::header::{FORWARDED, HOST, HeaderName, ORIGIN, VIA};
use std::net::IpAddr;
use stead_node::Code;

/// Headers by which proxies are known.
const PROXIES: [HeaderName; 4] = [
    FORWARDED,
    VIA,
    HeaderName::from_static("x-forwarded-for"),
    HeaderName::from_static("x-real-ip"),
];

/// Lets a client on this machine in. `authority` is what it calls the server in its URL, if that says so;
/// `peer` is the address that the connection
/// comes from, none when the system does not say.
///
/// Browsers and proxies connect from this machine on behalf of others. A page says so by `Origin`, which every
/// request has that changes something; one that has tricked the resolver into its own name leading here is known by
/// that name.
///
/// # Errors
/// `PERMISSION_DENIED` with the way to change that.
pub fn admit(
    peer: Option<IpAddr>,
    headers: &HeaderMap,
    authority: Option<&str>,
) -> Result<(), Fault> {
    let named = headers.get_all(HOST).iter().map(|v| v.to_str().unwrap_or("?"));
    let mut hosts = authority.into_iter().chain(named);
    let reason = match peer.map(|ip| ip.to_canonical().is_loopback()) {
        Some(true) if headers.contains_key(ORIGIN) => "a web page sends this request",
        Some(true) if PROXIES.iter().any(|name| headers.contains_key(name)) => {
            "this request comes through a proxy"
        }
        Some(true) if !hosts.all(is_local) => {
            "this request is for a host of another name than localhost"
        }
        Some(true) => return Ok(()),
        _ => "this request comes from another machine",
    };
    Err(Fault::new(
        Code::PermissionDenied,
        format!(
            "this is for the server's own machine only, and {reason}; others need a token with the role admin \
             (--tokens_file, --jwks_file) or the port of --admin_port; for sequences there is --sequence_admin_enable too"
        ),
    ))
}

/// Whether the value of `Host` names this machine and nothing else.
fn is_local(host: &str) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|b| b.is_ascii_digit()) => name,
        _ => host,
    };
    let bare = name.strip_prefix('[').and_then(|n| n.strip_suffix(']')).unwrap_or(name);
    name.eq_ignore_ascii_case("localhost")
        || bare.parse::<IpAddr>().is_ok_and(|ip| ip.to_canonical().is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_this_machine() {
        const NONE: (&str, &str) = ("accept", "*/*");
        let cases = [
            ("127.0.0.1", NONE, true),
            ("127.9.9.9", NONE, true),
            ("::1", NONE, true),
            ("::ffff:127.0.0.1", NONE, true),
            ("10.0.0.1", NONE, false),
            ("::ffff:10.0.0.1", NONE, false),
            ("nothing", NONE, false),
            ("127.0.0.1", ("origin", "http://example.com"), false),
            ("127.0.0.1", ("x-forwarded-for", "127.0.0.1"), false),
            ("127.0.0.1", ("forwarded", "for=10.0.0.1"), false),
            ("127.0.0.1", ("host", "localhost"), true),
            ("127.0.0.1", ("host", "LOCALHOST:8080"), true),
            ("127.0.0.1", ("host", "127.0.0.1:8080"), true),
            ("::1", ("host", "[::1]:8080"), true),
            ("::1", ("host", "[::1]"), true),
            ("127.0.0.1", ("host", "example.com:8080"), false),
            ("127.0.0.1", ("host", "localhost.example.com"), false),
            ("127.0.0.1", ("host", "10.0.0.1"), false),
            ("127.0.0.1", ("host", ""), false),
        ];
        for (peer, (name, value), expected) in cases {
            let peer = peer.parse().ok();
            let authority = (name == "host").then_some(value);
            let name = HeaderName::from_static(name);
            let headers = HeaderMap::from_iter([(name, value.parse().unwrap())]);
            let got = admit(peer, &headers, None);
            // HTTP/2 has the host in the URL.
            let other = admit(peer, &HeaderMap::new(), authority);
            assert!(authority.is_none() || other.is_ok() == expected, "{authority:?}");
            assert_eq!(got.is_ok(), expected, "{peer:?} {headers:?}");
            if let Err(Fault(error)) = got {
                assert_eq!(error.code, Code::PermissionDenied);
                assert!(error.to_string().contains("--sequence_admin_enable"), "{error}");
            }
        }
    }
}
