//! What components may ask of the server while they run.

use std::sync::Arc;

use stead_python::{Deadline, Host, HostCall, HostCode, HostError, Value as Plain, numpy_name};
use stead_tensor::{DType, Tensor};

use super::plain::array::{array, read_array};
use super::plain::tensor::{read_tensor, tensor};
use super::plain::{PlainError, dict, is_tensor};
use crate::evaluation::{
    Compute, Datum, ExternalFiles, Known, Model, Models, Opened, Port, Running,
};
use crate::{Code, Error};

/// What the components of one application may ask: the models that it has and those that they open.
pub(crate) struct ServerHost {
    models: Arc<Models>,
    opened: Opened,
    compute: Arc<Compute>,
}

impl ServerHost {
    pub(crate) fn new(models: Arc<Models>, compute: Arc<Compute>) -> Arc<ServerHost> {
        Arc::new(ServerHost { models, opened: Opened::default(), compute })
    }

    /// Whether the application has a model of a name.
    pub(super) fn has_model(&self, name: &str) -> bool {
        self.models.find(name).is_ok()
    }

    /// A model of the application.
    ///
    /// # Errors
    /// [`Code::NotFound`] with the names that there are.
    pub(super) fn find(&self, name: &str) -> Result<Arc<Model>, Error> {
        self.models.find(name).cloned()
    }

    /// Computes outputs of a model of the application, all where none is named.
    ///
    /// # Errors
    /// As [`Model::evaluate`]; [`Code::NotFound`].
    pub(super) fn run(
        &self,
        name: &str,
        inputs: Vec<(String, Datum)>,
        wanted: &[String],
        deadline: Deadline,
    ) -> Result<Vec<(String, Datum)>, Error> {
        let cancelled = || deadline.is_over();
        let running = Running { compute: &self.compute, cancelled: &cancelled };
        self.find(name)?.evaluate(inputs, wanted, &running)
    }

    fn model(&self, name: &str) -> Result<Arc<Model>, HostError> {
        let found = self.opened.find(name).unwrap_or_else(|| self.models.find(name).cloned());
        found.map_err(|error| refused(&error))
    }

    fn evaluate(&self, call: &HostCall, arguments: [Plain; 3]) -> Result<Plain, HostError> {
        let [Plain::Str(name), Plain::Dict(inputs), Plain::List(wanted)] = arguments else {
            return Err(misused(call, "a name, a dict of inputs and a list of outputs"));
        };
        let model = self.model(&name)?;
        let mut given = Vec::with_capacity(inputs.len());
        for (input, value) in inputs {
            let wrong = |error: PlainError| {
                let text = format!("model {name} cannot take the input {input}: {error}");
                HostError::new(HostCode::Invalid, text)
            };
            let datum = match is_tensor(&value) {
                true => read_tensor(value).map(Datum::Value),
                false => read_array(value).map(Datum::Array),
            };
            given.push((input.clone(), datum.map_err(wrong)?));
        }
        let wanted: Option<Vec<String>> = wanted.into_iter().map(text).collect();
        let wanted = wanted.ok_or_else(|| misused(call, "names of outputs"))?;
        let cancelled = || call.deadline.is_over();
        let running = Running { compute: &self.compute, cancelled: &cancelled };
        let found = model.evaluate(given, &wanted, &running).map_err(|error| refused(&error))?;
        let mut outputs = Vec::with_capacity(found.len());
        for (output, datum) in found {
            let value = match datum {
                Datum::Array(found) => array(found),
                Datum::Value(value) => tensor(&value),
            };
            let wrong = |error: PlainError| {
                let text = format!("the output {output} of model {name}: {error}");
                HostError::new(HostCode::Invalid, text)
            };
            outputs.push((output.clone(), value.map_err(wrong)?));
        }
        Ok(Plain::Dict(outputs))
    }

