//! Paths of the deploy port.

use crate::fault::Fault;
use crate::http::percent_decode;
use http::Method;
use stead_node::{Code, SessionId};

/// What a request asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Call {
    /// `GET /application/v2/tenant/`
    Tenants,
    /// `GET /application/v2/tenant/default`
    Tenant,
    /// `POST .../prepareandactivate`
    PrepareAndActivate,
    /// `POST .../session`
    Create,
    /// `.../session/N/...`
    Session(SessionId, SessionCall),
    /// `GET .../application/`
    Applications,
    /// `GET .../application/default[/environment/prod/region/default/instance/default]`
    Application,
    /// `DELETE` of the same
    DeleteApplication,
    /// `GET .../instance/default/content/...`
    ApplicationContent(String),
    /// `GET .../instance/default/serviceconverge[/host:port]`
    Convergence,
    /// `GET .../instance/default/logs`
    Logs,
}

/// What of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SessionCall {
    /// `PUT .../prepared`
    Prepare,
    /// `GET .../prepared`
    IsPrepared,
    /// `PUT .../active`
    Activate,
    /// `.../content/...`
    Content(String),
}

/// The answer to a method that a path does not have.
pub fn wrong_method(method: &Method, allowed: &[&str]) -> Fault {
    let text = format!("Method '{method}' is not supported, expected {}", allowed.join(", "));
    Fault::new(Code::MethodNotAllowed, text)
}

fn not_found(what: &str, name: &str) -> Fault {
    Fault::new(Code::NotFound, format!("{what} '{name}' was not found."))
}

/// The call of a request.
///
/// # Errors
/// Paths that do not exist, methods that they do not have, and other tenants and applications than `default`.
pub fn route(method: &Method, path: &str) -> Result<Call, Fault> {
    let unknown = || Fault::new(Code::UnknownUrl, format!("Nothing at '{path}'"));
    let rest = path.strip_prefix("/application/v2/tenant").ok_or_else(unknown)?;
    let segments: Vec<&str> = rest.split('/').skip(1).collect();
    let (tenant, rest) = match segments.as_slice() {
        [] | [""] => return on(method, &[(Method::GET, Call::Tenants)]),
        [tenant, rest @ ..] => (*tenant, rest),
    };
    if tenant != "default" {
        return Err(not_found("Tenant", tenant));
    }
    match rest {
        [] | [""] => on(method, &[(Method::GET, Call::Tenant)]),
        ["prepareandactivate"] => on(method, &[(Method::POST, Call::PrepareAndActivate)]),
        ["session"] | ["session", ""] => on(method, &[(Method::POST, Call::Create)]),
        ["session", id, rest @ ..] => {
            let bad = || Fault::invalid(format!("session ID must be a number, request was '{id}'"));
            let id = SessionId(id.parse().map_err(|_| bad())?);
            session(method, id, rest)?.ok_or_else(unknown)
        }
        ["application"] | ["application", ""] => on(method, &[(Method::GET, Call::Applications)]),
        ["application", name, rest @ ..] => {
            if *name != "default" {
                return Err(not_found("Application", name));
            }
            application(method, rest)?.ok_or_else(unknown)
        }
        _ => Err(unknown()),
    }
}

fn session(method: &Method, id: SessionId, rest: &[&str]) -> Result<Option<Call>, Fault> {
    let call = |call| Call::Session(id, call);
    Ok(Some(match rest {
        ["prepared"] => on(
            method,
            &[
                (Method::PUT, call(SessionCall::Prepare)),
                (Method::GET, call(SessionCall::IsPrepared)),
            ],
        )?,
        ["active"] => on(method, &[(Method::PUT, call(SessionCall::Activate))])?,
        ["content", path @ ..] => {
            let content = call(SessionCall::Content(content_path(path)?));
            on(method, &[Method::GET, Method::PUT, Method::DELETE].map(|m| (m, content.clone())))?
        }
        _ => return Ok(None),
    }))
}

