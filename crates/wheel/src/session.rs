//! A model that Python runs.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyList};
use stead_engine::{
    Dim, Elements, IoSpec, LoadOptions, Model, OwnedOutput, Parallel, PassChoice, RunContext,
    Serial, SessionOptions,
};

use crate::errors::{self, Kind};
use crate::threads::{self, Lent};
use crate::{arrays, feeds, types};

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
    /// The most threads of a run.
    threads: usize,
}

#[pymethods]
impl Session {
    /// Loads the model of a file, or of bytes with external data in `folder`. `level` is 0 for the graph of the file, 1 for
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
        let load = LoadOptions { passes, ..LoadOptions::default() };
        let options = SessionOptions { outputs_apart: true, ..SessionOptions::default() };
        let made = py.detach(|| {
            let model = match (&path, bytes) {
                (Some(path), _) => Model::load(path, &load),
                (None, bytes) => {
                    Model::from_bytes(bytes.unwrap_or_default(), folder.as_deref(), &load)
                }
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
        Ok(Session { session, inputs, outputs, threads })
    }

    /// Name, type, dimensions (numbers, symbols, `None`) and whether it may be absent, of each input.
    fn inputs(&self, py: Python<'_>) -> PyResult<Py<PyList>> {
        described(py, self.session.model().inputs())
    }

    /// The same of each output.
    fn outputs(&self, py: Python<'_>) -> PyResult<Py<PyList>> {
        described(py, self.session.model().outputs())
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
        let specs = self.session.model().inputs();
        let mut held: Vec<Option<feeds::Held<'py>>> = Vec::new();
        held.resize_with(specs.len(), || None);
        self.check_names(py, feeds)?;
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
        let wanted = self.wanted(py, outputs)?;
        let stop = stop.map(Bound::get);
        let cancelled = || stop.is_some_and(Stop::get);
        let ran = py.detach(|| {
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
            self.session.run_owned(&views, &cx, &wanted)
        });
        let outputs = ran.map_err(|e| errors::run(py, &e))?;
        let results = PyList::empty(py);
        for output in outputs {
            results.append(handed_over(py, output)?)?;
        }
        Ok(results)
    }
}

impl Session {
    /// Refuses names that are no inputs, and sets of names without those that the model needs.
    fn check_names(&self, py: Python<'_>, feeds: &Bound<'_, PyDict>) -> PyResult<()> {
        let specs = self.session.model().inputs();
        let mut missing = Vec::new();
        for spec in specs.iter().filter(|spec| !spec.optional) {
            if !feeds.contains(&spec.name)? {
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

fn described(py: Python<'_>, specs: &[IoSpec]) -> PyResult<Py<PyList>> {
    let list = PyList::empty(py);
    for spec in specs {
        let dims = PyList::empty(py);
        for dim in spec.dims.iter().flatten() {
            match dim {
                Dim::Known(n) => dims.append(n)?,
                Dim::Symbol(symbol) => dims.append(symbol)?,
                Dim::Unknown => dims.append(py.None())?,
            }
        }
        let kind = format!("tensor({})", types::onnx_name(spec.dtype));
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
