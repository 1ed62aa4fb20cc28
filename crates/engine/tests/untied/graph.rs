//! Graphs that are built value by value, with weights that are the same in every run of the tests.

use stead_onnx::{AttributeValue, ModelBuilder};
use stead_tensor::{DType, Tensor};

/// Numbers that follow from a seed.
pub struct Numbers(pub u64);

impl Numbers {
    pub fn next(&mut self) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 33
    }

    pub fn below(&mut self, end: usize) -> usize {
        self.next() as usize % end
    }

    pub fn one_in(&mut self, count: usize) -> bool {
        self.below(count) == 0
    }

    pub fn tensor(&mut self, dims: &[usize]) -> Tensor {
        let count = dims.iter().product();
        let values: Vec<f32> =
            (0..count).map(|_| self.next() as f32 / (1_u64 << 30) as f32 - 1.0).collect();
        Tensor::from_slice(&values, dims).unwrap()
    }
}

/// The name of a value.
pub type Name = String;

pub struct Graph {
    pub builder: ModelBuilder,
    pub random: Numbers,
    made: usize,
}

impl Graph {
    pub fn new(seed: u64) -> Graph {
        Graph { builder: ModelBuilder::new(17), random: Numbers(seed), made: 0 }
    }

    pub fn name(&mut self) -> Name {
        self.made += 1;
        format!("v{}", self.made)
    }

    fn change(&mut self, f: impl FnOnce(ModelBuilder) -> ModelBuilder) {
        let builder = std::mem::replace(&mut self.builder, ModelBuilder::new(17));
        self.builder = f(builder);
    }

    pub fn input(&mut self, name: &str, dtype: DType, dims: &[&str]) -> Name {
        self.change(|b| b.input(name, dtype, dims));
        name.to_owned()
    }

    pub fn op(&mut self, op: &str, inputs: &[&str]) -> Name {
        let name = self.name();
        self.change(|b| b.node(op, inputs, &[&name]).named(&format!("{op}_{name}")));
        name
    }

    pub fn op_with(
        &mut self,
        op: &str,
        inputs: &[&str],
        attr: (&str, impl Into<AttributeValue>),
    ) -> Name {
        let name = self.op(op, inputs);
        self.change(|b| b.attr(attr.0, attr.1));
        name
    }

    pub fn weight(&mut self, dims: &[usize]) -> Name {
        let tensor = self.random.tensor(dims);
        self.constant(tensor)
    }

    pub fn constant(&mut self, tensor: Tensor) -> Name {
        let name = self.name();
        self.change(|b| b.init(&name, tensor));
        name
    }

    pub fn ints(&mut self, list: &[i64]) -> Name {
        self.constant(Tensor::from_slice(list, &[list.len()]).unwrap())
    }

    pub fn number(&mut self, value: f32) -> Name {
        self.constant(Tensor::scalar(value).unwrap())
    }

    pub fn reshape(&mut self, x: &str, dims: &[i64]) -> Name {
        let dims = self.ints(dims);
        self.op("Reshape", &[x, &dims])
    }

    /// A product with a weight, and a bias.
    pub fn linear(&mut self, x: &str, from: usize, to: usize) -> Name {
        let (w, b) = (self.weight(&[from, to]), self.weight(&[to]));
        let product = self.op("MatMul", &[x, &w]);
        self.op("Add", &[&product, &b])
    }

    pub fn gemm(&mut self, x: &str, from: usize, to: usize) -> Name {
        let (w, b) = (self.weight(&[to, from]), self.weight(&[to]));
        self.op_with("Gemm", &[x, &w, &b], ("transB", 1))
    }

    pub fn bytes(self, output: &str) -> Vec<u8> {
        self.builder.output(output, DType::F32).bytes()
    }
}
