//! The columns of a convolution as the right operand of a matrix product.
//!
//! Column `p` holds what lies under the window of output `p`: `in_channels * taps` numbers.

use crate::window::Window;

/// Writes columns `first..first + dst_width` row by row: number `k` of column `first + j` goes to
/// `dst[k * width + j]`; columns from `count` on are zeros.
#[inline(always)]
pub(super) fn fill(
    win: &Window,
    channels: usize,
    x: &[f32],
    first: usize,
    count: usize,
    width: usize,
    dst: &mut [f32],
) {
    let in_len = win.input_len();
    let taps = win.taps();
    let mut rows = dst.chunks_exact_mut(width);
    for c in 0..channels {
        let x = &x[c * in_len..][..in_len];
        for tap in 0..taps {
            let Some(row) = rows.next() else { return };
            row[count..].fill(0.0);
            fill_row(win, tap, x, first, &mut row[..count]);
        }
    }
}

/// What lies under one tap for outputs `first..first + dst.len()`.
#[inline(always)]
fn fill_row(win: &Window, tap: usize, x: &[f32], first: usize, dst: &mut [f32]) {
    let [_, kh, kw] = win.kernel;
    let (td, th, tw) = (tap / (kh * kw), tap / kw % kh, tap % kw);
    let width = win.output[2];
    let inside = win.outputs(2, tw);
    let stride = win.strides[2];
    let (mut line, mut col, mut at) = (first / width, first % width, 0);
    while at < dst.len() {
        let len = (width - col).min(dst.len() - at);
        let out = &mut dst[at..at + len];
        let (od, oh) = (line / win.output[1], line % win.output[1]);
        let id = (od * win.strides[0] + td * win.dilations[0]).wrapping_sub(win.pads[0]);
        let ih = (oh * win.strides[1] + th * win.dilations[1]).wrapping_sub(win.pads[1]);
        let from = inside.0.clamp(col, col + len) - col;
        let to = inside.1.clamp(col, col + len) - col;
        if id >= win.input[0] || ih >= win.input[1] || from >= to {
            out.fill(0.0);
        } else {
            out[..from].fill(0.0);
            out[to..].fill(0.0);
            let start = (id * win.input[1] + ih) * win.input[2] + win.at(2, col + from, tw);
            let src = &x[start..];
            if stride == 1 {
                out[from..to].copy_from_slice(&src[..to - from]);
            } else {
                for (out, x) in out[from..to].iter_mut().zip(src.iter().step_by(stride)) {
                    *out = *x;
                }
            }
        }
        at += len;
        line += 1;
        col = 0;
    }
}
