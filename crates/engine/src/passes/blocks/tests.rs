use super::super::testing::{lowered, ops};
use super::run;
use stead_kernels::Isa;
use stead_onnx::ModelBuilder;
use stead_tensor::{DType, Tensor};

/// An input `x` of so many channels, and weights `w{outputs}x{inputs}x{kernel}`.
fn model(channels: &str, weights: &[(usize, usize, usize)]) -> ModelBuilder {
    let b = ModelBuilder::new(17).input("x", DType::F32, &["n", channels, "h", "w"]);
    weights.iter().fold(b, |b, &(outputs, inputs, kernel)| {
        let values = vec![0.1f32; outputs * inputs * kernel * kernel];
        let tensor = Tensor::from_slice(&values, &[outputs, inputs, kernel, kernel]).unwrap();
        b.init(&format!("w{outputs}x{inputs}x{kernel}"), tensor)
    })
}

fn check(label: &str, builder: ModelBuilder, expected: &[&str]) {
    let mut ir = lowered(builder);
    run(&mut ir, Isa::Scalar).unwrap();
    assert_eq!(ops(&ir), expected, "{label}");
}

#[test]
fn before_and_after() {
    let out = |b: ModelBuilder| b.output("y", DType::F32);
    check(
        "a residual",
        out(model("3", &[(32, 3, 3), (32, 32, 3)])
            .node("Conv", &["x", "w32x3x3"], &["a"])
            .node("Conv", &["a", "w32x32x3"], &["b"])
            .node("Add", &["a", "b"], &["c"])
            .node("Relu", &["c"], &["y"])),
        &["stead.BlockedConv", "stead.BlockedConv", "stead.FromBlocks"],
    );
    check(
        "pointwise ones alone",
        out(model("32", &[(32, 32, 1)]).node("Conv", &["x", "w32x32x1"], &["y"])),
        &["Conv"],
    );
    check(
        "pointwise ones beside others",
        out(model("32", &[(16, 32, 1), (32, 16, 3)])
            .node("Conv", &["x", "w16x32x1"], &["a"])
            .node("Conv", &["a", "w32x16x3"], &["y"])),
        &["stead.ToBlocks", "stead.BlockedConv", "stead.BlockedConv", "stead.FromBlocks"],
    );
    check(
        "groups of several channels",
        out(model("4", &[(4, 2, 3)]).node("Conv", &["x", "w4x2x3"], &["y"]).attr("group", 2i64)),
        &["Conv"],
    );
    check(
        "weights that arrive at run time",
        out(ModelBuilder::new(17)
            .input("x", DType::F32, &["n", "3", "h", "w"])
            .input("w", DType::F32, &["8", "3", "3", "3"])
            .node("Conv", &["x", "w"], &["y"])),
        &["Conv"],
    );
    check(
        "channels that do not fill blocks are joined in planes",
        out(model("3", &[(20, 3, 3)])
            .node("Conv", &["x", "w20x3x3"], &["a"])
            .node("Concat", &["a", "a"], &["y"])
            .attr("axis", 1i64)),
        &["stead.BlockedConv", "stead.FromBlocks", "Concat"],
    );
    check(
        "a gate, whose vectors stay as they are",
        out(model("3", &[(16, 3, 3), (16, 16, 1)])
            .node("Conv", &["x", "w16x3x3"], &["a"])
            .node("GlobalAveragePool", &["a"], &["p"])
            .node("Conv", &["p", "w16x16x1"], &["q"])
            .node("Sigmoid", &["q"], &["s"])
            .node("Mul", &["a", "s"], &["g"])
            .node("GlobalAveragePool", &["g"], &["y"])),
        &[
            "stead.BlockedConv",
            "stead.BlockedGlobalAverage",
            "Conv",
            "Sigmoid",
            "stead.BlockedAffine",
            "stead.BlockedGlobalAverage",
        ],
    );
    let lone = Tensor::from_slice(&[0.1f32; 16 * 9], &[16, 1, 3, 3]).unwrap();
    check(
        "a gate between a convolution that makes the means and one that it is multiplied into",
        out(model("3", &[(16, 3, 3), (16, 16, 1), (32, 16, 1)])
            .init("lone", lone)
            .node("Conv", &["x", "w16x3x3"], &["a"])
            .node("Conv", &["a", "lone"], &["b"])
            .attr("group", 16i64)
            .node("Relu", &["b"], &["c"])
            .node("GlobalAveragePool", &["c"], &["p"])
            .node("Conv", &["p", "w16x16x1"], &["q"])
            .node("Sigmoid", &["q"], &["s"])
            .node("Mul", &["c", "s"], &["g"])
            .node("Conv", &["g", "w32x16x1"], &["y"])),
        &[
            "stead.BlockedConv",
            "stead.BlockedConv",
            "Conv",
            "Sigmoid",
            "stead.BlockedConv",
            "stead.FromBlocks",
        ],
    );
}

#[test]
fn a_region_with_more_borders_than_it_pays_for_stays_in_planes() {
    // One convolution of neighbours, and three values that Softmax reads.
    let b = model("3", &[(16, 3, 3)]).node("Conv", &["x", "w16x3x3"], &["a"]);
    let b = ["Relu", "Tanh", "Sigmoid"].iter().enumerate().fold(b, |b, (i, op)| {
        let (mid, out) = (format!("m{i}"), format!("y{i}"));
        b.node(op, &["a"], &[&mid]).node("Softmax", &[&mid], &[&out]).output(&out, DType::F32)
    });
    check("borders", b, &["Conv", "Relu", "Softmax", "Tanh", "Softmax", "Sigmoid", "Softmax"]);
}
