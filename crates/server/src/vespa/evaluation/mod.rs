//! `/model-evaluation/v1`: the models of an application, and values of their functions
//! (facts: Vespa, `model-evaluation/src/main/java/ai/vespa/models/handler/ModelsEvaluationHandler.java`).

mod listed;
mod literal;
mod request;
mod shown;
mod target;

pub use request::Parameters;
pub use target::{Target, below};

use crate::fault::Fault;
use crate::handlers::authority;
use crate::http::{Body, LARGE, Reply, Shared, blocking, unknown_url};
use http::{Method, Uri};
use shown::Shown;
use stead_node::{Evaluated, Evaluation};

/// Answers what follows `/model-evaluation/v1` in a path, by GET or POST.
///
/// # Errors
/// Where no models are served, names that there are not, values that do not fit, and bodies that cannot be read.
pub async fn answer(
    shared: &Shared,
    method: &Method,
    rest: &str,
    uri: &Uri,
    body: Body,
) -> Result<Reply, Fault> {
    let models = shared.node.evaluations().ok_or_else(unknown_url)?;
    let target = Target::of(rest).ok_or_else(|| Fault::invalid("the path is not UTF-8"))?;
    let base = listed::base(body.scheme(), &authority(uri, body.headers()));
    let (model, function) = match target {
        Target::Models => return Reply::serialize(&listed::models(&models, &base)),
        Target::Model(model, function) if function.is_empty() => {
            let (name, functions) = models.model(&model)?;
            return Reply::serialize(&listed::model(name, functions, &base));
        }
        Target::Model(model, function) => {
            let (name, function) = models.function(&model, &function)?;
            return Reply::serialize(&listed::function(name, function, &base));
        }
        Target::Eval(model, function) => (model, function),
    };
    let parameters = Parameters::read(shared, method, body).await?;
    let shown = match parameters.format.as_deref() {
        Some(name) => Shown::from_name(name).ok_or_else(|| {
            let name: String = name.chars().take(100).collect();
            Fault::invalid(format!("Unknown tensor format '{name}'"))
        })?,
        None => Shown::default(),
    };
    let Parameters { inputs, missing, .. } = parameters;
    let found = shared.node.evaluate(Evaluation { model, function, inputs, missing }).await?;
    let size = match &found {
        Evaluated::Tensor(value) => value.cells().len(),
        Evaluated::Array(array) => array.shape().elements(),
    };
    // A cell is a few digits.
    let bytes = match size > LARGE / 8 {
        true => blocking(move || shown.bytes(&found)).await?,
        false => shown.bytes(&found),
    };
    Ok(Reply::json(bytes?))
}
