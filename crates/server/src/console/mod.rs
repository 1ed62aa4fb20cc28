//! The console: a page for people at `/console/`, and what it asks beside the calls that clients have too.
//!
//! The page holds nothing of the server: its files are the same for everybody and need no token. What it shows it asks by
//! the calls of the [table](crate::http::ENDPOINTS), with the roles that these need.

mod application;
mod files;

use crate::fault::Fault;
use crate::http::{Reply, Shared, unknown_url};
use crate::security::Caller;
use files::FILES;
use http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, HeaderName, HeaderValue, LOCATION, REFERRER_POLICY,
    X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use http::{HeaderMap, StatusCode};

/// What is asked of the console.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ConsoleCall {
    /// `/console`, which leads to the page: names of its other files are relative to the slash at its end.
    Begin,
    /// `/console/` and a file of the page by its name.
    File(String),
    /// `/console/api/application`
    Application,
}

impl ConsoleCall {
    /// The call of a path.
    pub fn of(path: &str) -> Option<ConsoleCall> {
        match path.strip_prefix("/console")? {
            "" => Some(ConsoleCall::Begin),
            "/api/application" => Some(ConsoleCall::Application),
            rest => {
                let name = rest.strip_prefix('/').filter(|name| !name.contains('/'))?;
                Some(ConsoleCall::File(name.to_owned()))
            }
        }
    }
}

/// Nothing but the files and calls of this server: no script or style within the page or from elsewhere, no frame around it,
/// and no text that becomes markup.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; \
     base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'";

/// Headers of all files.
const HEADERS: [(HeaderName, &str); 6] = [
    (CONTENT_SECURITY_POLICY, POLICY),
    (X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (X_FRAME_OPTIONS, "DENY"),
    (REFERRER_POLICY, "no-referrer"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    // A newer server has newer files, and all of them are small.
    (CACHE_CONTROL, "no-cache"),
];

/// Answers a call.
///
/// # Errors
/// A console that is switched off, and files that there are not.
pub fn answer(shared: &Shared, call: ConsoleCall, caller: &Caller<'_>) -> Result<Reply, Fault> {
    if !shared.options.console {
        return Err(unknown_url());
    }
    match call {
        ConsoleCall::Begin => {
            let header = Some((LOCATION, HeaderValue::from_static("console/")));
            Ok(Reply { status: StatusCode::PERMANENT_REDIRECT, header, ..Reply::empty() })
        }
        ConsoleCall::Application => {
            Reply::serialize(&application::told(shared, shared.guard.is_administrator(caller)))
        }
        ConsoleCall::File(name) => file(&name).ok_or_else(unknown_url),
    }
}

fn file(name: &str) -> Option<Reply> {
    let name = if name.is_empty() { "index.html" } else { name };
    let file = FILES.iter().find(|file| file.name == name)?;
    let header = |(name, value): &(HeaderName, &'static str)| {
        (name.clone(), HeaderValue::from_static(value))
    };
    let more: HeaderMap = HEADERS.iter().map(header).collect();
    Some(Reply { more, ..Reply::text(file.text.to_owned(), file.kind) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths() {
        for (path, expected) in [
            ("/console", Some(ConsoleCall::Begin)),
            ("/console/", Some(ConsoleCall::File(String::new()))),
            ("/console/main.js", Some(ConsoleCall::File("main.js".to_owned()))),
            ("/console/api/application", Some(ConsoleCall::Application)),
            ("/console/api/other", None),
            ("/console/../x", None),
            ("/consoles", None),
            ("/", None),
        ] {
            assert_eq!(ConsoleCall::of(path), expected, "{path}");
        }
    }

    /// What the policy forbids would be a page that does nothing.
    #[test]
    fn no_file_asks_for_what_the_policy_forbids() {
        for file in FILES {
            for bad in ["http://", "https://", "innerHTML", "eval(", "style=\"", " onclick="] {
                // The name of SVG's namespace is no address that anybody asks.
                let text = file.text.replace("http://www.w3.org/2000/svg", "");
                assert!(!text.contains(bad), "{} has {bad}", file.name);
            }
            assert!(file.text.is_ascii(), "{}", file.name);
        }
    }

    /// Every name that a file of the page imports or links is one of the files, and every file is named.
    #[test]
    fn the_files_are_those_that_are_named() {
        let all: String = FILES.iter().map(|file| file.text).collect();
        for part in all.split(['"', '\'']) {
            if let Some(name) = part.strip_prefix("./") {
                assert!(FILES.iter().any(|file| file.name == name), "there is no {name}");
            }
        }
        for file in FILES.iter().filter(|file| file.name != "index.html") {
            assert!(all.contains(&format!("\"./{}\"", file.name)), "nobody asks for {}", file.name);
        }
    }
}
