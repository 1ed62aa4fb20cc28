//! The elements of a sequence while a plan is made.

use super::facts::Fact;
use std::sync::Arc;

/// The most elements of a part: a loop that appends copies half of one with each iteration, and a pointer for each part.
const PART: usize = 128;

/// Facts in parts, which sequences that differ in one element share: a loop that makes a new sequence with each iteration would
/// otherwise take a time that grows with the square of their number.
#[derive(Debug, Clone)]
pub(crate) struct Elements {
    /// None is empty.
    parts: Arc<[Arc<[Fact]>]>,
    len: usize,
}

impl Elements {
    pub fn len(&self) -> usize {
        self.len
    }

    pub fn get(&self, at: usize) -> Option<&Fact> {
        let (part, within) = self.find(at);
        self.parts.get(part)?.get(within)
    }

    pub fn iter(&self) -> impl Iterator<Item = &Fact> {
        self.parts.iter().flat_map(|part| part.iter())
    }

    /// With one more element at a position, behind the last one where that is beyond them; and what it took, in copies.
    pub fn with(&self, at: usize, fact: Fact) -> (Elements, usize) {
        let (mut number, mut within) = self.find(at);
        let mut part: &[Fact] = self.parts.get(number).map_or(&[], |part| part);
        // Behind the end of one part is in it where the next has no place, so that those of a loop that appends are full.
        let has_place = !part.is_empty() && part.len() < PART;
        if let Some(last) = number.checked_sub(1).and_then(|last| self.parts.get(last))
            && within == 0
            && !has_place
        {
            (number, within, part) = (number - 1, last.len(), last);
        }
        let (before, behind) = part.split_at(within.min(part.len()));
        let one = std::slice::from_ref(&fact);
        let made: [Vec<&[Fact]>; 2] = match part.len() < PART {
            true => [vec![before, one, behind], Vec::new()],
            false if behind.is_empty() => [vec![before], vec![one]],
            false => [vec![before, one], vec![behind]],
        };
        self.replaced(number, &made)
    }

    /// Without the element at a position, and what it took, in copies. `None` where there is none.
    pub fn without(&self, at: usize) -> Option<(Elements, usize)> {
        let (number, within) = self.find(at);
        let part = self.parts.get(number)?;
        let (before, rest) = part.split_at_checked(within)?;
        let (_, behind) = rest.split_first()?;
        Some(self.replaced(number, &[vec![before, behind], Vec::new()]))
    }

    /// The part of a position, and the position within: the end of all for one that is beyond.
    fn find(&self, at: usize) -> (usize, usize) {
        let mut left = at;
        for (number, part) in self.parts.iter().enumerate() {
            if left < part.len() {
                return (number, left);
            }
            left -= part.len();
        }
        (self.parts.len(), 0)
    }

    /// With other parts, each of slices, in the place of one.
    fn replaced(&self, number: usize, made: &[Vec<&[Fact]>; 2]) -> (Elements, usize) {
        let made = made.each_ref().map(|slices| slices.concat());
        let copied: usize = made.iter().map(Vec::len).sum();
        let old = self.parts.get(number).map_or(0, |part| part.len());
        let before = self.parts.iter().take(number).cloned();
        let behind = self.parts.iter().skip(number + 1).cloned();
        let made = made.into_iter().filter(|part| !part.is_empty()).map(Arc::from);
        let parts: Vec<Arc<[Fact]>> = before.chain(made).chain(behind).collect();
        let cost = copied + parts.len();
        (Elements { parts: parts.into(), len: self.len - old + copied }, cost)
    }
}

impl From<Vec<Fact>> for Elements {
    fn from(facts: Vec<Fact>) -> Elements {
        let len = facts.len();
        let mut parts = Vec::with_capacity(len.div_ceil(PART));
        let mut facts = facts.into_iter();
        while facts.len() > 0 {
            parts.push(facts.by_ref().take(PART).collect());
        }
        Elements { parts: parts.into(), len }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use stead_tensor::Tensor;

    fn fact(value: i64) -> Fact {
        Fact::constant(Tensor::scalar(value).unwrap())
    }

    fn values(elements: &Elements) -> Vec<i64> {
        elements.iter().map(|fact| fact.known().unwrap().as_slice::<i64>().unwrap()[0]).collect()
    }

    #[test]
    fn elements_are_those_of_a_vector() {
        let (mut random, mut most) = (17u64, 0);
        for start in [0, 1, PART as i64 - 1, PART as i64, PART as i64 + 1, 400] {
            let mut want: Vec<i64> = (0..start).collect();
            let mut got = Elements::from(want.iter().map(|&v| fact(v)).collect::<Vec<_>>());
            for step in 0..600 {
                random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                let number = (random >> 33) as usize;
                // Rather more and more at first, then fewer and fewer.
                if (number % 10 < 7) == (step < 300) || want.is_empty() {
                    let at = [want.len(), 0, (number / 10) % (want.len() + 1)][number % 3];
                    want.insert(at, step);
                    got = got.with(at, fact(step)).0;
                } else {
                    let at = (number / 10) % want.len();
                    want.remove(at);
                    got = got.without(at).unwrap().0;
                }
                assert_eq!(
                    (got.len(), values(&got)),
                    (want.len(), want.clone()),
                    "{start}: {step}"
                );
                assert!(got.without(want.len()).is_none() && got.get(want.len()).is_none());
                assert!(got.parts.iter().all(|part| (1..=PART).contains(&part.len())));
                most = most.max(got.parts.len());
            }
        }
        assert!(most > 3, "{most} parts");
    }

    #[test]
    fn appending_copies_little() {
        let (mut elements, mut copies) = (Elements::from(Vec::new()), 0);
        for at in 0..6400 {
            let (more, cost) = elements.with(at, fact(0));
            (elements, copies) = (more, copies + cost);
        }
        assert_eq!((elements.len(), elements.parts.len()), (6400, 6400 / PART));
        assert!(copies < 6400 * (PART + 50), "{copies}");
    }
}
