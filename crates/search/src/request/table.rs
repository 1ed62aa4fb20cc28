//! The parameters of searches (Vespa, documentation, `reference/api/query.html`).

/// A parameter.
#[derive(Debug, Clone, Copy)]
pub struct Parameter {
    /// Its name. One that ends with a dot stands for all that begin with it.
    pub name: &'static str,
    /// Other names; capitals make no difference in any of them.
    pub aliases: &'static [&'static str],
    /// Its type.
    pub kind: Kind,
    /// Its value where nothing is said; empty for none.
    pub default: &'static str,
    /// What becomes of it.
    pub effect: Effect,
    /// What it says.
    pub about: &'static str,
}

/// The type of a parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Any text.
    Text,
    /// A whole number from 0.
    Count,
    /// A number.
    Number,
    /// `true` or `false`.
    Bool,
    /// Seconds, or another unit behind the number: `s`, `ms`, `us`.
    Time,
    /// One of some words.
    Choice(&'static [&'static str]),
}

/// What becomes of a parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// It is read.
    Read,
    /// It has no effect, and whoever says it is told why.
    Ignored(&'static str),
    /// A request that says it is refused, for this reason.
    Refused(&'static str),
}

use Effect::{Ignored, Read, Refused};
use Kind::{Bool, Choice, Count, Number, Text, Time};

const LATER: &str = "it is not supported yet";
const ONE: &str = "there is one node";

const fn row(
    name: &'static str,
    aliases: &'static [&'static str],
    kind: Kind,
    default: &'static str,
    effect: Effect,
    about: &'static str,
) -> Parameter {
    Parameter { name, aliases, kind, default, effect, about }
}

