//! What components know of the others of their application: models and embedders, which any of them may ask for by their ids.
//!
//! One that runs in the interpreters of the component that asks is called there, by the glue: if it had an interpreter of its own, all
//! of them could wait for each other. One in interpreters of another kind is called in one of these, while that of the one who asks
//! waits. So calls in circles between kinds are refused, whose interpreters could all wait for each other too.

use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};
use std::time::{Duration, Instant};

use stead_expr::{Value, parse_type};
use stead_python::{
    Component, Deadline, Host, HostCall, HostCode, HostError, InterpreterManager, Value as Plain,
};

use super::host::{misused, text};
use super::infer::PythonModel;
use super::plain::tensor::tensor;
use super::plain::{PlainError, dict};
use super::together::Together;
use super::{Package, ServerHost};
use crate::embedders::{Ask, Embedders as NativeEmbedders, Role as TextRole};

/// What all components of an application know of its models and embedders: more and more while these are created.
#[derive(Default)]
pub(super) struct Beside {
    growing: Mutex<Vec<Arc<Other>>>,
    all: OnceLock<Vec<Arc<Other>>>,
}

/// A model or an embedder.
pub(super) struct Other {
    pub(super) component: Arc<Component>,
    pub(super) package: Arc<Package>,
    pub(super) role: Role,
}

/// How it is called. It holds what knows of it, so that this must not hold it.
pub(super) enum Role {
    Embedder(Weak<Together>),
    Model(Weak<PythonModel>),
}

impl Role {
    const fn name(&self) -> &'static str {
        match self {
            Role::Embedder(_) => "embedder",
            Role::Model(_) => "model",
        }
    }
}

impl Beside {
    /// One more was created.
    pub(super) fn add(&self, other: Other) {
        self.growing().push(Arc::new(other));
    }

    /// There will be no more.
    pub(super) fn complete(&self) {
        // It is told once.
        let _ = self.all.set(std::mem::take(&mut *self.growing()));
    }

    fn growing(&self) -> std::sync::MutexGuard<'_, Vec<Arc<Other>>> {
        self.growing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_complete(&self) -> bool {
        self.all.get().is_some()
    }

    /// Those that there are now.
    fn now(&self) -> Vec<Arc<Other>> {
        match self.all.get() {
            Some(all) => all.clone(),
            None => self.growing().clone(),
        }
    }

    /// The packages that an interpreter of a manager has beside the one that is asked for, so that others run in it.
    pub(super) fn packages<'b>(
        &'b self,
        manager: &'b InterpreterManager,
    ) -> impl Iterator<Item = &'b str> {
        let all = self.all.get().into_iter().flatten();
        all.filter(|other| other.package.manager.is_same(manager))
            .map(|other| other.package.registered.as_str())
    }

    /// The same while they are created.
    pub(super) fn packages_now(&self, manager: &InterpreterManager) -> Vec<String> {
        let now = self.now();
        let same = now.iter().filter(|other| other.package.manager.is_same(manager));
        same.map(|other| other.package.registered.clone()).collect()
    }
}

/// What the code of a component may ask: what any may, and other components.
pub(super) struct ComponentHost {
    server: Arc<ServerHost>,
    beside: Arc<Beside>,
    /// Whose interpreters wait for what it asks; its own is the last one.
    waiting: Vec<InterpreterManager>,
    /// The embedders that need no Python.
    native: Arc<NativeEmbedders>,
    /// Whose texts it has embedded.
    texts: TextRole,
}

impl ComponentHost {
    pub(super) fn new(
        server: &Arc<ServerHost>,
        beside: &Arc<Beside>,
        own: &InterpreterManager,
        native: &Arc<NativeEmbedders>,
        texts: TextRole,
    ) -> ComponentHost {
        let (server, beside) = (Arc::clone(server), Arc::clone(beside));
        let native = Arc::clone(native);
        ComponentHost { server, beside, waiting: vec![own.clone()], native, texts }
    }
}

