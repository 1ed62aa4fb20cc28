//! Documents of a package in this process, and how long searches of them take.

use std::collections::BTreeMap;
use std::error::Error;
use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

use stead_app::application::rank::PackageModels;
use stead_app::application::{Application, Schema};
use stead_app::package::PackageFiles;
use stead_app::services::{IndexMode, ServicesOptions};
use stead_expr::{Cells, Labels, TensorType, Value};
use stead_search::models::{Loaded, Probe};
use stead_search::rank::{RankError, RankOptions};
use stead_search::request::{Format, SearchRequest};
use stead_search::result::render;
use stead_search::run::{Searcher, search};
use stead_search::{RankPlan, Serial};
use stead_store::{Collection, DocumentType, FieldValue, StoreError};

/// The documents of one schema.
pub struct Timed {
    application: Application,
    schema: String,
    plans: BTreeMap<String, Arc<RankPlan>>,
    kind: DocumentType,
    collection: Collection,
}

impl Timed {
    /// No documents of a schema of a package, with some of its rank profiles.
    pub fn new(
        files: &PackageFiles,
        schema: &str,
        profiles: &[&str],
    ) -> Result<Timed, Box<dyn Error>> {
        let (application, mut report) = Application::read(files, ServicesOptions::default());
        let models = PackageModels::new(files).with_probe(&Probe::PLAIN);
        let compiled = application.compile(&models, &mut report);
        if let Some(error) = report.errors().next() {
            return Err(error.to_string().into());
        }
        let found = application.schema(schema).ok_or("the schema")?;
        let (loaded, mut plans) = (Loaded::new(files), BTreeMap::new());
        for name in profiles {
            let of = &compiled[schema];
            let plan = RankPlan::new(&application, found, name, of, &loaded, &models)?;
            plans.insert((*name).to_owned(), Arc::new(plan));
        }
        let mut held = application.services.contents.iter().flat_map(|of| &of.documents);
        let is_streamed = held.any(|of| of.kind.value == schema && of.mode == IndexMode::Streaming);
        let kind = match is_streamed {
            true => DocumentType::streamed(found),
            false => DocumentType::new(found),
        };
        let (schema, collection) = (schema.to_owned(), Collection::new(kind.clone()));
        Ok(Timed { application, schema, plans, kind, collection })
    }

    /// The number of a field.
    pub fn field(&self, name: &str) -> Result<usize, Box<dyn Error>> {
        Ok(self.kind.field(name).map(|(at, _)| at).ok_or("a field")?)
    }

    /// Puts a document.
    pub fn put(&mut self, id: &str, fields: &[(usize, FieldValue)]) -> Result<(), StoreError> {
        self.collection.put(id, fields).map(drop)
    }

    /// Lets searches see what was put.
    pub fn publish(&mut self) {
        self.collection.publish();
    }

    /// The memory of all documents, in bytes.
    #[allow(dead_code)] // Not every example tells it.
    pub fn memory(&self) -> usize {
        self.collection.view().memory()
    }

    /// Searches `rounds` times with some parameters, on one thread. Returns the median of the times from the request to the result, in
    /// milliseconds, and how many hits there are.
    pub fn search(
        &self,
        parameters: &[(&str, String)],
        rounds: usize,
    ) -> Result<(f64, u64), Box<dyn Error>> {
        let schema: &Schema = self.application.schema(&self.schema).ok_or("the schema")?;
        let plans = |_: &str, name: &str| {
            let found = self.plans.get(name).cloned();
            found.ok_or_else(|| RankError::Query(format!("no profile {name}")))
        };
        let view = self.collection.view();
        let stored = |_: &str, _: &str| Ok(None);
        let searcher =
            Searcher { schema, view: &view, cluster: "c", stored: &stored, plans: &plans };
        let (mut times, mut total) = (Vec::new(), 0);
        for _ in 0..rounds {
            let mut pairs: Vec<(String, String)> =
                parameters.iter().map(|(k, v)| ((*k).to_owned(), v.clone())).collect();
            pairs.push(("timeout".to_owned(), "100".to_owned()));
            let begin = Instant::now();
            let request = SearchRequest::new(pairs, &self.application.query_profiles)?;
            let result = search(&[searcher], &request, RankOptions { now: 0.0, seed: 1 }, &Serial);
            black_box(render(&result, Format::Json));
            times.push(begin.elapsed().as_secs_f64() * 1000.0);
            total = result.total;
            if let Some(error) = result.errors.first() {
                return Err(error.to_string().into());
            }
        }
        times.sort_by(f64::total_cmp);
        Ok((times.get(times.len() / 2).copied().unwrap_or_default(), total))
    }
}

/// A tensor with these cells.
#[allow(dead_code)] // Not every example has vectors.
pub fn tensor(kind: &TensorType, cells: &[f64]) -> Result<FieldValue, Box<dyn Error>> {
    let cells = Cells::from_numbers(kind.cell(), cells);
    Ok(FieldValue::Tensor(Value::new(kind.clone(), Labels::default(), cells)?))
}

/// The numbers among the arguments of the program, or those that stand for them where there are none.
pub fn arguments(usual: [usize; 2]) -> Result<[usize; 2], Box<dyn Error>> {
    let mut found = usual;
    for (place, word) in found.iter_mut().zip(std::env::args().skip(1)) {
        *place = word.parse()?;
    }
    Ok(found)
}
