//! The importing half of `stead_package`, which every interpreter has without anybody installing it.

use crate::Value;

macro_rules! library {
    ($($name:literal,)*) => {
        /// Modules of the library and their sources.
        const LIBRARY: &[(&str, &str)] = &[$((
            $name,
            include_str!(concat!("../../../python/stead_package/src/stead_package/", $name, ".py")),
        ),)*];
    };
}

library! {
    "__init__",
    "archive",
    "bundles",
    "contents",
    "directory",
    "dtypes",
    "environment",
    "errors",
    "examples",
    "glob_group",
    "importer",
    "importlib_facade",
    "inspection",
    "mangling",
    "manifest",
    "mock_module",
    "module_source",
    "module_table",
    "names",
    "package_importer",
    "resources",
    "standard_library",
    "tensors",
    "torch_archive",
    "unpickler",
    "wheel_tags",
    "zip_entries",
}

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

    /// All of it but the command line and the exporter.
    #[test]
    fn no_file_of_the_importer_is_missing() {
        let folder =
            concat!(env!("CARGO_MANIFEST_DIR"), "/../../python/stead_package/src/stead_package");
        let files = std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().file_name());
        let mut found: Vec<String> =
            files.filter_map(|name| Some(name.to_str()?.strip_suffix(".py")?.to_owned())).collect();
        found.retain(|name| name != "__main__");
        found.sort();
        let listed: Vec<&str> = LIBRARY.iter().map(|(name, _)| *name).collect();
        assert_eq!(found, listed);
    }
}
