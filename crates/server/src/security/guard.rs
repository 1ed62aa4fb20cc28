//! The one place that every request passes before anything is done for it.

use super::access::admit;
use super::limits::{Client, Limits, Permit};
use super::{Credentials, Role};
use crate::fault::Fault;
use crate::http::{Connection, Dialect, Port, Reply, Required, Tag};
use crate::vespa::document;
use http::header::{AUTHORIZATION, ORIGIN, RETRY_AFTER, WWW_AUTHENTICATE};
use http::uri::Authority;
use http::{HeaderMap, HeaderValue};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use stead_node::Code;

/// What is refused, and what a client is told of how to do better.
#[derive(Debug)]
pub struct Refusal {
    /// The failure.
    pub fault: Fault,
    /// What helps.
    pub hint: Option<Hint>,
}

/// What a client that was refused can do.
#[derive(Debug)]
pub enum Hint {
    /// Show another token: the value of `WWW-Authenticate`.
    Challenge(String),
    /// Try again after this time.
    Wait(Duration),
}

impl Refusal {
    /// The answer over HTTP.
    pub fn reply(self, dialect: Dialect, path: &str) -> Reply {
        let mut reply = match path.starts_with(document::ROOT) {
            true => document::failed(self.fault, path),
            false => Reply::error(&self.fault.0, dialect),
        };
        let header = match self.hint {
            None => None,
            Some(Hint::Challenge(text)) => {
                HeaderValue::from_str(&text).ok().map(|value| (WWW_AUTHENTICATE, value))
            }
            Some(Hint::Wait(wait)) => Some((RETRY_AFTER, HeaderValue::from(seconds(wait)))),
        };
        reply.more.extend(header);
        reply
    }
}

/// Who asks, as far as the request says.
#[derive(Debug, Clone, Copy)]
pub struct Caller<'a> {
    /// The way here.
    pub connection: Connection,
    /// Its headers.
    pub headers: &'a HeaderMap,
    /// The host of the URL, where the protocol has it there.
    pub authority: Option<&'a Authority>,
}

/// What the guard goes by.
#[derive(Debug)]
pub struct Guard {
    credentials: Option<Arc<Credentials>>,
    limits: Option<Arc<Limits>>,
    /// Administration is taken on a port of its own, and nowhere else.
    has_admin_port: bool,
    /// Everybody may look after sequences.
    sequences_are_open: bool,
}

impl Guard {
    /// Of a server with these options; without `credentials` nobody has to say who they are.
    pub fn new(
        credentials: Option<Arc<Credentials>>,
        limits: Option<Arc<Limits>>,
        has_admin_port: bool,
        sequences_are_open: bool,
    ) -> Guard {
        Guard { credentials, limits, has_admin_port, sequences_are_open }
    }

    /// Whether clients show tokens.
    pub fn wants_tokens(&self) -> bool {
        self.credentials.is_some()
    }

    /// Whether who asks shows the token of an administrator, where administration is taken.
    pub fn is_administrator(&self, caller: &Caller<'_>) -> bool {
        let is_elsewhere = self.has_admin_port && caller.connection.port == Port::Query;
        let shows =
            |credentials: &Arc<Credentials>| by_token(credentials, caller, Role::Admin).is_ok();
        !is_elsewhere && self.credentials.as_ref().is_some_and(shows)
    }

    /// Lets a request in that needs this, and counts it until the permit is dropped.
    ///
    /// # Errors
    /// Who asks may not do that, or has asked too much.
    pub fn admit(
        &self,
        caller: &Caller<'_>,
        required: Required,
    ) -> Result<Option<Permit>, Refusal> {
        // Those who look whether the server lives are not counted: they would find it dead when it is only asked much.
        if required.role == Role::Anyone {
            return Ok(None);
        }
        let name = self.name(caller, required);
        let Some(limits) = &self.limits else { return name.map(|_| None) };
        let client = match &name {
            Ok(Some(name)) => Client::Token(name.clone()),
            // Who guesses tokens is counted too.
            _ => Client::at(caller.connection.peer),
        };
        let permit = limits.admit(client, Instant::now()).map_err(too_much)?;
        name.map(|_| Some(permit))
    }

