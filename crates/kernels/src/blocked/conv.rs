//! The convolution of all channels: tiles of pixels by output channels, whose products are summed in registers
//! from the first to the last.

use super::source::{Form, Source};
use super::tile::{MOST_APART, Operands, blocks_of, pixels_of, rows_of, takes_apart, tile};
use super::weights::{packed_len, scale_weights};
use super::{BLOCK, blocks};
use crate::conv::ConvShape;
use crate::gemm::{Activation, Panels};
use crate::guided::Guided;
use crate::par::Output;
use crate::simd::{LINE, Simd, SimdOp, dispatch};
use crate::{Isa, Parallel};

/// Numbers of the input that tiles of all output channels read before the next are begun: a quarter of a
/// megabyte stays in the second-level cache beside the weights of a tile.
const STRIP: usize = 1 << 16;

/// Most tiles of a strip that ask for the weights of the next: where there are more, what the first of them waits is a small part.
const MOST_ASKING: usize = 40;

/// The operands of [`conv`].
#[derive(Debug, Clone, Copy)]
pub struct Conv<'a> {
    /// The sizes; one group over two dimensions, the last ones.
    pub shape: ConvShape,
    /// How `x` lies.
    pub source: Source,
    /// The input.
    pub x: &'a [f32],
    /// By [`pack_weights`](super::pack_weights) for the same instruction set and source.
    pub weights: &'a [f32],
    /// A number for each channel of each block of the output.
    pub bias: &'a [f32],
    /// Added before the activation; lies as the output.
    pub residual: Option<&'a [f32]>,
    /// What each channel of the input is multiplied with before, `[batch, channels]`, or the same for all images: the
    /// weights of an image are. Padding would not be, so the window is [one pixel](crate::Window::is_pointwise).
    pub gate: Option<&'a [f32]>,
    /// The last step.
    pub activation: Activation,
}

/// Numbers of scratch that [`conv`] needs, with a gate or without.
pub fn conv_scratch_len(shape: &ConvShape, source: Source, has_gate: bool) -> usize {
    let form = Form::new(shape, source);
    let gated = if has_gate { packed_len(shape.out_channels, shape.in_channels, 1) } else { 0 };
    form.chunks(&shape.window) + gated + if form.is_copy { form.len() } else { 0 }
}

/// `y = activation(conv(gate x, weights) + bias + residual)` in blocks.
///
/// # Panics
/// If an operand is smaller than its shape says, an image is longer than 2^32 numbers, the shape has groups or
/// three dimensions, or a gate stands before a larger window.
pub fn conv(isa: Isa, par: &dyn Parallel, operands: &Conv<'_>, y: &mut [f32], scratch: &mut [f32]) {
    let Conv { shape, source, x, weights, bias, residual, gate, .. } = operands;
    let win = &shape.window;
    let is_flat = win.kernel[0] == 1 && win.input[0] == 1 && win.output[0] == 1;
    assert!(shape.groups == 1 && is_flat && win.pads[0] == 0, "a convolution over two dimensions");
    let out_len = blocks(shape.out_channels) * win.output_len() * BLOCK;
    let in_len = source.parts(shape.in_channels) * win.input_len() * source.run();
    let form = Form::new(shape, *source);
    assert!(form.len().max(in_len) < 1 << 32, "size of an image");
    assert!(x.len() >= shape.batch * in_len, "input of a convolution");
    assert!(y.len() >= shape.batch * out_len, "output of a convolution");
    assert!(residual.is_none_or(|r| r.len() >= shape.batch * out_len), "residual");
    let packed = packed_len(shape.out_channels, shape.in_channels, win.taps());
    assert!(weights.len() >= packed, "weights of a convolution");
    assert!(bias.len() >= blocks(shape.out_channels) * BLOCK, "bias of a convolution");
    let channels = shape.in_channels;
    if let Some(gate) = gate {
        assert!(win.is_pointwise() && *source == Source::Blocks, "a gate before a window");
        let count = gate.len();
        assert!(count == channels || count >= shape.batch * channels, "factors of channels");
    }
    if out_len == 0 {
        return;
    }
    let (gated, scratch) = scratch.split_at_mut(if gate.is_some() { packed } else { 0 });
    let (offsets, copy) = scratch.split_at_mut(form.chunks(win));
    form.offsets(win, offsets);
    let offsets = &*offsets;
    for (image, y) in y.chunks_exact_mut(out_len).take(shape.batch).enumerate() {
        let x = &x[image * in_len..][..in_len];
        let x = match form.is_copy {
            true => {
                form.fill(par, x, &mut copy[..form.len()]);
                &copy[..form.len()]
            }
            false => x,
        };
        let residual = residual.map(|r| &r[image * out_len..][..out_len]);
        let weights = match gate {
            Some(gate) => {
                let row = if gate.len() == channels { 0 } else { image * channels };
                let factors = &gate[row..][..channels];
                scale_weights(isa, shape.out_channels, &weights[..packed], factors, gated);
                &*gated
            }
            None => weights,
        };
        let tiles = Tiles::new(isa.effective(), shape, &form);
        let units = tiles.strips() * tiles.columns();
        let work = shape.out_channels.saturating_mul(shape.depth() * win.output_len());
        let pieces = Guided::new(par, units, work);
        let y = Output::new(y);
        let run = |task: usize| {
            let (y, range) = (&y, pieces.piece(task));
            let image = Image { operands, tiles, form, x, weights, offsets, residual, y, range };
            dispatch(isa, image);
        };
        match pieces.pieces() {
            1 => run(0),
            count => par.for_each(count, &run),
        }
    }
}

