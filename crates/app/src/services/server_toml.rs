//! `stead.toml` of a server: components in Python beside models, without an application package.
//!
//! One table says which keys there are; messages and the page `docs/components.md` come from it. What is written becomes the
//! elements of `services.xml` that say the same, so that both are read, and refused, by the same code.

use std::collections::HashMap;
use std::fmt::Write as _;

use serde_json::{Map, Value};

use super::{Services, ServicesOptions, read_services};
use crate::ConfigError;
use crate::components::{Setting, Settings};
use crate::fields::{bad, join, string};
use crate::json::parse_toml;
use crate::package::{Located, Place, Report};
use crate::xml::XmlElement;

/// The file.
pub const SERVER_TOML: &str = "stead.toml";

/// A key of a table.
struct Key {
    table: &'static str,
    name: &'static str,
    kind: &'static str,
    default: &'static str,
    doc: &'static str,
    becomes: Becomes,
}

/// What a key is in `services.xml`.
#[derive(Clone, Copy)]
enum Becomes {
    Attribute(&'static str),
    /// An element for each text of a list.
    Elements(&'static str),
    /// What a component is given.
    Settings,
}

/// The table of each element, and whether there may be several.
const TABLES: [(&str, &str); 3] = [
    ("python.packages", "package"),
    ("python.handlers", "handler"),
    ("python.components", "component"),
];

const fn key(
    table: &'static str,
    [name, kind, default, doc]: [&'static str; 4],
    becomes: Becomes,
) -> Key {
    Key { table, name, kind, default, doc, becomes }
}

const NEEDED: &str = "must be given";
const CLASS: &str = "The class, which is in `python/` beside the file.";
const GIVEN: &str =
    "What the class is given. A table with nothing but `path` is a file below `python/`.";

const KEYS: &[Key] = &[
    key(
        "python",
        [
            "timeout",
            "seconds, up to 3600",
            "10",
            "How long a request may take in all, waiting for an interpreter too.",
        ],
        Becomes::Attribute("timeout"),
    ),
    key(
        "python",
        [
            "start_timeout",
            "seconds, up to 3600",
            "120",
            "How long all components together may take to be created.",
        ],
        Becomes::Attribute("start-timeout"),
    ),
    key(
        "python.packages",
        ["name", "text", NEEDED, "A package in `python/`."],
        Becomes::Attribute("name"),
    ),
    key(
        "python.packages",
        ["isolation", "`in-process` or `process`", "in-process", "Where its interpreters run."],
        Becomes::Attribute("isolation"),
    ),
    key(
        "python.packages",
        [
            "environment",
            "text",
            "the server's Python",
            "A virtual environment in the folder of `--python_environments`.",
        ],
        Becomes::Attribute("environment"),
    ),
    key("python.handlers", ["id", "text", "the class", "Its name."], Becomes::Attribute("id")),
    key(
        "python.handlers",
        ["class", "`module:Class`", NEEDED, CLASS],
        Becomes::Attribute("python"),
    ),
    key(
        "python.handlers",
        ["bindings", "list of texts", "[]", "The requests that it gets, `http://*/greet/{name}`."],
        Becomes::Elements("binding"),
    ),
    key("python.handlers", ["settings", "table", "{}", GIVEN], Becomes::Settings),
    key("python.components", ["id", "text", "the class", "Its name."], Becomes::Attribute("id")),
    key(
        "python.components",
        ["class", "`module:Class`", NEEDED, CLASS],
        Becomes::Attribute("python"),
    ),
    key("python.components", ["settings", "table", "{}", GIVEN], Becomes::Settings),
];

/// Reads the text of a `stead.toml` of a server: one container with the components.
pub fn read_server_toml(text: &str, report: &mut Report) -> Services {
    let place = Place::file(SERVER_TOML);
    let mut given = HashMap::new();
    let container = match parse_toml(text).and_then(|value| container(&value, &mut given)) {
        Ok(container) => container,
        Err(error) => {
            report.error(&place, error.to_string());
            return Services::default();
        }
    };
    let mut services = read_services(&container, ServicesOptions::default(), report);
    for component in services.containers.iter_mut().flat_map(|container| &mut container.python) {
        component.settings.extend(given.remove(&component.id));
    }
    services
}

/// Whether a `stead.toml` is one of a server: those of models have no table `python`. One that cannot be read may be.
#[must_use]
pub fn is_server_toml(text: &str) -> bool {
    parse_toml(text).map_or(true, |value| value.get("python").is_some())
}

fn element(name: &str) -> XmlElement {
    XmlElement {
        name: name.to_owned(),
        place: Place::file(SERVER_TOML),
        attributes: Vec::new(),
        children: Vec::new(),
        text: String::new(),
    }
}

fn attribute(element: &mut XmlElement, name: &str, value: String) {
    let value = Located::new(value, element.place.clone());
    element.attributes.push((name.to_owned(), value));
}

/// The keys of a table, and of those within it.
fn known(table: &str) -> Vec<&'static str> {
    let own = KEYS.iter().filter(|key| key.table == table).map(|key| key.name);
    let within = TABLES.iter().filter_map(|(name, _)| name.strip_prefix(table)?.strip_prefix('.'));
    let mut names: Vec<&str> = own.chain(within).collect();
    if table.is_empty() {
        names.push("python");
    }
    names
}

fn table<'v>(
    value: &'v Value,
    pointer: &str,
    name: &str,
) -> Result<&'v Map<String, Value>, ConfigError> {
    let map = value.as_object().ok_or_else(|| bad(pointer, "a table", value))?;
    let known = known(name);
    match map.keys().find(|key| !known.contains(&key.as_str())) {
        Some(key) => {
            Err(ConfigError::UnknownKey { pointer: join(pointer, key), known: known.join(", ") })
        }
        None => Ok(map),
    }
}

