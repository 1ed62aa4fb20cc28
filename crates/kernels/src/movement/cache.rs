//! Parts of a sequence written into a cache that holds a fixed number of positions.

use super::OutOfRange;

/// The sizes of a cache and of what is written into it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CacheDims {
    /// Batch entries.
    pub batches: usize,
    /// Elements of the dimensions between the batch and the positions.
    pub between: usize,
    /// Positions of the cache.
    pub positions: usize,
    /// Positions that are written, at most as many.
    pub written: usize,
    /// Bytes of one position.
    pub bytes: usize,
}

/// Writes `update` over positions of `cache`, from the position on that `starts` has for each batch entry (0 without
/// it), and behind the last position on from the first where `circular`.
///
/// # Errors
/// The first position outside of the cache; nothing is written for its batch entry.
///
/// # Panics
/// When lengths do not fit.
pub fn write_cache(
    d: CacheDims,
    circular: bool,
    starts: Option<&[i64]>,
    update: &[u8],
    cache: &mut [u8],
) -> Result<(), OutOfRange> {
    let (line, part) = (d.positions * d.bytes, d.written * d.bytes);
    assert!(d.written <= d.positions, "more is written than the cache holds");
    assert_eq!(update.len(), d.batches * d.between * part, "length of the update");
    assert_eq!(cache.len(), d.batches * d.between * line, "length of the cache");
    assert!(starts.is_none_or(|s| s.len() == d.batches), "a position for each batch entry");
    if part == 0 {
        return Ok(());
    }
    for batch in 0..d.batches {
        let index = starts.map_or(0, |s| s[batch]);
        let outside = OutOfRange { index, limit: d.positions };
        let start = usize::try_from(index).map_err(|_| outside)?;
        let start = if circular { start % d.positions } else { start };
        if !circular && start > d.positions - d.written {
            return Err(outside);
        }
        let whole = (d.positions - start).min(d.written) * d.bytes;
        for row in batch * d.between..(batch + 1) * d.between {
            let (first, wrapped) = update[row * part..][..part].split_at(whole);
            let line = &mut cache[row * line..][..line];
            line[start * d.bytes..][..whole].copy_from_slice(first);
            line[..wrapped.len()].copy_from_slice(wrapped);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_are_overwritten() {
        let d = CacheDims { batches: 2, between: 1, positions: 4, written: 2, bytes: 1 };
        let update = [1, 2, 3, 4];
        let old = [9u8; 8];
        let error = |index| Err(OutOfRange { index, limit: 4 });
        let cases = [
            ("from the start", false, None, Ok(()), [1, 2, 9, 9, 3, 4, 9, 9]),
            ("to the end", false, Some([1, 2]), Ok(()), [9, 1, 2, 9, 9, 9, 3, 4]),
            ("over the end", false, Some([0, 3]), error(3), [1, 2, 9, 9, 9, 9, 9, 9]),
            ("a negative one", false, Some([-1, 0]), error(-1), old),
            ("a negative one in a circle", true, Some([-1, 0]), error(-1), old),
            ("around", true, Some([3, 6]), Ok(()), [2, 9, 9, 1, 9, 9, 3, 4]),
        ];
        for (label, circular, starts, done, want) in cases {
            let mut cache = old;
            let starts = starts.as_ref().map(|s| &s[..]);
            assert_eq!(write_cache(d, circular, starts, &update, &mut cache), done, "{label}");
            assert_eq!(cache, want, "{label}");
        }
    }

    #[test]
    fn rows_between_share_a_position() {
        let d = CacheDims { batches: 1, between: 2, positions: 3, written: 1, bytes: 2 };
        let mut cache = [0u8; 12];
        write_cache(d, false, Some(&[1]), &[1, 2, 3, 4], &mut cache).unwrap();
        assert_eq!(cache, [0, 0, 1, 2, 0, 0, 0, 0, 3, 4, 0, 0]);
    }
}
