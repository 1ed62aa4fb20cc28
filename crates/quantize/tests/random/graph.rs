//! Random graphs of what the passes of the engine look for: products by constants, attention, heads that are split and turned,
//! residuals, normalisation, convolutions; and such graphs with something changed at random.

use stead_onnx::{Model, ModelBuilder};
use stead_tensor::{DType, Tensor};

/// Operators as of this set, which has LayerNormalization.
const OPSET: i64 = 17;

/// Numbers that follow from a seed (SplitMix64).
pub struct Chance(u64);

impl Chance {
    pub fn new(seed: u64) -> Chance {
        Chance(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x1234_5678)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ (bits >> 31)
    }

    /// Below `n`, which is not 0.
    pub fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }

    pub fn one_of<T: Copy>(&mut self, list: &[T]) -> T {
        list[self.below(list.len())]
    }

    /// From -1 to 1.
    fn number(&mut self) -> f32 {
        (self.next() >> 40) as f32 / (1u32 << 23) as f32 - 1.0
    }

    /// A tensor of numbers up to `scale`.
    pub fn tensor(&mut self, dims: &[usize], scale: f32) -> Tensor {
        let count = dims.iter().product();
        let numbers: Vec<f32> = (0..count).map(|_| self.number() * scale).collect();
        Tensor::from_slice(&numbers, dims).unwrap()
    }
}

/// A value and its sizes.
type Value = (String, Vec<usize>);

/// A graph that grows node by node.
struct Growing {
    chance: Chance,
    model: ModelBuilder,
    values: Vec<Value>,
    count: usize,
}

/// A random graph, and inputs for two runs of it.
pub fn random(seed: u64) -> (ModelBuilder, Vec<Vec<Option<Tensor>>>) {
    let mut chance = Chance::new(seed);
    let dims = [1 + chance.below(3), 1 + chance.below(9), 8 * (1 + chance.below(4))];
    let sizes = dims.map(|n| n.to_string());
    // Some sizes are free in the file.
    let free = [["b", "s"], [&*sizes[0], "s"], [&*sizes[0], &*sizes[1]]][chance.below(3)];
    let model = ModelBuilder::new(OPSET).input("x", DType::F32, &[free[0], free[1], &sizes[2]]);
    let runs = (0..2).map(|_| vec![Some(chance.tensor(&dims, 2.0))]).collect();
    let values = vec![("x".to_owned(), dims.to_vec())];
    let steps = 2 + chance.below(8);
    let mut growing = Growing { chance, model, values, count: 0 };
    for _ in 0..steps {
        growing.step();
    }
    let mut model = growing.model;
    // The last value, and some that only one step or none reads.
    let last = growing.values.len() - 1;
    let mut shown = vec![last, growing.chance.below(last + 1), growing.chance.below(last + 1)];
    shown.retain(|at| *at > 0);
    shown.dedup();
    shown.sort_unstable();
    shown.dedup();
    for at in shown {
        model = model.output(&growing.values[at].0, DType::F32);
    }
    (model, runs)
}

impl Growing {
    fn name(&mut self) -> String {
        self.count += 1;
        format!("v{}", self.count)
    }

    fn grow(&mut self, with: impl FnOnce(ModelBuilder) -> ModelBuilder) {
        self.model = with(std::mem::replace(&mut self.model, ModelBuilder::new(OPSET)));
    }

    fn constant(&mut self, dims: &[usize], scale: f32) -> String {
        let (name, tensor) = (self.name(), self.chance.tensor(dims, scale));
        self.grow(|model| model.init(&name, tensor));
        name
    }

    fn integers(&mut self, values: &[i64]) -> String {
        let name = self.name();
        let tensor = Tensor::from_slice(values, &[values.len()]).unwrap();
        self.grow(|model| model.init(&name, tensor));
        name
    }

    fn node(&mut self, op: &str, inputs: &[&str]) -> String {
        let name = self.name();
        self.grow(|model| model.node(op, inputs, &[&name]));
        name
    }

    fn attr(&mut self, name: &str, value: impl Into<stead_onnx::AttributeValue>) {
        self.grow(|model| model.attr(name, value));
    }

    /// A product by a constant matrix, with a bias or not.
    fn product(&mut self, of: &str, inner: usize, columns: usize) -> String {
        let w = self.constant(&[inner, columns], 1.7 / (inner as f32).sqrt());
        let y = self.node("MatMul", &[of, &w]);
        if self.chance.below(3) == 0 {
            return y;
        }
        let bias = self.constant(&[columns], 0.5);
        self.node("Add", &[&y, &bias])
    }

    /// A value in heads: `[.., s, c]` to `[.., h, s, c / h]`.
    fn heads(&mut self, of: &str, dims: &[usize], heads: usize) -> String {
        let (c, s) = (dims[2], dims[1]);
        let shape = self.integers(&[dims[0] as i64, s as i64, heads as i64, (c / heads) as i64]);
        let split = self.node("Reshape", &[of, &shape]);
        let turned = self.node("Transpose", &[&split]);
        self.attr("perm", vec![0i64, 2, 1, 3]);
        turned
    }

    fn attention(&mut self, x: &str, dims: &[usize]) -> Value {
        let (c, heads) = (dims[2], self.chance.one_of(&[1, 2, 4]));
        let [q, k, v] = [(); 3].map(|()| {
            let projected = self.product(x, c, c);
            self.heads(&projected, dims, heads)
        });
        let k = self.node("Transpose", &[&k]);
        self.attr("perm", vec![0i64, 1, 3, 2]);
        let mut scores = self.node("MatMul", &[&q, &k]);
        let scale = self.constant(&[1], 1.0);
        scores = self.node("Mul", &[&scores, &scale]);
        if self.chance.below(2) == 0 {
            let mask = self.constant(&[dims[1], dims[1]], 3.0);
            scores = self.node("Add", &[&scores, &mask]);
        }
        let weights = self.node("Softmax", &[&scores]);
        self.attr("axis", -1i64);
        let mixed = self.node("MatMul", &[&weights, &v]);
        let turned = self.node("Transpose", &[&mixed]);
        self.attr("perm", vec![0i64, 2, 1, 3]);
        let shape = self.integers(&dims.iter().map(|n| *n as i64).collect::<Vec<_>>());
        (self.node("Reshape", &[&turned, &shape]), dims.to_vec())
    }

