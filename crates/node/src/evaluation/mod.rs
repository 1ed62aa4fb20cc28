//! Models that are evaluated for whoever asks, beside documents: those of `model-evaluation` of an application, and those that its
//! components open.
//!
//! A run is on the thread that asks, and idle threads of the pool help.

mod answer;
mod bind;
mod choice;
mod compute;
mod function;
mod model;
mod network;
mod opened;
mod port;
mod served;
mod signature;

pub use answer::Evaluated;
pub use bind::EvaluationInput;
pub(crate) use compute::Compute;
pub use model::Datum;
pub(crate) use model::{Model, Running};
pub(crate) use opened::{ExternalFiles, Known, Opened};
pub(crate) use port::Port;
pub use served::{Evaluation, Evaluations};
pub use signature::{EvaluationArgument, EvaluationFunction, EvaluationType};

use std::collections::BTreeMap;
use std::sync::Arc;

use stead_app::ModelSettings;
use stead_app::application::rank::PackageModels;
use stead_app::application::{Application, evaluation_models};
use stead_app::package::{PackageFiles, Report};
use stead_engine::Backends;

use crate::repository::Provided;
use crate::{Code, Error};

/// The models of an application, by their names.
#[derive(Default)]
pub(crate) struct Models {
    by_name: BTreeMap<String, Arc<Model>>,
    /// Whether clients may ask for them.
    is_served: bool,
}

impl Models {
    /// Loads the models of an application; `report` learns what is wrong with them.
    pub(crate) fn load(
        application: &Application,
        (files, backends): (&PackageFiles, &Backends),
        types: &PackageModels<'_>,
        report: &mut Report,
    ) -> Models {
        let mut by_name = BTreeMap::new();
        for found in evaluation_models(application, files, types, report) {
            match Model::load(&found, files, backends) {
                Ok(model) => _ = by_name.insert(found.name, Arc::new(model)),
                Err(text) => {
                    let place = stead_app::package::Place::file(&found.path);
                    report.error(&place, format!("model {} cannot be loaded: {text}", found.name));
                }
            }
        }
        let containers = &application.services.containers;
        let is_served = containers.iter().any(|container| container.model_evaluation.is_some());
        Models { by_name, is_served }
    }

    /// The names, in order.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.by_name.keys().map(String::as_str)
    }

    /// The networks, as a repository serves them.
    pub(crate) fn provided(&self) -> Vec<Provided> {
        let provided = |(name, model): (&String, &Arc<Model>)| {
            let (evaluate, threads) = model.network()?;
            let threads = threads.and_then(|threads| u32::try_from(threads).ok());
            let settings = ModelSettings { threads, ..ModelSettings::default() };
            Some(Provided { name: name.clone(), evaluate, settings })
        };
        self.by_name.iter().filter_map(provided).collect()
    }

    /// The model of a name, which may be written with other capitals where no other model is called so.
    fn get(&self, name: &str) -> Option<&Arc<Model>> {
        let same = |(known, _): &(&String, &Arc<Model>)| known.eq_ignore_ascii_case(name);
        let alike = || self.by_name.iter().find(same).map(|(_, model)| model);
        self.by_name.get(name).or_else(alike)
    }

    /// The same, as components ask for it.
    ///
    /// # Errors
    /// [`Code::NotFound`] with the names that there are.
    pub(crate) fn find(&self, name: &str) -> Result<&Arc<Model>, Error> {
        self.get(name).ok_or_else(|| {
            let shown = choice::short(name);
            let known: Vec<&str> = self.names().collect();
            let text = match known.is_empty() {
                true => format!(
                    "no model named '{shown}': the application serves none; they are files in models/ where services.xml has model-evaluation"
                ),
                false => format!(
                    "no model named '{shown}'. Available models: {}",
                    known.join(", ")
                ),
            };
            Error::new(Code::NotFound, text)
        })
    }
}
