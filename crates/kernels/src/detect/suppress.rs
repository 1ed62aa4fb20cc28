//! Non-maximum suppression.

/// How four numbers are a box.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Boxes {
    /// y1, x1, y2, x2: two opposite corners, in any order.
    Corners,
    /// x and y of the middle, width, height.
    Centers,
}

/// A box as `[left, top, right, bottom]`.
fn sides(form: Boxes, numbers: &[f32]) -> [f32; 4] {
    let [a, b, c, d] = [numbers[0], numbers[1], numbers[2], numbers[3]];
    match form {
        Boxes::Corners => [b.min(d), a.min(c), b.max(d), a.max(c)],
        Boxes::Centers => [a - c / 2.0, b - d / 2.0, a + c / 2.0, b + d / 2.0],
    }
}

/// Whether the part that both boxes share is more of what they cover together than `limit`. A box without area shares
/// nothing.
fn overlaps(a: [f32; 4], b: [f32; 4], limit: f32) -> bool {
    let width = a[2].min(b[2]) - a[0].max(b[0]);
    let height = a[3].min(b[3]) - a[1].max(b[1]);
    if !(width > 0.0 && height > 0.0) {
        return false;
    }
    let area = |x: [f32; 4]| (x[2] - x[0]) * (x[3] - x[1]);
    let shared = width * height;
    let all = area(a) + area(b) - shared;
    area(a) > 0.0 && area(b) > 0.0 && all > 0.0 && shared / all > limit
}

/// Chooses up to `most` of the `boxes` (4 numbers each): the one with the highest score, then the next that overlaps
/// none of the chosen ones by more than `limit`; boxes whose score is not above `least` do not count. Of equal scores the
/// first box comes first. The indices of the chosen boxes stand at the beginning of `order`, whose number is given back.
///
/// # Panics
/// When `boxes` and `order` do not have room for each score.
pub fn suppress(
    form: Boxes,
    boxes: &[f32],
    scores: &[f32],
    limit: f32,
    least: Option<f32>,
    most: usize,
    order: &mut [i64],
) -> usize {
    assert_eq!(boxes.len(), 4 * scores.len(), "four numbers for each score");
    assert_eq!(order.len(), scores.len(), "room for each box");
    let mut candidates = 0;
    for (i, &score) in scores.iter().enumerate() {
        if least.is_none_or(|least| score > least) {
            order[candidates] = i as i64;
            candidates += 1;
        }
    }
    let score = |i: i64| scores[i as usize];
    order[..candidates].sort_unstable_by(|&a, &b| score(b).total_cmp(&score(a)).then(a.cmp(&b)));
    let of = |i: i64| sides(form, &boxes[4 * i as usize..][..4]);
    let mut chosen = 0;
    for at in 0..candidates {
        if chosen == most {
            break;
        }
        let next = order[at];
        let candidate = of(next);
        if !order[..chosen].iter().any(|&i| overlaps(candidate, of(i), limit)) {
            order[chosen] = next;
            chosen += 1;
        }
    }
    chosen
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_hide_others() {
        // The second covers half of what it and the first cover together; the third is far away, the fourth has no area.
        let boxes = [
            [0.0, 0.0, 1.0, 2.0],
            [0.0, 0.0, 1.0, 1.0],
            [5.0, 5.0, 4.0, 4.0],
            [0.0, 0.0, 0.0, 1.0],
        ];
        let scores = [0.5, 0.9, 0.9, 0.1];
        let cases: [(&str, f32, Option<f32>, usize, &[i64]); 6] = [
            ("one is hidden", 0.4, None, 9, &[1, 2, 3]),
            ("as much as the limit is not too much", 0.5, None, 9, &[1, 2, 0, 3]),
            ("two at most", 0.4, None, 2, &[1, 2]),
            ("none at most", 0.4, None, 0, &[]),
            ("low scores do not count", 0.5, Some(0.1), 9, &[1, 2, 0]),
            ("no score is high enough", 0.5, Some(0.9), 9, &[]),
        ];
        for (label, limit, least, most, want) in cases {
            let mut order = [0; 4];
            let boxes = boxes.as_flattened();
            let n = suppress(Boxes::Corners, boxes, &scores, limit, least, most, &mut order);
            assert_eq!(&order[..n], want, "{label}");
        }
        let mut order = [0; 2];
        let middles = [1.0, 1.0, 2.0, 2.0, 1.0, 1.5, 2.0, 2.0];
        let n = suppress(Boxes::Centers, &middles, &[0.1, 0.2], 0.59, None, 9, &mut order);
        assert_eq!(&order[..n], [1], "three fifths are shared");
    }
}
