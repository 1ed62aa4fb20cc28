//! Embedders: components that make tensors of texts and images, by models or by code in Python.
//!
//! All that is asked of one while it runs, by queries, documents and clients, is [embedded together](queue) when it is free.

mod cache;
mod embedding;
mod gather;
mod images;
mod meters;
mod native;
mod network;
mod queue;
mod tokenizer;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use stead_app::application::Application;
use stead_app::package::{PackageFiles, Report};
use stead_app::services::{Component, ComponentKind, EmbedderSettings, ImageSettings};
use stead_engine::{Backends, Parallel, Serial};
use stead_expr::{TensorType, Value};

use crate::components::Embedders as PythonEmbedders;
use crate::evaluate::Lent;
use crate::evaluation::Compute;
use crate::{Code, Error};
use images::Images;
use native::Native;
use queue::{Kind, Queue, Waiting};

pub(crate) use embedding::{Embedding, Vectors, zeros};
pub(crate) use meters::EmbedderMeters;
pub use meters::EmbedderMetrics;
pub use tokenizer::read_tokenizer;

/// Whose texts are embedded: some embedders have different ways for both.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Role {
    /// Those of queries.
    Query,
    /// Those of documents.
    Document,
}

/// What is embedded.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Source {
    /// A text.
    Text(String),
    /// A text for the tokenizer of its language, by its number.
    InLanguage(usize, String),
    /// The ids of one, as the model is given them.
    Ids(Vec<u32>),
}

/// A text, and the tensor that is to be made of it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Ask {
    /// The embedder.
    pub(crate) id: String,
    pub(crate) text: String,
    pub(crate) kind: TensorType,
    /// The tag of its language, if it is known.
    pub(crate) language: Option<String>,
}

/// What a component says of texts or of images.
enum Settings {
    Texts(EmbedderSettings),
    Images(ImageSettings),
}

impl Settings {
    fn of(component: &Component, files: &PackageFiles, report: &mut Report) -> Option<Settings> {
        match component.kind {
            ComponentKind::ImageEmbedder => {
                component.image_embedder(files, report).map(Settings::Images)
            }
            _ => component.embedder(files, report).map(Settings::Texts),
        }
    }

    fn load(
        self,
        files: &PackageFiles,
        backends: &Backends,
        cores: &dyn Parallel,
    ) -> Result<Kind, String> {
        Ok(match self {
            Settings::Texts(of) => {
                Kind::Native(Box::new(Native::load(of, files, backends, cores)?))
            }
            Settings::Images(of) => {
                Kind::Images(Box::new(Images::load(of, files, backends, cores)?))
            }
        })
    }
}

/// The embedders of an application.
#[derive(Default)]
pub(crate) struct Embedders(Vec<Arc<Queue>>);

impl Embedders {
    /// Loads those that need no Python; `report` learns what is wrong with them.
    pub(crate) fn load(
        application: &Application,
        (files, backends): (&PackageFiles, &Backends),
        compute: &Arc<Compute>,
        meters: &EmbedderMeters,
        report: &mut Report,
    ) -> Embedders {
        let mut list: Vec<Arc<Queue>> = Vec::new();
        let components = application.services.containers.iter().flat_map(|c| &c.components);
        for component in components.filter(|component| component.is_embedder()) {
            let Some(of) = Settings::of(component, files, report) else { continue };
            if list.iter().any(|other| other.id == component.id) {
                report
                    .error(&component.place, format!("two embedders have the id {}", component.id));
                continue;
            }
            let loaded = match compute.team(None) {
                Some(team) => of.load(files, backends, &Lent(team)),
                None => of.load(files, backends, &Serial),
            };
            match loaded {
                Ok(of) => list.push(Queue::new(&component.id, of, compute, meters)),
                Err(text) => {
                    let text = format!("embedder {} cannot be loaded: {text}", component.id);
                    report.error(&component.place, text);
                }
            }
        }
        Embedders(list)
    }

    /// The same and those in Python.
    pub(crate) fn and_python(
        self: Arc<Self>,
        python: &Arc<PythonEmbedders>,
        compute: &Arc<Compute>,
        meters: &EmbedderMeters,
    ) -> Arc<Embedders> {
        let ids = python.ids();
        if ids.is_empty() {
            return self;
        }
        let of = |id: &&str| Queue::new(id, Kind::Python(Arc::clone(python)), compute, meters);
        Arc::new(Embedders(self.0.iter().cloned().chain(ids.iter().map(of)).collect()))
    }

    /// Their ids, in order.
    pub(crate) fn ids(&self) -> Vec<&str> {
        let mut ids: Vec<&str> = self.0.iter().map(|queue| queue.id.as_str()).collect();
        ids.sort_unstable();
        ids
    }

