//! Image nets give the same in blocks of channels as in planes, and as without any pass.
#![allow(clippy::unwrap_used)]

mod graph;
mod layers;

use graph::{Conv, Graph, Image, Numbers};
use stead_engine::{
    Isa, LoadOptions, Model, Outputs, Parallel, PassChoice, RunContext, Session, SessionOptions,
};
use stead_tensor::Tensor;

/// The passes without the one that is tested here.
const IN_PLANES: PassChoice = PassChoice::AllBut("blocks of channels");

fn session(bytes: &[u8], passes: PassChoice, isa: Option<Isa>) -> Session {
    let load = LoadOptions { passes, ..LoadOptions::default() };
    let model = Model::from_bytes(bytes, None, &load).unwrap();
    Session::new(model, &SessionOptions { isa, ..SessionOptions::default() }).unwrap()
}

/// The kernels of a plan, and how many of them work on blocks.
fn kernels(session: &Session, x: &Tensor) -> Vec<&'static str> {
    let view = session.plan_view(&[Some(x.view())]).unwrap();
    view.steps.iter().map(|step| step.kernel).collect()
}

fn close(label: &str, got: &[Tensor], want: &[Tensor]) {
    assert_eq!(got.len(), want.len(), "{label}");
    for (got, want) in got.iter().zip(want) {
        assert_eq!(got.shape(), want.shape(), "{label}");
        let (got, want) = (got.as_slice::<f32>().unwrap(), want.as_slice::<f32>().unwrap());
        for (i, (got, want)) in got.iter().zip(want).enumerate() {
            let bound = 2e-4 * (1.0 + want.abs());
            assert!((got - want).abs() <= bound, "{label}: [{i}] {got} for {want}");
        }
    }
}

/// Checks a net on every instruction set against the same without passes, and that it runs so many steps `from
/// blocks`.
fn check(label: &str, bytes: &[u8], x: &Tensor) -> Vec<&'static str> {
    let plain = session(bytes, PassChoice::None, None).run(&[("x", x.view())], &[]).unwrap();
    let planes = session(bytes, IN_PLANES, None);
    assert!(!kernels(&planes, x).iter().any(|k| k.contains("blocks")), "{label}");
    close(&format!("{label} in planes"), &planes.run(&[("x", x.view())], &[]).unwrap(), &plain);
    for isa in Isa::available() {
        let blocked =
            session(bytes, PassChoice::All, Some(isa)).run(&[("x", x.view())], &[]).unwrap();
        close(&format!("{label} {isa:?}"), &blocked, &plain);
    }
    kernels(&session(bytes, PassChoice::All, None), x)
}

fn count(kernels: &[&str], kernel: &str) -> usize {
    kernels.iter().filter(|k| **k == kernel).count()
}

#[test]
fn residual_layers_are_one_step_for_each_convolution() {
    let (mut g, x) = Graph::new(1, 3);
    let x = g.conv(&x, Conv::new(32, 7).strided(2));
    let x = g.like("Relu", &[&x]);
    let x = layers::max_pool(&mut g, &x);
    let x = layers::bottleneck(&mut g, &x, 24, 1);
    let x = layers::bottleneck(&mut g, &x, 40, 2);
    let y = layers::head(&mut g, &x);
    let bytes = g.bytes(&[&y]);
    let kernels = check("residual", &bytes, &Numbers(2).tensor(&[2, 3, 37, 30], 1.0));
    assert_eq!(count(&kernels, "conv of blocks") + count(&kernels, "conv 1x1 of blocks"), 9);
    assert_eq!(count(&kernels, "to blocks") + count(&kernels, "from blocks"), 0, "{kernels:?}");
    assert_eq!(kernels.len(), 1 + 1 + 8 + 1 + 1, "{kernels:?}");
}

#[test]
fn gates_of_channels_stay_in_blocks() {
    let (mut g, x) = Graph::new(3, 3);
    let x = g.conv(&x, Conv::new(20, 3).strided(2));
    let x = layers::hard_swish(&mut g, &x);
    let x = layers::inverted(&mut g, &x, 72, 24, 2);
    let x = layers::inverted(&mut g, &x, 60, 24, 1);
    let y = layers::head(&mut g, &x);
    let bytes = g.bytes(&[&y]);
    let kernels = check("gates", &bytes, &Numbers(4).tensor(&[3, 3, 29, 31], 1.0));
    assert_eq!(count(&kernels, "conv depthwise of blocks"), 2, "{kernels:?}");
    // Weights are multiplied with the gates, and what is convolved makes the means.
    assert_eq!(count(&kernels, "scale blocks"), 0, "{kernels:?}");
    assert_eq!(count(&kernels, "global pool of blocks"), 1, "{kernels:?}");
    assert_eq!(count(&kernels, "to blocks") + count(&kernels, "from blocks"), 0, "{kernels:?}");
}

