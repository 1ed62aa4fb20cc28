//! Embedders: components that make tensors of texts, which other components ask for by their ids.
//!
//! One that runs in the interpreters of the component that asks is called there, by the glue: if it had an interpreter of its own, all
//! of them could wait for each other. Calls of one in another environment come here.

use std::sync::{Arc, OnceLock, Weak};
use std::time::Instant;

use stead_expr::{TensorType, Value, parse_type};
use stead_python::{
    Component, Deadline, Host, HostCall, HostCode, HostError, InterpreterManager, Value as Plain,
};

use super::plain::{dict, kind, tensor::read_tensor};
use super::together::Together;
use super::{Package, ServerHost, Unit};
use crate::Code;

/// The embedders of an application.
#[derive(Default)]
pub(super) struct Embedders(Vec<Together>);

/// What all components of an application know of its embedders, once they are created.
#[derive(Default)]
pub(super) struct Beside(OnceLock<Known>);

struct Known {
    embedders: Vec<(Arc<Component>, Arc<Package>)>,
    /// They have what knows of them, so that this must not hold them.
    calls: Weak<Embedders>,
}

impl Embedders {
    pub(super) fn new(units: &[Arc<Unit>]) -> Arc<Embedders> {
        let one = |unit: &Arc<Unit>| Together::one("component", Arc::clone(unit));
        Arc::new(Embedders(units.iter().map(one).collect()))
    }

    /// The tensors of a type for texts, in their order.
    fn embed(
        &self,
        id: &str,
        texts: &[String],
        of: &TensorType,
        deadline: Deadline,
    ) -> Result<Vec<Value>, HostError> {
        let found = self.0.iter().find(|call| call.ids().contains(&id));
        let Some(call) = found else {
            return Err(HostError::new(HostCode::NotFound, format!("there is no embedder {id}")));
        };
        let arrived = Instant::now();
        let texts = texts.iter().map(|text| Plain::from(text.as_str())).collect();
        let argument = dict([("texts", Plain::List(texts)), ("type", of.to_string().into())]);
        let session = call.session(deadline);
        let (waited, begun) = (arrived.elapsed(), Instant::now());
        let mut ran = None;
        let found = session.and_then(|mut session| {
            ran = Some(begun);
            call.call(&mut session, "embed", argument, call.host(), deadline)
        });
        call.record(found.as_ref().err(), waited, ran);
        let found = found.map_err(|error| super::host::refused(&error.into()))?;
        let failed = |text: &str| {
            HostError::new(HostCode::Internal, call.failing().error(Code::Internal, text).message)
        };
        let Plain::List(list) = found else {
            return Err(failed(&format!("gave {} where tensors were expected", kind(&found))));
        };
        let tensors = list.into_iter().map(read_tensor).collect::<Result<Vec<_>, _>>();
        tensors.map_err(|error| failed(&error.to_string()))
    }
}

impl Beside {
    /// Tells what was created.
    pub(super) fn tell(&self, units: &[Arc<Unit>], calls: &Arc<Embedders>) {
        let of = |unit: &Arc<Unit>| (Arc::clone(&unit.component), Arc::clone(&unit.package));
        let embedders = units.iter().map(of).collect();
        // It is told once.
        let _ = self.0.set(Known { embedders, calls: Arc::downgrade(calls) });
    }

    /// The packages that an interpreter of a manager has beside the one that is asked for, so that embedders run in it.
    pub(super) fn packages<'b>(
        &'b self,
        manager: &'b InterpreterManager,
    ) -> impl Iterator<Item = &'b str> {
        let all = self.0.get().into_iter().flat_map(|known| &known.embedders);
        all.filter(|(_, package)| package.manager.is_same(manager))
            .map(|(_, package)| package.registered.as_str())
    }
}

/// What the code of a component may ask: what any may, and embedders.
pub(super) struct ComponentHost {
    pub(super) server: Arc<ServerHost>,
    pub(super) beside: Arc<Beside>,
    /// Where it runs.
    pub(super) manager: InterpreterManager,
}

impl Host for ComponentHost {
    fn call(&self, call: HostCall) -> Result<Plain, HostError> {
        match call.name.as_str() {
            "embedders" | "embed" => self.asked(call),
            _ => self.server.call(call),
        }
    }
}

impl ComponentHost {
    fn asked(&self, call: HostCall) -> Result<Plain, HostError> {
        let Some(known) = self.beside.0.get() else {
            let text =
                "embedders can be asked when all components are created, and not by constructors";
            return Err(HostError::new(HostCode::Unavailable, text));
        };
        if call.name == "embedders" {
            let spec = |(component, package): &(Arc<Component>, Arc<Package>)| {
                dict([
                    ("id", component.id.as_str().into()),
                    ("generation", component.generation.into()),
                    ("kind", component.kind.name().into()),
                    ("package", package.registered.as_str().into()),
                    ("module", component.module.as_str().into()),
                    ("class", component.class.as_str().into()),
                    ("settings", component.settings.clone()),
                    ("here", package.manager.is_same(&self.manager).into()),
                ])
            };
            return Ok(Plain::List(known.embedders.iter().map(spec).collect()));
        }
        let arguments = <[Plain; 3]>::try_from(call.arguments).ok();
        let Some([Plain::Str(text), Plain::Str(id), Plain::Str(of)]) = arguments else {
            let text = "embed takes a text, the id of an embedder and a type";
            return Err(HostError::new(HostCode::Invalid, text));
        };
        let of = parse_type(&of).map_err(|e| HostError::new(HostCode::Invalid, e.to_string()))?;
        let ids: Vec<&str> = known.embedders.iter().map(|(one, _)| one.id.as_str()).collect();
        let id = match ids[..] {
            [only] if id.is_empty() => only.to_owned(),
            _ => id,
        };
        if !ids.contains(&id.as_str()) {
            let text = match ids.is_empty() {
                true => {
                    "the application has no embedder: a component whose class is a stead.Embedder"
                        .to_owned()
                }
                false => format!("there is no embedder {id:?}; there are {}", ids.join(", ")),
            };
            return Err(HostError::new(HostCode::NotFound, text));
        }
        let Some(calls) = known.calls.upgrade() else {
            let text = "another application has taken the place of this one";
            return Err(HostError::new(HostCode::Unavailable, text));
        };
        let mut found = calls.embed(&id, &[text], &of, call.deadline)?;
        let lost = || HostError::new(HostCode::Internal, format!("embedder {id} gave no tensor"));
        let value = found.pop().ok_or_else(lost)?;
        let failed =
            |e: super::plain::PlainError| HostError::new(HostCode::Internal, e.to_string());
        super::plain::tensor::tensor(&value).map_err(failed)
    }
}
