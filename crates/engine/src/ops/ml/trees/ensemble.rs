//! Trees of a file in the form that the kernel takes.

use crate::error::BuildError;
use stead_kernels::ml::ensemble::{Combine, Ensemble, LEAF, Node, Test, Vote};
use stead_tensor::DType;

/// Trees with the numbers of a file.
#[derive(Debug, Default)]
pub(super) struct Draft {
    pub roots: Vec<u32>,
    pub nodes: Vec<Node<f64>>,
    pub leaves: Vec<(u32, u32)>,
    pub votes: Vec<Vote<f64>>,
    pub members: Vec<f64>,
}

/// Trees with numbers of one type.
#[derive(Debug)]
pub(super) struct Typed<T> {
    roots: Vec<u32>,
    nodes: Vec<Node<T>>,
    leaves: Vec<(u32, u32)>,
    votes: Vec<Vote<T>>,
    members: Vec<T>,
}

impl<T> Typed<T> {
    pub(super) fn view(&self) -> Ensemble<'_, T> {
        Ensemble {
            roots: &self.roots,
            nodes: &self.nodes,
            leaves: &self.leaves,
            votes: &self.votes,
            members: &self.members,
        }
    }
}

/// The type in which inputs are compared and votes are combined.
#[derive(Debug)]
pub(super) enum Numbers {
    Narrow(Typed<f32>),
    Wide(Typed<f64>),
}

/// Checked trees.
#[derive(Debug)]
pub(super) struct Trees {
    pub numbers: Numbers,
    pub combine: Combine,
    /// Features that a row has at least.
    pub features: usize,
    pub outputs: usize,
}

impl Trees {
    /// How many there are.
    pub(super) fn count(&self) -> usize {
        match &self.numbers {
            Numbers::Narrow(typed) => typed.roots.len(),
            Numbers::Wide(typed) => typed.roots.len(),
        }
    }

    /// The outputs that get votes, and the least vote.
    pub(super) fn votes(&self) -> (Vec<usize>, f64) {
        let all: Vec<(u32, f64)> = match &self.numbers {
            Numbers::Narrow(t) => t.votes.iter().map(|v| (v.output, f64::from(v.weight))).collect(),
            Numbers::Wide(t) => t.votes.iter().map(|v| (v.output, v.weight)).collect(),
        };
        let least = all.iter().map(|(_, weight)| *weight).fold(f64::INFINITY, f64::min);
        let mut outputs: Vec<usize> = all.iter().map(|(output, _)| *output as usize).collect();
        outputs.sort_unstable();
        outputs.dedup();
        (outputs, least)
    }
}

/// The number of something among others; files that have as many as a bit marks are refused.
pub(super) fn number(at: usize) -> Result<u32, BuildError> {
    let number = u32::try_from(at).ok().filter(|at| at & LEAF == 0);
    number.ok_or_else(|| BuildError::unsupported(format!("{at} nodes of trees")))
}

/// The comparison of a split by its number in `TreeEnsemble`, whether its children change places, and whether NaN is told yes
/// whatever the node says.
///
/// # Errors
/// [`BuildError`] for 6, membership, which is no comparison with one number, and numbers above.
pub(super) fn comparison(mode: u8, threshold: f64) -> Result<(Test<f64>, bool, bool), BuildError> {
    Ok(match mode {
        0 => (Test::AtMost(threshold), false, false),
        1 => (Test::Less(threshold), false, false),
        2 => (Test::Less(threshold), true, false),
        3 => (Test::AtMost(threshold), true, false),
        4 => (Test::Equal(threshold), false, false),
        5 => (Test::Equal(threshold), true, true),
        other => return Err(BuildError::unsupported(format!("a node of mode {other}"))),
    })
}

