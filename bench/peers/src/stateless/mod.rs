//! ONNX Runtime doing what stead does without stored state: [embedding texts](embed), and answering requests [behind
//! HTTP](front).

pub mod embed;
pub mod front;

use std::path::Path;

use ort::session::Session;

use crate::{Result, variable};

/// Sessions of a model, whose runs take so many threads each; as many as ONNX Runtime takes by itself when none are given.
fn sessions(model: &Path, count: usize, threads: Option<usize>) -> Result<Vec<Session>> {
    let env = ort::init_from(variable("ORT_DYLIB_PATH")?)?.build()?;
    let session = |_| {
        let mut builder = Session::builder(&env)?;
        if let Some(threads) = threads {
            builder = builder.with_intra_threads(threads).map_err(|e| e.to_string())?;
            builder = builder.with_inter_threads(1).map_err(|e| e.to_string())?;
        }
        Ok(builder.commit_from_file(model)?)
    };
    (0..count.max(1)).map(session).collect()
}