fn application(method: &Method, rest: &[&str]) -> Result<Option<Call>, Fault> {
    let (instance, rest) = match rest {
        [] | [""] => ("default", &[][..]),
        ["environment", _, "region", _, "instance", instance, rest @ ..] => (*instance, rest),
        _ => return Ok(None),
    };
    if instance != "default" {
        return Err(not_found("Instance", instance));
    }
    Ok(Some(match rest {
        [] | [""] => on(
            method,
            &[(Method::GET, Call::Application), (Method::DELETE, Call::DeleteApplication)],
        )?,
        ["content", path @ ..] => {
            on(method, &[(Method::GET, Call::ApplicationContent(content_path(path)?))])?
        }
        ["serviceconverge"] | ["serviceconverge", _] => {
            on(method, &[(Method::GET, Call::Convergence)])?
        }
        ["logs"] => on(method, &[(Method::GET, Call::Logs)])?,
        _ => return Ok(None),
    }))
}

/// A path within a package.
fn content_path(segments: &[&str]) -> Result<String, Fault> {
    let decoded: Option<Vec<_>> = segments.iter().map(|s| percent_decode(s)).collect();
    let decoded = decoded.ok_or_else(|| Fault::invalid("the path is not UTF-8"))?;
    Ok(decoded.join("/"))
}

fn on(method: &Method, calls: &[(Method, Call)]) -> Result<Call, Fault> {
    let found = calls.iter().find(|(allowed, _)| allowed == method);
    let allowed = || calls.iter().map(|(method, _)| method.as_str()).collect::<Vec<_>>();
    found.map(|(_, call)| call.clone()).ok_or_else(|| wrong_method(method, &allowed()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_lead_to_calls() {
        let tenant = "/application/v2/tenant/default";
        let instance = "/application/default/environment/prod/region/default/instance/default";
        let two = SessionId(2);
        for (method, path, expected) in [
            (Method::GET, "/../", Call::Tenants),
            (Method::POST, "/prepareandactivate", Call::PrepareAndActivate),
            (Method::POST, "/session", Call::Create),
            (Method::PUT, "/session/2/prepared", Call::Session(two, SessionCall::Prepare)),
            (Method::GET, "/session/2/prepared", Call::Session(two, SessionCall::IsPrepared)),
            (Method::PUT, "/session/2/active", Call::Session(two, SessionCall::Activate)),
            (
                Method::GET,
                "/session/2/content/a%20b/c/",
                Call::Session(two, SessionCall::Content("a b/c/".to_owned())),
            ),
            (Method::DELETE, instance, Call::DeleteApplication),
            (Method::GET, "/application/default", Call::Application),
        ] {
            let path = match path {
                "/../" => "/application/v2/tenant/".to_owned(),
                path => format!("{tenant}{path}"),
            };
            assert_eq!(route(&method, &path), Ok(expected), "{method} {path}");
        }
        for (path, expected) in [("serviceconverge", Call::Convergence), ("logs", Call::Logs)] {
            let path = format!("{tenant}{instance}/{path}");
            assert_eq!(route(&Method::GET, &path), Ok(expected), "{path}");
        }
    }

    #[test]
    fn other_paths_are_refused_by_name() {
        for (method, path, code, text) in [
            (Method::GET, "/nothing", Code::UnknownUrl, "Nothing at '/nothing'"),
            (
                Method::GET,
                "/application/v2/tenant/other/session",
                Code::NotFound,
                "Tenant 'other' was not found.",
            ),
            (
                Method::PUT,
                "/application/v2/tenant/default/session/x/active",
                Code::InvalidArgument,
                "session ID must be a number, request was 'x'",
            ),
            (
                Method::GET,
                "/application/v2/tenant/default/prepareandactivate",
                Code::MethodNotAllowed,
                "Method 'GET' is not supported, expected POST",
            ),
        ] {
            let Fault(error) = route(&method, path).unwrap_err();
            assert_eq!((error.code, error.to_string()), (code, text.to_owned()), "{path}");
        }
    }
}
