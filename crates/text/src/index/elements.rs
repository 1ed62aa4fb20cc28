//! The elements of documents: how many words each has, and what it weighs.

/// An element of a field of several values, or the one of others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Element {
    /// Its number among those of the document.
    pub number: u32,
    /// How many words it has.
    pub words: u32,
    /// Its weight, 1 of what is no weighted set.
    pub weight: i32,
}

impl Element {
    /// Whether it is as the one of a document of a single value.
    fn is_plain(&self) -> bool {
        (self.number, self.weight) == (0, 1)
    }
}

/// The elements with words of the documents of a segment.
///
/// Where each document has one, the first, and it weighs 1, nothing is kept of them: it has all the words.
#[derive(Debug, Default)]
pub(super) struct Elements {
    /// Where those of each document end.
    ends: Vec<u32>,
    all: Vec<Element>,
}

impl Elements {
    /// Adds those of the next document, in their order.
    pub(super) fn push(&mut self, of: impl Iterator<Item = Element>) {
        self.all.extend(of);
        self.ends.push(self.all.len() as u32);
    }

    /// Those of all documents, each in their order. Mostly nothing is to be kept: then nothing is written.
    pub(super) fn collected<I: Iterator<Item = Element>>(
        documents: impl Iterator<Item = I> + Clone,
    ) -> Elements {
        let is_plain = |mut of: I| of.next().is_some_and(|e| e.is_plain()) && of.next().is_none();
        let mut elements = Elements::default();
        if !documents.clone().all(is_plain) {
            documents.for_each(|of| elements.push(of));
        }
        elements
    }

    /// The same of all documents that there will be.
    pub(super) fn finish(mut self) -> Elements {
        if self.all.iter().all(Element::is_plain) {
            return Elements::default();
        }
        self.ends.shrink_to_fit();
        self.all.shrink_to_fit();
        self
    }

    /// Those of a document of so many words, in their order.
    pub(super) fn of(&self, doc: u32, words: u32) -> impl Iterator<Item = Element> {
        let end = |doc: Option<u32>| self.ends.get(doc? as usize).map(|end| *end as usize);
        let begin = end(doc.checked_sub(1)).unwrap_or(0);
        let kept = end(Some(doc)).and_then(|end| self.all.get(begin..end)).unwrap_or_default();
        let is_plain = self.ends.is_empty() && words > 0;
        let plain = is_plain.then_some(Element { number: 0, words, weight: 1 });
        kept.iter().copied().chain(plain)
    }

    /// How many there are of so many documents, which have words.
    pub(super) fn count(&self, documents: usize) -> u64 {
        match self.ends.is_empty() {
            true => documents as u64,
            false => self.all.len() as u64,
        }
    }

    /// Where those of each document end, and all of them; neither where nothing is kept.
    pub(super) fn parts(&self) -> (&[u32], &[Element]) {
        (&self.ends, &self.all)
    }

    /// The memory that they take, in bytes.
    pub(super) fn memory(&self) -> usize {
        4 * self.ends.len() + size_of::<Element>() * self.all.len()
    }
}

#[cfg(test)]
mod tests {
    use super::{Element, Elements};

    #[test]
    fn elements_are_those_of_their_documents() {
        let element = |number, words, weight| Element { number, words, weight };
        let plain = [vec![element(0, 3, 1)], vec![element(0, 5, 1)]];
        let several = [vec![element(0, 2, 1), element(4, 1, 1)], vec![element(0, 5, 1)]];
        let weighed = [vec![element(0, 3, 7)], vec![element(0, 4, 1), element(1, 1, -2)]];
        for (documents, is_kept) in [(plain, false), (several, true), (weighed, true)] {
            let elements = Elements::collected(documents.iter().map(|of| of.iter().copied()));
            let elements = elements.finish();
            assert_eq!(elements.memory() > 0, is_kept);
            for (doc, of) in (0..).zip(&documents) {
                let words = of.iter().map(|element| element.words).sum();
                assert_eq!(elements.of(doc, words).collect::<Vec<_>>(), *of, "{doc}");
            }
            let count: usize = documents.iter().map(Vec::len).sum();
            assert_eq!(elements.count(documents.len()), count as u64);
        }
    }
}
