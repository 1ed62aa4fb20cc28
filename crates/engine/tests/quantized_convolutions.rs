//! Convolutions of bytes against plain loops, and what passes make of Conv between bytes against the floats of the file.
#![allow(clippy::unwrap_used, clippy::indexing_slicing)] // a panic is the report

use stead_engine::{LoadOptions, Model, PassChoice, RunContext, Session, SessionOptions};
use stead_onnx::{AttributeValue, ModelBuilder};
use stead_tensor::{DType, Element, Tensor};

/// Numbers that look random in -1..1.
fn noise(seed: u32, count: usize) -> Vec<f32> {
    let mut x = seed.wrapping_mul(2_654_435_761).wrapping_add(12345);
    (0..count)
        .map(|_| {
            x = x.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (x >> 8) as f32 / (1 << 23) as f32 - 1.0
        })
        .collect()
}

fn tensor<T: Element>(seed: u32, dims: &[usize], of: impl Fn(f32) -> T) -> Tensor {
    let values: Vec<T> = noise(seed, dims.iter().product()).into_iter().map(of).collect();
    Tensor::from_slice(&values, dims).unwrap()
}

/// The first output as bytes and the kernels that computed it.
fn run(model: &[u8], passes: PassChoice, inputs: &[Tensor]) -> (Tensor, Vec<&'static str>) {
    let options = LoadOptions { passes, ..LoadOptions::default() };
    let model = Model::from_bytes(model, None, &options).unwrap();
    let session = Session::new(model, &SessionOptions::default()).unwrap();
    let views: Vec<_> = inputs.iter().map(|t| Some(t.view())).collect();
    let result = session
        .run_with(&views, &RunContext::default(), |outputs| outputs.get(0).unwrap().to_tensor())
        .unwrap()
        .unwrap();
    let kernels = session.plan_view(&views).unwrap().steps.iter().map(|s| s.kernel).collect();
    (result, kernels)
}

/// Sizes of a convolution of 2 images.
#[derive(Clone, Copy, Debug)]
struct Case {
    groups: usize,
    /// Of a group, in and out.
    channels: [usize; 2],
    size: usize,
    kernel: usize,
    stride: usize,
    pad: usize,
    by_filter: bool,
}

const CASES: [Case; 8] = [
    Case { groups: 1, channels: [5, 20], size: 9, kernel: 3, stride: 1, pad: 1, by_filter: true },
    Case { groups: 1, channels: [8, 33], size: 7, kernel: 1, stride: 1, pad: 0, by_filter: false },
    Case { groups: 2, channels: [6, 4], size: 11, kernel: 3, stride: 2, pad: 0, by_filter: true },
    Case { groups: 1, channels: [3, 16], size: 23, kernel: 7, stride: 2, pad: 3, by_filter: true },
    Case { groups: 6, channels: [1, 1], size: 8, kernel: 3, stride: 1, pad: 1, by_filter: true },
    Case { groups: 40, channels: [1, 1], size: 9, kernel: 5, stride: 2, pad: 2, by_filter: false },
    Case { groups: 4, channels: [1, 2], size: 8, kernel: 3, stride: 1, pad: 1, by_filter: true },
    Case { groups: 1, channels: [16, 7], size: 8, kernel: 1, stride: 2, pad: 0, by_filter: false },
];

impl Case {
    fn filters(&self) -> usize {
        self.groups * self.channels[1]
    }

    fn x_dims(&self) -> [usize; 4] {
        [2, self.groups * self.channels[0], self.size, self.size]
    }

    fn w_dims(&self) -> [usize; 4] {
        [self.filters(), self.channels[0], self.kernel, self.kernel]
    }

    fn w(&self) -> Tensor {
        tensor(2, &self.w_dims(), |x| (x * 127.9) as i8)
    }

    fn w_scale(&self) -> Tensor {
        let dims: &[usize] = if self.by_filter { &[self.filters()] } else { &[] };
        tensor(3, dims, |x| x * 0.001 + 0.002)
    }

    fn attributes(&self, model: ModelBuilder) -> ModelBuilder {
        let ints = |n: usize, count| AttributeValue::Ints(vec![n as i64; count]);
        model
            .attr("group", AttributeValue::Int(self.groups as i64))
            .attr("strides", ints(self.stride, 2))
            .attr("pads", ints(self.pad, 4))
    }

