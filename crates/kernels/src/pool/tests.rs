extern crate std;
use super::*;
use crate::Serial;
use std::vec;
use std::vec::Vec;

fn window(input: [usize; 3], output: [usize; 3], kernel: [usize; 3]) -> Window {
    Window { input, output, kernel, strides: [1; 3], dilations: [1; 3], pads: [0; 3] }
}

#[test]
fn largest_with_and_without_positions() {
    // 3 x 4, window 2 x 2 at stride 2, a row of padding above.
    let x: [i8; 12] = [1, 9, 3, 9, -5, -6, -7, -8, 0, 2, 2, 1];
    let mut win = window([1, 3, 4], [1, 2, 2], [1, 2, 2]);
    win.strides = [1, 2, 2];
    win.pads = [0, 1, 0];
    for isa in Isa::available() {
        let (mut y, mut at) = ([0; 4], [0; 4]);
        max(isa, &Serial, &win, 1, &x, &mut y);
        assert_eq!(y, [9, 9, 2, 2]);
        max_indices(&Serial, &win, 1, false, &x, &mut y, &mut at);
        assert_eq!((y, at), ([9, 9, 2, 2], [1, 3, 9, 10]));
        max_indices(&Serial, &win, 1, true, &x, &mut y, &mut at);
        assert_eq!(at, [3, 9, 5, 8]);
    }
}

#[test]
fn largest_of_channels_that_lie_together() {
    for (channels, kernel, strides, pads) in [
        (1, [1, 3, 3], [1, 2, 2], [0, 1, 1]),
        (70, [2, 1, 2], [1, 1, 3], [0, 0, 1]),
        (3, [1; 3], [1; 3], [0; 3]),
    ] {
        let input = [2, 5, 6];
        let output =
            core::array::from_fn(|a| (input[a] + 2 * pads[a] - kernel[a]) / strides[a] + 1);
        let win = Window { strides, pads, ..window(input, output, kernel) };
        let (from, to) = (win.input_len(), win.output_len());
        let planes: Vec<u8> = (0..2 * channels * from).map(|i| (i * 7919 % 251) as u8).collect();
        let mut want = vec![0; 2 * channels * to];
        max(Isa::Scalar, &Serial, &win, 2 * channels, &planes, &mut want);
        let at = |i: usize, places: usize| {
            let image = channels * places;
            i / image * image + i % channels * places + i % image / channels
        };
        let x: Vec<u8> = (0..planes.len()).map(|i| planes[at(i, from)]).collect();
        for isa in Isa::available() {
            let mut y = vec![77; want.len()];
            max_last(isa, &Serial, &win, [2, channels], &x, &mut y);
            for (i, y) in y.into_iter().enumerate() {
                assert_eq!(y, want[at(i, to)], "{isa:?} {channels} channels: [{i}]");
            }
        }
    }
}

#[test]
fn positions_count_through_all_planes() {
    let x = [1.0f32, 2.0, 4.0, 3.0];
    let (mut y, mut at) = ([0.0; 2], [0; 2]);
    max_indices(&Serial, &window([1, 1, 2], [1; 3], [1, 1, 2]), 2, false, &x, &mut y, &mut at);
    assert_eq!((y, at), ([2.0, 4.0], [1, 2]));
}

#[test]
fn means_divide_by_what_counts() {
    let x: Vec<f32> = vec![1.0, 2.0, 3.0, 4.0];
    let mut win = window([1, 1, 4], [1, 1, 3], [1, 1, 3]);
    win.strides = [1, 1, 2];
    win.pads = [0, 0, 1];
    for isa in Isa::available() {
        let cases = [
            ("inside", AverageCount::Inside, [1.5, 3.0, 4.0]),
            // The last window reaches one behind the padding.
            ("padded", AverageCount::Padded([0, 0, 1]), [1.0, 3.0, 2.0]),
            ("no padding at the end", AverageCount::Padded([0; 3]), [1.0, 3.0, 4.0]),
        ];
        for (label, count, want) in cases {
            let mut y = [9.0; 3];
            average(isa, &Serial, &win, count, 1, &x, &mut y);
            assert_eq!(y, want, "{label}");
        }
    }
}

#[test]
fn norms() {
    let x = [3.0f64, -4.0];
    let win = window([1, 1, 2], [1; 3], [1, 1, 2]);
    for (p, want) in [(1, 7.0), (2, 5.0), (3, 91f64.cbrt())] {
        let mut y = [0.0];
        lp(Isa::detect(), &Serial, &win, p, 1, &x, &mut y);
        assert!((y[0] - want).abs() < 1e-12, "{p}");
    }
}
