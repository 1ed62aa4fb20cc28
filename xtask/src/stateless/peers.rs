//! Servers that others install: MLServer and NVIDIA Triton, around ONNX Runtime.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use serde_json::json;

use super::load::{self, Point};
use super::{Context, networks};
use crate::results::{Table, goal, line, middle};
use crate::server::Server;
use crate::{mlserver, models, triton};

const CLIENTS: [usize; 2] = [1, 16];

/// Tokens of a request to MiniLM.
const TOKENS: usize = 64;

/// A model that all serve.
struct Served {
    name: &'static str,
    title: &'static str,
    file: PathBuf,
    /// What random inputs are, as `stead bench` takes it.
    inputs: Vec<String>,
    /// The same as a request in JSON.
    body: serde_json::Value,
    /// stead's requests a second over those of MLServer and of Triton.
    wanted: [f64; 2],
}

/// One of those that are measured.
struct Side {
    name: String,
    target: String,
    what: Vec<OsString>,
    /// What is wanted of stead over it.
    wanted: Option<f64>,
}

/// The table.
pub fn table(context: &Context) -> Result<Table, String> {
    let mut rows = Vec::new();
    let mut missing = Vec::new();
    let served = served()?;
    for model in &served {
        rows.extend(rows_of(context, model, &served, &mut missing)?);
    }
    missing.sort();
    missing.dedup();
    Ok(Table {
        title: "beside MLServer and Triton".to_owned(),
        note: format!(
            "The same client (`stead bench --target ... --clients`) in a closed loop on the same cores, one server at a time: one row of numbers or one text of {TOKENS} tokens a request. MLServer {} has ONNX \
             Runtime with one thread in its own process, Triton (nvidia-pytriton {}) two instances of its Python backend, each with ONNX Runtime and one thread. Each is asked in the forms that \
             it takes; goals are for the quicker one. {} turns, medians; ratios are medians of the turns' ratios.{}",
            mlserver::VERSION,
            triton::VERSION,
            rounds(context),
            missing.concat()
        ),
        header: vec![
            "model",
            "what",
            "clients",
            "requests/s",
            "p50 ms",
            "p99 ms",
            "stead over it",
            "goal",
        ],
        rows,
    })
}

fn rounds(context: &Context) -> usize {
    if context.quick { 1 } else { 3 }
}

fn served() -> Result<[Served; 2], String> {
    let row: Vec<f64> = (0..256).map(|at| f64::from(at % 17) / 16.0 - 0.5).collect();
    let ids: Vec<usize> = (0..TOKENS).map(|at| 1000 + at * 7919 % 20_000).collect();
    let tensor = |name: &str, datatype: &str, data: serde_json::Value| {
        let width = data.as_array().map_or(0, Vec::len);
        json!({"name": name, "datatype": datatype, "shape": [1, width], "data": data})
    };
    let text = |name: &str, range: &str| format!("{name}:i64:1x{TOKENS}:{range}");
    Ok([
        Served {
            name: "mlp",
            title: "MLP 256-512-128-1",
            file: models::mlp()?.join("model.onnx"),
            inputs: vec!["input:f32:1x256".to_owned()],
            body: json!({"inputs": [tensor("input", "FP32", json!(row))]}),
            wanted: [10.0, 3.0],
        },
        Served {
            name: "minilm",
            title: "MiniLM",
            file: models::minilm()?.join("model.onnx"),
            inputs: vec![
                text("input_ids", "1000:20000"),
                text("attention_mask", "1:2"),
                text("token_type_ids", "0:1"),
            ],
            body: json!({"inputs": [
                tensor("input_ids", "INT64", json!(ids)),
                tensor("attention_mask", "INT64", json!(vec![1; TOKENS])),
                tensor("token_type_ids", "INT64", json!(vec![0; TOKENS])),
            ]}),
            wanted: [1.3, 1.3],
        },
    ])
}

impl Served {
    /// Random inputs in binary form over a protocol.
    fn binary(&self, protocol: &str) -> Vec<OsString> {
        let mut what: Vec<OsString> =
            ["--model", self.name, "--protocol", protocol].map(OsString::from).to_vec();
        for input in &self.inputs {
            what.extend(["--random".into(), input.into()]);
        }
        what
    }

    /// A request of KServe's JSON over a protocol.
    fn json(&self, context: &Context, protocol: &str) -> Result<Vec<OsString>, String> {
        let file = context.write(&format!("{}.jsonl", self.name), &format!("{}\n", self.body))?;
        let mut what: Vec<OsString> = networks::queries(&file).map(OsString::from).to_vec();
        what.extend(["--model", self.name, "--protocol", protocol].map(OsString::from));
        Ok(what)
    }
}

