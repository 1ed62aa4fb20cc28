//! A model in two parts gives what the whole gives.
#![allow(clippy::unwrap_used)]

use stead_engine::{Dim, Hoist, JoinedInput, LoadOptions, Model, Parts, Session, SessionOptions};
use stead_onnx::ModelBuilder;
use stead_tensor::{DType, Tensor};

/// Numbers that are the same in every run of the tests.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 33
    }

    fn below(&mut self, end: usize) -> usize {
        self.next() as usize % end
    }

    fn tensor(&mut self, dims: &[usize]) -> Tensor {
        let count = dims.iter().product();
        let values: Vec<f32> =
            (0..count).map(|_| self.next() as f32 / (1_u64 << 30) as f32 - 1.0).collect();
        Tensor::from_slice(&values, dims).unwrap()
    }
}

/// A graph that is built value by value.
struct Graph {
    builder: ModelBuilder,
    random: Numbers,
    made: usize,
}

/// A value of the graph with its columns.
#[derive(Clone, PartialEq, Eq)]
struct Made {
    name: String,
    columns: usize,
}

impl Graph {
    fn name(&mut self) -> String {
        self.made += 1;
        format!("v{}", self.made)
    }

    fn step(&mut self, op: &str, inputs: &[&str], columns: usize) -> Made {
        let name = self.name();
        self.builder = self.builder.clone().node(op, inputs, &[&name]);
        Made { name, columns }
    }

    fn init(&mut self, dims: &[usize]) -> String {
        let name = self.name();
        let tensor = self.random.tensor(dims);
        self.builder = self.builder.clone().init(&name, tensor);
        name
    }

    /// A layer in one of the forms that exporters write.
    fn layer(&mut self, x: &Made, columns: usize) -> Made {
        let sum = match self.random.below(4) {
            0 => {
                let (w, b) = (self.init(&[x.columns, columns]), self.init(&[columns]));
                let product = self.step("MatMul", &[&x.name, &w], columns);
                self.step("Add", &[&b, &product.name], columns)
            }
            1 => {
                let w = self.init(&[x.columns, columns]);
                self.step("MatMul", &[&x.name, &w], columns)
            }
            2 => {
                let (w, b) = (self.init(&[columns, x.columns]), self.init(&[1, columns]));
                let made = self.step("Gemm", &[&x.name, &w, &b], columns);
                self.builder = self.builder.clone().attr("transB", 1).attr("alpha", 0.5_f32);
                made
            }
            _ => {
                let (w, b) = (self.init(&[x.columns, columns]), self.init(&[columns]));
                self.step("Gemm", &[&x.name, &w, &b], columns)
            }
        };
        match self.random.below(3) {
            0 => sum,
            1 => self.step("Relu", &[&sum.name], columns),
            _ => self.step("Tanh", &[&sum.name], columns),
        }
    }

    fn joined(&mut self, parts: &[&Made]) -> Made {
        let columns = parts.iter().map(|p| p.columns).sum();
        let names: Vec<&str> = parts.iter().map(|p| p.name.as_str()).collect();
        let made = self.step("Concat", &names, columns);
        let axis = if self.random.below(2) == 0 { 1 } else { -1 };
        self.builder = self.builder.clone().attr("axis", axis);
        made
    }
}

fn session(model: Model) -> Session {
    Session::new(model, &SessionOptions::default()).unwrap()
}

struct InParts {
    query: Option<Session>,
    documents: Option<Session>,
    rest: Session,
    layers: Vec<String>,
}

fn in_parts(bytes: &[u8], hoist: &Hoist) -> InParts {
    let parts = Model::parts_from_bytes(bytes, None, &LoadOptions::default(), hoist).unwrap();
    let Parts { query, documents, rest, layers } = parts;
    let (query, documents) = (query.map(session), documents.map(session));
    InParts { query, documents, rest: session(rest), layers }
}

