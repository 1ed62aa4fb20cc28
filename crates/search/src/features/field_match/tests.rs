//! Outputs against those that Vespa's own tests expect.

use super::measures::Measures;
use super::segments::{Asked, Text};
use super::settings::Settings;
use super::{OUTPUTS, Occurrences};

/// Vespa's cases (`searchlib/src/tests/features/prod_features_fieldmatch.cpp`), one on each line: outputs, the terms of a query, a text, and what
/// differs from the defaults. A term is `connectedness:word!weight%significance`; `score` is the feature itself.
const CASES: &str = include_str!("cases.txt");

/// What a case has besides the usual.
struct Case<'c> {
    settings: Settings,
    weight: Option<f64>,
    significance: Option<f64>,
    terms: Vec<(&'c str, Asked)>,
    words: Vec<&'c str>,
}

impl<'c> Case<'c> {
    fn read(query: &'c str, text: &'c str, rest: &str) -> Case<'c> {
        let mut case = Case {
            settings: Settings::default(),
            weight: None,
            significance: None,
            terms: query.split_ascii_whitespace().map(term).collect(),
            words: text.split_ascii_whitespace().collect(),
        };
        for setting in rest.split_ascii_whitespace() {
            let (name, value) = setting.split_once('=').unwrap();
            let number = || value.parse::<f64>().unwrap();
            match name {
                "totalTermWeight" => case.weight = Some(number()),
                "totalTermSignificance" => case.significance = Some(number()),
                "maxOccurrences" => case.settings.occurrences = value.parse().unwrap(),
                "maxAlternativeSegmentations" => {
                    case.settings.alternatives = value.parse().unwrap();
                }
                "proximityLimit" => case.settings.limit = value.parse().unwrap(),
                "proximityTable" => {
                    case.settings.table = value.split(',').map(|n| n.parse().unwrap()).collect();
                }
                other => panic!("{other}"),
            }
        }
        case
    }
}

fn term(text: &str) -> (&str, Asked) {
    let (connectedness, rest) = text.split_once(':').unwrap_or(("0.1", text));
    let (rest, significance) = rest.split_once('%').unwrap_or((rest, "0.1"));
    let (word, weight) = rest.split_once('!').unwrap_or((rest, "100"));
    let number = |text: &str| text.parse::<f64>().unwrap();
    let asked = Asked {
        weight: number(weight),
        significance: number(significance),
        connectedness: number(connectedness),
    };
    (word, asked)
}

#[test]
fn outputs_are_those_of_vespa() {
    let mut count = 0;
    for line in CASES.lines() {
        let parts: Vec<&str> = line.split('|').map(str::trim).collect();
        let [expected, query, text, rest @ ..] = &parts[..] else { panic!("{line}") };
        let case = Case::read(query, text, rest.first().unwrap_or(&""));
        let places_of = |word: &str| {
            (0..).zip(&case.words).filter(|(_, w)| **w == word).map(|(at, _)| at).collect()
        };
        let places: Vec<Vec<u32>> = case.terms.iter().map(|(word, _)| places_of(word)).collect();
        let terms: Vec<Asked> = case.terms.iter().map(|(_, asked)| asked.clone()).collect();
        let text = Text {
            terms: &terms,
            places: &places,
            length: case.words.len() as u32,
            weight: case.weight.unwrap_or_else(|| terms.iter().map(|t| t.weight).sum()),
            significance: case
                .significance
                .unwrap_or_else(|| terms.iter().map(|t| t.significance).sum()),
            settings: &case.settings,
        };
        let is_matched = places.iter().any(|places| !places.is_empty());
        let measures = is_matched.then(|| text.measures());
        for output in expected.split_ascii_whitespace() {
            let (name, expected) = output.split_once(':').unwrap();
            let name = if name == "score" { "" } else { name };
            let output = OUTPUTS.iter().find(|(known, _)| *known == name).unwrap().1;
            let found = measures.as_ref().map_or(0.0, |measures| output(measures, &text));
            let expected: f64 = expected.parse().unwrap();
            assert!((found - expected).abs() < 1e-4, "{line}: {name} is {found}");
            count += 1;
        }
    }
    assert!(count > 300, "{count}");
}

/// A long text that has the terms everywhere ends when the other segmentations are used up.
#[test]
fn patience_ends() {
    let settings = Settings::default();
    let terms = vec![Asked { weight: 100.0, significance: 0.5, connectedness: 0.1 }; 40];
    let places: Vec<Vec<u32>> = (0..40).map(|at| (at..20_000).step_by(37).collect()).collect();
    let text = Text {
        terms: &terms,
        places: &places,
        length: 20_000,
        weight: 4000.0,
        significance: 20.0,
        settings: &settings,
    };
    let measures: Measures = text.measures();
    assert_eq!(measures.matches, 40);
    assert!(Occurrences::of(&text).absolute <= 1.0);
}
