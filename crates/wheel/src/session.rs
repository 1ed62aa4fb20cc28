//! A model that Python runs.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyList};
use stead_engine::{
    Dim, Elements, Form, IoSpec, LoadOptions, Model, OwnedOutput, Parallel, PassChoice, RunContext,
    RunError, Serial, SessionOptions, Value,
};

use crate::errors::{self, Kind};
use crate::threads::{self, Lent};
use crate::{arrays, feeds, maps, types};

/// Ends runs that look at it.
#[pyclass(frozen, module = "stead._engine")]
#[derive(Default)]
pub(crate) struct Stop(AtomicBool);

#[pymethods]
impl Stop {
    #[new]
    fn new() -> Stop {
        Stop::default()
    }

    fn get(&self) -> bool {
        self.0.load(Relaxed)
    }

    fn set(&self, value: bool) {
        self.0.store(value, Relaxed);
    }
}

/// A session of the engine. `stead.inference.InferenceSession` is its face.
#[pyclass(frozen, module = "stead._engine")]
pub(crate) struct Session {
    session: stead_engine::Session,
    /// Positions by name.
    inputs: HashMap<String, usize>,
    outputs: HashMap<String, usize>,
    /// Whether some input or output is a sequence, an optional or a map.
    lists: bool,
    /// The most threads of a run.
    threads: usize,
}

#[pymethods]
impl Session {
    /// Loads the model of a file of any format, or of bytes of ONNX with external data in `folder`. `level` is 0 for the graph of the file, 1 for
    /// passes that only leave out work and 2 for all; `threads` the most that a run uses, 0 for all cores.
    #[new]
    #[pyo3(signature = (path, bytes, folder, level, threads))]
    fn new(
        py: Python<'_>,
        path: Option<PathBuf>,
        bytes: Option<&[u8]>,
        folder: Option<PathBuf>,
        level: u8,
        threads: usize,
    ) -> PyResult<Session> {
        let passes = match level {
            0 => PassChoice::None,
            1 => PassChoice::Basic,
            _ => PassChoice::All,
        };
        let load = LoadOptions { passes, lists: true, ..LoadOptions::default() };
        let options = SessionOptions { outputs_apart: true, ..SessionOptions::default() };
        let read = py.detach(|| path.as_ref().map(|path| stead_formats::read(path, &load.limits)));
        let read = read.transpose().map_err(|e| errors::read(py, e))?;
        let made = py.detach(|| {
            let model = match read {
                Some(model) => Model::from_onnx(model, &load),
                None => Model::from_bytes(bytes.unwrap_or_default(), folder.as_deref(), &load),
            };
            stead_engine::Session::new(model?, &options)
        });
        let session = made.map_err(|e| errors::load(py, &e))?;
        let positions = |specs: &[IoSpec]| {
            specs.iter().enumerate().map(|(at, spec)| (spec.name.clone(), at)).collect()
        };
        let (inputs, outputs) =
            (positions(session.model().inputs()), positions(session.model().outputs()));
        let threads = if threads == 0 { usize::MAX } else { threads };
        let model = session.model();
        let lists = (0..model.inputs().len()).any(|at| model.input_form(at) != Form::Tensor)
            || (0..model.outputs().len()).any(|at| model.output_form(at) != Form::Tensor);
        Ok(Session { session, inputs, outputs, lists, threads })
    }

    /// Name, type, dimensions (numbers, symbols, `None`) and whether it may be absent, of each input.
    fn inputs(&self, py: Python<'_>) -> PyResult<Py<PyList>> {
        let model = self.session.model();
        described(py, model.inputs(), |at| model.input_form(at))
    }

    /// The same of each output.
    fn outputs(&self, py: Python<'_>) -> PyResult<Py<PyList>> {
        let model = self.session.model();
        described(py, model.outputs(), |at| model.output_form(at))
    }

    /// What the file says about itself.
    fn meta(&self, py: Python<'_>) -> PyResult<Py<PyDict>> {
        let info = self.session.model().info();
        let meta = PyDict::new(py);
        meta.set_item("producer_name", &info.producer)?;
        meta.set_item("graph_name", &info.graph_name)?;
        meta.set_item("domain", &info.domain)?;
        meta.set_item("description", &info.description)?;
        meta.set_item("graph_description", &info.graph_description)?;
        meta.set_item("version", info.version)?;
        meta.set_item(
            "custom_metadata_map",
            info.metadata.iter().cloned().collect::<HashMap<_, _>>(),
        )?;
        Ok(meta.unbind())
    }

    /// The instruction set that kernels use.
    fn isa(&self) -> String {
        format!("{:?}", self.session.isa()).to_lowercase()
    }

