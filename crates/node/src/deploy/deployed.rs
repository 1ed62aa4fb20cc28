//! An application that is ready to be served.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::sync::Arc;
use std::time::SystemTime;

use arc_swap::ArcSwap;

use stead_app::application::rank::PackageModels;
use stead_app::application::{Application, Schema};
use stead_app::components::{BuiltInChain, ChainKind};
use stead_app::package::{PackageFiles, Report, Severity};
use stead_app::services::{IndexMode, Nodes, ServicesOptions};
use stead_expr::Value;
use stead_search::Parallel;
use stead_search::RankPlan;
use stead_search::models::{KeptValues, Loaded, Probe, notes, unready};
use stead_search::query::{SearchCode, SearchError};
use stead_search::rank::{RankError, RankOptions};
use stead_search::request::{SearchRequest, Values};
use stead_search::result::SearchResult;
use stead_search::run::{Searcher, field_value, search};
use stead_store::{DocumentType, Imports, Reader, Selection, View};

use super::documents::{Readers, check_scripts, clusters, modes};
use super::options::Python;
use super::session::{SessionId, millis};
use crate::components::{Components, Query, Searching, ServerHost, collapsed_if_asked};
use crate::embedders::Embedders;
use crate::evaluation::Models;
use crate::repository::Provided;
use crate::{Code, Error};

/// The most generations of parents whose values children see: packages in which types import from each other in a circle are
/// refused, so that this is an end that none reaches.
const MAX_PARENTS: usize = 64;

/// An application that is ready to be served.
pub struct Deployed {
    /// The session that it was deployed by, which is its generation.
    pub session: SessionId,
    /// What its package says.
    pub application: Application,
    /// What there is to tell of its package.
    pub log: Vec<LogLine>,
    /// Milliseconds since 1970 when it was prepared.
    pub prepared: u64,
    /// Depends on the paths and bytes of all of its files.
    pub checksum: u64,
    /// By schema and profile.
    plans: BTreeMap<String, BTreeMap<String, Result<Arc<RankPlan>, RankError>>>,
    /// What its models have computed of documents and keep.
    pub(super) kept: Arc<KeptValues>,
    /// The content clusters of document types.
    clusters: BTreeMap<String, String>,
    /// The document types that are stored, but not searched.
    unsearched: BTreeSet<String>,
    /// What documents import from their parents, by type.
    imports: BTreeMap<String, Imports>,
    /// Set when it is activated.
    readers: ArcSwap<Readers>,
    /// Its components in Python, if it has any.
    pub(super) components: Option<Components>,
    /// The models that are evaluated for whoever asks.
    evaluated: Arc<Models>,
    /// Those that make tensors of texts.
    pub(super) embedders: Arc<Embedders>,
}

/// A search as it was asked for.
pub(crate) struct Asked {
    /// Its values, with those of its query profile.
    pub(crate) values: Values,
    /// What whoever asks should know.
    pub(crate) warnings: Vec<String>,
    /// The searchers around it, if there are any.
    pub(crate) chain: Option<Arc<Searching>>,
}

/// A line of the log of a deployment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogLine {
    /// Milliseconds since 1970.
    pub time: u64,
    /// `INFO` or `WARNING`.
    pub level: &'static str,
    /// What is told.
    pub message: String,
}

impl Deployed {
    /// Reads a package, compiles its expressions, loads its models and creates its components in Python.
    ///
    /// # Errors
    /// [`Code::InvalidPackage`] with every error of the package, one on each line.
    pub(super) fn prepare(
        files: &PackageFiles,
        session: SessionId,
        now: SystemTime,
        python: &Python,
    ) -> Result<Deployed, Error> {
        let read = Application::read(files, ServicesOptions::default());
        Deployed::prepare_read(read, files, session, now, python)
    }

