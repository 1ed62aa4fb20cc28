//! Labels of mapped dimensions as 32-bit symbols, so that joining compares numbers and a stored label takes four bytes.
//!
//! A whole number below 2^31 in its usual decimal form is its own symbol. Every other text has one in a table
//! of the process, for as long as a [`Labels`] holds it: a client that sends new labels forever makes nothing grow. The symbol is
//! a hash of the text, so that labels stand in the same order in every process, and sums over them are rounded the
//! same way; only of two texts with the same hash, one pair in 2^31, the later gets another.

use std::collections::HashMap;
use std::fmt;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, LazyLock, RwLock, RwLockReadGuard, RwLockWriteGuard};

use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

/// The longest label in bytes. The binary format could carry 2 GiB; a label is a key, not a document.
pub const MAX_LABEL: usize = 64 * 1024;

/// A label. Equal texts have equal labels; the order is any, but the same as long as both are held, and nearly always in
/// every process.
///
/// It means its text only while a [`Labels`] with it lives.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Label(u32);

/// Marks a symbol of the table.
const IN_TABLE: u32 = 1 << 31;

/// Slots of a part.
const SLOTS: u32 = IN_TABLE / PARTS;

/// Parts of the table, so that threads seldom wait for each other; the lowest bits of a symbol tell the part.
const PARTS: u32 = 32;

impl Label {
    /// The label of a number.
    #[must_use]
    pub fn number(number: u32) -> Option<Label> {
        (number < IN_TABLE).then_some(Label(number))
    }

    /// The label of this text if any tensor has it.
    #[must_use]
    pub fn find(text: &str) -> Option<Label> {
        plain_number(text).or_else(|| {
            let (number, part) = part_of(text);
            read(part).ids.get(text).map(|slot| Label(symbol(number, *slot)))
        })
    }

    /// The text.
    #[must_use]
    pub fn text(self) -> String {
        if self.0 & IN_TABLE == 0 {
            return self.0.to_string();
        }
        let (part, slot) = place(self.0);
        let part = read(part);
        part.entries.get(&slot).map(|e| &*e.text).unwrap_or_default().to_owned()
    }

    /// The number that it is, if it is one.
    #[must_use]
    pub fn as_number(self) -> Option<u32> {
        (self.0 & IN_TABLE == 0).then_some(self.0)
    }
}

impl fmt::Debug for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.text())
    }
}

/// Labels that are held: their texts stay known.
#[derive(Default)]
pub struct Labels {
    list: Vec<Label>,
}

impl Labels {
    /// No labels, with room for some.
    #[must_use]
    pub fn with_capacity(capacity: usize) -> Labels {
        Labels { list: Vec::with_capacity(capacity) }
    }

    /// Adds a label for a text of at most [`MAX_LABEL`] bytes, which the caller has seen to.
    pub fn push(&mut self, text: &str) {
        debug_assert!(text.len() <= MAX_LABEL, "a label of {} bytes", text.len());
        let label = plain_number(text).unwrap_or_else(|| intern(text));
        self.list.push(label);
    }

    /// Holds labels which someone else holds as well while this is called.
    #[must_use]
    pub fn hold(list: Vec<Label>) -> Labels {
        for label in list.iter().filter(|l| l.0 & IN_TABLE != 0) {
            let (part, slot) = place(label.0);
            if let Some(entry) = read(part).entries.get(&slot) {
                let held = entry.holders.fetch_add(1, Ordering::Relaxed);
                debug_assert!(held > 0, "a label that nobody holds");
            }
        }
        Labels { list }
    }

    /// The labels.
    #[must_use]
    pub fn as_slice(&self) -> &[Label] {
        &self.list
    }
}

impl Clone for Labels {
    fn clone(&self) -> Labels {
        Labels::hold(self.list.clone())
    }
}

impl Drop for Labels {
    fn drop(&mut self) {
        for label in self.list.iter().filter(|l| l.0 & IN_TABLE != 0) {
            release(label.0);
        }
    }
}

impl fmt::Debug for Labels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(&self.list).finish()
    }
}

struct Entry {
    text: Arc<str>,
    holders: AtomicU32,
}

#[derive(Default)]
struct Part {
    ids: HashMap<Arc<str>, u32>,
    /// By slot, which is a hash already.
    entries: HashMap<u32, Entry, BuildHasherDefault<Same>>,
}

/// Takes a number that is a hash as its own hash.
#[derive(Default)]
struct Same(u64);

impl Hasher for Same {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|b| self.0 = self.0 << 8 | u64::from(*b));
    }
    fn write_u32(&mut self, number: u32) {
        // The map takes its two parts of a hash from both ends.
        self.0 = u64::from(number).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
}

struct Table {
    parts: [RwLock<Part>; PARTS as usize],
}

static TABLE: LazyLock<Table> =
    LazyLock::new(|| Table { parts: std::array::from_fn(|_| RwLock::default()) });