    /// Runs on `feeds`, a value for each input by its name, and gives the outputs of these names, or all.
    #[pyo3(signature = (outputs, feeds, stop))]
    fn run<'py>(
        &self,
        py: Python<'py>,
        outputs: Option<Vec<String>>,
        feeds: &Bound<'py, PyDict>,
        stop: Option<&Bound<'py, Stop>>,
    ) -> PyResult<Bound<'py, PyList>> {
        self.check_names(py, feeds)?;
        let wanted = self.wanted(py, outputs)?;
        let stop = stop.map(Bound::get);
        let ran = match self.lists {
            true => self.run_values(py, feeds, stop, &wanted)?,
            false => self.run_tensors(py, feeds, stop, &wanted)?,
        };
        let results = PyList::empty(py);
        for output in ran.map_err(|e| errors::run(py, &e))? {
            match output {
                Value::Tensor(tensor) => results.append(handed_over(py, tensor)?)?,
                Value::Nothing => results.append(py.None())?,
                Value::Sequence(elements) => {
                    let list = PyList::empty(py);
                    for element in elements {
                        list.append(handed_over(py, element)?)?;
                    }
                    results.append(list)?;
                }
                Value::Map { keys, values } => {
                    let (keys, values) = (handed_over(py, keys)?, handed_over(py, values)?);
                    results.append(maps::dict(&keys, &values)?)?;
                }
                Value::Maps { keys, values } => {
                    let (keys, values) = (handed_over(py, keys)?, handed_over(py, values)?);
                    results.append(maps::list_of_dicts(&keys, &values)?)?;
                }
            }
        }
        Ok(results)
    }
}

/// What a run came to.
type Ran = Result<Vec<Value<OwnedOutput>>, RunError>;

impl Session {
    /// Runs a model all of whose inputs and outputs are tensors.
    fn run_tensors<'py>(
        &self,
        py: Python<'py>,
        feeds: &Bound<'py, PyDict>,
        stop: Option<&Stop>,
        wanted: &[usize],
    ) -> PyResult<Ran> {
        let specs = self.session.model().inputs();
        let mut held: Vec<Option<feeds::Held<'py>>> = Vec::new();
        held.resize_with(specs.len(), || None);
        for (name, value) in feeds.iter() {
            let name: String = name.extract()?;
            if let Some(&at) = self.inputs.get(&name)
                && !value.is_none()
            {
                held[at] = Some(feeds::hold(&value, &specs[at])?);
            }
        }
        let views = held
            .iter()
            .zip(specs)
            .map(|(held, spec)| held.as_ref().map(|held| held.view(spec, py)).transpose());
        let views = views.collect::<PyResult<Vec<_>>>()?;
        Ok(self.detached(py, stop, |cx| {
            let outputs = self.session.run_owned(&views, cx, wanted)?;
            Ok(outputs.into_iter().map(Value::Tensor).collect())
        }))
    }

    /// Runs a model with sequences, which Python has as lists, optionals, for which None says that there is nothing, and maps,
    /// which Python has as dicts.
    fn run_values<'py>(
        &self,
        py: Python<'py>,
        feeds: &Bound<'py, PyDict>,
        stop: Option<&Stop>,
        wanted: &[usize],
    ) -> PyResult<Ran> {
        let model = self.session.model();
        let mut held: Vec<Value<feeds::Held<'py>>> = Vec::with_capacity(model.inputs().len());
        for (at, spec) in model.inputs().iter().enumerate() {
            let value = feeds.get_item(&spec.name)?.filter(|value| !value.is_none());
            let form = model.input_form(at);
            let is_sequence = form.present() == Form::Sequence;
            held.push(match value {
                None => Value::Nothing,
                Some(value) if is_sequence => {
                    let elements = value.try_iter()?.map(|element| feeds::hold(&element?, spec));
                    Value::Sequence(elements.collect::<PyResult<_>>()?)
                }
                Some(value) => match form.key() {
                    Some(key) => maps::hold(&value, spec, key)?,
                    None => Value::Tensor(feeds::hold(&value, spec)?),
                },
            });
        }
        let views = held.iter().zip(model.inputs()).enumerate();
        let views = views.map(|(at, (held, spec))| match (held, model.input_form(at).key()) {
            (Value::Map { keys, values }, Some(key)) => {
                let keys = keys.view(&maps::keys_of(spec, key), py)?;
                Ok(Value::Map { keys, values: values.view(spec, py)? })
            }
            (held, _) => held.map(|held| held).try_map(|held| held.view(spec, py)),
        });
        let views = views.collect::<PyResult<Vec<_>>>()?;
        Ok(self.detached(py, stop, |cx| self.session.run_values(&views, cx, wanted)))
    }

    /// Runs while other threads of Python go on.
    fn detached(
        &self,
        py: Python<'_>,
        stop: Option<&Stop>,
        run: impl FnOnce(&RunContext<'_>) -> Ran + Send,
    ) -> Ran {
        let cancelled = || stop.is_some_and(Stop::get);
        py.detach(|| {
            let pool = if self.threads > 1 { threads::pool() } else { None };
            let lent = pool.as_ref().map(|pool| Lent(pool.team(self.threads)));
            let parallel: &dyn Parallel = match &lent {
                Some(lent) => lent,
                None => &Serial,
            };
            let cx = RunContext {
                parallel,
                cancelled: stop.is_some().then_some(&cancelled),
                ..RunContext::default()
            };
            run(&cx)
        })
    }

    /// Refuses names that are no inputs, and sets of names without those that the model needs.
    fn check_names(&self, py: Python<'_>, feeds: &Bound<'_, PyDict>) -> PyResult<()> {
        let model = self.session.model();
        let mut missing = Vec::new();
        for (at, spec) in model.inputs().iter().enumerate() {
            let form = model.input_form(at);
            if !spec.optional && form == form.present() && !feeds.contains(&spec.name)? {
                missing.push(&spec.name);
            }
        }
        if !missing.is_empty() {
            return Err(PyValueError::new_err(format!(
                "Required inputs ({}) are missing from input feed ({}).",
                PyList::new(py, missing)?.repr()?,
                feeds.keys().repr()?
            )));
        }
        for name in feeds.keys() {
            let name: String = name.extract()?;
            if !self.inputs.contains_key(&name) {
                return Err(Kind::InvalidArgument.error(py, format!("Invalid input name: {name}")));
            }
        }
        Ok(())
    }

    /// The positions of the outputs that are asked for; all of them for none.
    fn wanted(&self, py: Python<'_>, names: Option<Vec<String>>) -> PyResult<Vec<usize>> {
        let names = names.unwrap_or_default();
        if names.is_empty() {
            return Ok((0..self.session.model().outputs().len()).collect());
        }
        let find = |name: &String| {
            let unknown = || Kind::InvalidArgument.error(py, format!("Invalid output name:{name}"));
            self.outputs.get(name).copied().ok_or_else(unknown)
        };
        names.iter().map(find).collect()
    }
}

