//! Random groupings of random documents, as a search answers them and as a few lines count them. A failure prints the line that repeats it;
//! `STEAD_SEEDS` runs so many (`cargo xtask soak groupings`).
#![allow(clippy::unwrap_used)]

use std::cmp::Ordering;

use serde_json::{Value as Json, json};
use stead_search::grouping::syntax::parse;
use stead_search::grouping::{
    Asked as AskedGrouping, Documents as Of, Grouped, GroupingRequest, collect, finish, plan,
    render,
};

use crate::asked::Asked;
use crate::chance::{Chance, Repro, seeds};

const SCHEMA: &str = "schema d {
  document d {
    field a type int { indexing: attribute }
    field b type long { indexing: attribute }
    field s type string { indexing: attribute }
    field l type array<int> { indexing: attribute }
  }
  rank-profile default { first-phase { expression: attribute(b) } }
}";

/// How many groupings there are if nothing else is said.
const SEEDS: u64 = 400;

#[derive(Clone)]
struct Document {
    a: i64,
    b: i64,
    s: &'static str,
    l: Vec<i64>,
}

fn documents(chance: &mut Chance) -> Vec<Document> {
    let count = 1 + chance.below(60);
    let mut one = |_| Document {
        a: chance.below(9) as i64 - 4,
        b: chance.below(50) as i64,
        s: ["x", "y", "zz", ""][chance.below(4)],
        l: (0..chance.below(4)).map(|_| chance.below(3) as i64).collect(),
    };
    (0..count).map(&mut one).collect()
}

/// What groups have in common, in the order of groups.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Key {
    Number(i64),
    Text(String),
    Bucket(i64, i64),
}

impl Key {
    fn shown(&self) -> String {
        match self {
            Key::Number(number) => number.to_string(),
            Key::Text(text) => text.clone(),
            Key::Bucket(from, to) => format!("{from}..{to}"),
        }
    }
}

