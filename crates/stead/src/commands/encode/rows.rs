//! Rows of training data, split by query and written as arrays.

use std::collections::HashSet;
use std::fs::File;
use std::io::BufWriter;
use std::path::Path;
use std::sync::Arc;

use stead_embed::{attention_mask, input_ids, token_count, token_type_ids};
use stead_tensor::{Tensor, TensorError, TensorView, npz};
use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::plan::Plan;
use crate::failure::Failure;

/// A pair.
#[derive(Debug, Clone)]
pub(super) struct Row {
    /// The number of its query.
    pub(super) query: usize,
    /// The tokens of its texts in the order of the row, zeros left out.
    pub(super) texts: Vec<Arc<[i64]>>,
    /// Its label.
    pub(super) label: f64,
}

/// Pairs in the order of their file.
#[derive(Debug, Clone, Default)]
pub(super) struct Rows {
    rows: Vec<Row>,
    /// The texts of the queries by their numbers.
    queries: Vec<Arc<str>>,
    /// How many queries and documents had more tokens than their tensors have cells.
    cut: (usize, usize),
}

impl Rows {
    pub(super) fn push(&mut self, row: Row, is_cut: bool) {
        self.rows.push(row);
        self.cut.1 += usize::from(is_cut);
    }

    /// The number of a query that was not seen before.
    pub(super) fn add_query(&mut self, text: &str, is_cut: bool) -> usize {
        self.queries.push(text.into());
        self.cut.0 += usize::from(is_cut);
        self.queries.len() - 1
    }

    pub(super) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    /// How many queries the rows have.
    pub(super) fn queries(&self) -> usize {
        self.rows.iter().map(|row| row.query).collect::<HashSet<_>>().len()
    }

    /// How many queries and documents were cut.
    pub(super) fn cut(&self) -> (usize, usize) {
        self.cut
    }

    /// The rows for training and for validation. A part of the queries, chosen by the hash of their text and the seed, is
    /// for validation with all its rows; the order stays. So pairs that are added later move few others.
    pub(super) fn split(&self, part: f64, seed: u64) -> (Rows, Rows) {
        let count = self.queries.len();
        let wanted = (part * count as f64).round() as usize;
        // Neither side is empty if both can have a query.
        let wanted = if part > 0.0 { wanted.clamp(1, count.max(2) - 1) } else { 0 };
        let mut order: Vec<usize> = (0..count).collect();
        order.sort_by_cached_key(|query| {
            let text = &self.queries[*query];
            (xxh3_64_with_seed(text.as_bytes(), seed), Arc::clone(text))
        });
        let chosen: HashSet<usize> = order.into_iter().take(wanted).collect();
        let side = |is_chosen: bool| Rows {
            rows: self
                .rows
                .iter()
                .filter(|row| chosen.contains(&row.query) == is_chosen)
                .cloned()
                .collect(),
            ..Rows::default()
        };
        (side(false), side(true))
    }

    /// Writes `input_ids`, `token_type_ids`, `attention_mask` and, if they are wanted, `labels`.
    pub(super) fn write(&self, path: &Path, plan: &Plan<'_>) -> Result<(), Failure> {
        let named = |e: &dyn std::fmt::Display| Failure::failed(format!("{}: {e}", path.display()));
        let arrays = self.arrays(plan).map_err(|e| named(&e))?;
        let file = BufWriter::new(File::create(path).map_err(|e| named(&e))?);
        let views: Vec<(&str, TensorView<'_>)> =
            arrays.iter().map(|(name, tensor)| (*name, tensor.view())).collect();
        npz::write(file, views).map_err(|e| named(&e))
    }

    fn arrays(&self, plan: &Plan<'_>) -> Result<Vec<(&'static str, Tensor)>, TensorError> {
        let dims = [self.rows.len(), plan.length];
        let array = |fill: &dyn Fn(&[&[i64]], &mut [i64])| {
            let mut cells = vec![0_i64; dims[0] * dims[1]];
            // A length of zero has no rows to fill.
            for (row, out) in self.rows.iter().zip(cells.chunks_mut(plan.length.max(1))) {
                let texts: Vec<&[i64]> = row.texts.iter().map(|t| &**t).collect();
                fill(&texts, out);
            }
            Tensor::from_slice(&cells, &dims)
        };
        let ids = array(&|texts, row| input_ids(texts, plan.start, plan.end, row))?;
        let types = array(&|texts, row| token_type_ids(texts, row))?;
        let mask = array(&|texts, row| attention_mask(texts, row))?;
        let mut arrays =
            vec![("input_ids", ids), ("token_type_ids", types), ("attention_mask", mask)];
        if plan.has_labels {
            arrays.push(("labels", self.labels()?));
        }
        Ok(arrays)
    }

    /// Whole numbers if all labels are.
    fn labels(&self) -> Result<Tensor, TensorError> {
        let labels = self.rows.iter().map(|row| row.label);
        let dims = [self.rows.len()];
        // Whole numbers of this size are exact.
        let is_whole = |label: f64| label.fract() == 0.0 && label.abs() <= 9e15;
        if labels.clone().all(is_whole) {
            return Tensor::from_slice(&labels.map(|l| l as i64).collect::<Vec<_>>(), &dims);
        }
        Tensor::from_slice(&labels.map(|l| l as f32).collect::<Vec<_>>(), &dims)
    }

    /// How many rows have more tokens than there is room for; they end without an end.
    pub(super) fn too_long(&self, plan: &Plan<'_>) -> usize {
        let tokens = |row: &&Row| 1 + row.texts.iter().map(|t| token_count(t) + 1).sum::<usize>();
        self.rows.iter().filter(|row| tokens(row) > plan.length).count()
    }
}
