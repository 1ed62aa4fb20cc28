//! `mapping_config.json`: other names for a model version's inputs and outputs.

use crate::fields::{Fields, bad, join, string};
use crate::{ConfigError, json};
use std::collections::BTreeMap;

/// Names of tensors in the model to the names that clients use.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct NameMapping {
    /// Of inputs.
    pub inputs: BTreeMap<String, String>,
    /// Of outputs.
    pub outputs: BTreeMap<String, String>,
}

impl NameMapping {
    /// Reads the file's text.
    ///
    /// # Errors
    /// [`ConfigError`], among others when two tensors get one name.
    pub fn parse(bytes: &[u8]) -> Result<NameMapping, ConfigError> {
        let value = json::parse(bytes)?;
        let fields = Fields::new(&value, "", &["inputs", "outputs"])?;
        let read = |key: &str| -> Result<BTreeMap<String, String>, ConfigError> {
            let Some(value) = fields.get(key) else { return Ok(BTreeMap::new()) };
            let pointer = fields.at(key);
            let object = value.as_object().ok_or_else(|| bad(&pointer, "an object", value))?;
            let mut names: BTreeMap<String, String> = BTreeMap::new();
            for (tensor, alias) in object {
                let place = join(&pointer, tensor);
                let name = string(alias, &place)?;
                if name.is_empty() || names.values().any(|n| n == name) {
                    return Err(bad(&place, "a name of its own", alias));
                }
                names.insert(tensor.clone(), name.to_owned());
            }
            Ok(names)
        };
        Ok(NameMapping { inputs: read("inputs")?, outputs: read("outputs")? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_and_clashes_refused() {
        let good = br#"{"inputs": {"tensor_0": "image"}, "outputs": {"y": "score"}}"#;
        let mapping = NameMapping::parse(good).unwrap();
        assert_eq!(mapping.inputs["tensor_0"], "image");
        assert_eq!(mapping.outputs["y"], "score");
        for bad in
            [r#"{"inputs": {"a": "x", "b": "x"}}"#, r#"{"input": {}}"#, r#"{"inputs": {"a": 1}}"#]
        {
            assert!(NameMapping::parse(bad.as_bytes()).is_err(), "{bad}");
        }
    }
}
