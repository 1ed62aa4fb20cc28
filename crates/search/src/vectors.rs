//! Vectors of documents where they lie, compared with one of a query.

use std::borrow::Cow;
use std::ops::Range;

use stead_expr::{Attribute, Cells, map_cells};
use stead_kernels::Isa;
use stead_kernels::vector::{Measure, Widen, rows};
use stead_store::Column;
use stead_tensor::Bits;

use crate::metric::Metric;

/// The vectors of a column and that of a query.
pub(crate) struct Vectors<'v> {
    metric: Metric,
    query: &'v [f64],
    cells: Cells<'v>,
    /// Where the vectors of a document begin, where documents have several.
    offsets: Option<Cow<'v, [u32]>>,
    /// Documents without a vector, where documents have one.
    absent: Option<&'v Bits>,
    isa: Isa,
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
        Some(Vectors { metric, query, cells, offsets, absent, isa: Isa::detect() })
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
            out.push(own.iter().copied().min_by(f64::total_cmp).unwrap_or(f64::NAN));
        }
    }

    /// The same for vectors.
    fn compare(&self, vectors: Range<usize>, out: &mut Vec<f64>) {
        let from = out.len();
        out.resize(from + vectors.len(), f64::NAN);
        let out = &mut out[from..];
        let measure = match self.metric {
            Metric::Euclidean => Some(Measure::SquaredDistance),
            Metric::DotProduct | Metric::PrenormalizedAngular => Some(Measure::Dot),
            Metric::Angular | Metric::Geo | Metric::Hamming => None,
        };
        if measure.is_some_and(|measure| self.measure(measure, &vectors, out)) {
            out.iter_mut()
                .for_each(|distance| *distance = self.metric.of_measure(self.query, *distance));
            return;
        }
        let size = self.query.len();
        let part = vectors.start * size..vectors.end * size;
        let cells: Option<Cells<'_>> =
            (|| Some(map_cells!(&self.cells, cells => cells.get(part)?)))();
        let Some(cells) = cells else { return };
        let doubles = cells.doubles();
        for (distance, vector) in out.iter_mut().zip(doubles.chunks_exact(size.max(1))) {
            *distance = self.metric.distance(self.query, vector);
        }
    }

    /// A measure between the query and vectors, by vector instructions; false if there are none for such cells.
    fn measure(&self, measure: Measure, vectors: &Range<usize>, out: &mut [f64]) -> bool {
        fn run<T: Widen<f64>>(
            of: &Vectors<'_>,
            measure: Measure,
            cells: &[T],
            vectors: &Range<usize>,
            out: &mut [f64],
        ) -> bool {
            let size = of.query.len();
            let Some(list) = cells.get(vectors.start * size..vectors.end * size) else {
                return false;
            };
            rows(of.isa, measure, of.query, list, out);
            true
        }
        match &self.cells {
            Cells::Double(cells) => run(self, measure, cells, vectors, out),
            Cells::Float(cells) => run(self, measure, cells, vectors, out),
            Cells::BFloat16(cells) => run(self, measure, cells, vectors, out),
            Cells::Int8(cells) => run(self, measure, cells, vectors, out),
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use stead_app::application::Application;
    use stead_app::package::PackageFiles;
    use stead_app::services::ServicesOptions;
    use stead_store::{DocumentType, Documents};

    use super::Vectors;
    use crate::metric::Metric;

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
                    let distances = vectors.iter().map(|v| metric.distance(&query, v));
                    match distances.min_by(f64::total_cmp) {
                        Some(wanted) => assert!(
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
