//! Components in Rust are created when an application is prepared, so that one that cannot be changes nothing.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use stead_app::application::Application;
use stead_app::components::{
    BindingPattern, ChainKind, NativeComponent, NativeKind, NativeRole, Parameters,
};
use stead_app::package::PackageFiles;
use stead_store::DocumentType;

use super::built_in::{self, Making};
use super::registry::Factory;
use super::{
    Creating, DocumentProcessor, Models, NativeComponents, NativeUnit, RequestHandler, Searcher,
};
use crate::components::{ComponentMeters, ServerHost};
use crate::embedders::Embedders;

/// The components of an application that are no Python, by their ids.
#[derive(Default)]
pub(in crate::components) struct Natives {
    pub(in crate::components) searchers: BTreeMap<String, Arc<NativeUnit<dyn Searcher>>>,
    pub(in crate::components) processors: BTreeMap<String, Arc<NativeUnit<dyn DocumentProcessor>>>,
    pub(in crate::components) handlers: BTreeMap<String, Arc<NativeUnit<dyn RequestHandler>>>,
    /// The bindings of the handlers, with their ids.
    pub(in crate::components) bindings: Vec<(BindingPattern, String)>,
}

impl Natives {
    /// How many there are.
    pub(in crate::components) fn len(&self) -> usize {
        self.searchers.len() + self.processors.len() + self.handlers.len()
    }
}

/// Creates them, and tells what is wrong.
pub(in crate::components) fn create(
    application: &Application,
    files: &PackageFiles,
    registered: &NativeComponents,
    meters: &ComponentMeters,
    host: &Arc<ServerHost>,
    embedders: &Arc<Embedders>,
) -> (Natives, Vec<String>) {
    let (mut natives, mut wrong) = (Natives::default(), Vec::new());
    let contents = application.services.contents.iter();
    let documents = contents.flat_map(|content| &content.documents);
    let schemas = documents.filter_map(|document| application.schema(&document.kind.value));
    let kinds: Vec<DocumentType> = schemas.map(DocumentType::stored).collect();
    let models = Models::new(Arc::clone(host));
    let making = Making { application, files, kinds: &kinds, models: &models, embedders };
    for container in &application.services.containers {
        let timeout = container.python_options.timeout;
        for component in &container.native {
            let one = One { component, making: &making, meters, timeout };
            let bindings = component.bindings.iter();
            let bindings = bindings.map(|at| (at.value.clone(), component.id.clone()));
            natives.bindings.extend(bindings);
            let made = match component.role {
                NativeRole::Chained(ChainKind::Search) => {
                    one.create(&registered.searchers, built_in::searcher, &mut natives.searchers)
                }
                NativeRole::Chained(ChainKind::DocumentProcessing) => {
                    let of = (&registered.processors, built_in::processor);
                    one.create(of.0, of.1, &mut natives.processors)
                }
                NativeRole::Handler => {
                    one.create(&registered.handlers, no_handler, &mut natives.handlers)
                }
            };
            if let Err(text) = made {
                let (place, element, id) =
                    (&component.place, component.role.element(), &component.id);
                wrong.push(format!("{place}: {element} {id}: {text}"));
            }
        }
    }
    (natives, wrong)
}

/// Makes a built-in component of a name.
type BuiltIns<T> = fn(&str, &Parameters, &Making<'_>) -> Result<Box<T>, String>;

/// No handler is built in.
fn no_handler(
    name: &str,
    _: &Parameters,
    _: &Making<'_>,
) -> Result<Box<dyn RequestHandler>, String> {
    Err(format!("there is no handler of the type {name}"))
}

/// A component that is created.
struct One<'o> {
    component: &'o NativeComponent,
    making: &'o Making<'o>,
    meters: &'o ComponentMeters,
    timeout: Duration,
}

impl One<'_> {
    fn create<T: ?Sized>(
        &self,
        registered: &BTreeMap<String, Factory<T>>,
        built_in: BuiltIns<T>,
        units: &mut BTreeMap<String, Arc<NativeUnit<T>>>,
    ) -> Result<(), String> {
        let (id, element) = (self.component.id.clone(), self.component.role.element());
        let component = match &self.component.what {
            NativeKind::BuiltIn(row, parameters) => built_in(row.name, parameters, self.making)?,
            NativeKind::Registered(name, settings) => {
                let factory = registered.get(name).ok_or_else(|| {
                    let known: Vec<&str> = registered.keys().map(String::as_str).collect();
                    let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
                    format!("this program has no {element} {name}; it has {known}")
                })?;
                factory(&Creating { id: &id, settings, models: self.making.models.clone() })?
            }
        };
        let meter = self.meters.of(&id, element);
        let unit = NativeUnit { id: id.clone(), element, meter, timeout: self.timeout, component };
        units.insert(id, Arc::new(unit));
        Ok(())
    }
}
