//! Operations on their way to the documents whose scripts ask for tensors of texts: these are made first, away from the thread that writes
//! documents, and those of all operations that are on this way are embedded together.
//!
//! Operations with one document stay in their order: while one waits for tensors, those behind it wait too.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use stead_store::{Answers, Operation, Outcome, StoreError, TextCall};

use super::WhenBusy;
use super::documents::{Documents, refused};
use crate::embedders::{Ask, Embedders, Role};
use crate::{Code, Error};

/// How often what a script asks may turn out to be something else, as its document has changed meanwhile.
const TRIES: usize = 16;

type Done = Box<dyn FnOnce(Result<Outcome, Error>) + Send>;

/// Embedders with their ids, as scripts are told them.
#[derive(Clone)]
pub(super) struct EmbedderNames {
    embedders: Arc<Embedders>,
    ids: Arc<[String]>,
}

impl EmbedderNames {
    pub(super) fn new(embedders: &Arc<Embedders>) -> EmbedderNames {
        let ids = embedders.ids().into_iter().map(str::to_owned).collect();
        EmbedderNames { embedders: Arc::clone(embedders), ids }
    }

    /// Nothing known yet.
    pub(super) fn answers(&self) -> Answers {
        Answers::new(&self.ids)
    }
}

/// Operations whose texts are embedded.
pub(super) struct Texts {
    /// The most that wait at a time.
    most: usize,
    waiting: Mutex<Waiting>,
    less: Condvar,
}

#[derive(Default)]
struct Waiting {
    /// Documents with operations on the way, and those that wait behind these.
    by_document: HashMap<String, VecDeque<Job>>,
    count: usize,
}

/// An operation on its way.
struct Job {
    kind: String,
    operation: Operation,
    when_busy: WhenBusy,
    answers: Answers,
    /// The class of what went wrong with its texts.
    failed: Option<Code>,
    tries: usize,
    /// Of the documents for which it was made.
    number: u64,
    done: Arc<Mutex<Option<Done>>>,
}

impl Texts {
    pub(super) fn new(most: usize) -> Texts {
        Texts { most: most.max(1), waiting: Mutex::default(), less: Condvar::new() }
    }

    /// No code under the lock panics.
    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Does an operation when its texts are embedded.
    pub(super) fn submit(
        &self,
        documents: &Arc<Documents>,
        kind: &str,
        operation: Operation,
        when_busy: WhenBusy,
        done: Done,
    ) -> Result<(), Error> {
        let (number, answers) = documents.try_store(|opened| {
            let answers = opened.embedders.as_ref().map(EmbedderNames::answers);
            Ok((opened.number, answers.unwrap_or_default()))
        })?;
        let job = Job {
            kind: kind.to_owned(),
            when_busy,
            answers,
            failed: None,
            tries: 0,
            number,
            done: Arc::new(Mutex::new(Some(done))),
            operation,
        };
        let mut waiting = self.lock();
        while waiting.count >= self.most {
            if when_busy == WhenBusy::Refuse {
                let busy = StoreError::Busy { operations: waiting.count };
                return Err(refused(busy));
            }
            waiting = self.less.wait(waiting).unwrap_or_else(PoisonError::into_inner);
        }
        waiting.count += 1;
        let document = job.operation.document.clone();
        if let Some(behind) = waiting.by_document.get_mut(&document) {
            behind.push_back(job);
            return Ok(());
        }
        waiting.by_document.insert(document.clone(), VecDeque::new());
        drop(waiting);
        match attempt(documents, job) {
            Tried::Waits => Ok(()),
            Tried::Submitted => {
                go_on(documents, &document);
                Ok(())
            }
            Tried::Refused(_, error) => {
                go_on(documents, &document);
                Err(error)
            }
        }
    }
}

/// What became of an operation.
enum Tried {
    /// Its texts are embedded.
    Waits,
    /// The log has it.
    Submitted,
    /// Nothing.
    Refused(Arc<Mutex<Option<Done>>>, Error),
}

