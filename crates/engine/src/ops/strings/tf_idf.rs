//! TfIdfVectorizer: how often n-grams of a pool occur in rows of words or numbers.

use crate::error::{BuildError, PlanError, RunError};
use crate::ops::{Args, NodeSpec, OpDef, OpPlan, Out, Param, TypeSet, plan_fn};
use std::collections::HashMap;
use std::sync::Arc;
use stead_onnx::Attributes;
use stead_tensor::{DType, Shape};

/// TfIdfVectorizer.
pub const OPS: &[OpDef] = &[OpDef::new(
    "TfIdfVectorizer",
    &[Param::required(0, TypeSet::of(&[DType::I32, DType::I64, DType::String]))],
    &[Out::Fixed(DType::F32)],
    tf_idf,
)
.since(9)];

/// What becomes of the count of an n-gram.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    Count,
    /// The weight of each n-gram that occurs.
    Weight,
    Product,
}

/// The items of the pool, by numbers of their own.
enum Items {
    Numbers(HashMap<i64, u32>),
    Words(HashMap<Vec<u8>, u32>),
}

struct Vectorizer {
    items: Items,
    /// The column of each n-gram.
    grams: HashMap<Box<[u32]>, usize>,
    /// The fewest and the most items of an n-gram.
    sizes: (usize, usize),
    /// The most items that are left out between two of an n-gram.
    skips: usize,
    columns: usize,
    mode: Mode,
    /// Of each column.
    weights: Vec<f32>,
}

/// An attribute that is a list of sizes or positions.
fn places(attributes: &Attributes, name: &str) -> Result<Vec<usize>, BuildError> {
    let list = attributes.ints(name)?.ok_or_else(|| attributes.missing(name))?;
    let place = |&n: &i64| {
        usize::try_from(n)
            .map_err(|_| BuildError::unsupported(format!("{name} has {n}, which is negative")))
    };
    list.iter().map(place).collect()
}

fn size(attributes: &Attributes, name: &str, least: i64) -> Result<usize, BuildError> {
    let n = attributes.int(name)?.ok_or_else(|| attributes.missing(name))?;
    let fits = usize::try_from(n).ok().filter(|_| n >= least);
    fits.ok_or_else(|| BuildError::unsupported(format!("{name} is {n}; at least {least} expected")))
}

/// Each item of the pool by a number, the same for the same item, and these numbers in the order of the pool.
fn numbered<T: std::hash::Hash + Eq>(pool: impl Iterator<Item = T>) -> (HashMap<T, u32>, Vec<u32>) {
    let mut numbers = HashMap::new();
    let list = pool.map(|item| {
        let next = numbers.len() as u32;
        *numbers.entry(item).or_insert(next)
    });
    let list = list.collect();
    (numbers, list)
}

impl Vectorizer {
    fn of(attributes: &Attributes, dtype: DType) -> Result<Vectorizer, BuildError> {
        let (fewest, most) =
            (size(attributes, "min_gram_length", 1)?, size(attributes, "max_gram_length", 1)?);
        if fewest > most {
            return Err(BuildError::unsupported(format!(
                "min_gram_length is {fewest} and max_gram_length {most}"
            )));
        }
        let mode = match attributes.string("mode")?.ok_or_else(|| attributes.missing("mode"))? {
            "TF" => Mode::Count,
            "IDF" => Mode::Weight,
            "TFIDF" => Mode::Product,
            other => {
                return Err(BuildError::unsupported(format!(
                    "mode is \"{other}\"; supported: TF IDF TFIDF"
                )));
            }
        };
        let name = if dtype == DType::String { "pool_strings" } else { "pool_int64s" };
        let (items, pool) = if dtype == DType::String {
            let words = attributes.bytes_list(name)?.ok_or_else(|| attributes.missing(name))?;
            let (words, pool) = numbered(words.iter().map(|word| word.to_vec()));
            (Items::Words(words), pool)
        } else {
            let numbers = attributes.ints(name)?.ok_or_else(|| attributes.missing(name))?;
            let (numbers, pool) = numbered(numbers.iter().copied());
            (Items::Numbers(numbers), pool)
        };
        let columns_of = places(attributes, "ngram_indexes")?;
        let starts = places(attributes, "ngram_counts")?;
        let mut columns_left = columns_of.iter();
        let mut grams = HashMap::new();
        let broken = || {
            BuildError::unsupported(format!(
                "ngram_counts, ngram_indexes and {name} do not fit each other"
            ))
        };
        for (at, &start) in starts.iter().enumerate() {
            let end = starts.get(at + 1).copied().unwrap_or(pool.len());
            let part = pool.get(start..end).ok_or_else(broken)?;
            if part.len() % (at + 1) != 0 {
                return Err(broken());
            }
            for gram in part.chunks_exact(at + 1) {
                let column = *columns_left.next().ok_or_else(broken)?;
                if (fewest..=most).contains(&gram.len()) {
                    grams.insert(gram.into(), column);
                }
            }
        }
        let columns = columns_of.iter().max().map_or(0, |&last| last.saturating_add(1));
        let weights = attributes.floats("weights")?.unwrap_or_default().to_vec();
        if !weights.is_empty() && weights.len() != columns_of.len() {
            return Err(BuildError::unsupported(format!(
                "{} weights for {} n-grams",
                weights.len(),
                columns_of.len()
            )));
        }
        let skips = size(attributes, "max_skip_count", 0)?;
        Ok(Vectorizer { items, grams, sizes: (fewest, most), skips, columns, mode, weights })
    }

