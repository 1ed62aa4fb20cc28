//! The importing half of `stead_package`, which every interpreter has without anybody installing it.

use crate::Value;

/// Its modules and their sources (`build.rs`).
const LIBRARY: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/library.in"));

/// The sources by the names of modules, as an argument of a call.
pub(crate) fn sources() -> Value {
    let module = |name: &str| match name {
        "__init__" => "stead_package".to_owned(),
        name => format!("stead_package.{name}"),
    };
    Value::Dict(LIBRARY.iter().map(|(name, source)| (module(name), (*source).into())).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The importer and what it is made of, but neither the command line nor the exporter.
    #[test]
    fn the_importer_is_there_without_the_exporter() {
        let has = |name: &str| LIBRARY.iter().any(|(other, _)| *other == name);
        assert!(has("__init__") && has("package_importer") && has("archive"));
        assert!(!has("__main__") && !has("package_exporter"));
    }
}
