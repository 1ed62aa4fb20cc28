//! Networks that another runtime computes. Nothing is known of their nodes: each document has a run to itself, and nothing of it is
//! computed once for a query or kept.

use stead_app::application::OnnxModel;
use stead_app::application::rank::{ModelInput, ModelOptions, ModelOutput};
use stead_engine::{Backends, Runnable};

use super::stack::{self, Stacking};
use super::threads::Threads;
use super::{ModelBytes, Network, places, ports};

impl Network {
    /// Loads a network in the runtime that its package names.
    ///
    /// # Errors
    /// In words, which name the runtime.
    pub(in crate::models) fn load_other(
        (name, model): (&str, &OnnxModel),
        file: ModelBytes<'_>,
        inputs: &[ModelInput],
        outputs: &[ModelOutput],
        options: ModelOptions,
        backends: &Backends,
    ) -> Result<Network, String> {
        let backend = model.backend.name();
        let other = backends.load(backend, file.bytes, file.beside);
        let session = Runnable::Other(other.map_err(|e| format!("backend {backend}: {e}"))?);
        let ports = ports(session.inputs(), inputs)?;
        let rates: Vec<_> = inputs.iter().map(ModelInput::rate).collect();
        let feeds = stack::feeds(session.inputs(), &ports, &rates, (0, 0))?;
        let outputs = places(session.outputs(), outputs)?;
        Ok(Network {
            name: name.to_owned(),
            ports,
            query: None,
            halves: None,
            session,
            feeds,
            stacking: Stacking::One(format!("backend {backend} computes it")),
            lengths: None,
            outputs,
            is_rounded: options.is_rounded,
            threads: Threads::new(model),
        })
    }
}
