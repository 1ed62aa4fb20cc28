//! The models of embedders: ids of texts to what the model gives for them, several texts in one run.

use std::borrow::Cow;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use stead_app::BackendKind;
use stead_app::package::PackageFiles;
use stead_app::services::EmbedderModel;
use stead_embed::{Batch, BatchLimits, Tokens, batches};
use stead_engine::{
    Backends, IoSpec, LoadOptions, Model, Parallel, Precision, RunContext, Runnable, Session,
};
use stead_search::models::converted;
use stead_tensor::{DType, Tensor, TensorView};

use crate::evaluate::session_options;

/// The largest file of a model: one of protobuf has at most 2 GiB.
const MAX_FILE: u64 = 1 << 31;

/// The most texts of a run.
const MAX_TEXTS: usize = 64;

/// The most ids of a run, unless one text has more: enough that what a run costs beside them does not count, and little enough that what is
/// between its steps stays in the caches. MiniLM, one thread, microseconds per id: 109 for 64 ids, 104 for 256, 103 for 512, 115 for 2,048.
const MAX_IDS: usize = 256;

/// Lengths are a multiple of this: plans are made for each, and padding is no more than three ids a text.
const LENGTHS: usize = 4;

/// The most bytes that the output of a run may have: those of a vocabulary are large.
const MAX_OUTPUT: usize = 64 << 20;

/// Who is told what the model gives for the text at a place, from whichever thread.
pub(super) type Each<'a> = dyn FnMut(usize, Result<&[f32], String>) + Send + 'a;

/// A model with its inputs by position.
pub(super) struct Network {
    session: Runnable,
    ids: usize,
    mask: Option<usize>,
    types: Option<usize>,
    output: usize,
    /// The only number of ids that it takes, if it is not any.
    length: Option<usize>,
    /// Whether it takes several texts.
    is_batched: bool,
    /// The cells of a vector.
    pub(super) width: usize,
    /// Whether it has a vector for each id, and not only one.
    pub(super) is_each: bool,
}

impl Network {
    /// Loads a model; what it gives is not known yet.
    ///
    /// # Errors
    /// In words for who deploys it.
    pub(super) fn load(
        of: &EmbedderModel,
        files: &PackageFiles,
        backends: &Backends,
    ) -> Result<Network, String> {
        let path = &of.file.value;
        let mut model = load_model(path, files, (of.backend, backends), of.precision)?;
        let needed = model.inputs().iter().filter(|spec| !spec.optional).count();
        let input = |name: &str| named(model.inputs(), name, "input");
        let ids = input(&of.input_ids)?;
        let mask = match of.is_lenient && needed == 1 {
            true => None,
            false => Some(input(&of.attention_mask)?),
        };
        let types = match &of.token_type_ids {
            Some(name) if !of.is_lenient || needed > 2 => Some(input(name)?),
            _ => None,
        };
        if of.is_lenient && needed > 3 {
            let names: Vec<&str> = model.inputs().iter().map(|spec| spec.name.as_str()).collect();
            return Err(format!("Model needs more than 3 inputs: [{}]", names.join(", ")));
        }
        let given = [Some(ids), mask, types];
        for (at, spec) in model.inputs().iter().enumerate() {
            if !given.contains(&Some(at)) && !spec.optional {
                return Err(format!(
                    "{path} needs the input {}, which embedders do not give",
                    spec.name
                ));
            }
            if given.contains(&Some(at))
                && !matches!(spec.dtype, DType::I64 | DType::I32 | DType::F32)
            {
                let kind = spec.dtype.name();
                return Err(format!(
                    "the input {} of {path} is of {kind}, expected int64",
                    spec.name
                ));
            }
        }
        let output = named(model.outputs(), &of.output, "output")?;
        let dims: Vec<Option<usize>> =
            model.inputs()[ids].dims.iter().flatten().map(|d| d.known()).collect();
        let (is_one, length) = (dims.first() == Some(&Some(1)), dims.get(1).copied().flatten());
        let axes: Vec<(usize, usize)> = given.iter().flatten().map(|at| (*at, 0)).collect();
        // A model that is tied to one row is run for each text.
        let is_batched = !is_one || model.free_batch(&axes);
        Ok(Network {
            session: model,
            ids,
            mask,
            types,
            output,
            length,
            is_batched,
            width: 0,
            is_each: false,
        })
    }

    /// The most ids that it can take, if its file tells.
    pub(super) fn length(&self) -> Option<usize> {
        self.length
    }

