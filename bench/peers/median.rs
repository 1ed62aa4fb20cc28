//! The middle of several times. The programs that are measured include this file.

/// The median of these, which are sorted; of none it is not a number.
pub fn median(times: &mut [f64]) -> f64 {
    times.sort_by(f64::total_cmp);
    times.get(times.len() / 2).copied().unwrap_or(f64::NAN)
}
