//! Words that `weakAnd` leaves out as too many documents have them (Vespa, documentation,
//! `reference/schemas/schemas.html#weakand`, `reference/api/query.html#ranking.matching.weakand`).

use super::tree::{QueryTree, Term, Test, Tree};
use stead_text::Pattern;

/// What somebody says of such words: a request, or a rank profile.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct StopWords {
    /// The part of all documents above which those that have a word are too many, from 0 to 1.
    pub limit: Option<f64>,
    /// Whether all words may be left out: else the one that fewest documents have is kept.
    pub allow_drop_all: Option<bool>,
}

impl StopWords {
    /// The keyword of the limit in rank profiles.
    pub const LIMIT: &'static str = "stopword-limit";

    /// That of whether all words may be left out.
    pub const ALLOW_DROP_ALL: &'static str = "allow-drop-all";

    /// The same, and what another says where this says nothing.
    #[must_use]
    pub fn or(self, other: StopWords) -> StopWords {
        StopWords {
            limit: self.limit.or(other.limit),
            allow_drop_all: self.allow_drop_all.or(other.allow_drop_all),
        }
    }

    /// Takes such words out of each `weakAnd` of a query: they neither find nor rank anything. `frequency` tells how many of so many documents
    /// have a word, by the number of its index. Phrases and what asks no index of text are kept.
    pub fn drop_from(
        self,
        tree: &mut QueryTree,
        documents: usize,
        frequency: impl Fn(usize, &str) -> usize,
    ) {
        let limit = self.limit.unwrap_or(1.0) * documents as f64;
        if limit >= documents as f64 {
            return;
        }
        for weak in &mut tree.weak_ands {
            let counts = weak.parts.iter().map(|part| count(part, &tree.terms, &frequency));
            let counts: Vec<Option<usize>> = counts.collect();
            let rarest = counts.iter().enumerate().filter_map(|(at, count)| Some((at, (*count)?)));
            let rarest = rarest.min_by_key(|(_, count)| *count).map(|(at, _)| at);
            let others_stay = counts.iter().any(Option::is_none);
            let may_all_go = self.allow_drop_all.unwrap_or(false) || others_stay;
            let is_dropped = |at: usize| {
                let is_often = counts[at].is_some_and(|count| count as f64 > limit);
                is_often && (may_all_go || rarest != Some(at))
            };
            let parts = std::mem::take(&mut weak.parts).into_iter().enumerate();
            let (gone, kept): (Vec<_>, Vec<_>) = parts.partition(|(at, _)| is_dropped(*at));
            weak.parts = kept.into_iter().map(|(_, part)| part).collect();
            gone.iter().for_each(|(_, part)| unranked(part, &mut tree.terms));
        }
    }
}

/// How many documents have the words of a part at most; nothing if that is not known.
fn count(tree: &Tree, terms: &[Term], frequency: &dyn Fn(usize, &str) -> usize) -> Option<usize> {
    match tree {
        Tree::Or(parts) => {
            parts.iter().try_fold(0, |sum, part| Some(sum + count(part, terms, frequency)?))
        }
        Tree::Term(number) => match &terms.get(*number)?.test {
            Test::Indexed(indexed) => match &indexed.pattern {
                Pattern::Term(word) => Some(frequency(indexed.index, word)),
                Pattern::Phrases(of) => of.frequencies(|word| frequency(indexed.index, word)).max(),
                Pattern::Part(..) | Pattern::Near(_) | Pattern::NearPart(..) => None,
            },
            _ => None,
        },
        _ => None,
    }
}

fn unranked(tree: &Tree, terms: &mut [Term]) {
    match tree {
        Tree::Or(parts) => parts.iter().for_each(|part| unranked(part, terms)),
        Tree::Term(number) => {
            if let Some(term) = terms.get_mut(*number) {
                term.style.is_ranked = false;
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use stead_text::Pattern;

    use super::super::tree::{Indexed, QueryTree, Said, Term, TermStyle, Test, Tree, WeakAnd};
    use super::StopWords;

    /// `weakAnd` of words, of which each letter is in so many of 100 documents.
    fn tree(words: &[&str]) -> QueryTree {
        let term = |(item, word): (usize, &&str)| {
            let pattern = match word.split_once(' ') {
                None => Pattern::Term((*word).to_owned()),
                Some((_, part)) => Pattern::Part(stead_text::Affix::Prefix, part.to_owned()),
            };
            Term {
                attribute: "f".to_owned(),
                test: Test::Indexed(Indexed { index: 0, pattern }),
                style: TermStyle::default(),
                said: Said::Other,
                language: None,
                exactness: Vec::new(),
                item,
            }
        };
        let parts = (0..words.len()).map(Tree::Term).collect();
        QueryTree {
            root: Tree::WeakAnd(0),
            terms: words.iter().enumerate().map(term).collect(),
            weak_ands: vec![WeakAnd { parts, target_hits: 10, is_of_sums: false }],
            ..QueryTree::default()
        }
    }

    #[test]
    fn words_of_many_documents_are_left_out() {
        for (words, limit, allow_drop_all, expected) in [
            (vec!["90", "60", "10"], None, None, vec![0, 1, 2]),
            (vec!["90", "60", "10"], Some(1.0), None, vec![0, 1, 2]),
            (vec!["90", "60", "10"], Some(0.6), None, vec![1, 2]),
            (vec!["90", "60", "10"], Some(0.5), None, vec![2]),
            (vec!["90", "60", "10"], Some(0.05), None, vec![2]),
            (vec!["90", "60", "10"], Some(0.05), Some(false), vec![2]),
            (vec!["90", "60", "10"], Some(0.05), Some(true), vec![]),
            (vec!["90", "prefix 90"], Some(0.5), None, vec![1]),
            (vec!["90"], Some(0.5), None, vec![0]),
        ] {
            let mut tree = tree(&words);
            let stop = StopWords { limit, allow_drop_all };
            stop.drop_from(&mut tree, 100, |_, word| word.parse().unwrap());
            let kept: Vec<Tree> = expected.iter().map(|at| Tree::Term(*at)).collect();
            assert_eq!(tree.weak_ands[0].parts, kept, "{words:?} {limit:?} {allow_drop_all:?}");
            for (at, term) in tree.terms.iter().enumerate() {
                assert_eq!(term.style.is_ranked, expected.contains(&at), "{words:?} {at}");
            }
        }
    }
}