    /// The same of an application that was read.
    ///
    /// # Errors
    /// As there.
    pub(super) fn prepare_read(
        (application, mut report): (Application, Report),
        files: &PackageFiles,
        session: SessionId,
        now: SystemTime,
        python: &Python,
    ) -> Result<Deployed, Error> {
        let backends = &python.backends;
        let probe = Probe { backends };
        let models = PackageModels::new(files).with_probe(&probe);
        unready(&application, backends, &mut report);
        let mut compiled = application.compile(&models, &mut report);
        // Read for what is wrong with them; they are read again where documents are opened.
        let _ = Selection::of_application(&application, &mut report);
        let of_files = (files, backends);
        let evaluated = Arc::new(Models::load(&application, of_files, &models, &mut report));
        let (compute, meters) = (&python.compute, &python.embedder_meters);
        let embedders = Embedders::load(&application, of_files, compute, meters, &mut report);
        let loaded = Loaded::new(files).with_backends(backends);
        loaded.check_significance(&application, &mut report);
        report.sort();
        if report.has_errors() {
            return Err(Error::new(Code::InvalidPackage, errors(&report)));
        }
        let prepared = millis(now);
        let mut log = lines(&application, &report, prepared);
        let mut plans = BTreeMap::new();
        for schema in &application.schemas {
            let compiled = compiled.remove(&schema.name.value).unwrap_or_default();
            for (place, text) in notes(&loaded, &compiled) {
                let message = format!("{place}: {text}");
                log.push(LogLine { time: prepared, level: "WARNING", message });
            }
            let mut of_schema = BTreeMap::new();
            for profile in &schema.profiles {
                let name = &profile.name.value;
                let plan = RankPlan::new(&application, schema, name, &compiled, &loaded, &models);
                let told = match &plan {
                    Ok(plan) => plan.not_computed().map(|text| format!(": {text}")).collect(),
                    Err(error) => vec![format!(" cannot run: {error}")],
                };
                for text in told {
                    let (place, schema) = (&profile.name.place, &schema.name.value);
                    let message = format!("{place}: rank-profile {name} of schema {schema}{text}");
                    log.push(LogLine { time: prepared, level: "WARNING", message });
                }
                of_schema.insert(name.clone(), plan.map(Arc::new));
            }
            plans.insert(schema.name.value.clone(), of_schema);
        }
        let host = ServerHost::new(Arc::clone(&evaluated), Arc::clone(&python.compute));
        let mut embedders = Arc::new(embedders);
        let created = Components::create(&application, files, python, &host, &embedders)?;
        let (components, told) = created.map_or((None, Vec::new()), |(c, told)| (Some(c), told));
        if let Some(components) = &components {
            embedders = Arc::clone(components.embedders());
        }
        check_scripts(&application, &embedders)?;
        let note = |message| LogLine { time: prepared, level: "WARNING", message };
        log.extend(told.into_iter().map(note));
        if let Some(components) = &components {
            let count = components.len();
            let s = if count == 1 { "" } else { "s" };
            let message = format!("{count} component{s} created");
            log.push(LogLine { time: prepared, level: "INFO", message });
        }
        let in_python = components.iter().flat_map(Components::models);
        check_names(in_python, &evaluated)?;
        let checksum = checksum(files)?;
        let clusters = clusters(&application);
        let unsearched = modes(&application)
            .into_iter()
            .filter(|(_, mode)| *mode == IndexMode::StoreOnly)
            .map(|(kind, _)| kind.to_owned())
            .collect();
        let imports = application
            .schemas
            .iter()
            .map(|schema| (schema.name.value.clone(), Imports::new(&DocumentType::stored(schema))));
        let (imports, readers) = (imports.collect(), ArcSwap::default());
        let kept = Arc::clone(loaded.kept());
        Ok(Deployed {
            session,
            application,
            log,
            prepared,
            checksum,
            plans,
            kept,
            clusters,
            unsearched,
            imports,
            readers,
            components,
            evaluated,
            embedders,
        })
    }

    /// The models that are evaluated for whoever asks.
    pub(crate) fn evaluated(&self) -> &Arc<Models> {
        &self.evaluated
    }

    /// What a node serves of it beside its repository: models in Python, and networks that are evaluated.
    pub(super) fn provided(&self) -> Vec<Provided> {
        let components = self.components.iter().flat_map(|all| all.models().iter().cloned());
        components.chain(self.evaluated.provided()).collect()
    }

    /// Whether operations go through document processors: which see updates as JSON, and it matters which route operations take.
    #[must_use]
    pub fn processes(&self) -> bool {
        self.components.as_ref().is_some_and(Components::processes)
    }

