//! Columns summed back to the image that they could have been taken from.

use crate::reduce::Reducible;
use crate::window::Window;

/// Writes `[planes, input of the window]` from columns `[planes, taps, positions of the output]`: every element of the image is
/// the sum of all that lies over it. What lies on the padding is left out.
///
/// # Panics
/// When lengths do not fit.
pub fn fold<T: Reducible>(window: &Window, planes: usize, columns: &[T], out: &mut [T]) {
    let (taps, positions, plane) = (window.taps(), window.output_len(), window.input_len());
    assert_eq!(columns.len(), planes * taps * positions, "length of the columns");
    assert_eq!(out.len(), planes * plane, "length of the image");
    out.fill(T::ZERO);
    let [_, kernel_rows, kernel_columns] = window.kernel;
    for (row, line) in columns.chunks_exact(positions.max(1)).enumerate().take(planes * taps) {
        let (image, tap) = (row / taps, row % taps);
        let tap = [
            tap / (kernel_rows * kernel_columns),
            tap / kernel_columns % kernel_rows,
            tap % kernel_columns,
        ];
        let image = &mut out[image * plane..][..plane];
        let [planes, rows, columns] = [0, 1, 2].map(|axis| window.outputs(axis, tap[axis]));
        for z in planes.0..planes.1 {
            for y in rows.0..rows.1 {
                for x in columns.0..columns.1 {
                    let from = (z * window.output[1] + y) * window.output[2] + x;
                    let at =
                        [window.at(0, z, tap[0]), window.at(1, y, tap[1]), window.at(2, x, tap[2])];
                    let to = (at[0] * window.input[1] + at[1]) * window.input[2] + at[2];
                    image[to] = image[to].plus(line[from]);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lies_over_an_element_is_summed() {
        let window = Window {
            input: [1, 1, 3],
            output: [1, 1, 3],
            kernel: [1, 1, 3],
            strides: [1; 3],
            dilations: [1; 3],
            pads: [0, 0, 1],
        };
        let mut out = [9.0f32; 3];
        fold(&window, 1, &[1.0, 2.0, 3.0, 10.0, 20.0, 30.0, 100.0, 200.0, 300.0], &mut out);
        assert_eq!(out, [12.0, 123.0, 230.0]);
    }
}
