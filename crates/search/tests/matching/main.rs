//! Random questions about random documents have the answers that looking at each document gives.
//!
//! A failure prints the line that repeats it. `STEAD_SEEDS` runs so many seeds from `STEAD_SEED` on (`cargo xtask soak queries`), `STEAD_SEED` alone
//! one.
#![allow(clippy::unwrap_used)]

#[path = "../asked/mod.rs"]
mod application;
mod brute;
#[path = "../chance/mod.rs"]
mod chance;
mod generate;
mod world;

use brute::{Ask, product};
use chance::{Chance, Repro, seeds};
use serde_json::{Value as Json, json};
use stead_search::matching::Matcher;
use world::World;

/// Questions for each set of documents.
const QUESTIONS: usize = 40;
const SETS: u64 = 50;

/// Fields that are those of parents.
const IMPORTED: [&str; 3] = ["pn", "pt", "pnums"];

/// The documents nearest to a vector among some, the first of those that are as near.
fn nearest(list: &[Json], among: &[usize], vector: [f64; 2], count: usize) -> Vec<usize> {
    let distance = |at: &usize| {
        let part = |i: usize| list[*at]["v"][i].as_f64().unwrap() - vector[i];
        part(0).powi(2) + part(1).powi(2)
    };
    // Who has no vector is near to nothing.
    let mut sorted: Vec<usize> =
        among.iter().copied().filter(|at| list[*at]["v"].is_array()).collect();
    sorted.sort_by(|a, b| distance(a).total_cmp(&distance(b)).then(a.cmp(b)));
    sorted.truncate(count);
    sorted
}

/// Says how the test of a name fails again.
fn repro(seed: u64, name: &str) -> Repro {
    Repro(seed, format!("--test matching {name}"))
}

#[test]
fn every_question_has_the_answer_of_looking_at_each_document() {
    let world = World::new(false, false);
    every_question("every_question_has_the_answer", SETS, |_| &world);
    assert_eq!(world.indexed.get(), 0);
}

#[test]
fn every_question_has_the_same_answer_with_indexes() {
    let world = World::new(true, false);
    let asked = every_question("every_question_has_the_same_answer_with", SETS, |_| &world);
    assert!(world.indexed.get() > asked / 5, "indexes answered {} times", world.indexed.get());
}

#[test]
fn every_question_has_the_same_answer_from_disk() {
    let world = World::new(false, true);
    every_question("every_question_has_the_same_answer_from", SETS, |_| &world);
    assert_eq!(world.indexed.get(), 0);
}

#[test]
fn every_question_has_the_same_answer_from_disk_with_indexes() {
    let world = World::new(true, true);
    let asked = every_question("every_question_has_the_same_answer_from", SETS, |_| &world);
    assert!(world.indexed.get() > asked / 5, "indexes answered {} times", world.indexed.get());
}

#[test]
fn every_question_has_the_same_answer_whatever_each_field_is() {
    every_question("every_question_has_the_same_answer_whatever", SETS / 2, World::mixed);
}

#[test]
fn every_question_has_the_same_answer_of_streamed_documents() {
    let world = World::streamed();
    every_question("every_question_has_the_same_answer_of_streamed", SETS / 2, |_| &world);
}

/// Returns how many were asked.
fn every_question<W: std::borrow::Borrow<World>>(
    name: &'static str,
    usual: u64,
    mut of: impl FnMut(&mut Chance) -> W,
) -> u64 {
    let (mut some, mut all) = (0, 0);
    let (seeds, is_usual) = seeds(usual);
    for seed in seeds {
        let _repro = repro(seed, name);
        let mut chance = Chance::new(seed);
        let world = of(&mut chance);
        let world = world.borrow();
        let count = 1 + chance.below(150);
        let parents: Vec<Json> = (0..chance.below(20)).map(|_| chance.parent()).collect();
        let (fed, list): (Vec<Json>, Vec<Json>) =
            (0..count).map(|_| chance.child(&parents)).unzip();
        let view = world.view(&fed, &parents);
        for question in 0..QUESTIONS {
            let ask = chance.ask(3);
            let holds = |at: &usize| ask.holds(&list[*at], *at, &[]);
            let expected: Vec<usize> = (0..count).filter(holds).collect();
            let yql = ask.yql();
            // Streamed documents import nothing.
            if world.is_streamed && IMPORTED.iter().any(|field| yql.contains(field)) {
                continue;
            }
            let found = world.found(&view, &yql, [0.0; 2]);
            assert_eq!(found, expected, "seed {seed}, question {question}: {yql}");
            some += usize::from(!found.is_empty() && found.len() < count);
            all += 1;
        }
    }
    // Questions that everything or nothing answers would show little.
    assert!(!is_usual || some * 2 > all, "{some} of {all}");
    all as u64
}

