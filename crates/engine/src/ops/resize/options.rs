//! The attributes of Resize and Upsample in all their versions.

use super::NodeSpec;
use super::axis::{Coordinates, Filter, Nearest};
use crate::error::BuildError;
use stead_tensor::DType;

/// How elements are computed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Mode {
    Nearest(Nearest),
    Filter(Filter),
}

/// How sizes that are asked for become scales.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Aspect {
    Stretch,
    NotLarger,
    NotSmaller,
}

/// Where the scales come from.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Wanted {
    /// An attribute.
    Fixed(Vec<f32>),
    /// This input.
    Scales(usize),
    /// The input of scales, or else that of sizes.
    ScalesOrSizes(usize, usize),
}

/// The attributes.
#[derive(Debug, Clone)]
pub(super) struct Options {
    pub mode: Mode,
    pub coordinates: Coordinates,
    pub antialias: bool,
    pub exclude_outside: bool,
    pub extrapolation: f32,
    pub aspect: Aspect,
    pub axes: Option<Vec<i64>>,
    pub wanted: Wanted,
}

impl Options {
    pub fn read(spec: &NodeSpec<'_>) -> Result<Options, BuildError> {
        let attributes = spec.attributes();
        let mode = attributes.string_or("mode", "nearest")?;
        let modern = spec.op_type() == "Resize" && spec.opset() >= 11;
        if !modern {
            let wanted = match (spec.op_type(), attributes.floats("scales")?) {
                ("Upsample", Some(scales)) if spec.opset() < 9 => Wanted::Fixed(scales.to_vec()),
                ("Upsample", None) if spec.opset() < 9 => {
                    return Err(attributes.missing("scales").into());
                }
                _ => Wanted::Scales(1),
            };
            return Ok(Options {
                mode: match mode {
                    "nearest" => Mode::Nearest(Nearest::Simple),
                    "linear" | "bilinear" => Mode::Filter(Filter::Linear),
                    other => return Err(unsupported("mode", other)),
                },
                coordinates: Coordinates::Asymmetric,
                antialias: false,
                exclude_outside: false,
                extrapolation: 0.0,
                aspect: Aspect::Stretch,
                axes: None,
                wanted,
            })
            .and_then(|options| check_type(spec, options));
        }
        let options = Options {
            mode: match mode {
                "nearest" => Mode::Nearest(nearest(
                    attributes.string_or("nearest_mode", "round_prefer_floor")?,
                )?),
                "linear" => Mode::Filter(Filter::Linear),
                "cubic" => {
                    Mode::Filter(Filter::Cubic(attributes.float_or("cubic_coeff_a", -0.75)?.into()))
                }
                other => return Err(unsupported("mode", other)),
            },
            coordinates: coordinates(
                attributes.string_or("coordinate_transformation_mode", "half_pixel")?,
            )?,
            antialias: attributes.bool_or("antialias", false)?,
            exclude_outside: attributes.bool_or("exclude_outside", false)?,
            extrapolation: attributes.float_or("extrapolation_value", 0.0)?,
            aspect: match attributes.string_or("keep_aspect_ratio_policy", "stretch")? {
                "stretch" => Aspect::Stretch,
                "not_larger" => Aspect::NotLarger,
                "not_smaller" => Aspect::NotSmaller,
                other => return Err(unsupported("keep_aspect_ratio_policy", other)),
            },
            axes: attributes.ints("axes")?.map(<[i64]>::to_vec),
            wanted: Wanted::ScalesOrSizes(2, 3),
        };
        if options.antialias && matches!(options.mode, Mode::Nearest(_)) {
            return Err(BuildError::unsupported("antialias with mode \"nearest\""));
        }
        check_type(spec, options)
    }
}

fn unsupported(attribute: &str, value: &str) -> BuildError {
    BuildError::unsupported(format!("{attribute} \"{value}\""))
}

/// Booleans can be copied but not interpolated.
fn check_type(spec: &NodeSpec<'_>, options: Options) -> Result<Options, BuildError> {
    if spec.dtype()? == DType::Bool && matches!(options.mode, Mode::Filter(_)) {
        return Err(BuildError::unsupported("interpolation of bool"));
    }
    Ok(options)
}

fn nearest(name: &str) -> Result<Nearest, BuildError> {
    Ok(match name {
        "round_prefer_floor" => Nearest::RoundPreferFloor,
        "round_prefer_ceil" => Nearest::RoundPreferCeil,
        "floor" => Nearest::Floor,
        "ceil" => Nearest::Ceil,
        other => return Err(unsupported("nearest_mode", other)),
    })
}

fn coordinates(name: &str) -> Result<Coordinates, BuildError> {
    Ok(match name {
        "half_pixel" => Coordinates::HalfPixel,
        "half_pixel_symmetric" => Coordinates::HalfPixelSymmetric,
        "pytorch_half_pixel" => Coordinates::PytorchHalfPixel,
        "align_corners" => Coordinates::AlignCorners,
        "asymmetric" => Coordinates::Asymmetric,
        "tf_half_pixel_for_nn" => Coordinates::TfHalfPixelForNn,
        "tf_crop_and_resize" => Coordinates::TfCropAndResize,
        other => return Err(unsupported("coordinate_transformation_mode", other)),
    })
}
