//! One changed model, loaded and run.

use crate::chance::Chance;
use crate::mutate::{Pool, mutate};
use crate::tensors;
use std::time::{Duration, Instant};
use stead_engine::{
    Elements, Form, LoadOptions, Model as Loaded, OwnedOutput, PassChoice, RunContext, RunError,
    Session, SessionOptions, Value,
};
use stead_onnx::Model;
use stead_tensor::{Precision, Tensor};

/// What became of a case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// Refused when it was loaded.
    NotLoaded,
    /// Refused when it was run.
    NotRun,
    Ran,
}

/// Bytes of an arena, and those that constants may become. A changed case is smaller, but for absurd sizes.
const MAX_BYTES: usize = 64 << 20;

/// How long a run may compute before it is cancelled between two steps: sizes multiply along a chain of nodes, and what
/// takes long only because there is much to do is no finding.
const LONG: Duration = Duration::from_secs(2);

/// Operators whose results are never the same.
const RANDOM: [&str; 6] = [
    "RandomNormal",
    "RandomNormalLike",
    "RandomUniform",
    "RandomUniformLike",
    "Multinomial",
    "Bernoulli",
];

/// Changes a model, loads it and runs it three times: on its inputs, on others, and on its inputs again, which give the same.
pub fn run(bytes: &[u8], pool: &Pool<'_>, chance: &mut Chance) -> End {
    let mut model = Model::from_bytes(bytes, None).unwrap();
    // Half of the inputs come with the request, the others are constants; those of a request may have any value.
    let mut given: Vec<(String, Tensor)> = Vec::new();
    let constant = chance.one_in(3);
    let graph = &mut model.graph;
    graph.initializers.retain(|(name, tensor)| {
        let is_input = graph.inputs.iter().any(|input| input.name == *name);
        let fed = is_input && !constant && !chance.one_in(4);
        if fed {
            given.push((name.clone(), tensor.clone()));
        }
        !fed
    });
    if !chance.one_in(4) {
        // A default that nobody can change.
        graph.inputs.retain(|input| given.iter().any(|(name, _)| *name == input.name));
    }
    if !chance.one_in(20) {
        mutate(&mut model, pool, chance);
    }
    let passes = if chance.one_in(4) { PassChoice::None } else { PassChoice::All };
    let options =
        LoadOptions { fold_bytes: MAX_BYTES, passes, lists: true, ..LoadOptions::default() };
    let Ok(loaded) = Loaded::from_bytes(&model.to_bytes(), None, &options) else {
        return End::NotLoaded;
    };
    let precision = if chance.one_in(10) { Precision::Bf16 } else { Precision::F32 };
    let options = SessionOptions {
        precision,
        max_arena_bytes: MAX_BYTES,
        outputs_apart: chance.one_in(2),
        max_plans: 1 + chance.below(3),
        ..SessionOptions::default()
    };
    let Ok(session) = Session::new(loaded, &options) else { return End::NotLoaded };
    let first = infer(&session, &given);
    let other: Vec<(String, Tensor)> = given
        .iter()
        .map(|(name, tensor)| (name.clone(), tensors::changed(tensor, chance)))
        .collect();
    let second = infer(&session, &other);
    if let Ok(first) = &first {
        check_types(&session, first);
        let again = infer(&session, &given);
        let ops = &session.model().info().op_counts;
        let is_random = ops.iter().any(|(op, _)| {
            RANDOM.iter().any(|random| op.ends_with(random)) || op.ends_with("Dropout")
        });
        match again {
            Err(RunError::Cancelled) => {}
            Err(e) => panic!("refused the second time: {e}"),
            Ok(again) if !is_random => assert!(same(first, &again), "{first:?} became {again:?}"),
            Ok(_) => {}
        }
    }
    if first.is_ok() || second.is_ok() { End::Ran } else { End::NotRun }
}

type Results = Vec<Value<OwnedOutput>>;

/// Runs on these inputs. Those that are not among them are left out.
fn infer(session: &Session, given: &[(String, Tensor)]) -> Result<Results, RunError> {
    let model = session.model();
    let values: Vec<Value<_>> = model
        .inputs()
        .iter()
        .enumerate()
        .map(|(at, spec)| match given.iter().find(|(name, _)| *name == spec.name) {
            Some((_, tensor)) if model.input_form(at) == Form::Sequence => {
                Value::Sequence(vec![tensor.view(), tensor.view()])
            }
            Some((_, tensor)) => Value::Tensor(tensor.view()),
            None => Value::Nothing,
        })
        .collect();
    let until = Instant::now() + LONG;
    let cancelled = || Instant::now() > until;
    let cx = RunContext { cancelled: Some(&cancelled), ..RunContext::default() };
    let wanted: Vec<usize> = (0..model.outputs().len()).collect();
    session.run_values(&values, &cx, &wanted)
}

/// That outputs have the types that the model says.
fn check_types(session: &Session, results: &Results) {
    for (spec, result) in session.model().outputs().iter().zip(results) {
        let found = match result {
            Value::Tensor(tensor) => Some(tensor.dtype),
            Value::Sequence(list) => list.first().map(|tensor| tensor.dtype),
            Value::Map { values, .. } | Value::Maps { values, .. } => Some(values.dtype),
            Value::Nothing => None,
        };
        assert!(found.is_none_or(|found| found == spec.dtype), "{}: {found:?}", spec.name);
    }
}

/// Whether all shapes and bits are the same.
fn same(a: &Results, b: &Results) -> bool {
    a.len() == b.len()
        && a.iter().zip(b).all(|(a, b)| match (a, b) {
            (Value::Tensor(a), Value::Tensor(b)) => equal(a, b),
            (Value::Sequence(a), Value::Sequence(b)) => {
                a.len() == b.len() && a.iter().zip(b).all(|(a, b)| equal(a, b))
            }
            (a, b) => a.noun() == b.noun(),
        })
}

fn equal(a: &OwnedOutput, b: &OwnedOutput) -> bool {
    let elements = match (&a.elements, &b.elements) {
        (Elements::Bytes(a), Elements::Bytes(b)) => a[..] == b[..],
        (Elements::Strings(a), Elements::Strings(b)) => a == b,
        _ => false,
    };
    elements && a.dtype == b.dtype && a.shape == b.shape
}
