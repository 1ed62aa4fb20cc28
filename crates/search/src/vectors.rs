//! Vectors of documents where they lie, compared with one of a query.

use std::borrow::Cow;
use std::ops::Range;

use stead_ann::{Cell, Metric, distances};
use stead_expr::{Attribute, Cells, map_cells};
use stead_kernels::vector::Widen;
use stead_store::Column;
use stead_tensor::Bits;

/// The vectors of a column and that of a query.
pub(crate) struct Vectors<'v> {
    metric: Metric,
    query: &'v [f64],
    cells: Cells<'v>,
    /// Where the vectors of a document begin, where documents have several.
    offsets: Option<Cow<'v, [u32]>>,
    /// Documents without a vector, where documents have one.
    absent: Option<&'v Bits>,
}

impl<'v> Vectors<'v> {
    /// The vectors of a column; nothing if it has none.
    pub(crate) fn new(column: &'v Column, metric: Metric, query: &'v [f64]) -> Option<Vectors<'v>> {
        let (cells, offsets) = match column.attribute()? {
            Attribute::Dense { cells, .. } => (cells, None),
            Attribute::Mixed { offsets, cells, .. } => (cells, Some(offsets)),
            _ => return None,
        };
        let absent = match column {
            Column::Tensors(tensors) => Some(tensors.absent()).filter(|absent| absent.count() > 0),
            _ => None,
        };
        Some(Vectors { metric, query, cells, offsets, absent })
    }

    /// Adds the distance of each of some documents that lie behind each other: of its nearest vector, NaN if it has none.
    pub(crate) fn distances(&self, documents: Range<usize>, out: &mut Vec<f64>) {
        let Some(offsets) = &self.offsets else {
            let from = out.len();
            self.compare(documents.clone(), out);
            if let Some(absent) = self.absent {
                let found = out[from..].iter_mut().zip(documents);
                found.filter(|(_, row)| absent.contains(*row)).for_each(|(d, _)| *d = f64::NAN);
            }
            return;
        };
        let (Some(first), Some(behind)) =
            (offsets.get(documents.start), offsets.get(documents.end))
        else {
            return out.resize(out.len() + documents.len(), f64::NAN);
        };
        let mut all = Vec::new();
        self.compare(*first as usize..*behind as usize, &mut all);
        for document in documents {
            let place = |at: usize| offsets.get(at).map_or(0, |place| (*place - first) as usize);
            let own = all.get(place(document)..place(document + 1)).unwrap_or_default();
            out.push(nearest(own).map_or(f64::NAN, |(_, distance)| distance));
        }
    }

    /// The same for vectors.
    fn compare(&self, vectors: Range<usize>, out: &mut Vec<f64>) {
        let from = out.len();
        out.resize(from + vectors.len(), f64::NAN);
        compare(self.metric, self.query, &self.cells, vectors.start, &mut out[from..]);
    }
}

/// Writes the distances of vectors that lie behind each other in some cells, from one on. What there is no vector for stays as it was.
pub(crate) fn compare(
    metric: Metric,
    query: &[f64],
    cells: &Cells<'_>,
    first: usize,
    out: &mut [f64],
) {
    fn run<T: Cell + Widen<f64>>(
        metric: Metric,
        query: &[f64],
        cells: &[T],
        part: Range<usize>,
        out: &mut [f64],
    ) {
        if let Some(vectors) = cells.get(part) {
            distances(metric, query, vectors, out);
        }
    }
    let part = first * query.len()..(first + out.len()) * query.len();
    match cells {
        Cells::Double(cells) => run(metric, query, cells, part, out),
        Cells::Float(cells) => run(metric, query, cells, part, out),
        Cells::BFloat16(cells) => run(metric, query, cells, part, out),
        Cells::Int8(cells) => run(metric, query, cells, part, out),
        // Only results of models have such cells.
        cells => {
            let vectors: Option<Cells<'_>> =
                (|| Some(map_cells!(cells, cells => cells.get(part)?)))();
            if let Some(vectors) = vectors {
                distances(metric, query, &vectors.doubles(), out);
            }
        }
    }
}

