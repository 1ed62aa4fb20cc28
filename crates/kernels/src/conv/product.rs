//! The f32 convolution: chooses the form, packs weights for it, and runs it.

use super::columns::fill;
use super::depthwise::depthwise;
use super::few::{Few, MAX_FEW, few};
use super::taps::Plane;
use super::{ConvShape, is_depthwise};
use crate::chunks::{split_chunks, tasks};
use crate::gemm::{
    Activation, Epilogue, Lhs, MatRef, Rhs, activate_slice, gemm, gemm_scratch_len, is_dot, pack_a,
    packed_a_len, sliver_width, slivers_len, tile_shape,
};
use crate::{Isa, Parallel};

/// Numbers of columns that are made at a time, when there is one thread: half a megabyte, which stays in the
/// second-level cache until the product has read it.
const BLOCK: usize = 1 << 17;

/// The weights of a convolution, `[groups * out_channels, in_channels, kernel...]`.
#[derive(Debug, Clone, Copy)]
pub enum Weights<'a> {
    /// As they come, row-major.
    Rows(&'a [f32]),
    /// By [`pack_weights`] for the same instruction set.
    Packed(&'a [f32]),
}

/// Writes the weights in the form that [`conv`] reads fastest. `depth` is the number of weights for an output
/// channel, of which there are `out_channels` in each of `groups`; `in_channels` are those of a group. The
/// packed form is as long as `weights`.
///
/// # Panics
/// If `weights` or `dst` has another length.
pub fn pack_weights(
    isa: Isa,
    groups: usize,
    out_channels: usize,
    in_channels: usize,
    depth: usize,
    weights: &[f32],
    dst: &mut [f32],
) {
    let len = packed_a_len(out_channels, depth);
    assert!(weights.len() == groups * len && dst.len() == weights.len(), "length of weights");
    if is_depthwise(groups, in_channels) || len == 0 {
        dst.copy_from_slice(weights);
        return;
    }
    for (src, dst) in weights.chunks_exact(len).zip(dst.chunks_exact_mut(len)) {
        pack_a(isa, out_channels, depth, MatRef::rows(src, depth), dst);
    }
}

/// How the products of a group are computed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    /// Plane by plane.
    Depthwise,
    /// The input is its own columns.
    Pointwise,
    /// The columns of one image or several, read where they lie.
    Few(Plane),
    /// This many columns at a time, packed.
    Blocks(usize),
}

fn form(isa: Isa, shape: &ConvShape, packed: bool) -> Form {
    let outputs = shape.window.output_len();
    if is_depthwise(shape.groups, shape.in_channels) {
        return Form::Depthwise;
    }
    if packed
        && (1..=MAX_FEW).contains(&outputs)
        && let Some(plane) = Plane::new(&shape.window, shape.in_channels)
    {
        return Form::Few(plane);
    }
    if shape.window.is_pointwise() {
        return Form::Pointwise;
    }
    let cols = tile_shape(isa.effective()).cols();
    let fit = (BLOCK / shape.depth().max(1)).max(cols);
    let blocks = outputs.div_ceil(fit).max(1);
    Form::Blocks(outputs.div_ceil(blocks).next_multiple_of(cols))
}

/// Numbers of scratch that [`conv`] needs; `packed` tells the form of the weights.
pub fn conv_scratch_len(isa: Isa, shape: &ConvShape, packed: bool) -> usize {
    let (m, n, k) = (shape.out_channels, shape.window.output_len(), shape.depth());
    // Only the kind of the operands matters for the size.
    let none = MatRef { data: &[], row_stride: n.max(1), col_stride: 1 };
    let lhs = if packed { Lhs::Packed(&[]) } else { Lhs::Strided(MatRef::rows(&[], k)) };
    match form(isa, shape, packed) {
        Form::Depthwise => 0,
        Form::Few(plane) if plane.is_copy => {
            k + shape.in_channels * plane.len() * images(n).min(shape.batch)
        }
        Form::Few(_) => k,
        Form::Pointwise => gemm_scratch_len(isa, m, n, k, &lhs, &Rhs::Strided(none)),
        Form::Blocks(cols) => {
            // The last block is joined to the one before when it is too narrow for tiles.
            let most = (cols + 4).min(n.max(1));
            let columns = slivers_len(tile_shape(isa.effective()), k, most);
            columns + gemm_scratch_len(isa, m, most.max(5), k, &lhs, &Rhs::Packed(&[])).max(k)
        }
    }
}

