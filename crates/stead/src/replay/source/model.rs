//! A model of a server with random inputs.

use serde_json::json;
use tokio::runtime::Builder;

use super::Source;
use crate::failure::Failure;
use crate::load::signals::{RawTensor, Signals};
use crate::load::{Protocol, describe, grpc, http};
use crate::replay::send::Request;

/// Requests with seeded random values in the shapes of the model's metadata, and what the command line says of inputs.
///
/// # Errors
/// No such model, and inputs that do not fit it.
pub fn requests(source: &Source<'_>, model: &str) -> Result<Vec<Request>, Failure> {
    let Source { target, inputs, .. } = source;
    let described = match source.protocol {
        Protocol::Http => describe::over_http(target, model)?,
        _ => {
            let runtime = Builder::new_current_thread().enable_all().build();
            runtime.map_err(Failure::failed)?.block_on(describe::over_grpc(target, model))?
        }
    };
    let (specs, dims) = (inputs.specs()?, inputs.dims()?);
    let signals = Signals::new(&described.inputs, &specs, &[], &dims, inputs.seed)?;
    let frames = (0..).map_while(|number| signals.frame(number));
    let request = |raw: Vec<&RawTensor>| match source.protocol {
        Protocol::Http => {
            let parameters = json!({"binary_data_output": true});
            let mut request =
                http::infer(target, model, &raw, &parameters).map_err(Failure::failed)?;
            for (name, value) in &source.args.headers {
                request.headers_mut().insert(name.clone(), value.clone());
            }
            Ok(Request::Http(Box::new(request)))
        }
        _ => Ok(Request::Grpc(Box::new(grpc::infer(model, &raw)))),
    };
    frames.map(|frame| request(frame.raw.iter().collect())).collect()
}