/// How the outputs of an image are cut into tiles.
#[derive(Clone, Copy)]
struct Tiles {
    /// Rows of outputs, and outputs in a row: all in one where they lie one behind the other.
    rows: usize,
    width: usize,
    /// Rows of a tile.
    joined: usize,
    /// Outputs of a row of the image, whose pixels lie apart from those of the next, where tiles know no rows.
    apart: Option<usize>,
    /// The tiles along a row.
    panels: Panels,
    /// Tiles of pixels that make a strip.
    in_strip: usize,
    blocks: usize,
    blocks_of_tile: usize,
}

impl Tiles {
    fn new(isa: Isa, shape: &ConvShape, form: &Form) -> Tiles {
        let [_, height, width] = shape.window.output;
        let is_line = form.pitch() == width;
        let apart = (!is_line && takes_apart(isa, width, form.run())).then_some(width);
        let is_line = is_line || apart.is_some();
        let (rows, width) = if is_line { (1, height * width) } else { (height, width) };
        let joined = rows_of(isa, width).min(rows);
        let panels = Panels::new(width, pixels_of(isa));
        let pixels = joined * width.div_ceil(panels.count);
        let in_strip = (STRIP / (pixels * shape.in_channels).max(1)).max(1);
        let blocks = blocks(shape.out_channels);
        Tiles {
            rows,
            width,
            joined,
            apart,
            panels,
            in_strip,
            blocks,
            blocks_of_tile: blocks_of(isa),
        }
    }

    fn count(&self) -> usize {
        self.rows.div_ceil(self.joined) * self.panels.count
    }

    fn strips(&self) -> usize {
        self.count().div_ceil(self.in_strip)
    }

    fn columns(&self) -> usize {
        self.blocks.div_ceil(self.blocks_of_tile)
    }
}

/// A part of an image's tiles: a unit is a strip of pixels by a tile of channels, those of a strip one after the
/// other.
struct Image<'a> {
    operands: &'a Conv<'a>,
    tiles: Tiles,
    form: Form,
    x: &'a [f32],
    /// Those of the operands, or the same for this image's gate.
    weights: &'a [f32],
    offsets: &'a [f32],
    residual: Option<&'a [f32]>,
    y: &'a Output<f32>,
    range: core::ops::Range<usize>,
}

impl SimdOp for Image<'_> {
    type Output = ();

    #[inline(always)]
    fn eval<S: Simd>(self, s: S) {
        match self.operands.source {
            Source::Blocks => s.call(Units::<BLOCK>(self)),
            Source::Planes => s.call(Units::<1>(self)),
        }
    }
}

struct Units<'a, const RUN: usize>(Image<'a>);

impl<const RUN: usize> SimdOp for Units<'_, RUN> {
    type Output = ();

    #[inline(always)]
    fn eval<S: Simd>(self, s: S) {
        let Image { operands, tiles, form, x, weights, offsets, residual, y, range } = self.0;
        let shape = &operands.shape;
        let taps = shape.window.taps();
        let (chunks, rest) = (form.chunks(&shape.window), shape.in_channels % RUN);
        let last = if rest == 0 { 0 } else { taps };
        let plane = shape.window.output_len() * BLOCK;
        let columns = tiles.columns();
        for unit in range {
            let (strip, column) = (unit / columns, unit % columns);
            let block = column * tiles.blocks_of_tile;
            let count = tiles.blocks_of_tile.min(tiles.blocks - block);
            let weights = &weights[block * BLOCK * shape.depth()..];
            let bias = &operands.bias[block * BLOCK..][..count * BLOCK];
            let first = strip * tiles.in_strip;
            let end = (first + tiles.in_strip).min(tiles.count());
            // The weights of the next unit come from memory while the tiles of this one are computed, each of which asks for a
            // part: the first tile of that one would wait for all of them.
            let next = weights.as_ptr().wrapping_add(count * BLOCK * shape.depth());
            let asks = RUN == BLOCK && column + 1 < columns && end - first <= MOST_ASKING;
            let lines = if asks { (count * BLOCK * RUN / LINE).div_ceil(end - first) } else { 0 };
            for at in first..end {
                let later = next.wrapping_add((at - first) * lines * LINE * chunks);
                let (row, panel) =
                    (at / tiles.panels.count * tiles.joined, at % tiles.panels.count);
                let rows = tiles.joined.min(tiles.rows - row);
                let (col, width) = (tiles.panels.start(panel), tiles.panels.rows(panel));
                let place = block * plane + (row * tiles.width + col) * BLOCK;
                // SAFETY: rows and columns of the tile are inside the output, whose blocks `conv` measured, and the
                // chunks of `Form` are inside the input for every output; no two tiles have an output in common.
                unsafe {
                    let mut apart = [0; MOST_APART];
                    let start = match tiles.apart {
                        Some(across) => {
                            for (i, at) in apart.iter_mut().enumerate().take(width) {
                                let (row, col) = ((col + i) / across, (col + i) % across);
                                *at = ((row * form.pitch() + col) * RUN) as u32;
                            }
                            0
                        }
                        None => row * form.pitch() + col,
                    };
                    let t = Operands {
                        x: x.as_ptr().add(start * RUN),
                        x_row: form.pitch() * RUN,
                        apart,
                        offsets: offsets.as_ptr().cast(),
                        full: chunks - last,
                        last,
                        tail: rest,
                        weights: weights.as_ptr(),
                        later,
                        later_lines: lines,
                        y: y.start().add(place),
                        y_row: tiles.width * BLOCK,
                        y_block: plane,
                        bias: bias.as_ptr(),
                        residual: residual.map_or(core::ptr::null(), |r| r.as_ptr().add(place)),
                        activation: &operands.activation,
                    };
                    tile::<S, RUN>(s, rows, width, count, tiles.apart.is_some(), t);
                }
            }
        }
    }
}
