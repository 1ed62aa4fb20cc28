//! What the parameters of a request say.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde_json::Value as Json;
use stead_app::profiles::QueryProfiles;
use stead_expr::codec::json::Form;

use super::profiles::apply;
use super::query::QueryText;
use super::streaming::StreamingRequest;
use super::table::{Effect, Kind, find};
use super::values::Values;
use crate::grouping::GroupingRequest;
use crate::matching::GraphTime;
use crate::query::{ElementGaps, SearchError, StopWords, TuningChoice};
use crate::rank::{DiversityOverride, Freshness, LimitOverride, PhaseOverride, RankQuery};
use crate::select;

/// The longest that a search may take.
const MAX_TIME: Duration = Duration::from_secs(1_000_000);

/// A parameter that only query profiles may say.
const GLOBAL: &str = "grouping.globalMaxGroups";

/// The format of a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[allow(missing_docs)] // The names tell.
pub enum Format {
    #[default]
    Json,
    Cbor,
}

/// What is shown of a result, whatever it is a result of.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Presentation {
    /// The format of the result.
    pub format: Format,
    /// The form of tensors.
    pub tensors: Form,
    /// Whether the result tells how long it took.
    pub timing: bool,
    /// From 1 the result tells what was done, and what has no effect.
    pub trace: usize,
}

impl Presentation {
    /// What values say of it.
    ///
    /// # Errors
    /// When one of them is not what it should be.
    pub fn of(values: &Values) -> Result<Presentation, SearchError> {
        let read = Read::new(values);
        Ok(Presentation {
            format: match read.text("presentation.format").as_deref() {
                Some("cbor") => Format::Cbor,
                _ => Format::Json,
            },
            tensors: match read.text("presentation.format.tensors") {
                None => Form::Short,
                Some(name) => Form::from_name(&name)
                    .ok_or_else(|| wrong("format.tensors", &name, "a form"))?,
            },
            timing: read.text("presentation.timing").as_deref() == Some("true"),
            trace: read.count("trace.level")?.unwrap_or(0),
        })
    }
}

/// A request of a search.
#[derive(Debug, Clone, PartialEq)]
pub struct SearchRequest {
    /// The query.
    pub query: QueryText,
    /// The hits that it wants.
    pub hits: usize,
    /// Whether words that were found are marked in summaries (`presentation.bolding`).
    pub has_marks: bool,
    /// The hits that it leaves out at the beginning.
    pub offset: usize,
    /// The most hits that it may want.
    pub max_hits: usize,
    /// The greatest offset that it may want.
    pub max_offset: usize,
    /// When an answer is no longer wanted.
    pub timeout: Duration,
    /// The part of it that matching may take before it goes on with what it has; nothing if all is wanted or an error.
    pub soft_timeout: Option<f64>,
    /// What of that searches of graphs may take.
    pub graph_time: GraphTime,
    /// What hits are ordered by, where the query does not say.
    pub sorting: Option<String>,
    /// The clusters or schemas that are searched; none for all.
    pub sources: Vec<String>,
    /// The types of documents that are searched; none for all.
    pub restrict: Vec<String>,
    /// The summary of hits.
    pub summary: Option<String>,
    /// The fields of hits; none for those of the summary.
    pub summary_fields: Vec<String>,
    /// The format of the result.
    pub format: Format,
    /// The form of tensors.
    pub tensors: Form,
    /// From 1 the result tells what was done, and what has no effect.
    pub trace: usize,
    /// Whether the result tells what was matched and ranked, in which order, and what that cost.
    pub explains: bool,
    /// Whether the result tells how long it took.
    pub timing: bool,
    /// What groupings read.
    pub grouping: GroupingRequest,
    /// What ranking reads.
    pub rank: RankQuery,
    /// Which documents are searched of types that are streamed.
    pub streaming: StreamingRequest,
    /// All values: those that `@name` of the query means too.
    pub values: Values,
    /// What whoever asks should know.
    pub warnings: Vec<String>,
}

impl SearchRequest {
    /// A request from names and values, decoded, and the query profiles of the application.
    ///
    /// # Errors
    /// When a value is not what it should be, or asks for what is not supported.
    pub fn new(
        pairs: Vec<(String, String)>,
        profiles: &QueryProfiles,
    ) -> Result<SearchRequest, SearchError> {
        let (values, warnings) = Values::of_request(pairs, profiles)?;
        SearchRequest::of_values(values, warnings)
    }

