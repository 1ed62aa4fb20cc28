//! Embeddings of texts that are asked for again.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use super::Role;
use super::embedding::Embedding;

/// The most bytes that texts and embeddings of one embedder may take.
const MAX_BYTES: usize = 16 << 20;

/// The longest text that is kept: queries are short.
const MAX_TEXT: usize = 4096;

/// Embeddings by their texts; those that were not asked for the longest go first.
#[derive(Default)]
pub(super) struct Cache {
    by_text: HashMap<(Role, Arc<str>), Entry>,
    by_age: BTreeMap<u64, (Role, Arc<str>)>,
    clock: u64,
    bytes: usize,
}

struct Entry {
    embedding: Arc<Embedding>,
    age: u64,
    bytes: usize,
}

impl Cache {
    /// The embedding of a text, if it is here.
    pub(super) fn find(&mut self, role: Role, text: &str) -> Option<Arc<Embedding>> {
        let key = (role, Arc::from(text));
        let entry = self.by_text.get_mut(&key)?;
        self.by_age.remove(&entry.age);
        self.clock += 1;
        entry.age = self.clock;
        self.by_age.insert(self.clock, key);
        Some(Arc::clone(&entry.embedding))
    }

    /// Keeps an embedding.
    pub(super) fn keep(&mut self, role: Role, text: &str, embedding: &Arc<Embedding>) {
        let bytes = 2 * text.len() + embedding.bytes() + 128;
        let key: (Role, Arc<str>) = (role, Arc::from(text));
        if text.len() > MAX_TEXT || bytes > MAX_BYTES / 4 || self.by_text.contains_key(&key) {
            return;
        }
        self.bytes += bytes;
        self.clock += 1;
        self.by_age.insert(self.clock, key.clone());
        let entry = Entry { embedding: Arc::clone(embedding), age: self.clock, bytes };
        self.by_text.insert(key, entry);
        while self.bytes > MAX_BYTES
            && let Some((_, oldest)) = self.by_age.pop_first()
        {
            self.bytes -= self.by_text.remove(&oldest).map_or(0, |entry| entry.bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::embedders::embedding::Vectors;

    fn vector(cells: usize) -> Arc<Embedding> {
        Arc::new(Embedding { tokens: 1, vectors: Vectors::One(vec![0.0; cells]) })
    }

    #[test]
    fn what_was_asked_for_lately_stays() {
        let mut cache = Cache::default();
        // A megabyte each: the first is asked for now and then.
        let large = vector(1 << 18);
        for number in 0..100 {
            cache.keep(Role::Query, &number.to_string(), &large);
            assert!(cache.bytes <= MAX_BYTES, "{number}");
            assert_eq!(cache.by_text.len(), cache.by_age.len());
            assert!(cache.find(Role::Query, "0").is_some(), "{number}");
        }
        assert!(cache.find(Role::Query, "50").is_none());
        assert!(cache.find(Role::Query, "99").is_some());
        assert!(
            cache.find(Role::Document, "99").is_none(),
            "documents have embeddings of their own"
        );
        assert!((10..16).contains(&cache.by_text.len()), "{}", cache.by_text.len());
    }

    #[test]
    fn long_texts_are_not_kept() {
        let mut cache = Cache::default();
        cache.keep(Role::Query, &"x".repeat(MAX_TEXT + 1), &vector(1));
        cache.keep(Role::Query, "x", &vector(1 << 21));
        assert_eq!((cache.by_text.len(), cache.bytes), (0, 0));
    }
}
