//! The parameters of `/document/v1`: one table says what becomes of each.

use super::answer::Failure;
use crate::vespa::parameters::pairs;
use std::time::Duration;
use stead_expr::codec::json::Form;
use stead_store::Selection;

/// What becomes of a parameter.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Effect {
    Read,
    /// It says how something is done that is done otherwise here; the answer is the same.
    Ignored,
    /// Named in the error.
    Refused,
}

/// Every parameter of Vespa's API, in the order of its documentation.
#[rustfmt::skip] // a table reads best with one row a line
const TABLE: [(&str, Effect); 24] = [
    ("cluster", Effect::Read),
    ("condition", Effect::Read),
    ("create", Effect::Read),
    ("dryRun", Effect::Read),
    ("fieldSet", Effect::Read),
    ("format.tensors", Effect::Read),
    ("selection", Effect::Read),
    ("continuation", Effect::Read),
    ("wantedDocumentCount", Effect::Read),
    ("slices", Effect::Read),
    ("sliceId", Effect::Read),
    ("stream", Effect::Read),
    ("timeout", Effect::Read),
    ("route", Effect::Read),
    ("tracelevel", Effect::Ignored),
    ("traceLevel", Effect::Ignored),
    ("concurrency", Effect::Ignored),
    ("timeChunk", Effect::Ignored),
    ("bucketSpace", Effect::Read),
    ("streamId", Effect::Ignored),
    ("destinationCluster", Effect::Refused),
    ("fromTimestamp", Effect::Refused),
    ("toTimestamp", Effect::Refused),
    ("includeRemoves", Effect::Refused),
];

/// The most documents of one answer to a visit that is no stream.
pub const MAX_WANTED: usize = 1024;

/// How long an operation may take without `timeout` (Vespa's).
const TIMEOUT: Duration = Duration::from_secs(180);

/// Vespa keeps documents of `global` types apart from the others, and visits one of the two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BucketSpace {
    Default,
    Global,
}

impl BucketSpace {
    /// The space of a name (the text: Vespa, `DocumentV1ApiHandler`).
    fn parse(name: &str) -> Result<BucketSpace, String> {
        match name {
            "default" => Ok(BucketSpace::Default),
            "global" => Ok(BucketSpace::Global),
            _ => Err(format!(
                "Bucket space '{name}' is not a known bucket space; expected one of default, global"
            )),
        }
    }
}

/// The parameters of a request.
#[derive(Debug, Clone)]
pub struct Parameters {
    pub cluster: Option<String>,
    pub condition: Option<Selection>,
    pub create: Option<bool>,
    pub dry_run: bool,
    pub field_set: Option<String>,
    pub tensors: Form,
    pub selection: Option<Selection>,
    pub continuation: Option<String>,
    pub space: Option<BucketSpace>,
    pub wanted: Option<usize>,
    pub stream: bool,
    /// Which document processors operations go through.
    pub route: Option<String>,
    /// How many slices, and which.
    pub slice: (u64, u64),
    pub timeout: Duration,
    /// Whether the request says a timeout.
    pub has_timeout: bool,
}

