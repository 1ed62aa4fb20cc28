//! Words: queries and feeds beside tantivy.

use serde_json::Value;

use super::{Context, manuals};
use crate::results::{Table, goal};

/// stead's queries and texts a second over tantivy's.
const GOAL: f64 = 1.0;

/// Texts that are made up.
const DOCUMENTS: usize = 1_000_000;
const QUICK: usize = 50_000;

/// The table.
pub fn table(context: &Context) -> Result<Table, String> {
    let documents = if context.quick { QUICK } else { DOCUMENTS }.to_string();
    let (rounds, sweeps) = if context.quick { ("1", "5") } else { ("3", "21") };
    let pages = manuals::fetched(&context.folder)?.to_string_lossy().into_owned();
    let made_up = context.told(&["text", "zipf", &documents, rounds, sweeps])?;
    let pages = context.told(&["text", "pages", &pages, rounds, sweeps])?;
    let corpora = [("Zipf", &made_up), ("manual pages", &pages)];
    let about = |(name, told): (&str, &Value)| {
        let number = |key: &str| told[key].as_u64().unwrap_or_default();
        let mb = |key: &str| number(key) as f64 / 1e6;
        format!(
            "{name}: {} texts, {} words, {} different; {} segments of {:.0} MB, tantivy's {} of {:.0} MB",
            number("documents"),
            number("words"),
            number("different"),
            number("segments"),
            mb("memory"),
            number("peer_segments"),
            mb("peer_memory")
        )
    };
    Ok(Table {
        title: "words beside tantivy".to_owned(),
        note: format!(
            "`search-peers text` of bench/peers/search. The best 10 by BM25 (k1 1.2, b 0.75) of texts that have one of several words at least; one thread asks. Texts are words with blanks between, \
             8 to 40: tantivy 0.27 keeps lengths in a byte, which is exact up to 40 and rounded above, where scores could not be compared. {}. 100 queries for each row, with ranks of their words \
             whose logarithms are uniform; `equal` is for how many both find the same scores (1e-4) of the same texts, but for texts that share the last score. Feeds: stead publishes each text before the next \
             comes, and makes the lists of postings of 512 texts and more, and joins these, on a second thread (those of the last few texts are made by the first query that comes); tantivy indexes on a second thread and joins on others, with a commit and a new reader each second. Both in memory, with positions, tantivy with its defaults for merging. {rounds} feeds, {sweeps} sweeps of the queries, turn by turn; medians.",
            corpora.map(about).join(". ")
        ),
        header: vec!["texts", "what", "stead/s", "tantivy/s", "ratio", "equal", "goal"],
        rows: corpora.iter().flat_map(|(name, told)| rows(name, told)).collect(),
    })
}

fn rows(name: &str, told: &Value) -> Vec<Vec<String>> {
    let row = |what: String, of: &Value, keys: [&str; 3], equal: String, is_equal: bool| {
        let [own, peer, ratio] = keys.map(|key| of[key].as_f64().unwrap_or(f64::NAN));
        let is_met = goal(ratio >= GOAL && is_equal);
        let goal = format!("{GOAL} {is_met}");
        let cells = [format!("{own:.0}"), format!("{peer:.0}"), format!("{ratio:.2}")];
        [vec![name.to_owned(), what], cells.to_vec(), vec![equal, goal]].concat()
    };
    let feed =
        row("feed".to_owned(), told, ["feed", "peer_feed", "feed_ratio"], "-".to_owned(), true);
    let queries = told["rows"].as_array().into_iter().flatten().map(|of| {
        let (terms, ranks) = (&of["terms"], of["ranks"].as_str().unwrap_or_default());
        let equal = format!("{} of {}", of["equal"], of["queries"]);
        let keys = ["per_second", "peer_per_second", "ratio"];
        row(format!("words: {terms}, {ranks}"), of, keys, equal, of["equal"] == of["queries"])
    });
    queries.chain([feed]).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::rows;

    #[test]
    fn what_is_not_equal_misses() {
        let row = |equal| {
            json!({"terms": 2, "ranks": "of any rank", "equal": equal, "queries": 100,
                "per_second": 3000.4, "peer_per_second": 2000.0, "ratio": 1.5})
        };
        let told =
            json!({"feed": 5.0, "peer_feed": 10.0, "feed_ratio": 0.5, "rows": [row(100), row(99)]});
        let expected = [
            "t|words: 2, of any rank|3000|2000|1.50|100 of 100|1 met",
            "t|words: 2, of any rank|3000|2000|1.50|99 of 100|1 missed",
            "t|feed|5|10|0.50|-|1 missed",
        ];
        let told: Vec<String> = rows("t", &told).iter().map(|row| row.join("|")).collect();
        assert_eq!(told, expected);
    }
}