    /// A request from values, those of query profiles among them. `warnings` is what whoever asks should know already.
    ///
    /// # Errors
    /// As [`SearchRequest::new`].
    pub fn of_values(
        values: Values,
        mut warnings: Vec<String>,
    ) -> Result<SearchRequest, SearchError> {
        for (name, value) in values.iter() {
            check(name, value, &mut warnings)?;
        }
        let presentation = Presentation::of(&values)?;
        let read = Read::new(&values);
        let query = QueryText::of(&values, &mut warnings)?;
        let mut summary_fields = read.list("presentation.summaryFields");
        if let Some(fields) = read.text("select.fields") {
            let fields = select::fields(&fields);
            summary_fields.extend(fields.map_err(|error| {
                SearchError::parameter(format!("Could not set 'select.fields': {error}"))
            })?);
        }
        let request = SearchRequest {
            query,
            hits: read.count("hits")?.unwrap_or(10),
            offset: read.count("offset")?.unwrap_or(0),
            max_hits: read.count("maxHits")?.unwrap_or(400),
            max_offset: read.count("maxOffset")?.unwrap_or(1000),
            timeout: read.time("timeout")?,
            soft_timeout: match read.text("ranking.softtimeout.enable").as_deref() {
                Some("false" | "0") => None,
                _ => Some(read.number("ranking.softtimeout.factor")?.unwrap_or(0.7)),
            },
            graph_time: read.graph_time()?,
            sorting: read.text("ranking.sorting"),
            sources: read.list("model.sources"),
            restrict: read.list("model.restrict"),
            summary: read.text("presentation.summary"),
            has_marks: read
                .text("presentation.bolding")
                .is_none_or(|text| text == "true" || text == "1"),
            summary_fields,
            format: presentation.format,
            tensors: presentation.tensors,
            timing: presentation.timing,
            trace: presentation.trace,
            explains: read.count("trace.explainLevel")?.unwrap_or(0) > 0,
            grouping: GroupingRequest::of(&values)?,
            rank: read.rank()?,
            streaming: StreamingRequest::of(&read)?,
            warnings,
            values: Values::default(),
        };
        request.check_hits(request.hits, request.offset)?;
        Ok(SearchRequest { values, ..request })
    }

    /// Whether so many hits may be asked for (the texts: Vespa, `MinimalQueryInserter.java`).
    ///
    /// # Errors
    /// When they may not.
    pub fn check_hits(&self, hits: usize, offset: usize) -> Result<(), SearchError> {
        if offset > self.max_offset {
            return Err(SearchError::parameter(format!(
                "Requested offset {offset}, but the max offset allowed is {}.",
                self.max_offset
            )));
        }
        match hits > self.max_hits {
            true => Err(SearchError::parameter(format!(
                "Requested {hits} hits returned, but max hits allowed is {}.",
                self.max_hits
            ))),
            false => Ok(()),
        }
    }
}

/// Refuses, or warns of, a parameter that is not read.
fn check(name: &str, value: &str, warnings: &mut Vec<String>) -> Result<(), SearchError> {
    let Some((row, _)) = find(name) else { return Ok(()) };
    // What says the default changes nothing.
    if !row.default.is_empty() && value.eq_ignore_ascii_case(row.default) {
        return Ok(());
    }
    if !fits(row.kind, value) {
        let expected = match row.kind {
            Kind::Count if matches!(row.name, "hits" | "offset") && value.starts_with('-') => {
                let text = format!("'{}' must be a positive number, not {value:.40}", row.name);
                return Err(SearchError::parameter(format!(
                    "Could not set '{name}' to '{value:.60}': {text}"
                )));
            }
            Kind::Count => "a whole number from 0".to_owned(),
            Kind::Number => "a number".to_owned(),
            Kind::Bool => "true or false".to_owned(),
            Kind::Time => "a time such as 0.5, 500ms or 2s".to_owned(),
            Kind::Choice(words) => format!("one of {}", words.join(", ")),
            Kind::Text => String::new(),
        };
        return Err(wrong(name, value, &expected));
    }
    match row.effect {
        Effect::Read => Ok(()),
        Effect::Ignored(why) => {
            warnings.push(format!("{name} has no effect: {why}"));
            Ok(())
        }
        Effect::Refused(why) => {
            Err(SearchError::parameter(format!("{name} is not supported: {why}")))
        }
    }
}

/// Whether a value is of a type.
pub(super) fn fits(kind: Kind, value: &str) -> bool {
    match kind {
        Kind::Text => true,
        Kind::Count => value.trim().parse::<u32>().is_ok(),
        Kind::Number => value.trim().parse().is_ok_and(|n: f64| n.is_finite()),
        Kind::Bool => matches!(value, "true" | "false" | "1" | "0"),
        Kind::Time => milliseconds(value).is_some(),
        Kind::Choice(words) => words.contains(&value),
    }
}

