//! Graphs of vectors beside the vectors that they are of.

use std::collections::{BTreeMap, BTreeSet};

use stead_ann::{Request, Scratch};
use stead_expr::Value;
use stead_store::{DataType, FieldValue, View};

/// Whether the graphs of a view have the vectors of its documents and no others, and lead to nearly all of them.
pub fn check(view: &View) {
    for (number, about) in view.kind().attributes().iter().enumerate() {
        let Some(graph) = view.graph(number) else { continue };
        let vectors = vectors(view, &about.name);
        let label = format!("{} of {} documents", about.name, view.len());
        assert_eq!(graph.documents(), vectors.len(), "{label}");
        assert_eq!(graph.len(), vectors.values().map(Vec::len).sum::<usize>(), "{label}");
        let (mut scratch, mut hits) = (Scratch::default(), Vec::new());
        for vector in vectors.values().flatten().take(5) {
            let request = Request { explore: graph.len(), ..Request::new(graph.len()) };
            let outcome = view.nearest(number, vector, &request, &mut scratch, &mut hits).unwrap();
            assert!(outcome.is_some_and(|outcome| outcome.is_complete), "{label}");
            let found: BTreeSet<u32> = hits.iter().map(|hit| hit.document).collect();
            assert!(found.iter().all(|lid| vectors.contains_key(lid)), "{label}: found {found:?}");
            // Of few links, and vectors that are much alike, some lead nowhere.
            assert!(10 * found.len() >= 9 * vectors.len(), "{label}: found {found:?}");
            assert!(hits[0].distance < 1e-3, "{label}: {:?}", hits[0]);
        }
    }
}

/// The vectors of an attribute that are no zeros, by the numbers of documents.
fn vectors(view: &View, name: &str) -> BTreeMap<u32, Vec<Vec<f64>>> {
    let (field, kind) = view.kind().field(name).unwrap();
    let DataType::Tensor(kind) = kind else { panic!("{kind}") };
    let cells = |value: &Value| -> Vec<Vec<f64>> {
        value.cells().doubles().chunks(kind.block_size()).map(<[f64]>::to_vec).collect()
    };
    let of = |lid: u32| {
        let fields = view.fields(lid).unwrap();
        let value = fields.iter().find(|(number, _)| *number == field).map(|(_, value)| value)?;
        let FieldValue::Tensor(value) = value else { panic!("{value:?}") };
        Some((lid, cells(value))).filter(|(_, cells)| !cells.is_empty())
    };
    view.lids().filter_map(of).collect()
}
