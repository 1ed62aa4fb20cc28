//! Image nets that are built layer by layer, with weights that follow from a seed.

use stead_onnx::{AttributeValue, ModelBuilder};
use stead_tensor::{DType, Tensor};

/// Numbers that follow from a seed.
pub struct Numbers(pub u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 33
    }

    /// One of a list.
    pub fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.next() as usize % of.len()]
    }

    /// Numbers from -`size` to `size`.
    pub fn tensor(&mut self, dims: &[usize], size: f32) -> Tensor {
        let count = dims.iter().product();
        let number = |_| (self.next() as f32 / (1_u64 << 30) as f32 - 1.0) * size;
        let values: Vec<f32> = (0..count).map(number).collect();
        Tensor::from_slice(&values, dims).unwrap()
    }
}

/// A value with its channels.
#[derive(Clone)]
pub struct Image {
    pub name: String,
    pub channels: usize,
}

/// A convolution.
#[derive(Clone, Copy)]
pub struct Conv {
    pub outputs: usize,
    pub kernel: usize,
    pub stride: usize,
    pub groups: usize,
}

impl Conv {
    pub fn new(outputs: usize, kernel: usize) -> Conv {
        Conv { outputs, kernel, stride: 1, groups: 1 }
    }

    pub fn strided(self, stride: usize) -> Conv {
        Conv { stride, ..self }
    }

    /// Each channel alone.
    pub fn alone(self) -> Conv {
        Conv { groups: self.outputs, ..self }
    }
}

pub struct Graph {
    builder: ModelBuilder,
    pub random: Numbers,
    made: usize,
}

impl Graph {
    /// A graph whose input `x` has so many channels.
    pub fn new(seed: u64, channels: usize) -> (Graph, Image) {
        let channels_text = channels.to_string();
        let dims = ["n", &channels_text, "h", "w"];
        let builder = ModelBuilder::new(17).input("x", DType::F32, &dims);
        let graph = Graph { builder, random: Numbers(seed), made: 0 };
        (graph, Image { name: "x".to_owned(), channels })
    }

    fn change(&mut self, f: impl FnOnce(ModelBuilder) -> ModelBuilder) {
        let builder = std::mem::replace(&mut self.builder, ModelBuilder::new(17));
        self.builder = f(builder);
    }

    fn name(&mut self) -> String {
        self.made += 1;
        format!("v{}", self.made)
    }

    pub fn constant(&mut self, tensor: Tensor) -> String {
        let name = self.name();
        self.change(|b| b.init(&name, tensor));
        name
    }

    pub fn weight(&mut self, dims: &[usize], size: f32) -> String {
        let tensor = self.random.tensor(dims, size);
        self.constant(tensor)
    }

    pub fn op(&mut self, op: &str, inputs: &[&str]) -> String {
        let name = self.name();
        self.change(|b| b.node(op, inputs, &[&name]));
        name
    }

    pub fn attr(&mut self, name: &str, value: impl Into<AttributeValue>) {
        self.change(|b| b.attr(name, value));
    }

    /// An operator that leaves the number of channels as it is.
    pub fn like(&mut self, op: &str, inputs: &[&Image]) -> Image {
        let names: Vec<&str> = inputs.iter().map(|i| i.name.as_str()).collect();
        Image { name: self.op(op, &names), channels: inputs[0].channels }
    }

    /// A convolution with a bias.
    pub fn conv(&mut self, x: &Image, conv: Conv) -> Image {
        let Conv { outputs, kernel, stride, groups } = conv;
        let inputs = x.channels / groups;
        let size = 1.5 / ((inputs * kernel * kernel) as f32).sqrt();
        let w = self.weight(&[outputs, inputs, kernel, kernel], size);
        let b = self.weight(&[outputs], 0.5);
        let name = self.op("Conv", &[&x.name, &w, &b]);
        let pad = (kernel / 2) as i64;
        self.attr("pads", vec![pad; 4]);
        self.attr("strides", vec![stride as i64; 2]);
        self.attr("group", groups as i64);
        Image { name, channels: outputs }
    }

    /// Batch normalisation.
    pub fn norm(&mut self, x: &Image) -> Image {
        let c = x.channels;
        let parameters = [0.5, 0.5, 0.5].map(|size| self.weight(&[c], size));
        let variance: Vec<f32> = (0..c).map(|i| 0.5 + i as f32 / c as f32).collect();
        let variance = self.constant(Tensor::from_slice(&variance, &[c]).unwrap());
        let [scale, bias, mean] = &parameters;
        let inputs = [&x.name, scale, bias, mean, &variance].map(String::as_str);
        Image { name: self.op("BatchNormalization", &inputs), channels: c }
    }

    pub fn bytes(&mut self, outputs: &[&Image]) -> Vec<u8> {
        let builder = std::mem::replace(&mut self.builder, ModelBuilder::new(17));
        let add = |b: ModelBuilder, image: &&Image| b.output(&image.name, DType::F32);
        outputs.iter().fold(builder, add).bytes()
    }
}