fn wrong(name: &str, value: &str, expected: &str) -> SearchError {
    SearchError::parameter(format!("Could not set '{name}' to '{value:.60}': expected {expected}"))
}

/// A time in milliseconds: seconds where no unit is said
/// (Vespa, `container-search/src/main/java/com/yahoo/search/query/ParameterParser.java`).
fn milliseconds(text: &str) -> Option<f64> {
    let text = text.trim().to_ascii_lowercase();
    let units = [("ms", 1.0), ("us", 0.001), ("ks", 1e6), ("s", 1000.0), ("", 1000.0)];
    let (number, factor) =
        units.iter().find_map(|(unit, f)| Some((text.strip_suffix(unit)?, f)))?;
    let number: f64 = number.trim().parse().ok()?;
    let found = number * factor;
    (found.is_finite() && found >= 0.0 && found <= MAX_TIME.as_secs_f64() * 1000.0).then_some(found)
}

impl Values {
    /// The values of a request from names and values, decoded, and the query profiles of the application; and what whoever asks should
    /// know.
    ///
    /// # Errors
    /// When there is no such profile, or a value is missing or does not fit its type.
    pub fn of_request(
        pairs: Vec<(String, String)>,
        profiles: &QueryProfiles,
    ) -> Result<(Values, Vec<String>), SearchError> {
        let (mut values, mut warnings) = (Values::default(), Vec::new());
        for (name, value) in pairs {
            // Vespa's text (`GroupingQueryParser.java`).
            if name.eq_ignore_ascii_case(GLOBAL) {
                return Err(SearchError::parameter(format!(
                    "{GLOBAL} must be specified in a query profile."
                )));
            }
            values.set(&name, value);
        }
        apply(&mut values, profiles, &mut warnings)?;
        Ok((values, warnings))
    }

    /// How long the search may take, if that is said.
    ///
    /// # Errors
    /// When it is no time.
    pub fn timeout(&self) -> Result<Option<Duration>, SearchError> {
        self.time("timeout")
    }

    fn time(&self, name: &str) -> Result<Option<Duration>, SearchError> {
        let Some(text) = self.get(name) else { return Ok(None) };
        let time = milliseconds(text).map(|ms| Duration::from_secs_f64(ms / 1000.0));
        time.map(Some).ok_or_else(|| wrong(name, text, "a time such as 0.5, 500ms or 2s"))
    }
}

/// Values by their types; that they fit is known.
pub(super) struct Read<'r> {
    values: &'r Values,
    /// The names that were asked for.
    asked: RefCell<BTreeSet<&'static str>>,
}

impl<'r> Read<'r> {
    pub(super) fn new(values: &'r Values) -> Read<'r> {
        Read { values, asked: RefCell::default() }
    }

    /// The names of values that nobody has asked for.
    pub(super) fn unread(&self) -> impl Iterator<Item = &'r str> {
        let asked = self.asked.borrow().clone();
        self.values.iter().map(|(name, _)| name).filter(move |name| !asked.contains(name))
    }

