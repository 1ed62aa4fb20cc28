//! Scales by the numbers themselves.

use super::round;
use crate::Isa;
use crate::simd::{Simd, SimdOp, dispatch};

/// Scale and zero point of unsigned 8-bit numbers for `x`, with 0 in their range, after the definition of
/// DynamicQuantizeLinear. Of nothing, or of zeros: scale 1 and zero point 0 in place of a division by zero.
pub fn dynamic_scale(isa: Isa, x: &[f32]) -> (f32, u8) {
    struct Range<'a>(&'a [f32]);
    impl SimdOp for Range<'_> {
        type Output = (f32, f32);
        #[inline(always)]
        fn eval<S: Simd>(self, s: S) -> (f32, f32) {
            // Several vectors are under way at a time.
            let (mut low, mut high) = ([s.zero(); 4], [s.zero(); 4]);
            let groups = self.0.chunks_exact(4 * S::LANES);
            let rest = groups.remainder();
            for group in groups {
                for (i, (low, high)) in low.iter_mut().zip(&mut high).enumerate() {
                    let v = s.load(&group[i * S::LANES..]);
                    *low = s.min(v, *low);
                    *high = s.max(v, *high);
                }
            }
            // The rest is filled up with zeros, which count anyway.
            for chunk in rest.chunks(S::LANES) {
                let v = s.load_part(chunk);
                low[0] = s.min(v, low[0]);
                high[0] = s.max(v, high[0]);
            }
            let least = s.min(s.min(low[0], low[1]), s.min(low[2], low[3]));
            let most = s.max(s.max(high[0], high[1]), s.max(high[2], high[3]));
            (s.min_lane(least), s.max_lane(most))
        }
    }
    let (low, high) = dispatch(isa, Range(x));
    let scale = (high - low) / 255.0;
    if scale == 0.0 {
        return (1.0, 0);
    }
    (scale, round(-low / scale) as u8)
}