/// Submits an operation, or embeds what it lacks.
fn attempt(documents: &Arc<Documents>, mut job: Job) -> Tried {
    let done = Arc::clone(&job.done);
    let told = move |outcome: Result<Outcome, StoreError>| finish(&done, outcome.map_err(refused));
    let mut lacking: Vec<TextCall> = Vec::new();
    let mut embedders = None;
    let submitted = documents.try_store(|opened| {
        if opened.number != job.number {
            let text = "another application was activated meanwhile; send this again";
            return Err(Error::new(Code::Unavailable, text));
        }
        embedders = opened.embedders.as_ref().map(|names| Arc::clone(&names.embedders));
        let waits = job.when_busy == WhenBusy::Wait;
        match opened.store.submit_with(&job.kind, job.operation.clone(), waits, &job.answers, told)
        {
            Err(StoreError::Texts(texts)) => {
                lacking = texts;
                Ok(())
            }
            other => other.map_err(refused),
        }
    });
    match (submitted, embedders) {
        (Ok(()), Some(embedders)) if !lacking.is_empty() => {
            job.tries += 1;
            if job.tries > TRIES {
                let text =
                    format!("{}: its texts change while they are embedded", job.operation.document);
                return Tried::Refused(job.done, Error::new(Code::Aborted, text));
            }
            embed(documents, &embedders, job, lacking);
            Tried::Waits
        }
        (Ok(()), _) => Tried::Submitted,
        (Err(error), _) => {
            // What the script could not do for want of a tensor is as bad as what went wrong with that.
            let error = match job.failed.filter(|_| error.code == Code::InvalidArgument) {
                Some(code) => Error::new(code, error.to_string()),
                None => error,
            };
            Tried::Refused(job.done, error)
        }
    }
}

/// Makes the tensors that a script lacks, and tries again.
fn embed(documents: &Arc<Documents>, embedders: &Embedders, mut job: Job, lacking: Vec<TextCall>) {
    let ask = |call: &TextCall| Ask {
        id: call.component.clone(),
        text: call.text.clone(),
        kind: call.kind.clone(),
        language: call.language.clone(),
    };
    let asked = lacking.iter().map(ask).collect();
    let documents = Arc::clone(documents);
    embedders.tensors(asked, Role::Document, None, move |found| {
        let failed = found.iter().filter_map(|one| one.as_ref().err()).map(|error| error.code);
        job.failed = job.failed.or(failed.into_iter().next());
        let answers = found.into_iter().map(|one| one.map_err(|error| error.to_string()));
        job.answers.learn(lacking.into_iter().zip(answers));
        let document = job.operation.document.clone();
        settle(&documents, &document, job);
    });
}

/// Submits an operation whose texts are embedded.
fn settle(documents: &Arc<Documents>, document: &str, job: Job) {
    match attempt(documents, job) {
        Tried::Waits => return,
        Tried::Submitted => {}
        Tried::Refused(done, error) => finish(&done, Err(error)),
    }
    go_on(documents, document);
}

/// An operation with a document is done, as far as those behind it wait for it.
fn go_on(documents: &Arc<Documents>, document: &str) {
    loop {
        let mut waiting = documents.texts.lock();
        waiting.count = waiting.count.saturating_sub(1);
        let next = waiting.by_document.get_mut(document).and_then(VecDeque::pop_front);
        if next.is_none() {
            waiting.by_document.remove(document);
        }
        drop(waiting);
        documents.texts.less.notify_one();
        let Some(job) = next else { return };
        match attempt(documents, job) {
            Tried::Waits => return,
            Tried::Submitted => {}
            Tried::Refused(done, error) => finish(&done, Err(error)),
        }
    }
}

fn finish(done: &Mutex<Option<Done>>, outcome: Result<Outcome, Error>) {
    let done = done.lock().unwrap_or_else(PoisonError::into_inner).take();
    if let Some(done) = done {
        done(outcome);
    }
}
