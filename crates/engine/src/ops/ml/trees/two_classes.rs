//! Classifiers of two classes, whose leaves most often vote for one of them alone.

use super::ensemble::Trees;
use crate::error::BuildError;
use crate::ops::ml::post::both;
use stead_kernels::ml::post::{Post, apply, logistic};

/// How two scores and a label come of the votes.
///
/// The standard does not say what a lone score means. ONNX Runtime takes it for a probability if no vote is negative, and
/// else for a distance from a border at 0, as XGBoost and LightGBM have it.
#[derive(Debug, Clone, Copy)]
pub(super) struct TwoClasses {
    /// The class that votes are for.
    voted: usize,
    base: f64,
    /// No vote is negative.
    is_probability: bool,
    post: Post,
}

impl TwoClasses {
    /// # Errors
    /// [`BuildError`]: votes for both classes, more base values than one, or a transformation without meaning here.
    pub(super) fn of(trees: &Trees, base: &[f64], post: Post) -> Result<TwoClasses, BuildError> {
        let (voted, least) = trees.votes();
        let &[voted] = voted.as_slice() else {
            return Err(BuildError::unsupported(
                "two classes that both get votes; supported: votes for one of two classes",
            ));
        };
        if base.len() > 1 || (voted == 1 && !base.is_empty()) {
            let text = format!("{} base values for votes for class {voted} of two", base.len());
            return Err(BuildError::unsupported(text));
        }
        if post == Post::Probit {
            return Err(BuildError::unsupported("post_transform PROBIT of two classes"));
        }
        let base = base.first().copied().unwrap_or(0.0);
        Ok(TwoClasses { voted, base, is_probability: least >= 0.0, post })
    }

    /// Writes both scores and gives the label's position.
    pub(super) fn decide(self, votes: impl Fn(usize) -> f64, z: &mut [f32]) -> usize {
        let votes = votes(self.voted);
        let score = (if votes.is_nan() { 0.0 } else { votes } + self.base) as f32;
        let scores = match (self.voted, self.is_probability, self.post) {
            (1, ..) => {
                let mut scores = [0.0, score];
                apply(self.post, &mut scores);
                scores
            }
            (_, _, Post::Logistic) => [logistic(-score), logistic(score)],
            (_, true, post) => both(post, score),
            (_, false, _) => [-score, score],
        };
        z.copy_from_slice(&scores);
        usize::from(score > if self.is_probability { 0.5 } else { 0.0 })
    }
}
