//! Recurrences as exporters write them out, in as many ways as people write them by hand.

use stead_onnx::ModelBuilder;
use stead_tensor::{DType, Tensor};

/// The cell and how its new state is written.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Style {
    /// Tanh, Relu or Sigmoid of a sum.
    Rnn(&'static str),
    /// The reset gate before the product; which of [`BLENDS`].
    Gru(usize),
    /// The reset gate behind the product.
    GruAfter(usize),
    Lstm,
}

/// The ways to write the mean of `h` and `c`.
pub const BLENDS: usize = 5;

/// How what comes into a step is taken from the sequence.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Take {
    /// Gather by one index of this axis.
    Gather(i64),
    /// Slice and Squeeze on this axis.
    Slice(i64),
    /// Split and Squeeze on this axis.
    Split(i64),
    /// An input for each step.
    Inputs,
}

/// The state before the first step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Initial {
    Zeros,
    /// An input `h0`, and `c0` for an LSTM.
    Given,
    /// Zeros repeated for the rows of the input.
    Expanded,
    /// A constant that is not zero.
    Learned,
}

/// What is read of the states.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Read {
    /// All side by side, along this axis.
    Stack(i64),
    /// The last one.
    Last,
    /// Every one is an output of its own, the cell state of the last step too.
    Each,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Written {
    pub style: Style,
    pub take: Take,
    pub initial: Initial,
    pub read: Read,
    /// Gemm with transposed weights rather than MatMul.
    pub gemm: bool,
    /// One product for all gates, split behind it.
    pub split: bool,
    /// Input and state joined before the product.
    pub joined: bool,
    /// From the last step to the first.
    pub backwards: bool,
    pub steps: usize,
    pub input: usize,
    pub hidden: usize,
    pub seed: u64,
    /// The function of a GRU's candidate.
    pub candidate: &'static str,
}

/// Numbers between -1 and 1.
pub fn numbers(seed: u64, count: usize) -> Vec<f32> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 40) as f32 / (1u64 << 23) as f32 - 1.0
    };
    (0..count).map(|_| next()).collect()
}

fn tensor(seed: u64, dims: &[usize]) -> Tensor {
    let scale = 1.0 / (dims.iter().copied().max().unwrap_or(1) as f32).sqrt();
    let values: Vec<f32> =
        numbers(seed, dims.iter().product()).iter().map(|v| v * 2.0 * scale).collect();
    Tensor::from_slice(&values, dims).unwrap()
}

fn ints(values: &[i64]) -> Tensor {
    Tensor::from_slice(values, &[values.len()]).unwrap()
}

/// A model that is being written.
pub struct Writer {
    pub b: ModelBuilder,
    w: Written,
    /// What all names begin with.
    prefix: &'static str,
    /// Changes the weights of one step.
    pub odd_weight: Option<usize>,
    /// Changes the bias of one step.
    pub odd_bias: Option<usize>,
}

impl Writer {
    pub fn new(w: Written) -> Writer {
        let one = Tensor::scalar(1.0f32).unwrap();
        let b = ModelBuilder::new(18).init("one", one);
        Writer { b, w, prefix: "", odd_weight: None, odd_bias: None }
    }

    /// Writes another recurrence into a model.
    pub fn beside(b: ModelBuilder, w: Written, prefix: &'static str) -> Writer {
        let writer = Writer::new(w);
        let mut writer = Writer { b, prefix, ..writer };
        writer.init("one", Tensor::scalar(1.0f32).unwrap());
        writer
    }

    fn own(&self, name: &str) -> String {
        format!("{}{name}", self.prefix)
    }

    fn change(&mut self, f: impl FnOnce(ModelBuilder) -> ModelBuilder) {
        let b = std::mem::replace(&mut self.b, ModelBuilder::new(18));
        self.b = f(b);
    }

