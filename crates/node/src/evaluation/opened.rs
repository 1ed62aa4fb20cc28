//! Models that components bring as bytes: each is there once, for all interpreters.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use stead_tensor::{DType, Precision, Tensor};

use super::Model;
use crate::{Code, Error};

/// What the name of such a model begins with.
const PREFIX: &str = "sha256:";

/// The most models that components of an application open: more are made up as it runs.
const MAX_OPENED: usize = 256;

/// The models that are open, by the digests of their bytes.
#[derive(Default)]
pub(crate) struct Opened(Mutex<HashMap<String, Entry>>);

/// Files of external data, by their locations from the folder of the model.
pub(crate) type ExternalFiles = HashMap<String, Tensor>;

enum Entry {
    Open(Arc<Model>),
    /// Bytes of a model that is none without these files.
    Needs(Vec<String>),
}

/// What is known of a digest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Known {
    /// The name of the open model.
    Open(String),
    /// The locations of its files of external data, with which it has another digest.
    Needs(Vec<String>),
}

impl Opened {
    /// The model that such a name stands for; nothing for other names.
    ///
    /// # Errors
    /// [`Code::NotFound`] for one that nobody has opened.
    pub(crate) fn find(&self, name: &str) -> Option<Result<Arc<Model>, Error>> {
        let digest = name.strip_prefix(PREFIX)?;
        let open = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Some(match open.get(digest) {
            Some(Entry::Open(model)) => Ok(Arc::clone(model)),
            _ => Err(Error::new(Code::NotFound, format!("no model {name} is open"))),
        })
    }

    /// What is known of a digest; nothing where nobody has sent the bytes.
    pub(crate) fn known(&self, digest: &str) -> Option<Known> {
        let open = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        open.get(digest).map(|entry| entry.known(digest))
    }

    /// Opens a model, or tells which files it needs, unless these are given.
    ///
    /// # Errors
    /// [`Code::InvalidArgument`] of bytes that are no model, and of external data that is missing or lies outside of the model's
    /// folder; [`Code::ResourceExhausted`].
    pub(crate) fn open(
        &self,
        digest: &str,
        bytes: &Tensor,
        files: Option<&ExternalFiles>,
    ) -> Result<Known, Error> {
        let invalid = |text: &str| Error::new(Code::InvalidArgument, text.to_owned());
        let is_digest = digest.len() == 64 && digest.bytes().all(|b| b.is_ascii_hexdigit());
        if !is_digest || bytes.dtype() != DType::U8 {
            return Err(invalid("a model is opened by its sha256 and its bytes"));
        }
        // While it is loaded, others who want it wait for it instead of loading it too.
        let mut open = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(entry) = open.get(digest) {
            return Ok(entry.known(digest));
        }
        if open.len() >= MAX_OPENED {
            let text = format!("more than {MAX_OPENED} models are opened by components");
            return Err(Error::new(Code::ResourceExhausted, text));
        }
        let name = format!("{PREFIX}{}", digest.get(..8).unwrap_or(digest));
        let wrong = |text: String| invalid(&format!("the model cannot be loaded: {text}"));
        let entry = match files {
            Some(files) => Entry::load(name, bytes, files).map_err(wrong)?,
            None => {
                let needed = needed(bytes).map_err(wrong)?;
                match needed.is_empty() {
                    true => Entry::load(name, bytes, &ExternalFiles::new()).map_err(wrong)?,
                    false => Entry::Needs(needed),
                }
            }
        };
        let known = entry.known(digest);
        open.insert(digest.to_owned(), entry);
        Ok(known)
    }
}

impl Entry {
    fn load(name: String, bytes: &Tensor, files: &ExternalFiles) -> Result<Entry, String> {
        let beside = |location: &str| match files.get(location) {
            Some(file) => Ok(file.bytes().to_vec()),
            None => Err("it is not beside the model".to_owned()),
        };
        let model = Model::of_network(name, bytes.bytes(), &beside, (None, Precision::F32))?;
        Ok(Entry::Open(Arc::new(model)))
    }

    fn known(&self, digest: &str) -> Known {
        match self {
            Entry::Open(_) => Known::Open(format!("{PREFIX}{digest}")),
            Entry::Needs(files) => Known::Needs(files.clone()),
        }
    }
}

/// The files of external data of a model, each once.
fn needed(bytes: &Tensor) -> Result<Vec<String>, String> {
    let limits = stead_onnx::Limits::default();
    stead_onnx::external_files(bytes.bytes(), &limits).map_err(|error| error.to_string())
}
