extern crate std;
use super::*;
use crate::Isa;
use std::vec;
use std::vec::Vec;

/// Numbers that look random.
struct Lcg(u64);

impl Lcg {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) as usize % n
    }
}

#[test]
fn ranks_count_thresholds_that_are_at_most_the_value() {
    let mut random = Lcg(1);
    for isa in Isa::available() {
        for n in [0, 1, 2, 15, 16, 17, 31, 255, 256, 257, 1000, 5000] {
            let mut thresholds: Vec<f32> = (0..n).map(|_| random.below(500) as f32).collect();
            thresholds.sort_by(f32::total_cmp);
            let mut index = vec![[0.0; NODE]; index_len(n)];
            write_index(&thresholds, &mut index);
            let mut values: Vec<f32> = (0..37).map(|_| random.below(520) as f32 - 10.0).collect();
            values.extend([f32::INFINITY, f32::NEG_INFINITY, f32::NAN]);
            for nan_high in [false, true] {
                let mut ranks = vec![9; values.len()];
                rank(isa, &values, n, &index, nan_high, &mut ranks);
                for (x, rank) in values.iter().zip(&ranks) {
                    let expected = match x.is_nan() {
                        true => n * usize::from(nan_high),
                        false => thresholds.iter().filter(|t| *t <= x).count(),
                    };
                    assert_eq!(*rank as usize, expected, "{isa:?}: {x} of {n}, {nan_high}");
                }
                let wide: Vec<f64> = values.iter().map(|x| f64::from(*x)).collect();
                let thresholds: Vec<f64> = thresholds.iter().map(|x| f64::from(*x)).collect();
                let mut index = vec![[0.0; NODE]; index_len(n)];
                write_index(&thresholds, &mut index);
                let mut again = vec![9; values.len()];
                rank(isa, &wide, n, &index, nan_high, &mut again);
                assert_eq!(again, ranks, "{isa:?}: f64, {n}, {nan_high}");
            }
        }
    }
}

/// A random tree of `leaves` leaves: splits in pre-order, nodes to walk, the root.
fn tree(random: &mut Lcg, leaves: usize, columns: usize) -> (Vec<Split>, Vec<Node>, u32) {
    let (mut splits, mut nodes) = (Vec::new(), Vec::new());
    // A range of leaves, and where its number goes.
    let mut open = vec![(0, leaves, None)];
    let mut root = 0;
    while let Some((low, high, parent)) = open.pop() {
        let number = match high - low {
            1 => LEAF | low as u32,
            n => {
                let mid = low + 1 + random.below(n - 1);
                let (column, code) = (random.below(columns) as u32, random.below(256) as u8 as i8);
                splits.push(Split { column, code, low: low as u8, mid: mid as u8 });
                nodes.push(Node { column, code, children: [0; 2] });
                open.push((mid, high, Some((nodes.len() - 1, 1))));
                open.push((low, mid, Some((nodes.len() - 1, 0))));
                nodes.len() as u32 - 1
            }
        };
        match parent {
            Some((parent, side)) => nodes[parent].children[side] = number,
            None => root = number,
        }
    }
    (splits, nodes, root)
}

#[test]
fn all_splits_of_a_block_find_the_leaf_that_a_walk_finds() {
    let mut random = Lcg(2);
    let columns = 5;
    for leaves in [1, 2, 3, 64, 255, 256] {
        let (splits, nodes, root) = tree(&mut random, leaves, columns);
        let values: Vec<f32> = (0..leaves + 256).map(|i| i as f32 + 0.5).collect();
        for rows in [PART, BLOCK] {
            let codes: Vec<i8> =
                (0..columns * rows).map(|_| random.below(256) as u8 as i8).collect();
            // What one row walks, without lanes.
            let walked: Vec<f32> = (0..rows)
                .map(|row| {
                    let mut at = root;
                    while at & LEAF == 0 {
                        let node = &nodes[at as usize];
                        let right = codes[node.column as usize * rows + row] > node.code;
                        at = node.children[usize::from(right)];
                    }
                    values[(at & !LEAF) as usize]
                })
                .collect();
            for isa in Isa::available() {
                let tree = Tree { split: 0, splits: splits.len() as u32, leaf: 0, output: 1 };
                let trees = Splits { trees: &[tree, tree], splits: &splits, leaves: &values };
                let mut sums = vec![1.0; 2 * rows];
                add(isa, trees, rows, &codes, &mut sums);
                let twice: Vec<f32> = walked.iter().map(|x| 1.0 + x + x).collect();
                assert_eq!(sums[..rows], vec![1.0; rows], "{isa:?}: the other output");
                assert_eq!(sums[rows..], twice, "{isa:?}: {leaves} leaves, {rows} rows");

                let count = rows - 3;
                let roots = [(root, 0)];
                let trees = Walk { roots: &roots, nodes: &nodes, leaves: &values };
                let mut sums = vec![0.0; 2 * rows];
                walk(isa, trees, rows, count, &codes, &mut sums);
                assert_eq!(sums[..count], walked[..count], "{isa:?}: walked");
                assert_eq!(sums[count..rows], [0.0; 3], "{isa:?}: rows that do not count");
            }
        }
    }
}
