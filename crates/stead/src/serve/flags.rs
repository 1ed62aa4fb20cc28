//! The flags of `stead serve`: one table from which the parser, the help and `docs/cli.md` are made.

use clap::{Arg, ArgAction, ArgMatches, Command};

/// What becomes of a flag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// OpenVINO Model Server has it and stead means the same.
    Ovms,
    /// OpenVINO Model Server has it; stead accepts it, says so in the log and does nothing.
    Ignored,
    /// OpenVINO Model Server has it; stead refuses it and the help says why.
    Refused,
    /// Only stead has it.
    Own,
}

/// One flag.
#[derive(Debug, Clone, Copy)]
pub struct Flag {
    /// The name without dashes.
    pub name: &'static str,
    /// The name of its value, or empty for a switch.
    pub value: &'static str,
    /// What holds without it; empty for nothing.
    pub default: &'static str,
    /// What becomes of it.
    pub kind: Kind,
    /// One sentence.
    pub help: &'static str,
}

const fn flag(
    name: &'static str,
    value: &'static str,
    default: &'static str,
    kind: Kind,
    help: &'static str,
) -> Flag {
    Flag { name, value, default, kind, help }
}

use Kind::{Ignored, Ovms, Own, Refused};

/// Every flag of `stead serve`, in the order of the help.
#[rustfmt::skip] // a table reads best with one row a line
pub const FLAGS: &[Flag] = &[
    flag("config_path", "FILE", "", Ovms, "config.json with the models to serve; excludes the model flags"),
    flag("model_name", "NAME", "", Ovms, "name of the one model to serve; goes with --model_path"),
    flag("model_path", "PATH", "", Ovms, "folder with version folders, or a model file; goes with --model_name"),
    flag("port", "PORT", "9000", Ovms, "gRPC port; if only the other port is given, gRPC is off; 0 turns it off"),
    flag("rest_port", "PORT", "8080", Ovms, "HTTP port; if only the other port is given, HTTP is off; 0 turns it off"),
    flag("grpc_bind_address", "ADDRESSES", "127.0.0.1", Ovms, "addresses for gRPC, separated by commas (OpenVINO Model Server: 0.0.0.0)"),
    flag("rest_bind_address", "ADDRESSES", "127.0.0.1", Ovms, "addresses for HTTP, separated by commas (OpenVINO Model Server: 0.0.0.0)"),
    flag("file_system_poll_wait_seconds", "SECONDS", "1", Ovms, "how often config and version folders are looked at for changes; 0 for never"),
    flag("model_version_policy", "JSON", "", Ovms, "versions to serve: {\"latest\":{\"num_versions\":1}}, {\"specific\":{\"versions\":[1]}} or {\"all\":{}}"),
    flag("batch_size", "N", "", Ovms, "first dimension of every input: a number, a range 1:8 or auto"),
    flag("shape", "SHAPE", "", Ovms, "shape of the input, or a JSON object of them: (1,3,224,224), (-1,3,200:300,-1) or auto"),
    flag("nireq", "N", "", Ovms, "executions of a model at a time; 0 for one per thread"),
    flag("plugin_config", "JSON", "", Ovms, "PERFORMANCE_HINT, NUM_STREAMS, INFERENCE_NUM_THREADS; other keys are named in the log"),
    flag("target_device", "DEVICE", "CPU", Ovms, "CPU or AUTO"),
    flag("grpc_workers", "N", "1", Ovms, "1 to the number of cores; one gRPC server uses all of them"),
    flag("grpc_max_threads", "N", "", Ovms, "upper bound of threads for gRPC"),
    flag("grpc_memory_quota", "BYTES", "2147483648", Ovms, "a bound that is checked; --max_body_bytes bounds messages"),
    flag("rest_workers", "N", "", Ovms, "threads for HTTP, from 2; needs --rest_port"),
    flag("log_level", "LEVEL", "INFO", Ovms, "TRACE, DEBUG, INFO, WARNING or ERROR"),
    flag("log_path", "FILE", "", Ovms, "append the log to this file too"),
    flag("metrics_enable", "", "", Ovms, "serve /metrics on every address (without it: on loopback only); needs --rest_port"),
    flag("metrics_list", "NAMES", "", Ovms, "metrics to serve, separated by commas; needs --metrics_enable"),
    flag("allow_credentials", "", "", Ovms, "CORS: allow credentials"),
    flag("allowed_origins", "LIST", "*", Ovms, "CORS: allowed origins"),
    flag("allowed_methods", "LIST", "*", Ovms, "CORS: allowed methods"),
    flag("allowed_headers", "LIST", "*", Ovms, "CORS: allowed headers"),
    flag("model_repository_path", "DIR", "", Ovms, "folder of models for --list_models, --add_to_config and --remove_from_config"),
    flag("list_models", "", "", Ovms, "print the models of --model_repository_path and exit"),
    flag("add_to_config", "", "", Ovms, "add --model_name to the config file and exit"),
    flag("remove_from_config", "", "", Ovms, "remove --model_name from the config file and exit"),
    flag("layout", "LAYOUT", "", Ovms, "accepted where it changes nothing: a model keeps its own layout"),
    flag("grpc_channel_arguments", "LIST", "", Ignored, "arguments of a library that stead does not use"),
    flag("sequence_cleaner_poll_wait_minutes", "MINUTES", "5", Ovms, "time between two scans for idle sequences of stateful models; 0 for no scans"),
    flag("custom_node_resources_cleaner_interval_seconds", "SECONDS", "1", Ignored, "no custom nodes"),
    flag("cache_dir", "DIR", "", Ignored, "loading is quick without a cache"),
    flag("cpu_extension", "FILE", "", Ignored, "no OpenVINO plugins"),
    flag("precision", "TYPE", "", Ovms, "f32, bf16, f64 or int8: how the model is computed (docs/precision.md); types of OpenVINO (FP32, ...) are ignored with a warning"),
    flag("mean", "VALUES", "", Refused, "put image preprocessing into the model or the client"),
    flag("scale", "VALUES", "", Refused, "put image preprocessing into the model or the client"),
    flag("color_format", "FORMAT", "", Refused, "put image preprocessing into the model or the client"),
    flag("stateful", "", "false", Ovms, "the model keeps state: requests are steps of sequences"),
    flag("idle_sequence_cleanup", "", "true", Ovms, "scans end the model's idle sequences; needs --stateful"),
    flag("max_sequence_number", "N", "500", Ovms, "sequences at a time; needs --stateful"),
    flag("low_latency_transformation", "", "false", Ovms, "recurrences inside the model become state; needs --stateful"),
    flag("threads", "N", "", Own, "threads that compute; without it one per physical core, as far as the CPU quota of the control group goes"),
    flag("cpu_pinning", "CPUS", "none", Own, "where each of them stays: none (where the system puts it), cores (a physical core of its own) or a list such as 0,2-3 (one CPU of it, and so many threads)"),
    flag("max_body_bytes", "BYTES", "67108864", Own, "largest request body, after decompression"),
    flag("sequence_admin_enable", "", "", Own, "let other machines look after sequences (list, end, export, ...); without it only this one may"),
    flag("console_enable", "", "", Own, "serve the page for people at /console/ on every address (without it: on loopback only; with =false nowhere); needs --rest_port; see docs/console.md"),
    flag("drain_seconds", "SECONDS", "30", Own, "how long SIGTERM waits for requests in flight"),
    flag("state_path", "DIR", "", Own, "folder for sequences that survive a restart or do not fit the memory; one process at a time"),
    flag("backend", "NAME", "stead", Own, "what evaluates models that do not say: stead or onnxruntime"),
    flag("onnxruntime_library", "FILE", "", Own, "shared library of ONNX Runtime, for models with `backend` onnxruntime; without it the one in the variable ORT_DYLIB_PATH; see docs/onnxruntime.md"),
    flag("onnxruntime_threads", "N", "", Own, "threads that all models in ONNX Runtime share; without it each run has the thread that serves it"),
    flag("data", "DIR", "", Own, "folder for applications that are deployed here and their documents; excludes PATH and the model flags; one process at a time"),
    flag("deploy_port", "PORT", "19071", Own, "port for deployments of application packages; 0 turns it off; needs --data"),
    flag("deploy_bind_address", "ADDRESSES", "127.0.0.1", Own, "addresses for deployments, separated by commas; needs --data"),
    flag("tls_cert", "FILE", "", Own, "speak TLS on every port, with the certificates (PEM) in this file: the server's own first; goes with --tls_key; read again when it changes, and on SIGHUP"),
    flag("tls_key", "FILE", "", Own, "the private key (PEM) of --tls_cert"),
    flag("tls_client_ca", "FILE", "", Own, "clients need a certificate that leads to one in this file (PEM); needs --tls_cert"),
    flag("tokens_file", "FILE", "", Own, "clients need a token, one of those in this file (TOML) or a JSON Web Token; read again when it changes, and on SIGHUP; see docs/security.md"),
    flag("jwks_file", "FILE", "", Own, "clients need a token: a JSON Web Token that a key of this JSON Web Key Set has signed (HS256, RS256, ES256, EdDSA), or one of --tokens_file"),
    flag("jwt_issuer", "TEXT", "", Own, "the issuer (iss) that JSON Web Tokens must have; needs --jwks_file"),
    flag("jwt_audience", "TEXT", "", Own, "what the audience (aud) of JSON Web Tokens must name; without it they must have none; needs --jwks_file"),
    flag("jwt_roles_claim", "NAME", "roles", Own, "the claim of JSON Web Tokens that has their roles; needs --jwks_file"),
    flag("auth_application", "NAME", "default", Own, "the name of this server's application in roles for one application (NAME:read); needs --tokens_file or --jwks_file"),
    flag("client_rate", "N", "", Own, "requests a second that one client may send in the long run, by its token or else its address; one more is answered with 429"),
    flag("client_burst", "N", "", Own, "requests that a client may send at once after a pause; as many as --client_rate without it, which it needs"),
    flag("client_concurrency", "N", "", Own, "requests of one client that may wait for their answers; one more is answered with 429"),
    flag("admin_port", "PORT", "", Own, "a further HTTP port; loading, reloading and looking after sequences are taken there only"),
    flag("admin_bind_address", "ADDRESSES", "127.0.0.1", Own, "addresses for --admin_port, separated by commas"),
    flag("max_pending_operations", "N", "10000", Own, "operations with documents that are not yet done; one more is answered with 429; needs --data or an application"),
    flag("max_pending_bytes", "BYTES", "67108864", Own, "bytes of such operations in the log; at least one is let in whatever its size; needs --data or an application"),
    flag("python", "PYTHON", "", Own, "the Python for components of applications: a program, the folder of a virtual environment or a name on PATH; the best that is found without it"),
    flag("python_environments", "DIR", "", Own, "folder with the virtual environments that Python packages of applications may name"),
    flag("python_interpreters", "N", "", Own, "interpreters for components, of each environment; one per core without it"),
    flag("python_contain_crashes", "", "", Own, "a crash of Python code inside the server ends its interpreter only; the server is no longer ready and wants to be replaced"),
    flag("development", "", "", Own, "answers tell what exceptions of Python components say and where they were raised"),
    flag("log_format", "FORMAT", "text", Own, "text or json"),
];

