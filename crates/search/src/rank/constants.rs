//! Constants: in the schema, or in files of the package.

use serde_json::Value as Json;
use stead_app::application::{ConstantValue, RankProfile, Schema};
use stead_app::package::PackageFiles;
use stead_expr::codec::json::from_json;
use stead_expr::{TensorType, Value};

use super::error::RankError;

/// The largest file of a constant in bytes.
const MAX_FILE: u64 = 1 << 30;

/// The value of a constant of a profile, or of its schema.
pub(super) fn constant(
    schema: &Schema,
    profile: &RankProfile,
    files: &PackageFiles,
    name: &str,
) -> Result<Value, RankError> {
    let fail = |text: String| RankError::Plan { what: format!("constant({name})"), text };
    if let Some(constant) = profile.constants.iter().find(|c| c.name.value == name) {
        return match &constant.value {
            ConstantValue::Here(value) => Ok(value.clone()),
            ConstantValue::File(path) => {
                from_file(files, &path.value, &constant.kind).map_err(fail)
            }
        };
    }
    let found = schema.constants.iter().find(|c| c.name.value == name);
    let Some(constant) = found else {
        return Err(fail(format!("rank-profile {} has no such constant", profile.name.value)));
    };
    let kind = constant.kind.tensor().cloned().unwrap_or_else(TensorType::double);
    from_file(files, &constant.file.value, &kind).map_err(fail)
}

/// The tensor in a file of JSON.
fn from_file(files: &PackageFiles, path: &str, kind: &TensorType) -> Result<Value, String> {
    if path.ends_with(".lz4") {
        return Err(format!(
            "{path}: LZ4 is not read; unpack it to {}",
            path.trim_end_matches(".lz4")
        ));
    }
    if !path.ends_with(".json") {
        return Err(format!("{path}: expected a file of JSON with the name .json"));
    }
    let bytes = files.read(path, MAX_FILE).map_err(|e| e.to_string())?;
    let json: Json = serde_json::from_slice(&bytes).map_err(|e| format!("{path}: {e}"))?;
    from_json(kind, &json).map_err(|e| format!("{path}: {e}"))
}
