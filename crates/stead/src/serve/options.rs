//! From flags as text to checked values.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::ArgMatches;
use stead_app::{ModelSettings, Source};
use stead_node::{Cores, Pinning, PythonSettings};
use stead_server::{
    AuthOptions, CorsOptions, DEFAULT_MAX_BODY_BYTES, LimitOptions, TlsOptions, is_metric,
};
use stead_store::RoomOptions;

use super::flags::{FLAGS, Kind, text};
use super::listen::{addresses, deploy_addresses, ports};
use super::values::{level, number, pinning, switch};
use super::{model, python, security};
use crate::failure::Failure;
use crate::onnxruntime::OnDemand;

/// Everything that `stead serve` was told.
#[derive(Debug, Clone, PartialEq)]
pub struct ServeOptions {
    /// The models.
    pub source: Source,
    /// The applications beside them.
    pub applications: Option<Applications>,
    /// What operations with their documents that are not yet done may come to.
    pub room: RoomOptions,
    /// Which Python runs their components; how it is tried is not said here.
    pub python: PythonSettings,
    /// What holds for every model that says nothing else.
    pub settings: ModelSettings,
    /// ONNX Runtime, for models that name it.
    pub onnxruntime: OnDemand,
    /// Where gRPC listens; empty for nowhere.
    pub grpc: Vec<SocketAddr>,
    /// Where HTTP listens; empty for nowhere.
    pub rest: Vec<SocketAddr>,
    /// Where deployments are taken; empty for nowhere.
    pub deploy: Vec<SocketAddr>,
    /// Where administration is taken, and nowhere else; empty for where HTTP is.
    pub admin: Vec<SocketAddr>,
    /// How clients say who they are.
    pub auth: Option<AuthOptions>,
    /// How much one client may ask.
    pub limits: LimitOptions,
    /// TLS on all of them.
    pub tls: Option<TlsOptions>,
    /// How often to look for changes; `None` for never.
    pub poll: Option<Duration>,
    /// Time between two scans for idle sequences; `None` for no scans.
    pub cleaner: Option<Duration>,
    /// Folder for states of sequences.
    pub state_path: Option<PathBuf>,
    /// Threads that compute; `None` for one per physical core within the quota.
    pub threads: Option<usize>,
    /// The CPUs on which they run.
    pub pinning: Pinning,
    /// Largest request body and gRPC message.
    pub max_body_bytes: usize,
    /// `--metrics_enable` was given.
    pub metrics_enable: bool,
    /// `--console_enable`, if it was given.
    pub console_enable: Option<bool>,
    /// `--metrics_list`.
    pub metrics_list: Vec<String>,
    /// Whether other machines may look after sequences.
    pub sequence_admin: bool,
    /// CORS headers.
    pub cors: CorsOptions,
    /// How long a graceful stop waits.
    pub drain: Duration,
    /// The log.
    pub log: LogOptions,
    /// Things that the user should know, for the log.
    pub notes: Vec<String>,
}

/// Where applications come from.
#[derive(Debug, Clone, PartialEq)]
pub enum Applications {
    /// They are deployed to this folder, on a port of its own.
    Data(PathBuf),
    /// A package that is served as it is, in memory.
    Package(PathBuf),
    /// Components that the `stead.toml` in this folder declares, beside models.
    Beside(PathBuf),
}

/// Where the log goes and what it holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogOptions {
    /// The lowest level.
    pub level: tracing::Level,
    /// A file that the log is appended to, beside standard error.
    pub path: Option<PathBuf>,
    /// JSON instead of text.
    pub json: bool,
}

