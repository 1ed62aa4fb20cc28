//! Documents and questions by chance.

use serde_json::{Value as Json, json};

use crate::brute::{Ask, Part};
use crate::chance::Chance;

const WORDS: [&str; 8] = ["a", "B", "ab", "Ba", "abba", "\u{c9}t\u{e9}", "b", "aB"];
const SIGNS: [&str; 5] = ["<", "<=", ">", ">=", "="];

impl Chance {
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
        const FIELDS: [&str; 18] = [
            "n", "y", "l", "x", "f", "b", "t", "c", "nums", "tags", "w", "people", "p", "v",
            "body", "notes", "prices", "u",
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
                "u" => {
                    let host = self.of(&["a.com", "b.com", "a.org"]);
                    let path = self.of(&["", "/", "/ab", "/A/b?ab=a", "/ab/b"]);
                    json!(format!("http://{host}{path}"))
                }
                "notes" => json!(self.list(3, |chance| chance.words(4))),
                "nums" => json!(self.list(3, Chance::number)),
                "tags" => json!(self.list(3, Chance::word)),
                "w" | "prices" => {
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

    /// What somebody is, with so many levels at most.
    fn part(&mut self, depth: usize) -> Part {
        let parts = |chance: &mut Chance| vec![chance.part(depth - 1), chance.part(depth - 1)];
        match self.below(if depth > 0 { 5 } else { 2 }) {
            0 => Part::Name(self.word()),
            1 => Part::Age(self.of(&SIGNS), self.number()),
            2 => Part::And(parts(self)),
            3 => Part::Or(parts(self)),
            _ => Part::Not(Box::new(self.part(depth - 1))),
        }
    }

    /// What the words of a field with an index are asked.
    fn words_of(&mut self, field: &'static str) -> Ask {
        if self.below(2) == 0 {
            let how = self.of(&["is", "prefix", "all"]);
            let words = if how == "all" { self.words(4) } else { self.word() };
            return Ask::Word(field, how, words);
        }
        let how = self.of(&["phrase", "near", "onear"]);
        let words = (0..1 + self.below(3)).map(|_| self.word()).collect();
        let distance = self.below(5);
        let far = self.of(&[0, 1, distance.div_ceil(2)]);
        let without = if how == "phrase" { 0 } else { self.below(3) };
        let without = (0..without).map(|_| self.word()).collect();
        Ask::Words(field, how, words, distance, (without, far))
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
        match self.below(28) {
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
            13 | 14 => {
                let field = self.of(&["body", "notes"]);
                self.words_of(field)
            }
            15 => {
                // Words of alternatives are taken as they are, accents and all.
                let how = self.of(&["equiv", "alternatives"]);
                let field = self.of(&["t", "c", "tags", "w", "pt", "body", "notes"]);
                let words = (0..2 + self.below(2)).map(|_| self.of(&["a", "ab", "abba", "B"]));
                Ask::Any(field, how, words.map(str::to_owned).collect())
            }
            16 => {
                let text = self.word();
                let edits = self.of(&[0, 1, 2]);
                let same = self.below(text.chars().count() + 1);
                Ask::Fuzzy(self.of(&["t", "c", "tags", "w"]), text, edits, same, self.below(2) == 0)
            }
            17 => {
                let mut pattern = String::from(self.of(&["", "^"]));
                for _ in 0..self.below(4) {
                    pattern += self.of(&["a", "b", "B", "."]);
                    pattern += self.of(&["", "", "*"]);
                }
                pattern += self.of(&["", "$"]);
                Ask::Regex(self.of(&["t", "c", "tags", "w", "pt"]), pattern)
            }
            18 if self.below(2) == 0 => Ask::Somebody(self.part(2)),
            18 => {
                let with = (0..1 + self.below(2)).map(|_| self.words_of("notes")).collect();
                Ask::Element(with, self.list(1, |chance| chance.words_of("notes")))
            }
            19 => match self.below(3) {
                0 => Ask::Product(self.of(&["w", "tags"]), vec![self.word(), self.word()]),
                _ => {
                    let how = self.of(&["weightedSet", "dotProduct"]);
                    let numbers = (0..1 + self.below(4)).map(|_| self.number()).collect();
                    Ask::Numbers(how, self.of(&["n", "y", "l", "nums", "pn", "pnums"]), numbers)
                }
            },
            20 => {
                let parts = (0..1 + self.below(3)).map(|_| match self.below(3) {
                    0 => Ask::Compare("n", "=", self.number(), false),
                    1 => Ask::Text("t", "is", self.word()),
                    _ => Ask::Word(self.of(&["body", "notes"]), "is", self.word()),
                });
                Ask::Weak(parts.collect())
            }
            21 => Ask::Entry(self.word(), self.number(), self.below(2) == 0),
            22 => {
                let grammar = self.of(&[
                    "all",
                    "any",
                    "web",
                    "weakAnd",
                    "near",
                    "onear",
                    "phrase",
                    "tokenize",
                    "linguistics",
                ]);
                let words = |chance: &mut Chance| {
                    let count = chance.of(&[1, 1, 2]);
                    (0..count).map(|_| chance.word()).collect()
                };
                // Somebody who only says what must not be there asks for nothing.
                let first = (self.of(&["", "+"]), words(self));
                let mut rest = self.list(2, |chance| (chance.of(&["", "+", "-"]), words(chance)));
                rest.insert(0, first);
                Ask::Typed(grammar, rest)
            }
            23 => match self.below(2) {
                0 => Ask::Box([self.number(), self.number(), self.number(), self.number()]),
                _ => Ask::NonEmpty(Box::new(Ask::Word("body", "is", self.word()))),
            },
            24 => {
                let how = self.of(&["prefix", "suffix", "substring"]);
                let word = self.of(&["a", "B", "ab", "ba", "aB", "bb"]);
                Ask::Part(self.of(&["t", "c", "tags", "w", "pt"]), how, word.to_owned())
            }
            25 => Ask::Labeled(Box::new(self.ask(0)), self.below(2) == 0),
            26 => {
                let text = self.of(&["a", "com", "a.com", "b.com", "org", "ab", "a/b", "b?ab=a"]);
                let field = self.of(&["u", "u.hostname"]);
                Ask::Address(field, text.to_owned(), self.below(2) == 0)
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
