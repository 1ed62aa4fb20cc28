//! `validation-overrides.xml`: changes that are dangerous and wanted
//! (Vespa, documentation, `reference/applications/validation-overrides.html`).

use crate::package::{Place, Report};
use crate::xml::XmlElement;

/// A dangerous change that is allowed until a day.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Override {
    /// What is allowed, such as `field-type-change`.
    pub id: String,
    /// The last day, as `2026-01-31`.
    pub until: String,
    /// Why.
    pub comment: String,
    /// Where it is written.
    pub place: Place,
}

/// What Vespa knows.
const KNOWN: [&str; 22] = [
    "indexing-change",
    "indexing-mode-change",
    "field-type-change",
    "tensor-type-change",
    "resources-reduction",
    "schema-removal",
    "content-type-removal",
    "content-cluster-removal",
    "deployment-removal",
    "global-document-change",
    "configuration-model-version-mismatch",
    "skip-old-config-models",
    "skip-automatic-tenant-upgrades",
    "force-automatic-tenant-upgrade-test",
    "global-endpoint-change",
    "zone-endpoint-change",
    "redundancy-increase",
    "redundancy-one",
    "paged-setting-removal",
    "certificate-removal",
    "hnsw-settings-change",
    "field-index-type-change",
];

pub(super) fn read(root: &XmlElement, report: &mut Report) -> Vec<Override> {
    if root.name != "validation-overrides" {
        report.error(&root.place, format!("expected validation-overrides, found {}", root.name));
    }
    let mut list = Vec::new();
    for element in &root.children {
        if element.name != "allow" {
            report.error(&element.place, format!("expected allow, found {}", element.name));
            continue;
        }
        let until = element.attribute("until").unwrap_or_default();
        if !is_date(until) {
            let text = format!("expected until=\"YYYY-MM-DD\" of allow, found {until:?}");
            report.error(&element.place, text);
            continue;
        }
        if !KNOWN.contains(&element.text.as_str()) {
            let text = format!("{:?} is no validation that is known", element.text);
            report.warning(&element.place, text);
        }
        list.push(Override {
            id: element.text.clone(),
            until: until.to_owned(),
            comment: element.attribute("comment").unwrap_or_default().to_owned(),
            place: element.place.clone(),
        });
    }
    list
}

/// Whether a text is a day such as `2026-01-31`.
fn is_date(text: &str) -> bool {
    let parts: Vec<&str> = text.split('-').collect();
    let number = |part: &str, digits: usize| {
        (part.len() == digits && part.bytes().all(|b| b.is_ascii_digit()))
            .then(|| part.parse::<u32>().ok())?
    };
    match parts.as_slice() {
        [year, month, day] => {
            number(year, 4).is_some()
                && number(month, 2).is_some_and(|m| (1..=12).contains(&m))
                && number(day, 2).is_some_and(|d| (1..=31).contains(&d))
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::xml::parse_xml;

    #[test]
    fn what_is_allowed_has_a_day_and_a_known_name() {
        let text = "<validation-overrides>
<allow until='2026-01-31' comment='new model'>field-type-change</allow>
<allow until='tomorrow'>indexing-change</allow>
<allow until='2026-13-01'>indexing-change</allow>
<allow until='2026-01-31'>everything</allow>
<deny/>
</validation-overrides>";
        let mut report = Report::default();
        let root = parse_xml("validation-overrides.xml", text, &mut report).unwrap();
        let list = read(&root, &mut report);
        let ids: Vec<&str> = list.iter().map(|o| o.id.as_str()).collect();
        assert_eq!(ids, ["field-type-change", "everything"]);
        let lines: Vec<String> = report.diagnostics().iter().map(ToString::to_string).collect();
        assert_eq!(
            lines,
            [
                "validation-overrides.xml:3:1: expected until=\"YYYY-MM-DD\" of allow, found \"tomorrow\"",
                "validation-overrides.xml:4:1: expected until=\"YYYY-MM-DD\" of allow, found \"2026-13-01\"",
                "validation-overrides.xml:5:1: warning: \"everything\" is no validation that is known",
                "validation-overrides.xml:6:1: expected allow, found deny",
            ]
        );
    }
}
