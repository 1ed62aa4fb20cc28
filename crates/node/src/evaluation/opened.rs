//! Models that components bring as bytes: each is there once, for all interpreters.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use stead_tensor::{DType, Tensor};

use super::Model;
use crate::{Code, Error};

/// What the name of such a model begins with.
const PREFIX: &str = "sha256:";

/// The most models that components of an application open: more are made up as it runs.
const MAX_OPENED: usize = 256;

/// The models that are open, by the digests of their bytes.
#[derive(Default)]
pub(crate) struct Opened(Mutex<HashMap<String, Arc<Model>>>);

impl Opened {
    /// The model that such a name stands for; nothing for other names.
    ///
    /// # Errors
    /// [`Code::NotFound`] for one that nobody has opened.
    pub(crate) fn find(&self, name: &str) -> Option<Result<Arc<Model>, Error>> {
        let digest = name.strip_prefix(PREFIX)?;
        let open = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let unknown = || Error::new(Code::NotFound, format!("no model {name} is open"));
        Some(open.get(digest).cloned().ok_or_else(unknown))
    }

    /// The name of the model with this digest, if it is open.
    pub(crate) fn name(&self, digest: &str) -> Option<String> {
        let open = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        open.contains_key(digest).then(|| format!("{PREFIX}{digest}"))
    }

    /// Opens a model, and gives its name.
    ///
    /// # Errors
    /// [`Code::InvalidArgument`] of bytes that are no model.
    pub(crate) fn open(&self, digest: &str, bytes: &Tensor) -> Result<String, Error> {
        let invalid = |text: &str| Error::new(Code::InvalidArgument, text.to_owned());
        let is_digest = digest.len() == 64 && digest.bytes().all(|b| b.is_ascii_hexdigit());
        if !is_digest || bytes.dtype() != DType::U8 {
            return Err(invalid("a model is opened by its sha256 and its bytes"));
        }
        // While it is loaded, others who want it wait for it instead of loading it too.
        let mut open = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !open.contains_key(digest) {
            if open.len() >= MAX_OPENED {
                let text = format!("more than {MAX_OPENED} models are opened by components");
                return Err(Error::new(Code::ResourceExhausted, text));
            }
            let beside = |location: &str| {
                Err(format!("its external data {location} is not read; store it in the model"))
            };
            let name = format!("{PREFIX}{}", digest.get(..8).unwrap_or(digest));
            let model = Model::of_network(name, bytes.bytes(), &beside, None)
                .map_err(|text| invalid(&format!("the model cannot be loaded: {text}")))?;
            open.insert(digest.to_owned(), Arc::new(model));
        }
        Ok(format!("{PREFIX}{digest}"))
    }
}