/// The words of each document in a field of texts.
fn words_of(list: &[Json], field: &str) -> Vec<Vec<String>> {
    let words = |document: &Json| {
        let texts: Vec<&str> = match &document[field] {
            Json::Array(texts) => texts.iter().filter_map(Json::as_str).collect(),
            text => text.as_str().into_iter().collect(),
        };
        let text = texts.join(" ").to_lowercase().replace('\u{e9}', "e");
        text.split([' ', ',']).filter(|w| !w.is_empty()).map(str::to_owned).collect()
    };
    list.iter().map(words).collect()
}

/// The sum of BM25 of some words for each document that has one of them.
fn scores(bodies: &[Vec<String>], wanted: &[&str]) -> Vec<Option<f64>> {
    let count = bodies.iter().filter(|body| !body.is_empty()).count() as f64;
    let average = bodies.iter().map(Vec::len).sum::<usize>() as f64 / count.max(1.0);
    let times = |body: &Vec<String>, word: &str| body.iter().filter(|w| *w == word).count() as f64;
    let of = |body: &Vec<String>| {
        let parts = wanted.iter().filter(|word| times(body, word) > 0.0).map(|word| {
            let having = bodies.iter().filter(|body| times(body, word) > 0.0).count() as f64;
            let all = bodies.len() as f64;
            let idf = (1.0 + (all - having + 0.5) / (having + 0.5)).ln();
            let length = 0.25 + 0.75 * body.len() as f64 / average;
            idf * times(body, word) * 2.2 / (times(body, word) + 1.2 * length)
        });
        parts.reduce(|a, b| a + b)
    };
    bodies.iter().map(of).collect()
}

#[test]
fn the_best_by_their_words_are_found_among_those_that_pass_the_rest() {
    let world = World::new(true, false);
    for seed in seeds(200).0 {
        let _repro = repro(seed, "the_best_by_their_words");
        let mut chance = Chance::new(seed);
        let count = 1 + chance.below(150);
        let list: Vec<Json> = (0..count).map(|_| chance.document()).collect();
        let view = world.view(&list, &[]);
        let fields = [&["body"][..], &["body", "notes"], &["notes", "body"]][chance.below(3)];
        let wanted: Vec<(&str, &str)> = fields
            .iter()
            .flat_map(|field| {
                let words = &["a", "ab", "abba", "b"][..1 + chance.below(4)];
                words.iter().map(|word| (*field, *word))
            })
            .collect();
        let (hits, mut filter) = (1 + chance.below(20), chance.ask(1));
        // Each of several such operators has documents of its own.
        while filter.yql().contains("weakAnd") {
            filter = chance.ask(1);
        }
        let mut scores = vec![None; count];
        for field in fields {
            let of_field = wanted.iter().filter(|(of, _)| of == field);
            let words: Vec<&str> = of_field.map(|(_, word)| *word).collect();
            let its = self::scores(&words_of(&list, field), &words);
            for (sum, score) in scores.iter_mut().zip(its) {
                *sum = match (*sum, score) {
                    (Some(sum), Some(score)) => Some(sum + score),
                    (sum, score) => sum.or(score),
                };
            }
        }
        let word = |(field, word): &(&str, &str)| format!("{field} contains '{word}'");
        let mut words: Vec<String> = wanted.iter().map(word).collect();
        // What stands in one within is a part of the outer one.
        if chance.below(3) == 0 {
            let inner = words.split_off(chance.below(words.len()));
            words.push(format!("weakAnd({})", inner.join(", ")));
        }
        let weak = format!("({{targetHits: {hits}}}weakAnd({}))", words.join(", "));
        let is_filtered = chance.below(2) == 0;
        let yql = match is_filtered {
            true => format!("({}) and {weak}", filter.yql()),
            false => weak,
        };
        let found = world.found(&view, &yql, [0.0; 2]);
        let passes = |at: &usize| !is_filtered || filter.holds(&list[*at], *at, &[]);
        let open: Vec<usize> =
            (0..count).filter(passes).filter(|at| scores[*at].is_some()).collect();
        assert_eq!(found.len(), hits.min(open.len()), "{yql}");
        let score = |at: &usize| scores[*at].unwrap();
        assert!(found.iter().all(|at| open.contains(at)), "{yql}: {found:?}");
        let least = found.iter().map(score).fold(f64::MAX, f64::min);
        for at in open.iter().filter(|at| !found.contains(at)) {
            // Documents that are as good may be either.
            assert!(score(at) <= least + 1e-9, "{yql}: {at} has {}, not {least}", score(at));
        }
    }
}

