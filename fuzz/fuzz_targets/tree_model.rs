//! Bytes as a tree model of any format: whatever is read scores rows in both modes, alike in blocks and alone.
#![no_main]

use libfuzzer_sys::fuzz_target;
use stead_trees::{Forest, Limits, Mode, ReadOptions, Rows, read};

const ROWS: usize = 70;

fuzz_target!(|bytes: &[u8]| {
    let limits =
        Limits { features: 64, outputs: 16, nodes: 1 << 14, values: 1 << 16, ..Limits::default() };
    let Ok(model) = read(bytes, &ReadOptions { limits, ..ReadOptions::default() }) else { return };
    let _ = model.differences();
    for mode in [Mode::Compat, Mode::Exact] {
        let forest = Forest::new(&model, mode);
        let (features, outputs) = (forest.features().len(), forest.outputs());
        if features == 0 {
            continue;
        }
        let values = [0.0, f64::NAN, 1.0, -0.5, 1e30, 0.3, f64::NEG_INFINITY, 2.5, 1e-36];
        let rows: Vec<f64> =
            (0..ROWS * features).map(|i| values[(i * 7 + i / 11) % values.len()]).collect();
        let mut scores = vec![0.0; ROWS * outputs];
        forest.predict(&Rows::of_f64(&rows, features), &mut scores).expect("rows fit");
        // One row is walked; a block asks all splits.
        let mut alone = vec![0.0; outputs];
        for row in 0..ROWS {
            let one = Rows::of_f64(&rows[row * features..][..features], features);
            forest.predict(&one, &mut alone).expect("a row fits");
            let same = |(a, b): (&f64, &f64)| a == b || (a.is_nan() && b.is_nan());
            let block = &scores[row * outputs..][..outputs];
            assert!(alone.iter().zip(block).all(same), "row {row}: {alone:?}, {block:?}");
        }
    }
});