impl Parameters {
    pub fn read(query: &str) -> Result<Parameters, Failure> {
        let bad = |text: String| Failure::new(400, text);
        let all = pairs(query).ok_or_else(|| bad("the parameters are not UTF-8".to_owned()))?;
        for (name, value) in &all {
            let effect = TABLE.iter().find(|(known, _)| known == name).map(|(_, effect)| *effect);
            match effect {
                Some(Effect::Refused) => {
                    return Err(bad(format!("the request property '{name}' is not supported")));
                }
                Some(_) if value.is_empty() => {
                    let text = format!("Expected non-empty value for request property '{name}'");
                    return Err(bad(text));
                }
                Some(_) => {}
                None => return Err(bad(format!("Unknown request property '{name}'"))),
            }
        }
        let text = |name: &str| all.iter().find(|(n, _)| n == name).map(|(_, v)| v.as_str());
        let number = |name: &str| -> Result<Option<u64>, Failure> {
            let wrong = |v: &str| bad(format!("{name}: expected a whole number, found '{v}'"));
            text(name).map(|v| v.parse().map_err(|_| wrong(v))).transpose()
        };
        let switch = |name: &str| match text(name) {
            None => Ok(None),
            Some("true") => Ok(Some(true)),
            Some("false") => Ok(Some(false)),
            Some(v) => Err(bad(format!("{name}: expected true or false, found '{v}'"))),
        };
        let selection = |name: &str| {
            let parsed = text(name).map(Selection::parse).transpose();
            parsed.map_err(|error| bad(format!("{name}: {error}")))
        };
        let (slices, slice) = match (number("slices")?, number("sliceId")?) {
            (Some(slices), Some(slice)) => (slices, slice),
            (None, None) => (1, 0),
            _ => return Err(bad("None or both of 'slices' and 'sliceId' must be set".to_owned())),
        };
        if slice >= slices {
            let text = format!("sliceId: expected a number below slices, {slices}, found {slice}");
            return Err(bad(text));
        }
        let tensors = match text("format.tensors") {
            None => Form::Short,
            Some(name) => Form::from_name(name)
                .ok_or_else(|| bad(format!("format.tensors: there is no format '{name}'")))?,
        };
        Ok(Parameters {
            cluster: text("cluster").map(str::to_owned),
            condition: selection("condition")?,
            create: switch("create")?,
            dry_run: switch("dryRun")? == Some(true),
            field_set: text("fieldSet").map(str::to_owned),
            tensors,
            selection: selection("selection")?,
            continuation: text("continuation").map(str::to_owned),
            space: text("bucketSpace").map(BucketSpace::parse).transpose().map_err(bad)?,
            wanted: number("wantedDocumentCount")?.map(|wanted| wanted as usize),
            stream: switch("stream")? == Some(true),
            route: text("route").map(str::to_owned),
            has_timeout: text("timeout").is_some(),
            slice: (slices, slice),
            timeout: text("timeout").map_or(Ok(TIMEOUT), |v| {
                time(v).ok_or_else(|| bad(format!("timeout: expected a time, found '{v}'")))
            })?,
        })
    }
}

/// A time with a unit, seconds without one: `180`, `500ms`.
fn time(text: &str) -> Option<Duration> {
    let split = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(split);
    let seconds = match unit.trim() {
        "" | "s" => 1.0,
        "ms" => 1e-3,
        "\u{b5}s" | "\u{3bc}s" => 1e-6,
        "ks" => 1e3,
        _ => return None,
    };
    Duration::try_from_secs_f64(number.parse::<f64>().ok()? * seconds).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_units() {
        for (text, expected) in [
            ("180", Some(180_000)),
            ("500ms", Some(500)),
            ("0.5s", Some(500)),
            ("1ks", Some(1_000_000)),
            ("x", None),
            ("1h", None),
            ("1e99ks", None),
        ] {
            assert_eq!(time(text).map(|t| t.as_millis()), expected, "{text}");
        }
    }

    #[test]
    fn what_is_not_read_is_named() {
        for (query, message) in [
            ("includeRemoves=true", "the request property 'includeRemoves' is not supported"),
            ("route=", "Expected non-empty value for request property 'route'"),
            ("wanted=1", "Unknown request property 'wanted'"),
            ("slices=2&sliceId=2", "sliceId: expected a number below slices, 2, found 2"),
            ("slices=2", "None or both of 'slices' and 'sliceId' must be set"),
            (
                "bucketSpace=own",
                "Bucket space 'own' is not a known bucket space; expected one of default, global",
            ),
            ("create=1", "create: expected true or false, found '1'"),
        ] {
            let failure = Parameters::read(query).map(|_| ()).unwrap_err();
            assert_eq!(failure, Failure::new(400, message), "{query}");
        }
        assert!(Parameters::read("condition=music.year%3E2000&create=true").is_ok());
    }
}