/// Checks the flags of `serve` and gives them their meaning.
///
/// # Errors
/// [`Failure::Usage`] for every combination that OpenVINO Model Server refuses too.
pub fn resolve(matches: &ArgMatches) -> Result<ServeOptions, Failure> {
    let given = |name: &str| text(matches, name);
    let refused = FLAGS.iter().find(|f| f.kind == Kind::Refused && given(f.name).is_some());
    if let Some(flag) = refused {
        return Err(Failure::usage(format!("--{}: {}", flag.name, flag.help)));
    }
    let mut notes: Vec<String> = FLAGS
        .iter()
        .filter(|f| f.kind == Kind::Ignored && given(f.name).is_some())
        .map(|f| format!("--{} is ignored: {}", f.name, f.help))
        .collect();
    let settings = model::settings(matches, &mut notes)?;
    let source = model::source(matches, &settings)?;
    let (grpc_port, rest_port) = ports(given("port"), given("rest_port"))?;
    let grpc = addresses("grpc_bind_address", given("grpc_bind_address"), grpc_port)?;
    let rest = addresses("rest_bind_address", given("rest_bind_address"), rest_port)?;

    let deploy = deploy_addresses(matches)?;
    let data = given("data").map(|folder| Applications::Data(folder.into()));
    let applications = data
        .or_else(|| model::package(matches).map(Applications::Package))
        .or_else(|| model::components(&source).map(Applications::Beside));
    let onnxruntime = OnDemand {
        library: given("onnxruntime_library").map(PathBuf::from),
        threads: number(matches, "onnxruntime_threads", 1, 4096)?.map(|n| n as usize),
    };
    let room = room(matches, applications.is_some())?;
    let python = python::settings(matches, applications.is_some())?;

    if given("rest_workers").is_some() && rest_port.is_none() {
        return Err(Failure::usage("--rest_workers needs --rest_port"));
    }
    number(matches, "rest_workers", 2, 10_000)?;
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    number(matches, "grpc_workers", 1, cores as u64)?;
    number(matches, "grpc_max_threads", 1, u64::MAX)?;
    number(matches, "grpc_memory_quota", 0, u64::MAX)?;
    let metrics_enable = switch(matches, "metrics_enable")?;
    if metrics_enable && rest_port.is_none() {
        return Err(Failure::usage("--metrics_enable needs --rest_port"));
    }
    let console_enable = match given("console_enable") {
        Some(_) => Some(switch(matches, "console_enable")?),
        None => None,
    };
    if console_enable == Some(true) && rest_port.is_none() {
        return Err(Failure::usage("--console_enable needs --rest_port"));
    }
    let listed = given("metrics_list").unwrap_or_default().split(',').map(str::trim);
    let metrics_list: Vec<String> =
        listed.filter(|name| !name.is_empty()).map(str::to_owned).collect();
    if given("metrics_list").is_some() && !metrics_enable {
        return Err(Failure::usage("--metrics_list needs --metrics_enable"));
    }
    if let Some(unknown) = metrics_list.iter().find(|name| !is_metric(name)) {
        return Err(Failure::usage(format!("--metrics_list: there is no metric `{unknown}`")));
    }
    let threads = number(matches, "threads", 1, 4096)?.map(|n| n as usize);
    let max_body_bytes = number(matches, "max_body_bytes", 1, usize::MAX as u64)?
        .map_or(DEFAULT_MAX_BODY_BYTES, |n| n as usize);
    let poll =
        number(matches, "file_system_poll_wait_seconds", 0, u64::from(u32::MAX))?.unwrap_or(1);
    let minutes =
        number(matches, "sequence_cleaner_poll_wait_minutes", 0, u64::from(u32::MAX))?.unwrap_or(5);
    Ok(ServeOptions {
        cleaner: (minutes > 0).then(|| Duration::from_secs(60 * minutes)),
        source,
        applications,
        room,
        python,
        settings,
        onnxruntime,
        grpc,
        rest,
        deploy,
        admin: security::admin(matches)?,
        auth: security::auth(matches)?,
        limits: security::limits(matches)?,
        tls: security::tls(matches)?,
        poll: (poll > 0).then(|| Duration::from_secs(poll)),
        state_path: given("state_path").map(PathBuf::from),
        threads,
        pinning: pinning(given("cpu_pinning"), &Cores::of_this_process(), threads)?,
        max_body_bytes,
        metrics_enable,
        console_enable,
        metrics_list,
        sequence_admin: switch(matches, "sequence_admin_enable")?,
        cors: security::cors(matches)?,
        drain: Duration::from_secs(number(matches, "drain_seconds", 0, 86_400)?.unwrap_or(30)),
        log: LogOptions {
            level: level(given("log_level").unwrap_or("INFO"))?,
            path: given("log_path").map(PathBuf::from),
            json: match given("log_format").unwrap_or("text") {
                "text" => false,
                "json" => true,
                other => {
                    return Err(Failure::usage(format!(
                        "--log_format: `{other}` is not text or json"
                    )));
                }
            },
        },
        notes,
    })
}

