//! Constants: in the schema, or in files of the package.

use stead_app::application::{ConstantValue, RankProfile, Schema, read_constant};
use stead_app::package::PackageFiles;
use stead_expr::{TensorType, Value};

use super::error::RankError;

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
                read_constant(files, &path.value, &constant.kind).map_err(fail)
            }
        };
    }
    let found = schema.constants.iter().find(|c| c.name.value == name);
    let Some(constant) = found else {
        return Err(fail(format!("rank-profile {} has no such constant", profile.name.value)));
    };
    let kind = constant.kind.tensor().cloned().unwrap_or_else(TensorType::double);
    read_constant(files, &constant.file.value, &kind).map_err(fail)
}