    /// Runs on a text to see what the output is.
    ///
    /// # Errors
    /// In words, what the engine says.
    pub(super) fn probe(
        &mut self,
        tokens: &Tokens,
        cores: &dyn Parallel,
    ) -> Result<Vec<usize>, String> {
        let mut shape = Vec::new();
        let batch = Batch { texts: vec![0], length: self.length.unwrap_or(tokens.ids.len()) };
        let cx = RunContext { parallel: cores, ..RunContext::default() };
        self.run_batch(&[tokens], &batch, &cx, &mut |view| {
            shape = view.shape().dims().to_vec();
            Ok(())
        })?;
        self.is_each = shape.len() == 3;
        self.width = shape.last().copied().unwrap_or(0);
        Ok(shape)
    }

    /// What the model gives for texts, in runs of as many as belong together, and how many these were: for each text its place, and the
    /// cells of its ids, row by row, or of the text where it has [one vector](Network::is_each).
    pub(super) fn run(&self, texts: &[Tokens], cx: &RunContext<'_>, each: &mut Each<'_>) -> usize {
        let lengths: Vec<usize> = texts.iter().map(|text| text.ids.len()).collect();
        let row_bytes = size_of::<f32>() * self.width.max(1);
        let limits = BatchLimits {
            texts: if self.is_batched { MAX_TEXTS } else { 1 },
            ids: MAX_IDS.min(MAX_OUTPUT / row_bytes),
            multiple: LENGTHS,
            longest: self.length.unwrap_or(usize::MAX),
            pads: self.mask.is_some(),
        };
        let batches = batches(&lengths, limits);
        let (runs, each) = (AtomicUsize::new(0), Mutex::new(each));
        let run = |at: usize, cx: &RunContext<'_>| {
            if let Some(batch) = batches.get(at) {
                runs.fetch_add(self.run_or_each(texts, batch, cx, &each), Ordering::Relaxed);
            }
        };
        match cx.parallel.threads() {
            // A run for each thread: threads that share the steps of one would wait for each other at each of them.
            threads @ 2.. if batches.len() >= threads => {
                let (cancelled, within, pause) = (cx.cancelled, cx.within, cx.pause);
                cx.parallel.for_each(batches.len(), &|at| {
                    run(at, &RunContext { cancelled, within, pause, ..RunContext::default() });
                });
            }
            _ => (0..batches.len()).for_each(|at| run(at, cx)),
        }
        runs.into_inner()
    }

    /// A run, and one for each of its texts if it fails: one of them may be to blame, and the others are not to fail with it. How many
    /// there were.
    fn run_or_each(
        &self,
        texts: &[Tokens],
        batch: &Batch,
        cx: &RunContext<'_>,
        each: &Mutex<&mut Each<'_>>,
    ) -> usize {
        let length_of = |length: usize| self.length.unwrap_or(length);
        let batch = Batch { texts: batch.texts.clone(), length: length_of(batch.length) };
        let tell = |at: usize, found: Result<&[f32], String>| {
            each.lock().unwrap_or_else(PoisonError::into_inner)(at, found);
        };
        let Err(text) = self.run_texts(texts, &batch, cx, &tell) else { return 1 };
        if let [only] = batch.texts.as_slice() {
            tell(*only, Err(text));
            return 1;
        }
        for at in &batch.texts {
            let length = length_of(texts.get(*at).map_or(0, |text| text.ids.len()));
            let alone = Batch { texts: vec![*at], length };
            if let Err(text) = self.run_texts(texts, &alone, cx, &tell) {
                tell(*at, Err(text));
            }
        }
        1 + batch.texts.len()
    }

    /// One run, of the texts of a batch.
    fn run_texts(
        &self,
        texts: &[Tokens],
        batch: &Batch,
        cx: &RunContext<'_>,
        each: &dyn Fn(usize, Result<&[f32], String>),
    ) -> Result<(), String> {
        let chosen: Vec<&Tokens> = batch.texts.iter().filter_map(|at| texts.get(*at)).collect();
        self.run_batch(&chosen, batch, cx, &mut |view| {
            let cells = floats(view)?;
            let rows = if self.is_each { batch.length } else { 1 };
            let mut of_text = cells.chunks_exact((rows * self.width).max(1));
            for (at, text) in batch.texts.iter().zip(&chosen) {
                let own = if self.is_each { text.ids.len() * self.width } else { self.width };
                let cells = of_text.next().and_then(|cells| cells.get(..own));
                each(
                    *at,
                    cells.ok_or_else(|| "the output of the model has another shape".to_owned()),
                );
            }
            Ok(())
        })
    }

    fn run_batch(
        &self,
        texts: &[&Tokens],
        batch: &Batch,
        cx: &RunContext<'_>,
        sink: &mut dyn FnMut(TensorView<'_>) -> Result<(), String>,
    ) -> Result<(), String> {
        let specs = self.session.inputs();
        let mut tensors: Vec<Option<Tensor>> = vec![None; specs.len()];
        let fill = |at: Option<usize>,
                    tensors: &mut Vec<Option<Tensor>>,
                    cell: &dyn Fn(&Tokens, usize) -> u32| {
            let Some((slot, spec)) = at.and_then(|at| tensors.get_mut(at).zip(specs.get(at)))
            else {
                return Ok(());
            };
            let cells = texts.iter().flat_map(|text| (0..batch.length).map(|at| cell(text, at)));
            let dims = [texts.len(), batch.length];
            let tensor = match spec.dtype {
                DType::I32 => {
                    Tensor::from_slice(&cells.map(|n| n as i32).collect::<Vec<_>>(), &dims)
                }
                DType::F32 => {
                    Tensor::from_slice(&cells.map(|n| n as f32).collect::<Vec<_>>(), &dims)
                }
                _ => Tensor::from_slice(&cells.map(i64::from).collect::<Vec<_>>(), &dims),
            };
            *slot = Some(tensor.map_err(|e| e.to_string())?);
            Ok::<(), String>(())
        };
        fill(Some(self.ids), &mut tensors, &|text, at| text.ids.get(at).copied().unwrap_or(0))?;
        fill(self.mask, &mut tensors, &|text, at| u32::from(text.attends(at)))?;
        fill(self.types, &mut tensors, &|_, _| 0)?;
        let views: Vec<Option<TensorView<'_>>> =
            tensors.iter().map(|tensor| tensor.as_ref().map(Tensor::view)).collect();
        let ran = self.session.run_with(&views, cx, |outputs| {
            sink(outputs.get(self.output).map_err(|e| e.to_string())?)
        });
        ran.map_err(|e| e.to_string())?
    }
}

