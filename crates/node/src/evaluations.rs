//! Evaluations of the models of the application that is served.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use stead_pool::Class;
use tokio::sync::oneshot;

use crate::admission::Line;
use crate::components::{Meter, Outcome};
use crate::embedded::{Embedded, Inside};
use crate::evaluation::{Evaluated, Evaluation, Evaluations, Running};
use crate::{Code, Error, ErrorKind};

/// The kind of a model among the components that are measured: its element in `services.xml`.
const KIND: &str = "model-evaluation";

impl Embedded {
    /// The models of the application that is served, where its `services.xml` has `model-evaluation`.
    #[must_use]
    pub fn evaluations(&self) -> Option<Evaluations> {
        Evaluations::of(self.deployments()?.active()?.evaluated())
    }

    /// Evaluates a function of a model of the application, on a thread of the pool and others that have nothing to do. Dropping the
    /// future cancels it.
    ///
    /// # Errors
    /// [`Code::UnknownUrl`] where no models are served; [`Code::NotFound`] with the models or functions that there are;
    /// [`Code::InvalidArgument`] of values that do not fit; [`Code::Overloaded`] when too many wait; [`ErrorKind::ShuttingDown`].
    pub async fn evaluate(&self, asked: Evaluation) -> Result<Evaluated, Error> {
        let _inside = Inside::enter(self);
        if self.draining.load(Ordering::SeqCst) {
            return Err(ErrorKind::ShuttingDown.into());
        }
        let none = || Error::new(Code::UnknownUrl, "no models are evaluated here");
        let deployments = self.deployments().ok_or_else(none)?;
        let models = self.evaluations().ok_or_else(none)?;
        let model = Arc::clone(models.find(&asked.model)?);
        let compute = Arc::clone(deployments.compute());
        let meter: Arc<Meter> = deployments.component_meters().of(model.name(), KIND);
        let arrived = Instant::now();
        let Some(turn) = compute.turn(asked.size()) else {
            meter.record(Outcome::Refused, arrived.elapsed(), None);
            let text = format!("too many evaluations wait - model: {}", model.name());
            return Err(Error::new(Code::Overloaded, text));
        };
        let pace = self.paces.of(&format!("{KIND} {}", model.name()));
        // It has no deadline, and the turn bounds how many there are.
        let place = self.line.enter(&pace, arrived, None);
        let mut place =
            place.map_err(|refused| refused.error(&format!("model {}", model.name())))?;
        let (sender, receiver) = oneshot::channel();
        let given_up = GivenUp::default();
        let is_given_up = Arc::clone(&given_up.0);
        let run = move |_: &_| {
            let (waited, begun) = (arrived.elapsed(), Instant::now());
            let cancelled = || is_given_up.load(Ordering::Relaxed);
            if cancelled() {
                return;
            }
            place.begin();
            let running = Running { compute: &compute, cancelled: &cancelled };
            let found = Evaluations::evaluate(&model, &asked, &running);
            Line::ran(&[place], begun, Instant::now(), cancelled());
            drop(turn);
            let outcome = if found.is_ok() { Outcome::Succeeded } else { Outcome::Failed };
            meter.record(outcome, waited, Some(begun.elapsed()));
            // Whoever asked may have gone.
            let _ = sender.send(found);
        };
        let closed = |_| Error::from(ErrorKind::ShuttingDown);
        self.pool.spawn(Class::Query, None, run).map_err(closed)?;
        let failed = || Error::new(Code::Internal, "the evaluation ended in an internal error");
        receiver.await.unwrap_or_else(|_| Err(failed()))
    }
}

/// Tells an evaluation, when it is dropped, that nobody waits for it.
#[derive(Default)]
struct GivenUp(Arc<AtomicBool>);

impl Drop for GivenUp {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
