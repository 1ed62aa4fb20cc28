//! Models of one row take several after their rewriting, and give what they gave one at a time.
#![allow(clippy::unwrap_used)]

mod graph;
mod networks;

use graph::{Graph, Numbers};
use networks::Network;
use stead_engine::{LoadOptions, Model, Session, SessionOptions, Tied};
use stead_tensor::{DType, Tensor};

fn model(bytes: &[u8]) -> Model {
    Model::from_bytes(bytes, None, &LoadOptions::default()).unwrap()
}

fn session(model: Model) -> Session {
    Session::new(model, &SessionOptions::default()).unwrap()
}

impl Network {
    fn axes(&self) -> Vec<(usize, usize)> {
        (0..self.inputs.len()).map(|input| (input, 0)).collect()
    }

    fn shapes(&self) -> Vec<Vec<usize>> {
        self.inputs.iter().map(|(_, _, shape)| shape.clone()).collect()
    }

    /// Random inputs of so many rows.
    fn inputs(&self, random: &mut Numbers, rows: usize) -> Vec<Tensor> {
        let input = |(name, dtype, shape): &(&str, DType, Vec<usize>)| {
            let mut shape = shape.clone();
            shape[0] = rows;
            match dtype {
                DType::I64 => {
                    let below = if *name == "mask" { 2 } else { 30 };
                    let count = shape.iter().product();
                    let ids: Vec<i64> = (0..count).map(|_| random.below(below) as i64).collect();
                    Tensor::from_slice(&ids, &shape).unwrap()
                }
                _ => random.tensor(&shape),
            }
        };
        self.inputs.iter().map(input).collect()
    }

    fn run(&self, session: &Session, inputs: &[Tensor]) -> Tensor {
        let named: Vec<_> =
            self.inputs.iter().zip(inputs).map(|((name, ..), t)| (*name, t.view())).collect();
        session.run(&named, &[]).unwrap().remove(0)
    }
}

/// One row of a tensor.
fn row(tensor: &Tensor, at: usize) -> Tensor {
    let shape = tensor.shape().with(0, 1).unwrap();
    let size = shape.byte_len(tensor.dtype());
    let bytes = &tensor.bytes()[at * size..(at + 1) * size];
    match tensor.dtype() {
        DType::I64 => {
            let list: Vec<i64> =
                tensor.as_slice::<i64>().unwrap()[at * size / 8..][..size / 8].into();
            Tensor::from_slice(&list, shape.dims()).unwrap()
        }
        _ => {
            assert_eq!(bytes.len() % 4, 0);
            let list: Vec<f32> =
                tensor.as_slice::<f32>().unwrap()[at * size / 4..][..size / 4].into();
            Tensor::from_slice(&list, shape.dims()).unwrap()
        }
    }
}

/// Whether the model was tied to one row before.
fn check(label: &str, network: &Network, random: &mut Numbers) -> bool {
    let one = session(model(&network.bytes));
    let was_tied =
        session(model(&network.bytes)).free_batch_of(&network.axes(), &network.shapes()).is_err();
    let untied = model(&network.bytes).untied(&network.axes(), &network.shapes());
    let mut many = session(untied.unwrap_or_else(|e| panic!("{label}: {e}")));
    let axes = many.free_batch_of(&network.axes(), &network.shapes());
    assert_eq!(axes, Ok(vec![0]), "{label}");
    for rows in [1, 2, 5] {
        let inputs = network.inputs(random, rows);
        let all = network.run(&many, &inputs);
        assert_eq!(all.shape()[0], rows, "{label}");
        for at in 0..rows {
            let own: Vec<Tensor> = inputs.iter().map(|t| row(t, at)).collect();
            let (expected, found) = (network.run(&one, &own), row(&all, at));
            assert_eq!(found.shape(), expected.shape(), "{label}");
            let pairs =
                found.as_slice::<f32>().unwrap().iter().zip(expected.as_slice::<f32>().unwrap());
            for (found, expected) in pairs {
                let limit = 1e-4 * expected.abs().max(1.0);
                assert!(
                    (found - expected).abs() <= limit,
                    "{label}, row {at} of {rows}: {found} {expected}"
                );
            }
        }
    }
    was_tied
}