    /// From now on documents are read from here.
    pub(super) fn read_from(&self, readers: Readers) {
        self.readers.store(Arc::new(readers));
    }

    /// The content cluster that has the documents of a type.
    #[must_use]
    pub fn cluster(&self, kind: &str) -> Option<&str> {
        self.clusters.get(kind).map(String::as_str)
    }

    /// The types of documents that are stored, with their content clusters.
    pub fn kinds(&self) -> impl Iterator<Item = (&str, &str)> {
        self.clusters.iter().map(|(kind, cluster)| (kind.as_str(), cluster.as_str()))
    }

    /// The bindings of the application's own handlers, by their ids.
    #[must_use]
    pub fn handlers(&self) -> BTreeMap<String, Vec<String>> {
        self.components.as_ref().map(Components::bindings).unwrap_or_default()
    }

    /// Whether documents of a type are `global`: each node of Vespa has all of them.
    #[must_use]
    pub fn is_global(&self, kind: &str) -> bool {
        let clusters = self.application.services.contents.iter();
        clusters.flat_map(|c| &c.documents).any(|d| d.kind.value == kind && d.is_global)
    }

    /// The documents of a type as they are now.
    #[must_use]
    pub fn view(&self, kind: &str) -> Option<View> {
        self.joined(kind, MAX_PARENTS)
    }

    /// The documents of a type with what they import.
    fn joined(&self, kind: &str, generations: usize) -> Option<View> {
        let view = self.readers.load().get(kind).map(Reader::view)?;
        let imports = self.imports.get(kind).filter(|_| generations > 0);
        Some(match imports {
            Some(imports) => imports.join(view, |parent| self.joined(parent, generations - 1)),
            None => view,
        })
    }

    /// The search that parameters ask for, decoded, with the values of its query profile and its chain.
    pub(crate) fn asked(&self, parameters: Vec<(String, String)>) -> Result<Asked, SearchError> {
        let (values, warnings) = Values::of_request(parameters, &self.application.query_profiles)?;
        let chain = self.search_chain(values.get("searchChain"))?.cloned();
        Ok(Asked { values, warnings, chain })
    }

    /// The chain of a name that has searchers (Vespa, `SearchHandler`).
    fn search_chain(&self, name: Option<&str>) -> Result<Option<&Arc<Searching>>, SearchError> {
        let components = self.components.as_ref();
        let found = components.and_then(|of| of.searching(name.unwrap_or("default")));
        let containers = self.application.services.containers.iter();
        let mut declared = containers.flat_map(|container| &container.chain_definitions);
        let mut is_known = |name: &str| {
            name == "default"
                || BuiltInChain::of(ChainKind::Search).iter().any(|chain| chain.id == name)
                || declared.any(|(kind, chain)| *kind == ChainKind::Search && chain.id == name)
        };
        match name {
            Some(name) if found.is_none() && !is_known(name) => {
                Err(SearchError::parameter(format!("No search chain named '{name:.60}' was found")))
            }
            _ => Ok(found),
        }
    }

    /// Searches the documents, on some cores. `features` are values of `query(name)` that stand before those of parameters.
    pub(crate) fn search(
        &self,
        values: Values,
        warnings: Vec<String>,
        features: BTreeMap<String, Value>,
        cores: &dyn Parallel,
    ) -> SearchResult {
        let search = |query: Query| {
            let request = SearchRequest::of_values(query.values, warnings.clone());
            let found = request.and_then(|mut request| {
                request.rank.values.extend(query.features);
                self.find(&request, cores)
            });
            Ok(found.unwrap_or_else(SearchResult::failed))
        };
        // The search itself fails with nothing: what is wrong is in its result.
        let query = Query { values, features };
        collapsed_if_asked(query, &search)
            .unwrap_or_else(|error| SearchResult::failed(SearchError::illegal(error.to_string())))
    }