/// No code between the locks panics, so a poisoned lock guards whole data.
fn read(part: &RwLock<Part>) -> RwLockReadGuard<'_, Part> {
    part.read().unwrap_or_else(std::sync::PoisonError::into_inner)
}

fn write(part: &RwLock<Part>) -> RwLockWriteGuard<'_, Part> {
    part.write().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// The number and the part of the table that holds this text.
fn part_of(text: &str) -> (u32, &'static RwLock<Part>) {
    let number = (xxh3_64(text.as_bytes()) % u64::from(PARTS)) as u32;
    (number, &TABLE.parts[number as usize])
}

fn symbol(part: u32, slot: u32) -> u32 {
    debug_assert!(slot < SLOTS, "a slot of a part");
    IN_TABLE | (slot * PARTS + part)
}

/// The part and the slot in it of a symbol of the table.
fn place(symbol: u32) -> (&'static RwLock<Part>, u32) {
    let number = symbol & !IN_TABLE;
    (&TABLE.parts[(number % PARTS) as usize], number / PARTS)
}

/// A free slot for a text: the first of those that hashes of it give, each by another seed, so that nobody can choose texts
/// that meet in all of them.
fn free_slot(part: &Part, text: &str) -> u32 {
    let mut seed = 1;
    loop {
        let slot = (xxh3_64_with_seed(text.as_bytes(), seed) % u64::from(SLOTS)) as u32;
        if !part.entries.contains_key(&slot) {
            return slot;
        }
        seed += 1;
    }
}

fn plain_number(text: &str) -> Option<Label> {
    let bytes = text.as_bytes();
    let is_plain =
        bytes.iter().all(u8::is_ascii_digit) && (bytes.len() == 1 || bytes.first() != Some(&b'0'));
    if !is_plain {
        return None;
    }
    text.parse().ok().and_then(Label::number)
}

fn intern(text: &str) -> Label {
    let (number, part) = part_of(text);
    if let Some(label) = hold_known(number, &read(part), text) {
        return label;
    }
    let mut part = write(part);
    if let Some(label) = hold_known(number, &part, text) {
        return label;
    }
    let slot = free_slot(&part, text);
    let text: Arc<str> = text.into();
    part.entries.insert(slot, Entry { text: text.clone(), holders: AtomicU32::new(1) });
    part.ids.insert(text, slot);
    Label(symbol(number, slot))
}

fn hold_known(number: u32, part: &Part, text: &str) -> Option<Label> {
    let slot = *part.ids.get(text)?;
    part.entries.get(&slot)?.holders.fetch_add(1, Ordering::Relaxed);
    Some(Label(symbol(number, slot)))
}

fn release(symbol: u32) {
    let (lock, slot) = place(symbol);
    let is_last = {
        let part = read(lock);
        let Some(entry) = part.entries.get(&slot) else { return };
        entry.holders.fetch_sub(1, Ordering::AcqRel) == 1
    };
    if !is_last {
        return;
    }
    // Between the two locks somebody may have taken the text again: then it stays. Or taken and released it
    // again: then the slot is free already, or holds another text that is held.
    let mut part = write(lock);
    let Some(entry) = part.entries.get(&slot) else { return };
    if entry.holders.load(Ordering::Acquire) == 0 {
        let text = entry.text.clone();
        part.ids.remove(&text);
        part.entries.remove(&slot);
    }
}

#[cfg(test)]
mod tests {
    use super::{Label, Labels};

    fn labels(texts: &[&str]) -> Labels {
        let mut labels = Labels::default();
        texts.iter().for_each(|t| labels.push(t));
        labels
    }

    #[test]
    fn equal_texts_have_equal_labels_and_keep_their_text() {
        let texts =
            ["a", "", "0", "007", "7", "-1", "2147483647", "2147483648", "a", "\u{e9}", "1.5"];
        let held = labels(&texts);
        for (i, a) in held.as_slice().iter().enumerate() {
            assert_eq!(a.text(), texts[i]);
            assert_eq!(Label::find(texts[i]), Some(*a));
            for (j, b) in held.as_slice().iter().enumerate() {
                assert_eq!(a == b, texts[i] == texts[j], "{a:?} {b:?}");
            }
        }
        assert_eq!(held.as_slice()[4].as_number(), Some(7));
        assert_eq!(held.as_slice()[3].as_number(), None);
    }

    #[test]
    fn a_text_that_nobody_holds_is_forgotten() {
        let text = "a text that no other test has";
        assert_eq!(Label::find(text), None);
        let first = labels(&[text]);
        let second = first.clone();
        drop(first);
        assert_eq!(second.as_slice()[0].text(), text);
        drop(second);
        assert_eq!(Label::find(text), None);
    }

    #[test]
    fn threads_that_take_and_release_the_same_texts_agree() {
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for round in 0..2_000 {
                        let text = format!("shared {}", round % 3);
                        let mine = labels(&[&text]);
                        let other = mine.clone();
                        drop(mine);
                        assert_eq!(other.as_slice()[0].text(), text);
                    }
                });
            }
        });
        assert_eq!(Label::find("shared 0"), None);
    }
}
