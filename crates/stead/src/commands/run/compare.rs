//! `stead run --compare`: the outputs, and with `--layers` those of every node, beside another runtime's.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};
use stead_engine::{
    Backend, BackendOptions, IoSpec, LoadOptions, Model, ModelSource, PassChoice, RunContext,
    Session, SessionOptions,
};
use stead_onnx::Limits;
use stead_tensor::{Tensor, TensorView};

use super::all_outputs;
use super::difference::Difference;
use super::layers::{Layer, laid_open};
use crate::commands::prepare::Inputs;
use crate::conformance::Tolerance;
use crate::failure::Failure;
use crate::onnxruntime::OnDemand;

/// Another runtime.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Other {
    /// ONNX Runtime, from a shared library.
    Onnxruntime,
}

/// Arguments of a comparison.
#[derive(Debug, clap::Args)]
pub struct CompareArgs {
    /// Run the model in this runtime too, on the same inputs, and print how far the outputs lie apart; exit with 1 if
    /// they do not agree.
    #[arg(long, value_name = "RUNTIME")]
    pub compare: Option<Other>,
    /// Compare the outputs of every node as well: stead without any fusion, and the other runtime without
    /// optimisations.
    #[arg(long, requires = "compare")]
    layers: bool,
    /// Numbers agree within this part of the other's: |stead - other| <= atol + rtol * |other|.
    #[arg(long, value_name = "X", default_value_t = 1e-3, requires = "compare")]
    rtol: f64,
    /// The absolute part of it.
    #[arg(long, value_name = "X", default_value_t = 1e-4, requires = "compare")]
    atol: f64,
    /// The shared library of ONNX Runtime, as onnxruntime/capi/libonnxruntime.so.* of its wheel.
    #[arg(long, value_name = "FILE", env = crate::onnxruntime::LIBRARY_VARIABLE)]
    onnxruntime_library: Option<PathBuf>,
}

/// What stead was given and what it gave.
pub struct Given<'a> {
    pub session: &'a Session,
    pub inputs: &'a Inputs,
    pub outputs: &'a [Tensor],
}

/// A value in both runtimes.
struct Row {
    /// Its name.
    value: String,
    /// The node that it comes from, and whether that is the first that differs.
    layer: Option<(Layer, bool)>,
    /// Type and shape in stead.
    form: (String, Vec<usize>),
    difference: Difference,
}

impl CompareArgs {
    /// Checks numbers before anything is loaded.
    ///
    /// # Errors
    /// [`Failure::Usage`] for a tolerance that is none.
    pub fn check(&self) -> Result<(), Failure> {
        for (name, value) in [("rtol", self.rtol), ("atol", self.atol)] {
            if !(value.is_finite() && value >= 0.0) {
                return Err(Failure::usage(format!("--{name}: {value} is not a number from 0 on")));
            }
        }
        Ok(())
    }

    /// Compares and prints; whether everything agrees.
    pub fn run(
        &self,
        path: &Path,
        given: &Given<'_>,
        cx: &RunContext<'_>,
        is_json: bool,
    ) -> Result<bool, Failure> {
        let tolerance = Tolerance { rtol: self.rtol, atol: self.atol };
        let demand = OnDemand { library: self.onnxruntime_library.clone(), threads: None };
        let runtime = demand.open().map_err(Failure::failed)?;
        let specs = given.session.model().inputs();
        let outputs = given.session.model().outputs();
        let made = stead_formats::as_onnx(path, &Limits::default()).map_err(Failure::failed)?;
        let source = made.as_deref().map_or(ModelSource::File(path), ModelSource::Bytes);
        let theirs = run_other(&*runtime, source, true, (specs, given.inputs), outputs)?;
        let rows = rows(outputs, given.outputs, &theirs, tolerance);
        let layers = match self.layers {
            true => layers(path, &*runtime, (specs, given.inputs), cx, tolerance)?,
            false => Vec::new(),
        };
        let agree = rows.iter().chain(&layers).all(|row| row.difference.agrees());
        if is_json {
            let list = |rows: &[Row]| rows.iter().map(Row::json).collect::<Vec<_>>();
            let mut report = json!({
                "runtime": runtime.name(), "rtol": self.rtol, "atol": self.atol, "agree": agree,
                "outputs": list(&rows),
            });
            if self.layers {
                report["layers"] = list(&layers).into();
            }
            println!("{report}");
            return Ok(agree);
        }
        let header = format!("{:>9} {:>9} {:>11}", "max abs", "max rel", "cosine");
        println!("{header}  beside {}", runtime.name());
        rows.iter().for_each(Row::print);
        if self.layers {
            println!("\n{header}  node by node, without fusion");
            layers.iter().for_each(Row::print);
        }
        if !agree {
            println!("\nbeyond the tolerance: rtol {}, atol {}", self.rtol, self.atol);
        }
        Ok(agree)
    }
}

