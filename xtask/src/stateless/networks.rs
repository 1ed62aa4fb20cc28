//! Networks of BERT's structure with weights by chance, in a package of stead and behind ONNX Runtime, and requests for them.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use super::Context;
use crate::server::Server;
use crate::{bench, paths, process, python};

/// A network by its sizes.
#[derive(Debug, Clone, Copy)]
pub struct Network {
    pub name: &'static str,
    pub title: &'static str,
    hidden: &'static str,
    layers: &'static str,
    heads: &'static str,
    /// Tokens of a request.
    pub tokens: usize,
}

/// bert-base-uncased.
pub const BERT: Network = Network {
    name: "bert",
    title: "BERT-base (12 layers of 768)",
    hidden: "768",
    layers: "12",
    heads: "12",
    tokens: 64,
};

/// xtremedistil-l6-h256-uncased.
pub const DISTIL: Network = Network {
    name: "distil",
    title: "XtremeDistil (6 layers of 256)",
    hidden: "256",
    layers: "6",
    heads: "8",
    tokens: 64,
};

/// In the place of both for a first look.
pub const SMALL: Network = Network {
    name: "small",
    title: "2 layers of 128",
    hidden: "128",
    layers: "2",
    heads: "4",
    tokens: 64,
};

const VOCABULARY: usize = 30522;

/// Requests of a file.
const REQUESTS: usize = 64;

impl Network {
    /// The file.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn file(&self, context: &Context) -> Result<PathBuf, String> {
        let file = context.folder.join(format!("{}.onnx", self.name));
        if !file.exists() {
            let script = paths::root().join("examples/cross-encoder/make_model.py");
            let mut make = Command::new(python::environment("onnx")?);
            make.arg(script).env("PYTHONDONTWRITEBYTECODE", "1");
            make.args(["--hidden", self.hidden, "--layers", self.layers, "--heads", self.heads]);
            make.args(["--vocabulary", &VOCABULARY.to_string(), "-o"]).arg(&file);
            process::run(&mut make, "make_model.py")?;
        }
        Ok(file)
    }

    /// A package that has it twice: `elastic`, whose runs take idle threads, and `single`, whose runs have one.
    ///
    /// # Errors
    /// As [`Network::file`].
    pub fn package(&self, context: &Context) -> Result<PathBuf, String> {
        let services = "<services version=\"1.0\">\n  <container id=\"default\" version=\"1.0\">\n    <model-evaluation>\n      \
             <onnx><models><model name=\"single\"><intraop-threads>1</intraop-threads></model></models></onnx>\n    \
             </model-evaluation>\n  </container>\n</services>\n";
        let file = self.file(context)?;
        context.write(&format!("{}-app/services.xml", self.name), services)?;
        for model in ["elastic", "single"] {
            context.copy(&file, &format!("{}-app/models/{model}.onnx", self.name))?;
        }
        Ok(context.folder.join(format!("{}-app", self.name)))
    }

    /// ONNX Runtime behind HTTP: a session for each of two cores, with so many threads for a run or, for 0, its default number.
    ///
    /// # Errors
    /// When it does not start.
    pub fn onnx_runtime(&self, context: &Context, threads: usize) -> Result<Server, String> {
        let mut command = bench::peers_command(&context.peers)?;
        command.arg("front").arg(self.file(context)?).args(["2", &threads.to_string()]);
        let ports = |command: &mut Command, rest: &str, _: &str| {
            command.arg(rest);
        };
        let log = context.folder.join(format!("{}-onnxruntime-{threads}.log", self.name));
        Server::start(command, ports, &log, &["serving"])
    }

    /// A file of KServe requests for a model.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn kserve(&self, context: &Context, model: &str) -> Result<PathBuf, String> {
        let inputs = |tensors: [(&str, Vec<i64>); 3]| {
            let shape = [1, self.tokens];
            let input = |(name, data): (&str, Vec<i64>)| json!({"name": name, "datatype": "INT64", "shape": shape, "data": data});
            json!({"inputs": tensors.map(input)})
        };
        self.write(
            context,
            &format!("/v2/models/{model}/infer"),
            inputs,
            &format!("kserve-{model}"),
        )
    }

    /// A file of requests to `/model-evaluation`.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn evaluation(&self, context: &Context, model: &str) -> Result<PathBuf, String> {
        let arguments = |tensors: [(&str, Vec<i64>); 3]| {
            tensors.into_iter().map(|(name, row)| (name.to_owned(), json!([row]))).collect()
        };
        let path = format!("/model-evaluation/v1/{model}/eval");
        self.write(context, &path, arguments, &format!("evaluation-{model}"))
    }

    fn write(
        &self,
        context: &Context,
        path: &str,
        body: impl Fn([(&'static str, Vec<i64>); 3]) -> Value,
        name: &str,
    ) -> Result<PathBuf, String> {
        let request = |number: usize| {
            let id =
                |at: usize| 1000 + (number * 131 + at * 7919) as i64 % (VOCABULARY as i64 - 1000);
            let tensors = [
                ("input_ids", (0..self.tokens).map(id).collect()),
                ("attention_mask", vec![1; self.tokens]),
                ("token_type_ids", vec![0; self.tokens]),
            ];
            json!({"path": path, "body": body(tensors)}).to_string() + "\n"
        };
        let text: String = (0..REQUESTS).map(request).collect();
        context.write(&format!("{}-{name}.jsonl", self.name), &text)
    }
}

/// What a client is told to send.
pub fn queries(file: &Path) -> [&std::ffi::OsStr; 2] {
    ["--queries".as_ref(), file.as_os_str()]
}
