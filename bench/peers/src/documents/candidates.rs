//! The candidates of a search, with their vectors.

use serde::Deserialize;

use crate::Result;

/// Numbers of a vector.
const SIZE: usize = 128;

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

#[derive(Deserialize)]
struct Fields<'a> {
    #[serde(borrow)]
    embedding: Embedding<'a>,
}

/// A tensor in the forms `hex-value` and `short-value`.
#[derive(Deserialize)]
#[serde(untagged)]
enum Embedding<'a> {
    Hex(#[serde(borrow)] &'a str),
    Nested(Vec<Vec<f32>>),
}

/// The rows that a network takes: the reader's vector, then that of a post.
pub struct Rows<'u> {
    user: &'u [f32],
    ids: Vec<String>,
    features: Vec<f32>,
}

impl<'u> Rows<'u> {
    pub fn new(user: &'u [f32]) -> Rows<'u> {
        Rows { user, ids: Vec::new(), features: Vec::new() }
    }

    /// The hits of an answer.
    pub fn add(&mut self, answer: &[u8]) -> Result<()> {
        let answer: Answer<'_> = serde_json::from_slice(answer)?;
        for hit in &answer.root.children {
            self.ids.push(hit.id.to_owned());
            self.features.extend(self.user);
            let before = self.features.len();
            match &hit.fields.embedding {
                // The bits of each number, the highest first.
                Embedding::Hex(text) => {
                    for digits in text.as_bytes().as_chunks::<8>().0 {
                        let bits = digits.iter().try_fold(0u32, |bits, digit| {
                            Some(bits << 4 | (*digit as char).to_digit(16)?)
                        });
                        self.features.push(f32::from_bits(bits.ok_or("no hexadecimal digits")?));
                    }
                }
                Embedding::Nested(rows) => self.features.extend(rows.iter().flatten()),
            }
            if self.features.len() != before + SIZE {
                return Err("a vector of another size".into());
            }
        }
        Ok(())
    }

    pub fn count(&self) -> usize {
        self.ids.len()
    }

    /// Rows from one on.
    pub fn features(&self, first: usize, count: usize) -> &[f32] {
        &self.features[first * 2 * SIZE..][..count * 2 * SIZE]
    }

    /// The ids of the best.
    pub fn best(&self, scores: &[f32], hits: usize) -> Vec<&str> {
        let mut order: Vec<usize> = (0..scores.len()).collect();
        order.sort_unstable_by(|a, b| scores[*b].total_cmp(&scores[*a]));
        order.iter().take(hits).map(|at| self.ids[*at].as_str()).collect()
    }
}
