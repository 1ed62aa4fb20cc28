//! Settings of components: what stands in `<config>` and in tables of `stead.toml`.

use crate::package::{PackageFiles, Place, Report};
use crate::xml::XmlElement;

/// The settings of one name.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// The name: `config name="..."`.
    pub name: String,
    /// What is set.
    pub values: Vec<(String, Setting)>,
    /// Where it is written.
    pub place: Place,
}

/// A setting. XML has texts only; what they mean is up to the class that asks for them.
#[derive(Debug, Clone, PartialEq)]
pub enum Setting {
    /// A text.
    Text(String),
    /// A truth value, of `stead.toml`.
    Bool(bool),
    /// A whole number, of `stead.toml`.
    Int(i64),
    /// Another number, of `stead.toml`.
    Float(f64),
    /// Several.
    List(Vec<Setting>),
    /// Several with names: `item key="..."`, or elements within each other.
    Map(Vec<(String, Setting)>),
    /// A file of the package, by its path from the root: an element with the attribute `path`.
    File(String),
}

impl Settings {
    /// Reads a `config` element (Vespa, `DomConfigPayloadBuilder`). Names of settings are written with `_` where they have a
    /// `-`, as names in Python are.
    pub(crate) fn read(element: &XmlElement, report: &mut Report) -> Option<Settings> {
        let name = element.attribute("name").unwrap_or_default().to_owned();
        if name.is_empty() {
            report.error(&element.place, "config has no name");
            return None;
        }
        let values = members(element, report);
        Some(Settings { name, values, place: element.place.clone() })
    }

    /// Reports files that the package does not have.
    pub(crate) fn check_files(&self, files: &PackageFiles, report: &mut Report) {
        let mut open: Vec<&Setting> = self.values.iter().map(|(_, value)| value).collect();
        while let Some(setting) = open.pop() {
            match setting {
                Setting::File(path) if !files.has(path) => {
                    let text = format!("config {}: the package has no file {path}", self.name);
                    report.error(&self.place, text);
                }
                Setting::List(list) => open.extend(list),
                Setting::Map(map) => open.extend(map.iter().map(|(_, value)| value)),
                Setting::Text(_)
                | Setting::Bool(_)
                | Setting::Int(_)
                | Setting::Float(_)
                | Setting::File(_) => {}
            }
        }
    }
}

/// The settings within an element; as deep as the file nests, which has a limit.
fn members(element: &XmlElement, report: &mut Report) -> Vec<(String, Setting)> {
    let mut found: Vec<(String, Setting)> = Vec::new();
    for child in &element.children {
        let name = child.name.replace('-', "_");
        if child.name == "item" {
            report.error(
                &child.place,
                "item stands in lists and maps only, within an element of their name",
            );
        } else if found.iter().any(|(other, _)| *other == name) {
            let text = format!("{name} stands twice; a list is {name} with an item for each value");
            report.error(&child.place, text);
        } else {
            found.extend(setting(child, report).map(|value| (name, value)));
        }
    }
    found
}

fn setting(element: &XmlElement, report: &mut Report) -> Option<Setting> {
    let items = element.all("item").count();
    if items > 0 && items == element.children.len() {
        let keyed = element.all("item").filter(|item| item.attribute("key").is_some()).count();
        if keyed != 0 && keyed != items {
            let text = format!("either all or none of the items of {} have a key", element.name);
            report.error(&element.place, text);
            return None;
        }
        let mut map: Vec<(String, Setting)> = Vec::new();
        for item in element.all("item") {
            let value = setting(item, report)?;
            let key = item.attribute("key").unwrap_or_default();
            if keyed > 0 && map.iter().any(|(other, _)| other == key) {
                report.error(&item.place, format!("{} has the key {key} twice", element.name));
                return None;
            }
            map.push((key.to_owned(), value));
        }
        return Some(match keyed {
            0 => Setting::List(map.into_iter().map(|(_, value)| value).collect()),
            _ => Setting::Map(map),
        });
    }
    if !element.children.is_empty() {
        return Some(Setting::Map(members(element, report)));
    }
    if let Some(path) = element.attribute("path") {
        return Some(Setting::File(path.to_owned()));
    }
    for elsewhere in ["url", "model-id"] {
        if let Some(value) = element.attribute(elsewhere) {
            let text = format!(
                "{} is at {value}, which is not fetched; put the file into the package and write path=\"...\"",
                element.name
            );
            report.error(&element.place, text);
            return None;
        }
    }
    Some(Setting::Text(element.text.clone()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::xml::parse_xml;

    fn read(inner: &str) -> (Vec<(String, Setting)>, Vec<String>) {
        let mut report = Report::default();
        let text = format!("<config name='c'>{inner}</config>");
        let settings = parse_xml("services.xml", &text, &mut report)
            .and_then(|root| Settings::read(&root, &mut report));
        let told = report.diagnostics().iter().map(|d| d.text.clone()).collect();
        (settings.map(|s| s.values).unwrap_or_default(), told)
    }

    #[test]
    fn settings_are_texts_lists_and_maps() {
        let text = |value: &str| Setting::Text(value.to_owned());
        let named = |list: &[(&str, Setting)]| -> Vec<(String, Setting)> {
            list.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect()
        };
        let list = Setting::List(vec![text("a"), text("b")]);
        let map = Setting::Map(named(&[("x", text("1")), ("y", text("2"))]));
        let nested = Setting::List(vec![Setting::Map(named(&[("n", text("1"))]))]);
        for (inner, expected) in [
            ("", vec![]),
            ("<limit>10</limit>", named(&[("limit", text("10"))])),
            ("<max-hits>10</max-hits><e/>", named(&[("max_hits", text("10")), ("e", text(""))])),
            ("<l><item>a</item><item>b</item></l>", named(&[("l", list)])),
            ("<m><item key='x'>1</item><item key='y'>2</item></m>", named(&[("m", map.clone())])),
            ("<m><x>1</x><y>2</y></m>", named(&[("m", map)])),
            ("<l><item><n>1</n></item></l>", named(&[("l", nested)])),
            ("<f path='models/a.onnx'/>", named(&[("f", Setting::File("models/a.onnx".into()))])),
        ] {
            assert_eq!(read(inner), (expected, vec![]), "{inner}");
        }
    }

    #[test]
    fn what_has_no_meaning_is_told() {
        for (inner, expected) in [
            (
                "<item>a</item>",
                "item stands in lists and maps only, within an element of their name",
            ),
            ("<a>1</a><a>2</a>", "a stands twice; a list is a with an item for each value"),
            (
                "<a><item>1</item><b>2</b></a>",
                "item stands in lists and maps only, within an element of their name",
            ),
            (
                "<a><item key='k'>1</item><item>2</item></a>",
                "either all or none of the items of a have a key",
            ),
            ("<a><item key='k'>1</item><item key='k'>2</item></a>", "a has the key k twice"),
            (
                "<a url='https://b'/>",
                "a is at https://b, which is not fetched; put the file into the package and write path=\"...\"",
            ),
        ] {
            assert_eq!(read(inner).1, [expected], "{inner}");
        }
    }
}
