extern crate std;

use super::*;

#[test]
fn positions_of_extremes() {
    let x = [3.0f32, 1.0, 3.0, 1.0, 2.0, 2.0];
    let cases: [(&str, bool, bool, Dims, &[i64]); 6] = [
        ("first largest", true, false, (1, 6, 1), &[0]),
        ("last largest", true, true, (1, 6, 1), &[2]),
        ("first smallest", false, false, (1, 6, 1), &[1]),
        ("last smallest", false, true, (1, 6, 1), &[3]),
        ("columns", true, false, (1, 3, 2), &[0, 2]),
        ("rows", false, true, (2, 3, 1), &[1, 0]),
    ];
    for (label, largest, last, dims, want) in cases {
        let mut got = [9; 2];
        let got = &mut got[..want.len()];
        arg_extreme(largest, last, dims, &x, got);
        assert_eq!(got, want, "{label}");
    }
    let mut got = [9];
    arg_extreme(true, false, (1, 4, 1), &[1.0, f32::NAN, 5.0, f32::NAN], &mut got);
    assert_eq!(got, [1]);
    let mut hard = [9.0; 6];
    hardmax((1, 3, 2), [0.0, 1.0], &x, &mut hard);
    assert_eq!(hard, [1.0, 0.0, 0.0, 0.0, 0.0, 1.0]);
}

#[test]
fn the_first_of_equals_comes_first() {
    let x = [1i32, 5, 2, 5, 0, 5];
    for (largest, want, at) in
        [(true, [5, 5, 5, 2], [1, 3, 5, 2]), (false, [0, 1, 2, 5], [4, 0, 2, 1])]
    {
        let (mut values, mut indices, mut scratch) = ([0; 4], [0; 4], [0; 6]);
        top_k(largest, 4, (1, 6, 1), &x, &mut values, &mut indices, &mut scratch);
        assert_eq!((values, indices), (want, at), "{largest}");
    }
    let (mut values, mut indices, mut scratch) = ([0; 2], [0; 2], [0; 3]);
    top_k(true, 1, (1, 3, 2), &x, &mut values, &mut indices, &mut scratch);
    assert_eq!((values, indices), ([2, 5], [1, 0]));
}

#[test]
fn running_sums() {
    let cases = [
        ("plain", false, false, false, [1, 3, 6, 10]),
        ("exclusive", false, true, false, [0, 1, 3, 6]),
        ("reverse", false, false, true, [10, 9, 7, 4]),
        ("both", false, true, true, [9, 7, 4, 0]),
        ("product", true, false, false, [1, 2, 6, 24]),
        ("product, both", true, true, true, [24, 12, 4, 1]),
    ];
    for (label, product, exclusive, reverse, want) in cases {
        let mut got = [0i64; 4];
        let how = Cumulative { product, exclusive, reverse };
        cumulative(how, (1, 4, 1), &[1, 2, 3, 4], &mut got);
        assert_eq!(got, want, "{label}");
    }
    let mut columns = [0; 4];
    cumulative(Cumulative::default(), (1, 2, 2), &[1i32, 2, 3, 4], &mut columns);
    assert_eq!(columns, [1, 2, 4, 6]);
}