impl InParts {
    fn run(&self, given: &[(&str, &Tensor)]) -> Tensor {
        let views = |session: &Session| -> Vec<(String, Tensor)> {
            let known =
                |name: &str| given.iter().find(|(n, _)| *n == name).map(|(_, t)| (*t).clone());
            session
                .model()
                .inputs()
                .iter()
                .filter_map(|i| Some((i.name.clone(), known(&i.name)?)))
                .collect()
        };
        let run = |session: &Session, inputs: &[(String, Tensor)]| {
            let inputs: Vec<_> = inputs.iter().map(|(n, t)| (n.as_str(), t.view())).collect();
            session.run(&inputs, &[]).unwrap()
        };
        let mut inputs = views(&self.rest);
        for part in self.query.iter().chain(&self.documents) {
            let carried = run(part, &views(part));
            let names = part.model().outputs().iter().map(|o| o.name.clone());
            inputs.extend(names.zip(carried));
        }
        run(&self.rest, &inputs).remove(0)
    }
}

fn query_only(names: &[&str]) -> Hoist {
    Hoist { inputs: names.iter().map(|n| (*n).to_owned()).collect(), ..Hoist::default() }
}

/// The same rows of a query for each document.
fn repeated(row: &Tensor, count: usize) -> Tensor {
    let values = row.as_slice::<f32>().unwrap().repeat(count);
    Tensor::from_slice(&values, &[count, row.shape()[1]]).unwrap()
}

fn row(tensor: &Tensor, at: usize) -> Tensor {
    let columns = tensor.shape()[1];
    let values = tensor.as_slice::<f32>().unwrap();
    Tensor::from_slice(&values[at * columns..][..columns], &[1, columns]).unwrap()
}

fn assert_near(found: &Tensor, expected: &Tensor, label: &str) {
    assert_eq!(found.shape(), expected.shape(), "{label}");
    let pairs = found.as_slice::<f32>().unwrap().iter().zip(expected.as_slice::<f32>().unwrap());
    for (found, expected) in pairs {
        let limit = 1e-5 * expected.abs().max(1.0);
        assert!((found - expected).abs() <= limit, "{label}: {found} {expected}");
    }
}

#[test]
fn layers_over_query_and_documents() {
    let (mut split, mut kept) = (0, 0);
    for seed in 0..150 {
        let mut random = Numbers(seed);
        let sizes = [random.below(9) + 1, random.below(9) + 1, random.below(5) + 1];
        let known = |size: usize| size.to_string();
        let text = sizes.map(known);
        let builder = ModelBuilder::new(17)
            .input("q", DType::F32, &["n", &text[0]])
            .input("d", DType::F32, &["n", &text[1]])
            .input("e", DType::F32, &["n", &text[2]]);
        let mut graph = Graph { builder, random, made: 0 };
        let input = |name: &str, columns: usize| Made { name: name.to_owned(), columns };
        let mut query = vec![input("q", sizes[0])];
        let mut documents = vec![input("d", sizes[1]), input("e", sizes[2])];
        // Towers of their own, then layers that join what there is.
        for side in [&mut query, &mut documents] {
            for _ in 0..graph.random.below(3) {
                let from = side[graph.random.below(side.len())].clone();
                let columns = graph.random.below(7) + 1;
                side.push(graph.layer(&from, columns));
            }
        }
        let mut last = documents[0].clone();
        let depth = graph.random.below(2) + 1;
        for _ in 0..depth {
            let mut parts = vec![last.clone()];
            for side in [&query, &documents, &query] {
                if graph.random.below(3) > 0 {
                    parts.push(side[graph.random.below(side.len())].clone());
                }
            }
            let start = graph.random.below(parts.len());
            parts.rotate_left(start);
            let parts: Vec<&Made> = parts.iter().collect();
            let joined = graph.joined(&parts);
            let columns = graph.random.below(7) + 1;
            last = graph.layer(&joined, columns);
        }
        let last = graph.step("Identity", &[&last.name], last.columns);
        let bytes = graph.builder.clone().output(&last.name, DType::F32).bytes();
        let whole = session(Model::from_bytes(&bytes, None, &LoadOptions::default()).unwrap());
        let parts = in_parts(&bytes, &query_only(&["q"]));
        split += parts.layers.len();
        let documents = ["d".to_owned(), "e".to_owned()];
        let documents = documents[graph.random.below(2)..].to_vec();
        let thrice = in_parts(&bytes, &Hoist { documents, ..query_only(&["q"]) });
        assert_eq!(thrice.layers, parts.layers, "seed {seed}");
        kept += usize::from(thrice.documents.is_some());
        let mut tensor = |rows, columns| graph.random.tensor(&[rows, columns]);
        let (q, d, e) = (tensor(1, sizes[0]), tensor(5, sizes[1]), tensor(5, sizes[2]));
        let rows = repeated(&q, 5);
        let all = whole.run(&[("q", rows.view()), ("d", d.view()), ("e", e.view())], &[]).unwrap();
        let label = format!("seed {seed}, split {:?}", parts.layers);
        for at in 0..5 {
            let (d, e) = (row(&d, at), row(&e, at));
            let found = parts.run(&[("q", &q), ("d", &d), ("e", &e)]);
            assert_near(&found, &row(&all[0], at), &label);
            let again = thrice.run(&[("q", &q), ("d", &d), ("e", &e)]);
            assert_near(&again, &row(&all[0], at), &label);
            if parts.layers.is_empty() {
                let inputs = [("q", q.view()), ("d", d.view()), ("e", e.view())];
                let expected = whole.run(&inputs, &[]).unwrap().remove(0);
                assert_eq!(found, expected, "{label}");
            }
        }
        // Every concatenation is read by a layer, so that nothing has to be repeated for the documents.
        let found = parts.run(&[("q", &q), ("d", &d), ("e", &e)]);
        if found.shape()[0] == 5 {
            assert_near(&found, &all[0], &label);
        }
    }
    assert!(split > 100, "{split} layers were split");
    assert!(kept > 75, "{kept} networks have a part of documents only");
}