/// The element `container` that says the same.
fn container(
    value: &Value,
    given: &mut HashMap<String, Settings>,
) -> Result<XmlElement, ConfigError> {
    let mut container = element("container");
    let Some(python) = table(value, "", "")?.get("python") else { return Ok(container) };
    let map = table(python, "/python", "python")?;
    let mut options = element("python");
    put(map, "/python", "python", &mut options)?;
    for (path, name) in TABLES {
        let key = path.rsplit('.').next().unwrap_or_default();
        let pointer = join("/python", key);
        let Some(list) = map.get(key) else { continue };
        let list = list.as_array().ok_or_else(|| bad(&pointer, "a list of tables", list))?;
        for (i, value) in list.iter().enumerate() {
            let pointer = join(&pointer, &i.to_string());
            let map = table(value, &pointer, path)?;
            let mut inner = element(name);
            put(map, &pointer, path, &mut inner)?;
            if name == "package" {
                options.children.push(inner);
                continue;
            }
            if let Some(settings) = map.get("settings") {
                let id = inner.attribute("id").or(inner.attribute("python")).unwrap_or_default();
                given.insert(id.to_owned(), of_component(settings, &join(&pointer, "settings"))?);
            }
            container.children.push(inner);
        }
    }
    container.children.push(options);
    Ok(container)
}

/// Puts what is given by the keys of a table into an element.
fn put(
    map: &Map<String, Value>,
    pointer: &str,
    table: &str,
    to: &mut XmlElement,
) -> Result<(), ConfigError> {
    for key in KEYS.iter().filter(|key| key.table == table) {
        let pointer = join(pointer, key.name);
        let Some(value) = map.get(key.name) else {
            if key.default == NEEDED {
                return Err(ConfigError::Missing { pointer });
            }
            continue;
        };
        match key.becomes {
            Becomes::Attribute(name) => {
                let text = match value {
                    Value::Number(number) if key.kind.starts_with("seconds") => number.to_string(),
                    value => string(value, &pointer)?.to_owned(),
                };
                attribute(to, name, text);
            }
            Becomes::Elements(name) => {
                let list =
                    value.as_array().ok_or_else(|| bad(&pointer, "a list of texts", value))?;
                for (i, value) in list.iter().enumerate() {
                    let mut inner = element(name);
                    inner.text = string(value, &join(&pointer, &i.to_string()))?.to_owned();
                    to.children.push(inner);
                }
            }
            Becomes::Settings => {}
        }
    }
    Ok(())
}

