//! Networks as exporters write them that were given one row.

use super::graph::{Graph, Name};
use stead_tensor::{DType, Tensor};

/// A network with the names, element types and shapes of its inputs for one row.
pub struct Network {
    pub bytes: Vec<u8>,
    pub inputs: Vec<(&'static str, DType, Vec<usize>)>,
}

/// One block of BERT over tokens and their mask, in one of the many ways in which shapes can be written.
pub fn bert(seed: u64) -> Network {
    let mut g = Graph::new(seed);
    let (heads, width) = (g.random.below(3) + 1, g.random.below(3) + 2);
    let (hidden, mut length) = (heads * width, g.random.below(5) + 2);
    let tokens = length;
    let is_open = g.random.one_in(3);
    let dim = if is_open { "tokens".to_owned() } else { length.to_string() };
    let ids = g.input("ids", DType::I64, &["1", &dim]);
    let mask = g.input("mask", DType::I64, &["1", &dim]);
    let table = g.weight(&[30, hidden]);
    let mut x = g.op("Gather", &[&table, &ids]);
    if !is_open {
        let positions = g.weight(&[1, length, hidden]);
        x = g.op("Add", &[&x, &positions]);
    }
    let mut mask_now = g.op_with("Cast", &[&mask], ("to", DType::F32));
    if g.random.one_in(2) {
        // A token of its own before the others.
        let (first, one) =
            (g.weight(&[1, 1, hidden]), Tensor::from_slice(&[1f32], &[1, 1]).unwrap());
        let one = g.constant(one);
        x = g.op_with("Concat", &[&first, &x], ("axis", 1));
        mask_now = g.op_with("Concat", &[&one, &mask_now], ("axis", 1));
        length += 1;
    }
    let sizes = Sizes { heads, width, length, is_open };
    let scores_mask = attention_mask(&mut g, &mask_now, &sizes);
    let attended = attention(&mut g, &x, &scores_mask, &sizes);
    let sum = g.op("Add", &[&x, &attended]);
    let x = layer_norm(&mut g, &sum, hidden);
    let inner = g.random.below(6) + 2;
    let up = g.linear(&x, hidden, inner);
    let up = gelu(&mut g, &up);
    let down = g.linear(&up, inner, hidden);
    let x = g.op("Add", &[&x, &down]);
    let pooled = pool(&mut g, &x, &sizes);
    let out = g.gemm(&pooled, hidden, 2);
    let out = g.op("Tanh", &[&out]);
    let one = |name| (name, DType::I64, vec![1, tokens]);
    Network { bytes: g.bytes(&out), inputs: vec![one("ids"), one("mask")] }
}

struct Sizes {
    heads: usize,
    width: usize,
    length: usize,
    is_open: bool,
}

impl Sizes {
    fn length(&self) -> i64 {
        if self.is_open { -1 } else { self.length as i64 }
    }
}

fn attention_mask(g: &mut Graph, mask: &str, sizes: &Sizes) -> Name {
    let wide = match g.random.below(3) {
        0 => {
            let axes = g.ints(&[1, 2]);
            g.op("Unsqueeze", &[mask, &axes])
        }
        1 => g.reshape(mask, &[1, 1, 1, sizes.length()]),
        _ => {
            let axes = g.ints(&[1]);
            let once = g.op("Unsqueeze", &[mask, &axes]);
            g.op("Unsqueeze", &[&once, &axes])
        }
    };
    let wide = if g.random.one_in(3) {
        let dims = g.ints(&[1, 1, if sizes.is_open { 1 } else { sizes.length as i64 }, 1]);
        g.op("Expand", &[&wide, &dims])
    } else {
        wide
    };
    let (one, large) = (g.number(1.0), g.number(-1e4));
    let open = g.op("Sub", &[&one, &wide]);
    g.op("Mul", &[&open, &large])
}

fn attention(g: &mut Graph, x: &str, mask: &str, sizes: &Sizes) -> Name {
    let (heads, width) = (sizes.heads as i64, sizes.width as i64);
    let hidden = sizes.heads * sizes.width;
    let how = g.random.below(4);
    let split = |g: &mut Graph, perm: [i64; 4]| {
        let projected = match how {
            // The rows of all tokens as one matrix.
            0 => {
                let flat = g.reshape(x, &[sizes.length(), hidden as i64]);
                g.gemm(&flat, hidden, hidden)
            }
            1 => {
                let axes = g.ints(&[0]);
                let flat = g.op("Squeeze", &[x, &axes]);
                let product = g.linear(&flat, hidden, hidden);
                g.op("Unsqueeze", &[&product, &axes])
            }
            _ => g.linear(x, hidden, hidden),
        };
        let dims = if how == 3 {
            // The length is that of the value, and the batch is not.
            let shape = g.op("Shape", &[&projected]);
            let (one, heads, width) = (g.ints(&[1]), g.ints(&[heads]), g.ints(&[width]));
            let length = g.op_with("Gather", &[&shape, &one], ("axis", 0));
            g.op_with("Concat", &[&one, &length, &heads, &width], ("axis", 0))
        } else {
            g.ints(&[1, sizes.length(), heads, width])
        };
        let apart = g.op("Reshape", &[&projected, &dims]);
        g.op_with("Transpose", &[&apart], ("perm", perm))
    };
    let q = split(g, [0, 2, 1, 3]);
    let k = split(g, [0, 2, 3, 1]);
    let v = split(g, [0, 2, 1, 3]);
    let scores = g.op("MatMul", &[&q, &k]);
    let root = g.number((width as f32).sqrt());
    let scores = g.op("Div", &[&scores, &root]);
    let scores = g.op("Add", &[&scores, mask]);
    let weights = g.op_with("Softmax", &[&scores], ("axis", -1));
    let seen = g.op("MatMul", &[&weights, &v]);
    let seen = g.op_with("Transpose", &[&seen], ("perm", [0, 2, 1, 3]));
    let joined = g.reshape(&seen, &[1, sizes.length(), hidden as i64]);
    g.linear(&joined, hidden, hidden)
}

fn layer_norm(g: &mut Graph, x: &str, hidden: usize) -> Name {
    let (scale, bias) = (g.weight(&[hidden]), g.weight(&[hidden]));
    if g.random.one_in(2) {
        return g.op("LayerNormalization", &[x, &scale, &bias]);
    }
    let mean = g.op_with("ReduceMean", &[x], ("axes", [-1]));
    let apart = g.op("Sub", &[x, &mean]);
    let two = g.number(2.0);
    let square = g.op("Pow", &[&apart, &two]);
    let variance = g.op_with("ReduceMean", &[&square], ("axes", [-1]));
    let epsilon = g.number(1e-5);
    let variance = g.op("Add", &[&variance, &epsilon]);
    let deviation = g.op("Sqrt", &[&variance]);
    let normal = g.op("Div", &[&apart, &deviation]);
    let scaled = g.op("Mul", &[&normal, &scale]);
    g.op("Add", &[&scaled, &bias])
}

fn gelu(g: &mut Graph, x: &str) -> Name {
    let (root, one, half) = (g.number(2f32.sqrt()), g.number(1.0), g.number(0.5));
    let part = g.op("Div", &[x, &root]);
    let erf = g.op("Erf", &[&part]);
    let gate = g.op("Add", &[&erf, &one]);
    let product = g.op("Mul", &[x, &gate]);
    g.op("Mul", &[&product, &half])
}

/// One vector of those of all tokens, as a row.
fn pool(g: &mut Graph, x: &str, sizes: &Sizes) -> Name {
    let hidden = (sizes.heads * sizes.width) as i64;
    match g.random.below(4) {
        0 => {
            let zero = g.constant(Tensor::scalar(0i64).unwrap());
            g.op_with("Gather", &[x, &zero], ("axis", 1))
        }
        1 => {
            let name = g.op_with("ReduceMean", &[x], ("axes", [1]));
            g.reshape(&name, &[1, hidden])
        }
        2 => {
            let (from, to) = (g.ints(&[0, 0]), g.ints(&[1, 1]));
            let first = g.op("Slice", &[x, &from, &to]);
            g.reshape(&first, &[-1, hidden])
        }
        _ => {
            // The row first, then its first token.
            let zero = g.constant(Tensor::scalar(0i64).unwrap());
            let sum = g.op_with("ReduceMax", &[x], ("axes", [1]));
            let row = g.op_with("Gather", &[&sum, &zero], ("axis", 0));
            let axes = g.ints(&[0]);
            let back = g.op("Unsqueeze", &[&row, &axes]);
            g.reshape(&back, &[1, hidden])
        }
    }
}

/// Dense layers over two inputs.
pub fn dense(seed: u64) -> Network {
    let mut g = Graph::new(seed);
    let sizes = [g.random.below(7) + 1, g.random.below(7) + 1];
    let text = sizes.map(|size| size.to_string());
    let a = g.input("a", DType::F32, &["1", &text[0]]);
    let b = g.input("b", DType::F32, &["1", &text[1]]);
    let mut x = g.op_with("Concat", &[&a, &b], ("axis", -1));
    let mut width = sizes[0] + sizes[1];
    for _ in 0..g.random.below(3) + 1 {
        let next = 2 * (g.random.below(6) + 1);
        x = match g.random.below(5) {
            0 => {
                let x = g.reshape(&x, &[1, width as i64]);
                g.gemm(&x, width, next)
            }
            1 => {
                let x = g.op_with("Flatten", &[&x], ("axis", 1));
                let x = g.linear(&x, width, next);
                let x = g.reshape(&x, &[1, 2, next as i64 / 2]);
                let x = g.op_with("Transpose", &[&x], ("perm", [0, 2, 1]));
                g.reshape(&x, &[1, -1])
            }
            2 => {
                // A scale of its own for what is one row.
                let scale = g.weight(&[1, width]);
                let dims = g.ints(&[1, 1]);
                let scale = g.op("Tile", &[&scale, &dims]);
                let x = g.op("Mul", &[&x, &scale]);
                g.linear(&x, width, next)
            }
            3 => {
                let flat = g.reshape(&x, &[width as i64]);
                let half = g.number(0.5);
                let flat = g.op("Mul", &[&flat, &half]);
                let x = g.reshape(&flat, &[1, width as i64]);
                g.linear(&x, width, next)
            }
            _ => g.linear(&x, width, next),
        };
        x = g.op("Relu", &[&x]);
        width = next;
    }
    let x = g.linear(&x, width, 1);
    let x = g.reshape(&x, &[1, 1]);
    let one = |name, size| (name, DType::F32, vec![1, size]);
    Network { bytes: g.bytes(&x), inputs: vec![one("a", sizes[0]), one("b", sizes[1])] }
}

/// Convolutions, normalised by constants.
pub fn images(seed: u64) -> Network {
    let mut g = Graph::new(seed);
    let (channels, size) = (g.random.below(3) + 1, 2 * (g.random.below(3) + 2));
    let text = [channels, size].map(|n| n.to_string());
    let mut x = g.input("x", DType::F32, &["1", &text[0], &text[1], &text[1]]);
    let mut from = channels;
    for _ in 0..g.random.below(2) + 1 {
        let to = g.random.below(4) + 1;
        let (w, b) = (g.weight(&[to, from, 3, 3]), g.weight(&[to]));
        x = g.op_with("Conv", &[&x, &w, &b], ("pads", [1, 1, 1, 1]));
        let ones = g.constant(Tensor::from_slice(&vec![1.5f32; to], &[to]).unwrap());
        let (scale, bias, mean) = (g.weight(&[to]), g.weight(&[to]), g.weight(&[to]));
        x = g.op("BatchNormalization", &[&x, &scale, &bias, &mean, &ones]);
        x = g.op("Relu", &[&x]);
        from = to;
    }
    let end = if g.random.one_in(2) {
        let x = g.op("GlobalAveragePool", &[&x]);
        let axes = g.ints(&[2, 3]);
        let x = g.op("Squeeze", &[&x, &axes]);
        g.reshape(&x, &[1, from as i64])
    } else {
        let size = size as i64;
        let (roi, scales) = (String::new(), String::new());
        let sizes = g.ints(&[1, from as i64, size / 2, size / 2]);
        let x = g.op("Resize", &[&x, &roi, &scales, &sizes]);
        from *= (size * size / 4) as usize;
        g.reshape(&x, &[1, from as i64])
    };
    let out = g.gemm(&end, from, 3);
    let out = g.op_with("Softmax", &[&out], ("axis", 1));
    Network { bytes: g.bytes(&out), inputs: vec![("x", DType::F32, vec![1, channels, size, size])] }
}

/// A recurrent layer over steps, whose state is a constant of one row.
pub fn recurrent(seed: u64) -> Network {
    let mut g = Graph::new(seed);
    let [steps, width, hidden] = [4, 3, 5].map(|n| g.random.below(n) + 1);
    let x = g.input("x", DType::F32, &["1", &steps.to_string(), &width.to_string()]);
    let x = g.op_with("Transpose", &[&x], ("perm", [1, 0, 2]));
    let (w, r) = (g.weight(&[1, 3 * hidden, width]), g.weight(&[1, 3 * hidden, hidden]));
    let (b, h) = (g.weight(&[1, 6 * hidden]), g.weight(&[1, 1, hidden]));
    let all = g.op_with("GRU", &[&x, &w, &r, &b, "", &h], ("hidden_size", hidden as i64));
    let last = g.constant(Tensor::scalar(-1i64).unwrap());
    let one = g.op_with("Gather", &[&all, &last], ("axis", 0));
    let axes = g.ints(&[0]);
    let row = g.op("Squeeze", &[&one, &axes]);
    let row = g.reshape(&row, &[1, hidden as i64]);
    let out = g.linear(&row, hidden, 2);
    Network { bytes: g.bytes(&out), inputs: vec![("x", DType::F32, vec![1, steps, width])] }
}
