//! Embedders of images: base64 or `data:` URIs to pixels, and a model that makes vectors of these.

use stead_app::package::PackageFiles;
use stead_app::services::{ImageSettings, PoolingStrategy};
use stead_embed::image::{Pixels, bytes_of_text, decode};
use stead_embed::mean;
use stead_engine::{Backends, IoSpec, Parallel, RunContext, Runnable};
use stead_tensor::{DType, Tensor, TensorView};

use super::embedding::{Embedding, Shape, Vectors};
use super::network::{floats, load_model, named};
use super::{Role, Source};
use crate::Code;

/// The most images of a run.
const MAX_IMAGES: usize = 8;

/// The most numbers that a run is given, unless one image has more.
const MAX_NUMBERS: usize = 4 << 20;

/// Why there is no embedding, and whose fault it is.
type Failed = (Code, String);

/// A model of images.
pub(super) struct Images {
    settings: ImageSettings,
    session: Runnable,
    input: usize,
    output: usize,
    /// Whether it takes several images.
    is_batched: bool,
    /// How its output becomes vectors.
    given: Given,
    /// The cells of a vector.
    width: usize,
}

/// What the model gives of an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Given {
    /// A vector.
    One,
    /// A vector for each of so many patches, the first for the whole.
    Patches(usize),
    /// So many places of a map for each cell of a vector.
    Maps(usize),
}

impl Images {
    /// Reads the model of a component and tries it with a black image.
    ///
    /// # Errors
    /// What does not fit, in words for who deploys it.
    pub(super) fn load(
        settings: ImageSettings,
        files: &PackageFiles,
        backends: &Backends,
        cores: &dyn Parallel,
    ) -> Result<Images, String> {
        let path = settings.file.value.clone();
        let of = (settings.backend, backends);
        let mut model = load_model(&path, files, of, settings.precision)?;
        let needed: Vec<&IoSpec> = model.inputs().iter().filter(|spec| !spec.optional).collect();
        let input = match (&settings.input, needed.as_slice()) {
            (Some(name), _) => named(model.inputs(), name, "input")?,
            (None, [one]) => named(model.inputs(), &one.name, "input")?,
            (None, several) => {
                let names: Vec<&str> = several.iter().map(|spec| spec.name.as_str()).collect();
                return Err(format!(
                    "{path} has the inputs {}; write which one takes images, such as <image-input>pixel_values</image-input>",
                    names.join(", ")
                ));
            }
        };
        let output = match &settings.output {
            Some(name) => named(model.outputs(), name, "output")?,
            None => 0,
        };
        if model.outputs().is_empty() {
            return Err(format!("{path} has no output"));
        }
        let other =
            model.inputs().iter().enumerate().find(|(at, spec)| *at != input && !spec.optional);
        if let Some((_, other)) = other {
            return Err(format!(
                "{path} needs the input {}, which an image does not give",
                other.name
            ));
        }
        let spec = model.inputs().get(input).ok_or("the model has no input")?;
        let is_one = fits(spec, &path, settings.size)?;
        let is_batched = !is_one || model.free_batch(&[(input, 0)]);
        let (session, given) = (model, Given::One);
        let mut found = Images { settings, session, input, output, is_batched, given, width: 0 };
        found.probe(&path, cores)?;
        Ok(found)
    }

    /// Sees what the model gives.
    fn probe(&mut self, path: &str, cores: &dyn Parallel) -> Result<(), String> {
        let (width, height) = self.settings.size;
        let mut shape = Vec::new();
        let black = vec![0.0; 3 * width * height];
        let cx = RunContext { parallel: cores, ..RunContext::default() };
        self.run(1, &black, &cx, &mut |view| {
            shape = view.shape().dims().to_vec();
            floats(view).map(drop)
        })
        .map_err(|text| {
            format!("{path} cannot be run with an image of {width} x {height}: {text}")
        })?;
        use PoolingStrategy::{Cls, Mean, None};
        (self.given, self.width) = match (shape.as_slice(), self.settings.pooling) {
            ([1, width], None) => (Given::One, *width),
            ([1, count, width], Mean | Cls) => (Given::Patches(*count), *width),
            ([1, width, rows, columns], Mean) => (Given::Maps(rows * columns), *width),
            ([1, width, 1, 1], None) => (Given::One, *width),
            (_, pooling) => {
                let (pooling, expected) = match pooling {
                    None => ("none", "[batch, size]"),
                    Mean => ("mean", "[batch, patches, size] or [batch, size, height, width]"),
                    Cls => ("cls", "[batch, patches, size]"),
                };
                let name = self.session.outputs().get(self.output).map(|spec| spec.name.as_str());
                let name = name.unwrap_or_default();
                return Err(format!(
                    "pooling-strategy {pooling} needs an output of {expected}: {name} of {path} has the shape {shape:?}"
                ));
            }
        };
        match shape.iter().product::<usize>() {
            0 => Err(format!("{path} gives nothing: its output has the shape {shape:?}")),
            _ => Ok(()),
        }
    }

    /// What tensors can be made.
    pub(super) fn shape(&self) -> Shape {
        Shape::One(self.width)
    }

    /// Whether vectors are made to have length 1.
    pub(super) fn normalizes(&self) -> bool {
        self.settings.normalize
    }

