//! Texts that wait for an embedder: all of queries that wait when it is free are embedded together, and so are those of
//! documents. A run for documents lets queries, its own embedder's among them, go first between two steps.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use stead_engine::RunContext;
use stead_expr::{TensorType, Value};
use stead_pool::Class;
use stead_python::Deadline;

use super::cache::Cache;
use super::embedding::{self, Embedding, Shape};
use super::gather::{Found, Slot};
use super::images::Images;
use super::meters::{EmbedderMeters, Meter, Turn};
use super::native::Native;
use super::{Role, Source};
use crate::components::Embedders as PythonEmbedders;
use crate::evaluate::Lent;
use crate::evaluation::Compute;
use crate::{Code, Error};

/// The most texts that are taken together: a run of a model takes fewer, and queries that come meanwhile wait for no more than these.
const MAX_TEXTS: usize = 64;

/// An embedder with what waits for it.
pub(super) struct Queue {
    pub(super) id: String,
    of: Kind,
    compute: Arc<Compute>,
    state: Mutex<State>,
    cache: Mutex<Cache>,
    meter: Arc<Meter>,
}

/// What embeds.
pub(super) enum Kind {
    Native(Box<Native>),
    Images(Box<Images>),
    /// A component in Python.
    Python(Arc<PythonEmbedders>),
}

/// Embeds what there is in as few runs as there may be, and tells how many there were.
type Embed<'e> = dyn Fn(&[(Role, &Source)], &RunContext<'_>) -> (Vec<Result<Embedding, (Code, String)>>, usize)
    + 'e;

/// What waits on either side.
#[derive(Default)]
struct State {
    queries: Side,
    documents: Side,
}

impl State {
    fn side(&mut self, of: Role) -> &mut Side {
        match of {
            Role::Query => &mut self.queries,
            Role::Document => &mut self.documents,
        }
    }
}

#[derive(Default)]
struct Side {
    waiting: VecDeque<Waiting>,
    is_running: bool,
}

/// A text that waits.
pub(super) struct Waiting {
    pub(super) role: Role,
    pub(super) source: Source,
    /// What code is asked to make; of what stead embeds tensors of any type are made.
    pub(super) kind: Option<TensorType>,
    /// Nobody waits for it from then on.
    pub(super) deadline: Option<Instant>,
    pub(super) arrived: Instant,
    pub(super) slot: Slot,
}

impl Queue {
    pub(super) fn new(
        id: &str,
        of: Kind,
        compute: &Arc<Compute>,
        meters: &EmbedderMeters,
    ) -> Arc<Queue> {
        let (state, cache) = (Mutex::default(), Mutex::default());
        let (id, meter) = (id.to_owned(), meters.of(id));
        Arc::new(Queue { id, of, compute: Arc::clone(compute), state, cache, meter })
    }

    /// What tensors it can make.
    pub(super) fn shape(&self) -> Shape {
        match &self.of {
            Kind::Native(native) => native.shape(),
            Kind::Images(images) => images.shape(),
            Kind::Python(_) => Shape::Any,
        }
    }

    /// Whether code embeds, which is told the type of each tensor.
    pub(super) fn is_python(&self) -> bool {
        matches!(self.of, Kind::Python(_))
    }

    /// Whether vectors are made to have length 1.
    pub(super) fn normalizes(&self) -> bool {
        match &self.of {
            Kind::Native(native) => native.normalizes(),
            Kind::Images(images) => images.normalizes(),
            Kind::Python(_) => false,
        }
    }

    /// A text as it is embedded where it is of a language.
    pub(super) fn source(&self, text: String, language: Option<&str>) -> Source {
        match (&self.of, language) {
            (Kind::Native(native), Some(language)) => match native.of_language(language) {
                Some(number) => Source::InLanguage(number, text),
                None => Source::Text(text),
            },
            _ => Source::Text(text),
        }
    }

    /// Whether it can be given something.
    pub(super) fn check(&self, source: &Source) -> Result<(), Error> {
        let checked = match (&self.of, source) {
            (Kind::Native(native), Source::Ids(ids)) => native.check_ids(ids),
            (Kind::Images(_), Source::Ids(_)) => {
                Err(format!("embedder {} takes images, which have no token ids", self.id))
            }
            (Kind::Python(_), _) => {
                Err(format!("embedder {} is in Python, which is asked for a type", self.id))
            }
            (Kind::Native(_) | Kind::Images(_), Source::Text(_) | Source::InLanguage(..)) => Ok(()),
        };
        checked.map_err(|text| Error::new(Code::InvalidArgument, text))
    }

