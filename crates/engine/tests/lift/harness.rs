//! Models with lifted states, sequences over them, and the comparison with the whole signal.

use stead_engine::{Lift, LoadError, LoadOptions, Model, RunContext, Session, SessionOptions};
use stead_tensor::{Tensor, TensorView};

const SEEDS: u64 = 24;

pub fn seeds() -> Vec<u64> {
    let chosen = std::env::var("STEAD_SEED").ok().and_then(|s| s.parse().ok());
    chosen.map_or((1..=SEEDS).collect(), |seed| vec![seed])
}

/// SplitMix64.
pub struct Rng(pub u64);

impl Rng {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }

    pub fn coin(&mut self) -> bool {
        self.next().is_multiple_of(2)
    }

    pub fn tensor(&mut self, dims: &[usize]) -> Tensor {
        let count: usize = dims.iter().product();
        let unit = |v: u64| (v >> 40) as f32 / (1u64 << 23) as f32 - 1.0;
        let values: Vec<f32> = (0..count).map(|_| 0.8 * unit(self.next())).collect();
        Tensor::from_slice(&values, dims).unwrap()
    }

    /// Lengths of one or more that add up to `total`.
    pub fn chunks(&mut self, total: usize) -> Vec<usize> {
        let mut left = total;
        let mut chunks = Vec::new();
        while left > 0 {
            let len = 1 + self.below(left.min(1 + total / 2));
            chunks.push(len);
            left -= len;
        }
        chunks
    }
}

pub fn load(bytes: &[u8], lift: Option<Lift>) -> Result<Model, LoadError> {
    Model::from_bytes(bytes, None, &LoadOptions { lift, ..LoadOptions::default() })
}

pub fn session(bytes: &[u8], lift: Option<Lift>) -> Session {
    Session::new(load(bytes, lift).unwrap(), &SessionOptions::default()).unwrap()
}

pub const KEEP: Option<Lift> = Some(Lift { zero_init: false, recurrences: true });

pub const ZERO: Option<Lift> = Some(Lift { zero_init: true, recurrences: true });

/// A part of a tensor along an axis.
pub fn part(t: &Tensor, axis: usize, from: usize, len: usize) -> Tensor {
    let dims = t.shape().dims().to_vec();
    let (outer, inner): (usize, usize) =
        (dims[..axis].iter().product(), dims[axis + 1..].iter().product());
    let all = t.as_slice::<f32>().unwrap();
    let rows = (0..outer).flat_map(|o| {
        let start = (o * dims[axis] + from) * inner;
        all[start..start + len * inner].to_vec()
    });
    let mut part = dims.clone();
    part[axis] = len;
    Tensor::from_slice(&rows.collect::<Vec<_>>(), &part).unwrap()
}

/// A sequence: what carries states from one step to the next.
pub struct Sequence<'a> {
    pub session: &'a Session,
    pub states: Vec<Option<Tensor>>,
}

impl<'a> Sequence<'a> {
    pub fn new(session: &'a Session) -> Self {
        Sequence { session, states: vec![None; session.model().lifted().len()] }
    }

    /// One step with the model's own inputs by position; gives its own outputs.
    pub fn step(&mut self, own: &[Tensor]) -> Vec<Tensor> {
        let mut inputs: Vec<Option<TensorView<'_>>> = own.iter().map(|t| Some(t.view())).collect();
        inputs.extend(self.states.iter().map(|s| s.as_ref().map(Tensor::view)));
        let run = self.session.run_with(&inputs, &RunContext::default(), |outputs| {
            (0..outputs.len())
                .map(|i| outputs.get(i).unwrap().to_tensor().unwrap())
                .collect::<Vec<_>>()
        });
        let mut all = run.unwrap();
        let states = all.split_off(all.len() - self.states.len());
        self.states = states.into_iter().map(Some).collect();
        all
    }
}

/// A model with a signal as its first input, and the axes of time.
pub struct Case {
    pub label: String,
    pub bytes: Vec<u8>,
    pub x: Tensor,
    pub x_axis: usize,
    pub y_axis: usize,
    /// Valid steps of each row, where the model takes them as its second input.
    pub lengths: Option<Vec<i32>>,
    pub states: usize,
}

pub fn given(x: Tensor, lengths: Option<&[i32]>, from: usize) -> Vec<Tensor> {
    let mut inputs = vec![x];
    if let Some(lengths) = lengths {
        let left: Vec<i32> = lengths.iter().map(|l| (l - from as i32).max(0)).collect();
        inputs.push(Tensor::from_slice(&left, &[left.len()]).unwrap());
    }
    inputs
}

/// The first output for a signal that comes in these chunks.
pub fn in_chunks(case: &Case, session: &Session, chunks: &[usize]) -> Vec<Tensor> {
    let mut sequence = Sequence::new(session);
    let mut from = 0;
    let mut results = Vec::new();
    for &len in chunks {
        let x = part(&case.x, case.x_axis, from, len);
        let mut own = given(x, case.lengths.as_deref(), from);
        if let Some(lengths) = own.get_mut(1) {
            let clamped: Vec<i32> =
                lengths.as_slice::<i32>().unwrap().iter().map(|&l| l.min(len as i32)).collect();
            *lengths = Tensor::from_slice(&clamped, &[clamped.len()]).unwrap();
        }
        results.push(sequence.step(&own).remove(0));
        from += len;
    }
    results
}

pub fn check(case: &Case, seed: u64, rng: &mut Rng) {
    let at = format!("{} (STEAD_SEED={seed})", case.label);
    let plain = session(&case.bytes, None);
    let lifted = session(&case.bytes, KEEP);
    assert_eq!(lifted.model().lifted().len(), case.states, "{at}");
    let whole_inputs = given(case.x.clone(), case.lengths.as_deref(), 0);
    let whole = Sequence::new(&plain).step(&whole_inputs).remove(0);
    let reset = Sequence::new(&lifted).step(&whole_inputs).remove(0);
    assert_eq!(whole, reset, "{at}: a first step is the run of the model as it was");

    let chunks = rng.chunks(case.x.shape()[case.x_axis]);
    let results = in_chunks(case, &lifted, &chunks);
    let mut from = 0;
    for (result, &len) in results.iter().zip(&chunks) {
        let expected = part(&whole, case.y_axis, from, len);
        assert_eq!(result.shape(), expected.shape(), "{at}, chunks {chunks:?}");
        let pairs =
            result.as_slice::<f32>().unwrap().iter().zip(expected.as_slice::<f32>().unwrap());
        for (a, b) in pairs {
            assert!((a - b).abs() <= 1e-5, "{at}, chunks {chunks:?}: {a} for {b} at {from}");
        }
        from += len;
    }
    assert_eq!(results, in_chunks(case, &lifted, &chunks), "{at}: the same chunks again");
}
