//! Whose scores a forest computes, and where those two differ.

use std::collections::BTreeSet;
use std::fmt;

use crate::model::{Format, Library, Missing, Model, Node, Test};

/// Whose scores a forest computes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Mode {
    /// Vespa's: what its `xgboost` and `lightgbm` rank features give for the same file. Where
    /// Vespa cannot read a file at all, as [`Mode::Exact`]; [`Model::differences`] then begins with
    /// [`Difference::NotInVespa`].
    #[default]
    Compat,
    /// Those of the library's own `predict`.
    Exact,
}

/// A way in which Vespa's scores of a model are not those of its library.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Difference {
    /// Vespa cannot read the model; both modes give the library's predictions.
    NotInVespa {
        /// What it cannot read.
        what: &'static str,
    },
    /// `base_score` is not in the file.
    NoBaseScore,
    /// The score is the sum before the link of the objective.
    NoLink {
        /// The objective.
        objective: String,
    },
    /// The sigmoid of the objective has another slope than 1, which Vespa takes.
    Slope {
        /// The objective with its parameter.
        objective: String,
    },
    /// `base_score` is added as it is, not as its logarithm.
    PlainBaseScore {
        /// The objective.
        objective: String,
    },
    /// Leaves were adjusted after growing, which Vespa does not see.
    OldLeaves {
        /// Leaves that differ.
        leaves: usize,
    },
    /// Splits compare with the next smaller f32.
    LowerThresholds,
    /// A value equal to a threshold goes right instead of left.
    Equality,
    /// A missing value, or a zero, is sent another way.
    Missing {
        /// The features, by name.
        features: Vec<String>,
    },
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Difference::NotInVespa { what } => {
                write!(f, "Vespa cannot read {what}; the scores are those of the library")
            }
            Difference::NoBaseScore => f.write_str(
                "a dump of XGBoost has no base_score and no objective; the score is the sum of the leaves",
            ),
            Difference::NoLink { objective } => {
                write!(f, "the score is the sum before the transformation of `{objective}`")
            }
            Difference::Slope { objective } => {
                write!(f, "`{objective}`: the sigmoid is computed with slope 1")
            }
            Difference::PlainBaseScore { objective } => {
                write!(f, "`{objective}`: base_score is added without taking its logarithm")
            }
            Difference::OldLeaves { leaves } => write!(
                f,
                "{leaves} leaves have the weights from before the objective adjusted them"
            ),
            Difference::LowerThresholds => {
                f.write_str("thresholds of XGBoost are lowered to the next smaller f32")
            }
            Difference::Equality => {
                f.write_str("LightGBM sends values equal to a threshold left, here they go right")
            }
            Difference::Missing { features } => {
                write!(f, "missing values or zeros are sent another way by {}", features.join(", "))
            }
        }
    }
}

impl Model {
    /// Why Vespa cannot read the model, if so.
    pub(crate) fn not_in_vespa(&self) -> Option<&'static str> {
        let among = |node: &Node| matches!(node, Node::Split { test: Test::Among { .. }, .. });
        let categorical = || self.trees.iter().any(|tree| tree.nodes.iter().any(among));
        match self.library() {
            _ if self.base.len() > 1 => Some("models of several outputs"),
            Library::LightGbm if self.divide != 1.0 => Some("random forests of LightGBM"),
            Library::XgBoost if categorical() => Some("categorical splits of XGBoost"),
            Library::XgBoost if self.trees.iter().any(|tree| tree.weight != 1.0) => {
                Some("DART models of XGBoost")
            }
            _ => None,
        }
    }

    /// Where [`Mode::Compat`] does not give what the library predicts; nothing if it always does.
    pub fn differences(&self) -> Vec<Difference> {
        if let Some(what) = self.not_in_vespa() {
            return vec![Difference::NotInVespa { what }];
        }
        match self.library() {
            Library::XgBoost => self.xgboost_differences(),
            Library::LightGbm => self.lightgbm_differences(),
        }
    }

    fn xgboost_differences(&self) -> Vec<Difference> {
        if self.format == Format::XgBoostDump {
            return vec![Difference::NoBaseScore];
        }
        let mut found = Vec::new();
        let objective = self.objective.clone().unwrap_or_default();
        if self.link != crate::link::Link::Identity {
            found.push(Difference::NoLink { objective: objective.clone() });
        }
        if (self.base[0] - self.vespa_base).abs() > 1e-6 {
            found.push(Difference::PlainBaseScore { objective });
        }
        let nodes = self.trees.iter().flat_map(|tree| &tree.nodes);
        let old = nodes
            .filter(|node| matches!(node, Node::Leaf { value, vespa } if value != vespa))
            .count();
        if old > 0 {
            found.push(Difference::OldLeaves { leaves: old });
        }
        found.push(Difference::LowerThresholds);
        found
    }

    fn lightgbm_differences(&self) -> Vec<Difference> {
        let mut found = Vec::new();
        let objective = self.objective.clone().unwrap_or_default();
        let vespa = crate::forest::vespa_link(&objective);
        if let crate::link::Link::Sigmoid(k) = self.link
            && k != 1.0
            && vespa != crate::link::Link::Identity
        {
            found.push(Difference::Slope { objective });
        } else if vespa != self.link {
            found.push(Difference::NoLink { objective });
        }
        let (mut equality, mut missing) = (false, BTreeSet::new());
        for node in self.trees.iter().flat_map(|tree| &tree.nodes) {
            let Node::Split { feature, test, .. } = node else { continue };
            let differs = match test {
                Test::AtMost { threshold, missing, default_left } => {
                    equality = true;
                    match missing {
                        Missing::Nan => false,
                        // NaN is 0 there.
                        Missing::None => *default_left != (0.0 <= *threshold),
                        Missing::Zero => *default_left != (0.0 < *threshold),
                    }
                }
                Test::Among { missing_left, .. } => *missing_left,
                Test::Less { .. } => false,
            };
            if differs {
                missing.insert(*feature);
            }
        }
        if equality {
            found.push(Difference::Equality);
        }
        if !missing.is_empty() {
            let name = |i: &u32| self.features[*i as usize].name.clone();
            found.push(Difference::Missing { features: missing.iter().map(name).collect() });
        }
        found
    }
}
