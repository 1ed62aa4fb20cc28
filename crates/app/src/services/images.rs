//! The settings of `image-embedder`: a model, and how images become what it takes. They are those of `services.xml`; what it does not say
//! is as `preprocessor_config.json` of Hugging Face says, or as torchvision prepares images for classifiers.

mod config;

use stead_embed::image::{Preprocess, Resample, Resize};

use super::components::{Component, Parameter};
use super::embedders::PoolingStrategy;
use crate::BackendKind;
use crate::package::{Located, PackageFiles, Report};
use stead_tensor::Precision;

/// The most columns or rows that a model is given.
const MAX_SIDE: usize = 4096;

/// The most pixels of an image, if nothing is said: 4096 x 4096.
const MAX_PIXELS: u32 = 1 << 24;

/// How a component makes vectors of images.
#[derive(Debug, Clone, PartialEq)]
pub struct ImageSettings {
    /// The file of the model, from the root of the package.
    pub file: Located<String>,
    /// The name of its input; that of its only one if nothing is said.
    pub input: Option<String>,
    /// The name of its output; that of its first one if nothing is said.
    pub output: Option<String>,
    /// How several vectors of an image become one.
    pub pooling: PoolingStrategy,
    /// Whether vectors are made to have length 1.
    pub normalize: bool,
    /// As `onnx-intraop-threads` says.
    pub threads: Option<i32>,
    /// As `onnx-precision` says.
    pub precision: Precision,
    /// As `onnx-backend` says.
    pub backend: BackendKind,
    /// What the model is given of an image.
    pub prepare: Preprocess,
    /// Columns and rows of it.
    pub size: (usize, usize),
    /// The most pixels of an image that is read.
    pub max_pixels: u64,
}

/// How torchvision prepares images for classifiers.
fn torchvision() -> Preprocess {
    Preprocess {
        resize: Resize::Shorter(256),
        resample: Resample::Bilinear,
        crop: Some((224, 224)),
        rescale: 1.0 / 255.0,
        mean: [0.485, 0.456, 0.406],
        std: [0.229, 0.224, 0.225],
    }
}

impl Component {
    /// What it does as an `image-embedder`; nothing if a setting is wrong, which is reported.
    #[must_use]
    pub fn image_embedder(
        &self,
        files: &PackageFiles,
        report: &mut Report,
    ) -> Option<ImageSettings> {
        let Some(model) = self.parameter("image-model") else {
            report.error(&self.place, format!("component {} has no image-model", self.id));
            return None;
        };
        let file = self.file(model, files, report)?;
        let mut prepare = match self.parameter("preprocessor-config") {
            Some(given) => self.configured(given, files, report)?,
            None => torchvision(),
        };
        let mut of = Values { component: self, report };
        of.change(
            "resize",
            "a number, such as 256, WIDTHxHEIGHT or none",
            resize,
            &mut prepare.resize,
        )?;
        let ways = "nearest, bilinear, bicubic or lanczos";
        of.change("resample", ways, resample, &mut prepare.resample)?;
        of.change("crop", "a number, such as 224, WIDTHxHEIGHT or none", crop, &mut prepare.crop)?;
        of.change("rescale", "a number", number, &mut prepare.rescale)?;
        let three = "three numbers, for red, green and blue";
        of.change("mean", three, numbers, &mut prepare.mean)?;
        let positive = |text: &str| numbers(text).filter(|n| n.iter().all(|n| *n != 0.0));
        of.change("std", "three numbers, none of them 0", positive, &mut prepare.std)?;
        let mut pooling = PoolingStrategy::None;
        of.change("pooling-strategy", "none, mean or cls", pooled, &mut pooling)?;
        let normalize = self.flag("normalize", false, report)?;
        let threads = self.threads(report)?;
        let (precision, backend) = self.precision(report)?;
        let max_pixels = self.number("max-pixels", MAX_PIXELS, report)?;
        let Some(size) = prepare
            .size()
            .filter(|(w, h)| (1..=MAX_SIDE).contains(w) && (1..=MAX_SIDE).contains(h))
        else {
            let text = format!(
                "component {} must give its model images of one size, of at most {MAX_SIDE} x {MAX_SIDE}: write <crop>224</crop> or <resize>224x224</resize>",
                self.id
            );
            report.error(&self.place, text);
            return None;
        };
        self.ineffective(report);
        let name = |parameter: &str| {
            let text = self.parameter(parameter).map(|p| p.text.trim().to_owned());
            text.filter(|name| !name.is_empty())
        };
        Some(ImageSettings {
            file,
            input: name("image-input"),
            output: name("image-output"),
            pooling,
            normalize,
            threads,
            precision,
            backend,
            prepare,
            size,
            max_pixels: u64::from(max_pixels),
        })
    }

