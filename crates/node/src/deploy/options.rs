//! How applications are deployed.

use std::sync::Arc;

use stead_engine::{Backend, Backends};
use stead_pool::Cores;

use super::DocumentOptions;
use crate::components::native::NativeComponents;
use crate::components::{ComponentMeters, Pools, PythonSettings, Store};
use crate::embedders::EmbedderMeters;
use crate::evaluation::Compute;
use crate::foreign::discreet;

/// What runs components.
#[derive(Default)]
pub(crate) struct Python {
    pub(crate) pools: Pools,
    pub(crate) meters: ComponentMeters,
    /// What is measured of embedders, which are no calls of components alone.
    pub(crate) embedder_meters: EmbedderMeters,
    /// What evaluates the models that they ask for.
    pub(crate) compute: Arc<Compute>,
    /// Those that the program brings.
    pub(crate) native: NativeComponents,
    /// What evaluates the models that name a runtime of their own.
    pub(crate) backends: Backends,
}

/// How applications are deployed.
#[derive(Clone, Default)]
pub struct DeployOptions {
    /// How their documents are kept.
    pub documents: DocumentOptions,
    /// Which Python runs their components.
    pub python: PythonSettings,
    /// Components that the program brings, which packages name by `native`.
    pub native: NativeComponents,
    /// Other runtimes, which models of packages name by `backend`.
    pub backends: Vec<Arc<dyn Backend>>,
}

impl From<DocumentOptions> for DeployOptions {
    fn from(documents: DocumentOptions) -> DeployOptions {
        DeployOptions { documents, ..DeployOptions::default() }
    }
}

impl DeployOptions {
    /// What runs components, whose packages are kept in `store`.
    pub(super) fn python(&self, store: Store) -> Arc<Python> {
        let pools = Pools::new(self.python.clone(), store);
        let (native, backends) = (self.native.clone(), discreet(&self.backends));
        // More runs than cores at a time would only wait for each other.
        let backends = Backends::new(backends, Cores::of_this_process().workers());
        Arc::new(Python { pools, native, backends, ..Python::default() })
    }
}
