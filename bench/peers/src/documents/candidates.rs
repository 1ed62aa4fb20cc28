//! The candidates of a search, with the tensor of each.

use serde::Deserialize;

use crate::Result;

/// A result as far as it is read; texts are borrowed.
#[derive(Deserialize)]
struct Answer<'a> {
    #[serde(borrow)]
    root: Root<'a>,
}

#[derive(Deserialize)]
struct Root<'a> {
    #[serde(borrow, default)]
    children: Vec<Hit<'a>>,
}

#[derive(Deserialize)]
struct Hit<'a> {
    #[serde(borrow)]
    id: &'a str,
    #[serde(borrow)]
    fields: Fields<'a>,
}

/// The vector of a post, or the tokens of a passage.
#[derive(Deserialize)]
struct Fields<'a> {
    #[serde(borrow, alias = "embedding", alias = "tokens")]
    tensor: Tensor<'a>,
}

/// A tensor in the forms `hex-value` and `short-value`, this with one dimension or with one of size 1 before it.
#[derive(Deserialize)]
#[serde(untagged)]
enum Tensor<'a> {
    Hex(#[serde(borrow)] &'a str),
    Flat(Vec<f32>),
    Nested(Vec<Vec<f32>>),
}

/// Candidates of all stores.
#[derive(Default)]
pub struct Candidates {
    ids: Vec<String>,
    /// Their tensors, one behind the other.
    values: Vec<f32>,
}

impl Candidates {
    /// Adds the hits of an answer.
    pub fn add(&mut self, answer: &[u8]) -> Result<()> {
        let answer: Answer<'_> = serde_json::from_slice(answer)?;
        for hit in &answer.root.children {
            self.ids.push(hit.id.to_owned());
            match &hit.fields.tensor {
                // The bits of each number, the highest first.
                Tensor::Hex(text) => {
                    for digits in text.as_bytes().as_chunks::<8>().0 {
                        let bits = digits.iter().try_fold(0u32, |bits, digit| {
                            Some(bits << 4 | (*digit as char).to_digit(16)?)
                        });
                        self.values.push(f32::from_bits(bits.ok_or("no hexadecimal digits")?));
                    }
                }
                Tensor::Flat(values) => self.values.extend(values),
                Tensor::Nested(rows) => self.values.extend(rows.iter().flatten()),
            }
            if self.values.len() % self.ids.len() != 0 {
                return Err("tensors of different sizes".into());
            }
        }
        Ok(())
    }

    pub fn count(&self) -> usize {
        self.ids.len()
    }

    /// Their tensors.
    pub fn tensors(&self) -> impl Iterator<Item = &[f32]> {
        self.values.chunks((self.values.len() / self.ids.len().max(1)).max(1))
    }

    /// The ids of the best.
    pub fn best(&self, scores: &[f32], hits: usize) -> Vec<&str> {
        let mut order: Vec<usize> = (0..scores.len().min(self.ids.len())).collect();
        order.sort_unstable_by(|a, b| scores[*b].total_cmp(&scores[*a]));
        order.iter().take(hits).map(|at| self.ids[*at].as_str()).collect()
    }
}