/// Expressions to group by, with what they are of a document.
type By = (&'static str, fn(&Document) -> Vec<Key>);
const BYS: [By; 8] = [
    ("a", |d| vec![Key::Number(d.a)]),
    ("s", |d| vec![Key::Text(d.s.to_owned())]),
    ("l", |d| d.l.iter().map(|n| Key::Number(*n)).collect()),
    ("fixedwidth(a, 3)", |d| {
        let from = d.a.div_euclid(3) * 3;
        vec![Key::Bucket(from, from + 3)]
    }),
    ("a * 2 + size(l)", |d| vec![Key::Number(d.a * 2 + d.l.len() as i64)]),
    ("strcat(s, a % 2)", |d| vec![Key::Text(format!("{}{}", d.s, d.a % 2))]),
    ("max(a, 0)", |d| vec![Key::Number(d.a.max(0))]),
    ("and(b, 3)", |d| vec![Key::Number(d.b & 3)]),
];

/// Values of groups, with what they are of its documents.
type Of1 = (&'static str, fn(&[&Document]) -> i64);
const VALUES: [Of1; 6] = [
    ("count()", |d| d.len() as i64),
    ("sum(a)", |d| d.iter().map(|d| d.a).sum()),
    ("max(b)", |d| d.iter().map(|d| d.b).max().unwrap_or(0)),
    ("min(neg(a))", |d| d.iter().map(|d| -d.a).min().unwrap_or(0)),
    ("xor(b)", |d| d.iter().fold(0, |all, d| all ^ d.b)),
    ("sum(strlen(s))", |d| d.iter().map(|d| d.s.len() as i64).sum()),
];

/// Filters, with the documents that pass.
type Test = (&'static str, fn(&Document) -> bool);
const FILTERS: [Test; 4] = [
    ("", |_| true),
    ("filter(range(-2, 3, a))", |d| (-2..3).contains(&d.a)),
    ("filter(not regex(\"z+\", s))", |d| d.s != "zz"),
    ("filter(regex(\"x|y\", s) or range(10, 20, b, false, true))", |d| {
        matches!(d.s, "x" | "y") || (11..=20).contains(&d.b)
    }),
];

struct Level {
    by: usize,
    filter: usize,
    max: Option<usize>,
    /// The value of groups, and whether the greatest is first.
    order: Option<(usize, bool)>,
    outputs: Vec<usize>,
    inner: Option<Box<Level>>,
}

/// What is inside of groups of elements of `l` is about one element, which has a test of its own: it does not name `l` here.
fn level(chance: &mut Chance, depth: usize, is_inside: bool) -> Level {
    let mut outputs: Vec<usize> = (0..VALUES.len()).filter(|_| chance.below(3) == 0).collect();
    if outputs.is_empty() {
        outputs.push(0);
    }
    let by = match chance.below(BYS.len()) {
        2 | 4 if is_inside => 0,
        by => by,
    };
    Level {
        by,
        filter: chance.below(FILTERS.len()),
        max: (chance.below(2) == 0).then(|| 1 + chance.below(4)),
        order: (chance.below(3) > 0).then(|| (chance.below(VALUES.len()), chance.below(2) == 0)),
        outputs,
        inner: (depth < 2 && chance.below(2) == 0)
            .then(|| Box::new(level(chance, depth + 1, is_inside || by == 2))),
    }
}

impl Level {
    fn text(&self) -> String {
        let max = self.max.map_or("inf".to_owned(), |max| max.to_string());
        let order = self.order.map_or(String::new(), |(value, descends)| {
            format!("order({}{})", if descends { "-" } else { "" }, VALUES[value].0)
        });
        let outputs: Vec<&str> = self.outputs.iter().map(|at| VALUES[*at].0).collect();
        let inner =
            self.inner.as_ref().map_or(String::new(), |inner| format!("all({})", inner.text()));
        format!(
            "group({}) {} max({max}) {order} each(output({}) {inner})",
            BYS[self.by].0,
            FILTERS[self.filter].0,
            outputs.join(", ")
        )
    }

    /// The groups of documents, counted one by one.
    fn brute(&self, documents: &[&Document]) -> String {
        let mut groups: Vec<(Key, Vec<&Document>)> = Vec::new();
        for document in documents.iter().filter(|d| FILTERS[self.filter].1(d)) {
            for key in BYS[self.by].1(document) {
                match groups.iter_mut().find(|(known, _)| *known == key) {
                    Some((_, list)) => list.push(document),
                    None => groups.push((key, vec![document])),
                }
            }
        }
        let rank = |list: &[&Document]| list.iter().map(|d| d.b).max();
        groups.sort_by(|(one, of_one), (other, of_other)| {
            let order = self.order.map_or(Ordering::Equal, |(value, descends)| {
                let (a, b) = (VALUES[value].1(of_one), VALUES[value].1(of_other));
                if descends { b.cmp(&a) } else { a.cmp(&b) }
            });
            order.then(rank(of_other).cmp(&rank(of_one))).then(one.cmp(other))
        });
        groups.truncate(self.max.unwrap_or(usize::MAX));
        let of = |(key, list): &(Key, Vec<&Document>)| {
            // Results have the values in the order of their names here.
            let mut fields: Vec<(&str, i64)> =
                self.outputs.iter().map(|at| (VALUES[*at].0, VALUES[*at].1(list))).collect();
            fields.sort_unstable();
            let fields: String = fields.iter().map(|(_, value)| format!(" {value}")).collect();
            let inner = self.inner.as_ref().map(|inner| inner.brute(list)).unwrap_or_default();
            let inner = if inner.is_empty() { inner } else { format!(" ({inner})") };
            format!("{}{fields}{inner}", key.shown())
        };
        groups.iter().map(of).collect::<Vec<_>>().join(", ")
    }
}

fn shown(groups: &Json) -> String {
    let of = |group: &Json| {
        let name = match (&group["value"], &group["limits"]) {
            (Json::String(value), _) => value.clone(),
            (_, ends) => {
                format!("{}..{}", ends["from"].as_str().unwrap(), ends["to"].as_str().unwrap())
            }
        };
        let mut fields: Vec<(String, Json)> =
            group["fields"].as_object().unwrap().clone().into_iter().collect();
        fields.sort_by(|a, b| a.0.cmp(&b.0));
        let fields: String = fields.iter().map(|(_, value)| format!(" {value}")).collect();
        let inner = shown(&group["children"][0]["children"]);
        let inner = if inner.is_empty() { inner } else { format!(" ({inner})") };
        format!("{name}{fields}{inner}")
    };
    groups
        .as_array()
        .map_or(String::new(), |list| list.iter().map(of).collect::<Vec<_>>().join(", "))
}

#[test]
fn random_groupings_are_those_of_counting() {
    let asked = Asked::new(&[("d", false, SCHEMA)]);
    for seed in seeds(SEEDS).0 {
        let _repro = Repro(seed, "--test all random_groupings".to_owned());
        let mut chance = Chance::new(seed);
        let all = documents(&mut chance);
        let level = level(&mut chance, 0, false);
        let json = |d: &Document| json!({"a": d.a, "b": d.b, "s": d.s, "l": d.l});
        let grouping = format!("all({})", level.text());
        let expected = level.brute(&all.iter().collect::<Vec<_>>());

        let stored = asked.documents("d", &all.iter().map(json).collect::<Vec<_>>());
        // Nothing bounds groups here; a query profile would say so.
        let asked_for = AskedGrouping {
            operation: parse(&grouping).unwrap().remove(0),
            continuations: Vec::new(),
        };
        let mut request = GroupingRequest::default();
        request.limits.all = None;
        let half = chance.below(all.len() + 1);
        let (whole, halves) = ([(0, all.len())], [(0, half), (half, all.len())]);
        for parts in [&whole[..], &halves[..]] {
            let view = stored.view();
            let of = Of { view, cluster: "c", now: 0 };
            let plan = plan(&asked_for, of, &request, 0).unwrap();
            let matches: Vec<(u32, f64)> =
                view.lids().zip(&all).map(|(lid, d)| (lid, d.b as f64)).collect();
            // Each part sends all of its groups where precision is as large.
            let found = parts.iter().map(|(from, to)| {
                let grouped = Grouped { matches: &matches[*from..*to], is_late: &|| false };
                collect(&plan, view, &grouped).unwrap().0
            });
            let found: Vec<_> = found.collect();
            // With fewer groups than there are, parts may have left out what the whole has.
            if found.len() > 1 && level.bounds() {
                continue;
            }
            let root = finish(&plan, found);
            let mut none = |_: Option<&str>, _: &_| stead_search::result::Item::Null;
            let item = render(&plan, root.as_ref(), &mut none);
            let result: Json = serde_json::from_slice(&item.json()).unwrap();
            let list = &result["children"][0]["children"];
            assert_eq!(shown(list), expected, "seed {seed}: {grouping}");
        }
    }
}

impl Level {
    /// Whether any level has a limit.
    fn bounds(&self) -> bool {
        self.max.is_some() || self.inner.as_ref().is_some_and(|inner| inner.bounds())
    }
}
