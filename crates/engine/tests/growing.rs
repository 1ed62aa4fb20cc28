//! States that grow where they lie give what copied ones give, to the last bit, and copy nothing.
#![allow(clippy::unwrap_used, unsafe_code)]

mod decoder;

use decoder::{Sizes, decoder};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use stead_engine::{Growing, LoadOptions, Model, RunContext, RunError, Session, SessionOptions};
use stead_onnx::ModelBuilder;
use stead_tensor::{DType, Growth, Shape, Tensor};

struct Watching;

thread_local! {
    static LARGEST: Cell<usize> = const { Cell::new(0) };
}

// SAFETY: every call goes to the system allocator unchanged; the note of its size allocates nothing.
unsafe impl GlobalAlloc for Watching {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        LARGEST.set(LARGEST.get().max(layout.size()));
        // SAFETY: the caller's promise is passed on.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise is passed on.
        unsafe { System.dealloc(ptr, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Watching = Watching;

/// A model whose first inputs are data and the others states, each with the output of the same place among the last;
/// all grow along `axis`.
struct Case {
    session: Session,
    data: usize,
    axis: usize,
}

impl Case {
    fn new(bytes: &[u8], data: usize, axis: usize) -> Case {
        let model = Model::from_bytes(bytes, None, &LoadOptions::default()).unwrap();
        Case { session: Session::new(model, &SessionOptions::default()).unwrap(), data, axis }
    }

    fn states(&self) -> usize {
        self.session.model().inputs().len() - self.data
    }

    fn first_output(&self) -> usize {
        self.session.model().outputs().len() - self.states()
    }

    /// The data outputs and the states behind them, all copied.
    fn copied(&self, data: &[Tensor], states: &[Tensor]) -> Result<Vec<Tensor>, RunError> {
        let inputs: Vec<_> = data.iter().chain(states).map(|t| Some(t.view())).collect();
        self.session.run_with(&inputs, &RunContext::default(), |outputs| {
            (0..outputs.len()).map(|i| outputs.get(i).unwrap().to_tensor().unwrap()).collect()
        })
    }

    /// The same with states that grow.
    fn grown(&self, data: &[Tensor], states: &[Tensor]) -> Result<Vec<Tensor>, RunError> {
        let first = self.first_output();
        let growing = states.iter().enumerate().map(|(i, state)| Growing {
            input: self.data + i,
            output: first + i,
            growth: Growth::new(state, self.axis).unwrap(),
        });
        let mut growing: Vec<_> = growing.collect();
        let mut inputs: Vec<_> = data.iter().map(|t| Some(t.view())).collect();
        inputs.resize(self.data + states.len(), None);
        let cx = RunContext::default();
        let mut made: Vec<Tensor> =
            self.session.run_growing(&inputs, &mut growing, &cx, |outputs| {
                for i in 0..states.len() {
                    assert_eq!(outputs.grown(first + i), Some(i));
                    assert!(outputs.get(first + i).is_err(), "it may lie in another order");
                }
                (0..first).map(|i| outputs.get(i).unwrap().to_tensor().unwrap()).collect()
            })?;
        made.extend(growing.into_iter().map(|state| state.growth.finish()));
        Ok(made)
    }
}

fn zeros(dims: &[usize]) -> Tensor {
    Tensor::zeros(DType::F32, Shape::new(dims).unwrap()).unwrap()
}

fn numbers(seed: usize, dims: &[usize]) -> Tensor {
    let n: usize = dims.iter().product();
    let values: Vec<f32> =
        (0..n).map(|i| (((i + 7 * seed) * 37 % 101) as f32 - 50.0) / 40.0).collect();
    Tensor::from_slice(&values, dims).unwrap()
}

const SIZES: Sizes = Sizes { layers: 2, heads: 3, head: 8, vocabulary: 17, positions: 128 };

fn tokens(seed: usize, count: usize) -> Tensor {
    let ids: Vec<i64> = (0..count).map(|i| ((seed + i) * 5 % 17) as i64).collect();
    Tensor::from_slice(&ids, &[1, count]).unwrap()
}

/// Steps of a decoder, forks of it, and steps that fail.
#[test]
fn a_decoder_gives_the_same_bits() {
    let case = Case::new(&decoder(SIZES), 1, 2);
    let empty = vec![zeros(&[1, SIZES.heads, 0, SIZES.head]); case.states()];
    let (mut copied, mut grown) = (vec![empty.clone(); 3], vec![empty; 3]);
    for step in 0..40 {
        let at = step * 7 % 3;
        let data = [tokens(step, 1 + step % 3)];
        let wrong = Tensor::from_slice(&[1_000i64], &[1, 1]).unwrap();
        assert!(case.grown(&[wrong], &grown[at]).is_err());
        let (a, b) =
            (case.copied(&data, &copied[at]).unwrap(), case.grown(&data, &grown[at]).unwrap());
        assert_eq!(a, b, "step {step}");
        (copied[at], grown[at]) = (a[1..].to_vec(), b[1..].to_vec());
        if step % 9 == 8 {
            let to = (at + 1) % 3;
            (copied[to], grown[to]) = (copied[at].clone(), grown[at].clone());
        }
        for (a, b) in copied.iter().zip(&grown) {
            assert_eq!(a, b, "nobody sees the steps of others");
        }
    }
}

#[test]
fn a_step_copies_no_cache_but_when_it_doubles() {
    let sizes = Sizes { layers: 1, heads: 4, head: 64, vocabulary: 17, positions: 300 };
    let case = Case::new(&decoder(sizes), 1, 2);
    let row = sizes.heads * sizes.head * 4;
    let mut states = vec![zeros(&[1, sizes.heads, 0, sizes.head]); case.states()];
    let mut doubled = Vec::new();
    for step in 0..270 {
        LARGEST.set(0);
        let made = case.grown(&[tokens(step, 1)], &states).unwrap();
        states = made[1..].to_vec();
        // Below that length plans are as large.
        if step >= 100 && LARGEST.get() >= step * row / 2 {
            doubled.push((step, LARGEST.get()));
        }
    }
    let expected = [(128, 256 * row), (256, 512 * row)];
    assert_eq!(doubled, expected, "the length at which a buffer was made, and its size");
}

/// Attention as ONNX defines it since 23, whose caches are inputs and outputs of the node itself.
#[test]
fn the_caches_of_onnx_attention_grow() {
    for dtype in [DType::F32, DType::F16] {
        let float = |b: ModelBuilder, from: &str, to: &str| {
            let b = b.node("Cast", &[from], &[to]);
            b.attr("to", if dtype == DType::F32 { 1i64 } else { 10 })
        };
        let mut b = ModelBuilder::new(23);
        for name in ["q0", "k0", "v0"] {
            b = b.input(name, DType::F32, &["1", "2", "time", "4"]);
        }
        for name in ["past_k", "past_v"] {
            b = b.input(name, dtype, &["1", "2", "past", "4"]);
        }
        for name in ["q", "k", "v"] {
            b = float(b, &format!("{name}0"), name);
        }
        let inputs = ["q", "k", "v", "", "past_k", "past_v"];
        b = b.node("Attention", &inputs, &["y", "present_k", "present_v"]).attr("is_causal", 1i64);
        for name in ["y", "present_k", "present_v"] {
            b = b.output(name, dtype);
        }
        let case = Case::new(&b.bytes(), 3, 2);
        let empty = Tensor::zeros(dtype, Shape::new(&[1, 2, 0, 4]).unwrap()).unwrap();
        let (mut copied, mut grown) = (vec![empty.clone(); 2], vec![empty; 2]);
        for step in 0..9 {
            let data = [0, 1, 2].map(|i| numbers(3 * step + i, &[1, 2, 1 + step % 2, 4]));
            let (a, b) = (case.copied(&data, &copied).unwrap(), case.grown(&data, &grown).unwrap());
            assert_eq!(a, b, "{dtype} step {step}");
            (copied, grown) = (a[1..].to_vec(), b[1..].to_vec());
        }
    }
}

/// The state along each axis, and what a model may do with it besides.
#[test]
fn any_axis_and_any_reader() {
    for axis in 0..3 {
        let dims: Vec<String> = (0..3)
            .map(|at| if at == axis { "n".to_owned() } else { (at + 2).to_string() })
            .collect();
        let dims: Vec<&str> = dims.iter().map(String::as_str).collect();
        let model = ModelBuilder::new(17)
            .input("x", DType::F32, &dims)
            .input("past", DType::F32, &dims)
            .init("two", Tensor::scalar(2.0f32).unwrap())
            .node("Concat", &["past", "x", "x"], &["present"])
            .attr("axis", axis as i64)
            .node("Mul", &["past", "two"], &["before"])
            .node("Transpose", &["present"], &["turned"])
            .attr("perm", vec![2i64, 0, 1])
            .node("ReduceSum", &["present"], &["sum"])
            .attr("keepdims", 0i64)
            .node("Shape", &["present"], &["length"])
            .output("before", DType::F32)
            .output("turned", DType::F32)
            .output("sum", DType::F32)
            .output("length", DType::I64)
            .output("present", DType::F32);
        let case = Case::new(&model.bytes(), 1, axis);
        let size =
            |n: usize| (0..3).map(|at| if at == axis { n } else { at + 2 }).collect::<Vec<_>>();
        let (mut copied, mut grown) = (zeros(&size(0)), zeros(&size(0)));
        for step in 0..6 {
            let data = [numbers(step, &size(step % 3))];
            let (a, b) =
                (case.copied(&data, &[copied]).unwrap(), case.grown(&data, &[grown]).unwrap());
            assert_eq!(a, b, "axis {axis}, step {step}");
            (copied, grown) = (a[4].clone(), b[4].clone());
        }
    }
}

/// A model that does something else with its state gives it as any other output.
#[test]
fn what_is_not_appended_is_an_output_like_others() {
    let model = ModelBuilder::new(17)
        .input("x", DType::F32, &["n", "2"])
        .input("past", DType::F32, &["m", "2"])
        .node("Concat", &["x", "past"], &["present"])
        .attr("axis", 0i64)
        .output("present", DType::F32);
    let case = Case::new(&model.bytes(), 1, 0);
    let (x, past) = (numbers(1, &[1, 2]), numbers(2, &[3, 2]));
    let growth = Growth::new(&past, 0).unwrap();
    let mut growing = [Growing { input: 1, output: 0, growth }];
    let cx = RunContext::default();
    let got = case.session.run_growing(&[Some(x.view()), None], &mut growing, &cx, |outputs| {
        assert_eq!(outputs.grown(0), None);
        outputs.get(0).unwrap().to_tensor().unwrap()
    });
    assert_eq!(got.unwrap(), case.copied(&[x], &[past]).unwrap()[0]);
}

/// After a step by one, the plan of the next one can be made in advance.
#[test]
fn the_next_length_is_planned_ahead() {
    let case = Case::new(&decoder(SIZES), 1, 2);
    let mut states = vec![zeros(&[1, SIZES.heads, 0, SIZES.head]); case.states()];
    for step in 0..6 {
        // A long step says nothing about the next one.
        let count = if step == 0 { 5 } else { 1 };
        states = case.grown(&[tokens(step, count)], &states).unwrap()[1..].to_vec();
        case.session.plan_ahead();
        let stats = case.session.plan_stats();
        let planned = if step == 0 { 1 } else { step + 2 };
        assert_eq!((stats.plans, stats.misses), (planned, 2.min(step as u64 + 1)), "step {step}");
    }
}
