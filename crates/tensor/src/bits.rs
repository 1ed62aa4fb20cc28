//! Sets of small numbers, such as those of rows.

/// A set of small numbers, as bits.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Bits {
    words: Vec<u64>,
    count: usize,
}

impl Bits {
    /// The numbers below a bound that words tell, as [`Bits::words`] does; nothing if they tell of others.
    #[must_use]
    pub fn from_words(mut words: Vec<u64>, bound: usize) -> Option<Bits> {
        while words.last() == Some(&0) {
            words.pop();
        }
        let count = words.iter().map(|word| word.count_ones() as usize).sum();
        let highest = words.last().map(|word| words.len() * 64 - 1 - word.leading_zeros() as usize);
        highest.is_none_or(|highest| highest < bound).then_some(Bits { words, count })
    }

    /// Adds a number; whether it is new.
    pub fn insert(&mut self, at: usize) -> bool {
        let (word, bit) = (at / 64, 1 << (at % 64));
        if word >= self.words.len() {
            self.words.resize(word + 1, 0);
        }
        let is_new = self.words[word] & bit == 0;
        self.words[word] |= bit;
        self.count += usize::from(is_new);
        is_new
    }

    /// Takes a number away; whether it was there.
    pub fn remove(&mut self, at: usize) -> bool {
        let was_there = self.contains(at);
        if was_there {
            self.words[at / 64] &= !(1 << (at % 64));
            self.count -= 1;
        }
        was_there
    }

    /// Adds the numbers of another set.
    pub fn or(&mut self, other: &Bits) {
        if other.words.len() > self.words.len() {
            self.words.resize(other.words.len(), 0);
        }
        self.words.iter_mut().zip(&other.words).for_each(|(a, b)| *a |= b);
        self.count = self.words.iter().map(|word| word.count_ones() as usize).sum();
    }

    /// Whether a number is there.
    #[must_use]
    pub fn contains(&self, at: usize) -> bool {
        self.words.get(at / 64).is_some_and(|word| word >> (at % 64) & 1 == 1)
    }

    /// How many there are.
    #[must_use]
    pub fn count(&self) -> usize {
        self.count
    }

    /// The numbers in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = usize> {
        self.words.iter().enumerate().flat_map(|(at, word)| {
            let next = |rest: &u64| Some(rest & rest.wrapping_sub(1)).filter(|rest| *rest != 0);
            let first = Some(*word).filter(|word| *word != 0);
            std::iter::successors(first, next)
                .map(move |rest| at * 64 + rest.trailing_zeros() as usize)
        })
    }

    /// Number `64 * i + b` is there where bit `b` of word `i` is; behind the last word is nothing.
    #[must_use]
    pub fn words(&self) -> &[u64] {
        &self.words
    }
}

#[cfg(test)]
mod tests {
    use super::Bits;

    #[test]
    fn numbers_come_and_go() {
        let mut bits = Bits::default();
        for at in [3, 64, 200, 3] {
            assert_eq!(bits.insert(at), !(at == 3 && bits.count() == 3));
        }
        assert_eq!((bits.count(), bits.iter().collect::<Vec<_>>()), (3, vec![3, 64, 200]));
        assert_eq!([64, 64, 1000].map(|at| bits.remove(at)), [true, false, false]);
        assert_eq!((bits.count(), bits.contains(200), bits.contains(64)), (2, true, false));
        let (mut low, mut both) = (Bits::default(), bits.clone());
        low.insert(5);
        both.or(&low);
        low.or(&bits);
        assert_eq!((low.count(), low.iter().collect::<Vec<_>>()), (3, vec![3, 5, 200]));
        assert_eq!(both, low);
        for (bound, is_taken) in [(200, false), (201, true)] {
            let read = Bits::from_words(bits.words().to_vec(), bound);
            assert_eq!(read.map(|read| read.iter().eq(bits.iter())), is_taken.then_some(true));
        }
    }
}