/// The subcommand `serve`.
pub fn command() -> Command {
    let path = Arg::new("path").value_name("PATH").help(
        "a model file, a model folder with version folders, a folder of models, a config.json, or an application package (folder, zip or tar.gz)",
    );
    let serve = Command::new("serve")
        .about("Serve models and applications over HTTP and gRPC")
        .after_help(
            "Examples:\n  stead serve models/\n  stead serve --data /var/lib/stead   (applications come by `stead deploy`)\n  stead serve my-app/\n  stead serve --model_name bert --model_path models/bert --rest_port 8080\n  \
             stead --config_path config.json --port 9000   (with a flag of OpenVINO Model Server, `serve` may be left out)",
        )
        .arg(path);
    FLAGS.iter().fold(serve, |command, flag| command.arg(arg(flag)))
}

fn arg(flag: &Flag) -> Arg {
    let mut help = flag.help.to_owned();
    match flag.kind {
        Kind::Ignored => help = format!("accepted and ignored: {help}"),
        Kind::Refused => help = format!("refused: {help}"),
        Kind::Ovms | Kind::Own => {}
    }
    if !flag.default.is_empty() {
        help = format!("{help} [default: {}]", flag.default);
    }
    let arg = Arg::new(flag.name).long(flag.name).help(help);
    if flag.value.is_empty() {
        // OpenVINO Model Server takes both `--metrics_enable` and `--metrics_enable=true`.
        return arg
            .num_args(0..=1)
            .require_equals(true)
            .default_missing_value("true")
            .value_name("BOOL")
            .action(ArgAction::Set);
    }
    arg.value_name(flag.value).action(ArgAction::Set).allow_hyphen_values(true)
}

