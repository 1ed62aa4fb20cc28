//! Where the server listens: ports and addresses of each protocol.

use std::net::SocketAddr;

use clap::ArgMatches;

use super::flags::text;
use super::values::number;
use crate::failure::Failure;

/// gRPC port when neither port is given: the one that the documentation of OpenVINO Model Server uses.
const DEFAULT_GRPC_PORT: u16 = 9000;
/// HTTP port when neither port is given.
const DEFAULT_REST_PORT: u16 = 8080;
/// The port of Vespa's config server.
const DEFAULT_DEPLOY_PORT: u16 = 19071;
/// OpenVINO Model Server listens on every address; a server without authentication should not, unless told.
const LOOPBACK: &str = "127.0.0.1";

/// The ports of gRPC and HTTP: both by default, only the given one if one is given.
pub(super) fn ports(
    grpc: Option<&str>,
    rest: Option<&str>,
) -> Result<(Option<u16>, Option<u16>), Failure> {
    let read = |name: &str, text: &str| {
        text.parse::<u16>()
            .map_err(|_| Failure::usage(format!("--{name}: `{text}` is not a port (0 to 65535)")))
    };
    let grpc = grpc.map(|text| read("port", text)).transpose()?;
    let rest = rest.map(|text| read("rest_port", text)).transpose()?;
    let on = |port: Option<u16>| port.filter(|&p| p != 0);
    match (grpc, rest) {
        (None, None) => Ok((Some(DEFAULT_GRPC_PORT), Some(DEFAULT_REST_PORT))),
        _ if on(grpc).is_none() && on(rest).is_none() => {
            Err(Failure::usage("both ports are 0: give --port, --rest_port or both"))
        }
        _ if on(grpc) == on(rest) => Err(Failure::usage("--port and --rest_port must differ")),
        _ => Ok((on(grpc), on(rest))),
    }
}

/// Where deployments are taken: nowhere without a folder for them.
pub(super) fn deploy_addresses(matches: &ArgMatches) -> Result<Vec<SocketAddr>, Failure> {
    let port = number(matches, "deploy_port", 0, u64::from(u16::MAX))?;
    let hosts = text(matches, "deploy_bind_address");
    if text(matches, "data").is_none() {
        let flag = [("deploy_port", port.is_some()), ("deploy_bind_address", hosts.is_some())];
        let flag = flag.iter().find(|(_, is_given)| *is_given);
        return match flag {
            Some((flag, _)) => Err(Failure::usage(format!("--{flag} needs --data"))),
            None => Ok(Vec::new()),
        };
    }
    let port = port.map_or(DEFAULT_DEPLOY_PORT, |port| port as u16);
    addresses("deploy_bind_address", hosts, Some(port).filter(|port| *port != 0))
}

/// The socket addresses of a comma list of hosts; none without a port, but the list is checked.
pub(super) fn addresses(
    flag: &str,
    hosts: Option<&str>,
    port: Option<u16>,
) -> Result<Vec<SocketAddr>, Failure> {
    let found = stead_server::resolve(hosts.unwrap_or(LOOPBACK), port.unwrap_or(0))
        .map_err(|e| Failure::usage(format!("--{flag}: {e}")))?;
    Ok(if port.is_some() { found } else { Vec::new() })
}

#[cfg(test)]
mod tests {
    use super::super::options::tests::options;
    use super::*;

    #[test]
    fn ports_and_addresses() {
        let both = (vec!["127.0.0.1:9000"], vec!["127.0.0.1:8080"]);
        let cases = [
            ("m", both),
            ("m --port 9178", (vec!["127.0.0.1:9178"], vec![])),
            ("m --rest_port 8000", (vec![], vec!["127.0.0.1:8000"])),
            ("m --port 1 --rest_port 0", (vec!["127.0.0.1:1"], vec![])),
            (
                "m --port 1 --rest_port 2 --grpc_bind_address 0.0.0.0,::1",
                (vec!["0.0.0.0:1", "[::1]:1"], vec!["127.0.0.1:2"]),
            ),
        ];
        for (line, (grpc, rest)) in cases {
            let made = options(line).unwrap();
            let show =
                |list: &[SocketAddr]| list.iter().map(ToString::to_string).collect::<Vec<_>>();
            assert_eq!(show(&made.grpc), grpc, "{line}");
            assert_eq!(show(&made.rest), rest, "{line}");
        }
    }
}