/// `y = act(conv(x, weights) + bias)` in planes.
///
/// # Panics
/// If an operand is smaller than `shape` says, or `scratch` than [`conv_scratch_len`].
#[expect(clippy::too_many_arguments, reason = "the operands of a convolution")]
pub fn conv(
    isa: Isa,
    par: &dyn Parallel,
    shape: &ConvShape,
    x: &[f32],
    weights: Weights<'_>,
    bias: Option<&[f32]>,
    activation: Activation,
    y: &mut [f32],
    scratch: &mut [f32],
) {
    let (packed, w) = match weights {
        Weights::Rows(w) => (false, w),
        Weights::Packed(w) => (true, w),
    };
    assert!(x.len() >= shape.input_len(), "input of a convolution");
    assert!(w.len() >= shape.weights_len(), "weights of a convolution");
    assert!(y.len() >= shape.output_len(), "output of a convolution");
    assert!(bias.is_none_or(|b| b.len() >= shape.groups * shape.out_channels), "bias");
    if shape.output_len() == 0 {
        return;
    }
    let form = form(isa, shape, packed);
    if form == Form::Depthwise {
        return depthwise(isa, par, shape, x, w, bias, activation, y);
    }
    if let Form::Few(plane) = form {
        let operands = Columns { shape, plane, x, w, bias };
        operands.run(isa, y, scratch);
        return activate_slice(isa, activation, &mut y[..shape.output_len()]);
    }
    let (m, n, k) = (shape.out_channels, shape.window.output_len(), shape.depth());
    let in_len = shape.in_channels * shape.window.input_len();
    for image in 0..shape.batch {
        for group in 0..shape.groups {
            let at = image * shape.groups + group;
            let product = Product {
                isa,
                par,
                shape,
                x: &x[at * in_len..][..in_len],
                w: &w[group * m * k..][..m * k],
                packed,
                bias: bias.map(|bias| &bias[group * m..][..m]),
                activation,
            };
            product.run(form, &mut y[at * m * n..][..m * n], scratch);
        }
    }
}

/// Images whose columns, `outputs` each, are multiplied together: the weights are then read once for all of them.
fn images(outputs: usize) -> usize {
    (MAX_FEW / outputs.max(1)).max(1)
}

/// The operands of [`Form::Few`].
struct Columns<'a> {
    shape: &'a ConvShape,
    plane: Plane,
    x: &'a [f32],
    w: &'a [f32],
    bias: Option<&'a [f32]>,
}

impl Columns<'_> {
    /// Writes `bias + conv(x, weights)` of all images.
    fn run(&self, isa: Isa, y: &mut [f32], scratch: &mut [f32]) {
        let Columns { shape, plane, x, w, bias } = *self;
        let ConvShape { batch, groups, window: win, .. } = shape;
        let (m, n, k) = (shape.out_channels, win.output_len(), shape.depth());
        let in_len = shape.in_channels * win.input_len();
        let (offsets, copies) = scratch.split_at_mut(k);
        let largest = plane.offsets(shape, offsets);
        for first in (0..*batch).step_by(images(n)) {
            let count = images(n).min(batch - first);
            for group in 0..*groups {
                let at = |image: usize| image * groups + group;
                let mut bases = [0; MAX_FEW];
                let mut places = [0; MAX_FEW];
                let mut columns = bases.iter_mut().zip(&mut places);
                let copy_len = shape.in_channels * plane.len();
                for image in 0..count {
                    let src = at(first + image) * in_len;
                    let start = match plane.is_copy {
                        true => {
                            let copy = &mut copies[image * copy_len..][..copy_len];
                            plane.fill(win, &x[src..src + in_len], copy);
                            image * copy_len
                        }
                        false => src,
                    };
                    for (output, (base, place)) in (0..n).zip(&mut columns) {
                        *base = start + plane.base(win, output);
                        *place = at(first + image) * m * n + output;
                    }
                }
                let operands = Few {
                    weights: &w[group * m * k..][..m * k],
                    x: if plane.is_copy { copies } else { x },
                    offsets,
                    bases,
                    largest,
                    bias: bias.map(|bias| &bias[group * m..][..m]),
                    m,
                    n: count * n,
                    k,
                    places,
                    row_stride: n,
                };
                few(isa, operands, y);
            }
        }
    }
}