impl Host for ComponentHost {
    fn call(&self, mut call: HostCall) -> Result<Plain, HostError> {
        match call.name.as_str() {
            "components" => Ok(self.list()),
            "embed" => self.embed(call),
            "models.list" => self.models(call),
            "models.describe" | "models.evaluate" => match self.model(&call) {
                None => self.server.call(call),
                Some(found) => {
                    let arguments = std::mem::take(&mut call.arguments);
                    self.ask_model(&found?, &call, arguments)
                }
            },
            _ => self.server.call(call),
        }
    }
}

impl ComponentHost {
    /// What the glue knows of them: those that run `here` it calls itself.
    fn list(&self) -> Plain {
        let spec = |other: &Arc<Other>| {
            let Other { component, package, role } = &**other;
            let here = self.waiting.last().is_some_and(|own| package.manager.is_same(own));
            dict([
                ("id", component.id.as_str().into()),
                ("generation", component.generation.into()),
                ("kind", component.kind.name().into()),
                ("package", package.registered.as_str().into()),
                ("module", component.module.as_str().into()),
                ("class", component.class.as_str().into()),
                ("settings", component.settings.clone()),
                ("role", role.name().into()),
                ("here", here.into()),
            ])
        };
        // Before the list, which is not asked for again if it was complete.
        let is_complete = self.beside.is_complete();
        let native = |id: &str| {
            dict([("id", id.into()), ("role", "embedder".into()), ("here", false.into())])
        };
        let native = self.native.ids().into_iter().map(native);
        let components = self.beside.now().iter().map(spec).chain(native).collect();
        dict([("components", Plain::List(components)), ("complete", is_complete.into())])
    }

    fn models(&self, call: HostCall) -> Result<Plain, HostError> {
        let known = self.server.call(call)?;
        let own = self.beside.now().into_iter();
        let own = own.filter(|other| matches!(other.role, Role::Model(_)));
        let mut names: Vec<String> = own.map(|other| other.component.id.clone()).collect();
        if let Plain::List(known) = known {
            names.extend(known.into_iter().filter_map(text));
        }
        names.sort();
        Ok(Plain::List(names.into_iter().map(Plain::from).collect()))
    }

    /// The model in Python that a question is about, if it is one.
    fn model(&self, call: &HostCall) -> Option<Result<(Arc<Other>, Arc<PythonModel>), HostError>> {
        let Some(Plain::Str(name)) = call.arguments.first() else { return None };
        let is_it = |other: &&Arc<Other>| {
            matches!(other.role, Role::Model(_)) && other.component.id == *name
        };
        let other = self.beside.now().iter().find(is_it).cloned()?;
        let Role::Model(model) = &other.role else { return None };
        Some(match model.upgrade() {
            Some(model) => Ok((other, model)),
            None => Err(replaced()),
        })
    }

    fn ask_model(
        &self,
        (other, model): &(Arc<Other>, Arc<PythonModel>),
        call: &HostCall,
        arguments: Vec<Plain>,
    ) -> Result<Plain, HostError> {
        if call.name == "models.describe" {
            return Ok(model.described());
        }
        let Ok([_, Plain::Dict(inputs), Plain::List(wanted)]) = <[Plain; 3]>::try_from(arguments)
        else {
            return Err(misused(call, "a name, a dict of inputs and a list of outputs"));
        };
        let wanted: Vec<String> = wanted.into_iter().filter_map(text).collect();
        let host = self.of_inner(other)?;
        model.evaluate(inputs, &wanted, host, call.deadline)
    }

