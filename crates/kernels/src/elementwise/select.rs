//! A choice between two operands.

use crate::broadcast::Broadcast;

/// `out = x` where `condition` is not 0, else `y`, for elements of 1, 2, 4, 8 or 16 bytes. The plan's operands
/// are the condition, `x` and `y`.
///
/// # Panics
/// When slices are shorter than the plan says, or elements have another width.
pub fn select(
    element: usize,
    plan: &Broadcast<3>,
    condition: &[u8],
    x: &[u8],
    y: &[u8],
    out: &mut [u8],
) {
    match element {
        1 => select_of_width::<1>(plan, condition, x, y, out),
        2 => select_of_width::<2>(plan, condition, x, y, out),
        4 => select_of_width::<4>(plan, condition, x, y, out),
        8 => select_of_width::<8>(plan, condition, x, y, out),
        16 => select_of_width::<16>(plan, condition, x, y, out),
        width => panic!("elements of {width} bytes cannot be chosen"),
    }
}

fn select_of_width<const W: usize>(
    plan: &Broadcast<3>,
    condition: &[u8],
    x: &[u8],
    y: &[u8],
    out: &mut [u8],
) {
    let (x, y) = (x.as_chunks::<W>().0, y.as_chunks::<W>().0);
    let out = out.as_chunks_mut::<W>().0;
    assert_eq!(plan.elements(), out.len(), "the result has another size");
    let [step_c, step_x, step_y] = plan.row_strides();
    for row in plan.rows(0..out.len()) {
        let [c, i, j] = row.at;
        let out = &mut out[row.start..][..row.len];
        if step_c == 0 {
            let (src, at, step) = if condition[c] != 0 { (x, i, step_x) } else { (y, j, step_y) };
            if step == 1 {
                out.copy_from_slice(&src[at..][..row.len]);
            } else {
                pick(out, |k| src[at.wrapping_add_signed(k as isize * step)]);
            }
            continue;
        }
        if step_c == 1 {
            let c = &condition[c..][..row.len];
            match (step_x, step_y) {
                (1, 1) => {
                    let (x, y) = (&x[i..][..row.len], &y[j..][..row.len]);
                    pick(out, |k| if c[k] != 0 { x[k] } else { y[k] });
                    continue;
                }
                (1, 0) => {
                    let (x, y) = (&x[i..][..row.len], y[j]);
                    pick(out, |k| if c[k] != 0 { x[k] } else { y });
                    continue;
                }
                (0, 1) => {
                    let (x, y) = (x[i], &y[j..][..row.len]);
                    pick(out, |k| if c[k] != 0 { x } else { y[k] });
                    continue;
                }
                _ => {}
            }
        }
        pick(out, |k| {
            let at = |start: usize, step: isize| start.wrapping_add_signed(k as isize * step);
            if condition[at(c, step_c)] != 0 { x[at(i, step_x)] } else { y[at(j, step_y)] }
        });
    }
}

#[inline(always)]
fn pick<T>(out: &mut [T], f: impl Fn(usize) -> T) {
    for (k, out) in out.iter_mut().enumerate() {
        *out = f(k);
    }
}