    /// The sums by plain loops.
    fn sums(&self, x: &[u8], x_zero: i32, w: &[i8], w_zero: i32) -> Vec<i32> {
        let [ci, co] = self.channels;
        let n = (self.size + 2 * self.pad - self.kernel) / self.stride + 1;
        let mut sums = Vec::new();
        for image in 0..2 {
            for filter in 0..self.filters() {
                for (row, col) in (0..n * n).map(|i| (i / n, i % n)) {
                    let mut sum = 0;
                    for (c, tap) in (0..ci * self.kernel * self.kernel)
                        .map(|i| (i / self.kernel.pow(2), i % self.kernel.pow(2)))
                    {
                        let at = |o: usize, t: usize| {
                            (o * self.stride + t).checked_sub(self.pad).filter(|&i| i < self.size)
                        };
                        let (Some(h), Some(v)) =
                            (at(row, tap / self.kernel), at(col, tap % self.kernel))
                        else {
                            continue;
                        };
                        let channel = filter / co * ci + c;
                        let plane = image * self.groups * ci + channel;
                        let x = i32::from(x[(plane * self.size + h) * self.size + v]) - x_zero;
                        let w = w[(filter * ci + c) * self.kernel.pow(2) + tap];
                        sum += x * (i32::from(w) - w_zero);
                    }
                    sums.push(sum);
                }
            }
        }
        sums
    }
}

/// The number for a filter, of one or of one for each.
fn at<T: Copy>(list: &[T], i: usize) -> T {
    list[if list.len() == 1 { 0 } else { i }]
}

#[test]
fn bytes_are_those_of_plain_loops() {
    for case in CASES {
        let scale = case.w_scale();
        let bias = tensor(4, &[case.filters()], |x| (x * 3000.0) as i32);
        let x = tensor(1, &case.x_dims(), |x| ((x + 1.0) * 127.9) as u8);
        let w = case.w();
        let sums = case.sums(x.as_slice().unwrap(), 117, w.as_slice().unwrap(), 0);
        let count = sums.len() / 2 / case.filters();
        let want: Vec<u8> = sums
            .iter()
            .enumerate()
            .map(|(i, sum)| {
                let filter = i / count % case.filters();
                let factor = 0.02f32 * at(scale.as_slice::<f32>().unwrap(), filter) / 0.013;
                let sum = sum + bias.as_slice::<i32>().unwrap()[filter];
                ((sum as f32 * factor).round_ties_even() + 101.0).clamp(0.0, 255.0) as u8
            })
            .collect();
        // Filters of the file, and filters that a caller gives.
        for constant in [true, false] {
            let model = ModelBuilder::new(17)
                .input("x", DType::U8, &["n", "c", "h", "v"])
                .init("x_scale", Tensor::scalar(0.02f32).unwrap())
                .init("x_zero", Tensor::scalar(117u8).unwrap())
                .init("w_scale", scale.clone())
                .init("w_zero", Tensor::scalar(0i8).unwrap())
                .init("y_scale", Tensor::scalar(0.013f32).unwrap())
                .init("y_zero", Tensor::scalar(101u8).unwrap())
                .init("b", bias.clone());
            let model = match constant {
                true => model.init("w", w.clone()),
                false => model.input("w", DType::I8, &["f", "d", "k", "l"]),
            };
            let inputs =
                ["x", "x_scale", "x_zero", "w", "w_scale", "w_zero", "y_scale", "y_zero", "b"];
            let model = case.attributes(model.node("QLinearConv", &inputs, &["y"]));
            let model = model.output("y", DType::U8).bytes();
            let given = if constant { vec![x.clone()] } else { vec![x.clone(), w.clone()] };
            let (y, kernels) = run(&model, PassChoice::All, &given);
            assert_eq!(y.as_slice::<u8>().unwrap(), want, "{case:?} {constant} {kernels:?}");
        }
        let model = ModelBuilder::new(17)
            .input("x", DType::U8, &["n", "c", "h", "v"])
            .input("x_zero", DType::U8, &[])
            .init("w", w.clone())
            .init("w_zero", tensor(9, &[case.filters()], |_| -3i8))
            .node("ConvInteger", &["x", "w", "x_zero", "w_zero"], &["y"]);
        let model = case.attributes(model).output("y", DType::I32).bytes();
        let sums = case.sums(x.as_slice().unwrap(), 117, w.as_slice().unwrap(), -3);
        let inputs = [x, Tensor::scalar(117u8).unwrap()];
        let (y, kernels) = run(&model, PassChoice::All, &inputs);
        assert_eq!(y.as_slice::<i32>().unwrap(), sums, "{case:?} {kernels:?}");
    }
}