/// All parameters that are known.
#[rustfmt::skip]
pub const PARAMETERS: &[Parameter] = &[
    row("yql", &[], Text, "", Read, "the query"),
    row("hits", &["count"], Count, "10", Read, "the hits of the result"),
    row("offset", &["start"], Count, "0", Read, "the hits that are left out at the beginning"),
    row("maxHits", &[], Count, "400", Read, "the most hits that may be asked for; query profiles say it"),
    row("maxOffset", &[], Count, "1000", Read, "the greatest offset that may be asked for; query profiles say it"),
    row("queryProfile", &[], Text, "default", Read, "the query profile"),
    row("timeout", &[], Time, "0.5", Read, "when an answer is no longer wanted"),
    row("searchChain", &[], Text, "default", Read, "the chain of searchers"),
    row("noCache", &[], Bool, "false", Ignored("there is no cache"), "not from a cache"),
    row("groupingSessionCache", &[], Bool, "true", Ignored("there is no cache"), "keep what groupings need"),
    row("hitcountestimate", &[], Bool, "false", Ignored("counts are exact"), "the number of hits may be estimated"),
    row("user", &[], Text, "", Ignored("nobody asks for it"), "who asks"),
    row("timezone", &[], Text, "utc", Read, "the time zone of [groupings](grouping.md): a difference from UTC such as `GMT+01:00`, or a region such as `Europe/Oslo`"),
    row("model.queryString", &["query"], Text, "", Read, "words, as people type them: what `userQuery()` asks, and all that is asked without `yql`"),
    row("model.type", &["type"], Text, "weakAnd", Read, "how they are read: `weakAnd`, `all`, `any`, `web`, `phrase`, `near`, `onear`, `tokenize`, `linguistics`, `raw`"),
    row("model.type.composite", &[], Text, "", Read, "how their parts belong together: `and`, `or`, `weakAnd`, `phrase`, `near`, `oNear`"),
    row("model.type.tokenization", &[], Text, "", Read, "what their parts are: `internal`, `linguistics`"),
    row("model.type.syntax", &[], Text, "", Read, "what signs mean: `simple`, `web`, `none`"),
    row("model.type.isYqlDefault", &[], Bool, "false", Read, "`userInput` is read so too"),
    row("model.type.", &[], Text, "", Ignored("there is one way to make tokens"), "profiles of tokens"),
    row("model.filter", &["filter"], Text, "", Read, "words beside `model.queryString`: behind `+` they must be there, behind `-` they must not, others are for ranking"),
    row("model.defaultIndex", &["default-index"], Text, "default", Read, "the field or set of fields where words are looked for"),
    row("gram.match", &[], Choice(&["all", "any", "weakAnd", "phrase", "near", "onear"]), "all", Read, "what of the grams of a word must be there, in fields with `match: gram`"),
    row("model.language", &["language", "lang"], Text, "", Read, "the language of words, and of texts for tokenizers with a file for it"),
    row("model.locale", &["locale"], Text, "", Read, "the language of words where `model.language` says none"),
    row("model.encoding", &["encoding"], Text, "utf-8", Ignored("texts are UTF-8"), "the encoding of words"),
    row("model.restrict", &["restrict"], Text, "", Read, "the types of documents that are searched"),
    row("model.sources", &["sources", "search"], Text, "", Read, "the clusters that are searched"),
    row("model.searchPath", &["searchpath"], Text, "", Ignored(ONE), "the nodes that are searched"),
    row("ranking.profile", &["ranking"], Text, "default", Read, "the rank profile"),
    row("ranking.features.", &["input.", "rankfeature."], Text, "", Read, "values of `query(name)`"),
    row("ranking.properties.", &["rankproperty."], Text, "", Read, "properties of features"),
    row("ranking.sorting", &["sorting", "sortspec"], Text, "", Read, "what hits are ordered by"),
    row("ranking.listFeatures", &["rankfeatures"], Bool, "false", Read, "hits have `rankfeatures`, the `rank-features` of the profile and those that Vespa adds"),
    row("ranking.keepRankCount", &[], Count, "", Read, "the hits that keep their scores behind the first phase"),
    row("ranking.totalKeepRankCount", &[], Count, "", Read, "the same"),
    row("ranking.rankScoreDropLimit", &[], Number, "", Read, "the score of the first phase that hits must have more than"),
    row("ranking.rerankCount", &[], Count, "", Read, "the hits of the second phase"),
    row("ranking.secondPhase.rerankCount", &[], Count, "", Read, "the hits of the second phase"),
    row("ranking.secondPhase.totalRerankCount", &[], Count, "", Read, "the same"),
    row("ranking.secondPhase.rankScoreDropLimit", &[], Number, "", Read, "the score of the second phase that hits must have more than"),
    row("ranking.globalPhase.rerankCount", &[], Count, "", Read, "the hits of the global phase"),
    row("ranking.globalPhase.rankScoreDropLimit", &[], Number, "", Read, "the score of the global phase that hits must have more than"),
    row("ranking.queryCache", &[], Bool, "false", Ignored("features of a query are kept as long as it runs"), "keep the query on the nodes"),
    row("ranking.freshness", &["datetime"], Text, "", Read, "the time that is taken for now: seconds since 1970, `now`, or `now-SECONDS`"),
    row("ranking.location", &["location"], Text, "", Refused("write geoLocation in yql"), "where the query is asked"),
    row("ranking.elementGap.", &[], Text, "infinity", Read, "how many words lie between the elements of a field, for `near` and `onear`"),
    row("ranking.matchPhase.attribute", &["matchPhase.attribute"], Text, "", Read, "the attribute by which the matches to rank are chosen"),
    row("ranking.matchPhase.maxHits", &["matchPhase.maxHits"], Count, "", Read, "how many matches are enough to rank"),
    row("ranking.matchPhase.totalMaxHits", &["matchPhase.totalMaxHits"], Count, "", Read, "the same"),
    row("ranking.matchPhase.ascending", &["matchPhase.ascending"], Bool, "", Read, "the smallest values of the attribute are chosen"),
    row("ranking.matchPhase.diversity.attribute", &["matchPhase.diversity.attribute"], Text, "", Read, "the attribute that tells groups of matches apart"),
    row("ranking.matchPhase.diversity.minGroups", &["matchPhase.diversity.minGroups"], Count, "", Read, "how many groups there should be"),
    row("ranking.matchPhase.diversity.cutoffFactor", &["matchPhase.diversity.cutoffFactor", "ranking.matchPhase.diversity.cutoff.factor"], Number, "10", Read, "how many times as many groups keep to their share when matches are chosen"),
    row("ranking.matchPhase.diversity.cutoffStrategy", &["matchPhase.diversity.cutoffStrategy", "ranking.matchPhase.diversity.cutoff.strategy"], Choice(&["loose", "strict"]), "loose", Read, "whether groups that are known keep to it behind these too"),
    row("ranking.matchPhase.maxFilterCoverage", &["matchPhase.maxFilterCoverage"], Number, "0.2", Read, "all matches are ranked unless the limit is less than this part of them, from 0 to 1"),
    row("ranking.matchPhase.", &["matchPhase."], Text, "", Refused("there are attribute, ascending, maxHits, totalMaxHits, maxFilterCoverage and diversity"), "how much is matched"),
    row("ranking.softtimeout.enable", &[], Bool, "true", Read, "answer with less when the time is nearly over"),
    row("ranking.softtimeout.factor", &[], Number, "0.7", Read, "the part of the time that matching may take"),
    row("ranking.softtimeout.tailcost", &[], Number, "", Ignored(LATER), "the part of the time that comes behind matching"),
    row("ranking.matching.weakand.stopwordLimit", &[], Number, "1.0", Read, "words that a greater part of the documents has are left out of `weakAnd`, for matching and ranking"),
    row("ranking.matching.weakand.allowDropAll", &[], Bool, "false", Read, "all words of a `weakAnd` may be left out; else the rarest stays"),
    row("ranking.matching.weakand.adjustTarget", &[], Number, "0.01", Ignored("the best are found whatever words are frequent"), "the words by which the search begins"),
    row("ranking.matching.anntimebudget", &[], Time, "", Read, "how long each search of a [graph](neighbors.md) may take, which is content then with what it has found"),
    row("ranking.matching.anntimeout.enable", &[], Bool, "true", Read, "searches of graphs end before the time for matching does"),
    row("ranking.matching.anntimeout.factor", &[], Number, "0.9", Read, "the part of the time for matching that all of them have together"),
    row("ranking.matching.approximateThreshold", &[], Number, "0.02", Read, "where a smaller part of the documents passes the filter, [all of these](neighbors.md) are compared"),
    row("ranking.matching.filterFirstThreshold", &[], Number, "0.2", Read, "where a smaller part passes, only vectors that do are compared"),
    row("ranking.matching.filterFirstExploration", &[], Number, "0.01", Read, "how soon such a search looks no further than the links of links"),
    row("ranking.matching.postFilterThreshold", &[], Number, "1.0", Read, "where a larger part passes, the filter comes after the search"),
    row("ranking.matching.targetHitsMaxAdjustmentFactor", &[], Number, "20.0", Read, "how many times as many hits such a search looks for at most"),
    row("ranking.matching.explorationSlack", &[], Number, "0.0", Read, "how much farther than the worst hit a search goes on, as a part of its distance"),
    row("ranking.matching.numThreadsPerSearch", &[], Count, "", Read, "the most threads for a search"),
    row("ranking.matching.minHitsPerThread", &[], Count, "", Read, "the fewest documents that a thread is worth"),
    row("ranking.matching.", &[], Text, "", Ignored("all documents are looked at"), "how documents are matched"),
    row("ranking.significance.useModel", &[], Bool, "", Read, "whether [models of significance](ranking.md#how-rare-words-are) say how rare words are"),
    row("presentation.summary", &["summary"], Text, "default", Read, "the summary of hits"),
    row("presentation.summaryFields", &["summaryFields"], Text, "", Read, "the fields of hits"),
    row("presentation.format", &["format", "template"], Choice(&["default", "json", "cbor"]), "default", Read, "the format of the result"),
    row("presentation.format.tensors", &["format.tensors"],
        Choice(&["short", "long", "short-value", "long-value", "hex", "hex-value"]), "short", Read, "the form of tensors"),
    row("presentation.timing", &["timing"], Bool, "false", Read, "tell how long it took"),
    row("presentation.bolding", &["bolding"], Bool, "true", Read, "mark the words that were found in [summaries](summaries.md)"),
    row("select.where", &[], Text, "", Read, "the query as [JSON](#queries-as-json), where `yql` says none"),
    row("select.fields", &[], Text, "", Read, "the fields of hits, as a list in JSON"),
    row("select.grouping", &[], Text, "", Read, "[groupings](grouping.md) as a list in JSON"),
    row("select", &[], Text, "", Read, "[groupings](grouping.md), with `;` between them"),
    row("continue", &[], Text, "", Read, "continuations of the groupings of `select`, with spaces between them"),
    row("collapsefield", &[], Text, "", Read, "fields, with commas between; so many hits stay for each value as `collapsesize` says"),
    row("collapsesize", &[], Count, "1", Read, "the hits that stay for each value of `collapsefield`"),
    row("collapsesize.", &[], Count, "", Read, "the same of one of these fields: `collapsesize.shop`"),
    row("collapse.summary", &[], Text, "", Read, "the summary that has the values of `collapsefield`; that of hits without it"),
    row("collapse.", &[], Text, "", Refused("there are collapsefield, collapsesize, collapsesize.FIELD and collapse.summary"), "nothing"),
    row("grouping.defaultMaxGroups", &[], Number, "10", Read, "the groups of a list where a grouping does not say; -1 for all"),
    row("grouping.defaultMaxHits", &[], Number, "10", Read, "the hits of a group where a grouping does not say; -1 for all"),
    row("grouping.globalMaxGroups", &[], Number, "10000", Read, "the most groups and hits that a grouping may have; -1 for any number; query profiles say it"),
    row("grouping.defaultPrecisionFactor", &[], Number, "2.0", Read, "how many times as many groups each node looks at as a list has"),
    row("grouping.", &[], Text, "", Refused("there are defaultMaxGroups, defaultMaxHits, globalMaxGroups and defaultPrecisionFactor"), "nothing"),
    row("recall", &[], Text, "", Read, "what hits must have behind `+`, and must not behind `-`, without being ranked for it"),
    row("streaming.groupname", &[], Text, "", Read, "the group whose documents are searched where they are [streamed](streaming.md)"),
    row("streaming.userid", &[], Text, "", Read, "the user whose documents are"),
    row("streaming.selection", &[], Text, "", Read, "a selection of the documents that are"),
    row("streaming.maxBytes", &[], Count, "1073741824", Read, "the most memory that the documents may take which a search reads, in bytes; query profiles say it"),
    row("streaming.maxbucketspervisitor", &[], Count, "", Ignored(ONE), "the buckets that are read at a time"),
    row("streaming.", &[], Text, "", Refused("there are groupname, userid, selection, maxBytes and maxbucketspervisitor"), "nothing"),
    row("trace.level", &["tracelevel"], Count, "0", Read, "from 1 tell what was done, and which parameters have no effect"),
    row("trace.explainLevel", &["explainLevel"], Count, "0", Read, "from 1 tell what was matched and ranked, in which order, and what that cost"),
    row("trace.", &[], Text, "", Ignored(LATER), "what is told of what was done"),
    row("sorting.degrading", &[], Bool, "true", Ignored("all matches are ordered"), "order the best by an attribute only"),
    row("dispatch.", &[], Text, "", Ignored(ONE), "how nodes are asked"),
    row("model.searchGroup", &["searchgroup"], Text, "", Ignored(ONE), "the group of nodes"),
    row("jsoncallback", &[], Text, "", Refused("results are plain JSON"), "a function around the result"),
    row("renderer.json.", &[], Text, "", Ignored(LATER), "how maps and weighted sets are written"),
];