    fn nodes(&mut self, op: &str, inputs: &[&str], outputs: &[&str]) {
        let own = |names: &[&str]| names.iter().map(|n| self.own(n)).collect::<Vec<_>>();
        let (inputs, outputs) = (own(inputs), own(outputs));
        self.change(|b| {
            let inputs: Vec<&str> = inputs.iter().map(String::as_str).collect();
            let outputs: Vec<&str> = outputs.iter().map(String::as_str).collect();
            b.node(op, &inputs, &outputs)
        });
    }

    fn node(&mut self, op: &str, inputs: &[&str], output: &str) {
        self.nodes(op, inputs, &[output]);
    }

    fn attr(&mut self, name: &str, value: i64) {
        self.change(|b| b.attr(name, value));
    }

    fn init(&mut self, name: &str, tensor: Tensor) {
        let name = self.own(name);
        self.change(|b| b.init(&name, tensor));
    }

    fn input(&mut self, name: &str, dims: &[&str]) {
        let name = self.own(name);
        self.change(|b| b.input(&name, DType::F32, dims));
    }

    fn output(&mut self, name: &str) {
        let name = self.own(name);
        self.change(|b| b.output(&name, DType::F32));
    }

    /// Gates with their names; those of one product stand behind each other.
    fn gates(&self) -> &'static [&'static str] {
        match self.w.style {
            Style::Rnn(_) => &["g"],
            Style::Gru(_) | Style::GruAfter(_) => &["r", "z", "n"],
            Style::Lstm => &["i", "f", "g", "o"],
        }
    }

    /// Weights and biases of what comes in, of the state, and of both joined.
    pub fn weights(&mut self) {
        let Written { gemm, split, joined, input, hidden, seed, .. } = self.w;
        let gates = self.gates();
        let sets: Vec<String> = match split {
            true => vec!["all".to_owned()],
            false => gates.iter().map(|&g| g.to_owned()).collect(),
        };
        let n = if split { gates.len() * hidden } else { hidden };
        for (at, set) in sets.iter().enumerate() {
            let seed = seed * 31 + at as u64;
            for (part, k) in [("x", input), ("h", hidden), ("xh", input + hidden)] {
                if joined != (part == "xh") {
                    continue;
                }
                let dims = if gemm { [n, k] } else { [k, n] };
                let salt = seed + 1000 * part.len() as u64 + u64::from(part == "h");
                self.init(&format!("w_{part}_{set}"), tensor(salt, &dims));
                self.init(&format!("b_{part}_{set}"), tensor(salt + 7, &[n]));
                if let Some(step) = self.odd_weight {
                    self.init(&format!("w_{part}_{set}_{step}"), tensor(salt + 50, &dims));
                }
                if let Some(step) = self.odd_bias {
                    self.init(&format!("b_{part}_{set}_{step}"), tensor(salt + 60, &[n]));
                }
            }
        }
        let sizes: Vec<i64> = gates.iter().map(|_| hidden as i64).collect();
        self.init("sizes", ints(&sizes));
    }

    /// The product of a value by the weights of a set, with its bias.
    fn linear(&mut self, t: usize, part: &str, set: &str, from: &str) -> String {
        let name = format!("{part}_{set}_{t}");
        let odd = |odd: Option<usize>| if odd == Some(t) { format!("_{t}") } else { String::new() };
        let weight = format!("w_{part}_{set}{}", odd(self.odd_weight));
        let bias = format!("b_{part}_{set}{}", odd(self.odd_bias));
        if self.w.gemm {
            self.node("Gemm", &[from, &weight, &bias], &name);
            self.attr("transB", 1);
        } else {
            let product = format!("{name}_p");
            self.node("MatMul", &[from, &weight], &product);
            self.node("Add", &[&product, &bias], &name);
        }
        name
    }

    /// The sums of all gates of one part.
    fn sums(&mut self, t: usize, part: &str, from: &str) -> Vec<String> {
        let gates = self.gates();
        if !self.w.split {
            return gates.iter().map(|gate| self.linear(t, part, gate, from)).collect();
        }
        let all = self.linear(t, part, "all", from);
        let parts: Vec<String> = gates.iter().map(|gate| format!("{all}_{gate}")).collect();
        let names: Vec<&str> = parts.iter().map(String::as_str).collect();
        self.nodes("Split", &[&all, "sizes"], &names);
        self.attr("axis", -1);
        parts
    }

    fn binary(&mut self, op: &str, a: &str, b: &str, name: String) -> String {
        self.node(op, &[a, b], &name);
        name
    }

    fn unary(&mut self, op: &str, a: &str, name: String) -> String {
        self.node(op, &[a], &name);
        name
    }

    /// One step: the new state, and the new cell state of an LSTM.
    pub fn step(&mut self, t: usize, x: &str, h: &str, c: &str) -> (String, String) {
        let n = |name: &str| format!("{name}_{t}");
        let is_gru = matches!(self.w.style, Style::Gru(_));
        let sums: Vec<String> = if self.w.joined && !is_gru {
            let both = n("both");
            self.node("Concat", &[x, h], &both);
            self.attr("axis", 1);
            self.sums(t, "xh", &both)
        } else {
            match self.w.style {
                // The state's part of the candidate comes later.
                Style::Gru(_) | Style::GruAfter(_) => Vec::new(),
                _ => {
                    let (a, b) = (self.sums(t, "x", x), self.sums(t, "h", h));
                    let pairs = a.iter().zip(&b).enumerate();
                    pairs.map(|(i, (a, b))| self.binary("Add", a, b, format!("s{i}_{t}"))).collect()
                }
            }
        };
        match self.w.style {
            Style::Rnn(f) => (self.unary(f, &sums[0], n("h")), String::new()),
            Style::Lstm => {
                let i = self.unary("Sigmoid", &sums[0], n("i"));
                let f = self.unary("Sigmoid", &sums[1], n("f"));
                let g = self.unary("Tanh", &sums[2], n("g"));
                let o = self.unary("Sigmoid", &sums[3], n("o"));
                let kept = self.binary("Mul", &f, c, n("kept"));
                let added = self.binary("Mul", &i, &g, n("added"));
                let c = self.binary("Add", &kept, &added, n("c"));
                let squashed = self.unary("Tanh", &c, n("squashed"));
                (self.binary("Mul", &o, &squashed, n("h")), c)
            }
            Style::Gru(blend) if self.w.joined => {
                let join = |writer: &mut Writer, h: &str, name: String| {
                    writer.node("Concat", &[h, x], &name);
                    writer.attr("axis", -1);
                    name
                };
                let both = join(self, h, n("both"));
                let [r, z] = ["r", "z"].map(|name| {
                    let sum = self.linear(t, "xh", name, &both);
                    self.unary("Sigmoid", &sum, n(name))
                });
                let reset = self.binary("Mul", h, &r, n("reset"));
                let both = join(self, &reset, n("both reset"));
                let sum = self.linear(t, "xh", "n", &both);
                let c = self.unary(self.w.candidate, &sum, n("cand"));
                (self.blend(t, blend, &z, &c, h), String::new())
            }
            Style::Gru(blend) => {
                let xs = self.sums(t, "x", x);
                let gate = |writer: &mut Writer, at: usize, name: &str| {
                    let own = writer.linear(t, "h", name, h);
                    let sum = writer.binary("Add", &xs[at], &own, format!("s{name}_{t}"));
                    writer.unary("Sigmoid", &sum, n(name))
                };
                let (r, z) = (gate(self, 0, "r"), gate(self, 1, "z"));
                let reset = self.binary("Mul", &r, h, n("reset"));
                let own = self.linear(t, "h", "n", &reset);
                let sum = self.binary("Add", &xs[2], &own, n("sn"));
                let c = self.unary(self.w.candidate, &sum, n("cand"));
                (self.blend(t, blend, &z, &c, h), String::new())
            }
            Style::GruAfter(blend) => {
                let (xs, hs) = (self.sums(t, "x", x), self.sums(t, "h", h));
                let sr = self.binary("Add", &xs[0], &hs[0], n("sr"));
                let sz = self.binary("Add", &hs[1], &xs[1], n("sz"));
                let (r, z) =
                    (self.unary("Sigmoid", &sr, n("r")), self.unary("Sigmoid", &sz, n("z")));
                let own = self.binary("Mul", &r, &hs[2], n("own"));
                let sum = self.binary("Add", &xs[2], &own, n("sn"));
                let c = self.unary(self.w.candidate, &sum, n("cand"));
                (self.blend(t, blend, &z, &c, h), String::new())
            }
        }
    }

    fn blend(&mut self, t: usize, how: usize, z: &str, c: &str, h: &str) -> String {
        let n = |name: &str| format!("{name}_{t}");
        let rest = |w: &mut Writer| w.binary("Sub", "one", z, n("rest"));
        let (a, b) = match how {
            // (1 - z) h + z c, (1 - z) c + z h
            0 | 1 => {
                let rest = rest(self);
                let (old, new) = if how == 0 { (h, c) } else { (c, h) };
                (self.binary("Mul", &rest, old, n("a")), self.binary("Mul", z, new, n("b")))
            }
            // c + z (h - c), h + z (c - h)
            2 | 3 => {
                let (from, to) = if how == 2 { (c, h) } else { (h, c) };
                let way = self.binary("Sub", to, from, n("way"));
                (from.to_owned(), self.binary("Mul", z, &way, n("b")))
            }
            // h - (h - c) z
            _ => {
                let way = self.binary("Sub", h, c, n("way"));
                let part = self.binary("Mul", &way, z, n("b"));
                return self.binary("Sub", h, &part, n("h"));
            }
        };
        self.binary("Add", &a, &b, n("h"))
    }

    /// What comes into each step.
    fn take(&mut self) -> Vec<String> {
        let Written { take, steps, input, .. } = self.w;
        let name = |t: usize| format!("x_{t}");
        let (t, k) = (steps.to_string(), input.to_string());
        let (Take::Gather(axis) | Take::Slice(axis) | Take::Split(axis)) = take else {
            (0..steps).for_each(|t| self.input(&name(t), &["b", &k]));
            return (0..steps).map(name).collect();
        };
        let time_first = axis == 0 || axis == -3;
        self.input("x", &if time_first { [&*t, "b", &*k] } else { ["b", &*t, &*k] });
        self.rows()
    }

    /// The rows of the sequence `x`.
    fn rows(&mut self) -> Vec<String> {
        let Written { take, steps, .. } = self.w;
        let name = |t: usize| format!("x_{t}");
        let (Take::Gather(axis) | Take::Slice(axis) | Take::Split(axis)) = take else {
            return Vec::new();
        };
        self.init("axis", ints(&[axis]));
        if let Take::Split(axis) = take {
            self.init("ones", ints(&vec![1; steps]));
            let parts: Vec<String> = (0..steps).map(|t| format!("part_{t}")).collect();
            let names: Vec<&str> = parts.iter().map(String::as_str).collect();
            self.nodes("Split", &["x", "ones"], &names);
            self.attr("axis", axis);
        }
        for t in 0..steps {
            let (part, index, end) = (format!("part_{t}"), format!("i{t}"), format!("e{t}"));
            match take {
                Take::Gather(axis) => {
                    self.init(&index, Tensor::scalar(t as i64).unwrap());
                    self.node("Gather", &["x", &index], &name(t));
                    self.attr("axis", axis);
                    continue;
                }
                Take::Slice(_) => {
                    self.init(&index, ints(&[t as i64]));
                    self.init(&end, ints(&[t as i64 + 1]));
                    self.node("Slice", &["x", &index, &end, "axis"], &part);
                }
                _ => {}
            }
            self.node("Squeeze", &[&part, "axis"], &name(t));
        }
        (0..steps).map(name).collect()
    }

    fn initial(&mut self) -> (String, String) {
        let Written { initial, hidden, style, .. } = self.w;
        let (h, c) = ("h0".to_owned(), "c0".to_owned());
        let names: &[&str] = if style == Style::Lstm { &["h0", "c0"] } else { &["h0"] };
        for (at, name) in names.iter().enumerate() {
            let at = at as u64;
            match initial {
                Initial::Given => self.input(name, &["b", &hidden.to_string()]),
                Initial::Zeros => self
                    .init(name, Tensor::from_slice(&vec![0.0f32; hidden], &[1, hidden]).unwrap()),
                Initial::Learned => self.init(name, tensor(self.w.seed + 99 + at, &[1, hidden])),
                Initial::Expanded => {
                    let (shape, rows) = (format!("{name}_shape"), format!("{name}_rows"));
                    self.init(&format!("{name}_zero"), Tensor::scalar(0.0f32).unwrap());
                    self.init(&format!("{name}_width"), ints(&[hidden as i64]));
                    self.node("Shape", &["x_0"], &rows);
                    self.attr("end", 1);
                    self.node("Concat", &[&rows, &format!("{name}_width")], &shape);
                    self.attr("axis", 0);
                    self.node("Expand", &[&format!("{name}_zero"), &shape], name);
                }
            }
        }
        (h, c)
    }

    /// An encoder's pooling over time as in the satellite model: the states of all steps normalised, one number made of
    /// each, and the sequence summed by their softmax. The sequence is the sum of an input and its normal, as behind a
    /// transformer's layer.
    pub fn pooling(mut self) -> ModelBuilder {
        let Written { steps, input, hidden, .. } = self.w;
        self.input("raw", &["b", &steps.to_string(), &input.to_string()]);
        self.init("scale_x", tensor(5, &[input]));
        self.init("scale_h", tensor(6, &[hidden]));
        self.init("query", tensor(7, &[hidden, 1]));
        self.init("time", ints(&[1]));
        self.node("LayerNormalization", &["raw", "scale_x"], "x");
        self.weights();
        let xs = self.rows();
        let (mut h, _) = self.initial();
        let mut slices = Vec::new();
        for (t, x) in xs.iter().enumerate() {
            (h, _) = self.step(t, x, &h, "");
            slices.push(format!("{h}_slice"));
            self.node("Unsqueeze", &[&h, "time"], &format!("{h}_slice"));
        }
        let names: Vec<&str> = slices.iter().map(String::as_str).collect();
        self.node("Concat", &names, "states");
        self.attr("axis", 1);
        self.node("LayerNormalization", &["states", "scale_h"], "normal");
        self.node("MatMul", &["normal", "query"], "scores");
        self.node("Softmax", &["scores"], "weights");
        self.attr("axis", 1);
        self.node("Mul", &["weights", "x"], "weighted");
        self.node("ReduceSum", &["weighted", "time"], "pooled");
        self.attr("keepdims", 0);
        self.output("pooled");
        self.b
    }

    /// The whole model.
    pub fn model(mut self) -> ModelBuilder {
        self.weights();
        let mut xs = self.take();
        if self.w.backwards {
            xs.reverse();
        }
        let (mut h, mut c) = self.initial();
        let mut states = Vec::new();
        for (t, x) in xs.iter().enumerate() {
            (h, c) = self.step(t, x, &h, &c);
            states.push(h.clone());
        }
        match self.w.read {
            Read::Last => self.output(&h),
            Read::Each => {
                states.iter().for_each(|h| self.output(h));
                if self.w.style == Style::Lstm {
                    self.output(&c);
                }
            }
            Read::Stack(axis) => {
                self.init("stack_axis", ints(&[axis]));
                let mut slices = Vec::new();
                for h in &states {
                    let slice = format!("{h}_slice");
                    self.node("Unsqueeze", &[h, "stack_axis"], &slice);
                    slices.push(slice);
                }
                let names: Vec<&str> = slices.iter().map(String::as_str).collect();
                self.node("Concat", &names, "y");
                self.attr("axis", axis);
                self.output("y");
            }
        }
        self.b
    }
}