    fn get(&self, name: &'static str) -> Option<&'r str> {
        self.asked.borrow_mut().insert(name);
        self.values.get(name)
    }

    pub(super) fn text(&self, name: &'static str) -> Option<String> {
        self.get(name).map(str::to_owned)
    }

    fn list(&self, name: &'static str) -> Vec<String> {
        let text = self.get(name).unwrap_or_default();
        text.split([',', ' ']).map(str::trim).filter(|t| !t.is_empty()).map(str::to_owned).collect()
    }

    pub(super) fn count(&self, name: &'static str) -> Result<Option<usize>, SearchError> {
        let Some(text) = self.get(name) else { return Ok(None) };
        let number = text.trim().parse().map_err(|_| wrong(name, text, "a whole number from 0"));
        number.map(Some)
    }

    fn number(&self, name: &'static str) -> Result<Option<f64>, SearchError> {
        let Some(text) = self.get(name) else { return Ok(None) };
        text.trim().parse().map(Some).map_err(|_| wrong(name, text, "a number"))
    }

    /// A number from 0 to 1.
    fn part(&self, name: &'static str) -> Result<Option<f64>, SearchError> {
        let number = self.number(name)?;
        match number.filter(|number| !(0.0..=1.0).contains(number)) {
            Some(number) => Err(wrong(name, &number.to_string(), "a number from 0 to 1")),
            None => Ok(number),
        }
    }

    fn time(&self, name: &'static str) -> Result<Duration, SearchError> {
        Ok(self.values.time(name)?.unwrap_or(Duration::from_millis(500)))
    }

    /// How long searches of graphs may take.
    fn graph_time(&self) -> Result<GraphTime, SearchError> {
        let part = self.part("ranking.matching.anntimeout.factor")?.or(GraphTime::default().part);
        let is_bounded = !matches!(
            self.text("ranking.matching.anntimeout.enable").as_deref(),
            Some("false" | "0")
        );
        let budget = "ranking.matching.anntimebudget";
        let budget = self.text(budget).map(|_| self.time(budget)).transpose()?;
        Ok(GraphTime { budget, part: part.filter(|_| is_bounded) })
    }

    /// What ranking reads.
    pub(super) fn rank(&self) -> Result<RankQuery, SearchError> {
        let (mut inputs, mut properties) = (BTreeMap::new(), BTreeMap::new());
        let mut element_gaps = ElementGaps::default();
        for (name, value) in self.values.iter() {
            if let Some(name) = name.strip_prefix("ranking.features.") {
                let inner = name.strip_prefix("query(").and_then(|n| n.strip_suffix(')'));
                inputs.insert(inner.unwrap_or(name).to_owned(), input(value));
            } else if let Some(name) = name.strip_prefix("ranking.properties.") {
                properties.insert(name.to_owned(), Json::String(value.to_owned()));
            } else if let Some(field) = name.strip_prefix("ranking.elementGap.") {
                let gap = ElementGaps::parse(value);
                let gap = gap.ok_or_else(|| wrong(name, value, "a whole number or infinity"))?;
                element_gaps.say(field, gap);
            }
        }
        let second = self.count("ranking.secondPhase.totalRerankCount")?;
        let second = second.or(self.count("ranking.secondPhase.rerankCount")?);
        let keep = self.count("ranking.totalKeepRankCount")?;
        Ok(RankQuery {
            profile: self.text("ranking.profile"),
            keep_rank_count: keep.or(self.count("ranking.keepRankCount")?),
            match_limit: LimitOverride {
                attribute: self.text("ranking.matchPhase.attribute"),
                is_ascending: self
                    .text("ranking.matchPhase.ascending")
                    .map(|text| text == "true" || text == "1"),
                max_hits: match self.count("ranking.matchPhase.totalMaxHits")? {
                    None => self.count("ranking.matchPhase.maxHits")?,
                    most => most,
                },
                max_filter_coverage: self.part("ranking.matchPhase.maxFilterCoverage")?,
                diversity: DiversityOverride {
                    attribute: self.text("ranking.matchPhase.diversity.attribute"),
                    min_groups: self.count("ranking.matchPhase.diversity.minGroups")?,
                    cutoff_factor: self.number("ranking.matchPhase.diversity.cutoffFactor")?,
                    is_strict: self
                        .text("ranking.matchPhase.diversity.cutoffStrategy")
                        .map(|text| text == "strict"),
                },
            },
            threads: self.count("ranking.matching.numThreadsPerSearch")?,
            min_hits_per_thread: self.count("ranking.matching.minHitsPerThread")?,
            tuning: TuningChoice::of_parameters(|name| self.number(name))?,
            stop_words: StopWords {
                limit: self.part("ranking.matching.weakand.stopwordLimit")?,
                allow_drop_all: self
                    .text("ranking.matching.weakand.allowDropAll")
                    .map(|text| text == "true" || text == "1"),
            },
            uses_significance: self
                .text("ranking.significance.useModel")
                .map(|text| text == "true" || text == "1"),
            element_gaps,
            freshness: match self.get("ranking.freshness") {
                None => None,
                Some(text) => Some(Freshness::parse(text).ok_or_else(|| {
                    wrong("ranking.freshness", text, "seconds since 1970, now, or now-SECONDS")
                })?),
            },
            drop_limit: self.number("ranking.rankScoreDropLimit")?,
            list_features: self
                .text("ranking.listFeatures")
                .is_some_and(|text| text == "true" || text == "1"),
            second_phase: PhaseOverride {
                rerank_count: second.or(self.count("ranking.rerankCount")?),
                drop_limit: self.number("ranking.secondPhase.rankScoreDropLimit")?,
            },
            global_phase: PhaseOverride {
                rerank_count: self.count("ranking.globalPhase.rerankCount")?,
                drop_limit: self.number("ranking.globalPhase.rankScoreDropLimit")?,
            },
            inputs,
            properties,
            ..RankQuery::default()
        })
    }
}

/// The value of an input: JSON where it is some, or else a text, which may be a literal.
fn input(text: &str) -> Json {
    let is_json = text.trim_start().starts_with(['{', '[']);
    let json = if is_json { serde_json::from_str(text).ok() } else { None };
    json.unwrap_or_else(|| Json::String(text.to_owned()))
}

#[cfg(test)]
mod tests;
