//! Random questions about random documents have the answers that looking at each document gives.
#![allow(clippy::unwrap_used)]

#[path = "../asked/mod.rs"]
mod application;
mod brute;
mod generate;
mod world;

use brute::Ask;
use generate::Chance;
use serde_json::{Value as Json, json};
use stead_search::matching::Matcher;
use world::World;

/// Questions for each set of documents.
const QUESTIONS: usize = 40;
const SETS: u64 = 50;

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

#[test]
fn every_question_has_the_answer_of_looking_at_each_document() {
    assert_eq!(every_question(&World::new(false, false)), 0);
}

#[test]
fn every_question_has_the_same_answer_with_indexes() {
    let indexed = every_question(&World::new(true, false));
    assert!(indexed > SETS * QUESTIONS as u64 / 4, "indexes answered {indexed} times");
}

#[test]
fn every_question_has_the_same_answer_from_disk() {
    assert_eq!(every_question(&World::new(false, true)), 0);
}

#[test]
fn every_question_has_the_same_answer_from_disk_with_indexes() {
    let indexed = every_question(&World::new(true, true));
    assert!(indexed > SETS * QUESTIONS as u64 / 4, "indexes answered {indexed} times");
}

/// Returns how often an index answered.
fn every_question(world: &World) -> u64 {
    let (mut some, mut all) = (0, 0);
    for seed in 1..=SETS {
        let mut chance = Chance(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
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
            let found = world.found(&view, &yql, [0.0; 2]);
            assert_eq!(found, expected, "seed {seed}, question {question}: {yql}");
            some += usize::from(!found.is_empty() && found.len() < count);
            all += 1;
        }
    }
    // Questions that everything or nothing answers would show little.
    assert!(some * 2 > all, "{some} of {all}");
    world.indexed.get()
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
    for (world, seed) in worlds.iter().flat_map(|world| (1..=100_u64).map(move |s| (world, s))) {
        let mut chance = Chance(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
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
