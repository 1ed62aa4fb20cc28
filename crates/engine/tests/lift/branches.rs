//! States inside the branches of If.

use super::harness::{KEEP, Rng, Sequence, seeds, session};
use stead_onnx::{Graph, ModelBuilder};
use stead_tensor::{Bool, DType, Tensor};

/// A GRU in one branch, a recurrence written by hand in the other; a condition chooses at each step.
fn branches(rng: &mut Rng, outside: bool) -> Vec<u8> {
    let hidden = 3usize;
    let then = ModelBuilder::new(17)
        .node("GRU", &["x", "w", "r", "", "", if outside { "h0" } else { "" }], &["y4"])
        .named("gru")
        .attr("hidden_size", hidden as i64)
        .node("Squeeze", &["y4", "axis"], &["r1"])
        .output("r1", DType::F32)
        .graph();
    let body = ModelBuilder::new(17)
        .input("s", DType::F32, &["b", "3"])
        .input("xt", DType::F32, &["b", "3"])
        .node("Mul", &["s", "decay"], &["kept"])
        .node("Add", &["kept", "xt"], &["s_next"])
        .node("Identity", &["s_next"], &["yt"])
        .output("s_next", DType::F32)
        .output("yt", DType::F32)
        .graph();
    let inner = ModelBuilder::new(17)
        .node("Scan", &["first", "x"], &["", "r2"])
        .named("scan")
        .attr("num_scan_inputs", 1)
        .attr("body", body)
        .output("r2", DType::F32);
    let inner = if outside {
        inner
    } else {
        // The initial value is computed in the branch, from the shape of the input.
        let mut model = inner.unchecked();
        let extra = ModelBuilder::new(17)
            .node("Shape", &["x"], &["dims"])
            .node("Gather", &["dims", "behind"], &["state_dims"])
            .node("ConstantOfShape", &["state_dims"], &["first"])
            .attr("value", Tensor::from_slice(&[0.25f32], &[1]).unwrap())
            .graph();
        model.graph.nodes.splice(0..0, extra.nodes);
        let mut graph = ModelBuilder::new(17);
        for output in model.graph.outputs.clone() {
            graph = graph.output_of(&output.name, output.ty);
        }
        let mut graph = graph.unchecked();
        graph.graph.nodes = model.graph.nodes;
        return if_model(rng, then, graph.graph, hidden, outside);
    };
    if_model(rng, then, inner.graph(), hidden, outside)
}

fn if_model(rng: &mut Rng, then: Graph, other: Graph, hidden: usize, outside: bool) -> Vec<u8> {
    let mut model = ModelBuilder::new(17)
        .input("x", DType::F32, &["t", "b", "3"])
        .input("choice", DType::Bool, &[])
        .init("w", rng.tensor(&[1, 3 * hidden, 3]))
        .init("r", rng.tensor(&[1, 3 * hidden, hidden]))
        .init("axis", Tensor::from_slice(&[1i64], &[1]).unwrap())
        .init("behind", Tensor::from_slice(&[1i64, 2], &[2]).unwrap())
        .init("decay", rng.tensor(&[3]));
    if outside {
        // One initial value is a constant, the other comes from the input in front of the branches.
        model = model
            .init("h0", rng.tensor(&[1, 2, hidden]))
            .init("zero", Tensor::scalar(0i64).unwrap())
            .node("Gather", &["x", "zero"], &["x0"])
            .node("Sin", &["x0"], &["first"]);
    }
    model
        .node("If", &["choice"], &["y"])
        .attr("then_branch", then)
        .attr("else_branch", other)
        .output("y", DType::F32)
        .bytes()
}

#[test]
fn states_pass_through_the_branch_that_does_not_touch_them() {
    for seed in seeds() {
        let mut rng = Rng(seed);
        for outside in [false, true] {
            let at = format!("outside {outside} (STEAD_SEED={seed})");
            let bytes = branches(&mut rng, outside);
            let (both, alone) = (session(&bytes, KEEP), session(&bytes, KEEP));
            assert_eq!(both.model().lifted().len(), 2, "{at}");
            let mut mixed = Sequence::new(&both);
            // Each branch for itself, in a sequence that never takes the other.
            let mut apart = [Sequence::new(&alone), Sequence::new(&alone)];
            let first = rng.tensor(&[1, 2, 3]);
            for step in 0..10 {
                let len = 1 + rng.below(4);
                // Where the first input begins the state, the sequences must begin with the same.
                let x = if step == 0 { first.clone() } else { rng.tensor(&[len, 2, 3]) };
                let choice = rng.coin();
                let own = |choice: bool| [x.clone(), Tensor::scalar(Bool::from(choice)).unwrap()];
                let result = mixed.step(&own(choice));
                if step == 0 && outside {
                    // The initial value is that of the first step, whichever branch it takes.
                    apart[usize::from(!choice)].step(&own(choice));
                }
                let expected = apart[usize::from(choice)].step(&own(choice));
                assert_eq!(result, expected, "{at}, step {step}");
            }
        }
    }
}
