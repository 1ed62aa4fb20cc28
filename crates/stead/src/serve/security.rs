//! Flags by which a server is made safe for others than its own machine.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::ArgMatches;
use stead_server::{AuthOptions, CorsOptions, LimitOptions, TlsOptions};

use super::flags::text;
use super::listen::addresses;
use super::values::{number, switch};
use crate::failure::Failure;

/// The files of TLS, if it is wanted.
///
/// # Errors
/// Flags that need another one.
pub fn tls(matches: &ArgMatches) -> Result<Option<TlsOptions>, Failure> {
    let file = |name: &str| text(matches, name).map(PathBuf::from);
    match (file("tls_cert"), file("tls_key"), file("tls_client_ca")) {
        (Some(certificate), Some(key), client_ca) => {
            Ok(Some(TlsOptions { certificate, key, client_ca }))
        }
        (None, None, None) => Ok(None),
        (None, None, Some(_)) => {
            Err(Failure::usage("--tls_client_ca needs --tls_cert and --tls_key"))
        }
        (None, Some(_), _) => Err(Failure::usage("--tls_key needs --tls_cert")),
        (Some(_), None, _) => Err(Failure::usage("--tls_cert needs --tls_key")),
    }
}

/// How clients say who they are, if they have to.
///
/// # Errors
/// Flags that need another one.
pub fn auth(matches: &ArgMatches) -> Result<Option<AuthOptions>, Failure> {
    let given = |name: &str| text(matches, name).map(str::to_owned);
    let (tokens, jwks) = (given("tokens_file"), given("jwks_file"));
    let of_jwt = ["jwt_issuer", "jwt_audience", "jwt_roles_claim"];
    if let Some(flag) = of_jwt.iter().find(|flag| jwks.is_none() && given(flag).is_some()) {
        return Err(Failure::usage(format!("--{flag} needs --jwks_file")));
    }
    if tokens.is_none() && jwks.is_none() {
        return match given("auth_application") {
            Some(_) => Err(Failure::usage("--auth_application needs --tokens_file or --jwks_file")),
            None => Ok(None),
        };
    }
    let usual = AuthOptions::default();
    Ok(Some(AuthOptions {
        tokens: tokens.map(PathBuf::from),
        jwks: jwks.map(PathBuf::from),
        issuer: given("jwt_issuer"),
        audience: given("jwt_audience"),
        roles_claim: given("jwt_roles_claim").unwrap_or(usual.roles_claim),
        application: given("auth_application").unwrap_or(usual.application),
    }))
}

/// How much one client may ask.
///
/// # Errors
/// Numbers that are none, and a burst without a rate.
pub fn limits(matches: &ArgMatches) -> Result<LimitOptions, Failure> {
    let read = |name: &str| {
        let found = number(matches, name, 1, 1_000_000)?;
        Ok::<_, Failure>(found.and_then(|n| u32::try_from(n).ok()))
    };
    let (rate, burst) = (read("client_rate")?, read("client_burst")?);
    if burst.is_some() && rate.is_none() {
        return Err(Failure::usage("--client_burst needs --client_rate"));
    }
    let rate = rate.map(f64::from);
    Ok(LimitOptions { rate, burst, concurrent: read("client_concurrency")? })
}

/// Where administration is taken, if it has a port of its own.
///
/// # Errors
/// Ports and hosts that are none, and hosts without a port.
pub fn admin(matches: &ArgMatches) -> Result<Vec<SocketAddr>, Failure> {
    let port = number(matches, "admin_port", 1, u64::from(u16::MAX))?;
    let hosts = text(matches, "admin_bind_address");
    if hosts.is_some() && port.is_none() {
        return Err(Failure::usage("--admin_bind_address needs --admin_port"));
    }
    addresses("admin_bind_address", hosts, port.map(|port| port as u16))
}

/// What pages of other origins may do.
///
/// # Errors
/// A switch that is neither on nor off.
pub fn cors(matches: &ArgMatches) -> Result<CorsOptions, Failure> {
    let list = |name: &str| text(matches, name).unwrap_or("*").to_owned();
    Ok(CorsOptions {
        allow_credentials: switch(matches, "allow_credentials")?,
        allowed_origins: list("allowed_origins"),
        allowed_methods: list("allowed_methods"),
        allowed_headers: list("allowed_headers"),
    })
}

#[cfg(test)]
mod tests {
    use super::super::flags::command;
    use super::*;

    #[test]
    fn limits_and_tokens_need_each_other() {
        let matches = |line: &str| {
            command().get_matches_from(std::iter::once("serve").chain(line.split_whitespace()))
        };
        let usage = |text: &str| Some(Failure::usage(text));
        let all = LimitOptions { rate: Some(5.0), burst: Some(9), concurrent: Some(3) };
        let line = "m --client_rate 5 --client_burst 9 --client_concurrency 3";
        assert_eq!(limits(&matches(line)), Ok(all));
        let burst = limits(&matches("m --client_burst 9"));
        assert_eq!(burst.err(), usage("--client_burst needs --client_rate"));
        assert_eq!(auth(&matches("m")), Ok(None));
        let tokens = auth(&matches("m --tokens_file t --auth_application shop")).unwrap().unwrap();
        assert_eq!((tokens.tokens, &*tokens.application), (Some("t".into()), "shop"));
        for (line, expected) in [
            ("m --jwt_issuer i", "--jwt_issuer needs --jwks_file"),
            ("m --tokens_file t --jwt_audience a", "--jwt_audience needs --jwks_file"),
            ("m --auth_application a", "--auth_application needs --tokens_file or --jwks_file"),
        ] {
            assert_eq!(auth(&matches(line)).err(), usage(expected), "{line}");
        }
    }

    #[test]
    fn files_of_tls_go_together() {
        let read = |line: &str| {
            let args = std::iter::once("serve").chain(line.split_whitespace());
            tls(&command().get_matches_from(args))
        };
        let options = |client_ca: Option<&str>| TlsOptions {
            certificate: "c".into(),
            key: "k".into(),
            client_ca: client_ca.map(PathBuf::from),
        };
        let cases = [
            ("m", Ok(None)),
            ("m --tls_cert c --tls_key k", Ok(Some(options(None)))),
            ("m --tls_cert c --tls_key k --tls_client_ca a", Ok(Some(options(Some("a"))))),
            ("m --tls_cert c", Err("--tls_cert needs --tls_key")),
            ("m --tls_key c", Err("--tls_key needs --tls_cert")),
            ("m --tls_client_ca c", Err("--tls_client_ca needs --tls_cert and --tls_key")),
        ];
        for (line, expected) in cases {
            assert_eq!(read(line), expected.map_err(Failure::usage), "{line}");
        }
    }
}
