//! Match features of pairs of a query and a document, to train on: `--features`.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use serde_json::{Map, Value as Json, json};
use stead_expr::{Cells, TensorType, Value, each_cell};
use stead_search::rank::Ranked;
use stead_store::View;
use stead_tensor::{Bool, Tensor, npz};

use super::results::feature;
use crate::failure::Failure;

/// Where match features go.
pub(super) enum Output {
    /// A line of JSON for each pair; how many there are, and of how many features.
    Lines(PathBuf, BufWriter<File>, (usize, usize)),
    /// An array for each feature, with a row for each pair.
    Arrays(PathBuf, Arrays),
}

/// The rows of an npz.
#[derive(Default)]
pub(super) struct Arrays {
    queries: Vec<i64>,
    documents: Vec<i64>,
    relevance: Vec<f64>,
    features: Vec<(String, TensorType, Cells<'static>)>,
}

impl Output {
    /// A file; what it holds is told by the end of its name.
    pub(super) fn create(path: &Path) -> Result<Output, Failure> {
        match path.extension().and_then(|e| e.to_str()) {
            Some("npz") => Ok(Output::Arrays(path.to_owned(), Arrays::default())),
            Some("jsonl" | "json") => {
                let file = File::create(path).map_err(|e| failed(path, &e))?;
                Ok(Output::Lines(path.to_owned(), BufWriter::new(file), (0, 0)))
            }
            _ => Err(Failure::usage(format!(
                "--features {}: expected a file with the end .jsonl or .npz",
                path.display()
            ))),
        }
    }

    /// Adds the pairs of a query, in the order of their ranks.
    pub(super) fn add(
        &mut self,
        (number, query): (usize, &str),
        names: &[&str],
        documents: &View,
        ranked: &Ranked,
    ) -> Result<(), Failure> {
        match self {
            Output::Lines(path, file, (rows, features)) => {
                (*rows, *features) = (*rows + ranked.hits.len(), names.len());
                for hit in &ranked.hits {
                    let pair =
                        |(name, value): (&&str, &Value)| ((*name).to_owned(), feature(value));
                    let values: Map<String, Json> =
                        names.iter().zip(&hit.match_features).map(pair).collect();
                    let line = json!({
                        "query": query,
                        "document": documents.id(hit.document),
                        "relevance": super::results::number(hit.relevance),
                        "features": values,
                    });
                    writeln!(file, "{line}").map_err(|e| failed(path, &e))?;
                }
            }
            Output::Arrays(path, arrays) => {
                for hit in &ranked.hits {
                    arrays.queries.push(number as i64);
                    arrays.documents.push(i64::from(hit.document));
                    arrays.relevance.push(hit.relevance);
                    arrays
                        .row(names, &hit.match_features)
                        .map_err(|text| failed(path, &format!("query {query}: {text}")))?;
                }
            }
        }
        Ok(())
    }

    /// Writes what is left; the number of pairs, and of features of each.
    pub(super) fn finish(self) -> Result<(usize, usize), Failure> {
        match self {
            Output::Lines(path, mut file, counts) => {
                file.flush().map_err(|e| failed(&path, &e))?;
                Ok(counts)
            }
            Output::Arrays(path, arrays) => {
                arrays.write(&path).map_err(|e| failed(&path, &e))?;
                Ok((arrays.queries.len(), arrays.features.len()))
            }
        }
    }
}

fn failed(path: &Path, error: &dyn std::fmt::Display) -> Failure {
    Failure::failed(format!("{}: {error}", path.display()))
}

impl Arrays {
    fn row(&mut self, names: &[&str], values: &[Value]) -> Result<(), String> {
        let rows = self.queries.len();
        if rows == 1 {
            for (name, value) in names.iter().zip(values) {
                if value.kind().mapped_count() > 0 {
                    return Err(format!(
                        "{name} is a {}, which is no array; write .jsonl, or reduce its mapped dimensions",
                        value.kind()
                    ));
                }
                self.features.push((
                    (*name).to_owned(),
                    value.kind().clone(),
                    Cells::zeros(value.kind().cell(), 0),
                ));
            }
        }
        let known = self.features.iter().map(|(name, kind, _)| (name.as_str(), kind));
        let found = names.iter().zip(values).map(|(name, value)| (*name, value.kind()));
        if !known.eq(found) {
            return Err(
                "its profile has other match-features than that of the queries before".to_owned()
            );
        }
        for ((.., cells), value) in self.features.iter_mut().zip(values) {
            // Of the same type, as was found.
            let _ = cells.extend(value.cells());
        }
        Ok(())
    }

    fn write(&self, path: &Path) -> Result<(), String> {
        let rows = self.queries.len();
        let error = |e: &dyn std::fmt::Display| e.to_string();
        let mut arrays = vec![
            (
                "query".to_owned(),
                Tensor::from_slice(&self.queries, &[rows]).map_err(|e| error(&e))?,
            ),
            (
                "document".to_owned(),
                Tensor::from_slice(&self.documents, &[rows]).map_err(|e| error(&e))?,
            ),
            (
                "relevance".to_owned(),
                Tensor::from_slice(&self.relevance, &[rows]).map_err(|e| error(&e))?,
            ),
        ];
        for (name, kind, cells) in &self.features {
            let mut dims = vec![rows];
            dims.extend(kind.indexed().map(|(_, size)| size));
            let tensor = match cells {
                Cells::BFloat16(_) => Tensor::from_slice(&cells.floats(), &dims),
                Cells::Bool(list) => {
                    let bits: Vec<Bool> = list.iter().map(|bit| Bool::from(*bit != 0)).collect();
                    Tensor::from_slice(&bits, &dims)
                }
                cells => each_cell!(cells, list => Tensor::from_slice(list, &dims)),
            };
            arrays.push((name.clone(), tensor.map_err(|e| format!("{name}: {e}"))?));
        }
        let file = File::create(path).map_err(|e| error(&e))?;
        let views = arrays.iter().map(|(name, tensor)| (name.as_str(), tensor.view()));
        npz::write(file, views).map_err(|e| error(&e))
    }
}