    /// The tensor of an embedding.
    pub(super) fn tensor(&self, found: &Embedding, kind: &TensorType) -> Result<Value, Error> {
        let normalizes = self.normalizes();
        let text =
            |text: String| Error::new(Code::Internal, format!("embedder {}: {text}", self.id));
        embedding::tensor(found, normalizes, kind).map_err(text)
    }

    /// Takes texts. Who asks is told by the slots, on whichever thread.
    pub(super) fn push(self: &Arc<Queue>, texts: Vec<Waiting>) {
        let mut waiting = Vec::with_capacity(texts.len());
        for text in texts {
            match self.known(&text) {
                Some(found) => {
                    self.meter.found();
                    text.slot.fill(Ok(found));
                }
                None => waiting.push(text),
            }
        }
        let mut state = self.lock();
        for text in waiting {
            state.side(text.role).waiting.push_back(text);
        }
        drop(state);
        self.go_on(Role::Query);
        self.go_on(Role::Document);
    }

    fn known(&self, text: &Waiting) -> Option<Arc<Embedding>> {
        let Source::Text(of) = &text.source else { return None };
        let keeps = text.role == Role::Query && !self.is_python();
        keeps.then(|| self.cache().find(text.role, of)).flatten()
    }

    /// Begins with what waits, unless that was begun already.
    fn go_on(self: &Arc<Queue>, role: Role) {
        {
            let mut state = self.lock();
            let side = state.side(role);
            if side.is_running || side.waiting.is_empty() {
                return;
            }
            side.is_running = true;
        }
        let class = match role {
            Role::Query => Class::Query,
            Role::Document => Class::Feed,
        };
        let queue = Arc::clone(self);
        let work = move || {
            let ending = Ending(&queue, role);
            let taken = queue.take(role);
            queue.embed(taken);
            drop(ending);
        };
        let pool = self.compute.pool().filter(|_| !self.is_python());
        match pool {
            // What the pool drops as it closes ends in the slots.
            Some(pool) => _ = pool.spawn(class, None, move |_| work()),
            // Code waits for an interpreter, which none of the pool's threads does.
            None if self.is_python() => {
                let thread = std::thread::Builder::new().name("embed".to_owned());
                if thread.spawn(work).is_err() {
                    self.lock().side(role).is_running = false;
                }
            }
            None => work(),
        }
    }

    fn take(&self, role: Role) -> Vec<Waiting> {
        let mut state = self.lock();
        let waiting = &mut state.side(role).waiting;
        let most = waiting.len().min(MAX_TEXTS);
        waiting.drain(..most).collect()
    }

    fn embed(&self, taken: Vec<Waiting>) {
        let now = Instant::now();
        // The same text is embedded once.
        let mut different: Vec<(Role, Source, Option<TensorType>)> = Vec::new();
        let mut slots: Vec<Vec<Slot>> = Vec::new();
        let mut known: HashMap<(Role, Source, Option<String>), usize> = HashMap::new();
        // The last one; none if somebody has none.
        let mut deadline = Some(now);
        for Waiting { role, source, kind, deadline: until, arrived, slot } in taken {
            self.meter.taken(now.saturating_duration_since(arrived));
            if until.is_some_and(|until| until <= now) {
                self.meter.late();
                let text = format!("embedder {} did not embed a text in time", self.id);
                slot.fill(Err(Error::new(Code::DeadlineExceeded, text)));
                continue;
            }
            deadline = deadline.zip(until).map(|(one, other)| one.max(other));
            let key = (role, source.clone(), kind.as_ref().map(ToString::to_string));
            let at = *known.entry(key).or_insert(slots.len());
            match slots.get_mut(at) {
                Some(of) => of.push(slot),
                None => {
                    different.push((role, source, kind));
                    slots.push(vec![slot]);
                }
            }
        }
        if different.is_empty() {
            return;
        }
        let (found, runs) = match &self.of {
            Kind::Native(native) => self.by_model(native.threads(), &different, &|texts, cx| {
                let internal = |text| (Code::Internal, text);
                let (found, runs) = native.embed(texts, cx);
                (found.into_iter().map(|one| one.map_err(internal)).collect(), runs)
            }),
            Kind::Images(images) => {
                self.by_model(images.threads(), &different, &|texts, cx| images.embed(texts, cx))
            }
            Kind::Python(python) => self.by_code(python, &different, deadline),
        };
        let tokens = found.iter().flatten().map(|embedding| embedding.tokens).sum();
        let failed = found.iter().zip(&slots).filter(|(found, _)| found.is_err());
        let failed = failed.map(|(_, slots)| slots.len()).sum();
        self.meter.ended(&Turn { runs, tokens, failed, took: now.elapsed() });
        for (found, slots) in found.into_iter().zip(slots) {
            slots.into_iter().for_each(|slot| slot.fill(found.clone()));
        }
    }