/// The parameter of a name, and the name that it has in the table; of a group the name with what follows.
#[must_use]
pub fn find(name: &str) -> Option<(&'static Parameter, String)> {
    let is_it = |known: &&str| known.eq_ignore_ascii_case(name);
    if let Some(row) =
        PARAMETERS.iter().find(|row| is_it(&row.name) || row.aliases.iter().any(is_it))
    {
        return Some((row, row.name.to_owned()));
    }
    PARAMETERS.iter().filter(|row| row.name.ends_with('.')).find_map(|row| {
        let behind = |group: &&'static str| {
            let head = name.get(..group.len())?;
            head.eq_ignore_ascii_case(group).then(|| &name[group.len()..])
        };
        let rest = std::iter::once(&row.name).chain(row.aliases).find_map(behind)?;
        Some((row, format!("{}{rest}", row.name)))
    })
}

#[cfg(test)]
mod tests {
    use super::{Effect, Kind, PARAMETERS, Parameter, find};

    #[test]
    fn names_and_aliases_are_found() {
        for (name, expected) in [
            ("hits", Some("hits")),
            ("COUNT", Some("hits")),
            ("ranking", Some("ranking.profile")),
            ("Ranking.Profile", Some("ranking.profile")),
            ("input.query(Q)", Some("ranking.features.query(Q)")),
            ("rankfeature.query(q)", Some("ranking.features.query(q)")),
            ("ranking.matching.termwiseLimit", Some("ranking.matching.termwiseLimit")),
            ("format", Some("presentation.format")),
            ("format.tensors", Some("presentation.format.tensors")),
            ("user_vector", None),
            ("inputs", None),
        ] {
            let found = find(name).map(|(_, canonical)| canonical);
            assert_eq!(found.as_deref(), expected, "{name}");
        }
    }

