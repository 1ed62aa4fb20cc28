//! `stead test`: runs the JSON tests of an application package against a server with its documents
//! (the form: Vespa, documentation, `reference/applications/testing.html`).

mod case;
mod compare;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use stead_app::Source;
use stead_node::{DeployOptions, Deployments, NodeConfig};
use stead_server::{ServerHandle, ServerOptions};
use tokio::runtime::Runtime;

use super::deploy;
use crate::failure::Failure;
use crate::http_client::{AccessArgs, Target};
use crate::onnxruntime::OnDemand;
use crate::serve;
use case::{Case, Outcome};

/// Where a package has its tests.
const TESTS: &str = "tests/system-test";

/// How long requests that are under way may take when all tests have ended.
const DRAIN: Duration = Duration::from_secs(5);

/// Run the system tests of an application package
#[derive(Debug, clap::Args)]
#[command(
    after_help = "A test is a JSON file: steps with a request and what the response must have, as `vespa test` reads them. Without --target \
    the package is deployed to a server of its own, whose documents are gone afterwards.\n\n\
    Examples:\n  stead test my-app/\n  stead test my-app/ --tests my-app/tests/system-test/search.json\n  \
    stead test my-app/ --target http://127.0.0.1:8080 --json"
)]
pub struct TestArgs {
    /// The package: a folder.
    package: PathBuf,
    /// A test, or a folder of tests; without it tests/system-test of the package.
    #[arg(long, value_name = "PATH")]
    tests: Option<PathBuf>,
    /// The query port of a server that has the package already.
    #[arg(long, value_name = "URL")]
    target: Option<Target>,
    #[command(flatten)]
    access: AccessArgs,
    /// Print JSON: a line for each test.
    #[arg(long)]
    json: bool,
}

/// Runs the command; false if a test failed.
pub fn run(args: &TestArgs) -> Result<bool, Failure> {
    let tests = args.tests.clone().unwrap_or_else(|| args.package.join(TESTS));
    let cases = cases(&tests)?;
    let given = args.target.as_ref().map(|target| args.access.reach(target)).transpose()?;
    let own = match given {
        Some(_) => None,
        None => Some(Own::start(&args.package)?),
    };
    let target = match (&given, &own) {
        (Some(target), _) => target,
        (None, Some(own)) => &own.target,
        (None, None) => return Err(Failure::usage("--target names no server")),
    };
    let mut failed = 0;
    for case in &cases {
        let outcome = case.run(target);
        failed += usize::from(!outcome.has_passed());
        match args.json {
            true => println!("{}", outcome.json(case)),
            false => print!("{}", text(case, &outcome)),
        }
    }
    if let Some(own) = own {
        own.end();
    }
    let all = cases.len();
    match args.json {
        true => println!("{}", json!({"tests": all, "failed": failed})),
        false => println!("{} of {all} tests passed", all - failed),
    }
    Ok(failed == 0)
}

fn text(case: &Case, outcome: &Outcome) -> String {
    match &outcome.failure {
        None => format!("ok      {}, {} steps\n", case.name, outcome.steps),
        Some((step, text)) => format!("FAILED  {}: {step}: {text}\n", case.name),
    }
}

/// The tests of a file or of the files of a folder, in the order of their names.
fn cases(path: &Path) -> Result<Vec<Case>, Failure> {
    let fail = |e: &dyn std::fmt::Display| Failure::failed(format!("{}: {e}", path.display()));
    let mut files = Vec::new();
    if path.is_dir() {
        for entry in std::fs::read_dir(path).map_err(|e| fail(&e))? {
            let file = entry.map_err(|e| fail(&e))?.path();
            files.extend(Some(file).filter(|f| f.extension().is_some_and(|e| e == "json")));
        }
        files.sort();
    } else {
        files.push(path.to_owned());
    }
    match files.is_empty() {
        true => Err(fail(&"there are no tests")),
        false => files.iter().map(|file| Case::read(file)).collect(),
    }
}

/// A server for the tests alone.
struct Own {
    runtime: Runtime,
    server: ServerHandle,
    target: Target,
    /// Its documents; gone when this is.
    _data: tempfile::TempDir,
}

impl Own {
    fn start(package: &Path) -> Result<Own, Failure> {
        let data = tempfile::tempdir().map_err(Failure::failed)?;
        let options = DeployOptions {
            backends: vec![Arc::new(OnDemand::default())],
            ..DeployOptions::default()
        };
        let deployments = Deployments::open_with(data.path(), options).map_err(Failure::failed)?;
        let any = SocketAddr::from(([127, 0, 0, 1], 0));
        let node =
            NodeConfig { deployments: Some(deployments), ..NodeConfig::new(Source::Nothing) };
        let options =
            ServerOptions { http: vec![any], deploy: vec![any], ..ServerOptions::default() };
        let runtime = serve::runtime()?;
        let server = runtime.block_on(serve::start(node, options))?;
        let at = |list: Vec<SocketAddr>| list.first().copied().map(Target::at);
        let nowhere = || Failure::failed("the server listens nowhere");
        let query = at(server.http_addresses().to_vec()).ok_or_else(nowhere)?;
        let deploy = at(server.deploy_addresses().to_vec()).ok_or_else(nowhere)?;
        let (status, text) = deploy::send(package, &deploy)?;
        if status != 200 {
            let json: Value = serde_json::from_str(&text).unwrap_or(Value::Null);
            return Err(Failure::failed(json["message"].as_str().unwrap_or(&text)));
        }
        Ok(Own { runtime, server, target: query, _data: data })
    }

    fn end(self) {
        self.runtime.block_on(self.server.drain(DRAIN));
    }
}
