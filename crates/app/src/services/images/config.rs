//! `preprocessor_config.json` of Hugging Face.

use serde_json::{Map, Value};
use stead_embed::image::{Preprocess, Resample, Resize};

use super::MAX_SIDE;

/// The steps that are done, each where its flag is not false.
const STEPS: [&str; 5] =
    ["do_resize", "do_center_crop", "do_rescale", "do_normalize", "do_convert_rgb"];

/// Members that would change what a model is given.
const UNSUPPORTED: [&str; 3] = ["crop_pct", "rescale_offset", "patch_size"];

/// What a file says, and `other` where it says nothing.
///
/// # Errors
/// What is wrong with it or is not done here, in words.
pub(super) fn read(text: &str, other: Preprocess) -> Result<Preprocess, String> {
    let value: Value = serde_json::from_str(text).map_err(|e| e.to_string())?;
    let Value::Object(members) = value else { return Err("expected a JSON object".to_owned()) };
    let is_on = |value: &Value| !matches!(value, Value::Null | Value::Bool(false));
    for (name, value) in members.iter().filter(|(_, value)| is_on(value)) {
        let is_step = name.starts_with("do_") && !STEPS.contains(&name.as_str());
        if is_step || UNSUPPORTED.contains(&name.as_str()) {
            return Err(format!("{name}: {value} is not supported"));
        }
    }
    let does = |step: &str| members.get(step).and_then(Value::as_bool);
    let mut found = other;
    let crop = members.get("crop_size").filter(|v| !v.is_null());
    let crops = does("do_center_crop").unwrap_or(crop.is_some());
    found.crop = match (crops, crop) {
        (false, _) => None,
        (true, None) => return Err("do_center_crop needs a crop_size".to_owned()),
        (true, Some(size)) => Some(match side(Some(size)) {
            Some(side) => (side, side),
            None => sides(size).ok_or_else(|| wrong("crop_size", size))?,
        }),
    };
    let size = members.get("size").filter(|v| !v.is_null());
    found.resize = match (does("do_resize").unwrap_or(true), size) {
        (false, _) => Resize::Keep,
        (true, None) => found.resize,
        (true, Some(size)) => resize(size, crops).ok_or_else(|| wrong("size", size))?,
    };
    if let Some(way) = members.get("resample").filter(|v| !v.is_null()) {
        found.resample = match way.as_u64() {
            Some(0) => Resample::Nearest,
            Some(1) => Resample::Lanczos,
            Some(2) => Resample::Bilinear,
            Some(3) => Resample::Bicubic,
            _ => return Err(format!("resample: {way} is not supported; 0, 1, 2 and 3 are")),
        };
    }
    if does("do_rescale") == Some(false) {
        found.rescale = 1.0;
    } else if let Some(factor) = members.get("rescale_factor") {
        found.rescale = factor.as_f64().ok_or_else(|| wrong("rescale_factor", factor))?;
    }
    if does("do_normalize") == Some(false) {
        (found.mean, found.std) = ([0.0; 3], [1.0; 3]);
    } else {
        numbers(&members, "image_mean", &mut found.mean)?;
        numbers(&members, "image_std", &mut found.std)?;
        if found.std.contains(&0.0) {
            return Err("image_std has a 0".to_owned());
        }
    }
    Ok(found)
}

fn wrong(name: &str, value: &Value) -> String {
    format!("{name}: {value:.200} is not supported")
}

/// A number alone is the shorter side where a crop follows, and both sides where none does: so CLIP and ViT have written it.
fn resize(size: &Value, crops: bool) -> Option<Resize> {
    let square =
        |n: usize| if crops { Resize::Shorter(n) } else { Resize::To { width: n, height: n } };
    if let Some(number) = side(Some(size)) {
        return Some(square(number));
    }
    let members = size.as_object()?;
    match members.get("shortest_edge") {
        Some(edge) if members.len() == 1 => side(Some(edge)).map(Resize::Shorter),
        Some(_) => None,
        None => sides(size).map(|(width, height)| Resize::To { width, height }),
    }
}

fn sides(size: &Value) -> Option<(usize, usize)> {
    let members = size.as_object().filter(|members| members.len() == 2)?;
    Some((side(members.get("width"))?, side(members.get("height"))?))
}

fn side(value: Option<&Value>) -> Option<usize> {
    let side = usize::try_from(value?.as_u64()?).ok()?;
    (1..=MAX_SIDE).contains(&side).then_some(side)
}

fn numbers(members: &Map<String, Value>, name: &str, found: &mut [f64; 3]) -> Result<(), String> {
    let Some(value) = members.get(name).filter(|v| !v.is_null()) else { return Ok(()) };
    let list =
        value.as_array().map(|list| list.iter().map(Value::as_f64).collect::<Option<Vec<_>>>());
    let list: Option<[f64; 3]> = list.flatten().and_then(|list| list.try_into().ok());
    *found = list.ok_or_else(|| format!("{name}: {value:.200} is no list of three numbers"))?;
    Ok(())
}
