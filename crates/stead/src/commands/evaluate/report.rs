//! What was found, as text and JSON.

use serde_json::{Value as Json, json};

use super::compare::{Difference, compare};
use super::metrics::{NAMES, Scores, average};

/// What a rank profile has done.
pub(super) struct Judged {
    pub(super) profile: String,
    /// By query, in their order.
    pub(super) scores: Vec<(String, Scores)>,
}

impl Judged {
    fn average(&self) -> Scores {
        average(self.scores.iter().map(|(_, scores)| scores))
    }

    fn list(&self, measure: fn(&Scores) -> f64) -> Vec<f64> {
        self.scores.iter().map(|(_, scores)| measure(scores)).collect()
    }
}

/// How the second of two profiles differs from the first, by each measure.
fn differences(judged: &[Judged]) -> Vec<(&'static str, Difference)> {
    let [first, second] = judged else { return Vec::new() };
    let of = |(name, measure): &(&'static str, fn(&Scores) -> f64)| {
        (*name, compare(&first.list(*measure), &second.list(*measure)))
    };
    NAMES.iter().map(of).collect()
}

/// Tables for people.
pub(super) fn text(judged: &[Judged], per_query: bool) -> String {
    let mut shown = String::new();
    let names: Vec<String> = NAMES.iter().map(|(name, _)| format!("{name:>9}")).collect();
    let row = |label: &str, width: usize, scores: &Scores| {
        let values: Vec<String> =
            NAMES.iter().map(|(_, measure)| format!("{:>9.4}", measure(scores))).collect();
        format!("{label:<width$} {}\n", values.join(" "))
    };
    let width = judged.iter().map(|of| of.profile.len()).max().unwrap_or(0).max("profile".len());
    if per_query {
        let ids = judged.iter().flat_map(|of| &of.scores).map(|(id, _)| id.len());
        let width = ids.max().unwrap_or(0).max("query".len());
        for of in judged {
            shown += &format!("{}\n{:<width$} {}\n", of.profile, "query", names.join(" "));
            of.scores.iter().for_each(|(id, scores)| shown += &row(id, width, scores));
            shown.push('\n');
        }
    }
    shown += &format!("{:<width$} {}\n", "profile", names.join(" "));
    judged.iter().for_each(|of| shown += &row(&of.profile, width, &of.average()));
    let differences = differences(judged);
    if let [first, second] = judged {
        shown += &format!("\n{} less {}\n", second.profile, first.profile);
    }
    for (name, of) in differences {
        let Difference { mean, better, worse, p } = of;
        shown += &format!("{name:>9} {mean:>+9.4}   better {better}, worse {worse}, p = {p:.4}\n");
    }
    shown
}

/// The same for programs.
pub(super) fn json(judged: &[Judged]) -> Json {
    let values = |scores: &Scores| -> Json {
        let of = |(name, measure): &(&'static str, fn(&Scores) -> f64)| {
            ((*name).to_owned(), json!(measure(scores)))
        };
        NAMES.iter().map(of).collect::<serde_json::Map<String, Json>>().into()
    };
    let profiles = judged.iter().map(|of| {
        let queries = of.scores.iter().map(|(id, s)| json!({"id": id, "scores": values(s)}));
        json!({
            "profile": of.profile,
            "scores": values(&of.average()),
            "queries": queries.collect::<Vec<_>>(),
        })
    });
    let mut report = json!({"profiles": profiles.collect::<Vec<_>>()});
    let differences = differences(judged);
    if !differences.is_empty() {
        let of = |(name, of): (&'static str, Difference)| {
            let value = json!({"mean": of.mean, "better": of.better, "worse": of.worse, "p": of.p});
            (name.to_owned(), value)
        };
        let all: serde_json::Map<String, Json> = differences.into_iter().map(of).collect();
        report["differences"] = all.into();
    }
    report
}
