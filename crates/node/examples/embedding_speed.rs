//! How fast texts become vectors by an embedder of a package, turn by turn as standard input asks; one line is answered to each:
//!
//! ```text
//! make COUNT SHORTEST LONGEST PAGE   makes COUNT seeded passages of that many tokens from the words of a text, and writes
//!                                    texts.json and ids.json beside the package: the number of tokens
//! embed FROM COUNT                   has the node embed COUNT of them from the FROM-th on, as `/embed` does: seconds
//! tokens FROM COUNT                  makes the ids of as many: seconds
//! run IDS TEXTS TAKEN FROM COUNT     runs the model alone on as many, TAKEN at a time, in runs of up to IDS ids and TEXTS texts: seconds
//! vector AT                          the vector of one, as JSON
//! ```
//!
//! `cargo run --release -p stead-node --example embedding_speed -- PACKAGE EMBEDDER`; the package has `models/EMBEDDER.onnx` and
//! `models/tokenizer.json`. It computes on as many threads as there are cores: `taskset -c 0` makes that one.
#![allow(clippy::unwrap_used, clippy::print_stdout)] // a measurement ends with its first error, and tells

use std::io::stdin;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use stead_app::package::PackageFiles;
use stead_embed::{BatchLimits, Cut, Settings, Specials, Tokenizer, batches, mean, normalize};
use stead_engine::{LoadOptions, Model, Parallel, RunContext, Session, SessionOptions};
use stead_log::SeededRng;
use stead_node::{EmbedInput, EmbedOutput, EmbedRequest, Embedded, Role};
use stead_pool::{Pool, PoolOptions};
use stead_tensor::Tensor;
use tokio::runtime::{Builder, Runtime};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// As the package of the benchmark says.
const MOST_TOKENS: usize = 256;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [package, embedder] = &arguments[..] else { panic!("PACKAGE EMBEDDER") };
    let package = Path::new(package);
    let mut speed = Speed::new(package, embedder);
    for line in stdin().lines() {
        let line = line.unwrap();
        let words: Vec<&str> = line.split(' ').collect();
        let number = |at: usize| words[at].parse::<usize>().unwrap();
        match words[0] {
            "make" => {
                println!("{}", speed.make(package, number(1), number(2)..=number(3), words[4]))
            }
            "embed" => println!("{}", speed.embed(number(1), number(2))),
            "tokens" => println!("{}", speed.tokens(number(1), number(2))),
            "run" => println!("{}", speed.run([1, 2, 3].map(number), number(4), number(5))),
            "vector" => println!("{:?}", speed.vector(number(1))),
            other => panic!("unknown command {other}"),
        }
    }
}

/// Idle workers for a run.
struct Cores(Arc<Pool>);

impl Parallel for Cores {
    fn threads(&self) -> usize {
        self.0.threads()
    }

    fn for_each(&self, n: usize, f: &(dyn Fn(usize) + Sync)) {
        self.0.team(self.threads()).for_each(n, f);
    }
}

struct Speed {
    node: Arc<Embedded>,
    runtime: Runtime,
    embedder: String,
    tokenizer: Tokenizer,
    session: Session,
    cores: Cores,
    texts: Vec<String>,
    ids: Vec<Vec<u32>>,
}

impl Speed {
    fn new(package: &Path, embedder: &str) -> Speed {
        let node = Embedded::in_memory(&PackageFiles::open(package).unwrap()).unwrap();
        let models = package.join("models");
        let settings = Settings { specials: Specials::OfFile, cut: Cut::At(MOST_TOKENS) };
        let tokenizer = std::fs::read(models.join("tokenizer.json")).unwrap();
        let model = models.join(format!("{embedder}.onnx"));
        let model = Model::load(&model, &LoadOptions::default()).unwrap();
        Speed {
            node,
            runtime: Builder::new_current_thread().build().unwrap(),
            embedder: embedder.to_owned(),
            tokenizer: Tokenizer::from_json(&tokenizer, settings).unwrap(),
            session: Session::new(model, &SessionOptions::default()).unwrap(),
            cores: Cores(Pool::new(&PoolOptions::default()).unwrap()),
            texts: Vec::new(),
            ids: Vec::new(),
        }
    }