fn described(
    py: Python<'_>,
    specs: &[IoSpec],
    form: impl Fn(usize) -> Form,
) -> PyResult<Py<PyList>> {
    let list = PyList::empty(py);
    for (at, spec) in specs.iter().enumerate() {
        let dims = PyList::empty(py);
        for dim in spec.dims.iter().flatten() {
            match dim {
                Dim::Known(n) => dims.append(n)?,
                Dim::Symbol(symbol) => dims.append(symbol)?,
                Dim::Unknown => dims.append(py.None())?,
            }
        }
        let name = types::onnx_name(spec.dtype);
        let kind = match form(at) {
            Form::Tensor => format!("tensor({name})"),
            Form::Sequence => format!("seq(tensor({name}))"),
            Form::OptionalTensor => format!("optional(tensor({name}))"),
            Form::OptionalSequence => format!("optional(seq(tensor({name})))"),
            Form::MapByInt => format!("map(int64,tensor({name}))"),
            Form::MapByString => format!("map(string,tensor({name}))"),
            Form::MapsByInt => format!("seq(map(int64,tensor({name})))"),
            Form::MapsByString => format!("seq(map(string,tensor({name})))"),
        };
        list.append((&spec.name, kind, dims, spec.optional))?;
    }
    Ok(list.unbind())
}

/// An output as an array: over its own memory, or of texts.
fn handed_over(py: Python<'_>, output: OwnedOutput) -> PyResult<Bound<'_, PyAny>> {
    static FETCH: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let fetch = |data: Bound<'_, PyAny>, dims: &[usize]| {
        let fetch = FETCH.get_or_try_init(py, || {
            Ok::<_, PyErr>(py.import("stead.inference.convert")?.getattr("fetch")?.unbind())
        })?;
        Ok(fetch.bind(py).call1((data, types::onnx_name(output.dtype), dims))?.unbind())
    };
    let dims: &[usize] = &output.shape;
    match output.elements {
        Elements::Strings(strings) => {
            let list = PyList::empty(py);
            for string in strings {
                let text = String::from_utf8(string);
                list.append(text.map_err(|e| PyRuntimeError::new_err(e.to_string()))?)?;
            }
            fetch(list.into_any(), dims).map(|array: Py<PyAny>| array.into_bound(py))
        }
        Elements::Bytes(buf) => {
            let (descr, is_same) = types::to_numpy(py, output.dtype);
            if is_same {
                return arrays::array_over(py, descr, dims, buf);
            }
            let lies = [output.dtype.byte_len(output.shape.elements()).unwrap_or(0)];
            let dims_of_bytes = if output.dtype.size() == 0 { &lies[..] } else { dims };
            let array = arrays::array_over(py, descr, dims_of_bytes, buf)?;
            fetch(array, dims).map(|array: Py<PyAny>| array.into_bound(py))
        }
    }
}
