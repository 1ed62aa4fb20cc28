//! What the demo asks, and what the answers mean.

use serde_json::Value;

/// One request of the demo.
pub struct Story {
    /// The question, for people.
    pub question: &'static str,
    /// Where it is sent.
    pub path: &'static str,
    /// The JSON that is sent.
    pub body: &'static str,
    /// The answer, for people; `None` if it does not have the expected form.
    pub explain: fn(&Value) -> Option<Vec<String>>,
}

/// The questions, one for each model.
pub const STORIES: &[Story] = &[
    Story {
        question: "3. Which restaurant should a guest see first?\n   The model `ranker` takes stars, number of reviews, \
                   minutes to walk and the price of a meal.",
        path: "/v1/models/ranker:predict",
        body: include_str!("../../../../examples/quickstart/requests/ranker.json"),
        explain: ranking,
    },
    Story {
        question: "4. Are these reviews happy?\n   The model `sentiment` takes word numbers (examples/quickstart/words.txt) of \
                   \"the soup was delicious and the staff was friendly\"\n   and \"we waited an hour and the food was cold\".",
        path: "/v2/models/sentiment/infer",
        body: include_str!("../../../../examples/quickstart/requests/sentiment.json"),
        explain: mood,
    },
    Story {
        question: "5. Is a machine about to fail?\n   The model `bearing` takes 128 samples of a vibration sensor, here of three machines.",
        path: "/v1/models/bearing:predict",
        body: include_str!("../../../../examples/quickstart/requests/bearing.json"),
        explain: machines,
    },
];

fn ranking(answer: &Value) -> Option<Vec<String>> {
    const NAMES: [&str; 3] = [
        "Trattoria (4.7 stars, 12 minutes)",
        "Snack bar (3.1 stars, cheap)",
        "Chez Loin (4.9 stars, far and dear)",
    ];
    let rows = answer["predictions"].as_array()?;
    let scores: Option<Vec<f64>> =
        rows.iter().map(|row| row[0].as_f64().or_else(|| row.as_f64())).collect();
    let mut ranked: Vec<(f64, &str)> = scores?.into_iter().zip(NAMES).collect();
    ranked.sort_by(|a, b| b.0.total_cmp(&a.0));
    let line = |(place, (score, name)): (usize, (f64, &str))| {
        format!("{}. {name}: {:.0} %", place + 1, score * 100.0)
    };
    Some(ranked.into_iter().enumerate().map(line).collect())
}

fn mood(answer: &Value) -> Option<Vec<String>> {
    let data = answer["outputs"][0]["data"].as_array()?;
    let line = |(n, value): (usize, &Value)| {
        let happy = value.as_f64()?;
        let word = if happy > 0.5 { "happy" } else { "unhappy" };
        Some(format!("review {}: {word} ({:.0} % sure)", n + 1, 100.0 * happy.max(1.0 - happy)))
    };
    data.iter().enumerate().map(line).collect()
}

fn machines(answer: &Value) -> Option<Vec<String>> {
    const STATES: [&str; 3] = ["runs well", "has a worn bearing", "is off"];
    let line = |(n, row): (usize, &Value)| {
        let shares: Option<Vec<f64>> = row.as_array()?.iter().map(Value::as_f64).collect();
        let shares = shares?;
        let (state, share) = STATES.iter().zip(&shares).max_by(|a, b| a.1.total_cmp(b.1))?;
        Some(format!("machine {}: {state} ({:.1} %)", n + 1, share * 100.0))
    };
    answer["outputs"].as_array()?.iter().enumerate().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn answers_are_explained_and_surprises_noticed() {
        let text = |lines: Option<Vec<String>>| lines.map(|lines| lines.join("; "));
        let ranked = ranking(&json!({"predictions": [[0.2], [0.9], [0.1]]}));
        assert!(text(ranked).unwrap().starts_with("1. Snack bar"));
        let mood_of = mood(&json!({"outputs": [{"data": [0.9, 0.25]}]}));
        assert_eq!(
            text(mood_of).unwrap(),
            "review 1: happy (90 % sure); review 2: unhappy (75 % sure)"
        );
        let state = machines(&json!({"outputs": [[0.1, 0.8, 0.1]]}));
        assert_eq!(text(state).unwrap(), "machine 1: has a worn bearing (80.0 %)");
        assert_eq!(ranking(&json!({"error": "x"})), None);
        for story in STORIES {
            assert!(serde_json::from_str::<Value>(story.body).is_ok(), "{}", story.path);
        }
    }
}
