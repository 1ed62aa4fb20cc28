//! Stores on machines of their own: network namespaces, joined by links of a given rate (`ip-netns(8)`, `tc-tbf(8)`).

use std::path::Path;
use std::process::Command;

use crate::process;

/// The bits a second of every link.
pub const RATE: &str = "1gbit";

/// The first numbers of the addresses: of the block that is kept for measurements of networks (RFC 2544).
const PREFIX: &str = "198.18.7";

/// Where one store runs.
#[derive(Debug, Clone)]
pub struct Namespace {
    name: String,
    /// Under which the clients reach it.
    pub address: String,
}

impl Namespace {
    /// A program within it.
    pub fn command(&self, program: &Path) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.name]).arg(program);
        command
    }
}

/// Some namespaces and a bridge between them and the clients, all gone when this is dropped.
pub struct Network {
    prefix: String,
    pub namespaces: Vec<Namespace>,
}

impl Network {
    /// `count` namespaces. The link to the clients and those of the namespaces have the same rate, in both directions.
    ///
    /// # Errors
    /// What the system does not permit, in its words.
    pub fn new(count: usize) -> Result<Network, String> {
        // Of this process, so that two runs do not meet; names of links have 15 bytes.
        let prefix = format!("sb{}", std::process::id() % 100_000);
        let mut network = Network { prefix: prefix.clone(), namespaces: Vec::new() };
        let hub = format!("{prefix}hub");
        run(&format!("ip netns add {hub}"))?;
        run(&format!("ip -n {hub} link add bridge type bridge"))?;
        run(&format!("ip -n {hub} link set bridge up"))?;
        let clients = format!("{prefix}c");
        run(&format!("ip link add {clients} type veth peer name {clients} netns {hub}"))?;
        shaped("", &clients)?;
        shaped(&hub, &clients)?;
        run(&format!("ip -n {hub} link set {clients} master bridge"))?;
        run(&format!("ip addr add {PREFIX}.1/24 dev {clients}"))?;
        for at in 0..count {
            let (name, address) = (format!("{prefix}n{at}"), format!("{PREFIX}.{}", at + 2));
            run(&format!("ip netns add {name}"))?;
            network.namespaces.push(Namespace { name: name.clone(), address: address.clone() });
            run(&format!("ip -n {name} link set lo up"))?;
            run(&format!("ip -n {name} link add {name} type veth peer name {name} netns {hub}"))?;
            shaped(&name, &name)?;
            shaped(&hub, &name)?;
            run(&format!("ip -n {hub} link set {name} master bridge"))?;
            run(&format!("ip -n {name} addr add {address}/24 dev {name}"))?;
        }
        Ok(network)
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        // Links go with their namespaces, and one end with the other.
        let names = self.namespaces.iter().map(|namespace| namespace.name.clone());
        for name in names.chain([format!("{}hub", self.prefix)]) {
            let _ = run(&format!("ip netns delete {name}")); // there is nobody left to tell
        }
    }
}

/// Brings a link up and bounds what it sends.
fn shaped(namespace: &str, link: &str) -> Result<(), String> {
    let within = if namespace.is_empty() { String::new() } else { format!("-n {namespace} ") };
    run(&format!("ip {within}link set {link} up"))?;
    // A burst of what a timer of 250 Hz lets through, and a queue of 10 ms.
    run(&format!("tc {within}qdisc add dev {link} root tbf rate {RATE} burst 512kb latency 10ms"))
}

fn run(line: &str) -> Result<(), String> {
    let mut words = line.split_whitespace();
    let program = words.next().unwrap_or_default();
    let output =
        process::command(program, words).output().map_err(|e| format!("{program}: {e}"))?;
    let told = String::from_utf8_lossy(&output.stderr);
    if output.status.success() { Ok(()) } else { Err(format!("{line}: {}", told.trim())) }
}
