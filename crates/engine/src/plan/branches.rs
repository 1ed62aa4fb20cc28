//! Finds branches of a segment: runs of steps that read nothing of each other, each worth a thread of its own.
//!
//! What depends on nothing but small steps, such as a mask, is done first. All other steps are followed in their order as
//! chains. A step that reads one chain goes on with it; where it reads several it goes on with the one that did most, and
//! the others are done before. Where two or more of them did so much that a thread for each pays, these are branches, and the
//! step begins a new chain behind them. Towers, encoders of several inputs and heads are found that way; a fork inside a
//! chain is not.

/// Operations that a branch must have: some 20 us of one core, several times what waking a thread costs.
const WORTH_A_THREAD: u64 = 1 << 22;

/// Operations up to which a step is small.
const SMALL: u64 = WORTH_A_THREAD / 64;

/// Whether steps of so many operations altogether can have branches.
pub(crate) fn may_have(flops: u64) -> bool {
    flops >= 2 * WORTH_A_THREAD
}

/// A step as its neighbours see it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Link {
    /// Its operations.
    pub flops: u64,
    /// Earlier steps that must have run before, in any order.
    pub after: Vec<usize>,
}

/// Steps that run one after the other.
pub(crate) type Chain = Vec<usize>;

/// All steps in an order that respects [`Link::after`]: parts one after the other, each of one chain, or of several that may run
/// at the same time, `most` at most. `None` when there are no such.
pub(crate) fn find(links: &[Link], most: usize) -> Option<Vec<Vec<Chain>>> {
    let mut is_first = Vec::with_capacity(links.len());
    for link in links {
        is_first.push(link.flops <= SMALL && link.after.iter().all(|&step| is_first[step]));
    }
    let mut chains: Vec<Open> = Vec::new();
    let mut chain_of = vec![None; links.len()];
    let mut parts: Vec<Vec<usize>> = Vec::new();
    for (at, link) in links.iter().enumerate().filter(|&(at, _)| !is_first[at]) {
        let mut read: Vec<usize> = link.after.iter().filter_map(|&step| chain_of[step]).collect();
        read.sort_unstable();
        read.dedup();
        read.retain(|&chain| !chains[chain].is_done);
        // The one that did most first; of equal ones that which began first.
        read.sort_by_key(|&chain| std::cmp::Reverse(chains[chain].flops));
        let heavy = read.iter().take_while(|&&chain| chains[chain].is_worth_a_thread()).count();
        let kept = if heavy > 1 { 0 } else { read.len().min(1) };
        finish(&mut chains, &read[..if heavy > 1 { heavy } else { 0 }], most, &mut parts);
        for &chain in &read[kept..] {
            finish(&mut chains, &[chain], most, &mut parts);
        }
        let chain = read[..kept].first().copied().unwrap_or_else(|| {
            chains.push(Open::default());
            chains.len() - 1
        });
        chains[chain].steps.push(at);
        chains[chain].flops = chains[chain].flops.saturating_add(link.flops);
        chain_of[at] = Some(chain);
    }
    let is_heavy = |chain: &usize| chains[*chain].is_worth_a_thread();
    let (heavy, light): (Vec<usize>, Vec<usize>) = (0..chains.len()).partition(is_heavy);
    finish(&mut chains, &heavy, most, &mut parts);
    light.iter().for_each(|&chain| finish(&mut chains, &[chain], most, &mut parts));
    if parts.iter().all(|part| part.len() == 1) {
        return None;
    }
    let first = give_to_branches(links, &is_first, &mut chain_of, &mut chains, &parts);
    let parts = parts.into_iter().map(|part| {
        part.into_iter().map(|chain| std::mem::take(&mut chains[chain].steps)).collect()
    });
    Some(std::iter::once(vec![first]).filter(|part| !part[0].is_empty()).chain(parts).collect())
}

#[derive(Default)]
struct Open {
    steps: Chain,
    flops: u64,
    is_done: bool,
}

impl Open {
    fn is_worth_a_thread(&self) -> bool {
        self.flops >= WORTH_A_THREAD
    }
}

/// Makes a part of those chains that are not done yet, or several if they are more than `most`.
fn finish(chains: &mut [Open], which: &[usize], most: usize, parts: &mut Vec<Vec<usize>>) {
    let open: Vec<usize> = which
        .iter()
        .copied()
        .filter(|&chain| !std::mem::replace(&mut chains[chain].is_done, true))
        .collect();
    parts.extend(open.chunks(most.max(1)).map(<[usize]>::to_vec));
}

