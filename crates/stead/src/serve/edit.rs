//! The flags of OpenVINO Model Server that look at a repository or change a config file and exit.

use std::path::{Path, PathBuf};

use clap::ArgMatches;
use serde_json::{Value, json};

use super::flags::text;
use super::values::switch;
use crate::failure::Failure;

/// Does what `--list_models`, `--add_to_config` or `--remove_from_config` ask for and tells what it did;
/// `None` without any of them.
///
/// # Errors
/// [`Failure::Usage`] for flags that are missing or exclude each other.
pub fn run(matches: &ArgMatches) -> Result<Option<String>, Failure> {
    let (list, add, remove) = (
        switch(matches, "list_models")?,
        switch(matches, "add_to_config")?,
        switch(matches, "remove_from_config")?,
    );
    let repository = text(matches, "model_repository_path").map(PathBuf::from);
    match (list, add, remove) {
        (false, false, false) if repository.is_none() => Ok(None),
        (false, false, false) => Err(Failure::usage(
            "--model_repository_path goes with --list_models, --add_to_config or --remove_from_config",
        )),
        (true, false, false) => {
            let folder = repository
                .ok_or_else(|| Failure::usage("--list_models needs --model_repository_path"))?;
            let names = models(&folder).map_err(|e| failed(&folder, &e))?;
            Ok(Some(format!("available models:\n{}", names.join("\n"))))
        }
        (false, true, false) | (false, false, true) => {
            let config = text(matches, "config_path").map(PathBuf::from);
            let config =
                config.or_else(|| repository.as_ref().map(|folder| folder.join("config.json")));
            let config = config.ok_or_else(|| {
                Failure::usage("give the config file with --config_path or --model_repository_path")
            })?;
            let name =
                text(matches, "model_name").ok_or_else(|| Failure::usage("give --model_name"))?;
            let given = text(matches, "model_path").map(str::to_owned);
            let base_path =
                given.or_else(|| repository.map(|f| f.join(name).to_string_lossy().into_owned()));
            change(&config, name, add.then_some(base_path))?;
            Ok(Some(format!("config updated: {}", config.display())))
        }
        _ => Err(Failure::usage(
            "--list_models, --add_to_config and --remove_from_config exclude each other",
        )),
    }
}

/// Names of the folders that hold a version folder with an `.onnx` file, one level of nesting allowed
/// (`group/model`).
fn models(folder: &Path) -> std::io::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in folders(folder)? {
        if is_model(&entry)? {
            names.push(name_of(&entry));
        } else {
            for inner in folders(&entry)? {
                if is_model(&inner)? {
                    names.push(format!("{}/{}", name_of(&entry), name_of(&inner)));
                }
            }
        }
    }
    Ok(names)
}

fn folders(folder: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut found: Vec<PathBuf> = std::fs::read_dir(folder)?
        .filter_map(|e| Some(e.ok()?.path()))
        .filter(|p| p.is_dir())
        .collect();
    found.sort();
    Ok(found)
}

fn is_model(folder: &Path) -> std::io::Result<bool> {
    let is_version = |path: &PathBuf| name_of(path).parse::<u64>().is_ok_and(|n| n > 0);
    for version in folders(folder)?.into_iter().filter(is_version) {
        let mut files = std::fs::read_dir(version)?.filter_map(Result::ok);
        if files.any(|f| stead_formats::Format::of(&f.path()).is_some()) {
            return Ok(true);
        }
    }
    Ok(false)
}

fn name_of(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// Adds the model (`Some` base path) or removes it. The new file replaces the old one at once, so that a
/// server that reads it never sees half of it.
fn change(path: &Path, name: &str, add: Option<Option<String>>) -> Result<(), Failure> {
    let mut config: Value = match std::fs::read(path) {
        Ok(bytes) => serde_json::from_slice(&bytes).map_err(|e| failed(path, &e))?,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound && add.is_some() => json!({}),
        Err(e) => return Err(failed(path, &e)),
    };
    let object = config.as_object_mut().ok_or_else(|| failed(path, &"not a JSON object"))?;
    let list = object.entry("model_config_list").or_insert_with(|| json!([]));
    let list = list.as_array_mut().ok_or_else(|| failed(path, &"model_config_list is no array"))?;
    let before = list.len();
    list.retain(|entry| entry["config"]["name"] != name);
    match add {
        Some(base_path) => {
            let base_path = base_path.ok_or_else(|| Failure::usage("give --model_path"))?;
            list.push(json!({"config": {"name": name, "base_path": base_path}}));
        }
        None if list.len() == before => {
            return Err(failed(path, &format!("there is no model `{name}`")));
        }
        None => {}
    }
    let text = serde_json::to_string_pretty(&config).map_err(|e| failed(path, &e))?;
    let beside = path.with_extension("json.new");
    std::fs::write(&beside, text + "\n").map_err(|e| failed(&beside, &e))?;
    std::fs::rename(&beside, path).map_err(|e| failed(path, &e))
}

fn failed(path: &Path, error: &dyn std::fmt::Display) -> Failure {
    Failure::failed(format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::super::flags::command;
    use super::*;

    fn edit(line: &str) -> Result<Option<String>, Failure> {
        let args = std::iter::once("serve").chain(line.split_whitespace());
        run(&command().get_matches_from(args))
    }

    #[test]
    fn a_config_file_is_made_changed_and_emptied() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().display().to_string();
        std::fs::create_dir_all(folder.path().join("bert/1")).unwrap();
        std::fs::write(folder.path().join("bert/1/model.onnx"), "").unwrap();
        std::fs::create_dir_all(folder.path().join("empty/1")).unwrap();
        let list = edit(&format!("--list_models --model_repository_path {root}"));
        assert_eq!(list, Ok(Some("available models:\nbert".to_owned())));

        edit(&format!("--add_to_config --model_repository_path {root} --model_name bert")).unwrap();
        edit(&format!(
            "--add_to_config --config_path {root}/config.json --model_name m --model_path /x"
        ))
        .unwrap();
        let read = || -> Value {
            serde_json::from_slice(&std::fs::read(folder.path().join("config.json")).unwrap())
                .unwrap()
        };
        assert_eq!(read()["model_config_list"][0]["config"]["base_path"], format!("{root}/bert"));
        assert_eq!(read()["model_config_list"][1]["config"]["base_path"], "/x");
        edit(&format!("--remove_from_config --config_path {root}/config.json --model_name bert"))
            .unwrap();
        assert_eq!(read()["model_config_list"].as_array().unwrap().len(), 1);
        let again = edit(&format!(
            "--remove_from_config --config_path {root}/config.json --model_name bert"
        ));
        assert!(matches!(again, Err(Failure::Failed(_))));
    }

    #[test]
    fn flags_that_make_no_sense_together() {
        for line in
            ["--list_models", "--model_repository_path /", "--add_to_config --remove_from_config"]
        {
            assert!(matches!(edit(line), Err(Failure::Usage(_))), "{line}");
        }
        assert_eq!(edit("models"), Ok(None));
    }
}
