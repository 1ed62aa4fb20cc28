//! What `rank-properties` say of `fieldMatch`.

use super::super::Call;

/// The parameters of the search for segments and of the score
/// (Vespa, documentation, `reference/ranking/rank-feature-configuration.html`).
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Settings {
    /// Words so far apart are of different segments.
    pub(super) limit: u32,
    /// How much two words count, by how many lie between them: from `-limit` to `limit`.
    pub(super) table: Vec<f64>,
    /// How many other segmentations are tried.
    pub(super) alternatives: u32,
    /// No term occurs more often.
    pub(super) occurrences: u32,
    /// How much the parts of the score count.
    pub(super) proximity_completeness: f64,
    pub(super) relatedness: f64,
    pub(super) earliness: f64,
    pub(super) segment_proximity: f64,
    pub(super) occurrence: f64,
    pub(super) field_completeness: f64,
}

/// Widths above are taken for mistakes: a table has two numbers for each.
const WIDEST: u32 = 10_000;

/// How much words count that stand in the wrong order, ten words apart to none, and those in their order, one behind the other to ten apart.
const TABLE: [f32; 21] = [
    0.01, 0.02, 0.03, 0.04, 0.06, 0.08, 0.12, 0.17, 0.24, 0.33, 1.0, 0.71, 0.50, 0.35, 0.25, 0.18,
    0.13, 0.09, 0.06, 0.04, 0.03,
];

impl Default for Settings {
    /// What holds where nothing is said. Vespa's numbers are of single precision.
    fn default() -> Settings {
        Settings {
            limit: 10,
            table: TABLE.iter().map(|number| f64::from(*number)).collect(),
            alternatives: 1000,
            occurrences: 100,
            proximity_completeness: f64::from(0.9_f32),
            relatedness: f64::from(0.9_f32),
            earliness: f64::from(0.05_f32),
            segment_proximity: f64::from(0.05_f32),
            occurrence: f64::from(0.05_f32),
            field_completeness: f64::from(0.05_f32),
        }
    }
}

impl Settings {
    /// Those of a field.
    ///
    /// # Errors
    /// When a number is none that it may be, and when the table is not one of its limit.
    pub(super) fn read(call: &Call<'_>) -> Result<Settings, String> {
        let mut settings = Settings::default();
        let count = |name: &str, usual: u32| match call.property_text(name) {
            None => Ok(usual),
            Some(text) => text.parse::<u32>().map_err(|_| wrong(name, "a whole number", text)),
        };
        settings.limit = count("proximityLimit", settings.limit)?;
        if settings.limit > WIDEST {
            return Err(format!("proximityLimit is {}, at most {WIDEST}", settings.limit));
        }
        settings.alternatives = count("maxAlternativeSegmentations", settings.alternatives)?;
        settings.occurrences = count("maxOccurrences", settings.occurrences)?;
        for (name, number) in [
            ("proximityCompletenessImportance", &mut settings.proximity_completeness),
            ("relatednessImportance", &mut settings.relatedness),
            ("earlinessImportance", &mut settings.earliness),
            ("segmentProximityImportance", &mut settings.segment_proximity),
            ("occurrenceImportance", &mut settings.occurrence),
            ("fieldCompletenessImportance", &mut settings.field_completeness),
        ] {
            if let Some(text) = call.property_text(name) {
                *number = text.parse().map_err(|_| wrong(name, "a number", text))?;
            }
        }
        if let Some(text) = call.property_text("proximityTable") {
            let numbers = text.split_ascii_whitespace().map(str::parse);
            let numbers = numbers.collect::<Result<_, _>>();
            settings.table = numbers.map_err(|_| wrong("proximityTable", "numbers", text))?;
        }
        let wanted = settings.limit as usize * 2 + 1;
        if settings.table.len() != wanted {
            return Err(format!(
                "proximityTable has {} numbers, a proximityLimit of {} wants {wanted}",
                settings.table.len(),
                settings.limit
            ));
        }
        Ok(settings)
    }
}

fn wrong(name: &str, expected: &str, found: &str) -> String {
    format!("expected {expected} as {name}, found {found:.40}")
}