#[test]
fn those_with_the_greatest_sums_are_found_among_those_that_pass_the_rest() {
    let worlds = [(false, false), (true, false), (true, true)];
    let worlds = worlds.map(|(is_fast, is_paged)| World::new(is_fast, is_paged));
    let seeds = seeds(60).0;
    for (world, seed) in worlds.iter().flat_map(|world| seeds.clone().map(move |s| (world, s))) {
        let _repro = repro(seed, "those_with_the_greatest_sums");
        let mut chance = Chance::new(seed);
        let count = 1 + chance.below(150);
        let list: Vec<Json> = (0..count).map(|_| chance.document()).collect();
        let view = world.view(&list, &[]);
        // What is asked of the weighted set, with a threshold that all or some are above.
        let ask = loop {
            if let ask @ Ask::Wand(..) = chance.ask(1) {
                break ask;
            }
        };
        let Ask::Wand(tokens, above) = &ask else { panic!() };
        let sum = |at: &usize| product(&list[*at], tokens).filter(|sum| sum > above);
        let (hits, mut filter) = (1 + chance.below(20), chance.ask(1));
        // Each of several such operators has documents of its own.
        while ["weakAnd", "wand"].iter().any(|name| filter.yql().contains(name)) {
            filter = chance.ask(1);
        }
        let wand = ask.yql().replace("targetHits: 1000", &format!("targetHits: {hits}"));
        let (yql, is_filtered, is_either) = match chance.below(3) {
            0 => (wand, false, false),
            1 => (format!("({}) or {wand}", filter.yql()), false, true),
            _ => (format!("({}) and {wand}", filter.yql()), true, false),
        };
        let passes = |at: &usize| filter.holds(&list[*at], *at, &[]);
        let mut best: Vec<usize> =
            (0..count).filter(|at| sum(at).is_some() && (!is_filtered || passes(at))).collect();
        best.sort_by_key(|at| (std::cmp::Reverse(sum(at)), *at));
        best.truncate(hits);
        let is_expected = |at: &usize| best.contains(at) || (is_either && passes(at));
        let expected: Vec<usize> = (0..count).filter(is_expected).collect();
        assert_eq!(world.found(&view, &yql, [0.0; 2]), expected, "seed {seed}: {yql}");
    }
}

#[test]
fn the_test_that_leaves_the_fewest_rows_goes_first() {
    let world = World::new(true, false);
    let document = |n: i32| json!({"l": n, "t": format!("t{}", n % 4), "x": n % 20});
    let view = world.view(&(0..100).map(document).collect::<Vec<_>>(), &[]);
    let tree = world.tree("t contains 't3' and x = 3 and l = 43", [0.0; 2]);
    let explained = Matcher::new(&tree, &view).unwrap().explain();
    let parts = explained["parts"].as_array().unwrap().iter();
    let parts: Vec<String> = parts
        .map(|part| {
            format!("{}: {} of {}", part["what"].as_str().unwrap(), part["found"], part["among"])
        })
        .collect();
    assert_eq!(parts, ["l = 43: 1 of 100", "x = 3: 1 of 1", "t = \"t3\": 1 of 1"]);
    assert_eq!(explained["parts"][0]["cost"], "an index");
}

#[test]
fn the_nearest_are_found_among_those_that_pass_the_rest() {
    let worlds = [(false, false), (true, false), (true, true)];
    let worlds = worlds.map(|(is_fast, is_paged)| World::new(is_fast, is_paged));
    let seeds = seeds(100).0;
    for (world, seed) in worlds.iter().flat_map(|world| seeds.clone().map(move |s| (world, s))) {
        let _repro = repro(seed, "the_nearest_are_found");
        let mut chance = Chance::new(seed);
        let count = 1 + chance.below(150);
        let list: Vec<Json> = (0..count).map(|_| chance.document()).collect();
        let view = world.view(&list, &[]);
        let vector = [chance.below(12) as f64 - 6.0, chance.below(12) as f64 - 6.0];
        let near = Ask::Nearest(1 + chance.below(20));
        let Ask::Nearest(hits) = near else { panic!() };
        let (filter, other) = (chance.ask(1), chance.ask(1));
        let pass = |ask: &Ask| -> Vec<usize> {
            (0..count).filter(|at| ask.holds(&list[*at], *at, &[])).collect()
        };
        let everywhere: Vec<usize> = (0..count).collect();
        let filtered = Ask::And(vec![filter.clone(), near.clone()]);
        let either = Ask::Or(vec![filter.clone(), near.clone()]);
        let within = Ask::And(vec![filter.clone(), Ask::Or(vec![other.clone(), near.clone()])]);
        for (ask, among) in [
            (near, everywhere.clone()),
            (filtered, pass(&filter)),
            (either, everywhere),
            (within, pass(&filter)),
        ] {
            let nearest = nearest(&list, &among, vector, hits);
            let expected: Vec<usize> =
                (0..count).filter(|at| ask.holds(&list[*at], *at, &nearest)).collect();
            let yql = ask.yql();
            assert_eq!(world.found(&view, &yql, vector), expected, "seed {seed}: {yql}");
        }
    }
}