/// A split by the children for yes and no of its own question.
pub(super) fn split(
    feature: i64,
    (test, swapped, nan_yes): (Test<f64>, bool, bool),
    [yes, no]: [u32; 2],
    nan_tracks_true: bool,
) -> Result<Node<f64>, BuildError> {
    let feature = u32::try_from(feature)
        .map_err(|_| BuildError::unsupported(format!("a node asks for feature {feature}")))?;
    let children = if swapped { [no, yes] } else { [yes, no] };
    // The place among the children of the one for yes, or of the other.
    let nan = u8::from((nan_tracks_true || nan_yes) == swapped);
    Ok(Node { feature, test, children, nan })
}

impl Draft {
    /// Checks the trees: every number is inside of its list, and no path goes on forever.
    pub(super) fn finish(
        self,
        input: DType,
        outputs: usize,
        combine: Combine,
    ) -> Result<Trees, BuildError> {
        let inside = |child: u32| match child & LEAF {
            0 => (child as usize) < self.nodes.len(),
            _ => ((child & !LEAF) as usize) < self.leaves.len(),
        };
        let children = self.nodes.iter().flat_map(|node| node.children);
        if !self.roots.iter().copied().chain(children).all(inside) {
            return Err(BuildError::unsupported("a node has a child that is not there"));
        }
        if let Some(vote) = self.votes.iter().find(|vote| vote.output as usize >= outputs) {
            let text = format!("a vote for output {} of {outputs}", vote.output);
            return Err(BuildError::unsupported(text));
        }
        if !self.votes.iter().all(|vote| vote.weight.is_finite()) {
            return Err(BuildError::unsupported("a vote that is not finite"));
        }
        self.ends()?;
        let features = self.nodes.iter().map(|node| node.feature as usize + 1).max().unwrap_or(0);
        let numbers = match input {
            DType::F64 => Numbers::Wide(self.typed(|x| x)),
            _ => Numbers::Narrow(self.typed(|x| x as f32)),
        };
        Ok(Trees { numbers, combine, features, outputs })
    }

    fn typed<T>(self, of: impl Fn(f64) -> T) -> Typed<T> {
        let test = |test| match test {
            Test::Less(t) => Test::Less(of(t)),
            Test::AtMost(t) => Test::AtMost(of(t)),
            Test::Equal(t) => Test::Equal(of(t)),
            Test::Among(first, count) => Test::Among(first, count),
        };
        let node = |n: Node<f64>| Node {
            feature: n.feature,
            test: test(n.test),
            children: n.children,
            nan: n.nan,
        };
        Typed {
            nodes: self.nodes.into_iter().map(node).collect(),
            votes: self
                .votes
                .into_iter()
                .map(|v| Vote { output: v.output, weight: of(v.weight) })
                .collect(),
            members: self.members.into_iter().map(&of).collect(),
            roots: self.roots,
            leaves: self.leaves,
        }
    }

    /// Refuses nodes that lead back to themselves, and such that no root leads to.
    fn ends(&self) -> Result<(), BuildError> {
        const OPEN: u8 = 1;
        const DONE: u8 = 2;
        let mut state = vec![0u8; self.nodes.len()];
        let mut path: Vec<u32> = self.roots.clone();
        while let Some(&at) = path.last() {
            let node = (at & LEAF == 0).then(|| self.nodes.get(at as usize)).flatten();
            let (Some(node), Some(state_of)) = (node, state.get_mut(at as usize)) else {
                path.pop();
                continue;
            };
            if *state_of != 0 {
                *state_of = DONE;
                path.pop();
                continue;
            }
            *state_of = OPEN;
            for child in node.children.into_iter().filter(|child| child & LEAF == 0) {
                match state.get(child as usize) {
                    Some(&OPEN) => {
                        return Err(BuildError::unsupported(
                            "nodes of a tree lead back to themselves",
                        ));
                    }
                    Some(0) => path.push(child),
                    _ => {}
                }
            }
        }
        match state.contains(&0) {
            true => Err(BuildError::unsupported("a node that no tree comes to")),
            false => Ok(()),
        }
    }
}