#[test]
fn networks_of_one_row_take_several() {
    let kinds: [(&str, fn(u64) -> Network, u64); 4] = [
        ("bert", networks::bert, 80),
        ("dense", networks::dense, 60),
        ("images", networks::images, 30),
        ("recurrent", networks::recurrent, 20),
    ];
    for (kind, make, count) in kinds {
        let mut tied = 0;
        for seed in 0..count {
            let mut random = Numbers(seed ^ 0x5eed);
            tied += u64::from(check(&format!("{kind}, seed {seed}"), &make(seed), &mut random));
        }
        // The graphs really say 1 somewhere.
        assert!(tied * 2 > count, "{kind}: {tied} of {count} were tied to one row");
    }
}

/// Why a model of an input `x` of `[1, 4, 6]` cannot be untied.
fn refusal(build: impl FnOnce(&mut Graph) -> String) -> String {
    let mut g = Graph::new(7);
    g.input("x", DType::F32, &["1", "4", "6"]);
    let last = build(&mut g);
    let untied = model(&g.bytes(&last)).untied(&[(0, 0)], &[vec![1, 4, 6]]);
    match untied {
        Err(tied @ (Tied::Node { .. } | Tied::Output { .. })) => tied.to_string(),
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("it was untied"),
    }
}

#[test]
fn what_joins_rows_is_refused_by_the_name_of_its_node() {
    let cases: [(&str, fn(&mut Graph) -> String, &str); 9] = [
        (
            "a mean over rows",
            |g| {
                let mean = g.op_with("ReduceMean", &["x"], ("axes", [0]));
                g.op("Sub", &["x", &mean])
            },
            "ReduceMean node \"ReduceMean_v1\" joins the elements of several rows",
        ),
        (
            "a softmax over rows",
            |g| g.op_with("Softmax", &["x"], ("axis", 0)),
            "Softmax node \"Softmax_v1\" works along the axis of the rows",
        ),
        (
            "a range of all rows",
            |g| {
                let name = g.op("DynamicQuantizeLinear", &["x"]);
                g.op_with("Cast", &[&name], ("to", DType::F32))
            },
            "DynamicQuantizeLinear node \"DynamicQuantizeLinear_v1\" takes one scale for all rows",
        ),
        (
            "attention over the tokens of all rows",
            |g| {
                let flat = g.reshape("x", &[4, 6]);
                let turned = g.op("Transpose", &[&flat]);
                let scores = g.op("MatMul", &[&flat, &turned]);
                let axes = g.ints(&[0]);
                g.op("Unsqueeze", &[&scores, &axes])
            },
            "MatMul node \"MatMul_v4\" joins the elements of several rows",
        ),
        (
            "a row that is added to",
            |g| {
                let more = g.weight(&[1, 4, 6]);
                g.op_with("Concat", &["x", &more], ("axis", 0))
            },
            "Concat node \"Concat_v2\" joins rows with something along their axis",
        ),
        (
            "positions of what was merged",
            |g| {
                let flat = g.reshape("x", &[4, 6]);
                let last = g.constant(Tensor::scalar(-1i64).unwrap());
                let one = g.op_with("Gather", &[&flat, &last], ("axis", 0));
                let axes = g.ints(&[0]);
                g.op("Unsqueeze", &[&one, &axes])
            },
            "Gather node \"Gather_v4\" chooses some of the rows",
        ),
        (
            "something for each of what was merged",
            |g| {
                let flat = g.reshape("x", &[4, 6]);
                let each = g.weight(&[4, 1]);
                g.op("Add", &[&flat, &each])
            },
            "Add node \"Add_v4\" spreads rows over an axis that is as long as an operand",
        ),
        (
            "an operator that nothing is known of",
            |g| {
                let where_ = g.op("NonZero", &["x"]);
                g.op_with("Cast", &[&where_], ("to", DType::F32))
            },
            "NonZero node \"NonZero_v1\" is not known to compute each row for itself",
        ),
        (
            "an output without rows",
            |g| g.reshape("x", &[4, 6]),
            "output \"v2\" has the elements of all rows along one axis",
        ),
    ];
    for (label, build, expected) in cases {
        assert_eq!(refusal(build), expected, "{label}");
    }
}
