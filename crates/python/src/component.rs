//! Components: objects of classes in Python code, which each interpreter makes when it is first called for them.
//!
//! Their glue is the module `stead._components` (`python/stead`), whose functions say what arguments look like.

use std::sync::Arc;

use crate::{Call, CallError, Deadline, Host, Session, Value};

/// Where the glue is.
pub(crate) const GLUE: &str = "stead._components";

/// The exception of the glue that names a component which the interpreter does not have.
const NOT_CREATED: &str = "stead.NotCreated";

/// What a component is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ComponentKind {
    /// Answers requests of HTTP.
    Handler,
    /// Sees operations on documents before they are done.
    Processor,
    /// Sees queries and results.
    Searcher,
    /// Computes tensors of tensors.
    Model,
    /// Makes tensors of texts.
    Embedder,
    /// A model or an embedder: what its class is derived from. Its description tells.
    Component,
}

impl ComponentKind {
    /// The name that the glue knows.
    pub const fn name(self) -> &'static str {
        match self {
            ComponentKind::Handler => "handler",
            ComponentKind::Processor => "processor",
            ComponentKind::Searcher => "searcher",
            ComponentKind::Model => "model",
            ComponentKind::Embedder => "embedder",
            ComponentKind::Component => "component",
        }
    }
}

/// A component of an application.
#[derive(Debug, Clone, PartialEq)]
pub struct Component {
    /// Its name in the application, by which errors and the log call it.
    pub id: String,
    /// Differs with each deployment. Interpreters keep the components of two deployments of a package, the newest one and
    /// that which was used last.
    pub generation: i64,
    /// What it is.
    pub kind: ComponentKind,
    /// The package that its module is of; none for modules that were loaded or can be imported.
    pub package: Option<String>,
    /// The module.
    pub module: String,
    /// The class in it, with dots for classes in classes.
    pub class: String,
    /// What its configuration says: a dict.
    pub settings: Value,
    /// What it may know of the application: a dict, whose `documents` has the types of fields by the types of documents.
    pub context: Value,
}

impl Component {
    /// Makes it in the interpreter of a session, and gives its description: a dict with `provides`, `before` and `after`, and of a
    /// model `inputs`, `outputs`, `state` and `max_batch`.
    ///
    /// # Errors
    /// All of [`CallError`]; an exception of the kind `stead.ComponentError` tells what is wrong with the class.
    pub fn create(
        &self,
        session: &mut Session,
        host: Arc<dyn Host>,
        deadline: Deadline,
    ) -> Result<Value, CallError> {
        let package = self.package.as_deref().unwrap_or_default();
        let parts: [(&str, Value); 7] = [
            ("id", self.id.as_str().into()),
            ("generation", self.generation.into()),
            ("kind", self.kind.name().into()),
            ("package", package.into()),
            ("module", self.module.as_str().into()),
            ("class", self.class.as_str().into()),
            ("settings", self.settings.clone()),
        ];
        let component = parts.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        let arguments = vec![Value::Dict(component), self.context.clone()];
        session.call_hosted(Call::new(GLUE, "create", arguments), host, deadline)
    }
}

/// Calls a function of the glue for components of one deployment, in the order of their chain: `handle`, `process`,
/// `search`, `infer`, `embed`. Those that the interpreter does not have are made first.
///
/// # Errors
/// All of [`CallError`]. Exceptions of the kinds `stead.InvalidInput` and `stead.Overloaded` are answers to the client,
/// `stead.ComponentError` tells what a component gave and what was expected of it.
pub fn call_components(
    session: &mut Session,
    components: &[Arc<Component>],
    function: &str,
    argument: Value,
    host: Arc<dyn Host>,
    deadline: Deadline,
) -> Result<Value, CallError> {
    let ids: Vec<Value> = components.iter().map(|one| one.id.as_str().into()).collect();
    let generation = components.first().map_or(0, |first| first.generation);
    debug_assert!(components.iter().all(|one| one.generation == generation));
    let arguments = vec![ids.into(), generation.into(), argument];
    let call = Arc::new(Call::new(GLUE, function, arguments));
    // Each is made once; a worker that was replaced meanwhile lacks them all again.
    for _ in 0..=2 * components.len() {
        let lacking = match session.call_with(&call, Arc::clone(&host), deadline) {
            Err(CallError::Raised(error)) if error.kind == NOT_CREATED => error.message,
            answer => return answer,
        };
        let component = components.iter().find(|one| one.id == lacking);
        let component = component.ok_or_else(|| {
            CallError::Returned(format!("{lacking} is no component of this call"))
        })?;
        component.create(session, Arc::clone(&host), deadline)?;
    }
    Err(CallError::Died("its components are lost as soon as they are made".to_owned()))
}