    fn by_model(
        &self,
        threads: Option<i32>,
        texts: &[(Role, Source, Option<TensorType>)],
        embed: &Embed<'_>,
    ) -> (Vec<Found>, usize) {
        let sources: Vec<(Role, &Source)> =
            texts.iter().map(|(role, source, _)| (*role, source)).collect();
        let (found, runs) = match self.compute.team(threads) {
            Some(team) => {
                let (cores, pause) = (Lent(team), || team.give_way());
                let cx =
                    RunContext { parallel: &cores, pause: Some(&pause), ..RunContext::default() };
                embed(&sources, &cx)
            }
            None => embed(&sources, &RunContext::default()),
        };
        let failed = |(code, text): (Code, String)| {
            Error::new(code, format!("embedder {}: {text}", self.id))
        };
        let found: Vec<Found> =
            found.into_iter().map(|one| one.map(Arc::new).map_err(failed)).collect();
        let mut cache = self.cache();
        for ((role, source), found) in sources.iter().zip(&found) {
            if let (Role::Query, Source::Text(text), Ok(found)) = (role, source, found) {
                cache.keep(*role, text, found);
            }
        }
        (found, runs)
    }

    /// Those of one type in one call; how many calls that were, too.
    fn by_code(
        &self,
        python: &PythonEmbedders,
        texts: &[(Role, Source, Option<TensorType>)],
        deadline: Option<Instant>,
    ) -> (Vec<Found>, usize) {
        let failed = |code, text: &str| Error::new(code, format!("embedder {}: {text}", self.id));
        let deadline = python.timeout(
            &self.id,
            deadline.map(|until| until.saturating_duration_since(Instant::now())),
        );
        let mut found: Vec<Option<Found>> = vec![None; texts.len()];
        let mut calls = 0;
        while let Some(first) = found.iter().position(Option::is_none) {
            let kind = texts.get(first).and_then(|(_, _, kind)| kind.clone());
            let is_it = |at: &usize| {
                found.get(*at).is_some_and(Option::is_none)
                    && texts.get(*at).is_some_and(|(_, _, other)| *other == kind)
            };
            let places: Vec<usize> = (first..texts.len()).filter(is_it).collect();
            let text = |at: &usize| match texts.get(*at) {
                Some((_, Source::Text(text), _)) => text.clone(),
                _ => String::new(),
            };
            let asked: Vec<String> = places.iter().map(text).collect();
            let answer = match &kind {
                Some(kind) => {
                    calls += 1;
                    python.embed(&self.id, &asked, kind, Deadline::after(deadline))
                }
                None => {
                    let text = "is code, which must be told the type of tensors";
                    for place in places {
                        if let Some(slot) = found.get_mut(place) {
                            *slot = Some(Err(failed(Code::InvalidArgument, text)));
                        }
                    }
                    continue;
                }
            };
            let mut values = answer.map(Vec::into_iter);
            for place in places {
                let one = match &mut values {
                    Ok(values) => match values.next() {
                        Some(value) => Ok(Arc::new(Embedding {
                            tokens: 0,
                            vectors: embedding::Vectors::Tensor(value),
                        })),
                        None => Err(failed(Code::Internal, "gave fewer tensors than texts")),
                    },
                    Err(error) => Err(failed(Code::Internal, &error.to_string())),
                };
                if let Some(slot) = found.get_mut(place) {
                    *slot = Some(one);
                }
            }
        }
        (found.into_iter().flatten().collect(), calls)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn cache(&self) -> MutexGuard<'_, Cache> {
        self.cache.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The end of a run, also where it panicked: what came meanwhile is next.
struct Ending<'q>(&'q Arc<Queue>, Role);

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        self.0.lock().side(self.1).is_running = false;
        self.0.go_on(self.1);
    }
}
