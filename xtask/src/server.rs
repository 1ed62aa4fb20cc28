//! A server under load: a child process that ends with this value.

#[path = "../../crates/stead/tests/server/ports.rs"]
mod ports;

use std::fs::{self, File};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Python servers import for seconds.
const START: Duration = Duration::from_secs(60);

/// How long a server that was asked to end may take.
const END: Duration = Duration::from_secs(5);

/// A server with its addresses.
pub struct Server {
    process: Child,
    /// `http://HOST:PORT` for HTTP.
    pub rest: String,
    /// The same for gRPC.
    pub grpc: String,
}

impl Server {
    /// Starts `command`, which `ports` tells the free ports for HTTP and gRPC, and waits until its log, kept in
    /// `log`, has all of `signs`.
    ///
    /// # Errors
    /// A server that ends or takes a minute, with the end of its log.
    pub fn start(
        mut command: Command,
        ports: impl FnOnce(&mut Command, &str, &str),
        log: &Path,
        signs: &[&str],
    ) -> Result<Server, String> {
        let [rest, grpc] = [ports::free_port(), ports::free_port()];
        ports(&mut command, &rest, &grpc);
        let bad = |e: std::io::Error| format!("{}: {e}", log.display());
        let output = File::create(log).map_err(bad)?;
        command.stdout(output.try_clone().map_err(bad)?).stderr(output).stdin(Stdio::null());
        // A group of its own: some servers have children, which must end with them.
        command.process_group(0);
        let name = Path::new(command.get_program()).file_name().unwrap_or_default();
        let name = name.to_string_lossy().into_owned();
        let process = command.spawn().map_err(|e| format!("{name}: {e}"))?;
        let mut server = Server {
            process,
            rest: format!("http://127.0.0.1:{rest}"),
            grpc: format!("http://127.0.0.1:{grpc}"),
        };
        let begin = Instant::now();
        loop {
            let seen = fs::read(log).map_err(bad)?;
            let seen = String::from_utf8_lossy(&seen);
            if signs.iter().all(|sign| seen.contains(sign)) {
                return Ok(server);
            }
            let ended = server.process.try_wait().map_err(|e| format!("{name}: {e}"))?;
            if ended.is_some() || begin.elapsed() > START {
                return Err(format!("{name} did not start: {}", complaint(&seen)));
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

impl Server {
    /// The number of the process.
    pub fn id(&self) -> u32 {
        self.process.id()
    }
}

/// The first line of a log that tells of an error, or else the last one; at most 200 characters.
fn complaint(log: &str) -> String {
    let lines = || log.lines().map(str::trim).filter(|line| !line.is_empty());
    let is_error = |line: &&str| {
        let line = line.to_lowercase();
        line.contains("error") || line.contains("failed to")
    };
    let line = lines().find(is_error).or_else(|| lines().next_back()).unwrap_or("it said nothing");
    line.chars().take(200).collect()
}

impl Drop for Server {
    fn drop(&mut self) {
        // `kill` of the group: the standard library ends single processes only. Triton leaves shared memory behind
        // when it is not asked first.
        let group = format!("-{}", self.process.id());
        let signal = |name: &str| {
            let mut kill = Command::new("kill");
            let _ = kill.args([name, "--", &group]).stderr(Stdio::null()).status();
        };
        signal("-TERM");
        let begin = Instant::now();
        while begin.elapsed() < END && matches!(self.process.try_wait(), Ok(None)) {
            std::thread::sleep(Duration::from_millis(50));
        }
        signal("-KILL");
        let _ = self.process.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::complaint;

    #[test]
    fn the_cause_is_told() {
        let log = "loading\nModuleNotFoundError: numpy\n\nall models are stopped\n";
        assert_eq!(complaint(log), "ModuleNotFoundError: numpy");
        assert_eq!(complaint("one\ntwo\n"), "two");
        assert_eq!(complaint(""), "it said nothing");
    }
}