    /// Stretches of the words of a page, which begin anywhere.
    fn make(
        &mut self,
        package: &Path,
        count: usize,
        lengths: std::ops::RangeInclusive<usize>,
        page: &str,
    ) -> usize {
        let page = std::fs::read_to_string(page).unwrap();
        let words: Vec<&str> = page.split_whitespace().collect();
        let rng = SeededRng::new(7);
        (self.texts, self.ids) = (Vec::new(), Vec::new());
        while self.texts.len() < count {
            let span = (lengths.end() - lengths.start() + 1) as u64;
            let wanted = lengths.start() + rng.below(span) as usize;
            let begin = rng.below(words.len() as u64) as usize;
            let mut passage: Vec<&str> =
                words.iter().cycle().skip(begin).take(wanted).copied().collect();
            let mut ids = self.tokenizer.encode(&passage.join(" ")).unwrap();
            while ids.len() > wanted {
                passage.truncate(passage.len() - (ids.len() - wanted).div_ceil(3));
                ids = self.tokenizer.encode(&passage.join(" ")).unwrap();
            }
            if ids.len() >= *lengths.start() {
                self.texts.push(passage.join(" "));
                self.ids.push(ids);
            }
        }
        let write = |name: &str, json: String| std::fs::write(package.with_file_name(name), json);
        write("texts.json", serde_json::to_string(&self.texts).unwrap()).unwrap();
        write("ids.json", serde_json::to_string(&self.ids).unwrap()).unwrap();
        self.ids.iter().map(Vec::len).sum()
    }

    fn embed(&self, from: usize, count: usize) -> f64 {
        let begin = Instant::now();
        let inputs = self.texts[from..from + count].iter().cloned().map(EmbedInput::Text);
        assert_eq!(self.embedded(inputs.collect()).len(), count);
        begin.elapsed().as_secs_f64()
    }

    fn embedded(&self, inputs: Vec<EmbedInput>) -> Vec<EmbedOutput> {
        let request = EmbedRequest {
            embedder: self.embedder.clone(),
            inputs,
            role: Role::Document,
            dimensions: None,
            normalize: None,
        };
        self.runtime.block_on(self.node.embed(request)).unwrap().outputs
    }

    fn tokens(&self, from: usize, count: usize) -> f64 {
        let begin = Instant::now();
        for text in &self.texts[from..from + count] {
            std::hint::black_box(self.tokenizer.encode(text).unwrap());
        }
        begin.elapsed().as_secs_f64()
    }

    fn run(&self, [ids, texts, taken]: [usize; 3], from: usize, count: usize) -> f64 {
        let longest = usize::MAX;
        let limits = BatchLimits { texts, ids, multiple: 8, longest, pads: true };
        let begin = Instant::now();
        for some in self.ids[from..from + count].chunks(taken) {
            let lengths: Vec<usize> = some.iter().map(Vec::len).collect();
            for batch in batches(&lengths, limits) {
                let rows: Vec<&[u32]> = batch.texts.iter().map(|at| &*some[*at]).collect();
                std::hint::black_box(self.vectors(&rows, batch.length));
            }
        }
        begin.elapsed().as_secs_f64()
    }

    fn vectors(&self, rows: &[&[u32]], length: usize) -> Vec<Vec<f32>> {
        let input = |cell: &dyn Fn(u32) -> i64| {
            let row = |ids: &&[u32]| {
                let filled = ids.iter().map(|id| cell(*id));
                filled.chain(std::iter::repeat(0)).take(length).collect::<Vec<i64>>()
            };
            let cells: Vec<i64> = rows.iter().flat_map(row).collect();
            Tensor::from_slice(&cells, &[rows.len(), length]).unwrap()
        };
        let (ids, mask, types) = (input(&i64::from), input(&|_| 1), input(&|_| 0));
        let tensor = |name: &str| match name {
            "input_ids" => ids.view(),
            "attention_mask" => mask.view(),
            _ => types.view(),
        };
        let specs = self.session.model().inputs();
        let tensors: Vec<_> = specs.iter().map(|spec| Some(tensor(&spec.name))).collect();
        let context = RunContext { parallel: &self.cores, ..RunContext::default() };
        let mut vectors = Vec::new();
        let run = self.session.run_with(&tensors, &context, |outputs| {
            let view = outputs.get(0).unwrap();
            let width = *view.shape().dims().last().unwrap();
            let cells = view.as_slice::<f32>().unwrap();
            for (ids, cells) in rows.iter().zip(cells.chunks_exact(length * width)) {
                let mut vector = mean(&cells[..ids.len() * width], width, ids.len());
                normalize(&mut vector);
                vectors.push(vector);
            }
        });
        run.unwrap();
        vectors
    }

    fn vector(&self, at: usize) -> Vec<f32> {
        match self.embedded(vec![EmbedInput::Text(self.texts[at].clone())]).pop() {
            Some(EmbedOutput::Vector(vector)) => vector,
            other => panic!("no vector: {other:?}"),
        }
    }
}