    fn find(
        &self,
        request: &SearchRequest,
        cores: &dyn Parallel,
    ) -> Result<SearchResult, SearchError> {
        let stored = |id: &str, field: &str| {
            let view = id.split(':').nth(2).and_then(|kind| self.view(kind));
            view.map_or(Ok(None), |view| field_value(&view, id, field))
        };
        let plans = |schema: &str, profile: &str| self.rank_plan(schema, profile);
        let searched = self.kinds().filter(|(kind, _)| !self.unsearched.contains(*kind));
        let kinds = searched.filter_map(|(kind, cluster)| {
            Some((self.application.schema(kind)?, self.view(kind)?, cluster))
        });
        let kinds: Vec<(&Schema, View, &str)> = kinds.collect();
        let mut searchers = Vec::new();
        for (schema, view, cluster) in &kinds {
            searchers.push(Searcher { schema, view, cluster, stored: &stored, plans: &plans });
        }
        if searchers.is_empty() {
            let message = "No documents are searched here".to_owned();
            return Err(SearchError { code: SearchCode::NoBackendsInService, message });
        }
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let options = RankOptions { now: now.as_secs_f64(), seed: now.as_nanos() as u64 };
        Ok(search(&searchers, request, options, cores))
    }

    pub(super) fn rank_plan(
        &self,
        schema: &str,
        profile: &str,
    ) -> Result<Arc<RankPlan>, RankError> {
        let of = self.plans.get(schema);
        of.and_then(|of| of.get(profile)).cloned().unwrap_or_else(|| {
            let known = of.into_iter().flat_map(|of| of.keys()).cloned().collect::<Vec<_>>();
            let (schema, name) = (schema.to_owned(), profile.to_owned());
            Err(RankError::Profile { schema, name, known: known.join(", ") })
        })
    }
}

/// No model in Python has the name of one in `models/`.
fn check_names<'m>(
    in_python: impl Iterator<Item = &'m Provided>,
    evaluated: &Models,
) -> Result<(), Error> {
    let mut in_python = in_python;
    let Some(twice) = in_python.find(|model| evaluated.names().any(|name| name == model.name))
    else {
        return Ok(());
    };
    let name = &twice.name;
    let text = format!(
        "Invalid application:\ncomponent {name} is a model, and models/ has another one of this name"
    );
    Err(Error::new(Code::InvalidPackage, text))
}

/// All that is wrong, one on each line.
fn errors(report: &Report) -> String {
    let mut lines: Vec<String> = report.errors().map(ToString::to_string).collect();
    if report.omitted() > 0 {
        lines.push(format!("and {} more", report.omitted()));
    }
    format!("Invalid application:\n{}", lines.join("\n"))
}

fn lines(application: &Application, report: &Report, time: u64) -> Vec<LogLine> {
    let warnings = report.diagnostics().iter().filter(|d| d.severity == Severity::Warning);
    let mut log: Vec<LogLine> = warnings
        .map(|d| LogLine { time, level: "WARNING", message: format!("{}: {}", d.place, d.text) })
        .collect();
    let services = &application.services;
    let containers = services.containers.iter().map(|c| c.nodes.len());
    let contents = services.contents.iter().map(|c| c.nodes.iter().map(Nodes::len).sum());
    // A cluster that names no nodes has one.
    let nodes: usize = containers.chain(contents).map(|count: usize| count.max(1)).sum();
    let clusters = services.containers.len() + services.contents.len();
    if nodes > clusters {
        let message = format!(
            "the package asks for {nodes} nodes in {clusters} clusters; this process is all of them"
        );
        log.push(LogLine { time, level: "INFO", message });
    }
    log
}

fn checksum(files: &PackageFiles) -> Result<u64, Error> {
    let (mut hash, mut piece) = (xxhash_rust::xxh3::Xxh3::new(), vec![0; 1 << 16]);
    for path in files.paths() {
        let unreadable =
            || Error::new(Code::Internal, format!("cannot read {path} of the application package"));
        hash.update(path.as_bytes());
        hash.update(&files.size(path).unwrap_or_default().to_le_bytes());
        // Some have hundreds of megabytes of weights.
        let mut reader = files.reader(path).map_err(|_| unreadable())?;
        loop {
            match reader.read(&mut piece).map_err(|_| unreadable())? {
                0 => break,
                length => hash.update(piece.get(..length).unwrap_or_default()),
            }
        }
    }
    Ok(hash.digest())
}
