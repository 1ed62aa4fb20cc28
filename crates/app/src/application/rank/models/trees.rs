//! Tree models in the files of a package.

use stead_trees::{Difference, Feature, Library, Model, ReadOptions, feature_names, read};

use crate::application::rank::compile::TreeFacts;
use crate::application::rank::uses::TreeLibrary;
use crate::package::PackageFiles;

/// The largest file of trees that is read: some million leaves.
const MAX_TREES: u64 = 1 << 30;

/// The tree model in a file of `models/`. Names of features come from `<model>-features.txt` where that is beside it.
///
/// # Errors
/// What is wrong with the file.
pub fn read_trees(files: &PackageFiles, library: TreeLibrary, file: &str) -> Result<Model, String> {
    let (model, is_of) = read_any_trees(files, file)?;
    if is_of != library {
        return Err(format!(
            "models/{file} is a model of {}; write {is_of}(\"{file}\")",
            is_of.title()
        ));
    }
    Ok(model)
}

/// The same of either library, and of which.
///
/// # Errors
/// What is wrong with the file.
pub fn read_any_trees(files: &PackageFiles, file: &str) -> Result<(Model, TreeLibrary), String> {
    let path = format!("models/{file}");
    if !files.has(&path) {
        return Err(format!("the package has no file {path}"));
    }
    let mut options = ReadOptions::default();
    let stem = path.rsplit_once('.').map_or(path.as_str(), |(stem, _)| stem);
    let names = format!("{stem}-features.txt");
    if files.has(&names) {
        let text = files.text(&names).map_err(|e| e.to_string())?;
        options.feature_names = Some(feature_names(&text));
    }
    let bytes = files.read(&path, MAX_TREES).map_err(|e| e.to_string())?;
    let model = read(&bytes, &options).map_err(|e| format!("{path}: {e}"))?;
    let is_of = match model.library() {
        Library::XgBoost => TreeLibrary::XgBoost,
        Library::LightGbm => TreeLibrary::LightGbm,
    };
    Ok((model, is_of))
}

/// What a model of trees takes and gives. Features without a name are called as Vespa calls them.
pub fn tree_facts(model: &Model) -> TreeFacts {
    let name = |(at, feature): (usize, &Feature)| match (feature.used, &feature.name) {
        (false, _) => String::new(),
        (true, name) if name.is_empty() => format!("xgboost_input_{at}"),
        (true, name) => name.clone(),
    };
    let features = model.features().iter().enumerate().map(name).collect();
    // What Vespa cannot read has the scores of the library.
    let differs = |d: &&Difference| !matches!(d, Difference::NotInVespa { .. });
    let differences = model.differences();
    let differences = differences.iter().filter(differs).map(ToString::to_string).collect();
    TreeFacts { features, outputs: model.outputs(), differences }
}
