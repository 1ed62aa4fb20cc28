//! The models of an application, for components in Rust.

use std::sync::Arc;

use super::{Call, NativeError};
use crate::components::ServerHost;
use crate::evaluation::{Datum, Port};

/// The models that an application has by `model-evaluation`.
#[derive(Clone)]
pub struct Models(Arc<ServerHost>);

impl Models {
    pub(super) fn new(host: Arc<ServerHost>) -> Models {
        Models(host)
    }

    /// Computes the outputs of these names, all where none is named, in the order of the model. Elements are converted to those of the
    /// inputs where nothing is lost.
    ///
    /// # Errors
    /// Unknown models, inputs that do not fit, and runs that do not end in time.
    pub fn evaluate(
        &self,
        model: &str,
        inputs: Vec<(String, Datum)>,
        outputs: &[String],
        call: &Call,
    ) -> Result<Vec<(String, Datum)>, NativeError> {
        let found = self.0.run(model, inputs, outputs, call.deadline);
        // What does not fit is the fault of the package, not of who asks.
        found.map_err(|error| match NativeError::from(error) {
            NativeError::Invalid(text) => NativeError::Failed(text),
            other => other,
        })
    }

    /// What a model takes and gives.
    ///
    /// # Errors
    /// That there is no such model, with those that there are.
    pub(super) fn ports(&self, model: &str) -> Result<(Vec<Port>, Vec<Port>), String> {
        let model = self.0.find(model).map_err(|error| error.to_string())?;
        Ok((model.inputs().to_vec(), model.outputs().to_vec()))
    }
}
