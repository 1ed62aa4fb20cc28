//! MatMulNBits: weights of 2, 4 and 8 bits with scales for blocks, against plain loops.
#![allow(clippy::unwrap_used, clippy::indexing_slicing)] // a panic is the report

use stead_engine::{LoadError, LoadOptions, Model, PassChoice, Session, SessionOptions};
use stead_onnx::{AttributeValue, ModelBuilder};
use stead_tensor::{DType, Tensor};

struct Case {
    bits: usize,
    block: usize,
    k: usize,
    n: usize,
    zeros: bool,
    bias: bool,
}

impl Case {
    fn bytes(&self, count: usize, seed: usize) -> Vec<u8> {
        (0..count).map(|i| ((i * 2_654_435_761 + seed * 977) >> 7) as u8).collect()
    }

    fn scales(&self) -> Vec<f32> {
        let count = self.n * self.k.div_ceil(self.block);
        (0..count).map(|i| (i % 7 + 1) as f32 / 64.0).collect()
    }

    fn number(&self, bytes: &[u8], at: usize) -> f32 {
        let bit = at * self.bits;
        f32::from((bytes[bit / 8] >> (bit % 8)) & ((1u16 << self.bits) - 1) as u8)
    }

    fn sizes(&self) -> (usize, usize, usize) {
        let blocks = self.k.div_ceil(self.block);
        (blocks, (self.block * self.bits).div_ceil(8), (blocks * self.bits).div_ceil(8))
    }

    fn model(&self) -> ModelBuilder {
        let (blocks, block_bytes, zero_bytes) = self.sizes();
        let weights = self.bytes(self.n * blocks * block_bytes, 1);
        let mut inputs = vec!["x", "b", "scales"];
        let mut model = ModelBuilder::new(17)
            .import("com.microsoft", 1)
            .input("x", DType::F32, &["batch", "rows", "?"])
            .init("b", Tensor::from_slice(&weights, &[self.n, blocks, block_bytes]).unwrap())
            .init("scales", Tensor::from_slice(&self.scales(), &[self.n * blocks]).unwrap());
        if self.zeros {
            let zeros = self.bytes(self.n * zero_bytes, 2);
            model =
                model.init("zeros", Tensor::from_slice(&zeros, &[self.n * zero_bytes]).unwrap());
            inputs.push("zeros");
        }
        if self.bias {
            let bias: Vec<f32> = (0..self.n).map(|i| i as f32).collect();
            model = model.init("bias", Tensor::from_slice(&bias, &[self.n]).unwrap());
            inputs.resize(5, "");
            inputs.push("bias");
        }
        let mut model = model.node("MatMulNBits", &inputs, &["y"]).domain("com.microsoft");
        for (name, value) in
            [("K", self.k), ("N", self.n), ("bits", self.bits), ("block_size", self.block)]
        {
            model = model.attr(name, AttributeValue::Int(value as i64));
        }
        model.output("y", DType::F32)
    }

    fn expected(&self, x: &[f32]) -> Vec<f32> {
        let (blocks, block_bytes, zero_bytes) = self.sizes();
        let weights = self.bytes(self.n * blocks * block_bytes, 1);
        let (zeros, scales) = (self.bytes(self.n * zero_bytes, 2), self.scales());
        let mut out = Vec::new();
        for row in x.chunks(self.k) {
            for column in 0..self.n {
                let mut sum = if self.bias { column as f64 } else { 0.0 };
                for (k, x) in row.iter().enumerate() {
                    let at = column * blocks + k / self.block;
                    let zero = match self.zeros {
                        true => self.number(&zeros[column * zero_bytes..], k / self.block),
                        false => (1 << (self.bits - 1)) as f32,
                    };
                    let q = self.number(&weights[at * block_bytes..], k % self.block);
                    sum += f64::from(*x) * f64::from(scales[at] * (q - zero));
                }
                out.push(sum as f32);
            }
        }
        out
    }
}

fn load(model: ModelBuilder) -> Result<Session, LoadError> {
    let model = Model::from_bytes(&model.bytes(), None, &LoadOptions::default())?;
    Session::new(model, &SessionOptions::default())
}

