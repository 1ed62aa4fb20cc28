//! Components in Rust are created when an application is prepared, so that one that cannot be changes nothing.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use stead_app::application::Application;
use stead_app::components::{ChainKind, NativeComponent, NativeKind};
use stead_app::package::PackageFiles;
use stead_store::DocumentType;

use super::built_in::{self, Making};
use super::registry::Factory;
use super::{Creating, DocumentProcessor, Models, NativeComponents, NativeUnit, Searcher};
use crate::components::{ComponentMeters, ServerHost};

/// The components of an application that are no Python, by their ids.
#[derive(Default)]
pub(in crate::components) struct Natives {
    pub(in crate::components) searchers: BTreeMap<String, Arc<NativeUnit<dyn Searcher>>>,
    pub(in crate::components) processors: BTreeMap<String, Arc<NativeUnit<dyn DocumentProcessor>>>,
}

impl Natives {
    /// How many there are.
    pub(in crate::components) fn len(&self) -> usize {
        self.searchers.len() + self.processors.len()
    }
}

/// Creates them, and tells what is wrong.
pub(in crate::components) fn create(
    application: &Application,
    files: &PackageFiles,
    registered: &NativeComponents,
    meters: &ComponentMeters,
    host: &Arc<ServerHost>,
) -> (Natives, Vec<String>) {
    let (mut natives, mut wrong) = (Natives::default(), Vec::new());
    let contents = application.services.contents.iter();
    let documents = contents.flat_map(|content| &content.documents);
    let schemas = documents.filter_map(|document| application.schema(&document.kind.value));
    let kinds: Vec<DocumentType> = schemas.map(DocumentType::stored).collect();
    let models = Models::new(Arc::clone(host));
    let making = Making { application, files, kinds: &kinds, models: &models };
    for container in &application.services.containers {
        let timeout = container.python_options.timeout;
        for component in &container.native {
            let made = match component.kind {
                ChainKind::Search => {
                    let made = one(
                        component,
                        &registered.searchers,
                        |row, given| built_in::searcher(row, given, &making),
                        &models,
                    );
                    made.map(|made| {
                        let unit = unit(component, made, meters, timeout);
                        natives.searchers.insert(component.id.clone(), unit);
                    })
                }
                ChainKind::DocumentProcessing => {
                    let made = one(
                        component,
                        &registered.processors,
                        |row, given| built_in::processor(row, given, &making),
                        &models,
                    );
                    made.map(|made| {
                        let unit = unit(component, made, meters, timeout);
                        natives.processors.insert(component.id.clone(), unit);
                    })
                }
            };
            if let Err(text) = made {
                let (place, element, id) =
                    (&component.place, component.kind.element(), &component.id);
                wrong.push(format!("{place}: {element} {id}: {text}"));
            }
        }
    }
    (natives, wrong)
}

fn one<T: ?Sized>(
    component: &NativeComponent,
    registered: &BTreeMap<String, Factory<T>>,
    built_in: impl FnOnce(&str, &stead_app::components::Parameters) -> Result<Box<T>, String>,
    models: &Models,
) -> Result<Box<T>, String> {
    match &component.what {
        NativeKind::BuiltIn(row, parameters) => built_in(row.name, parameters),
        NativeKind::Registered(name, settings) => {
            let factory = registered.get(name).ok_or_else(|| {
                let known: Vec<&str> = registered.keys().map(String::as_str).collect();
                let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
                format!("this program has no {} {name}; it has {known}", component.kind.element())
            })?;
            factory(&Creating { id: &component.id, settings, models: models.clone() })
        }
    }
}

fn unit<T: ?Sized>(
    component: &NativeComponent,
    made: Box<T>,
    meters: &ComponentMeters,
    timeout: Duration,
) -> Arc<NativeUnit<T>> {
    let (id, element) = (component.id.clone(), component.kind.element());
    let meter = meters.of(&id, element);
    Arc::new(NativeUnit { id, element, meter, timeout, component: made })
}
