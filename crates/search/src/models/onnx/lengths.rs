//! Texts of different lengths: networks that take token ids padded with zeros run on as many as there are.
//!
//! Whether what stands behind the last token changes anything is tried out when a model is loaded: a text that is padded
//! and the same text cut must give the same.

use std::ops::Range;

use stead_engine::{RunContext, Session};
use stead_expr::{Cells, Stored, TensorType};
use stead_tensor::{DType, Tensor};

use super::output::Collected;
use super::port::Port;
use super::rows::Rows;
use super::stack::Feed;

/// Lengths are rounded up to a multiple: each has a plan of its own.
const STEP: usize = 8;

/// A run takes longer texts than its shortest one by at most this share: what is padded is computed too.
const SLACK: usize = 4;

/// Absolute up to 1, relative above: sums over fewer elements are rounded in another order.
const TOLERANCE: f32 = 1e-4;

/// A network that runs on texts as long as they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Lengths {
    /// The length to which texts are padded.
    pub(super) whole: usize,
}

/// Whether a network gives the same for texts without what stands behind their last token.
pub(super) fn find(
    session: &Session,
    ports: &[Port],
    feeds: &[Feed],
    outputs: &[(usize, TensorType)],
) -> Option<Lengths> {
    let mut whole = None;
    for (feed, spec) in feeds.iter().zip(session.model().inputs()) {
        let Feed::Documents(port) = feed else { return None };
        let port = ports.get(*port)?;
        let [1, length] = port.shape()?[..] else { return None };
        let is_open =
            spec.dims.as_ref().is_none_or(|d| d.get(1).is_some_and(|d| d.known().is_none()));
        let is_whole = matches!(port.dtype, DType::I64 | DType::I32);
        if !is_open || !is_whole || *whole.get_or_insert(length) != length {
            return None;
        }
    }
    let whole = whole.filter(|length| *length > STEP)?;
    if outputs.iter().any(|(_, kind)| !kind.is_dense() || !kind.is_bound()) {
        return None;
    }
    let is_same = |used: usize| {
        let padded = run(session, outputs, used, whole)?;
        let cut = run(session, outputs, used, used)?;
        let is_near = |(a, b): (&f32, &f32)| (a - b).abs() <= TOLERANCE * b.abs().max(1.0);
        Some(padded.len() == cut.len() && padded.iter().zip(&cut).all(is_near))
    };
    let tried = [3, whole / 2 + 1, whole - 1];
    tried.into_iter().all(|used| is_same(used) == Some(true)).then_some(Lengths { whole })
}

/// The outputs for a text of `used` tokens, padded to a length.
fn run(
    session: &Session,
    outputs: &[(usize, TensorType)],
    used: usize,
    length: usize,
) -> Option<Vec<f32>> {
    let inputs: Option<Vec<Tensor>> = session
        .model()
        .inputs()
        .iter()
        .map(|spec| {
            let ones = (0..length).map(|at| at < used);
            match spec.dtype {
                DType::I32 => {
                    Tensor::from_slice(&ones.map(i32::from).collect::<Vec<_>>(), &[1, length])
                }
                _ => Tensor::from_slice(&ones.map(i64::from).collect::<Vec<_>>(), &[1, length]),
            }
            .ok()
        })
        .collect();
    let inputs = inputs?;
    let views: Vec<_> = inputs.iter().map(|t| Some(t.view())).collect();
    let read = |found: stead_engine::Outputs<'_>| {
        let mut all = Vec::new();
        for (at, _) in outputs {
            all.extend_from_slice(found.get(*at).ok()?.as_slice::<f32>().ok()?);
        }
        Some(all)
    };
    session.run_with(&views, &RunContext::default(), read).ok()?
}

/// Documents of about the same length, and the length that their run has.
pub(super) struct Group {
    /// Places in the order of lengths.
    pub(super) places: Range<usize>,
    pub(super) length: usize,
}

impl Lengths {
    /// Documents in the order of their lengths, in groups of at most `most`.
    pub(super) fn groups(
        self,
        rows: &[Option<Rows<'_>>],
        count: usize,
        most: usize,
    ) -> (Vec<usize>, Vec<Group>) {
        let of = |row: usize| rows.iter().flatten().map(|rows| rows.used(row)).max().unwrap_or(0);
        let rounded = |used: usize| used.max(1).next_multiple_of(STEP).min(self.whole);
        let lengths: Vec<usize> = (0..count).map(|row| rounded(of(row))).collect();
        let mut order: Vec<usize> = (0..count).collect();
        order.sort_by_key(|row| lengths[*row]);
        let mut groups: Vec<Group> = Vec::new();
        for (place, row) in order.iter().enumerate() {
            let length = lengths[*row];
            match groups.last_mut() {
                Some(group)
                    if group.places.len() < most && {
                        let shortest = lengths[order[group.places.start]];
                        length <= shortest + shortest / SLACK
                    } =>
                {
                    group.places.end = place + 1;
                    group.length = length;
                }
                _ => groups.push(Group { places: place..place + 1, length }),
            }
        }
        (order, groups)
    }
}

/// A column whose rows come in an order, with each row in its place.
pub(super) fn in_place(column: Collected, order: &[usize]) -> Option<Stored> {
    let Collected::Dense(kind, cells) = column else { return None };
    let size = kind.block_size();
    let mut places = vec![0; order.len()];
    order.iter().enumerate().for_each(|(place, row)| places[*row] = place);
    let mut all = Cells::with_room(kind.cell(), cells.len());
    for place in places {
        if !all.extend(&cells.part(place * size..(place + 1) * size)?) {
            return None;
        }
    }
    Stored::dense(kind, all)
}
