//! The text of `pipeline_config_list`, by OpenVINO Model Server's schema.

use super::structure::structure;
use super::{Demultiply, PipelineEntry, REQUEST};
use crate::ConfigError;
use crate::fields::{Fields, array, bad, integer, join, string};
use serde_json::Value;

const PIPELINE: &[&str] = &["name", "inputs", "nodes", "outputs", "demultiply_count"];
const NODE: &[&str] = &[
    "name",
    "type",
    "model_name",
    "version",
    "inputs",
    "outputs",
    "demultiply_count",
    "gather_from_node",
    "library_name",
    "params",
];

/// The limit of OpenVINO Model Server's schema.
const MAX_COUNT: i64 = 10_000;

/// `{"NAME": {"node_name": NODE, "data_item": ITEM}}`.
pub(super) struct Mapping {
    pub(super) name: String,
    pub(super) node: String,
    pub(super) item: String,
    /// Below the pipeline.
    pub(super) pointer: String,
}

/// A node as it was written.
pub(super) struct Node {
    pub(super) name: String,
    pub(super) model: String,
    pub(super) version: Option<u64>,
    pub(super) inputs: Vec<Mapping>,
    /// Outputs of the model, and the names that others refer to them by.
    pub(super) outputs: Vec<(String, String)>,
    pub(super) demultiply: Option<Demultiply>,
    pub(super) gather_from: Option<String>,
    /// Below the pipeline.
    pub(super) pointer: String,
}

/// A pipeline as it was written.
pub(super) struct Draft {
    pub(super) inputs: Vec<String>,
    pub(super) demultiply: Option<Demultiply>,
    pub(super) nodes: Vec<Node>,
    pub(super) outputs: Vec<Mapping>,
}

/// Reads the list. Every name is held by the first that has it.
///
/// # Errors
/// What is wrong for OpenVINO Model Server's schema; the rest is an error of one pipeline.
pub(crate) fn pipelines(
    list: &Value,
    place: &str,
    models: &[&str],
    warnings: &mut Vec<String>,
) -> Result<Vec<PipelineEntry>, ConfigError> {
    let mut entries: Vec<PipelineEntry> = Vec::new();
    for (i, value) in array(list, place)?.iter().enumerate() {
        let pointer = join(place, &i.to_string());
        let fields = Fields::new(value, &pointer, PIPELINE)?;
        let (name, name_place) = fields.require("name")?;
        let name = string(name, &name_place)?;
        let draft = draft(&fields, &pointer, warnings)?;
        if !crate::config_json::valid_name(name) {
            let expected = "a name without slashes and colons";
            return Err(bad(&name_place, expected, &Value::from(name)));
        }
        if entries.iter().any(|e| e.name == name) {
            // As OpenVINO Model Server does.
            warnings.push(format!(
                "{name_place}: pipeline {name:?} stands in the file already; the first entry holds"
            ));
            continue;
        }
        let occupied = || ConfigError::Pipeline {
            pointer: name_place.clone(),
            text: format!("Pipeline has the same name as model {name:?}"),
        };
        let settings = match models.contains(&name) {
            true => {
                // The status of that name is the model's.
                warnings.push(occupied().to_string());
                Err(occupied())
            }
            false => draft.and_then(|draft| structure(draft, &pointer)),
        };
        if let Ok(settings) = &settings {
            let wires = settings.nodes.iter().flat_map(|n| &n.inputs).chain(&settings.outputs);
            let used: Vec<_> = wires.map(|w| w.from).collect();
            for (i, input) in settings.inputs.iter().enumerate() {
                if !used.contains(&super::Origin::Request(i)) {
                    warnings
                        .push(format!("{pointer}/inputs/{i}: input {input:?} is used by no node"));
                }
            }
        }
        entries.push(PipelineEntry { name: name.to_owned(), pointer, settings });
    }
    Ok(entries)
}

/// Reads `custom_node_library_config_list`: C libraries are never loaded, and this says so.
///
/// # Errors
/// As [`pipelines`].
pub(crate) fn libraries(
    list: &Value,
    place: &str,
    warnings: &mut Vec<String>,
) -> Result<(), ConfigError> {
    for (i, value) in array(list, place)?.iter().enumerate() {
        let fields = Fields::new(value, &join(place, &i.to_string()), &["name", "base_path"])?;
        let (name, at) = fields.require("name")?;
        let name = string(name, &at)?;
        let (base, base_at) = fields.require("base_path")?;
        string(base, &base_at)?;
        warnings.push(format!("{at}: custom node library {name:?} is not loaded: {NO_LIBRARIES}"));
    }
    Ok(())
}

const NO_LIBRARIES: &str = "libraries of C code are not run by this server";

