//! A handler behind HTTP beside other ways to put Python there.

use std::path::Path;
use std::process::Command;
use std::rc::Rc;

use serde_json::{Value, json};

use super::{Context, number};
use crate::results::{Table, goal, line, middle};
use crate::server::Server;
use crate::{bench, cpu, paths, process, python, triton};

/// Of stead's requests a second over those of each peer, with as many processes or instances as there are cores or fewer.
const TIMES: f64 = 5.0;

/// Connections of the clients.
const CLIENTS: [&str; 2] = ["1", "16"];

/// What is sent, and comes back.
const TEXT: &str = "a text of about a hundred bytes, which a handler in Python takes as it is and sends back, no more and no less";

/// One of those that are measured.
struct Side {
    name: String,
    server: Rc<Server>,
    path: &'static str,
    body: String,
    /// What answers have in them.
    expected: &'static str,
    /// Whether stead is to be so many times as fast.
    is_judged: bool,
}

/// The table.
pub fn table(context: &Context) -> Result<Table, String> {
    let mut build = process::cargo();
    process::run(build.args(["build", "--release", "--package", "stead"]), "cargo build")?;
    let peers = bench::peers(false)?;
    let (rounds, seconds) = if context.quick { (1, "1") } else { (5, "3") };
    let stead = stead(context)?;
    let route = Side {
        name: "a route of stead itself: `/v2/repository/index`".to_owned(),
        server: Rc::clone(&stead.server),
        path: "/v2/repository/index",
        body: text(),
        expected: "[]",
        is_judged: false,
    };
    let started = [uvicorn(context, "1"), uvicorn(context, "2"), triton(context)];
    let (mut sides, mut missing) = (vec![stead, route], String::new());
    for peer in started {
        match peer {
            Ok(side) => sides.push(side),
            // One that cannot be installed must not take the others with it.
            Err(reason) => missing += &format!(" Not measured: {}.", line(&reason)),
        }
    }
    let mut rows = Vec::new();
    for clients in CLIENTS {
        let mut loads: Vec<Vec<Value>> = vec![Vec::new(); sides.len()];
        for _ in 0..rounds {
            for (side, loads) in sides.iter().zip(&mut loads) {
                loads.push(load(&peers, side, clients, seconds)?);
            }
        }
        for (side, of_side) in sides.iter().zip(&loads) {
            let of = |key: &str| {
                let numbers: Result<Vec<f64>, String> =
                    of_side.iter().map(|load| number(load, key)).collect();
                Ok::<f64, String>(middle(numbers?).unwrap_or(f64::NAN))
            };
            let ratios = loads[0].iter().zip(of_side).filter_map(|(stead, other)| {
                Some(stead["per_second"].as_f64()? / other["per_second"].as_f64()?)
            });
            let times = middle(ratios.collect()).unwrap_or(f64::NAN);
            let is_last = CLIENTS.last() == Some(&clients);
            let wanted = match side.is_judged && is_last {
                true => format!("{TIMES} {}", goal(times >= TIMES)),
                false => "-".to_owned(),
            };
            rows.push(vec![
                side.name.clone(),
                clients.to_owned(),
                format!("{:.0}", of("per_second")?),
                format!("{:.2}", of("p50_ms")?),
                format!("{:.2}", of("p99_ms")?),
                format!("{:.0} + {:.0}", of("server_us")?, of("client_us")?),
                format!("{times:.2}"),
                wanted,
            ]);
        }
    }
    Ok(Table {
        title: "an echo in Python behind HTTP".to_owned(),
        note: format!(
            "`bench/peers/interpreters/echo`: {} bytes of JSON to a handler in Python and back, in turn, {rounds} turns of {seconds} s, medians; \
             ratios are the medians of the turns' ratios. Clients (`peers post`, one thread, a closed loop) share the cores with the servers: CPU is what a \
             request takes of both cores together, server + client. A route of stead itself that has nothing to do shows what HTTP takes. Triton's \
             request has the text as a tensor of KServe's REST, which is how its Python gets one.{missing}",
            TEXT.len()
        ),
        header: vec![
            "what",
            "clients",
            "requests/s",
            "p50 ms",
            "p99 ms",
            "CPU us",
            "stead over it",
            "goal",
        ],
        rows,
    })
}