#[test]
fn products_are_those_of_plain_loops() {
    let cases = [
        Case { bits: 4, block: 32, k: 64, n: 5, zeros: false, bias: false },
        Case { bits: 4, block: 16, k: 40, n: 33, zeros: true, bias: true },
        Case { bits: 8, block: 32, k: 50, n: 7, zeros: false, bias: true },
        Case { bits: 8, block: 64, k: 64, n: 16, zeros: true, bias: false },
        Case { bits: 2, block: 16, k: 70, n: 3, zeros: true, bias: false },
    ];
    for (at, case) in cases.iter().enumerate() {
        let session = load(case.model()).unwrap();
        for dims in [[1, 1, case.k], [2, 3, case.k]] {
            let count: usize = dims.iter().product();
            let x: Vec<f32> = (0..count).map(|i| (i % 13) as f32 / 6.0 - 1.0).collect();
            let tensor = Tensor::from_slice(&x, &dims).unwrap();
            let y = session.run(&[("x", tensor.view())], &[]).unwrap().remove(0);
            assert_eq!(&*y.shape(), [dims[0], dims[1], case.n]);
            for (a, b) in y.as_slice::<f32>().unwrap().iter().zip(case.expected(&x)) {
                assert!((a - b).abs() <= 1e-4 * b.abs().max(1.0), "case {at}: {a} {b}");
            }
        }
        let wrong = Tensor::from_slice(&vec![0f32; case.k + 1], &[1, 1, case.k + 1]).unwrap();
        let error = session.run(&[("x", wrong.view())], &[]).unwrap_err().to_string();
        assert!(error.contains(&format!("must be K = {}", case.k)), "{error}");
    }
}

#[test]
fn weights_of_8_bits_stay_so_in_products_of_floats() {
    let (k, n) = (37, 21);
    let case = Case { bits: 8, block: 64, k, n, zeros: false, bias: false };
    let bytes = case.bytes(k * n, 3);
    let scales: Vec<f32> = (0..n).map(|i| (i % 5 + 1) as f32 / 64.0).collect();
    for (op, signed, zero) in [
        ("MatMul", true, false),
        ("MatMul", false, true),
        ("Gemm", true, true),
        ("Gemm", false, false),
    ] {
        let gemm = op == "Gemm";
        let dims = if gemm { [n, k] } else { [k, n] };
        let of_bytes = |bytes: &[u8], dims: &[usize]| match signed {
            true => {
                let values: Vec<i8> = bytes.iter().map(|b| *b as i8).collect();
                Tensor::from_slice(&values, dims).unwrap()
            }
            false => Tensor::from_slice(bytes, dims).unwrap(),
        };
        let bias: Vec<f32> = (0..n).map(|i| i as f32).collect();
        let model = ModelBuilder::new(17)
            .input("x", DType::F32, &["rows", "?"])
            .init("w", of_bytes(&bytes, &dims))
            .init("scales", Tensor::from_slice(&scales, &[n]).unwrap())
            .init("zeros", of_bytes(&bytes[..n], &[n]))
            .init("bias", Tensor::from_slice(&bias, &[n]).unwrap())
            .node("DequantizeLinear", &["w", "scales", if zero { "zeros" } else { "" }], &["b"])
            .attr("axis", i64::from(!gemm));
        let model = match gemm {
            true => model.node("Gemm", &["x", "b", "bias"], &["y"]).attr("transB", 1i64),
            false => model.node("MatMul", &["x", "b"], &["y"]),
        };
        let bytes_of_model = model.output("y", DType::F32).bytes();
        let load = |passes| {
            let options = LoadOptions { passes, ..LoadOptions::default() };
            let model = Model::from_bytes(&bytes_of_model, None, &options).unwrap();
            Session::new(model, &SessionOptions::default()).unwrap()
        };
        let (small, floats) = (load(PassChoice::All), load(PassChoice::None));
        for rows in [1, 4, 9] {
            let x: Vec<f32> = (0..rows * k).map(|i| (i % 13) as f32 / 6.0 - 1.0).collect();
            let x = Tensor::from_slice(&x, &[rows, k]).unwrap();
            let plan = small.plan_view(&[Some(x.view())]).unwrap();
            let kernel = if rows > 4 { "gemm n bits" } else { "gemv n bits" };
            assert!(plan.steps.iter().any(|step| step.kernel == kernel), "{op}, {rows} rows");
            let got = small.run(&[("x", x.view())], &[]).unwrap().remove(0);
            let want = floats.run(&[("x", x.view())], &[]).unwrap().remove(0);
            let want = want.as_slice::<f32>().unwrap();
            let most = want.iter().fold(0f32, |most, x| most.max(x.abs()));
            for (got, want) in got.as_slice::<f32>().unwrap().iter().zip(want) {
                // Sums before the zero point is taken off are a few times as large.
                assert!((got - want).abs() <= 1e-5 * most, "{op} {signed} {zero}: {got} {want}");
            }
        }
    }
}

#[test]
fn what_is_not_supported_is_named() {
    let case = Case { bits: 4, block: 32, k: 64, n: 5, zeros: false, bias: false };
    let int = AttributeValue::Int;
    for (model, expected) in [
        (case.model().attr("bits", int(3)), "bits is 3"),
        (case.model().attr("block_size", int(24)), "block_size is 24"),
        (case.model().attr("K", int(0)), "K is 0"),
        (case.model().attr("K", int(128)), "B is u8[5,2,16]; 320 elements of u8 expected"),
        (case.model().attr("weight_prepacked", int(1)), "packed for another engine"),
        (case.model().input("scales", DType::F32, &["10"]), "scales is no constant"),
    ] {
        let error = load(model).err().unwrap().to_string();
        assert!(error.contains(expected), "{error}");
    }
}