/// Reads a model and the files beside it, in what the package names: the engine, in a precision, or another runtime.
///
/// # Errors
/// In words for who deploys it.
pub(super) fn load_model(
    path: &str,
    files: &PackageFiles,
    (backend, backends): (BackendKind, &Backends),
    precision: Precision,
) -> Result<Runnable, String> {
    let bytes = files.read(path, MAX_FILE).map_err(|e| e.to_string())?;
    let beside =
        |location: &str| files.read_beside(path, location, MAX_FILE).map_err(|e| e.to_string());
    if backend != BackendKind::Stead {
        let name = backend.name();
        let other = backends.load(name, &bytes, &beside);
        return other.map(Runnable::Other).map_err(|e| format!("{path}: backend {name}: {e}"));
    }
    let options = LoadOptions::default();
    let parts = Model::parts_from_files(&bytes, &beside, &options, &stead_engine::Hoist::default());
    let model = parts.map_err(|e| format!("{path}: {e}"))?.rest;
    let session = Session::new(model, &session_options(precision));
    session.map(Runnable::from).map_err(|e| format!("{path}: {e}"))
}

/// The place of an input or output.
///
/// # Errors
/// What there is, in the words of Vespa.
pub(super) fn named(list: &[IoSpec], name: &str, what: &str) -> Result<usize, String> {
    let missing = || {
        let names: Vec<&str> = list.iter().map(|spec| spec.name.as_str()).collect();
        let names = names.join(",");
        format!("Model does not contain required {what}: '{name}'. Model contains: {names}")
    };
    list.iter().position(|spec| spec.name == name).ok_or_else(missing)
}

/// The cells of an output as floats.
pub(super) fn floats(view: TensorView<'_>) -> Result<Cow<'_, [f32]>, String> {
    if view.dtype() == DType::F32 {
        return view.as_slice::<f32>().map(Cow::Borrowed).map_err(|e| e.to_string());
    }
    let tensor = converted(view, DType::F32).map_err(|e| e.to_string())?;
    tensor.as_slice::<f32>().map(|cells| Cow::Owned(cells.to_vec())).map_err(|e| e.to_string())
}