/// A convolution between bytes: as QuantizeLinear makes them, or as floats.
fn between(case: Case, activation: &str, to_bytes: bool) -> ModelBuilder {
    let (x_scale, w_scale) = (0.02f32, case.w_scale());
    let scales: Vec<f32> =
        (0..case.filters()).map(|i| x_scale * at(w_scale.as_slice::<f32>().unwrap(), i)).collect();
    let model = ModelBuilder::new(17)
        .input("x", DType::U8, &["n", "c", "h", "v"])
        .init("x_scale", Tensor::scalar(x_scale).unwrap())
        .init("x_zero", Tensor::scalar(117u8).unwrap())
        .init("w", case.w())
        .init("w_scale", w_scale)
        .init("y_scale", Tensor::scalar(0.013f32).unwrap())
        .init("y_zero", Tensor::scalar(-20i8).unwrap())
        .init("b", tensor(4, &[case.filters()], |x| (x * 3000.0) as i32))
        .init("b_scale", Tensor::from_slice(&scales, &[case.filters()]).unwrap())
        .node("DequantizeLinear", &["x", "x_scale", "x_zero"], &["a"])
        .node("DequantizeLinear", &["w", "w_scale"], &["v"])
        .attr("axis", 0i64)
        .node("DequantizeLinear", &["b", "b_scale"], &["bias"])
        .attr("axis", 0i64)
        .node("Conv", &["a", "v", "bias"], &["c"]);
    let model = case.attributes(model);
    let (model, name) = match activation {
        "" => (model, "c"),
        op => (model.node(op, &["c"], &["r"]), "r"),
    };
    if !to_bytes {
        return model.output(name, DType::F32);
    }
    model.node("QuantizeLinear", &[name, "y_scale", "y_zero"], &["y"]).output("y", DType::I8)
}

/// Numbers beside a tie may fall on either side of it, as the file rounds more often.
fn check_bytes(label: &str, got: &Tensor, want: &Tensor) {
    let (got, want) = (got.as_slice::<i8>().unwrap(), want.as_slice::<i8>().unwrap());
    let off = got.iter().zip(want).filter(|(a, b)| a != b).count();
    assert!(off * 500 <= got.len(), "{label}: {off} of {} differ", got.len());
    let most = got.iter().zip(want).map(|(a, b)| a.abs_diff(*b)).max();
    assert!(most <= Some(1), "{label}");
    assert!(got.iter().any(|y| *y != got[0]), "{label}: all the same");
}

#[test]
fn lone_channels_between_bytes_agree_with_the_floats_of_the_file() {
    for case in CASES.into_iter().filter(|case| case.channels[0] == 1) {
        let x = tensor(1, &case.x_dims(), |x| ((x + 1.0) * 127.9) as u8);
        let model = between(case, "", true).bytes();
        let (want, _) = run(&model, PassChoice::None, std::slice::from_ref(&x));
        for (passes, kernel) in [
            (PassChoice::All, "conv integer of lone"),
            (PassChoice::AllBut("blocks of channels"), "conv integer depthwise"),
        ] {
            let (got, kernels) = run(&model, passes, std::slice::from_ref(&x));
            let kernel = if case.channels[1] == 1 { kernel } else { "conv depthwise" };
            assert!(kernels.iter().any(|k| k.starts_with(kernel)), "{case:?}: {kernels:?}");
            check_bytes(&format!("{case:?} {passes:?}"), &got, &want);
        }
    }
}

#[test]
fn convolutions_between_bytes_agree_with_the_floats_of_the_file() {
    for case in CASES.into_iter().filter(|case| case.channels[0] > 1) {
        let x = tensor(1, &case.x_dims(), |x| ((x + 1.0) * 127.9) as u8);
        for activation in ["", "Relu"] {
            let label = format!("{case:?} {activation}");
            let model = between(case, activation, true).bytes();
            let (want, _) = run(&model, PassChoice::None, std::slice::from_ref(&x));
            let (got, kernels) = run(&model, PassChoice::All, std::slice::from_ref(&x));
            let kernel = if case.groups > 1 { "to bytes" } else { "of last" };
            assert!(kernels.contains(&&*format!("conv integer {kernel}")), "{label}: {kernels:?}");
            check_bytes(&label, &got, &want);

            let model = between(case, activation, false).bytes();
            let (want, _) = run(&model, PassChoice::None, std::slice::from_ref(&x));
            let (got, kernels) = run(&model, PassChoice::All, std::slice::from_ref(&x));
            assert!(kernels.contains(&"conv integer to float"), "{label}: {kernels:?}");
            assert!(!kernels.contains(&"relu"), "{label}: {kernels:?}");
            let (got, want) = (got.as_slice::<f32>().unwrap(), want.as_slice::<f32>().unwrap());
            let most = want.iter().fold(0f32, |most, x| most.max(x.abs()));
            for (got, want) in got.iter().zip(want) {
                assert!((got - want).abs() <= 2e-6 * most, "{label}: {got} for {want}");
            }
        }
    }
}
