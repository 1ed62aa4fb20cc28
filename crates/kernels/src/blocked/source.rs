//! What a convolution reads: the input as it lies, or a copy of it with padding in which the pixels that a tap
//! needs for neighbouring outputs are neighbours.

use super::{BLOCK, blocks};
use crate::Parallel;
use crate::chunks::{split_chunks, tasks};
use crate::conv::ConvShape;
use crate::window::Window;

/// How the input of a convolution lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// In blocks of channels.
    Blocks,
    /// In planes, as a first layer finds its few channels.
    Planes,
}

impl Source {
    /// Numbers of a pixel that lie side by side.
    pub(super) fn run(self) -> usize {
        match self {
            Source::Blocks => BLOCK,
            Source::Planes => 1,
        }
    }

    /// Blocks or planes of an image.
    pub(super) fn parts(self, channels: usize) -> usize {
        match self {
            Source::Blocks => blocks(channels),
            Source::Planes => channels,
        }
    }
}

/// One spatial dimension, whose elements are sorted by their remainder modulo the stride.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Axis {
    stride: usize,
    dilation: usize,
    /// Remainders that are stored.
    phases: usize,
    /// Elements of each.
    len: usize,
    input: usize,
    pad: usize,
}

impl Axis {
    fn new(win: &Window, axis: usize, is_copy: bool) -> Axis {
        let (stride, dilation) = (win.strides[axis], win.dilations[axis]);
        let (input, pad) = (win.input[axis], win.pads[axis]);
        let taps = win.kernel[axis];
        let phases = if taps == 1 { 1 } else { stride };
        let len = match is_copy {
            true => win.output[axis] + (taps - 1) * dilation / stride,
            false => input,
        };
        Axis { stride, dilation, phases, len, input, pad }
    }

    /// Where a tap of the first output lies: the remainder, and the element there.
    fn tap(&self, tap: usize) -> (usize, usize) {
        let at = tap * self.dilation;
        (at % self.stride, at / self.stride)
    }

    /// The element of the input, which may lie outside.
    fn at(&self, phase: usize, element: usize) -> usize {
        (element * self.stride + phase).wrapping_sub(self.pad)
    }
}

/// The form in which a convolution reads one image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Form {
    source: Source,
    pub is_copy: bool,
    height: Axis,
    width: Axis,
    parts: usize,
}

impl Form {
    /// The form for a convolution over two dimensions.
    pub(super) fn new(shape: &ConvShape, source: Source) -> Form {
        let win = &shape.window;
        let inside = |a: usize| {
            let last = win.output[a].saturating_sub(1) + (win.kernel[a] - 1) * win.dilations[a];
            win.strides[a] == 1 && win.pads[a] == 0 && last < win.input[a]
        };
        let is_copy = !(inside(1) && inside(2));
        let (height, width) = (Axis::new(win, 1, is_copy), Axis::new(win, 2, is_copy));
        Form { source, is_copy, height, width, parts: source.parts(shape.in_channels) }
    }

    /// Pixels from one row of outputs to the next.
    pub(super) fn pitch(&self) -> usize {
        self.width.len
    }

    /// Numbers of a pixel of one block or plane.
    pub(super) fn run(&self) -> usize {
        self.source.run()
    }

    /// Numbers of one block or plane.
    fn part_len(&self) -> usize {
        let pixels = self.height.phases * self.width.phases * self.height.len * self.width.len;
        pixels * self.source.run()
    }

    /// Numbers of one image.
    pub(super) fn len(&self) -> usize {
        self.parts * self.part_len()
    }

    /// Chunks of channels that are summed: one for each tap of each block or plane.
    pub(super) fn chunks(&self, win: &Window) -> usize {
        self.parts * win.taps()
    }

    /// Writes where each chunk lies for the first output, as the bits of numbers, in the order of the weights.
    pub(super) fn offsets(&self, win: &Window, dst: &mut [f32]) {
        let run = self.source.run();
        let mut dst = dst.iter_mut();
        for part in 0..self.parts {
            for th in 0..win.kernel[1] {
                let (ph, qh) = self.height.tap(th);
                for tw in 0..win.kernel[2] {
                    let (pw, qw) = self.width.tap(tw);
                    let plane = ph * self.width.phases + pw;
                    let pixel = (plane * self.height.len + qh) * self.width.len + qw;
                    let at = part * self.part_len() + pixel * run;
                    // An image that is larger does not fit into memory: `Conv` refuses it before.
                    if let Some(dst) = dst.next() {
                        *dst = f32::from_bits(at as u32);
                    }
                }
            }
        }
    }

    /// Copies an image into this form, with zeros for padding.
    pub(super) fn fill(&self, par: &dyn Parallel, x: &[f32], dst: &mut [f32]) {
        let len = self.part_len();
        let in_len = self.height.input * self.width.input * self.source.run();
        let tasks = tasks(par, self.len(), self.parts);
        split_chunks(par, tasks, self.parts, dst, len, &|range, dst| {
            for (part, dst) in range.zip(dst.chunks_exact_mut(len.max(1))) {
                self.fill_part(&x[part * in_len..][..in_len], dst);
            }
        });
    }

    fn fill_part(&self, x: &[f32], dst: &mut [f32]) {
        let Form { height, width, source, .. } = self;
        let run = source.run();
        let rows = dst.chunks_exact_mut((width.len * run).max(1));
        for (row, dst) in rows.enumerate() {
            let (plane, qh) = (row / height.len, row % height.len);
            let (ph, pw) = (plane / width.phases, plane % width.phases);
            let ih = height.at(ph, qh);
            if ih >= height.input {
                dst.fill(0.0);
                continue;
            }
            let line = &x[ih * width.input * run..][..width.input * run];
            // What of the row lies inside the input.
            let from = width.pad.saturating_sub(pw).div_ceil(width.stride).min(width.len);
            let reach = (width.input + width.pad).saturating_sub(pw).div_ceil(width.stride);
            let to = reach.clamp(from, width.len);
            dst[..from * run].fill(0.0);
            dst[to * run..].fill(0.0);
            let inner = &mut dst[from * run..to * run];
            if inner.is_empty() {
                continue;
            }
            let src = &line[width.at(pw, from) * run..];
            if width.stride == 1 {
                inner.copy_from_slice(&src[..inner.len()]);
            } else if run == 1 {
                for (dst, src) in inner.iter_mut().zip(src.iter().step_by(width.stride)) {
                    *dst = *src;
                }
            } else {
                let pixels = src.chunks(run * width.stride);
                for (dst, src) in inner.chunks_exact_mut(run).zip(pixels) {
                    dst.copy_from_slice(&src[..run]);
                }
            }
        }
    }
}
