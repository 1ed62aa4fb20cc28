//! Texts with wildcards: matching without backtracking, the order of patterns, and whether two have a text in common.

use std::cmp::Ordering;
use std::fmt;

/// Literals with a wildcard between each two of them.
#[derive(Debug, Clone)]
pub(super) struct Glob {
    /// One more than there are wildcards.
    literals: Vec<String>,
    wildcards: Vec<Wildcard>,
}

#[derive(Debug, Clone)]
enum Wildcard {
    /// A part between slashes, with its name.
    Segment(String),
    /// Any characters, none too.
    Any,
}

/// A step of a pattern as an automaton.
#[derive(Clone, Copy)]
enum Step {
    Byte(u8),
    /// One that is no slash.
    Other,
    /// Any number of those that are no slash.
    Others,
    /// Any number of any.
    All,
}

impl Glob {
    pub(super) fn verbatim(text: &str) -> Glob {
        Glob { literals: vec![text.to_owned()], wildcards: Vec::new() }
    }

    pub(super) fn any() -> Glob {
        Glob::of_stars("*")
    }

    /// A pattern whose wildcards are stars.
    pub(super) fn of_stars(text: &str) -> Glob {
        let literals: Vec<String> = text.split('*').map(str::to_owned).collect();
        let wildcards = vec![Wildcard::Any; literals.len() - 1];
        Glob { literals, wildcards }
    }

    /// A pattern of a path, whose wildcards have names too; gives back what is no name.
    pub(super) fn of_path(text: &str) -> Result<Glob, String> {
        let (mut literals, mut wildcards) = (Vec::new(), Vec::new());
        let (mut literal, mut rest) = (String::new(), text);
        while let Some(at) = rest.find(['*', '{', '}']) {
            let (before, from) = rest.split_at(at);
            literal.push_str(before);
            let wildcard = if let Some(behind) = from.strip_prefix('*') {
                rest = behind;
                Wildcard::Any
            } else {
                let (name, behind) = from
                    .strip_prefix('{')
                    .and_then(|from| from.split_once('}'))
                    .ok_or_else(|| from.to_owned())?;
                let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
                let is_known =
                    |w: &Wildcard| matches!(w, Wildcard::Segment(known) if known == name);
                let is_whole = (literal.is_empty() || literal.ends_with('/'))
                    && (behind.is_empty() || behind.starts_with('/'));
                // A star in front of it could take its part as well.
                let is_whole = is_whole && (!literal.is_empty() || wildcards.is_empty());
                if name.is_empty() || !name.chars().all(is_name) || wildcards.iter().any(is_known) {
                    return Err(from.to_owned());
                }
                if !is_whole {
                    return Err(text.to_owned());
                }
                rest = behind;
                Wildcard::Segment(name.to_owned())
            };
            literals.push(std::mem::take(&mut literal));
            wildcards.push(wildcard);
        }
        literal.push_str(rest);
        literals.push(literal);
        Ok(Glob { literals, wildcards })
    }

    pub(super) fn matches(&self, text: &str) -> bool {
        self.captures(text).is_some()
    }

