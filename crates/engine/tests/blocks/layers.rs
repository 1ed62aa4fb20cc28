//! Layers of well-known image nets.

use super::graph::{Conv, Graph, Image, Numbers};
use stead_tensor::Tensor;

/// 3x3 at stride 2.
pub fn max_pool(g: &mut Graph, x: &Image) -> Image {
    let name = g.op("MaxPool", &[&x.name]);
    g.attr("kernel_shape", vec![3i64, 3]);
    g.attr("strides", vec![2i64, 2]);
    g.attr("pads", vec![1i64; 4]);
    Image { name, channels: x.channels }
}

/// Global means, then a linear layer.
pub fn head(g: &mut Graph, x: &Image) -> Image {
    let pooled = g.op("GlobalAveragePool", &[&x.name]);
    let flat = g.op("Flatten", &[&pooled]);
    let w = g.weight(&[x.channels, 7], 0.3);
    Image { name: g.op("MatMul", &[&flat, &w]), channels: 7 }
}

/// ResNet: 1x1, 3x3, 1x1, and what went in, through a 1x1 of its own.
pub fn bottleneck(g: &mut Graph, x: &Image, width: usize, stride: usize) -> Image {
    let a = g.conv(x, Conv::new(width, 1));
    let a = g.norm(&a);
    let a = g.like("Relu", &[&a]);
    let b = g.conv(&a, Conv::new(width, 3).strided(stride));
    let b = g.like("Relu", &[&b]);
    let c = g.conv(&b, Conv::new(2 * width, 1));
    let short = g.conv(x, Conv::new(2 * width, 1).strided(stride));
    let sum = g.like("Add", &[&c, &short]);
    g.like("Relu", &[&sum])
}

/// x * HardSigmoid(x), as one node or two.
pub fn hard_swish(g: &mut Graph, x: &Image) -> Image {
    if g.random.pick(&[true, false]) {
        return g.like("HardSwish", &[x]);
    }
    let gate = g.like("HardSigmoid", &[x]);
    g.attr("alpha", 1.0f32 / 6.0);
    g.like("Mul", &[x, &gate])
}

/// x * Sigmoid(x).
pub fn silu(g: &mut Graph, x: &Image) -> Image {
    let gate = g.like("Sigmoid", &[x]);
    g.like("Mul", &[&gate, x])
}

/// Squeeze-and-excitation.
pub fn gate(g: &mut Graph, x: &Image) -> Image {
    let pooled = if g.random.pick(&[true, false]) {
        g.like("GlobalAveragePool", &[x])
    } else {
        let pooled = g.like("ReduceMean", &[x]);
        g.attr("axes", vec![-1i64, 2]);
        pooled
    };
    let inner = g.conv(&pooled, Conv::new(8, 1));
    let inner = g.like("Relu", &[&inner]);
    let outer = g.conv(&inner, Conv::new(x.channels, 1));
    let by = g.like("HardSigmoid", &[&outer]);
    g.like("Mul", &[&by, x])
}

/// MobileNet: 1x1, depthwise, gate, 1x1, and what went in where it has the same shape.
pub fn inverted(g: &mut Graph, x: &Image, width: usize, outputs: usize, stride: usize) -> Image {
    let kernel = g.random.pick(&[3, 5]);
    let a = g.conv(x, Conv::new(width, 1));
    let a = hard_swish(g, &a);
    let b = g.conv(&a, Conv::new(width, kernel).alone().strided(stride));
    let b = silu(g, &b);
    let b = gate(g, &b);
    let c = g.conv(&b, Conv::new(outputs, 1));
    if stride == 1 && outputs == x.channels { g.like("Add", &[x, &c]) } else { c }
}

/// DenseNet: what is added to the channels.
pub fn dense(g: &mut Graph, x: &Image, growth: usize) -> Image {
    let a = g.norm(x);
    let a = g.like("Relu", &[&a]);
    let a = g.conv(&a, Conv::new(2 * growth, 1));
    let a = g.norm(&a);
    let a = g.like("Relu", &[&a]);
    g.conv(&a, Conv::new(growth, 3))
}

/// ShuffleNet: half of the channels through a depthwise convolution, then both halves mixed.
pub fn shuffled(g: &mut Graph, x: &Image) -> Image {
    let half = x.channels / 2;
    let part = |g: &mut Graph, from: usize| {
        let ints =
            |g: &mut Graph, v: usize| g.constant(Tensor::from_slice(&[v as i64], &[1]).unwrap());
        let (start, end, axis) = (ints(g, from), ints(g, from + half), ints(g, 1));
        Image { name: g.op("Slice", &[&x.name, &start, &end, &axis]), channels: half }
    };
    let (left, right) = (part(g, 0), part(g, half));
    let a = g.conv(&right, Conv::new(half, 1));
    let a = g.like("Relu", &[&a]);
    let a = g.conv(&a, Conv::new(half, 3).alone());
    let a = g.conv(&a, Conv::new(half, 1));
    let a = g.like("Relu", &[&a]);
    let joined = g.op("Concat", &[&left.name, &a.name]);
    g.attr("axis", 1i64);
    // [n, 2, half, pixels] -> [n, half, 2, pixels]
    let dims = g.constant(Tensor::from_slice(&[0i64, 2, half as i64, -1], &[4]).unwrap());
    let apart = g.op("Reshape", &[&joined, &dims]);
    let swapped = g.op("Transpose", &[&apart]);
    g.attr("perm", vec![0i64, 2, 1, 3]);
    let shape = g.op("Shape", &[&joined]);
    Image { name: g.op("Reshape", &[&swapped, &shape]), channels: x.channels }
}

