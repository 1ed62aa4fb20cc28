//! Recipes of packages.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::text_of;
use crate::failure::Failure;

/// What `stead_package.export.recipe` reads as JSON. Maps are sorted, lists keep their order.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Recipe {
    /// Folders in which modules are found.
    path: Vec<String>,
    /// What becomes of modules.
    rules: Vec<Rule>,
    /// Modules that are packaged whatever imports them.
    modules: Vec<String>,
    /// `package/resource.pkl` to `module:object` or `module:function()`.
    pickles: BTreeMap<String, String>,
    /// `package/resource` to a file.
    files: BTreeMap<String, String>,
    /// Names to `module:attribute` or `package/resource.pkl[:attribute]`.
    entry_points: BTreeMap<String, String>,
    examples: Vec<Example>,
    /// Wheels, or names of installed distributions.
    bundles: Vec<String>,
    requires_python: Option<String>,
    environment: Option<String>,
}

#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Rule {
    intern: Vec<String>,
    r#extern: Vec<String>,
    mock: Vec<String>,
    deny: Vec<String>,
    exclude: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    allow_empty: Option<bool>,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Example {
    name: String,
    entry_point: String,
    /// A table of keyword arguments, an array of positional ones, or `module:object`.
    inputs: toml::Value,
    rtol: Option<f64>,
    atol: Option<f64>,
}

impl Recipe {
    /// Reads a file; what it names is relative to it.
    pub(super) fn read(path: &Path) -> Result<Recipe, Failure> {
        let failed =
            |error: &dyn std::fmt::Display| Failure::failed(format!("{}: {error}", path.display()));
        let text = std::fs::read_to_string(path).map_err(|e| failed(&e))?;
        let mut recipe: Recipe = toml::from_str(&text).map_err(|e| failed(&e))?;
        recipe.check().map_err(|e| failed(&e))?;
        let path = std::path::absolute(path).map_err(|e| failed(&e))?;
        let folder = path.parent().unwrap_or(Path::new("/"));
        let beside = |name: &mut String| -> Result<(), Failure> {
            *name = text_of(&folder.join(&*name))?.to_owned();
            Ok(())
        };
        if recipe.path.is_empty() {
            recipe.path.push(".".to_owned());
        }
        recipe.path.iter_mut().chain(recipe.files.values_mut()).try_for_each(beside)?;
        let wheels = recipe.bundles.iter_mut().filter(|name| name.ends_with(".whl"));
        wheels.into_iter().try_for_each(beside)?;
        Ok(recipe)
    }

