//! Copies by strides, for elements of any width.

/// Copies a strided tensor of `element` bytes to row-major `dst`.
///
/// `offset` and `strides` count elements of `src`; `dims` gives the extent of each dimension. The caller has
/// checked that every element lies inside `src`.
///
/// # Panics
/// When an element lies outside of `src`, or `dst` has another size than `dims` gives.
pub fn copy_strided(
    element: usize,
    src: &[u8],
    offset: usize,
    strides: &[isize],
    dims: &[usize],
    dst: &mut [u8],
) {
    match element {
        1 => copy_of_width::<1>(src, offset, strides, dims, dst),
        2 => copy_of_width::<2>(src, offset, strides, dims, dst),
        4 => copy_of_width::<4>(src, offset, strides, dims, dst),
        8 => copy_of_width::<8>(src, offset, strides, dims, dst),
        16 => copy_of_width::<16>(src, offset, strides, dims, dst),
        width => panic!("elements of {width} bytes cannot be copied"),
    }
}

fn copy_of_width<const W: usize>(
    src: &[u8],
    offset: usize,
    strides: &[isize],
    dims: &[usize],
    dst: &mut [u8],
) {
    let src = src.as_chunks::<W>().0;
    let dst = dst.as_chunks_mut::<W>().0;
    assert_eq!(dst.len(), dims.iter().product::<usize>(), "the destination has another size");
    copy_dims(src, offset as isize, strides, dims, dst);
}

/// One dimension after the other; the recursion is as deep as the rank, which is at most eight.
fn copy_dims<const W: usize>(
    src: &[[u8; W]],
    offset: isize,
    strides: &[isize],
    dims: &[usize],
    dst: &mut [[u8; W]],
) {
    match (dims, strides) {
        ([], _) => {
            if let Some(d) = dst.first_mut() {
                *d = src[offset as usize];
            }
        }
        ([n], [1, ..]) => {
            let start = offset as usize;
            dst.copy_from_slice(&src[start..start + n]);
        }
        ([_], [stride, ..]) => {
            let mut at = offset;
            for d in dst {
                *d = src[at as usize];
                at += stride;
            }
        }
        ([n, inner @ ..], [stride, inner_strides @ ..]) => {
            let len = inner.iter().product::<usize>();
            for (i, part) in dst.chunks_exact_mut(len.max(1)).take(*n).enumerate() {
                copy_dims(src, offset + i as isize * stride, inner_strides, inner, part);
            }
        }
        (_, []) => panic!("there are fewer strides than dimensions"),
    }
}

#[cfg(test)]
mod tests {
    use super::copy_strided;

    #[test]
    fn views_are_copied_row_major() {
        let src: [u8; 12] = core::array::from_fn(|i| i as u8);
        let cases: [(&str, usize, &[isize], &[usize], &[u8]); 6] = [
            ("transpose 3x4", 0, &[1, 4], &[4, 3], &[0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11]),
            ("column", 1, &[4], &[3], &[1, 5, 9]),
            ("reversed", 3, &[-1], &[4], &[3, 2, 1, 0]),
            ("broadcast", 2, &[0, 1], &[2, 2], &[2, 3, 2, 3]),
            ("scalar", 7, &[], &[], &[7]),
            ("empty", 0, &[4, 1], &[0, 4], &[]),
        ];
        for (label, offset, strides, dims, expected) in cases {
            let mut dst = [0u8; 12];
            let dst = &mut dst[..expected.len()];
            copy_strided(1, &src, offset, strides, dims, dst);
            assert_eq!(dst, expected, "{label}");
        }
    }
}