    /// The id that an id means: that of the only embedder where it is empty.
    pub(crate) fn find(&self, id: &str) -> Option<&str> {
        self.queue(id).map(|queue| queue.id.as_str())
    }

    /// Whether the vectors of one are made to have length 1.
    pub(crate) fn normalizes(&self, id: &str) -> bool {
        self.queue(id).is_some_and(|queue| queue.normalizes())
    }

    fn queue(&self, id: &str) -> Option<&Arc<Queue>> {
        match (id, self.0.as_slice()) {
            ("", [only]) => Some(only),
            _ => self.0.iter().find(|queue| queue.id == id),
        }
    }

    /// [`Embedders::find`], or what there is.
    fn known(&self, id: &str) -> Result<&Arc<Queue>, Error> {
        let missing = || {
            let ids = self.ids().join(", ");
            Error::new(Code::NotFound, format!("there is no embedder {id:.100}; there are {ids}"))
        };
        self.queue(id).ok_or_else(missing)
    }

    /// Whether an embedder can make tensors of a type.
    ///
    /// # Errors
    /// [`Code::NotFound`], or [`Code::InvalidArgument`] with what does not fit.
    pub(crate) fn check(&self, id: &str, kind: &TensorType, role: Role) -> Result<(), Error> {
        let fits = self.known(id)?.shape().check(kind, role);
        fits.map_err(|text| Error::new(Code::InvalidArgument, text))
    }

    /// Makes tensors of texts, one for each; a text of blanks has zeros. `done` is told on whichever thread, perhaps this one.
    pub(crate) fn tensors(
        &self,
        asked: Vec<Ask>,
        role: Role,
        deadline: Option<Instant>,
        done: impl FnOnce(Vec<Result<Value, Error>>) + Send + 'static,
    ) {
        let mut answers: Vec<Result<Value, Error>> = Vec::with_capacity(asked.len());
        let mut waiting = Vec::new();
        for (at, ask) in asked.into_iter().enumerate() {
            let checked =
                self.check(&ask.id, &ask.kind, role).and_then(|()| self.known(&ask.id).cloned());
            let blank = ask.text.trim().is_empty().then(|| zeros(&ask.kind)).flatten();
            answers.push(match (checked, blank) {
                (Err(error), _) => Err(error),
                (Ok(_), Some(zeros)) => Ok(zeros),
                (Ok(queue), None) => {
                    waiting.push((at, queue, ask));
                    Err(Error::new(Code::Internal, "a text was not embedded"))
                }
            });
        }
        if waiting.is_empty() {
            return done(answers);
        }
        let places: Vec<(usize, Arc<Queue>, TensorType)> = waiting
            .iter()
            .map(|(at, queue, ask)| (*at, Arc::clone(queue), ask.kind.clone()))
            .collect();
        let slots = gather::slots(waiting.len(), move |found| {
            for ((at, queue, kind), found) in places.into_iter().zip(found) {
                if let Some(answer) = answers.get_mut(at) {
                    *answer = found.and_then(|found| queue.tensor(&found, &kind));
                }
            }
            done(answers);
        });
        let mut by_queue: BTreeMap<String, (Arc<Queue>, Vec<Waiting>)> = BTreeMap::new();
        for ((_, queue, ask), slot) in waiting.into_iter().zip(slots) {
            let kind = queue.is_python().then_some(ask.kind);
            let source = queue.source(ask.text, ask.language.as_deref());
            let text = Waiting { role, source, kind, deadline, arrived: Instant::now(), slot };
            let of = by_queue.entry(queue.id.clone()).or_insert_with(|| (queue, Vec::new()));
            of.1.push(text);
        }
        by_queue.into_values().for_each(|(queue, texts)| queue.push(texts));
    }

    /// Embeds what one embedder is given, for those who make something else of it than tensors.
    ///
    /// # Errors
    /// [`Code::NotFound`]; [`Code::InvalidArgument`] of one in Python, and of ids that are none.
    pub(crate) fn vectors(
        &self,
        id: &str,
        sources: Vec<Source>,
        role: Role,
        done: impl FnOnce(Vec<Result<Arc<Embedding>, Error>>) + Send + 'static,
    ) -> Result<(), Error> {
        let queue = self.known(id)?;
        sources.iter().try_for_each(|source| queue.check(source))?;
        let slots = gather::slots(sources.len(), done);
        let arrived = Instant::now();
        let text =
            |(source, slot)| Waiting { role, source, kind: None, deadline: None, arrived, slot };
        queue.push(sources.into_iter().zip(slots).map(text).collect());
        Ok(())
    }
}