    fn check(&self) -> Result<(), String> {
        for (i, rule) in self.rules.iter().enumerate() {
            let actions = [&rule.intern, &rule.r#extern, &rule.mock, &rule.deny];
            if actions.iter().filter(|patterns| !patterns.is_empty()).count() != 1 {
                let one = "has exactly one of intern, extern, mock and deny, a list of patterns";
                return Err(format!("rule {}: {one}", i + 1));
            }
            if !rule.deny.is_empty() && rule.allow_empty.is_some() {
                return Err(format!("rule {}: deny has no allow_empty", i + 1));
            }
        }
        for example in &self.examples {
            let inputs = &example.inputs;
            if !(inputs.is_table() || inputs.is_array() || inputs.is_str()) {
                let what = "a table, an array, or a text \"module:object\"";
                return Err(format!("example {:?}: inputs are {what}", example.name));
            }
        }
        Ok(())
    }

    /// Adds entry points `[NAME=]module:attribute`.
    pub(super) fn add_targets(&mut self, targets: &[String]) -> Result<(), Failure> {
        for text in targets {
            let (name, target) = text.split_once('=').unwrap_or(("", text));
            let attribute = target.split_once(':').map_or("", |(_, attribute)| attribute);
            if attribute.is_empty() {
                let text = format!("`{text}`: write [NAME=]module:attribute");
                return Err(Failure::usage(text));
            }
            let last = attribute.rsplit('.').next().unwrap_or(attribute);
            let name = if name.is_empty() { last } else { name };
            if self.entry_points.insert(name.to_owned(), target.to_owned()).is_some() {
                return Err(Failure::usage(format!("there are two entry points named {name}")));
            }
        }
        Ok(())
    }

    /// Adds rules `action=pattern` behind those that are there.
    pub(super) fn add_rules(&mut self, rules: &[String]) -> Result<(), Failure> {
        for text in rules {
            let mut rule = Rule::default();
            let patterns = match text.split_once('=') {
                Some(("intern", pattern)) => (&mut rule.intern, pattern),
                Some(("extern", pattern)) => (&mut rule.r#extern, pattern),
                Some(("mock", pattern)) => (&mut rule.mock, pattern),
                Some(("deny", pattern)) => (&mut rule.deny, pattern),
                _ => {
                    let form = "write intern, extern, mock or deny=PATTERN";
                    return Err(Failure::usage(format!("--rule `{text}`: {form}")));
                }
            };
            patterns.0.push(patterns.1.to_owned());
            self.rules.push(rule);
        }
        Ok(())
    }

    /// Puts folders before those in which modules are found.
    pub(super) fn add_folders(&mut self, folders: &[PathBuf]) -> Result<(), Failure> {
        for (i, folder) in folders.iter().enumerate() {
            let folder = std::path::absolute(folder).map_err(Failure::failed)?;
            self.path.insert(i, text_of(&folder)?.to_owned());
        }
        Ok(())
    }

    /// For Python.
    pub(super) fn to_json(&self) -> Result<String, Failure> {
        serde_json::to_string(self).map_err(Failure::failed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Recipe, String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("shop.toml");
        std::fs::write(&path, text).unwrap();
        let shown = format!("{}", folder.path().display());
        Recipe::read(&path).map_err(|e| e.to_string().replace(&shown, "."))
    }

    #[test]
    fn what_a_recipe_names_is_beside_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("shop.toml");
        let text =
            "bundles = [\"own.whl\", \"numpy\"]\n[files]\n\"data/words.txt\" = \"words.txt\"\n";
        std::fs::write(&path, text).unwrap();
        let recipe = Recipe::read(&path).unwrap();
        let beside = |name: &str| folder.path().join(name).display().to_string();
        assert_eq!(recipe.path, [beside(".")]);
        assert_eq!(recipe.files["data/words.txt"], beside("words.txt"));
        assert_eq!(recipe.bundles, [beside("own.whl"), "numpy".into()]);
    }

    #[test]
    fn mistakes_are_named() {
        let cases = [
            ("entrypoints = 1", "unknown field `entrypoints`"),
            ("rules = [{}]", "rule 1: has exactly one of"),
            ("rules = [{ intern = [\"a\"], mock = [\"b\"] }]", "rule 1: has exactly one of"),
            (
                "rules = [{ deny = [\"a\"], allow_empty = false }]",
                "rule 1: deny has no allow_empty",
            ),
            (
                "[[examples]]\nname = \"a\"\nentry_point = \"b\"\ninputs = 1",
                "example \"a\": inputs are",
            ),
        ];
        for (text, expected) in cases {
            let error = read(text).unwrap_err();
            assert!(error.contains(expected) && error.contains("shop.toml"), "{error}");
        }
        let mut recipe = Recipe::default();
        let mut target =
            |text: &str| recipe.add_targets(&[text.to_owned()]).map_err(|e| e.to_string());
        assert_eq!(target("shop.net:Model.score"), Ok(()));
        assert_eq!(target("score=a:b"), Err("there are two entry points named score".into()));
        assert_eq!(target("shop.net"), Err("`shop.net`: write [NAME=]module:attribute".into()));
        let rule = recipe.add_rules(&["keep=a".into()]).map_err(|e| e.to_string());
        assert!(rule.unwrap_err().contains("write intern, extern, mock or deny=PATTERN"));
    }
}
