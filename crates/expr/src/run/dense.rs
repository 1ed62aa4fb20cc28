//! Loops over the indexed dimensions of blocks, with a step for each array.

use half::bf16;

use crate::types::TensorType;

/// A number as cells store it; computed with as a double.
pub(crate) trait Real: Copy {
    fn wide(self) -> f64;
    fn narrow(number: f64) -> Self;
}

impl Real for f64 {
    fn wide(self) -> f64 {
        self
    }
    fn narrow(number: f64) -> f64 {
        number
    }
}

impl Real for f32 {
    fn wide(self) -> f64 {
        f64::from(self)
    }
    fn narrow(number: f64) -> f32 {
        number as f32
    }
}

impl Real for bf16 {
    fn wide(self) -> f64 {
        self.to_f64()
    }
    fn narrow(number: f64) -> bf16 {
        bf16::from_f32(number as f32)
    }
}

impl Real for i8 {
    fn wide(self) -> f64 {
        f64::from(self)
    }
    fn narrow(number: f64) -> i8 {
        number as i8
    }
}

/// One loop: how often, and the steps through two arrays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Axis {
    pub(crate) len: usize,
    pub(crate) a: usize,
    pub(crate) b: usize,
}

/// The loops over the cells of a block of `out`, with the steps through the blocks of two operands: 0 along
/// dimensions that they lack.
pub(crate) fn join_axes(out: &TensorType, a: &TensorType, b: &TensorType) -> Vec<Axis> {
    let (a, b) = (step_by_name(a), step_by_name(b));
    let step = |steps: &[(String, usize)], name: &str| {
        steps.iter().find(|(n, _)| n == name).map_or(0, |(_, step)| *step)
    };
    let axis = |(d, len): (&crate::types::Dimension, usize)| Axis {
        len,
        a: step(&a, &d.name),
        b: step(&b, &d.name),
    };
    coalesce(out.indexed().map(axis).collect())
}

fn step_by_name(kind: &TensorType) -> Vec<(String, usize)> {
    kind.indexed().map(|(d, _)| d.name.to_string()).zip(kind.strides()).collect()
}

/// Fewer loops that do the same.
pub(crate) fn coalesce(axes: Vec<Axis>) -> Vec<Axis> {
    let mut merged: Vec<Axis> = Vec::with_capacity(axes.len());
    for axis in axes.into_iter().filter(|a| a.len != 1) {
        match merged.last_mut() {
            Some(last) if last.a == axis.a * axis.len && last.b == axis.b * axis.len => {
                *last = Axis { len: last.len * axis.len, ..axis };
            }
            _ => merged.push(axis),
        }
    }
    if merged.is_empty() {
        merged.push(Axis { len: 1, a: 1, b: 1 });
    }
    merged
}

/// Calls with the places in both arrays at the beginning of each innermost loop.
pub(crate) fn each_line(axes: &[Axis], mut line: impl FnMut(usize, usize, Axis)) {
    let Some((inner, outer)) = axes.split_last() else { return };
    let mut index = vec![0; outer.len()];
    let (mut a, mut b) = (0, 0);
    loop {
        line(a, b, *inner);
        let mut at = outer.len();
        loop {
            if at == 0 {
                return;
            }
            at -= 1;
            index[at] += 1;
            a += outer[at].a;
            b += outer[at].b;
            if index[at] < outer[at].len {
                break;
            }
            a -= outer[at].a * outer[at].len;
            b -= outer[at].b * outer[at].len;
            index[at] = 0;
        }
    }
}

/// Appends the function of each pair of cells of two blocks.
pub(crate) fn join_block<A: Real, B: Real, R: Real>(
    axes: &[Axis],
    a: &[A],
    b: &[B],
    out: &mut Vec<R>,
    function: impl Fn(f64, f64) -> f64 + Copy,
) {
    let apply = |x: A, y: B| R::narrow(function(x.wide(), y.wide()));
    each_line(axes, |at_a, at_b, Axis { len, a: step_a, b: step_b }| match (step_a, step_b) {
        (1, 1) => {
            out.extend(a[at_a..][..len].iter().zip(&b[at_b..][..len]).map(|(x, y)| apply(*x, *y)))
        }
        (1, 0) => {
            let y = b[at_b];
            out.extend(a[at_a..][..len].iter().map(|x| apply(*x, y)));
        }
        (0, 1) => {
            let x = a[at_a];
            out.extend(b[at_b..][..len].iter().map(|y| apply(x, *y)));
        }
        _ => out.extend((0..len).map(|i| apply(a[at_a + i * step_a], b[at_b + i * step_b]))),
    });
}

#[cfg(test)]
mod tests {
    use super::{Axis, coalesce, each_line};

    #[test]
    fn loops_that_go_on_in_both_arrays_become_one() {
        let axis = |len, a, b| Axis { len, a, b };
        for (axes, expected) in [
            (vec![], vec![axis(1, 1, 1)]),
            (vec![axis(1, 7, 9)], vec![axis(1, 1, 1)]),
            (vec![axis(2, 3, 3), axis(3, 1, 1)], vec![axis(6, 1, 1)]),
            (vec![axis(2, 3, 0), axis(3, 1, 1)], vec![axis(2, 3, 0), axis(3, 1, 1)]),
            (vec![axis(2, 12, 0), axis(4, 3, 0), axis(3, 1, 0)], vec![axis(24, 1, 0)]),
        ] {
            assert_eq!(coalesce(axes.clone()), expected, "{axes:?}");
        }
        let mut lines = Vec::new();
        each_line(&[axis(2, 3, 0), axis(2, 0, 5), axis(3, 1, 1)], |a, b, _| lines.push((a, b)));
        assert_eq!(lines, [(0, 0), (0, 5), (3, 0), (3, 5)]);
    }
}