    /// The items of an operand by their numbers; `None` for those that the pool does not have.
    fn items(&self, a: &Args<'_>, dtype: DType) -> Result<Vec<Option<u32>>, RunError> {
        Ok(match &self.items {
            Items::Words(words) => {
                a.strings(0)?.iter().map(|word| words.get(word).copied()).collect()
            }
            Items::Numbers(numbers) if dtype == DType::I32 => {
                a.read::<i32>(0)?.iter().map(|&n| numbers.get(&n.into()).copied()).collect()
            }
            Items::Numbers(numbers) => {
                a.read::<i64>(0)?.iter().map(|n| numbers.get(n).copied()).collect()
            }
        })
    }

    /// Counts the n-grams of a row. What stands next to each other has a distance of 1; single items have none, and
    /// are counted once.
    fn count(&self, row: &[Option<u32>], counts: &mut [f32]) {
        let (fewest, most) = self.sizes;
        let mut gram = Vec::new();
        let farthest = self.skips.saturating_add(1).min(row.len());
        for distance in 1..=farthest {
            for start in 0..row.len() {
                gram.clear();
                for item in row[start..].iter().step_by(distance).take(most) {
                    let Some(item) = item else { break };
                    gram.push(*item);
                    let is_counted = gram.len() >= fewest && (gram.len() > 1 || distance == 1);
                    let column = self.grams.get(gram.as_slice()).filter(|_| is_counted);
                    if let Some(count) = column.and_then(|&column| counts.get_mut(column)) {
                        *count += 1.0;
                    }
                }
            }
        }
    }

    /// Counts to results. As ONNX Runtime does, a weight is that of a column.
    fn weigh(&self, counts: &mut [f32]) {
        for (column, count) in counts.iter_mut().enumerate() {
            let weight = self.weights.get(column).copied().unwrap_or(1.0);
            *count = match self.mode {
                Mode::Count => *count,
                Mode::Weight if *count > 0.0 => weight,
                Mode::Weight => 0.0,
                Mode::Product => *count * weight,
            };
        }
    }
}

fn tf_idf(spec: &NodeSpec<'_>) -> Result<OpPlan, BuildError> {
    let dtype = spec.dtype()?;
    let vectorizer = Arc::new(Vectorizer::of(spec.attributes(), dtype)?);
    plan_fn(move |cx| {
        let shape = cx.shape(0)?;
        let (rows, words) = match *shape.dims() {
            [words] => (None, words),
            [rows, words] => (Some(rows), words),
            _ => {
                return Err(PlanError::shape(format!("shape [C] or [N, C] expected, got {shape}")));
            }
        };
        let vectorizer = vectorizer.clone();
        let columns = vectorizer.columns;
        let dims: Vec<usize> = rows.into_iter().chain([columns]).collect();
        let (x, slot) = (cx.input(0)?, cx.output(0, Shape::new(&dims)?)?);
        cx.step("tf_idf", &[x], &[slot], move |a| {
            let items = vectorizer.items(a, dtype)?;
            let out = a.write::<f32>()?;
            out.fill(0.0);
            for (row, counts) in out.chunks_exact_mut(columns.max(1)).enumerate() {
                let row = items.get(row * words..).and_then(|rest| rest.get(..words));
                vectorizer.count(row.unwrap_or_default(), counts);
                vectorizer.weigh(counts);
            }
            Ok(())
        });
        Ok(())
    })
}