fn rows_of(
    context: &Context,
    model: &Served,
    all: &[Served],
    missing: &mut Vec<String>,
) -> Result<Vec<Vec<String>>, String> {
    println!("{}", model.title);
    let stead = stead(context, &model.file, model.name)?;
    let mlserver = mlserver::start(model.name, &model.file, &context.folder.join("mlserver.log"));
    // Triton loads all models of its folder.
    let names: Vec<String> = all.iter().map(|served| served.name.to_uppercase()).collect();
    let files = all.iter().map(|served| served.file.as_path());
    let variables: Vec<(&str, &Path)> = names.iter().map(String::as_str).zip(files).collect();
    let triton = triton::start("stateless/triton", &variables, &context.folder);
    let side = |name: &str, target: &str, what, wanted| Side {
        name: name.to_owned(),
        target: target.to_owned(),
        what,
        wanted,
    };
    let mut sides = vec![
        side("stead, gRPC", &stead.grpc, model.binary("grpc"), None),
        side("stead, HTTP, binary", &stead.rest, model.binary("http"), None),
        side("stead, HTTP, JSON", &stead.rest, model.json(context, "http")?, None),
    ];
    let [over_mlserver, over_triton] = model.wanted.map(Some);
    match &mlserver {
        Ok(server) => {
            sides.push(side(
                "MLServer, gRPC",
                &server.grpc,
                model.json(context, "grpc")?,
                over_mlserver,
            ));
            sides.push(side(
                "MLServer, HTTP, JSON",
                &server.rest,
                model.json(context, "http")?,
                over_mlserver,
            ));
        }
        Err(reason) => missing.push(format!(" Not measured: MLServer: {}.", line(reason))),
    }
    match &triton {
        Ok(server) => {
            sides.push(side(
                "Triton, Python backend, gRPC",
                &server.grpc,
                model.binary("grpc"),
                over_triton,
            ));
            sides.push(side(
                "Triton, Python backend, HTTP, binary",
                &server.rest,
                model.binary("http"),
                over_triton,
            ));
        }
        Err(reason) => missing.push(format!(" Not measured: Triton: {}.", line(reason))),
    }
    let seconds = if context.quick { "0.5" } else { "2" };
    let mut rows = Vec::new();
    for clients in CLIENTS {
        let mut points: Vec<Vec<Point>> = vec![Vec::new(); sides.len()];
        for _ in 0..rounds(context) {
            for (side, points) in sides.iter().zip(&mut points) {
                let what: Vec<_> = side.what.iter().map(OsString::as_os_str).collect();
                points.push(load::closed(context, &side.target, &what, clients, seconds)?);
            }
        }
        rows.extend(compared(model.title, clients, &sides, &points));
    }
    Ok(rows)
}

/// The rows of a number of clients. Goals are judged with many clients, of stead's quickest form over the peer's quickest.
fn compared(
    title: &str,
    clients: usize,
    sides: &[Side],
    points: &[Vec<Point>],
) -> Vec<Vec<String>> {
    let speed =
        |points: &[Point]| middle(points.iter().map(|p| p.per_second).collect()).unwrap_or(0.0);
    let of_stead = sides.iter().zip(points).filter(|(side, _)| side.wanted.is_none());
    let best = of_stead.map(|(_, points)| points).max_by(|a, b| speed(a).total_cmp(&speed(b)));
    let first = |name: &str| name.split(',').next().unwrap_or_default().to_owned();
    let is_quickest = |side: &Side, own: &[Point]| {
        let others =
            sides.iter().zip(points).filter(|(other, _)| first(&other.name) == first(&side.name));
        others.map(|(_, points)| speed(points)).fold(0.0, f64::max) <= speed(own)
    };
    let row = |(side, own): (&Side, &Vec<Point>)| {
        let ratios = best.into_iter().flatten().zip(own).map(|(a, b)| a.per_second / b.per_second);
        let ratio = middle(ratios.collect()).unwrap_or(f64::NAN);
        let wanted = match side.wanted {
            Some(wanted) if CLIENTS.last() == Some(&clients) && is_quickest(side, own) => {
                format!("{wanted} {}", goal(ratio >= wanted))
            }
            _ => "-".to_owned(),
        };
        let of =
            |value: fn(&Point) -> f64| middle(own.iter().map(value).collect()).unwrap_or(f64::NAN);
        vec![
            title.to_owned(),
            side.name.clone(),
            clients.to_string(),
            format!("{:.0}", speed(own)),
            format!("{:.2}", of(|p| p.p50_ms)),
            format!("{:.2}", of(|p| p.p99_ms)),
            format!("{ratio:.2}"),
            wanted,
        ]
    };
    sides.iter().zip(points).map(row).collect()
}

fn stead(context: &Context, model: &Path, name: &str) -> Result<Server, String> {
    let mut command =
        crate::process::command(&context.stead, ["serve", "--model_name", name, "--model_path"]);
    command.arg(model);
    let ports = |command: &mut std::process::Command, rest: &str, grpc: &str| {
        command.args(["--rest_port", rest, "--port", grpc]);
    };
    let log = context.folder.join(format!("stead-{name}.log"));
    Server::start(command, ports, &log, &["HTTP on", "gRPC on"])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn goals_are_for_the_quickest_form_of_a_peer() {
        let side = |name: &str, wanted| Side {
            name: name.to_owned(),
            target: String::new(),
            what: Vec::new(),
            wanted,
        };
        let sides = [
            side("stead, gRPC", None),
            side("stead, HTTP", None),
            side("P, gRPC", Some(3.0)),
            side("P, HTTP", Some(3.0)),
        ];
        let points = |speeds: [f64; 2]| {
            speeds
                .map(|per_second| Point {
                    clients: 16,
                    per_second,
                    p50_ms: 1.0,
                    p95_ms: 1.0,
                    p99_ms: 1.0,
                })
                .to_vec()
        };
        let all =
            [points([10.0, 20.0]), points([40.0, 40.0]), points([10.0, 10.0]), points([4.0, 5.0])];
        let rows = compared("m", 16, &sides, &all);
        let told: Vec<[&str; 2]> = rows.iter().map(|row| [&*row[6], &*row[7]]).collect();
        assert_eq!(told, [["4.00", "-"], ["1.00", "-"], ["4.00", "3 met"], ["10.00", "-"]]);
        assert!(compared("m", 1, &sides, &all).iter().all(|row| row[7] == "-"));
    }
}
