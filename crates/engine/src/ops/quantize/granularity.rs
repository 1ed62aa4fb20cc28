//! Which scale belongs to which numbers.

use super::super::axes::{around, axis_of};
use super::super::{NodeSpec, PlanCx};
use crate::error::{BuildError, PlanError};
use stead_kernels::quantize::Scales;
use stead_tensor::Shape;

/// How a tensor is cut into parts with a scale each.
#[derive(Clone, Copy)]
pub(super) struct Granularity {
    axis: i64,
    block: i64,
}

impl Granularity {
    pub(super) fn of(spec: &NodeSpec<'_>) -> Result<Granularity, BuildError> {
        let granularity = Granularity {
            axis: spec.attributes().int_or("axis", 1)?,
            block: spec.attributes().int_or("block_size", 0)?,
        };
        if granularity.block < 0 {
            return Err(BuildError::unsupported(format!(
                "block_size is {}; supported: 0 and more",
                granularity.block
            )));
        }
        Ok(granularity)
    }

    /// Where each scale serves, for the first input with scales and zero points in the next two.
    pub(super) fn scales(self, cx: &PlanCx<'_>) -> Result<Scales, PlanError> {
        let (x, scale) = (cx.shape(0)?, cx.shape(1)?);
        if cx.has_input(2) && cx.shape(2)?.elements() != scale.elements() {
            let zero = cx.shape(2)?;
            return Err(PlanError::shape(format!(
                "the zero point has shape {zero} but the scale {scale}"
            )));
        }
        self.fit(&x, &scale).ok_or_else(|| {
            PlanError::shape(format!(
                "a scale of shape {scale} does not fit {x} along axis {} with block_size {}",
                self.axis, self.block
            ))
        })
    }

    fn fit(self, x: &Shape, scale: &Shape) -> Option<Scales> {
        if self.block == 0 && scale.elements() == 1 {
            return Some(Scales::single(x.elements()));
        }
        let at = axis_of(self.axis, x.rank()).ok()?;
        let (outer, axis, inner) = around(x, at);
        if self.block == 0 {
            let fits = scale.rank() == 1 && scale[0] == axis;
            return fits.then_some(Scales { outer, axis, inner, block: 1, whole: false });
        }
        let block = usize::try_from(self.block).ok()?;
        let along = axis.div_ceil(block);
        let fits = scale.rank() == x.rank()
            && (0..x.rank()).all(|a| scale[a] == if a == at { along } else { x[a] });
        fits.then_some(Scales { outer, axis, inner, block, whole: true })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scales_fit_by_shape() {
        let cases: [(&str, &[usize], &[usize], i64, i64, bool); 8] = [
            ("scalar", &[2, 3], &[], 1, 0, true),
            ("one element", &[2, 3], &[1], 1, 0, true),
            ("along the axis", &[2, 3], &[3], -1, 0, true),
            ("wrong count", &[2, 3], &[2], 1, 0, false),
            ("blocked", &[2, 5], &[2, 2], 1, 3, true),
            ("wrong blocks", &[2, 5], &[2, 3], 1, 3, false),
            ("no such axis", &[2, 3], &[3], 2, 0, false),
            ("scalar input", &[], &[], 1, 0, true),
        ];
        for (label, x, scale, axis, block, fits) in cases {
            let shape = |dims| Shape::new(dims).unwrap();
            let got = Granularity { axis, block }.fit(&shape(x), &shape(scale));
            assert_eq!(got.is_some(), fits, "{label}");
            let count = got.map_or(0, |s| s.count());
            assert!(!fits || count == shape(scale).elements(), "{label}");
        }
    }
}