    /// Opens a model by its digest: what it is called from then on; nothing where its bytes are wanted, or which files of external
    /// data. With these it is another model, and the digest one of all of them.
    fn open(&self, call: &HostCall, mut arguments: Vec<Plain>) -> Result<Plain, HostError> {
        let wrong = || misused(call, "a digest, bytes or None, and files of external data");
        let files = match arguments.len() {
            3 => match arguments.pop() {
                Some(Plain::Dict(files)) => Some(external(files).ok_or_else(wrong)?),
                _ => return Err(wrong()),
            },
            _ => None,
        };
        let opened = match taken(call, arguments)? {
            [Plain::Str(digest), Plain::None] => self.opened.known(&digest),
            [Plain::Str(digest), Plain::Tensor(bytes)] => {
                let opened = self.opened.open(&digest, &bytes, files.as_ref());
                Some(opened.map_err(|error| refused(&error))?)
            }
            _ => return Err(wrong()),
        };
        Ok(match opened {
            None => Plain::None,
            Some(Known::Open(name)) => Plain::Str(name),
            Some(Known::Needs(files)) => {
                dict([("needs", Plain::List(files.into_iter().map(Plain::from).collect()))])
            }
        })
    }
}

/// Files by their locations; an empty one is no array.
fn external(files: Vec<(String, Plain)>) -> Option<ExternalFiles> {
    let file = |(location, content): (String, Plain)| match content {
        Plain::Tensor(content) if content.dtype() == DType::U8 => Some((location, content)),
        Plain::Bytes(content) => {
            Some((location, Tensor::from_slice(&content, &[content.len()]).ok()?))
        }
        _ => None,
    };
    files.into_iter().map(file).collect()
}

impl Host for ServerHost {
    fn call(&self, mut call: HostCall) -> Result<Plain, HostError> {
        let arguments = std::mem::take(&mut call.arguments);
        match call.name.as_str() {
            "models.list" => {
                let [] = taken(&call, arguments)?;
                Ok(Plain::List(self.models.names().map(Plain::from).collect()))
            }
            "models.describe" => match taken(&call, arguments)? {
                [Plain::Str(name)] => Ok(described(&*self.model(&name)?)),
                _ => Err(misused(&call, "a name")),
            },
            "models.evaluate" => self.evaluate(&call, taken(&call, arguments)?),
            "models.open" => self.open(&call, arguments),
            other => {
                let text = format!("there is no {other} to ask of stead here");
                Err(HostError::new(HostCode::NotFound, text))
            }
        }
    }
}

/// What a model takes and gives.
fn described(model: &Model) -> Plain {
    let port = |port: &Port| {
        let shape = port.shape.iter().map(|size| Plain::Int(*size)).collect();
        let mut members = vec![
            ("name".to_owned(), port.name.as_str().into()),
            ("dtype".to_owned(), dtype_name(port.dtype).into()),
            ("shape".to_owned(), Plain::List(shape)),
        ];
        if let Some(kind) = &port.kind {
            members.push(("type".to_owned(), kind.to_string().into()));
        }
        Plain::Dict(members)
    };
    let list = |ports: &[Port]| Plain::List(ports.iter().map(port).collect());
    dict([("inputs", list(model.inputs())), ("outputs", list(model.outputs()))])
}

/// The name in Python of a type of elements.
pub(super) fn dtype_name(dtype: DType) -> &'static str {
    match dtype {
        DType::BF16 => "bfloat16",
        other => numpy_name(other).unwrap_or(other.name()),
    }
}

/// As many arguments as a question has.
fn taken<const N: usize>(call: &HostCall, arguments: Vec<Plain>) -> Result<[Plain; N], HostError> {
    let found = arguments.len();
    arguments.try_into().map_err(|_| misused(call, &format!("{N} arguments and not {found}")))
}

pub(super) fn misused(call: &HostCall, expected: &str) -> HostError {
    HostError::new(HostCode::Invalid, format!("{} takes {expected}", call.name))
}

pub(super) fn text(value: Plain) -> Option<String> {
    match value {
        Plain::Str(text) => Some(text),
        _ => None,
    }
}

/// An error as the code sees it.
pub(super) fn refused(error: &Error) -> HostError {
    let code = match error.code {
        Code::NotFound => HostCode::NotFound,
        Code::InvalidArgument => HostCode::Invalid,
        Code::DeadlineExceeded => HostCode::Deadline,
        Code::ResourceExhausted | Code::Overloaded | Code::Unavailable => HostCode::Unavailable,
        _ => HostCode::Internal,
    };
    HostError::new(code, error.to_string())
}