    /// What the wildcards stand for, with the names of those that have one; of several ways the one in which the first wildcard is the shortest, then the
    /// second, as Vespa has it. The time is the length of the text times the number of wildcards.
    pub(super) fn captures<'t>(&self, text: &'t str) -> Option<Vec<(Option<String>, &'t str)>> {
        let bytes = text.as_bytes();
        let (last, front) = self.literals.split_last()?;
        if let (Some(only), [Wildcard::Any], 1, "") =
            (front.first(), self.wildcards.as_slice(), front.len(), last.as_str())
        {
            return text.strip_prefix(only.as_str()).map(|rest| vec![(None, rest)]);
        }
        if front.is_empty() {
            return (text == last).then(Vec::new);
        }
        // For each literal from the last on and each place, the next place at which it and all behind it match.
        let tail = bytes.len().checked_sub(last.len())?;
        let mut next: Vec<Vec<Option<usize>>> = Vec::with_capacity(front.len());
        let ends = text.ends_with(last.as_str());
        next.push((0..=bytes.len()).map(|at| (ends && at <= tail).then_some(tail)).collect());
        for (literal, wildcard) in front.iter().zip(&self.wildcards).rev() {
            let behind = next.last()?;
            let mut of = vec![None; bytes.len() + 1];
            for at in (0..=bytes.len()).rev() {
                let end = at + literal.len();
                let is_here = bytes.get(at..end).is_some_and(|found| found == literal.as_bytes())
                    && wildcard.end(bytes, end, behind).is_some();
                of[at] = if is_here { Some(at) } else { of.get(at + 1).copied().flatten() };
            }
            next.push(of);
        }
        next.reverse();
        // The first literal must be in front.
        let mut at = 0;
        if next.first()?.first().copied().flatten() != Some(0) {
            return None;
        }
        let mut found = Vec::new();
        for ((literal, wildcard), behind) in front.iter().zip(&self.wildcards).zip(&next[1..]) {
            let begin = at + literal.len();
            at = wildcard.end(bytes, begin, behind)?;
            let name = match wildcard {
                Wildcard::Segment(name) => Some(name.clone()),
                Wildcard::Any => None,
            };
            found.push((name, text.get(begin..at)?));
        }
        Some(found)
    }

    /// Whether a text matches both.
    pub(super) fn meets(&self, other: &Glob) -> bool {
        let (left, right) = (self.steps(), other.steps());
        let width = right.len() + 1;
        let mut seen = vec![false; (left.len() + 1) * width];
        let mut open = vec![(0, 0)];
        while let Some((i, j)) = open.pop() {
            if std::mem::replace(&mut seen[i * width + j], true) {
                continue;
            }
            let (a, b) = (left.get(i).copied(), right.get(j).copied());
            if a.is_none() && b.is_none() {
                return true;
            }
            if a.is_some_and(Step::repeats) {
                open.push((i + 1, j));
            }
            if b.is_some_and(Step::repeats) {
                open.push((i, j + 1));
            }
            if let (Some(a), Some(b)) = (a, b)
                && a.shares(b)
            {
                open.push((i + usize::from(!a.repeats()), j + usize::from(!b.repeats())));
            }
        }
        false
    }

    fn steps(&self) -> Vec<Step> {
        let mut steps = Vec::new();
        for (at, literal) in self.literals.iter().enumerate() {
            steps.extend(literal.bytes().map(Step::Byte));
            match self.wildcards.get(at) {
                Some(Wildcard::Any) => steps.push(Step::All),
                Some(Wildcard::Segment(_)) => steps.extend([Step::Other, Step::Others]),
                None => {}
            }
        }
        steps
    }

    fn is_any(&self) -> bool {
        matches!(self.wildcards.as_slice(), [Wildcard::Any])
            && self.literals.iter().all(String::is_empty)
    }

    fn ends_open(&self) -> bool {
        self.literals.last().is_some_and(String::is_empty)
    }
}

impl Wildcard {
    /// Where what it stands for ends that begins at `begin`, by where what is behind it matches.
    fn end(&self, bytes: &[u8], begin: usize, behind: &[Option<usize>]) -> Option<usize> {
        match self {
            Wildcard::Any => behind.get(begin).copied().flatten(),
            Wildcard::Segment(_) => {
                let end = behind.get(begin + 1).copied().flatten()?;
                bytes.get(begin..end).filter(|part| !part.contains(&b'/')).map(|_| end)
            }
        }
    }
}

impl Step {
    fn repeats(self) -> bool {
        matches!(self, Step::Others | Step::All)
    }

    /// Whether a character is both.
    fn shares(self, other: Step) -> bool {
        match (self, other) {
            (Step::Byte(a), Step::Byte(b)) => a == b,
            (Step::Byte(byte), Step::Other | Step::Others)
            | (Step::Other | Step::Others, Step::Byte(byte)) => byte != b'/',
            _ => true,
        }
    }
}

/// The more specific first: the lone star last, open ends behind closed ones, then by the literals, backwards in the
/// alphabet, so that longer ones come before what they begin with.
impl Ord for Glob {
    fn cmp(&self, other: &Glob) -> Ordering {
        let kinds = |glob: &Glob| -> Vec<bool> {
            glob.wildcards.iter().map(|w| matches!(w, Wildcard::Any)).collect()
        };
        self.is_any()
            .cmp(&other.is_any())
            .then_with(|| self.ends_open().cmp(&other.ends_open()))
            .then_with(|| other.literals.cmp(&self.literals))
            .then_with(|| kinds(self).cmp(&kinds(other)))
    }
}

impl PartialOrd for Glob {
    fn partial_cmp(&self, other: &Glob) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Names do not tell two patterns apart.
impl PartialEq for Glob {
    fn eq(&self, other: &Glob) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Glob {}

impl fmt::Display for Glob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, literal) in self.literals.iter().enumerate() {
            f.write_str(literal)?;
            match self.wildcards.get(at) {
                Some(Wildcard::Any) => f.write_str("*")?,
                Some(Wildcard::Segment(name)) => write!(f, "{{{name}}}")?,
                None => {}
            }
        }
        Ok(())
    }
}
