//! Which axis of the inputs is the batch of the states, when no symbol tells: the model is asked. It runs once on sizes
//! that are all different, for each of them taken as the batch of the states; where the model takes it and gives it
//! back, that is the batch.

use super::slot::{Init, Slot, Window};
use crate::evaluate::{Evaluate, Run};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};
use stead_engine::{Dim, IoSpec};
use stead_tensor::{Shape, Tensor};

/// Sizes that are told apart in what comes out: small primes, so that none is a multiple or a sum of few others.
const SIZES: [usize; 8] = [5, 7, 11, 13, 17, 19, 23, 29];

/// A model that takes longer is not worth the knowledge.
const LIMIT: Duration = Duration::from_secs(2);

/// Inputs of different sizes.
struct Probe {
    inputs: Vec<Option<Tensor>>,
    symbols: BTreeMap<String, usize>,
}

impl Probe {
    /// Zeros for all inputs that are no states. With `alike`, the first axes have one size where they are free.
    fn new(specs: &[IoSpec], slots: &[Slot], windows: &[Window], alike: bool) -> Option<Probe> {
        let mut sizes = SIZES.into_iter();
        let common = if alike { sizes.next() } else { None };
        let mut symbols = BTreeMap::new();
        let mut inputs = Vec::with_capacity(specs.len());
        for (i, spec) in specs.iter().enumerate() {
            if slots.iter().any(|s| s.input == i) || spec.optional {
                inputs.push(None);
                continue;
            }
            let mut dims = Vec::new();
            for (axis, dim) in spec.dims.as_ref()?.iter().enumerate() {
                let mut fresh =
                    || if axis == 0 { common.or_else(|| sizes.next()) } else { sizes.next() };
                let size = match dim {
                    Dim::Known(n) => *n,
                    Dim::Symbol(name) => match symbols.get(name) {
                        Some(size) => *size,
                        None => *symbols.entry(name.clone()).or_insert(fresh()?),
                    },
                    Dim::Unknown => fresh()?,
                };
                // What is new behind a window has that size.
                let window = windows.iter().find(|w| w.input == i && w.axis == axis);
                let before = window.filter(|_| dim.known().is_none()).map_or(0, |w| w.length);
                dims.push(size + before);
            }
            inputs.push(Some(Tensor::zeros(spec.dtype, Shape::new(&dims).ok()?).ok()?));
        }
        Some(Probe { inputs, symbols })
    }

    /// Whether the model takes states of this batch and gives such back.
    fn suits(&self, model: &dyn Evaluate, slots: &[Slot], batch: usize, until: Instant) -> bool {
        let mut inputs = self.inputs.clone();
        for slot in slots.iter().filter(|s| s.init != Init::Model) {
            let Some(state) = self.state(slot, batch) else { return false };
            if let Some(place) = inputs.get_mut(slot.input) {
                *place = Some(state);
            }
        }
        let views: Vec<_> = inputs.iter().map(|t| t.as_ref().map(Tensor::view)).collect();
        let wanted: Vec<usize> = slots.iter().map(|s| s.output).collect();
        let run = Run {
            team: None,
            cancelled: &|| Instant::now() > until,
            within: None,
            deadline: None,
            profile: None,
        };
        let mut same = true;
        let ran = model.run(&views, &wanted, &run, &mut |place, value| {
            let axis = slots.get(place).and_then(|s| s.batch_axis);
            same &= axis.is_none_or(|axis| value.shape().get(axis) == Some(&batch));
            Ok(())
        });
        ran.is_ok() && same
    }

    /// Zeros as a state of this batch.
    fn state(&self, slot: &Slot, batch: usize) -> Option<Tensor> {
        let size = |(axis, dim): (usize, &Dim)| match dim {
            Dim::Known(n) => Some(*n),
            _ if slot.batch_axis == Some(axis) => Some(batch),
            _ if slot.growable.is_some_and(|(grows, _)| grows == axis) => Some(0),
            Dim::Symbol(name) => self.symbols.get(name).copied(),
            Dim::Unknown => None,
        };
        let dims: Option<Vec<usize>> =
            slot.spec.dims.as_ref()?.iter().enumerate().map(size).collect();
        Tensor::zeros(slot.spec.dtype, Shape::new(&dims?).ok()?).ok()
    }
}

/// The axes of these inputs that are the batch of the states. None when the model does not tell.
pub(super) fn batch_places(
    model: &dyn Evaluate,
    slots: &[Slot],
    windows: &[Window],
    free: &[(usize, usize)],
) -> Option<Vec<(usize, usize)>> {
    let until = Instant::now() + LIMIT;
    for alike in [false, true] {
        let probe = Probe::new(model.inputs(), slots, windows, alike)?;
        let size = |(input, axis): &(usize, usize)| {
            probe.inputs.get(*input)?.as_ref()?.shape().get(*axis).copied()
        };
        let mut sizes: Vec<usize> = free.iter().filter_map(size).collect();
        sizes.sort_unstable();
        sizes.dedup();
        sizes.retain(|batch| probe.suits(model, slots, *batch, until));
        if let [batch] = sizes[..] {
            return Some(free.iter().filter(|place| size(place) == Some(batch)).copied().collect());
        }
    }
    None
}
