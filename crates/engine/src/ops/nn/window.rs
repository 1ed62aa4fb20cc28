//! The attributes of sliding windows, and the shapes that follow from them.

use crate::error::{BuildError, PlanError};
use stead_kernels::Window;
use stead_onnx::Attributes;

/// Sizes above this are refused, so that sums of a few of them cannot overflow.
const MAX_EXTENT: i64 = 1 << 40;

/// How padding is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AutoPad {
    /// It is given.
    NotSet,
    /// As many outputs as inputs divided by the stride; an odd one goes to the end.
    SameUpper,
    /// The same, but an odd one goes to the beginning.
    SameLower,
    /// None.
    Valid,
}

/// The attributes that convolutions and pools share.
#[derive(Debug, Clone)]
pub(super) struct WindowAttributes {
    kernel: Option<Vec<usize>>,
    strides: Vec<usize>,
    dilations: Vec<usize>,
    /// All at the beginning, then all at the end.
    pads: Vec<usize>,
    pub auto_pad: AutoPad,
    ceil: bool,
}

/// A list of sizes that are at least `least`.
pub(super) fn sizes(
    attributes: &Attributes,
    name: &str,
    least: i64,
) -> Result<Option<Vec<usize>>, BuildError> {
    let Some(list) = attributes.ints(name)? else { return Ok(None) };
    let checked = list.iter().map(|&v| {
        if (least..=MAX_EXTENT).contains(&v) {
            Ok(v as usize)
        } else {
            Err(BuildError::unsupported(format!("{name} of {v}; supported: {least} and more")))
        }
    });
    checked.collect::<Result<_, _>>().map(Some)
}

impl WindowAttributes {
    /// Reads the attributes.
    ///
    /// # Errors
    /// [`BuildError`] for values out of range.
    pub(super) fn read(attributes: &Attributes) -> Result<WindowAttributes, BuildError> {
        let auto_pad = match attributes.string_or("auto_pad", "NOTSET")? {
            "NOTSET" | "" => AutoPad::NotSet,
            "SAME_UPPER" => AutoPad::SameUpper,
            "SAME_LOWER" => AutoPad::SameLower,
            "VALID" => AutoPad::Valid,
            other => return Err(BuildError::unsupported(format!("auto_pad \"{other}\""))),
        };
        Ok(WindowAttributes {
            kernel: sizes(attributes, "kernel_shape", 1)?,
            strides: sizes(attributes, "strides", 1)?.unwrap_or_default(),
            dilations: sizes(attributes, "dilations", 1)?.unwrap_or_default(),
            pads: sizes(attributes, "pads", 0)?.unwrap_or_default(),
            auto_pad,
            ceil: attributes.bool_or("ceil_mode", false)?,
        })
    }

    /// The extents of the window: those of the weights, or of the attribute.
    ///
    /// # Errors
    /// [`PlanError::Shape`] when they contradict each other or are missing.
    pub(super) fn kernel(&self, weights: Option<&[usize]>) -> Result<Vec<usize>, PlanError> {
        match (weights, &self.kernel) {
            (Some(w), Some(k)) if w != k.as_slice() => {
                Err(PlanError::shape(format!("kernel_shape {k:?} for weights of {w:?}")))
            }
            (Some(w), _) => Ok(w.to_vec()),
            (None, Some(k)) => Ok(k.clone()),
            (None, None) => Err(PlanError::shape("kernel_shape is missing")),
        }
    }

    /// The attributes for each of up to three dimensions, missing ones put before.
    ///
    /// # Errors
    /// [`PlanError::Shape`] when a list has another length than `input`, or there are too many dimensions.
    pub(super) fn axes(
        &self,
        input: &[usize],
        kernel: &[usize],
    ) -> Result<([Axis; 3], usize), PlanError> {
        let rank = input.len();
        if !(1..=3).contains(&rank) {
            return Err(PlanError::shape(format!("{rank} spatial dimensions; supported: 1 to 3")));
        }
        let check = |name: &str, list: &[usize], len: usize| {
            if list.is_empty() || list.len() == len {
                Ok(())
            } else {
                let actual = list.len();
                Err(PlanError::shape(format!("{name} of {len} numbers expected, got {actual}")))
            }
        };
        check("strides", &self.strides, rank)?;
        check("dilations", &self.dilations, rank)?;
        check("pads", &self.pads, 2 * rank)?;
        if kernel.len() != rank || kernel.contains(&0) {
            return Err(PlanError::shape(format!("a window of {kernel:?} over {input:?}")));
        }
        let mut axes = [Axis::UNIT; 3];
        let at = |list: &[usize], i: usize, default: usize| list.get(i).copied().unwrap_or(default);
        for (i, axis) in axes[3 - rank..].iter_mut().enumerate() {
            *axis = Axis {
                input: input[i],
                kernel: kernel[i],
                stride: at(&self.strides, i, 1),
                dilation: at(&self.dilations, i, 1),
                pads: (at(&self.pads, i, 0), at(&self.pads, rank + i, 0)),
            };
        }
        Ok((axes, rank))
    }

