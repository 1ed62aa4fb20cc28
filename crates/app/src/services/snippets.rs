//! What `<config>` says of dynamic summaries (Vespa, `searchsummary/src/vespa/searchsummary/config/juniperrc.def`).

use super::unused;
use crate::package::{Located, Report};
use crate::xml::XmlElement;

/// The name of such a config.
const NAME: &str = "vespa.config.search.summary.juniperrc";

/// How long the parts of a text are that a dynamic summary shows, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SnippetSettings {
    /// How long all parts together should be.
    pub length: usize,
    /// How many matches are enough.
    pub max_matches: usize,
    /// What is shorter takes more matches, if there are.
    pub min_length: usize,
    /// The most that is shown before and behind a word.
    pub surround_max: usize,
    /// How far the words of a match stand apart at most.
    pub window: usize,
    /// Whether the beginning is shown where no word was found.
    pub has_beginning: bool,
}

impl Default for SnippetSettings {
    fn default() -> SnippetSettings {
        SnippetSettings {
            length: 256,
            max_matches: 3,
            min_length: 128,
            surround_max: 128,
            window: 200,
            has_beginning: true,
        }
    }
}

/// The same of a cluster.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Snippets {
    /// That of most fields.
    pub usual: SnippetSettings,
    /// That of some fields of summaries, by their names.
    pub fields: Vec<(Located<String>, SnippetSettings)>,
}

impl Snippets {
    /// What holds for a field of a summary.
    #[must_use]
    pub fn of(&self, field: &str) -> SnippetSettings {
        let own = self.fields.iter().find(|(name, _)| name.value == field);
        own.map_or(self.usual, |(_, settings)| *settings)
    }

    /// Reads a `config` element, if it is one of this name.
    pub(super) fn read(&mut self, element: &XmlElement, report: &mut Report) -> bool {
        if element.attribute("name") != Some(NAME) {
            return false;
        }
        for child in &element.children {
            match child.name.as_str() {
                "override" => child.all("item").for_each(|item| self.field(item, report)),
                _ => self.usual.set(child, report),
            }
        }
        true
    }

    /// One of `override`: what it does not say is what it is where nothing is said at all, as in Vespa.
    fn field(&mut self, item: &XmlElement, report: &mut Report) {
        let said = item.child("fieldname").filter(|name| !name.text.trim().is_empty());
        let Some(said) = said else {
            report.error(&item.place, "override must have the fieldname of a summary");
            return;
        };
        let mut settings = SnippetSettings::default();
        for child in item.children.iter().filter(|child| child.name != "fieldname") {
            settings.set(child, report);
        }
        let name = said.text.trim().to_owned();
        self.fields.retain(|(known, _)| known.value != name);
        self.fields.push((Located { value: name, place: said.place.clone() }, settings));
    }
}

impl SnippetSettings {
    fn set(&mut self, element: &XmlElement, report: &mut Report) {
        let text = element.text.trim();
        let number = match element.name.replace('-', "_").as_str() {
            "length" => &mut self.length,
            "max_matches" => &mut self.max_matches,
            "min_length" => &mut self.min_length,
            "surround_max" => &mut self.surround_max,
            "winsize" => &mut self.window,
            "prefix" => {
                match text.parse() {
                    Ok(is_shown) => self.has_beginning = is_shown,
                    Err(_) => {
                        let text = format!("expected true or false in prefix, found {text:.40?}");
                        report.error(&element.place, text);
                    }
                }
                return;
            }
            "stem_min_length" | "stem_max_extend" => {
                let why = "words are found by the rules of their index";
                return unused(element, why, report);
            }
            "winsize_fallback_multiplier" | "max_match_candidates" => {
                return unused(element, "no matches are given up", report);
            }
            _ => return super::unknown(element, NAME, report),
        };
        match text.parse::<u32>() {
            Ok(said) => *number = said as usize,
            Err(_) => {
                let text =
                    format!("expected a whole number in {}, found {text:.40?}", element.name);
                report.error(&element.place, text);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{SnippetSettings, Snippets};
    use crate::package::Report;
    use crate::services::{ServicesOptions, read_services};
    use crate::xml::parse_xml;

    fn read(configs: &str, own: &str) -> (Snippets, Vec<String>) {
        let text = format!(
            "<services>{configs}<content id='c'><documents><document type='d' mode='index'/></documents>{own}</content></services>"
        );
        let mut report = Report::default();
        let root = parse_xml("services.xml", &text, &mut report).unwrap();
        let services = read_services(&root, ServicesOptions::default(), &mut report);
        let found = report.diagnostics().iter().map(|d| d.text.clone()).collect();
        (services.contents[0].snippets.clone(), found)
    }

    #[test]
    fn configs_say_how_long_snippets_are() {
        let config = |inner: &str| format!("<config name='{}'>{inner}</config>", super::NAME);
        let usual = SnippetSettings::default();
        let own = SnippetSettings { length: 100, max_matches: 1, ..usual };
        let title = SnippetSettings { surround_max: 5, has_beginning: false, ..usual };
        for (label, root, cluster, expected, told) in [
            ("nothing", String::new(), String::new(), (usual, vec![]), &[][..]),
            (
                "of the cluster",
                String::new(),
                config("<length>100</length><max_matches> 1 </max_matches>"),
                (own, vec![]),
                &[],
            ),
            (
                "of all clusters, and said otherwise",
                config("<length>7</length><max-matches>1</max-matches>"),
                config("<length>100</length>"),
                (own, vec![]),
                &[],
            ),
            (
                "of a field",
                String::new(),
                config(
                    "<length>100</length><max_matches>1</max_matches><override><item><fieldname>title</fieldname>\
                     <surround_max>5</surround_max><prefix>false</prefix></item></override>",
                ),
                (own, vec![("title".to_owned(), title)]),
                &[],
            ),
            (
                "what has no effect, and what is wrong",
                "<config name='other'><x>1</x></config>".to_owned(),
                config(
                    "<stem_min_length>4</stem_min_length><length>-1</length><prefix>no</prefix><size>1</size>\
                     <override><item><length>1</length></item></override>",
                ),
                (usual, vec![]),
                &[
                    "config has no effect: one process plays all parts",
                    "stem_min_length has no effect: words are found by the rules of their index",
                    "expected a whole number in length, found \"-1\"",
                    "expected true or false in prefix, found \"no\"",
                    "size of vespa.config.search.summary.juniperrc is not known and has no effect",
                    "override must have the fieldname of a summary",
                ],
            ),
        ] {
            let (found, texts) = read(&root, &cluster);
            let fields: Vec<(String, SnippetSettings)> =
                found.fields.into_iter().map(|(name, of)| (name.value, of)).collect();
            assert_eq!((found.usual, fields), expected, "{label}");
            assert_eq!(texts, told, "{label}");
        }
    }
}
