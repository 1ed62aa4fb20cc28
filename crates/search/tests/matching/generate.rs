//! Documents and questions by chance.

use serde_json::{Value as Json, json};

use crate::brute::Ask;

/// A xorshift generator (Marsaglia, 2003).
pub struct Chance(pub u64);

const WORDS: [&str; 8] = ["a", "B", "ab", "Ba", "abba", "\u{c9}t\u{e9}", "b", "aB"];
const SIGNS: [&str; 5] = ["<", "<=", ">", ">=", "="];

impl Chance {
    pub fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % end.max(1) as u64) as usize
    }

    fn number(&mut self) -> i64 {
        self.below(12) as i64 - 6
    }

    fn word(&mut self) -> String {
        WORDS[self.below(WORDS.len())].to_owned()
    }

    fn words(&mut self, most: usize) -> String {
        self.list(most, Chance::word).join(", ")
    }

    fn of<T: Copy>(&mut self, list: &[T]) -> T {
        list[self.below(list.len())]
    }

    fn list<T>(&mut self, most: usize, mut one: impl FnMut(&mut Chance) -> T) -> Vec<T> {
        (0..self.below(most + 1)).map(|_| one(self)).collect()
    }

    /// A document; every field is missing now and then.
    pub fn document(&mut self) -> Json {
        let mut fields = serde_json::Map::new();
        const FIELDS: [&str; 16] = [
            "n", "y", "l", "x", "f", "b", "t", "c", "nums", "tags", "w", "people", "p", "v",
            "body", "notes",
        ];
        for field in FIELDS {
            if self.below(5) == 0 {
                continue;
            }
            let value = match field {
                "n" | "y" | "l" => json!(self.number()),
                "x" | "f" => json!(self.number() as f64 / 2.0),
                "b" => json!(self.below(2) == 1),
                "t" | "c" => json!(self.word()),
                "body" => json!(self.words(9)),
                "notes" => json!(self.list(3, |chance| chance.words(4))),
                "nums" => json!(self.list(3, Chance::number)),
                "tags" => json!(self.list(3, Chance::word)),
                "w" => {
                    let pairs = self.list(3, |chance| (chance.word(), json!(chance.number())));
                    Json::Object(pairs.into_iter().collect())
                }
                "people" => json!(self.list(3, |chance| {
                    let mut person = serde_json::Map::new();
                    person.insert("name".to_owned(), json!(chance.word()));
                    if chance.below(4) > 0 {
                        person.insert("age".to_owned(), json!(chance.number()));
                    }
                    Json::Object(person)
                })),
                "v" => json!([self.number(), self.number()]),
                _ => json!({"lat": self.number() as f64, "lng": self.number() as f64}),
            };
            fields.insert(field.to_owned(), value);
        }
        Json::Object(fields)
    }

    /// A parent of documents.
    pub fn parent(&mut self) -> Json {
        let mut fields = serde_json::Map::new();
        for field in ["n", "t", "nums"] {
            let value = match field {
                _ if self.below(5) == 0 => continue,
                "n" => json!(self.number()),
                "t" => json!(self.word()),
                _ => json!(self.list(3, Chance::number)),
            };
            fields.insert(field.to_owned(), value);
        }
        Json::Object(fields)
    }

    /// A document as it is fed, with one of some parents, one that is not there, or none; and with what it imports.
    pub fn child(&mut self, parents: &[Json]) -> (Json, Json) {
        let mut fed = self.document();
        let number = self.below(parents.len() + 4);
        if number < parents.len() + 2 {
            fed["parent"] = json!(format!("id:m:g::{number}"));
        }
        let mut whole = fed.clone();
        for field in ["n", "t", "nums"] {
            if let Some(value) = parents.get(number).and_then(|parent| parent.get(field)) {
                whole[format!("p{field}")] = value.clone();
            }
        }
        (fed, whole)
    }

    /// A question with so many levels at most.
    pub fn ask(&mut self, depth: usize) -> Ask {
        if depth > 0 && self.below(2) == 0 {
            let parts = |chance: &mut Chance| {
                (0..2 + chance.below(2)).map(|_| chance.ask(depth - 1)).collect()
            };
            return match self.below(5) {
                0 | 1 => Ask::And(parts(self)),
                2 | 3 => Ask::Or(parts(self)),
                _ => Ask::Not(Box::new(self.ask(depth - 1))),
            };
        }
        const NUMBERS: [&str; 8] = ["n", "y", "l", "x", "f", "nums", "pn", "pnums"];
        match self.below(16) {
            0 => self.of(&[Ask::All, Ask::Nothing].each_ref()).clone(),
            1 => Ask::Rank(Box::new(self.ask(0)), Box::new(self.ask(0))),
            2 | 3 => {
                let field = self.of(&NUMBERS);
                let mut end = || {
                    let is_open = self.below(4) == 0;
                    (!is_open).then(|| (self.number() as f64 / 2.0, self.below(2) == 0))
                };
                let (low, high) = (end(), end());
                // Equal ends between whole numbers are rounded, as in Vespa.
                let is_point = low.zip(high).is_some_and(|((a, _), (b, _))| a == b);
                Ask::Between(field, low.filter(|_| !is_point), high)
            }
            4 | 5 => {
                let first = self.below(2) == 0;
                Ask::Compare(self.of(&NUMBERS), self.of(&SIGNS), self.number(), first)
            }
            6 => Ask::Flag(self.below(2) == 0),
            7 => {
                let count = self.of(&[1, 3, 12]);
                let field = self.of(&["n", "y", "l", "nums", "pn", "pnums"]);
                Ask::OneOfNumbers(field, (0..count).map(|_| self.number()).collect())
            }
            8 => {
                let field = self.of(&["t", "c", "tags", "w", "pt"]);
                Ask::OneOfTexts(field, vec![self.word(), self.word()])
            }
            9 => {
                let (field, how) =
                    (self.of(&["t", "c", "tags", "w", "pt"]), self.of(&["is", "prefix", "fuzzy"]));
                Ask::Text(field, how, self.word())
            }
            10 => match self.below(2) {
                0 => Ask::Text("c", "substring", self.word()),
                _ => Ask::Text("t", "regex", format!("{}.*", self.word())),
            },
            11 => Ask::Set(self.of(&["t", "tags", "w", "pt"]), vec![self.word(), self.word()]),
            12 => {
                let tokens =
                    vec![("a".to_owned(), self.number()), ("ba".to_owned(), self.number())];
                Ask::Wand(tokens, self.number())
            }
            13 => {
                let how = self.of(&["is", "prefix", "all"]);
                let words = if how == "all" { self.words(4) } else { self.word() };
                Ask::Word(self.of(&["body", "notes"]), how, words)
            }
            14 => {
                let how = self.of(&["phrase", "near", "onear"]);
                let words = (0..1 + self.below(3)).map(|_| self.word()).collect();
                Ask::Words(self.of(&["body", "notes"]), how, words, self.below(5))
            }
            _ => match self.below(2) {
                0 => {
                    let place = self.of(&[None, Some(0), Some(2)]);
                    Ask::Person(self.word(), self.number(), place)
                }
                // No place lies on the edge of such a circle.
                _ => Ask::Near(self.number() as f64, self.number() as f64, 2.53),
            },
        }
    }
}