    /// The window over an input of these spatial dimensions, and the padding at the ends.
    ///
    /// # Errors
    /// As [`WindowAttributes::axes`], when the window is larger than the padded input, and when sizes overflow.
    pub(super) fn resolve(
        &self,
        input: &[usize],
        kernel: &[usize],
    ) -> Result<(Window, [usize; 3]), PlanError> {
        let (axes, _) = self.axes(input, kernel)?;
        let mut window = Window {
            input: axes.map(|a| a.input),
            output: [1; 3],
            kernel: axes.map(|a| a.kernel),
            strides: axes.map(|a| a.stride),
            dilations: axes.map(|a| a.dilation),
            pads: [0; 3],
        };
        let mut ends = [0; 3];
        for (i, axis) in axes.iter().enumerate() {
            let (output, begin, end) = axis.resolve(self.auto_pad, self.ceil)?;
            window.output[i] = output;
            window.pads[i] = begin;
            ends[i] = end;
        }
        // What `Window` multiplies without a look.
        for sizes in [window.kernel, window.output] {
            if sizes.iter().try_fold(1usize, |all, &size| all.checked_mul(size)).is_none() {
                return Err(PlanError::shape(format!("a window of {kernel:?} over {input:?}")));
            }
        }
        Ok((window, ends))
    }
}

/// The window along one dimension.
#[derive(Debug, Clone, Copy)]
pub(super) struct Axis {
    pub input: usize,
    pub kernel: usize,
    pub stride: usize,
    pub dilation: usize,
    pub pads: (usize, usize),
}

impl Axis {
    const UNIT: Axis = Axis { input: 1, kernel: 1, stride: 1, dilation: 1, pads: (0, 0) };

    /// Elements from the first tap to the last.
    ///
    /// # Errors
    /// [`PlanError::Shape`] on overflow.
    pub(super) fn reach(&self) -> Result<usize, PlanError> {
        (self.kernel - 1)
            .checked_mul(self.dilation)
            .filter(|&v| v < 1 << 60)
            .map(|v| v + 1)
            .ok_or_else(|| PlanError::shape("the window overflows"))
    }

    /// Outputs and padding at both ends.
    fn resolve(&self, auto_pad: AutoPad, ceil: bool) -> Result<(usize, usize, usize), PlanError> {
        let reach = self.reach()?;
        let (begin, end) = match auto_pad {
            AutoPad::NotSet => self.pads,
            AutoPad::Valid => (0, 0),
            AutoPad::SameUpper | AutoPad::SameLower => {
                let outputs = self.input.div_ceil(self.stride);
                let needed =
                    (outputs.saturating_sub(1) * self.stride + reach).saturating_sub(self.input);
                let less = needed / 2;
                match auto_pad {
                    AutoPad::SameUpper => (less, needed - less),
                    _ => (needed - less, less),
                }
            }
        };
        let padded = self.input + begin + end;
        let Some(room) = padded.checked_sub(reach) else {
            return Err(PlanError::shape(format!(
                "a window of {reach} elements over {padded}, padding included"
            )));
        };
        let outputs = if ceil {
            let outputs = room.div_ceil(self.stride) + 1;
            // The last window must begin inside the input or the padding before it.
            let beyond = (outputs - 1).saturating_mul(self.stride) >= self.input + begin;
            outputs - usize::from(beyond && outputs > 1)
        } else {
            room / self.stride + 1
        };
        Ok((outputs, begin, end))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outputs_and_padding() {
        let axis =
            |input, kernel, stride, dilation, pads| Axis { input, kernel, stride, dilation, pads };
        let cases = [
            ("plain", axis(5, 3, 1, 1, (0, 0)), AutoPad::NotSet, false, Some((3, 0, 0))),
            ("padded", axis(5, 3, 2, 1, (1, 1)), AutoPad::NotSet, false, Some((3, 1, 1))),
            ("dilated", axis(7, 3, 1, 2, (0, 0)), AutoPad::NotSet, false, Some((3, 0, 0))),
            ("same upper", axis(5, 2, 1, 1, (0, 0)), AutoPad::SameUpper, false, Some((5, 0, 1))),
            ("same lower", axis(5, 2, 1, 1, (0, 0)), AutoPad::SameLower, false, Some((5, 1, 0))),
            ("same strided", axis(5, 3, 2, 1, (0, 0)), AutoPad::SameUpper, false, Some((3, 1, 1))),
            ("valid", axis(5, 3, 2, 1, (9, 9)), AutoPad::Valid, false, Some((2, 0, 0))),
            ("ceil", axis(4, 3, 2, 1, (0, 0)), AutoPad::NotSet, true, Some((2, 0, 0))),
            ("ceil on padding", axis(2, 1, 2, 1, (0, 1)), AutoPad::NotSet, true, Some((1, 0, 1))),
            ("too large", axis(2, 4, 1, 1, (1, 0)), AutoPad::NotSet, false, None),
        ];
        for (label, axis, auto_pad, ceil, want) in cases {
            assert_eq!(axis.resolve(auto_pad, ceil).ok(), want, "{label}");
        }
    }
}