/// Whether one of `args` is a flag by which a command line for OpenVINO Model Server is known.
pub fn is_ovms_command_line(args: &[String]) -> bool {
    const MODEL_FLAGS: &[&str] =
        &["config_path", "model_name", "model_path", "model_repository_path", "list_models"];
    let starts_with_flag = args.first().is_some_and(|first| first.starts_with("--"));
    let name_of =
        |arg: &str| arg.strip_prefix("--").map(|a| a.split('=').next().unwrap_or(a).to_owned());
    starts_with_flag
        && args
            .iter()
            .filter_map(|arg| name_of(arg))
            .any(|name| MODEL_FLAGS.contains(&name.as_str()))
}

/// The table as Markdown, for `docs/cli.md`.
#[cfg(test)]
fn markdown() -> String {
    let mut text = String::from("| flag | default | |\n|---|---|---|\n");
    for flag in FLAGS {
        let value = if flag.value.is_empty() { String::new() } else { format!(" {}", flag.value) };
        let mark = match flag.kind {
            Kind::Ovms => "",
            Kind::Ignored => "*ignored*: ",
            Kind::Refused => "*refused*: ",
            Kind::Own => "*own*: ",
        };
        text += &format!("| `--{}{value}` | {} | {mark}{} |\n", flag.name, flag.default, flag.help);
    }
    text
}