/// How many operations with documents may be on their way: those of an application.
fn room(matches: &ArgMatches, has_application: bool) -> Result<RoomOptions, Failure> {
    const FLAGS: [&str; 2] = ["max_pending_operations", "max_pending_bytes"];
    if let Some(flag) = FLAGS.iter().find(|flag| !has_application && text(matches, flag).is_some())
    {
        return Err(Failure::usage(format!("--{flag} needs --data or an application")));
    }
    let usual = RoomOptions::default();
    let [operations, bytes] = FLAGS.map(|flag| number(matches, flag, 1, usize::MAX as u64));
    Ok(RoomOptions {
        operations: operations?.map_or(usual.operations, |n| n as usize),
        bytes: bytes?.map_or(usual.bytes, |n| n as usize),
    })
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::flags::command;
    use super::*;

    pub(in super::super) fn options(line: &str) -> Result<ServeOptions, Failure> {
        let args = std::iter::once("serve").chain(line.split_whitespace());
        resolve(&command().try_get_matches_from(args).map_err(|e| Failure::usage(e.kind()))?)
    }

    #[test]
    fn combinations_that_make_no_sense_are_usage_errors() {
        let cases = [
            ("", "give a PATH, --config_path, or --model_name with --model_path"),
            ("--config_path c --model_name m", "--config_path excludes --model_name"),
            ("--config_path c --nireq 2", "--config_path excludes --nireq"),
            ("m --config_path c", "PATH excludes --config_path"),
            ("--model_name m", "--model_name and --model_path go together"),
            ("--model_path m", "--model_name and --model_path go together"),
            ("m --port 9000 --rest_port 9000", "--port and --rest_port must differ"),
            ("m --port 0", "both ports are 0: give --port, --rest_port or both"),
            ("m --port 65536", "--port: `65536` is not a port (0 to 65535)"),
            ("m --port 9000 --rest_workers 2", "--rest_workers needs --rest_port"),
            ("m --rest_port 80 --rest_workers 1", "--rest_workers: 1 is below 2"),
            ("m --port 9000 --metrics_enable", "--metrics_enable needs --rest_port"),
            ("m --port 9000 --console_enable", "--console_enable needs --rest_port"),
            ("m --metrics_list a", "--metrics_list needs --metrics_enable"),
            (
                "m --rest_bind_address ,",
                "--rest_bind_address: bad bind address '': expected IP addresses or host names, comma separated",
            ),
            ("m --metrics_enable --metrics_list nope", "--metrics_list: there is no metric `nope`"),
            (
                "m --log_level LOUD",
                "--log_level: `LOUD` is not one of TRACE, DEBUG, INFO, WARNING, ERROR",
            ),
            (
                "--model_name m --model_path p --target_device GPU",
                "--target_device is not supported: stead computes on the CPU only, not on \"GPU\"",
            ),
            ("m --backend onnx", "--backend: `onnx` is not stead or onnxruntime"),
            ("m --onnxruntime_threads 0", "--onnxruntime_threads: 0 is below 1"),
            ("m --deploy_port 1", "--deploy_port needs --data"),
            ("m --data d", "--data excludes PATH"),
            ("--data d --config_path c", "--data excludes --config_path"),
            ("--data d --nireq 2", "--data excludes --nireq"),
            ("--data d --deploy_port 65536", "--deploy_port: 65536 is above 65535"),
            ("app.zip --nireq 2", "an application excludes --nireq"),
            ("m --max_pending_bytes 1", "--max_pending_bytes needs --data or an application"),
            ("--data d --max_pending_operations 0", "--max_pending_operations: 0 is below 1"),
            (
                "m --python python3",
                "--python needs --data, an application, or components in stead.toml",
            ),
            ("--data d --python_interpreters 0", "--python_interpreters: 0 is below 1"),
            ("m --unknown", "unexpected argument found"),
            (
                "m --cpu_pinning all",
                "--cpu_pinning: `all` is not a CPU or a range of them, as in 0,2-3; write none, cores or a list",
            ),
            ("m --cpu_pinning 3-1", "--cpu_pinning: the range `3-1` ends before it begins"),
            ("m --cpu_pinning 0-9999", "--cpu_pinning: there is no CPU 9999"),
        ];
        for (line, expected) in cases {
            assert_eq!(options(line).map(|_| ()), Err(Failure::usage(expected)), "{line}");
        }
    }

    #[test]
    fn applications_come_from_a_folder_or_are_a_package() {
        let data = options("--data d").unwrap();
        assert_eq!(data.applications, Some(Applications::Data("d".into())));
        assert_eq!(
            (data.source, data.deploy),
            (Source::Nothing, vec!["127.0.0.1:19071".parse().unwrap()])
        );
        assert_eq!(options("--data d --deploy_port 0").unwrap().deploy, []);
        let package = options("app.zip").unwrap();
        assert_eq!(package.applications, Some(Applications::Package("app.zip".into())));
        assert_eq!((package.source, package.deploy), (Source::Nothing, vec![]));
        assert_eq!(options("m").unwrap().applications, None);
        let room = |line: &str| options(line).unwrap().room;
        let usual = RoomOptions::default();
        assert_eq!(room("--data d"), usual);
        assert_eq!(room("app.zip --max_pending_operations 7").operations, 7);
        let small = RoomOptions { bytes: 9, ..usual };
        assert_eq!(room("--data d --max_pending_bytes 9"), small);
    }

    #[test]
    fn flags_without_meaning_are_noted() {
        let made = options("m --cache_dir /tmp --metrics_enable=false").unwrap();
        assert_eq!(made.notes, ["--cache_dir is ignored: loading is quick without a cache"]);
        assert!(!made.metrics_enable);
        assert_eq!(made.console_enable, None);
        assert_eq!(options("m --console_enable").unwrap().console_enable, Some(true));
        assert_eq!(options("m --console_enable=false").unwrap().console_enable, Some(false));
        assert_eq!(made.poll, Some(Duration::from_secs(1)));
        assert_eq!(options("m --file_system_poll_wait_seconds 0").unwrap().poll, None);
    }
}
