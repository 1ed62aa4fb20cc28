//! A small decoder in the manner of GPT-2 with a cache of keys and values, of fixed random weights.

use stead_onnx::{Dim, ModelBuilder, ValueType};
use stead_tensor::{DType, Tensor};

/// Numbers without a pattern, the same in each run.
fn noise(seed: usize, dims: &[usize], scale: f32) -> Tensor {
    let count: usize = dims.iter().product();
    let value = |i: usize| {
        let hash = (i as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ (seed as u64) << 32;
        let hash = (hash ^ (hash >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        ((hash >> 40) as f32 / (1u64 << 23) as f32 - 1.0) * scale
    };
    Tensor::from_slice(&(0..count).map(value).collect::<Vec<_>>(), dims).unwrap()
}

/// Sizes of a decoder.
#[derive(Clone, Copy)]
pub struct Sizes {
    pub layers: usize,
    pub heads: usize,
    /// Elements of a head.
    pub head: usize,
    pub vocabulary: usize,
    /// The most positions.
    pub positions: usize,
}

/// `ids` [batch,time] gives `logits` [batch,time,vocabulary]; `past.<i>.key` and `.value` [batch,heads,past,head]
/// become `present.<i>.key` and `.value` with the new positions behind them.
pub fn decoder(sizes: Sizes) -> Vec<u8> {
    let Sizes { layers, heads, head, vocabulary, positions } = sizes;
    let width = heads * head;
    let ints = |v: &[i64]| Tensor::from_slice(v, &[v.len()]).unwrap();
    let scalar = |v: i64| Tensor::scalar(v).unwrap();
    let symbol = |s: &str| Dim::Symbol(s.to_owned());
    let cache = |along: &str| {
        let dims = vec![symbol("batch"), Dim::Known(heads), symbol(along), Dim::Known(head)];
        ValueType::tensor(DType::F32, Some(dims))
    };
    let mut m = ModelBuilder::new(17).input("ids", DType::I64, &["batch", "time"]);
    for layer in 0..layers {
        for part in ["key", "value"] {
            m = m.input_of(&format!("past.{layer}.{part}"), cache("past"));
        }
    }
    // Positions: those of the keys are 0 .. past + time, those of the queries the last of them.
    m = m
        .init("table", noise(1, &[vocabulary, width], 0.5))
        .init("places", noise(2, &[positions, width], 0.5))
        .init("zero", scalar(0))
        .init("one", scalar(1))
        .init("two", scalar(2))
        .init("last", ints(&[-1]))
        .init("never", Tensor::scalar(-1e9f32).unwrap())
        .init("scale", Tensor::scalar(1.0 / (head as f32).sqrt()).unwrap())
        .init("split", ints(&[0, 0, heads as i64, head as i64]))
        .init("merge", ints(&[0, 0, width as i64]))
        .node("Shape", &["ids"], &["ids_dims"])
        .node("Gather", &["ids_dims", "one"], &["time"])
        .node("Shape", &["past.0.key"], &["past_dims"])
        .node("Gather", &["past_dims", "two"], &["past"])
        .node("Add", &["past", "time"], &["total"])
        .node("Range", &["zero", "total", "one"], &["key_places"])
        .node("Range", &["past", "total", "one"], &["query_places"])
        .node("Unsqueeze", &["query_places", "last"], &["query_column"])
        .node("LessOrEqual", &["key_places", "query_column"], &["seen"])
        .node("Gather", &["table", "ids"], &["words"])
        .node("Gather", &["places", "query_places"], &["order"])
        .node("Add", &["words", "order"], &["x0"]);
    for layer in 0..layers {
        let n = |name: &str| format!("{name}{layer}");
        let x = n("x");
        for (i, (part, perm)) in
            [("q", [0i64, 2, 1, 3]), ("key", [0, 2, 1, 3]), ("value", [0, 2, 1, 3])]
                .iter()
                .enumerate()
        {
            let weight = n(&format!("w_{part}"));
            m = m
                .init(&weight, noise(10 + 8 * layer + i, &[width, width], 0.3))
                .node("MatMul", &[&x, &weight], &[&n(&format!("flat_{part}"))])
                .node(
                    "Reshape",
                    &[&n(&format!("flat_{part}")), "split"],
                    &[&n(&format!("four_{part}"))],
                )
                .node("Transpose", &[&n(&format!("four_{part}"))], &[&n(&format!("new_{part}"))])
                .attr("perm", perm.to_vec());
        }
        for part in ["key", "value"] {
            let (past, present) =
                (format!("past.{layer}.{part}"), format!("present.{layer}.{part}"));
            m = m.node("Concat", &[&past, &n(&format!("new_{part}"))], &[&present]).attr("axis", 2);
        }
        let (key, value) = (format!("present.{layer}.key"), format!("present.{layer}.value"));
        m = m
            .node("Transpose", &[&key], &[&n("turned")])
            .attr("perm", vec![0i64, 1, 3, 2])
            .node("MatMul", &[&n("new_q"), &n("turned")], &[&n("raw")])
            .node("Mul", &[&n("raw"), "scale"], &[&n("scaled")])
            .node("Where", &["seen", &n("scaled"), "never"], &[&n("masked")])
            .node("Softmax", &[&n("masked")], &[&n("weights")])
            .attr("axis", -1)
            .node("MatMul", &[&n("weights"), &value], &[&n("heads")])
            .node("Transpose", &[&n("heads")], &[&n("joined")])
            .attr("perm", vec![0i64, 2, 1, 3])
            .node("Reshape", &[&n("joined"), "merge"], &[&n("attended")])
            .init(&n("w_out"), noise(13 + 8 * layer, &[width, width], 0.3))
            .node("MatMul", &[&n("attended"), &n("w_out")], &[&n("out")])
            .node("Add", &[&x, &n("out")], &[&n("sum")])
            .init(&n("w_up"), noise(14 + 8 * layer, &[width, 4 * width], 0.3))
            .init(&n("w_down"), noise(15 + 8 * layer, &[4 * width, width], 0.1))
            .node("MatMul", &[&n("sum"), &n("w_up")], &[&n("up")])
            .node("Tanh", &[&n("up")], &[&n("bent")])
            .node("MatMul", &[&n("bent"), &n("w_down")], &[&n("down")])
            .node("Add", &[&n("sum"), &n("down")], &[&format!("x{}", layer + 1)]);
    }
    let logits = vec![symbol("batch"), symbol("time"), Dim::Known(vocabulary)];
    m = m
        .init("head", noise(3, &[width, vocabulary], 0.5))
        .node("MatMul", &[&format!("x{layers}"), "head"], &["logits"])
        .output_of("logits", ValueType::tensor(DType::F32, Some(logits)));
    for layer in 0..layers {
        for part in ["key", "value"] {
            m = m.output_of(&format!("present.{layer}.{part}"), cache("total"));
        }
    }
    m.bytes()
}