    fn step(&mut self) {
        // Mostly the newest value, so that chains grow.
        let last = self.values.len() - 1;
        let at = if self.chance.below(4) > 0 { last } else { self.chance.below(last + 1) };
        let (x, dims) = self.values[at].clone();
        let c = *dims.last().unwrap();
        let value = match self.chance.below(12) {
            0 | 1 => {
                let columns = self.chance.one_of(&[1, 3, 8, 16, 24, 33]);
                let y = self.product(&x, c, columns);
                (y, [&dims[..dims.len() - 1], &[columns]].concat())
            }
            2 => {
                // A perceptron: wider, a function, and back, with the residual.
                let wide = self.chance.one_of(&[16, 40]);
                let h = self.product(&x, c, wide);
                let op = self.chance.one_of(&["Relu", "Tanh", "Sigmoid", "Erf", "HardSwish"]);
                let h = self.node(op, &[&h]);
                let y = self.product(&h, wide, c);
                (self.node("Add", &[&x, &y]), dims)
            }
            3 if dims.len() == 3 && c % 4 == 0 => self.attention(&x, &dims),
            4 if c >= 8 => {
                let (scale, bias) = (self.constant(&[c], 1.0), self.constant(&[c], 0.5));
                let y = self.node("LayerNormalization", &[&x, &scale, &bias]);
                self.attr("axis", -1i64);
                (y, dims)
            }
            5 => {
                let op = self.chance.one_of(&["Relu", "Tanh", "Sigmoid", "Erf", "Neg", "Abs"]);
                (self.node(op, &[&x]), dims)
            }
            6 if dims.len() > 1 => {
                let mut order: Vec<usize> = (0..dims.len()).collect();
                (0..order.len()).for_each(|at| order.swap(at, self.chance.below(dims.len())));
                let y = self.node("Transpose", &[&x]);
                self.attr("perm", order.iter().map(|at| *at as i64).collect::<Vec<_>>());
                (y, order.iter().map(|at| dims[*at]).collect())
            }
            7 => {
                let rows: usize = dims[..dims.len() - 1].iter().product();
                let shape = self.integers(&[-1, c as i64]);
                let flat = self.node("Reshape", &[&x, &shape]);
                let columns = self.chance.one_of(&[4, 10, 16]);
                let w = self.constant(&[columns, c], 1.7 / (c as f32).sqrt());
                let bias = self.constant(&[columns], 0.5);
                let y = self.node("Gemm", &[&flat, &w, &bias]);
                self.attr("transB", 1i64);
                (y, vec![rows, columns])
            }
            8 if dims.len() == 3 => {
                // The second dimension as channels.
                let filters = self.chance.one_of(&[1, 4, 9]);
                let w = self.constant(&[filters, dims[1], 3], 1.0 / dims[1] as f32);
                let y = self.node("Conv", &[&x, &w]);
                self.attr("pads", vec![1i64, 1]);
                (y, vec![dims[0], filters, c])
            }
            9 => {
                let other = self.values.iter().rev().find(|(n, d)| *d == dims && *n != x).cloned();
                match other {
                    Some((other, _)) => {
                        let op = self.chance.one_of(&["Add", "Mul", "Sub"]);
                        (self.node(op, &[&x, &other]), dims)
                    }
                    None => (self.node("Add", &[&x, &x]), dims),
                }
            }
            10 => {
                let y = self.node("Concat", &[&x, &x]);
                self.attr("axis", -1i64);
                (y, [&dims[..dims.len() - 1], &[2 * c]].concat())
            }
            _ => {
                let y = self.node("Softmax", &[&x]);
                self.attr("axis", -1i64);
                (y, dims)
            }
        };
        self.values.push(value);
    }
}

/// Changes one to three things of a graph, so that it means something else or nothing.
pub fn mutate(model: &mut Model, seed: u64) {
    let mut chance = Chance::new(!seed);
    let graph = &mut model.graph;
    let mut names: Vec<String> = graph.initializers.iter().map(|(name, _)| name.clone()).collect();
    names.extend(graph.inputs.iter().map(|input| input.name.clone()));
    names.extend(graph.nodes.iter().flat_map(|node| node.outputs.iter().cloned()));
    for _ in 0..1 + chance.below(3) {
        let at = chance.below(graph.nodes.len());
        let node = &mut graph.nodes[at];
        match chance.below(4) {
            0 if !node.inputs.is_empty() => {
                let input = chance.below(node.inputs.len());
                node.inputs[input] = names[chance.below(names.len())].clone();
            }
            1 => {
                let all = ["Add", "Mul", "Sub", "MatMul", "Relu", "Softmax", "Transpose", "Concat"];
                node.op_type = chance.one_of(&all).to_owned();
            }
            2 => drop(node.inputs.pop()),
            _ => {
                let count = graph.initializers.len().max(1);
                if let Some((_, tensor)) = graph.initializers.get_mut(chance.below(count))
                    && tensor.dtype() == DType::F32
                {
                    let dims = tensor.shape().dims().to_vec();
                    *tensor = chance.tensor(&dims, 100.0);
                }
            }
        }
    }
}