/// A pipeline's fields. The inner error concerns the pipeline alone.
fn draft(
    fields: &Fields<'_>,
    pointer: &str,
    warnings: &mut Vec<String>,
) -> Result<Result<Draft, ConfigError>, ConfigError> {
    let relative = |place: &str| place.strip_prefix(pointer).unwrap_or(place).to_owned();
    let (list, place) = fields.require("inputs")?;
    let mut inputs = Vec::new();
    for (i, value) in array(list, &place)?.iter().enumerate() {
        inputs.push(string(value, &join(&place, &i.to_string()))?.to_owned());
    }
    let mut refused = None;
    let mut nodes = Vec::new();
    let (list, place) = fields.require("nodes")?;
    for (i, value) in array(list, &place)?.iter().enumerate() {
        let at = join(&place, &i.to_string());
        match node(value, &at, &relative, warnings)? {
            Ok(node) => nodes.push(node),
            Err(error) => refused = refused.or(Some(error)),
        }
    }
    let (list, place) = fields.require("outputs")?;
    let outputs = mappings(list, &place, &relative)?;
    let demultiply = demultiply(fields, warnings)?;
    Ok(refused.map_or(Ok(Draft { inputs, demultiply, nodes, outputs }), Err))
}

fn node(
    value: &Value,
    pointer: &str,
    relative: &dyn Fn(&str) -> String,
    warnings: &mut Vec<String>,
) -> Result<Result<Node, ConfigError>, ConfigError> {
    let fields = Fields::new(value, pointer, NODE)?;
    let text = |key: &str| -> Result<String, ConfigError> {
        let (value, place) = fields.require(key)?;
        Ok(string(value, &place)?.to_owned())
    };
    let name = text("name")?;
    let custom = match text("type")?.as_str() {
        "DL model" => false,
        "custom" => true,
        other => {
            return Err(bad(&fields.at("type"), "\"DL model\" or \"custom\"", &Value::from(other)));
        }
    };
    let (list, place) = fields.require("inputs")?;
    let inputs = mappings(list, &place, relative)?;
    let (list, place) = fields.require("outputs")?;
    let mut outputs = Vec::new();
    for (i, value) in array(list, &place)?.iter().enumerate() {
        let fields = Fields::new(value, &join(&place, &i.to_string()), &["data_item", "alias"])?;
        let (item, at) = fields.require("data_item")?;
        let item = string(item, &at)?.to_owned();
        let (alias, at) = fields.require("alias")?;
        outputs.push((item, string(alias, &at)?.to_owned()));
    }
    let demultiply = demultiply(&fields, warnings)?;
    let gather_from = match fields.get("gather_from_node") {
        Some(value) => Some(string(value, &fields.at("gather_from_node"))?.to_owned()),
        None => None,
    };
    if custom {
        let library = text("library_name")?;
        return Ok(Err(ConfigError::Unsupported {
            pointer: pointer.to_owned(),
            text: format!(
                "node {name:?} needs the custom node library {library:?}: {NO_LIBRARIES}"
            ),
        }));
    }
    if let Some(key) = ["library_name", "params"].into_iter().find(|k| fields.get(k).is_some()) {
        return Err(ConfigError::UnknownKey {
            pointer: fields.at(key),
            known: NODE[..NODE.len() - 2].join(", "),
        });
    }
    let version = match fields.get("version") {
        Some(value) => Some(integer(value, &fields.at("version"), 1, i64::MAX.unsigned_abs())?),
        None => None,
    };
    let model = text("model_name")?;
    let pointer = relative(pointer);
    Ok(Ok(Node { name, model, version, inputs, outputs, demultiply, gather_from, pointer }))
}

fn mappings(
    list: &Value,
    place: &str,
    relative: &dyn Fn(&str) -> String,
) -> Result<Vec<Mapping>, ConfigError> {
    let mut mappings = Vec::new();
    for (i, value) in array(list, place)?.iter().enumerate() {
        let at = join(place, &i.to_string());
        let object = value.as_object().filter(|o| o.len() == 1);
        let form = || bad(&at, "an object with one name and its node_name and data_item", value);
        let (name, value) = object.and_then(|o| o.iter().next()).ok_or_else(form)?;
        let at = join(&at, name);
        let fields = Fields::new(value, &at, &["node_name", "data_item"])?;
        let (node, node_at) = fields.require("node_name")?;
        let (item, item_at) = fields.require("data_item")?;
        mappings.push(Mapping {
            name: name.clone(),
            node: string(node, &node_at)?.to_owned(),
            item: string(item, &item_at)?.to_owned(),
            pointer: relative(&at),
        });
    }
    Ok(mappings)
}