#[test]
fn dense_layers_are_joined_in_blocks() {
    let (mut g, x) = Graph::new(5, 3);
    let x = g.conv(&x, Conv::new(32, 3));
    let mut all = x;
    for _ in 0..3 {
        let new = layers::dense(&mut g, &all, 16);
        let joined = g.op("Concat", &[&all.name, &new.name]);
        g.attr("axis", 1i64);
        all = Image { name: joined, channels: all.channels + 16 };
    }
    let y = layers::head(&mut g, &all);
    let bytes = g.bytes(&[&y]);
    let kernels = check("dense", &bytes, &Numbers(6).tensor(&[1, 3, 14, 14], 1.0));
    assert_eq!(count(&kernels, "scale blocks"), 3, "{kernels:?}");
    assert_eq!(count(&kernels, "to blocks") + count(&kernels, "from blocks"), 0, "{kernels:?}");
}

#[test]
fn channels_that_are_shuffled_leave_and_enter() {
    let (mut g, x) = Graph::new(7, 3);
    let x = g.conv(&x, Conv::new(24, 3).strided(2));
    let x = layers::shuffled(&mut g, &x);
    let y = layers::shuffled(&mut g, &x);
    let bytes = g.bytes(&[&y]);
    let kernels = check("shuffled", &bytes, &Numbers(8).tensor(&[2, 3, 16, 12], 1.0));
    assert_eq!(count(&kernels, "conv depthwise of blocks"), 2, "{kernels:?}");
}

#[test]
fn a_sum_of_different_sizes_is_broadcast() {
    let (mut g, x) = Graph::new(9, 16);
    let wide = g.conv(&x, Conv::new(16, 3));
    let pooled = g.op("AveragePool", &[&wide.name]);
    // One pixel of the 5 by 5 that the input has.
    g.attr("kernel_shape", vec![5i64, 5]);
    let pooled = Image { name: pooled, channels: 16 };
    let small = g.conv(&pooled, Conv::new(16, 1));
    let y = g.like("Add", &[&small, &wide]);
    let y = g.like("Relu", &[&y]);
    let bytes = g.bytes(&[&y]);
    let kernels = check("broadcast", &bytes, &Numbers(10).tensor(&[2, 16, 5, 5], 1.0));
    assert_eq!(count(&kernels, "add"), 1, "{kernels:?}");
}

#[test]
fn pointwise_layers_alone_stay_in_planes() {
    let (mut g, x) = Graph::new(11, 32);
    let x = g.conv(&x, Conv::new(48, 1));
    let x = g.like("Relu", &[&x]);
    let y = g.conv(&x, Conv::new(32, 1));
    let bytes = g.bytes(&[&y]);
    let kernels = check("pointwise", &bytes, &Numbers(12).tensor(&[1, 32, 6, 6], 1.0));
    assert!(!kernels.iter().any(|k| k.contains("blocks")), "{kernels:?}");
}

#[test]
fn random_nets() {
    for seed in 0..60 {
        let (bytes, x) = layers::random_net(seed);
        check(&format!("seed {seed}"), &bytes, &x);
    }
}

/// Two threads, the last task first.
struct Two;

impl Parallel for Two {
    fn threads(&self) -> usize {
        2
    }
    fn for_each(&self, n: usize, f: &(dyn Fn(usize) + Sync)) {
        (0..n).rev().for_each(f);
    }
}

#[test]
fn threads_do_not_change_a_bit() {
    for seed in 0..20 {
        let (bytes, x) = layers::random_net(seed);
        let session = session(&bytes, PassChoice::All, None);
        let run = |context: &RunContext<'_>| {
            let bytes = |o: Outputs<'_>| -> Vec<Vec<u8>> {
                (0..o.len()).map(|i| o.get(i).unwrap().bytes().to_vec()).collect()
            };
            session.run_with(&[Some(x.view())], context, bytes).unwrap()
        };
        let alone = run(&RunContext::default());
        let helped = run(&RunContext { parallel: &Two, ..RunContext::default() });
        assert_eq!(alone, helped, "seed {seed}");
    }
}