/// Gives first steps that only one branch reads to that branch; what is left of them is run first, in order.
fn give_to_branches(
    links: &[Link],
    is_first: &[bool],
    chain_of: &mut [Option<usize>],
    chains: &mut [Open],
    parts: &[Vec<usize>],
) -> Chain {
    let mut is_branch = vec![false; chains.len()];
    for &chain in parts.iter().filter(|part| part.len() > 1).flatten() {
        is_branch[chain] = true;
    }
    let mut readers: Vec<Vec<usize>> = vec![Vec::new(); links.len()];
    for (at, link) in links.iter().enumerate() {
        link.after.iter().for_each(|&step| readers[step].push(at));
    }
    let mut first = Chain::new();
    // Backwards: a step whose reader was given to a branch may follow it.
    for at in (0..links.len()).rev().filter(|&at| is_first[at]) {
        let mut chains_that_read = readers[at].iter().map(|&reader| chain_of[reader]);
        let one = chains_that_read.next().flatten().filter(|&chain| is_branch[chain]);
        match one.filter(|&chain| chains_that_read.all(|other| other == Some(chain))) {
            Some(chain) => {
                chain_of[at] = Some(chain);
                chains[chain].steps.push(at);
            }
            None => first.push(at),
        }
    }
    chains.iter_mut().for_each(|chain| chain.steps.sort_unstable());
    first.reverse();
    first
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Steps by operations, in units of what is worth a thread, and by what they come after.
    fn links(steps: &[(u64, &[usize])]) -> Vec<Link> {
        let link = |&(units, after): &(u64, &[usize])| Link {
            flops: units * WORTH_A_THREAD,
            after: after.to_vec(),
        };
        steps.iter().map(link).collect()
    }

    #[test]
    fn branches_are_found_where_they_meet() {
        type Parts = &'static [&'static [&'static [usize]]];
        let cases: &[(&str, &[(u64, &[usize])], Option<Parts>)] = &[
            ("nothing", &[], None),
            ("a chain", &[(1, &[]), (1, &[0]), (1, &[1])], None),
            (
                "two towers",
                &[(1, &[]), (1, &[]), (1, &[0]), (1, &[1]), (0, &[2, 3])],
                Some(&[&[&[0, 2], &[1, 3]], &[&[4]]]),
            ),
            ("two ends", &[(1, &[]), (1, &[])], Some(&[&[&[0], &[1]]])),
            ("a small tower", &[(1, &[]), (0, &[]), (1, &[0, 1])], None),
            (
                "a mask for both towers, and one for the second",
                &[(0, &[]), (0, &[]), (1, &[0]), (1, &[0, 1]), (0, &[2, 3])],
                Some(&[&[&[0]], &[&[2], &[1, 3]], &[&[4]]]),
            ),
            ("a fork inside a chain", &[(1, &[]), (1, &[0]), (1, &[0]), (0, &[1, 2])], None),
            (
                "a third tower joins later",
                &[(1, &[]), (1, &[]), (1, &[]), (1, &[0, 1]), (0, &[2, 3])],
                Some(&[&[&[0], &[1]], &[&[3], &[2]], &[&[4]]]),
            ),
        ];
        for (label, steps, expected) in cases {
            let found = find(&links(steps), 8)
                .map(|parts| parts.into_iter().map(sorted).collect::<Vec<_>>());
            let expected = expected.map(|parts| {
                let chains = |part: &&[&[usize]]| part.iter().map(|c| c.to_vec()).collect();
                parts.iter().map(|part| sorted(chains(part))).collect::<Vec<_>>()
            });
            assert_eq!(found, expected, "{label}");
        }
    }

    fn sorted(mut part: Vec<Chain>) -> Vec<Chain> {
        part.sort();
        part
    }

    #[test]
    fn no_more_branches_than_allowed() {
        let parts = find(&links(&[(1, [].as_slice()); 7]), 3).unwrap();
        assert_eq!(parts.iter().map(Vec::len).collect::<Vec<_>>(), [3, 3, 1]);
    }

    proptest! {
        #[test]
        fn every_step_runs_once_and_after_what_it_needs(
            steps in proptest::collection::vec((0u64..3, proptest::collection::vec(any::<prop::sample::Index>(), 0..4)), 1..40)
        ) {
            let link = |(at, (units, after)): (usize, &(u64, Vec<prop::sample::Index>))| Link {
                flops: units * WORTH_A_THREAD / 2,
                after: after.iter().filter(|_| at > 0).map(|index| index.index(at)).collect(),
            };
            let links: Vec<Link> = steps.iter().enumerate().map(link).collect();
            if let Some(parts) = find(&links, 4) {
                let mut place = vec![None; links.len()];
                for (p, part) in parts.iter().enumerate() {
                    prop_assert!(part.len() <= 4);
                    for (c, chain) in part.iter().enumerate() {
                        for (i, &step) in chain.iter().enumerate() {
                            prop_assert!(place[step].replace((p, c, i)).is_none(), "step {step} twice");
                        }
                    }
                }
                for (at, link) in links.iter().enumerate() {
                    let (part, chain, i) = place[at].unwrap();
                    for &before in &link.after {
                        let (p, c, j) = place[before].unwrap();
                        prop_assert!(p < part || (p == part && c == chain && j < i), "{before} before {at}");
                    }
                }
            }
        }
    }
}
