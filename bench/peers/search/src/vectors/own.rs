//! stead's documents with a vector each, and the graph of these, as a server has them.

use std::fs;
use std::ops::Range;
use std::path::Path;

use stead_ann::{Graph, Hit, Request, Scratch};
use stead_app::application::Application;
use stead_app::package::PackageFiles;
use stead_app::services::ServicesOptions;
use stead_expr::{Cells, Labels, TensorType, Value};
use stead_store::{Collection, DataType, DocumentType, FieldValue, View};
use stead_tensor::Bits;

use super::{EXPLORE, HITS, LINKS, Shape};
use crate::Result;

/// Documents, searched as they were when vectors were added last.
pub struct Own {
    collection: Collection,
    view: View,
    /// The number of the field, and that of its attribute.
    field: usize,
    attribute: usize,
    vectors: TensorType,
    scratch: Scratch,
    hits: Vec<Hit>,
}

fn kind(size: usize) -> Result<DocumentType> {
    let schema = format!(
        "schema row {{
           document row {{
             field vector type tensor<float>(x[{size}]) {{
               indexing: attribute | index
               attribute {{
                 distance-metric: prenormalized-angular
               }}
               index {{
                 hnsw {{
                   max-links-per-node: {LINKS}
                   neighbors-to-explore-at-insert: {EXPLORE}
                 }}
               }}
             }}
           }}
         }}"
    );
    let files = PackageFiles::from_texts([("schemas/row.sd", schema.as_str())])?;
    let (application, _) = Application::read(&files, ServicesOptions::default());
    Ok(DocumentType::stored(application.schema("row").ok_or("the schema")?))
}

impl Own {
    /// No documents yet.
    pub fn new(shape: Shape) -> Result<Own> {
        let collection = Collection::new(kind(shape.size)?);
        let attribute = collection.kind().attribute_number("vector").ok_or("the attribute")?;
        let about = collection.kind().attributes().get(attribute).ok_or("the attribute")?;
        let DataType::Tensor(vectors) = about.kind.clone() else { return Err("tensors".into()) };
        let (field, view) = (about.field, collection.view());
        let (scratch, hits) = (Scratch::default(), Vec::new());
        Ok(Own { collection, view, field, attribute, vectors, scratch, hits })
    }

    /// Goes on with documents whose graph was [written](Own::write): these have the first of some vectors.
    pub fn read(shape: Shape, file: &Path, cells: &[f32]) -> Result<Own> {
        let mut own = Own::new(shape)?;
        own.put(cells, 0..shape.before)?;
        let about = own.collection.kind().attributes().get(own.attribute);
        let options = about.and_then(|about| about.graph).ok_or("a graph")?;
        let graph = Graph::read(&fs::read(file)?, options, shape.before as u32)?;
        own.collection.link_vectors(vec![(own.attribute, graph)]);
        own.view = own.collection.view();
        Ok(own)
    }

    /// Writes the links of the graph to a file.
    pub fn write(&self, file: &Path) -> Result<()> {
        let graph = self.view.graph(self.attribute).ok_or("a graph")?;
        Ok(graph.write_to(&mut fs::File::create(file)?)?)
    }

    fn put(&mut self, cells: &[f32], numbers: Range<usize>) -> Result<()> {
        let size = self.vectors.block_size();
        for number in numbers {
            let row = cells[number * size..][..size].to_vec();
            let value =
                Value::new(self.vectors.clone(), Labels::default(), Cells::Float(row.into()))?;
            let lid = self.collection.put(
                &format!("id:row:row::{number}"),
                &[(self.field, FieldValue::Tensor(value))],
            )?;
            assert_eq!(lid as usize, number, "documents in the order of their numbers");
        }
        Ok(())
    }

    /// Adds a document for each vector of a range of numbers, and links them on all cores.
    pub fn add(&mut self, cells: &[f32], numbers: Range<usize>) -> Result<()> {
        self.put(cells, numbers)?;
        self.collection.publish();
        self.view = self.collection.view();
        Ok(())
    }

    /// The nearest, of those that pass a filter, while so many are kept.
    pub fn search(&mut self, query: &[f32], kept: usize, filter: Option<&Bits>) -> &[Hit] {
        let query: Vec<f64> = query.iter().map(|x| f64::from(*x)).collect();
        let request = Request { explore: kept - HITS, filter, ..Request::new(HITS) };
        let Own { view, attribute, scratch, hits, .. } = self;
        let outcome = view.nearest(*attribute, &query, &request, scratch, hits);
        assert!(outcome.is_ok_and(|outcome| outcome.is_some()), "there is a graph");
        hits
    }

    /// Bytes of the columns of vectors, of the links and of what the graph knows of vectors.
    pub fn memory(&self) -> Result<usize> {
        let mut bytes = self.view.graph(self.attribute).map_or(0, |graph| graph.memory());
        for block in self.view.blocks() {
            bytes += block.column(self.attribute)?.map_or(0, |column| column.memory());
        }
        Ok(bytes)
    }
}
