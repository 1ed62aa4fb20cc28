//! Windows that slide over up to three spatial dimensions, shared by convolutions and pools.

/// The geometry of a sliding window. Dimensions that are not there have extent 1 and come first: a
/// 1-D window uses the last entry alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// Extents of the input.
    pub input: [usize; 3],
    /// Extents of the output.
    pub output: [usize; 3],
    /// Extents of the window, in taps.
    pub kernel: [usize; 3],
    /// Steps from one output to the next.
    pub strides: [usize; 3],
    /// Steps from one tap to the next.
    pub dilations: [usize; 3],
    /// Elements of padding before the first of the input.
    pub pads: [usize; 3],
}

impl Window {
    /// Elements of an input plane.
    pub fn input_len(&self) -> usize {
        self.input.iter().product()
    }

    /// Elements of an output plane.
    pub fn output_len(&self) -> usize {
        self.output.iter().product()
    }

    /// Taps of the window.
    pub fn taps(&self) -> usize {
        self.kernel.iter().product()
    }

    /// The outputs along `axis` for which `tap` lies inside the input, as `(first, end)`.
    #[inline(always)]
    pub(crate) fn outputs(&self, axis: usize, tap: usize) -> (usize, usize) {
        let (stride, at) = (self.strides[axis], tap * self.dilations[axis]);
        let pad = self.pads[axis];
        let first = if at >= pad { 0 } else { (pad - at).div_ceil(stride) };
        let reach = self.input[axis] + pad;
        let end = if at >= reach { 0 } else { (reach - at).div_ceil(stride) };
        let end = end.min(self.output[axis]);
        (first.min(end), end)
    }

    /// The taps along `axis` that lie inside the input for `output`, as `(first, end)`.
    #[inline(always)]
    pub(crate) fn taps_at(&self, axis: usize, output: usize) -> (usize, usize) {
        let (dilation, at) = (self.dilations[axis], output * self.strides[axis]);
        let pad = self.pads[axis];
        let first = if at >= pad { 0 } else { (pad - at).div_ceil(dilation) };
        let reach = self.input[axis] + pad;
        let end = if at >= reach { 0 } else { (reach - at).div_ceil(dilation) };
        let end = end.min(self.kernel[axis]);
        (first.min(end), end)
    }

    /// The input element under `tap` for `output`, which must be inside.
    #[inline(always)]
    pub(crate) fn at(&self, axis: usize, output: usize, tap: usize) -> usize {
        output * self.strides[axis] + tap * self.dilations[axis] - self.pads[axis]
    }

    /// Whether every output is made of the one input element at the same place.
    pub fn is_pointwise(&self) -> bool {
        self.kernel == [1; 3]
            && self.strides == [1; 3]
            && self.pads == [0; 3]
            && self.input == self.output
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_agree_with_the_definition() {
        for (input, kernel, stride, dilation, pad, output) in [
            (5, 3, 1, 1, 1, 5),
            (7, 3, 2, 2, 3, 5),
            (1, 4, 3, 2, 9, 4),
            (6, 2, 1, 5, 0, 1),
            (3, 1, 4, 1, 2, 2),
        ] {
            let w = Window {
                input: [1, 1, input],
                output: [1, 1, output],
                kernel: [1, 1, kernel],
                strides: [1, 1, stride],
                dilations: [1, 1, dilation],
                pads: [0, 0, pad],
            };
            let inside = |o: usize, t: usize| {
                let at = o * stride + t * dilation;
                at >= pad && at - pad < input
            };
            for tap in 0..kernel {
                let (first, end) = w.outputs(2, tap);
                for o in 0..output {
                    assert_eq!((first..end).contains(&o), inside(o, tap), "{w:?} tap {tap} {o}");
                }
            }
            for o in 0..output {
                let (first, end) = w.taps_at(2, o);
                for tap in 0..kernel {
                    assert_eq!((first..end).contains(&tap), inside(o, tap), "{w:?} out {o} {tap}");
                }
            }
        }
    }
}