/// One group of one image.
struct Product<'a> {
    isa: Isa,
    par: &'a dyn Parallel,
    shape: &'a ConvShape,
    x: &'a [f32],
    w: &'a [f32],
    packed: bool,
    bias: Option<&'a [f32]>,
    activation: Activation,
}

impl Product<'_> {
    fn run(&self, form: Form, y: &mut [f32], scratch: &mut [f32]) {
        let (n, k) = (self.shape.window.output_len(), self.shape.depth());
        match form {
            Form::Depthwise | Form::Few(_) => {}
            Form::Pointwise => {
                let b = Rhs::Strided(MatRef::rows(self.x, n));
                self.multiply((n, k), b, y, n, scratch);
            }
            Form::Blocks(cols) => {
                let mut first = 0;
                while first < n {
                    let mut count = cols.min(n - first);
                    if is_dot(n - first - count) {
                        count = n - first;
                    }
                    let len = self.columns(first, count, scratch);
                    let (columns, rest) = scratch.split_at_mut(len);
                    let b = Rhs::Packed(columns);
                    self.multiply((count, k), b, &mut y[first..], n, rest);
                    first += count;
                }
            }
        }
    }

    fn multiply(
        &self,
        (n, k): (usize, usize),
        b: Rhs<'_>,
        y: &mut [f32],
        stride: usize,
        scratch: &mut [f32],
    ) {
        let a = match self.packed {
            true => Lhs::Packed(self.w),
            false => Lhs::Strided(MatRef::rows(self.w, k)),
        };
        let epilogue =
            Epilogue { bias_row: self.bias, activation: self.activation, ..Epilogue::default() };
        let m = self.shape.out_channels;
        gemm(self.isa, self.par, m, n, k, a, b, y, stride, &epilogue, scratch);
    }

    /// Packs columns `first..first + count` as a right operand, and returns its length.
    fn columns(&self, first: usize, count: usize, dst: &mut [f32]) -> usize {
        let (win, channels, k) = (&self.shape.window, self.shape.in_channels, self.shape.depth());
        if is_dot(count) {
            // The form for dot products: column by column.
            for (j, col) in dst[..count * k].chunks_exact_mut(k).enumerate() {
                fill(win, channels, self.x, first + j, 1, 1, col);
            }
            return count * k;
        }
        let tile = tile_shape(self.isa.effective());
        let (len, width) = (slivers_len(tile, k, count), tile.cols());
        let slivers = count.div_ceil(width);
        let fill_sliver = |i: usize, dst: &mut [f32]| {
            let at = i * width;
            let room = sliver_width(tile, count, at);
            let cols = room.min(count - at);
            fill(win, channels, self.x, first + at, cols, room, &mut dst[..room * k]);
        };
        // The last sliver may be narrower; the whole ones are cut among threads.
        let whole = slivers - 1;
        let (most, last) = dst[..len].split_at_mut(whole * width * k);
        let tasks = tasks(self.par, len.saturating_mul(4), whole);
        split_chunks(self.par, tasks, whole, most, width * k, &|range, dst| {
            for (i, dst) in range.zip(dst.chunks_exact_mut((width * k).max(1))) {
                fill_sliver(i, dst);
            }
        });
        fill_sliver(whole, last);
        len
    }
}