impl Row {
    fn json(&self) -> Value {
        let mut row = Map::new();
        row.insert("name".to_owned(), self.value.as_str().into());
        row.insert("datatype".to_owned(), self.form.0.as_str().into());
        row.insert("shape".to_owned(), self.form.1.as_slice().into());
        if let Some((layer, is_first)) = &self.layer {
            row.insert("node".to_owned(), layer.name.as_str().into());
            row.insert("op".to_owned(), layer.op.as_str().into());
            row.insert("first".to_owned(), (*is_first).into());
        }
        if let Value::Object(difference) = self.difference.json() {
            row.extend(difference);
        }
        Value::Object(row)
    }

    fn print(&self) {
        let (dtype, dims) = &self.form;
        let mark = match (&self.layer, self.difference.agrees()) {
            (Some((_, true)), _) => "  <-- the first that differs",
            (_, false) => "  <-- differs",
            _ => "",
        };
        let name = match &self.layer {
            Some((layer, _)) if layer.name == self.value => format!("{} {}", layer.op, self.value),
            Some((layer, _)) => format!("{} {} -> {}", layer.op, layer.name, self.value),
            None => self.value.clone(),
        };
        let (columns, place) = (self.difference.columns(), self.difference.place());
        println!("{columns}  {name}: {dtype} {dims:?}{place}{mark}");
    }
}

/// The outputs of stead beside those of another runtime.
fn rows(specs: &[IoSpec], own: &[Tensor], theirs: &[Tensor], tolerance: Tolerance) -> Vec<Row> {
    let pairs = own.iter().zip(theirs);
    let row = |(spec, (own, other)): (&IoSpec, (&Tensor, &Tensor))| Row {
        value: spec.name.clone(),
        layer: None,
        form: (own.dtype().name().to_owned(), own.shape().dims().to_vec()),
        difference: Difference::between(own, other, tolerance),
    };
    specs.iter().zip(pairs).map(row).collect()
}

/// Every value that a node makes, in both runtimes.
fn layers(
    path: &Path,
    runtime: &dyn Backend,
    inputs: (&[IoSpec], &Inputs),
    cx: &RunContext<'_>,
    tolerance: Tolerance,
) -> Result<Vec<Row>, Failure> {
    let (layers, bytes) = laid_open(path)?;
    let options = LoadOptions { passes: PassChoice::None, ..LoadOptions::default() };
    let model = Model::from_bytes(&bytes, None, &options).map_err(Failure::failed)?;
    let session = Session::new(model, &SessionOptions::default()).map_err(Failure::failed)?;
    let own = all_outputs(&session, inputs.1, cx)?;
    let specs = session.model().outputs();
    let theirs = run_other(runtime, ModelSource::Bytes(&bytes), false, inputs, specs)?;
    let mut values = rows(specs, &own, &theirs, tolerance);
    let mut ordered = Vec::with_capacity(values.len());
    let mut has_differed = false;
    for layer in layers {
        for name in &layer.outputs {
            let Some(at) = values.iter().position(|row| row.value == *name) else { continue };
            let mut row = values.swap_remove(at);
            let is_first = !has_differed && !row.difference.agrees();
            has_differed |= is_first;
            row.layer = Some((layer.clone(), is_first));
            ordered.push(row);
        }
    }
    Ok(ordered)
}

/// The outputs of another runtime, in the order of `outputs`.
fn run_other(
    runtime: &dyn Backend,
    source: ModelSource<'_>,
    optimize: bool,
    (specs, inputs): (&[IoSpec], &Inputs),
    outputs: &[IoSpec],
) -> Result<Vec<Tensor>, Failure> {
    let failed = |e: &dyn std::fmt::Display| Failure::failed(format!("{}: {e}", runtime.name()));
    let model = runtime.load(source, BackendOptions { runs: 1, optimize, providers: &[] });
    let model = model.map_err(Failure::failed)?;
    let views = inputs.views();
    let by_name = |name: &str| {
        let at = specs.iter().position(|spec| spec.name == name)?;
        views.get(at).copied().flatten()
    };
    let given: Vec<Option<TensorView<'_>>> =
        model.inputs().iter().map(|spec| by_name(&spec.name)).collect();
    let has = |name: &str| model.inputs().iter().any(|spec| spec.name == name);
    if let Some((spec, _)) = specs.iter().zip(&views).find(|(s, v)| v.is_some() && !has(&s.name)) {
        let text = format!(
            "input `{}` has a value in the file, which holds there: leave it out",
            spec.name
        );
        return Err(failed(&text));
    }
    let find = |output: &IoSpec| {
        let at = model.outputs().iter().position(|spec| spec.name == output.name);
        at.ok_or_else(|| failed(&format!("no output `{}`", output.name)))
    };
    let wanted: Vec<usize> = outputs.iter().map(find).collect::<Result<_, _>>()?;
    let mut made = Vec::with_capacity(wanted.len());
    let ran = model.run(&given, &wanted, &|| false, &mut |_, view| made.push(view.to_tensor()));
    ran.map_err(|e| failed(&e))?;
    made.into_iter().collect::<Result<_, _>>().map_err(Failure::failed)
}
