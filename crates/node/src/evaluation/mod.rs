//! Models that are evaluated for whoever asks, beside documents: those of `model-evaluation` of an application, and those that its
//! components open.
//!
//! A run is on the thread that asks, and idle threads of the pool help.

mod compute;
mod function;
mod model;
mod network;
mod opened;
mod port;

pub(crate) use compute::Compute;
pub(crate) use model::{Datum, Model, Running};
pub(crate) use opened::Opened;
pub(crate) use port::Port;

use std::collections::BTreeMap;
use std::sync::Arc;

use stead_app::application::rank::PackageModels;
use stead_app::application::{Application, evaluation_models};
use stead_app::package::{PackageFiles, Report};

use crate::{Code, Error};

/// The models of an application, by their names.
#[derive(Default)]
pub(crate) struct Models {
    by_name: BTreeMap<String, Arc<Model>>,
}

impl Models {
    /// Loads the models of an application; `report` learns what is wrong with them.
    pub(crate) fn load(
        application: &Application,
        files: &PackageFiles,
        types: &PackageModels<'_>,
        report: &mut Report,
    ) -> Models {
        let mut by_name = BTreeMap::new();
        for found in evaluation_models(application, files, types, report) {
            match Model::load(&found, files) {
                Ok(model) => _ = by_name.insert(found.name, Arc::new(model)),
                Err(text) => {
                    let place = stead_app::package::Place::file(&found.path);
                    report.error(&place, format!("model {} cannot be loaded: {text}", found.name));
                }
            }
        }
        Models { by_name }
    }

    /// The names, in order.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.by_name.keys().map(String::as_str)
    }

    /// The model of a name, which may be written with other capitals where no other model is called so.
    ///
    /// # Errors
    /// [`Code::NotFound`] with the names that there are.
    pub(crate) fn find(&self, name: &str) -> Result<&Arc<Model>, Error> {
        let same = |(known, _): &(&String, &Arc<Model>)| known.eq_ignore_ascii_case(name);
        let alike = || self.by_name.iter().find(same).map(|(_, model)| model);
        self.by_name.get(name).or_else(alike).ok_or_else(|| {
            let shown: String = name.chars().take(100).collect();
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