    #[test]
    fn no_name_stands_twice() {
        let mut names: Vec<String> = PARAMETERS
            .iter()
            .flat_map(|row| std::iter::once(&row.name).chain(row.aliases))
            .map(|name| name.to_ascii_lowercase())
            .collect();
        names.sort();
        assert!(names.windows(2).all(|two| two[0] != two[1]), "{names:?}");
    }

    /// The row of a parameter in the documentation.
    fn line(row: &Parameter) -> String {
        let code = |text: &&str| format!("`{text}`");
        let aliases = row.aliases.iter().map(code).collect::<Vec<_>>().join(", ");
        let aliases = if aliases.is_empty() { aliases } else { format!(" ({aliases})") };
        let kind = match row.kind {
            Kind::Text => "text".to_owned(),
            Kind::Count => "whole number".to_owned(),
            Kind::Number => "number".to_owned(),
            Kind::Bool => "`true`, `false`".to_owned(),
            Kind::Time => "time".to_owned(),
            Kind::Choice(words) => words.iter().map(code).collect::<Vec<_>>().join(", "),
        };
        let default = if row.default.is_empty() { String::new() } else { code(&row.default) };
        let effect = match row.effect {
            Effect::Read => row.about.to_owned(),
            Effect::Ignored(why) => format!("no effect: {why}"),
            Effect::Refused(why) => format!("refused: {why}"),
        };
        format!("| `{}`{aliases} | {kind} | {default} | {effect} |", row.name)
    }

    #[test]
    fn the_documentation_has_every_parameter() {
        let page = include_str!("../../../../docs/queries.md");
        let rows = page
            .lines()
            .filter(|line| line.starts_with("| `"))
            .skip_while(|l| !l.starts_with("| `yql`"));
        let rows: Vec<&str> = rows.collect();
        let expected: Vec<String> = PARAMETERS.iter().map(line).collect();
        assert_eq!(rows, expected, "expected:\n{}", expected.join("\n"));
    }
}