    /// As `onnx-intraop-threads` says.
    pub(super) fn threads(&self) -> Option<i32> {
        self.settings.threads
    }

    /// Embeds images that are written as text, and tells in how many runs.
    pub(super) fn embed(
        &self,
        texts: &[(Role, &Source)],
        cx: &RunContext<'_>,
    ) -> (Vec<Result<Embedding, Failed>>, usize) {
        let (width, height) = self.settings.size;
        let of_image = 3 * width * height;
        let most = match self.is_batched {
            true => (MAX_NUMBERS / of_image.max(1)).clamp(1, MAX_IMAGES),
            false => 1,
        };
        let (mut found, mut runs) = (Vec::with_capacity(texts.len()), 0);
        for texts in texts.chunks(most) {
            // Of so many images there are numbers at a time, and pixels of one.
            let mut numbers = Vec::with_capacity(texts.len() * of_image);
            let begin = found.len();
            for (_, source) in texts {
                cx.pause.iter().for_each(|pause| pause());
                let pixels = self.pixels(source);
                found.push(match &pixels {
                    Ok(pixels) => {
                        self.settings.prepare.numbers(pixels, &mut numbers);
                        Err((Code::Internal, "the model gave nothing for it".to_owned()))
                    }
                    Err(text) => Err((Code::InvalidArgument, text.clone())),
                });
            }
            let count = numbers.len() / of_image.max(1);
            if count == 0 {
                continue;
            }
            runs += 1;
            let slots = found.iter_mut().skip(begin);
            let mut slots = slots.filter(|slot| matches!(slot, Err((Code::Internal, _))));
            let ran = self.run(count, &numbers, cx, &mut |view| {
                let cells = floats(view)?;
                for cells in cells.chunks_exact((cells.len() / count).max(1)) {
                    if let Some(slot) = slots.next() {
                        *slot =
                            Ok(Embedding { tokens: 0, vectors: Vectors::One(self.vector(cells)) });
                    }
                }
                Ok(())
            });
            if let Err(text) = ran {
                slots.for_each(|slot| *slot = Err((Code::Internal, text.clone())));
            }
        }
        (found, runs)
    }

    /// What the model sees of an image.
    fn pixels(&self, source: &Source) -> Result<Pixels, String> {
        let Source::Text(text) = source else {
            return Err("images have no token ids".to_owned());
        };
        let most = self.settings.max_pixels;
        let image = bytes_of_text(text).and_then(|bytes| decode(&bytes, most));
        let image = image.and_then(|image| self.settings.prepare.pixels(&image, most));
        image.map_err(|e| e.to_string())
    }

    fn vector(&self, cells: &[f32]) -> Vec<f32> {
        match (self.given, self.settings.pooling) {
            (Given::Patches(count), PoolingStrategy::Mean) => mean(cells, self.width, count),
            (Given::Maps(places), _) => {
                let map = |map: &[f32]| map.iter().sum::<f32>() / places as f32;
                cells.chunks_exact(places.max(1)).map(map).collect()
            }
            _ => cells.get(..self.width).unwrap_or_default().to_vec(),
        }
    }

    fn run(
        &self,
        count: usize,
        numbers: &[f32],
        cx: &RunContext<'_>,
        sink: &mut dyn FnMut(TensorView<'_>) -> Result<(), String>,
    ) -> Result<(), String> {
        let (width, height) = self.settings.size;
        let tensor = Tensor::from_slice(numbers, &[count, 3, height, width]);
        let tensor = tensor.map_err(|e| e.to_string())?;
        let mut views: Vec<Option<TensorView<'_>>> = vec![None; self.session.inputs().len()];
        if let Some(slot) = views.get_mut(self.input) {
            *slot = Some(tensor.view());
        }
        let ran = self.session.run_with(&views, cx, |outputs| {
            sink(outputs.get(self.output).map_err(|e| e.to_string())?)
        });
        ran.map_err(|e| e.to_string())?
    }
}

/// Whether an input takes images of a size; and whether of one only.
fn fits(spec: &IoSpec, path: &str, (width, height): (usize, usize)) -> Result<bool, String> {
    let name = &spec.name;
    if spec.dtype != DType::F32 {
        let kind = spec.dtype.name();
        return Err(format!("the input {name} of {path} is of {kind}, expected float"));
    }
    let dims: Option<Vec<Option<usize>>> =
        spec.dims.as_ref().map(|dims| dims.iter().map(|d| d.known()).collect());
    let Some(dims) = dims else { return Ok(false) };
    let wanted = [None, Some(3), Some(height), Some(width)];
    let fits = |(found, wanted): (&Option<usize>, &Option<usize>)| {
        found.is_none() || wanted.is_none() || found == wanted
    };
    if dims.len() != 4 || !dims.iter().zip(&wanted).all(fits) {
        let known: Vec<String> =
            dims.iter().map(|d| d.map_or_else(|| "?".to_owned(), |d| d.to_string())).collect();
        return Err(format!(
            "the input {name} of {path} takes [{}], and an image is [1, 3, {height}, {width}]; write another crop or resize",
            known.join(", ")
        ));
    }
    Ok(dims.first().copied().flatten() == Some(1))
}