    /// Who asks, by the name of the token.
    fn name(&self, caller: &Caller<'_>, required: Required) -> Result<Option<String>, Refusal> {
        if required.role == Role::Admin
            && self.has_admin_port
            && caller.connection.port == Port::Query
        {
            let text = "this is taken on the server's port for administration only (--admin_port)";
            return Err(plain(Fault::new(Code::PermissionDenied, text)));
        }
        match &self.credentials {
            Some(credentials) => by_token(credentials, caller, required.role).map(Some),
            None => self.by_place(caller, required).map(|()| None),
        }
    }

    /// Without tokens, what matters is where a request comes from.
    fn by_place(&self, caller: &Caller<'_>, required: Required) -> Result<(), Refusal> {
        let is_open = required.tag == Some(Tag::Sequences) && self.sequences_are_open;
        // What is deployed comes to a port of its own, whose address says who can.
        if required.role != Role::Admin || is_open || caller.connection.port == Port::Deploy {
            return Ok(());
        }
        if caller.connection.port == Port::Admin && !caller.connection.is_loopback {
            // Who may connect is for the network to say; web pages connect from the machines of those who may.
            return match caller.headers.contains_key(ORIGIN) {
                true => Err(plain(Fault::new(
                    Code::PermissionDenied,
                    "requests that web pages send are not taken on the port for administration",
                ))),
                false => Ok(()),
            };
        }
        let authority = caller.authority.map(Authority::as_str);
        admit(caller.connection.peer, caller.headers, authority).map_err(plain)
    }
}

/// The name of the token that is shown, if it has the role.
fn by_token(
    credentials: &Credentials,
    caller: &Caller<'_>,
    needed: Role,
) -> Result<String, Refusal> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let now = i64::try_from(now.as_secs()).unwrap_or(i64::MAX);
    let mut shown = caller.headers.get_all(AUTHORIZATION).iter();
    let known = match (shown.next(), shown.next()) {
        (None, _) => {
            let text =
                "this server wants to know who asks: send the header Authorization: Bearer TOKEN";
            return Err(refusal(Code::Unauthenticated, text, "Bearer realm=\"stead\"".to_owned()));
        }
        (Some(value), None) => bearer(value).and_then(|shown| credentials.known(shown, now)),
        (Some(_), Some(_)) => None,
    };
    // Why not is nobody's business who has no good token.
    let Some(known) = known else {
        let challenge = "Bearer realm=\"stead\", error=\"invalid_token\"".to_owned();
        return Err(refusal(Code::Unauthenticated, "the token is not good here", challenge));
    };
    if known.grants.role(&credentials.options.application) < needed {
        let name = needed.name();
        let challenge =
            format!("Bearer realm=\"stead\", error=\"insufficient_scope\", scope=\"{name}\"");
        let text = format!("this needs a token with the role {name}");
        return Err(refusal(Code::PermissionDenied, &text, challenge));
    }
    Ok(known.name)
}

fn refusal(code: Code, text: &str, challenge: String) -> Refusal {
    Refusal { fault: Fault::new(code, text), hint: Some(Hint::Challenge(challenge)) }
}

fn plain(fault: Fault) -> Refusal {
    Refusal { fault, hint: None }
}

fn too_much(wait: Duration) -> Refusal {
    let text = format!("this client has asked too much: again in {} s", seconds(wait));
    Refusal { fault: Fault::new(Code::Overloaded, text), hint: Some(Hint::Wait(wait)) }
}

/// Whole seconds, rather more than less.
fn seconds(time: Duration) -> u64 {
    time.as_secs() + u64::from(time.subsec_nanos() > 0)
}

/// What stands behind `Bearer`.
fn bearer(value: &HeaderValue) -> Option<&str> {
    let (scheme, token) = value.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}