fn session_of(bytes: &[u8]) -> Session {
    session(Model::from_bytes(bytes, None, &LoadOptions::default()).unwrap())
}

/// `Relu([q d] W + b)`, with something before the graph's Concat.
fn ranker(before: impl FnOnce(ModelBuilder) -> (ModelBuilder, &'static str)) -> Vec<u8> {
    let mut random = Numbers(3);
    let builder = ModelBuilder::new(17)
        .input("q", DType::F32, &["one", "3"])
        .input("d", DType::F32, &["n", "5"])
        .init("w", random.tensor(&[8, 4]))
        .init("b", random.tensor(&[4]));
    let (builder, q) = before(builder);
    builder
        .node("Concat", &[q, "d"], &["x"])
        .attr("axis", 1)
        .node("Gemm", &["x", "w", "b"], &["h"])
        .node("Relu", &["h"], &["y"])
        .output("y", DType::F32)
        .bytes()
}

#[test]
fn the_rest_of_a_ranker_is_one_product() {
    let axes = || Tensor::from_slice(&[0_i64], &[1]).unwrap();
    let expanded = move |b: ModelBuilder| {
        let b = b
            .init("zero", axes())
            .init("one", Tensor::from_slice(&[1_i64], &[1]).unwrap())
            .node("Shape", &["d"], &["shape"])
            .node("Slice", &["shape", "zero", "one"], &["rows"])
            .node("Concat", &["rows", "one"], &["target"])
            .attr("axis", 0)
            .node("Expand", &["q", "target"], &["qs"]);
        (b, "qs")
    };
    for (label, bytes) in [
        ("joined as they come", ranker(|b| (b, "q"))),
        ("repeated before they are joined", ranker(expanded)),
    ] {
        let parts = in_parts(&bytes, &query_only(&["q"]));
        assert_eq!(parts.layers.len(), 1, "{label}");
        let names: Vec<&str> =
            parts.rest.model().inputs().iter().map(|i| i.name.as_str()).collect();
        assert_eq!(names, ["d", "carried/0"], "{label}");
        let (d, carried) = (
            Tensor::zeros(DType::F32, stead_tensor::Shape::new(&[7, 5]).unwrap()).unwrap(),
            Tensor::zeros(DType::F32, stead_tensor::Shape::new(&[1, 4]).unwrap()).unwrap(),
        );
        let plan = parts.rest.plan_view(&[Some(d.view()), Some(carried.view())]).unwrap();
        let kernels: Vec<&str> = plan.steps.iter().map(|s| s.kernel).collect();
        assert_eq!(kernels, ["gemm packed"], "{label}");
    }
}

#[test]
fn what_documents_alone_give_is_the_same_bit_for_bit() {
    let documents = vec!["d".to_owned()];
    let hoist = Hoist { documents, ..query_only(&["q"]) };
    let bytes = ranker(|b| (b, "q"));
    let (twice, thrice) = (in_parts(&bytes, &query_only(&["q"])), in_parts(&bytes, &hoist));
    let part = thrice.documents.as_ref().unwrap().model();
    let names =
        |list: &[stead_engine::IoSpec]| list.iter().map(|i| i.name.clone()).collect::<Vec<_>>();
    assert_eq!((names(part.inputs()), part.info().parameters), (vec!["d".to_owned()], 5 * 4));
    assert_eq!(names(thrice.rest.model().inputs()), ["carried/0", "kept/0"]);
    let mut random = Numbers(11);
    for count in [1, 3, 7, 40] {
        let (q, d) = (random.tensor(&[1, 3]), random.tensor(&[count, 5]));
        let given = [("q", &q), ("d", &d)];
        assert_eq!(thrice.run(&given), twice.run(&given), "{count}");
    }
}

#[test]
fn an_input_that_a_package_joins_is_split_as_well() {
    let mut random = Numbers(5);
    let bytes = ModelBuilder::new(17)
        .input("x", DType::F32, &["n", "8"])
        .init("w", random.tensor(&[8, 4]))
        .node("MatMul", &["x", "w"], &["y"])
        .output("y", DType::F32)
        .bytes();
    let dims = |size: usize| vec![Dim::Symbol("n".to_owned()), Dim::Known(size)];
    let parts = vec![("x/0".to_owned(), dims(3)), ("x/1".to_owned(), dims(5))];
    let joined = vec![JoinedInput { input: "x".to_owned(), axis: 1, parts }];
    for (inputs, layers) in [(vec!["x/0"], 1), (vec!["x/1"], 1), (vec![], 0)] {
        let hoist = Hoist { joined: joined.clone(), ..query_only(&inputs) };
        let parts = in_parts(&bytes, &hoist);
        assert_eq!(parts.layers.len(), layers, "{inputs:?}");
        let x = random.tensor(&[1, 8]);
        let values = x.as_slice::<f32>().unwrap();
        let (a, b) = (
            Tensor::from_slice(&values[..3], &[1, 3]).unwrap(),
            Tensor::from_slice(&values[3..], &[1, 5]).unwrap(),
        );
        let found = parts.run(&[("x/0", &a), ("x/1", &b)]);
        let expected = session_of(&bytes).run(&[("x", x.view())], &[]).unwrap().remove(0);
        assert_near(&found, &expected, &format!("{inputs:?}"));
    }
    let other = vec![JoinedInput { input: "z".to_owned(), axis: 1, parts: Vec::new() }];
    let hoist = Hoist { joined: other, ..query_only(&[]) };
    let error = Model::parts_from_bytes(&bytes, None, &LoadOptions::default(), &hoist).unwrap_err();
    assert_eq!(error.to_string(), "the model has no input z that needs a value");
}

#[test]
fn what_is_drawn_stays_with_the_documents() {
    let bytes = ModelBuilder::new(17)
        .input("q", DType::F32, &["1", "2"])
        .input("d", DType::F32, &["n", "2"])
        .node("Neg", &["q"], &["m"])
        .node("Bernoulli", &["q"], &["r"])
        .node("Add", &["m", "r"], &["s"])
        .node("Add", &["s", "d"], &["y"])
        .output("y", DType::F32)
        .bytes();
    let parts = Model::parts_from_bytes(&bytes, None, &LoadOptions::default(), &query_only(&["q"]))
        .unwrap();
    let names: Vec<&str> = parts.rest.inputs().iter().map(|i| i.name.as_str()).collect();
    // The difference, the chances and their shape; with what is drawn it would be the one sum.
    assert_eq!(names, ["d", "carried/0", "carried/1", "carried/2"]);
}