fn demultiply(
    fields: &Fields<'_>,
    warnings: &mut Vec<String>,
) -> Result<Option<Demultiply>, ConfigError> {
    let Some(value) = fields.get("demultiply_count") else { return Ok(None) };
    let place = fields.at("demultiply_count");
    let count = value.as_i64().filter(|n| (-1..=MAX_COUNT).contains(n));
    let count =
        count.ok_or_else(|| bad(&place, &format!("an integer from -1 to {MAX_COUNT}"), value))?;
    if count == 0 {
        warnings.push(format!("{place}: 0 is an old form of -1, a dynamic count"));
    }
    Ok(Some(match usize::try_from(count) {
        Ok(n) if n > 0 => Demultiply::Fixed(n),
        _ => Demultiply::Dynamic,
    }))
}

/// Whether a name is taken by what every pipeline has.
pub(super) fn is_reserved(name: &str) -> bool {
    name == REQUEST || name == "response"
}

#[cfg(test)]
mod tests {
    use crate::ServerConfig;

    fn file(pipelines: &str) -> String {
        format!(
            r#"{{"model_config_list": [{{"config": {{"name": "m", "base_path": "m"}}}}],
                "custom_node_library_config_list": [{{"name": "lib", "base_path": "/lib.so"}}],
                "pipeline_config_list": [{pipelines}]}}"#
        )
    }

    fn pipeline(name: &str, node: &str) -> String {
        format!(
            r#"{{"name": "{name}", "inputs": ["x"], "nodes": [{{"name": "a",
                "inputs": [{{"in": {{"node_name": "request", "data_item": "x"}}}}],
                "outputs": [{{"data_item": "out", "alias": "y"}}], {node}}}],
                "outputs": [{{"z": {{"node_name": "a", "data_item": "y"}}}}]}}"#
        )
    }

    #[test]
    fn errors_of_one_pipeline() {
        let model = r#""type": "DL model", "model_name": "m", "version": 2"#;
        let custom = r#""type": "custom", "library_name": "lib", "params": {"n": "1"}"#;
        let list = [pipeline("p", model), pipeline("c", custom), pipeline("m", model)].join(",");
        let config = ServerConfig::parse(file(&list).as_bytes()).unwrap();
        let [p, c, m] = config.pipelines.as_slice() else { panic!("three") };
        assert_eq!(p.settings.as_ref().unwrap().nodes[0].version, Some(2));
        let text = |e: &super::PipelineEntry| e.settings.as_ref().unwrap_err().to_string();
        assert_eq!(
            text(c),
            "/pipeline_config_list/1/nodes/0 is not supported: node \"a\" needs the custom node library \
             \"lib\": libraries of C code are not run by this server"
        );
        assert_eq!(
            text(m),
            "/pipeline_config_list/2/name: Pipeline has the same name as model \"m\""
        );
        assert!(config.warnings[0].contains("custom node library \"lib\" is not loaded"));
        let twice = file(&[pipeline("p", model), pipeline("p", model)].join(","));
        let config = ServerConfig::parse(twice.as_bytes()).unwrap();
        assert_eq!((config.pipelines.len(), config.warnings.len()), (1, 2));
    }

    #[test]
    fn files_that_change_nothing() {
        let at = "/pipeline_config_list/0/nodes/0";
        let cases = [
            ("type", r#""type": "model""#, "type must be \"DL model\" or \"custom\""),
            ("no type", r#""model_name": "m""#, "type"),
            ("no model", r#""type": "DL model""#, "model_name"),
            ("no library", r#""type": "custom""#, "library_name"),
            (
                "key",
                r#""type": "DL model", "model_name": "m", "modle": 1"#,
                "modle; known here: name,",
            ),
            (
                "library of a model",
                r#""type": "DL model", "model_name": "m", "library_name": "l""#,
                "library_name; known here: name,",
            ),
            (
                "count",
                r#""type": "DL model", "model_name": "m", "demultiply_count": -2"#,
                "demultiply_count must be an integer from -1 to 10000, got -2",
            ),
            (
                "version",
                r#""type": "DL model", "model_name": "m", "version": 0"#,
                "version must be an integer from 1 to",
            ),
        ];
        for (label, node, expected) in cases {
            let text = file(&pipeline("p", node));
            let error = ServerConfig::parse(text.as_bytes()).unwrap_err().to_string();
            assert!(error.contains(&format!("{at}/{expected}")), "{label}: {error}");
        }
        let two = r#"{"name": "p", "inputs": [], "nodes": [], "outputs": [{"a": {}, "b": {}}]}"#;
        let error = ServerConfig::parse(file(two).as_bytes()).unwrap_err().to_string();
        assert!(
            error.starts_with("/pipeline_config_list/0/outputs/0 must be an object"),
            "{error}"
        );
    }
}
