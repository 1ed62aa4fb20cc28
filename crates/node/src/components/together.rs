//! Components of a chain that are called together: in one interpreter, one call for all of them.

use std::sync::Arc;
use std::time::{Duration, Instant};

use stead_python::{CallError, Component, Deadline, Host, Session, Value, call_components};

use super::Unit;
use super::failure::{ComponentError, Failing};
use super::meters::Outcome;
use super::pools::Pool;

/// Components in the order of their chain, at least one, whose packages the interpreters of one manager have.
pub(super) struct Together {
    /// What the chain is: `search chain`.
    element: &'static str,
    /// The id of the chain.
    chain: String,
    first: Arc<Unit>,
    others: Vec<Arc<Unit>>,
    /// What is called.
    components: Vec<Arc<Component>>,
}

impl Together {
    /// The components of a chain, in as few parts as there are changes from the interpreters of one manager to those of another.
    pub(super) fn parts(
        element: &'static str,
        chain: &str,
        units: Vec<Arc<Unit>>,
    ) -> Vec<Together> {
        let mut parts: Vec<Together> = Vec::new();
        for unit in units {
            let component = Arc::clone(&unit.component);
            match parts.last_mut() {
                Some(last) if last.first.package.manager.is_same(&unit.package.manager) => {
                    last.components.push(component);
                    last.others.push(unit);
                }
                _ => {
                    let one = Together::one(element, unit);
                    parts.push(Together { chain: chain.to_owned(), ..one });
                }
            }
        }
        parts
    }

    /// One component that is called alone.
    pub(super) fn one(element: &'static str, unit: Arc<Unit>) -> Together {
        let (chain, component) = (unit.component.id.clone(), Arc::clone(&unit.component));
        Together { element, chain, first: unit, others: Vec::new(), components: vec![component] }
    }

    /// The id of the first component.
    pub(super) fn id(&self) -> &str {
        &self.first.component.id
    }

    /// How long a call may take in all.
    pub(super) fn timeout(&self) -> Duration {
        self.first.timeout
    }

    /// The most calls that run at a time.
    pub(super) fn most(&self) -> usize {
        self.first.package.manager.most().max(1)
    }

    /// Where its interpreters are.
    pub(super) fn pool(&self) -> &Arc<Pool> {
        &self.first.package.pool
    }

    /// What code asks of the server.
    pub(super) fn host(&self) -> Arc<dyn Host> {
        Arc::clone(&self.first.host)
    }

    /// The ids of the components.
    pub(super) fn ids(&self) -> Vec<&str> {
        self.units().map(|unit| unit.component.id.as_str()).collect()
    }

    fn units(&self) -> impl Iterator<Item = &Arc<Unit>> {
        std::iter::once(&self.first).chain(&self.others)
    }

    /// Where it fails: the component if there is one, else the chain.
    pub(super) fn failing(&self) -> Failing<'_> {
        match self.others.is_empty() {
            true => self.first.failing(),
            false => {
                let is_development = self.first.is_development;
                Failing { element: self.element, id: &self.chain, is_development }
            }
        }
    }

    /// An interpreter that has all packages.
    ///
    /// # Errors
    /// That there was none.
    pub(super) fn session(&self, deadline: Deadline) -> Result<Session, ComponentError> {
        let others: Vec<&str> =
            self.others.iter().map(|unit| unit.package.registered.as_str()).collect();
        let session = self.first.acquire(&others, deadline);
        session.map_err(|error| self.failing().not_acquired(&error, &self.first.package.name))
    }

    /// Calls a function of the glue with all components.
    ///
    /// # Errors
    /// Of the component that failed, where that is known.
    pub(super) fn call(
        &self,
        session: &mut Session,
        function: &str,
        argument: Value,
        host: Arc<dyn Host>,
        deadline: Deadline,
    ) -> Result<Value, ComponentError> {
        let called = call_components(session, &self.components, function, argument, host, deadline);
        called.map_err(|error| {
            let known = match &error {
                CallError::Raised(exception) => exception.component.as_deref(),
                _ => None,
            };
            let is_it = |unit: &&Arc<Unit>| Some(unit.component.id.as_str()) == known;
            match self.units().find(is_it) {
                Some(unit) => unit.failing().called(&error),
                None => self.failing().called(&error),
            }
        })
    }

    /// Counts a call: for the component that failed if that is known, else for all.
    pub(super) fn record(
        &self,
        error: Option<&ComponentError>,
        waited: Duration,
        begun: Option<Instant>,
    ) {
        let ran = begun.map(|begun| begun.elapsed());
        let is_known = |error: &ComponentError| self.ids().contains(&error.component.as_str());
        let of = error.filter(|error| is_known(error)).map(|error| error.component.as_str());
        for unit in self.units() {
            if of.is_none_or(|id| id == unit.component.id) {
                unit.meter.record(Outcome::of(error), waited, ran);
            }
        }
    }

    /// Counts a call that was refused as too many waited.
    pub(super) fn record_refused(&self) {
        for unit in self.units() {
            unit.meter.record(Outcome::Refused, Duration::ZERO, None);
        }
    }
}
