//! Ensembles, kernels and transformations against what they are by definition.

use super::ensemble::{Combine, Ensemble, LEAF, Node, Test, Vote, votes};
use super::post::{Post, apply};
use super::svm::{Kernel, kernel_values};
use crate::{Parallel, Serial};

extern crate std;
use std::vec::Vec;

struct Threads;

impl Parallel for Threads {
    fn threads(&self) -> usize {
        3
    }
    fn for_each(&self, n: usize, f: &(dyn Fn(usize) + Sync)) {
        (0..n).rev().for_each(f);
    }
}

const NAN: f32 = f32::NAN;
const INF: f32 = f32::INFINITY;

#[test]
fn a_split_takes_each_value_to_one_side() {
    // The side of each of these values, y for yes and n for no.
    let values = [-INF, -1.0, -0.0, 0.0, 1e-45, 2.0, 2.5, INF, NAN];
    let cases: &[(Test<f32>, u8, &str)] = &[
        (Test::Less(2.0), 1, "yyyyynnnn"),
        (Test::Less(2.0), 0, "yyyyynnny"),
        (Test::Less(0.0), 1, "yynnnnnnn"),
        (Test::AtMost(2.0), 1, "yyyyyynnn"),
        (Test::AtMost(-0.0), 1, "yyyynnnnn"),
        (Test::AtMost(INF), 0, "yyyyyyyyy"),
        (Test::Equal(0.0), 1, "nnyynnnnn"),
        (Test::Equal(0.0), 0, "nnyynnnny"),
        (Test::Among(1, 2), 1, "nynnnynnn"),
        (Test::Among(1, 0), 1, "nnnnnnnnn"),
    ];
    for (test, nan, sides) in cases {
        let nodes = [Node { feature: 0, test: *test, children: [LEAF, LEAF | 1], nan: *nan }];
        let members = [2.5, 2.0, -1.0, 2.5];
        let ensemble = Ensemble {
            roots: &[0],
            nodes: &nodes,
            leaves: &[(0, 1), (1, 1)],
            votes: &[Vote { output: 0, weight: 1.0 }, Vote { output: 0, weight: 0.0 }],
            members: &members,
        };
        let mut out = [7.0; 9];
        votes(&Serial, &ensemble, Combine::Sum, (1, 1), &values, &mut out);
        let expected: Vec<f32> = sides.bytes().map(|b| f32::from(u8::from(b == b'y'))).collect();
        assert_eq!(out.as_slice(), expected, "{test:?} nan {nan}");
    }
}

#[test]
fn votes_are_combined_and_an_output_without_one_is_nan() {
    // A root that is a leaf with votes for the outputs 0 and 2, and a split of feature 1.
    let nodes =
        [Node { feature: 1, test: Test::Less(0.0), children: [LEAF | 1, LEAF | 2], nan: 0 }];
    let ensemble = Ensemble {
        roots: &[LEAF, 0],
        nodes: &nodes,
        leaves: &[(0, 2), (2, 1), (3, 0)],
        votes: &[
            Vote { output: 0, weight: 1.0 },
            Vote { output: 2, weight: -2.0 },
            Vote { output: 0, weight: 3.0 },
        ],
        members: &[],
    };
    let rows = 21;
    let x: Vec<f32> = (0..rows * 2).map(|i| if i % 4 == 1 { -1.0 } else { 1.0 }).collect();
    for (combine, both) in [(Combine::Sum, 4.0), (Combine::Min, 1.0), (Combine::Max, 3.0)] {
        for par in [&Serial as &dyn Parallel, &Threads] {
            let mut out = [7.0; 21 * 3];
            votes(par, &ensemble, combine, (2, 3), &x, &mut out);
            for (row, out) in out.chunks_exact(3).enumerate() {
                assert_eq!(out[0], if row % 2 == 0 { both } else { 1.0 }, "{combine:?} {row}");
                assert!(out[1].is_nan(), "{combine:?} {row}");
                assert_eq!(out[2], -2.0, "{combine:?} {row}");
            }
        }
    }
}

#[test]
fn transformations_of_a_row() {
    // softmax_zero: exp(-1) of (2, 1), 0 left out of the sum.
    let e = 0.367_879_44 / 1.367_879_4;
    let cases: &[(Post, &[f32], &[f32])] = &[
        (Post::None, &[1.5, -2.0], &[1.5, -2.0]),
        (Post::Logistic, &[0.0, 200.0, -200.0, 1.0], &[0.5, 1.0, 0.0, 0.731_058_6]),
        (Post::Softmax, &[1000.0, 1000.0], &[0.5, 0.5]),
        (Post::SoftmaxZero, &[2.0, 1.0, 0.0], &[1.0 - e, e, 0.0]),
        (Post::Probit, &[0.5, 0.975, 0.025], &[0.0, 1.959_96, -1.959_96]),
    ];
    for (post, given, expected) in cases {
        let mut scores = given.to_vec();
        apply(*post, &mut scores);
        for (a, b) in scores.iter().zip(*expected) {
            assert!(
                (a - b).abs() < if *post == Post::Probit { 5e-3 } else { 1e-6 },
                "{post:?}: {scores:?}"
            );
        }
    }
}

#[test]
fn values_of_kernels() {
    let (x, v) = ([1.0, 2.0, -1.0, 0.5], [0.5, -1.0, 2.0, 0.0, 1.0, 1.0]);
    let cases: &[(Kernel, fn(f64, f64) -> f64)] = &[
        (Kernel::Linear, |dot, _| dot),
        (Kernel::Poly { gamma: 0.5, coef0: 2.0, degree: 3.0 }, |dot, _| (0.5 * dot + 2.0).powi(3)),
        (Kernel::Rbf { gamma: 0.5 }, |_, distance| (-0.5 * distance).exp()),
        (Kernel::Sigmoid { gamma: 0.5, coef0: 0.1 }, |dot, _| (0.5 * dot + 0.1).tanh()),
    ];
    for (kernel, f) in cases {
        let mut out = [9.0; 6];
        kernel_values(&Serial, *kernel, 2, &x, &v, &mut out);
        for (at, value) in out.iter().enumerate() {
            let pairs = || {
                let (x, v) = (&x[at / 3 * 2..][..2], &v[at % 3 * 2..][..2]);
                x.iter().zip(v).map(|(x, v)| (f64::from(*x), f64::from(*v)))
            };
            let dot = pairs().map(|(x, v)| x * v).sum();
            let expected = f(dot, pairs().map(|(x, v)| (x - v) * (x - v)).sum());
            assert!(
                (f64::from(*value) - expected).abs() < 1e-6,
                "{kernel:?} {at}: {value} {expected}"
            );
        }
    }
}