/// The least of some distances and its place, if one of them is a number.
pub(crate) fn nearest(distances: &[f64]) -> Option<(usize, f64)> {
    let numbers = distances.iter().copied().enumerate().filter(|(_, x)| !x.is_nan());
    numbers.min_by(|(_, a), (_, b)| a.total_cmp(b))
}

#[cfg(test)]
mod tests {
    use stead_ann::{Metric, distances};
    use stead_app::application::Application;
    use stead_app::package::PackageFiles;
    use stead_app::services::ServicesOptions;
    use stead_store::{DocumentType, Documents};

    use super::{Vectors, nearest};

    const SCHEMA: &str = "schema d { document d {
      field v type tensor<float>(x[3]) { indexing: attribute }
      field b type tensor<int8>(x[3]) { indexing: attribute }
      field k type tensor<bfloat16>(k{},x[3]) { indexing: attribute }
    } }";

    const DOCUMENTS: &str = r#"
      {"put": "id:d:d::1", "fields": {"v": [1, 2, 3], "b": [1, 2, 3], "k": {"a": [1, 2, 3], "b": [4, 4, 4]}}}
      {"put": "id:d:d::2", "fields": {"b": [4, 0, -1]}}
      {"put": "id:d:d::3", "fields": {"v": [0.5, 0, 2], "b": [7, 7, 7], "k": {"c": [4, 0, -1]}}}"#;

    #[test]
    fn distances_of_columns_are_those_of_their_vectors() {
        let files = PackageFiles::from_texts([("schemas/d.sd", SCHEMA)]).unwrap();
        let (application, _) = Application::read(&files, ServicesOptions::default());
        let kind = DocumentType::new(application.schema("d").unwrap());
        let documents = Documents::read(kind, DOCUMENTS.as_bytes(), &mut |_| {}).unwrap();
        let query = [1.0, 0.5, -2.0];
        let rows: [(&str, [&[&[f64]]; 3]); 3] = [
            ("v", [&[&[1.0, 2.0, 3.0]], &[], &[&[0.5, 0.0, 2.0]]]),
            ("b", [&[&[1.0, 2.0, 3.0]], &[&[4.0, 0.0, -1.0]], &[&[7.0, 7.0, 7.0]]]),
            ("k", [&[&[1.0, 2.0, 3.0], &[4.0, 4.0, 4.0]], &[], &[&[4.0, 0.0, -1.0]]]),
        ];
        for name in ["euclidean", "angular", "dotproduct", "prenormalized-angular", "hamming"] {
            let metric = Metric::of_name(Some(name)).unwrap();
            for (field, expected) in &rows {
                let values = documents.view().attribute(field).unwrap();
                let column = values.column(0).unwrap().unwrap();
                let mut found = vec![7.0];
                Vectors::new(&column, metric, &query).unwrap().distances(0..3, &mut found);
                assert_eq!(found.remove(0), 7.0);
                for (found, vectors) in found.iter().zip(expected) {
                    let alone = |vector: &&[f64]| {
                        let mut out = [f64::NAN];
                        match *field {
                            "b" => {
                                let bytes: Vec<i8> = vector.iter().map(|x| *x as i8).collect();
                                distances(metric, &query, &bytes, &mut out);
                            }
                            _ => distances(metric, &query, vector, &mut out),
                        }
                        out[0]
                    };
                    match nearest(&vectors.iter().map(alone).collect::<Vec<f64>>()) {
                        Some((_, wanted)) => assert!(
                            (found - wanted).abs() < 1e-12,
                            "{name} {field} {found} {wanted}"
                        ),
                        None => assert!(found.is_nan(), "{name} {field}"),
                    }
                }
            }
        }
    }
}