/// A convolution of any kernel, stride, dilation and padding, of one group, of several or of lone channels.
fn any_conv(g: &mut Graph, x: &Image) -> Image {
    let groups = g.random.pick(&[1, 1, 1, 2, x.channels]);
    let groups = if x.channels.is_multiple_of(groups) { groups } else { 1 };
    let outputs = if groups == 1 { g.random.pick(&[5, 16, 24, 33, 48]) } else { x.channels };
    let kernel = [g.random.pick(&[1, 2, 3]), g.random.pick(&[1, 3, 5])];
    let inputs = x.channels / groups;
    let size = 1.5 / ((inputs * kernel[0] * kernel[1]) as f32).sqrt();
    let w = g.weight(&[outputs, inputs, kernel[0], kernel[1]], size);
    let name = g.op("Conv", &[&x.name, &w]);
    if groups != 1 {
        g.attr("group", groups as i64);
    }
    let strides = [g.random.pick(&[1i64, 1, 2, 3]), g.random.pick(&[1, 1, 2])];
    g.attr("strides", strides.to_vec());
    if g.random.pick(&[true, false]) {
        let pads = g.random.pick(&["SAME_UPPER", "SAME_LOWER"]);
        g.attr("auto_pad", pads);
    } else {
        g.attr("dilations", vec![2i64, 1]);
        let pads = [2, 2, 3, 2].map(|most: i64| most - g.random.pick(&[0i64, 1]));
        g.attr("pads", pads.to_vec());
    }
    Image { name, channels: outputs }
}

/// A random operator that a region can or cannot take up.
fn any_layer(g: &mut Graph, x: &Image, before: &[Image]) -> Image {
    match g.random.pick(&[0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]) {
        0 => any_conv(g, x),
        1 => max_pool(g, x),
        2 => {
            let name = g.op("AveragePool", &[&x.name]);
            g.attr("kernel_shape", vec![2i64, 3]);
            g.attr("auto_pad", "SAME_LOWER");
            if g.random.pick(&[true, false]) {
                g.attr("count_include_pad", 1i64);
            }
            Image { name, channels: x.channels }
        }
        3 => g.norm(x),
        4 => gate(g, x),
        5 => hard_swish(g, x),
        6 => silu(g, x),
        7 => {
            let op = g.random.pick(&["Relu", "Tanh", "Sigmoid", "LeakyRelu", "Exp", "Softmax"]);
            let x = g.like(op, &[x]);
            g.like("Tanh", &[&x])
        }
        8 => {
            let by = g.weight(&[x.channels, 1, 1], 1.0);
            let op = g.random.pick(&["Mul", "Add", "Sub"]);
            Image { name: g.op(op, &[&x.name, &by]), channels: x.channels }
        }
        9 => {
            let twice = g.like("Mul", &[x, x]);
            g.like("Add", &[&twice, x])
        }
        10 => {
            let name = g.op("Concat", &[&x.name, &x.name]);
            g.attr("axis", 1i64);
            Image { name, channels: 2 * x.channels }
        }
        _ => {
            let first = before.first().unwrap_or(x);
            let means = g.op("GlobalAveragePool", &[&first.name]);
            let means = Image { name: means, channels: first.channels };
            let means = g.conv(&means, Conv::new(x.channels, 1));
            g.like("Add", &[&means, x])
        }
    }
}

/// A net of random layers, with two outputs, and an input for it.
pub fn random_net(seed: u64) -> (Vec<u8>, Tensor) {
    let mut random = Numbers(seed * 77 + 1);
    let channels = random.pick(&[1, 3, 16, 20, 32]);
    let (mut g, x) = Graph::new(seed, channels);
    let mut images = vec![x];
    for _ in 0..random.pick(&[4, 6, 9]) {
        let x = images[images.len() - 1].clone();
        let x = any_layer(&mut g, &x, &images);
        images.push(x);
    }
    let middle = &images[images.len() / 2].clone();
    let middle = g.like("Neg", &[middle]);
    let last = images[images.len() - 1].clone();
    let bytes = g.bytes(&[&last, &middle]);
    let sides = [random.pick(&[7, 12, 19]), random.pick(&[6, 11, 23])];
    let batch = random.pick(&[1, 1, 2, 3]);
    (bytes, random.tensor(&[batch, channels, sides[0], sides[1]], 1.0))
}