fn of_component(value: &Value, pointer: &str) -> Result<Settings, ConfigError> {
    let map = value.as_object().ok_or_else(|| bad(pointer, "a table", value))?;
    let (name, place) = ("settings".to_owned(), Place::file(SERVER_TOML));
    Ok(Settings { name, values: members(map), place })
}

fn members(map: &Map<String, Value>) -> Vec<(String, Setting)> {
    map.iter().map(|(name, value)| (name.clone(), setting(value))).collect()
}

/// As deep as the file nests, which has a limit.
fn setting(value: &Value) -> Setting {
    match value {
        Value::Bool(value) => Setting::Bool(*value),
        Value::Number(number) => match number.as_i64() {
            Some(number) => Setting::Int(number),
            None => Setting::Float(number.as_f64().unwrap_or_default()),
        },
        Value::String(text) => Setting::Text(text.clone()),
        Value::Array(list) => Setting::List(list.iter().map(setting).collect()),
        Value::Object(map) => match map.get("path") {
            Some(Value::String(path)) if map.len() == 1 => Setting::File(path.clone()),
            _ => Setting::Map(members(map)),
        },
        // TOML has none.
        Value::Null => Setting::Text(String::new()),
    }
}

/// The table of keys as Markdown.
pub fn server_toml_markdown() -> String {
    let mut text =
        String::from("| table | key | type | default | what it says |\n|---|---|---|---|---|\n");
    for key in KEYS {
        let brackets = if key.table == "python" { ("[", "]") } else { ("[[", "]]") };
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "| `{}{}{}` | `{}` | {} | {} | {} |",
            brackets.0, key.table, brackets.1, key.name, key.kind, key.default, key.doc
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::components::{Isolation, PythonKind};

    fn read(text: &str) -> (Services, Vec<String>) {
        let mut report = Report::default();
        let services = read_server_toml(text, &mut report);
        (services, report.diagnostics().iter().map(ToString::to_string).collect())
    }

    #[test]
    fn components_are_those_of_services_xml() {
        let (services, told) = read(
            r#"
[python]
timeout = 0.5
start_timeout = "60 s"

[[python.packages]]
name = "shop"
isolation = "process"
environment = "torch"

[[python.handlers]]
id = "greet"
class = "shop:Greet"
bindings = ["http://*/greet/{name}", "http://*/hello"]
settings = { greeting = "Hello", times = 2, loud = true, share = 0.5, words = [], file = { path = "python/w.txt" }, deep = { a = ["b"] } }

[[python.components]]
class = "shop.net:Score"
"#,
        );
        assert_eq!(told, [""; 0]);
        let [container] = services.containers.as_slice() else { panic!("{services:?}") };
        let options = &container.python_options;
        assert_eq!((options.timeout.as_millis(), options.start_timeout.as_secs()), (500, 60));
        let package = &options.packages[0];
        assert_eq!(
            (package.name.as_str(), package.isolation, package.environment.as_deref()),
            ("shop", Isolation::Process, Some("torch"))
        );
        let [greet, score] = container.python.as_slice() else { panic!("{container:?}") };
        assert_eq!((greet.id.as_str(), greet.kind), ("greet", PythonKind::Handler));
        assert_eq!((score.id.as_str(), score.kind), ("shop.net:Score", PythonKind::Component));
        let bindings: Vec<String> = greet.bindings.iter().map(|b| b.value.to_string()).collect();
        assert_eq!(bindings, ["http://*/greet/{name}", "http://*/hello"]);
        let text = |text: &str| Setting::Text(text.to_owned());
        let deep = Setting::Map(vec![("a".to_owned(), Setting::List(vec![text("b")]))]);
        let expected = [
            ("deep", deep),
            ("file", Setting::File("python/w.txt".to_owned())),
            ("greeting", text("Hello")),
            ("loud", Setting::Bool(true)),
            ("share", Setting::Float(0.5)),
            ("times", Setting::Int(2)),
            ("words", Setting::List(Vec::new())),
        ];
        let mut found = greet.settings[0].values.clone();
        found.sort_by(|(a, _), (b, _)| a.cmp(b));
        assert_eq!(found, expected.map(|(name, value)| (name.to_owned(), value)));
        assert!(score.settings.is_empty());
        assert_eq!(read("").0.containers.len(), 1);
        for (text, expected) in
            [("", false), ("max_batch_size = 1", false), ("[python]", true), ("a = ", true)]
        {
            assert_eq!(is_server_toml(text), expected, "{text}");
        }
    }

    #[test]
    fn what_is_wrong_is_told() {
        let handler = |inner: &str| format!("[[python.handlers]]\nclass = \"p:H\"\n{inner}");
        for (text, expected) in [
            ("a = ".to_owned(), "the file is not valid TOML"),
            ("max_batch_size = 1".to_owned(), "unknown key /max_batch_size; known here: python"),
            (
                "[python]\ntimeouts = 1".to_owned(),
                "unknown key /python/timeouts; known here: timeout, start_timeout, packages, handlers, components",
            ),
            ("[python]\ntimeout = true".to_owned(), "/python/timeout must be a string"),
            ("[python]\ntimeout = -1".to_owned(), "timeout of python must be seconds up to 3600"),
            ("[python.handlers]".to_owned(), "/python/handlers must be a list of tables"),
            ("[[python.handlers]]".to_owned(), "missing key /python/handlers/0/class"),
            ("[[python.packages]]".to_owned(), "missing key /python/packages/0/name"),
            (
                handler("binding = \"http://*/a\""),
                "unknown key /python/handlers/0/binding; known here: id, class, bindings, settings",
            ),
            (
                handler("bindings = \"http://*/a\""),
                "/python/handlers/0/bindings must be a list of texts",
            ),
            (handler("bindings = [1]"), "/python/handlers/0/bindings/0 must be a string"),
            (handler("settings = 1"), "/python/handlers/0/settings must be a table"),
            (
                handler("bindings = [\"http://*/v2/*\"]"),
                "binding http://*/v2/* hides KServe at /v2/*",
            ),
            (handler("bindings = [\"/a\"]"), "binding /a: expected scheme://host[:port]/path"),
            (
                "[[python.components]]\nclass = \"p\"".to_owned(),
                "expected python=\"module:Class\", found \"p\"",
            ),
            (
                format!("{}\n{}", handler("id = \"x\""), handler("id = \"x\"")),
                "two components have the id x",
            ),
        ] {
            let (_, told) = read(&text);
            let expected = format!("stead.toml: {expected}");
            assert!(told.iter().any(|line| line.starts_with(&expected)), "{text}: {told:?}");
        }
    }

    /// The page is generated: `STEAD_UPDATE_DOCS=1 cargo test -p stead-app server_toml` rewrites it.
    #[test]
    fn the_page_is_up_to_date() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/components.md");
        let page = std::fs::read_to_string(path).unwrap_or_default();
        let (start, end) = ("<!-- stead.toml: generated -->\n", "<!-- stead.toml: end -->");
        let head = page.split_once(start).map_or("", |(head, _)| head);
        let tail = page.split_once(end).map_or("", |(_, tail)| tail);
        let wanted = format!("{head}{start}{}{end}{tail}", server_toml_markdown());
        if std::env::var_os("STEAD_UPDATE_DOCS").is_some() {
            std::fs::write(path, &wanted).unwrap();
        }
        assert!(page == wanted || std::env::var_os("STEAD_UPDATE_DOCS").is_some());
    }
}