/// The text of a flag, if it was given.
pub fn text<'a>(matches: &'a ArgMatches, name: &str) -> Option<&'a str> {
    matches.get_one::<String>(name).map(String::as_str)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_makes_a_valid_parser() {
        command().debug_assert();
        let mut names: Vec<&str> = FLAGS.iter().map(|f| f.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), FLAGS.len());
    }

    /// The table in the page is generated: `STEAD_UPDATE_DOCS=1 cargo test -p stead flags` rewrites it.
    #[test]
    fn the_page_is_up_to_date() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/cli.md");
        let page = std::fs::read_to_string(path).unwrap();
        let (start, end) = ("<!-- flags: generated -->\n", "<!-- flags: end -->");
        let (head, rest) = page.split_once(start).unwrap();
        let (_, tail) = rest.split_once(end).unwrap();
        let wanted = format!("{head}{start}{}{end}{tail}", markdown());
        if std::env::var_os("STEAD_UPDATE_DOCS").is_some() {
            std::fs::write(path, wanted).unwrap();
        } else {
            assert_eq!(page, wanted);
        }
    }

    #[test]
    fn serve_may_be_left_out_with_a_model_flag() {
        let cases: [(&[&str], bool); 6] = [
            (&["--config_path", "c.json"], true),
            (&["--port", "9000", "--model_path=m", "--model_name=n"], true),
            (&["--list_models", "--model_repository_path", "m"], true),
            (&["serve", "--config_path", "c.json"], false),
            (&["--port", "9000"], false),
            (&[], false),
        ];
        for (args, expected) in cases {
            let args: Vec<String> = args.iter().map(|a| (*a).to_owned()).collect();
            assert_eq!(is_ovms_command_line(&args), expected, "{args:?}");
        }
    }
}
