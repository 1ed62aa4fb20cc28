//! Random limits of matching and random diversity of the second phase, beside a look at all documents. A failure prints the line that
//! repeats it.
#![allow(clippy::unwrap_used)]

use std::collections::HashMap;

use serde_json::{Value as Json, json};

use crate::asked::Asked;
use crate::chance::Chance;

const SCHEMA: &str = "schema d {
  document d {
    field a type int { indexing: attribute }
    field g type string { indexing: attribute }
    field s type int { indexing: attribute }
    field t type int { indexing: attribute }
  }
  rank-profile first { first-phase { expression: attribute(s) } }
  rank-profile second {
    first-phase { expression: attribute(s) }
    second-phase {
      expression: 1000 + attribute(t)
      rerank-count: 8
    }
    diversity {
      attribute: g
      min-groups: 3
    }
  }
}";

const SETS: u64 = 60;
const QUESTIONS: usize = 20;

struct Document {
    a: Option<i64>,
    g: &'static str,
    s: i64,
    t: i64,
}

/// What a request says of groups.
#[derive(Clone, Copy)]
struct Groups {
    least: usize,
    factor: f64,
    is_strict: bool,
}

/// Of documents in their order, the first so many of which no group has more than its share, until there are so many groups; if it is
/// strict those that are known then keep to it.
fn diverse(
    order: &[usize],
    list: &[Document],
    count: usize,
    (groups, enough): (Groups, usize),
) -> Vec<usize> {
    let share = (count / groups.least).max(1);
    let mut taken = Vec::new();
    let mut seen: HashMap<&str, usize> = HashMap::new();
    for at in order {
        let group = list[*at].g;
        let is_free = match seen.len() < enough {
            true => false,
            false => !groups.is_strict || !seen.contains_key(group),
        };
        if taken.len() == count || !is_free && *seen.entry(group).or_default() == share {
            continue;
        }
        if !is_free {
            *seen.entry(group).or_default() += 1;
        }
        taken.push(*at);
    }
    taken
}

#[test]
fn limits_keep_what_looking_at_all_documents_keeps() {
    let asked = Asked::new(&[("d", false, SCHEMA)]);
    let only = std::env::var("STEAD_SEED").ok().and_then(|text| text.parse::<u64>().ok());
    let seeds = only.map_or(1..1 + SETS, |seed| seed..seed + 1);
    let (mut limited, mut ranked_again) = (0, 0);
    for seed in seeds {
        let mut chance = Chance::new(seed);
        let list: Vec<Document> = (0..1 + chance.below(60))
            .map(|_| Document {
                a: (chance.below(5) > 0).then(|| chance.below(20) as i64 - 10),
                g: ["x", "y", "z", "w", ""][chance.below(5)],
                s: chance.below(30) as i64,
                t: chance.below(30) as i64,
            })
            .collect();
        let json = |d: &Document| match d.a {
            Some(a) => json!({"a": a, "g": d.g, "s": d.s, "t": d.t}),
            None => json!({"g": d.g, "s": d.s, "t": d.t}),
        };
        let fields: Vec<Json> = list.iter().map(json).collect();
        let documents = asked.documents("d", &fields);
        for _ in 0..QUESTIONS {
            let least = chance.below(25) as i64;
            let matches: Vec<usize> = (0..list.len()).filter(|at| list[*at].s >= least).collect();
            let mut body =
                json!({"yql": format!("select * from d where s >= {least}"), "hits": 100});
            let mut kept = matches.clone();
            let is_second = chance.below(2) == 0;
            // What the profile says, if it is the second.
            let mut again_by = Groups { least: 3, factor: 10.0, is_strict: false };
            if chance.below(3) > 0 {
                let (most, groups) = (1 + chance.below(12), chance.below(5));
                let coverage = [0.0, 0.1, 0.5, 0.9, 1.0, 1.0][chance.below(6)];
                body["ranking.matchPhase.maxFilterCoverage"] = json!(coverage);
                let is_ascending = chance.below(2) == 0;
                body["ranking.matchPhase.attribute"] = json!("a");
                body["ranking.matchPhase.maxHits"] = json!(most);
                body["ranking.matchPhase.ascending"] = json!(is_ascending);
                let mut order = matches.clone();
                // Documents without a value come last, whatever the direction.
                let key = |at: &usize| match (list[*at].a, is_ascending) {
                    (None, _) => i64::MAX,
                    (Some(a), true) => a,
                    (Some(a), false) => -a,
                };
                order.sort_by_key(|at| (key(at), *at));
                let said = Groups {
                    least: groups,
                    factor: [0.0, 0.5, 1.0, 1.5, 10.0][chance.below(5)],
                    is_strict: chance.below(2) == 0,
                };
                if (most as f64) < (matches.len() as f64 * coverage).floor() {
                    limited += 1;
                    let by = if groups > 0 { said } else { again_by };
                    let share = most / by.least;
                    kept = match share.max(1) < most && (groups > 0 || is_second) {
                        false => order.iter().copied().take(most).collect(),
                        true => {
                            let enough = by.factor * most as f64 / share.max(1) as f64;
                            diverse(&order, &list, most, (by, enough.floor() as usize))
                        }
                    };
                }
                if groups > 0 {
                    again_by = said;
                    let strategy = if said.is_strict { "strict" } else { "loose" };
                    body["ranking.matchPhase.diversity.attribute"] = json!("g");
                    body["ranking.matchPhase.diversity.minGroups"] = json!(groups);
                    body["ranking.matchPhase.diversity.cutoffFactor"] = json!(said.factor);
                    body["ranking.matchPhase.diversity.cutoffStrategy"] = json!(strategy);
                }
            }
            let mut expected = kept;
            expected.sort_by_key(|at| (-list[*at].s, *at));
            let mut again = match is_second {
                true => diverse(&expected, &list, 8, (again_by, again_by.least)),
                false => Vec::new(),
            };
            ranked_again += usize::from(is_second && again.len() < expected.len());
            expected.retain(|at| !again.contains(at));
            again.sort_by_key(|at| (-list[*at].t, *at));
            expected.splice(0..0, again.iter().copied());
            body["ranking.profile"] = json!(if is_second { "second" } else { "first" });
            let (status, result) = asked.search(&[documents.view()], &body);
            let repeat = format!("STEAD_SEED={seed} cargo test -p stead-search --test all limits");
            assert_eq!(status, 200, "{repeat}: {body} {result}");
            let root = &result["root"];
            assert_eq!(root["fields"]["totalCount"], matches.len(), "{repeat}: {body}");
            let found: Vec<usize> = root["children"]
                .as_array()
                .into_iter()
                .flatten()
                .map(|hit| hit["id"].as_str().unwrap().rsplit(':').next().unwrap().parse().unwrap())
                .collect();
            // Those of the same score may be in either order behind the second phase.
            let scores = |all: &[usize]| -> Vec<(bool, i64)> {
                let score = |at: &usize| match again.contains(at) {
                    true => (true, list[*at].t),
                    false => (false, list[*at].s),
                };
                all.iter().map(score).collect()
            };
            assert_eq!(scores(&found), scores(&expected), "{repeat}: {body}");
            assert!(is_second || found == expected, "{repeat}: {body}: {found:?} {expected:?}");
        }
    }
    assert!(only.is_some() || limited > 200 && ranked_again > 100, "{limited} {ranked_again}");
}