    fn configured(
        &self,
        given: &Parameter,
        files: &PackageFiles,
        report: &mut Report,
    ) -> Option<Preprocess> {
        let file = self.file(given, files, report)?;
        let read = files.text(&file.value).map_err(|e| e.to_string());
        let read = read.and_then(|text| config::read(&text, torchvision()));
        match read {
            Ok(prepare) => Some(prepare),
            Err(why) => {
                let text = format!("{} of component {}: {why}", file.value, self.id);
                report.error(&given.place, text);
                None
            }
        }
    }
}

/// Settings that stand in for others.
struct Values<'c, 'r> {
    component: &'c Component,
    report: &'r mut Report,
}

impl Values<'_, '_> {
    /// Changes a value where the component says another one; nothing if what it says is wrong.
    fn change<T>(
        &mut self,
        name: &str,
        expected: &str,
        read: impl Fn(&str) -> Option<T>,
        value: &mut T,
    ) -> Option<()> {
        let Some(given) = self.component.parameter(name) else { return Some(()) };
        let Some(found) = read(given.text.trim()) else {
            self.component.expected(expected, given, self.report);
            return None;
        };
        *value = found;
        Some(())
    }
}

/// `WIDTHxHEIGHT`
fn sides(text: &str) -> Option<(usize, usize)> {
    let side = |text: &str| text.trim().parse().ok().filter(|n| (1..=MAX_SIDE).contains(n));
    match text.split_once('x') {
        Some((width, height)) => Some((side(width)?, side(height)?)),
        None => None,
    }
}

fn resize(text: &str) -> Option<Resize> {
    if text == "none" {
        return Some(Resize::Keep);
    }
    if let Some((width, height)) = sides(text) {
        return Some(Resize::To { width, height });
    }
    text.parse().ok().filter(|n| (1..=MAX_SIDE).contains(n)).map(Resize::Shorter)
}

fn crop(text: &str) -> Option<Option<(usize, usize)>> {
    match text {
        "none" => Some(None),
        _ => sides(text).or_else(|| sides(&format!("{text}x{text}"))).map(Some),
    }
}

fn resample(text: &str) -> Option<Resample> {
    Some(match text {
        "nearest" => Resample::Nearest,
        "bilinear" => Resample::Bilinear,
        "bicubic" => Resample::Bicubic,
        "lanczos" => Resample::Lanczos,
        _ => return None,
    })
}

fn pooled(text: &str) -> Option<PoolingStrategy> {
    Some(match text {
        "none" => PoolingStrategy::None,
        "mean" => PoolingStrategy::Mean,
        "cls" => PoolingStrategy::Cls,
        _ => return None,
    })
}

fn number(text: &str) -> Option<f64> {
    text.parse().ok().filter(|n: &f64| n.is_finite())
}

/// Three numbers between commas or blanks.
fn numbers(text: &str) -> Option<[f64; 3]> {
    let parts = text.split([',', ' ', '\t', '\n']).filter(|part| !part.is_empty());
    let found: Vec<f64> = parts.map(number).collect::<Option<_>>()?;
    found.try_into().ok()
}

#[cfg(test)]
mod tests;