/// A turn of one side.
fn load(peers: &Path, side: &Side, clients: &str, seconds: &str) -> Result<Value, String> {
    let address = side.server.rest.trim_start_matches("http://");
    let mut command = Command::new(peers);
    command.args(["post", address, side.path, &side.body, clients, seconds]);
    let before = (cpu::of_group(side.server.id()), cpu::of_children());
    let told = process::capture(&mut command, "peers post")?;
    let used = (cpu::of_group(side.server.id()) - before.0, cpu::of_children() - before.1);
    let mut found: Value =
        serde_json::from_str(&told).map_err(|_| format!("{}: no numbers", side.name))?;
    let requests = number(&found, "per_second")? * seconds.parse::<f64>().unwrap_or(f64::NAN);
    found["server_us"] = json!(used.0 / requests * 1e6);
    found["client_us"] = json!(used.1 / requests * 1e6);
    match found["answer"].as_str() {
        Some(answer) if answer.contains(side.expected) => Ok(found),
        other => Err(format!("{} answers {other:?}", side.name)),
    }
}

fn stead(context: &Context) -> Result<Side, String> {
    let mut command = Command::new(paths::stead("release"));
    command.arg("serve").arg(folder().join("app")).arg("--python").arg(&context.python);
    let ports = |command: &mut Command, rest: &str, grpc: &str| {
        command.args(["--rest_port", rest, "--port", grpc]);
    };
    let log = context.folder.join("stead.log");
    let server = Rc::new(Server::start(command, ports, &log, &["HTTP on"])?);
    let name = "stead, an interpreter for each core".to_owned();
    Ok(Side { name, server, path: "/echo", body: text(), expected: TEXT, is_judged: false })
}

fn uvicorn(context: &Context, workers: &str) -> Result<Side, String> {
    let python = python::peer("interpreters")?;
    let mut command = process::command(&python, ["-m", "uvicorn", "fastapi_echo:app"]);
    command
        .args(["--loop", "uvloop", "--http", "httptools", "--no-access-log", "--workers", workers])
        .arg("--app-dir")
        .arg(folder())
        .env("PYTHONDONTWRITEBYTECODE", "1");
    let ports = |command: &mut Command, rest: &str, _: &str| {
        command.args(["--host", "127.0.0.1", "--port", rest]);
    };
    let log = context.folder.join(format!("uvicorn-{workers}.log"));
    let server = Server::start(command, ports, &log, &["Application startup complete"])?;
    let server = Rc::new(server);
    let name = format!("FastAPI 0.165.0 on uvicorn 0.54.0, workers: {workers}");
    let is_judged = workers == "1";
    Ok(Side { name, server, path: "/echo", body: text(), expected: TEXT, is_judged })
}

fn triton(context: &Context) -> Result<Side, String> {
    let server = Rc::new(triton::start("interpreters/echo/triton", &[], &context.folder)?);
    let tensor = json!({"name": "input", "shape": [1], "datatype": "BYTES", "data": [TEXT]});
    let name = format!(
        "NVIDIA Triton's Python backend (nvidia-pytriton {}), 2 instances",
        triton::VERSION
    );
    let body = json!({"inputs": [tensor]}).to_string();
    let path = "/v2/models/echo/infer";
    Ok(Side { name, server, path, body, expected: TEXT, is_judged: true })
}

fn text() -> String {
    json!({"text": TEXT}).to_string()
}

fn folder() -> std::path::PathBuf {
    paths::root().join("bench/peers/interpreters/echo")
}
