//! How graphs of vectors are searched: by an annotation of the operator, a parameter of the request, or the rank profile, the first of
//! these that says something.

use stead_ann::Tuning;

/// A number of [`Tuning`].
struct Knob {
    /// Its name in rank profiles.
    keyword: &'static str,
    /// That of annotations.
    annotation: &'static str,
    /// That of parameters of requests.
    parameter: &'static str,
    set: fn(&mut Tuning, f64),
}

/// All of them (Vespa, documentation, `reference/schemas/schemas.html#rank-profile`, `reference/api/query.html#ranking.matching`).
const KNOBS: [Knob; 6] = [
    Knob {
        keyword: "approximate-threshold",
        annotation: "hnsw.approximateThreshold",
        parameter: "ranking.matching.approximateThreshold",
        set: |tuning, x| tuning.approximate_threshold = x,
    },
    Knob {
        keyword: "filter-first-threshold",
        annotation: "hnsw.filterFirstThreshold",
        parameter: "ranking.matching.filterFirstThreshold",
        set: |tuning, x| tuning.filter_first_threshold = x,
    },
    Knob {
        keyword: "post-filter-threshold",
        annotation: "hnsw.postFilterThreshold",
        parameter: "ranking.matching.postFilterThreshold",
        set: |tuning, x| tuning.post_filter_threshold = x,
    },
    Knob {
        keyword: "target-hits-max-adjustment-factor",
        annotation: "hnsw.targetHitsMaxAdjustmentFactor",
        parameter: "ranking.matching.targetHitsMaxAdjustmentFactor",
        set: |tuning, x| tuning.target_hits_max_adjustment_factor = x,
    },
    Knob {
        keyword: "filter-first-exploration",
        annotation: "hnsw.filterFirstExploration",
        parameter: "ranking.matching.filterFirstExploration",
        set: |tuning, x| tuning.filter_first_exploration = x,
    },
    Knob {
        keyword: "exploration-slack",
        annotation: "hnsw.explorationSlack",
        parameter: "ranking.matching.explorationSlack",
        set: |tuning, x| tuning.exploration_slack = x,
    },
];

/// What somebody says of [`Tuning`].
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct TuningChoice([Option<f64>; KNOBS.len()]);

impl TuningChoice {
    /// What a rank profile says, by the keywords that it has.
    pub fn of_profile(read: impl Fn(&str) -> Option<f64>) -> TuningChoice {
        TuningChoice(std::array::from_fn(|at| read(KNOBS[at].keyword)))
    }

    /// What an annotation of a query says, by the names of all.
    ///
    /// # Errors
    /// Those of `read`.
    pub fn of_annotations<E>(
        read: impl Fn(&'static str) -> Result<Option<f64>, E>,
    ) -> Result<TuningChoice, E> {
        TuningChoice::read(|knob| read(knob.annotation))
    }

    /// What the parameters of a request say, likewise.
    ///
    /// # Errors
    /// Those of `read`.
    pub fn of_parameters<E>(
        read: impl Fn(&'static str) -> Result<Option<f64>, E>,
    ) -> Result<TuningChoice, E> {
        TuningChoice::read(|knob| read(knob.parameter))
    }

    fn read<E>(read: impl Fn(&Knob) -> Result<Option<f64>, E>) -> Result<TuningChoice, E> {
        let mut choice = TuningChoice::default();
        for (said, knob) in choice.0.iter_mut().zip(&KNOBS) {
            *said = read(knob)?;
        }
        Ok(choice)
    }

    /// Whether a keyword of rank profiles is one of these.
    #[must_use]
    pub fn is_keyword(keyword: &str) -> bool {
        KNOBS.iter().any(|knob| knob.keyword == keyword)
    }

    /// The same, and what another says where this says nothing.
    #[must_use]
    pub fn or(self, other: TuningChoice) -> TuningChoice {
        TuningChoice(std::array::from_fn(|at| self.0[at].or(other.0[at])))
    }

    /// All numbers, with Vespa's defaults where nothing is said.
    #[must_use]
    pub fn tuning(self) -> Tuning {
        let mut tuning = Tuning::default();
        for (said, knob) in self.0.into_iter().zip(&KNOBS) {
            said.into_iter().for_each(|number| (knob.set)(&mut tuning, number));
        }
        tuning
    }
}

#[cfg(test)]
mod tests {
    use super::{KNOBS, TuningChoice};

    #[test]
    fn the_first_who_says_something_is_heard() {
        let of_query = |name: &str, number: f64| {
            let read = |asked: &str| Ok::<_, ()>((asked == name).then_some(number));
            TuningChoice::of_annotations(read).unwrap()
        };
        let profile = TuningChoice::of_profile(|keyword| match keyword {
            "approximate-threshold" => Some(0.5),
            "exploration-slack" => Some(0.25),
            _ => None,
        });
        let tuning = of_query("hnsw.approximateThreshold", 0.75).or(profile).tuning();
        assert_eq!((tuning.approximate_threshold, tuning.exploration_slack), (0.75, 0.25));
        assert_eq!((tuning.filter_first_threshold, tuning.post_filter_threshold), (0.2, 1.0));
        let tuning = of_query("hnsw.another", 0.75).or(profile).tuning();
        assert_eq!(tuning.approximate_threshold, 0.5);
    }

    #[test]
    fn each_number_is_set_by_itself() {
        let mut seen = Vec::new();
        for knob in &KNOBS {
            let tuning =
                TuningChoice::of_profile(|keyword| (keyword == knob.keyword).then_some(7.0));
            let text = format!("{:?}", tuning.tuning());
            assert_eq!(text.matches("7.0").count(), 1, "{}", knob.keyword);
            assert!(!seen.contains(&text), "{}", knob.keyword);
            seen.push(text);
        }
    }
}