    /// What another component may ask while this one waits for it.
    ///
    /// # Errors
    /// Where its interpreters wait already.
    fn of_inner(&self, other: &Other) -> Result<Arc<dyn Host>, HostError> {
        let of = &other.package.manager;
        if self.waiting.iter().any(|waiting| waiting.is_same(of)) {
            let text = format!(
                "{} {} cannot be asked here: interpreters of its kind wait for the answer already, and all of them could wait for each other; give the packages of components that ask each other in a circle the same isolation and environment",
                other.role.name(),
                other.component.id
            );
            return Err(HostError::new(HostCode::Invalid, text));
        }
        let mut waiting = self.waiting.clone();
        waiting.push(of.clone());
        let (server, beside) = (Arc::clone(&self.server), Arc::clone(&self.beside));
        let (native, texts) = (Arc::clone(&self.native), self.texts);
        Ok(Arc::new(ComponentHost { server, beside, waiting, native, texts }))
    }

    fn embed(&self, mut call: HostCall) -> Result<Plain, HostError> {
        let arguments = <[Plain; 3]>::try_from(std::mem::take(&mut call.arguments)).ok();
        let Some([Plain::Str(text), Plain::Str(id), Plain::Str(of)]) = arguments else {
            return Err(misused(&call, "a text, the id of an embedder and a type"));
        };
        let of = parse_type(&of).map_err(|e| HostError::new(HostCode::Invalid, e.to_string()))?;
        if self.native.find(&id) == Some(&id) {
            let ask = Ask { id, text, kind: of, language: None };
            let value = self.by_model(ask, call.deadline)?;
            let failed = |e: PlainError| HostError::new(HostCode::Internal, e.to_string());
            return tensor(&value).map_err(failed);
        }
        let (other, embedder) = self.embedder(&id)?;
        let host = self.of_inner(&other)?;
        super::embed::embed(&embedder, text, &of, host, call.deadline)
    }

    /// Waits for the tensor of an embedder that needs no Python.
    fn by_model(&self, ask: Ask, deadline: Deadline) -> Result<Value, HostError> {
        let left = deadline.left();
        let until = left.and_then(|left| Instant::now().checked_add(left));
        let (sender, receiver) = sync_channel(1);
        self.native.tensors(vec![ask], self.texts, until, move |found| {
            // Whoever asked may have given up.
            let _ = sender.send(found);
        });
        let late = |_| HostError::new(HostCode::Deadline, "the text was not embedded in time");
        let found = receiver.recv_timeout(left.unwrap_or(Duration::MAX)).map_err(late)?;
        let lost = || HostError::new(HostCode::Internal, "the embedder gave no tensor");
        found.into_iter().next().ok_or_else(lost)?.map_err(|error| super::host::refused(&error))
    }

    fn embedder(&self, id: &str) -> Result<(Arc<Other>, Arc<Together>), HostError> {
        let now = self.beside.now();
        let all: Vec<(&Arc<Other>, &Weak<Together>)> = now
            .iter()
            .filter_map(|other| match &other.role {
                Role::Embedder(call) => Some((other, call)),
                Role::Model(_) => None,
            })
            .collect();
        let found = match all[..] {
            [only] if id.is_empty() && self.native.ids().is_empty() => Some(only),
            _ => all.iter().find(|(other, _)| other.component.id == id).copied(),
        };
        if let Some((other, call)) = found {
            let call = call.upgrade().ok_or_else(replaced)?;
            return Ok((Arc::clone(other), call));
        }
        let ids: Vec<&str> = all.iter().map(|(other, _)| other.component.id.as_str()).collect();
        let ids = [ids, self.native.ids()].concat();
        let mut text = match ids.is_empty() {
            true => "the application has no embedder: a component whose class is a stead.Embedder"
                .to_owned(),
            false => format!("there is no embedder {id:?}; there are {}", ids.join(", ")),
        };
        if !self.beside.is_complete() {
            text.push_str("; models and embedders are made before other components, in the order of their packages, and a constructor can ask for those that are there");
        }
        Err(HostError::new(HostCode::NotFound, text))
    }
}

fn replaced() -> HostError {
    let text = "another application has taken the place of this one";
    HostError::new(HostCode::Unavailable, text)
}

/// When a call for another component must have ended: it has no more time than the one who asks.
pub(super) fn ends(of: Deadline, call: &Together) -> Deadline {
    of.or_sooner(Deadline::after(call.timeout()))
}
