//! Copies whose source positions come from one table for each dimension: padding, cropping, nearest
//! neighbours.

use super::by_width;

/// Fills `dst`, of extents `dims` in row-major order, with `dst[i, j, ...] = src[t0[i] + t1[j] + ...]`
/// where `tables` holds `t0`, `t1`, ... one after the other, counted in blocks of `block` bytes. A
/// negative entry gives `outside` (one block) instead.
///
/// # Panics
/// When a position lies outside of `src`, or a length does not fit.
pub fn copy_by_tables(
    block: usize,
    src: &[u8],
    dims: &[usize],
    tables: &[isize],
    outside: &[u8],
    dst: &mut [u8],
) {
    assert_eq!(
        dst.len(),
        dims.iter().product::<usize>() * block,
        "the destination has another size"
    );
    assert!(tables.len() == dims.iter().sum::<usize>() && outside.len() >= block);
    if dst.is_empty() {
        return;
    }
    by_width!(
        block,
        copy_of_width(src, dims, tables, outside, dst),
        else copy_blocks(block, src, 0, dims, tables, outside, dst)
    );
}

fn copy_of_width<const W: usize>(
    src: &[u8],
    dims: &[usize],
    tables: &[isize],
    outside: &[u8],
    dst: &mut [u8],
) {
    let src = src.as_chunks::<W>().0;
    let dst = dst.as_chunks_mut::<W>().0;
    let Some(&outside) = outside.first_chunk::<W>() else { return };
    copy_elements(src, 0, dims, tables, outside, dst);
}

/// One dimension after the other; the recursion is as deep as the rank.
fn copy_elements<const W: usize>(
    src: &[[u8; W]],
    base: isize,
    dims: &[usize],
    tables: &[isize],
    outside: [u8; W],
    dst: &mut [[u8; W]],
) {
    let Some((&n, inner)) = dims.split_first() else {
        dst[0] = src[base as usize];
        return;
    };
    let (table, rest) = tables.split_at(n);
    if inner.is_empty() {
        for (d, &t) in dst.iter_mut().zip(table) {
            *d = if t < 0 { outside } else { src[(base + t) as usize] };
        }
        return;
    }
    let len = dst.len() / n;
    for (part, &t) in dst.chunks_exact_mut(len).zip(table) {
        if t < 0 {
            part.fill(outside);
        } else {
            copy_elements(src, base + t, inner, rest, outside, part);
        }
    }
}

fn copy_blocks(
    block: usize,
    src: &[u8],
    base: isize,
    dims: &[usize],
    tables: &[isize],
    outside: &[u8],
    dst: &mut [u8],
) {
    let Some((&n, inner)) = dims.split_first() else {
        let start = base as usize * block;
        dst.copy_from_slice(&src[start..start + block]);
        return;
    };
    let (table, rest) = tables.split_at(n);
    let len = dst.len() / n;
    for (part, &t) in dst.chunks_exact_mut(len).zip(table) {
        if t < 0 {
            part.chunks_exact_mut(block).for_each(|b| b.copy_from_slice(&outside[..block]));
        } else {
            copy_blocks(block, src, base + t, inner, rest, outside, part);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::copy_by_tables;

    #[test]
    fn tables_say_where_elements_come_from() {
        let src = [0u8, 1, 2, 3, 4, 5];
        let cases: [(&str, usize, &[usize], &[isize], &[u8]); 4] = [
            (
                "reflect columns of 2x3",
                1,
                &[2, 5],
                &[0, 3, 1, 0, 1, 2, 1],
                &[1, 0, 1, 2, 1, 4, 3, 4, 5, 4],
            ),
            ("outside on both axes", 1, &[2, 2], &[-1, 0, -1, 2], &[9, 9, 9, 2]),
            ("blocks of three", 3, &[3], &[1, -1, 0], &[3, 4, 5, 9, 8, 7, 0, 1, 2]),
            ("no dimension", 1, &[], &[], &[0]),
        ];
        for (label, block, dims, tables, expected) in cases {
            let mut dst = [0u8; 16];
            let dst = &mut dst[..expected.len()];
            copy_by_tables(block, &src, dims, tables, &[9, 8, 7], dst);
            assert_eq!(dst, expected, "{label}");
        }
    }
}
