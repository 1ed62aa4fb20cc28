//! Who may look after sequences.

use crate::fault::Fault;
use std::net::IpAddr;
use stead_node::Code;

/// Who asks, and with which query.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Visitor {
    /// The address that the connection comes from; none when the system does not say.
    pub peer: Option<IpAddr>,
    /// Whether a browser sent the request for a page: then it comes from this machine and says nothing about who
    /// wants it.
    pub from_page: bool,
    /// The part of the URL behind `?`.
    pub query: String,
}

impl Visitor {
    /// Lets this machine in, and others when the server is `open`.
    ///
    /// # Errors
    /// `PERMISSION_DENIED` with the way to change that.
    pub fn admit(&self, open: bool) -> Result<(), Fault> {
        let denied = |who: &str| {
            Err(Fault::new(
                Code::PermissionDenied,
                format!(
                    "sequences are looked after from the server's own machine only, and {who}; \
                     --sequence_admin_enable opens these calls to every client"
                ),
            ))
        };
        match self.peer.map(|ip| ip.to_canonical().is_loopback()) {
            _ if open => Ok(()),
            Some(true) if self.from_page => denied("not from web pages"),
            Some(true) => Ok(()),
            _ => denied("this request comes from another one"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_this_machine_unless_opened() {
        let cases = [
            ("127.0.0.1", false, false, true),
            ("127.9.9.9", false, false, true),
            ("::1", false, false, true),
            ("::ffff:127.0.0.1", false, false, true),
            ("127.0.0.1", true, false, false),
            ("127.0.0.1", true, true, true),
            ("10.0.0.1", false, false, false),
            ("::ffff:10.0.0.1", false, false, false),
            ("10.0.0.1", false, true, true),
        ];
        for (peer, from_page, open, expected) in cases {
            let visitor = Visitor { peer: peer.parse().ok(), from_page, query: String::new() };
            let got = visitor.admit(open);
            assert_eq!(got.is_ok(), expected, "{peer} {from_page} {open}");
            if let Err(Fault(error)) = got {
                assert_eq!(error.code, Code::PermissionDenied);
                assert!(error.to_string().contains("--sequence_admin_enable"), "{error}");
            }
        }
        assert!(Visitor::default().admit(false).is_err(), "an unknown peer");
    }
}
