use super::*;
use crate::package::Place;

fn words(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_owned).collect()
}

/// `id <before >after =provides`, each of the signs as often as wanted. A component provides its id.
fn component(text: &str) -> (String, Dependencies) {
    let mut parts = text.split_whitespace();
    let id = parts.next().unwrap().to_owned();
    let mut dependencies = Dependencies { provides: vec![id.clone()], ..Dependencies::default() };
    for part in parts {
        let (sign, name) = part.split_at(1);
        match sign {
            "<" => dependencies.before.push(name.to_owned()),
            ">" => dependencies.after.push(name.to_owned()),
            "=" => dependencies.provides.push(name.to_owned()),
            _ => panic!("{part}"),
        }
    }
    (id, dependencies)
}

fn phase(text: &str) -> Phase {
    let (name, of) = component(text);
    Phase { name, before: of.before, after: of.after, place: Place::file("services.xml") }
}

fn ordered(components: &[&str], phases: &[&str]) -> Result<Vec<String>, String> {
    let components: Vec<(String, Dependencies)> = components.iter().map(|c| component(c)).collect();
    let named: Vec<(&str, &Dependencies)> =
        components.iter().map(|(id, d)| (id.as_str(), d)).collect();
    let phases: Vec<Phase> = phases.iter().map(|p| phase(p)).collect();
    let sorted = order(&named, &phases).map_err(|error| error.to_string())?;
    Ok(sorted.into_iter().map(|at| components[at].0.clone()).collect())
}

#[test]
fn components_stand_where_they_want() {
    let a_to_g =
        &["g >f", "c >phase1", "e >b >d <phase2", "a", "f >phase2", "b >a <d <phase1", "d >c >a"];
    let phases = &["phase1", "phase2", "phase3"];
    let with = |more: &[&'static str]| -> Vec<&'static str> { [a_to_g.as_slice(), more].concat() };
    let cases: Vec<(&str, Vec<&str>, &[&str], &str)> = vec![
        ("nothing", vec![], &[], ""),
        ("as they are written", vec!["c", "a", "b"], &[], "c a b"),
        ("before", vec!["a", "b <a"], &[], "b a"),
        ("after", vec!["a >b", "b"], &[], "b a"),
        // The other stays in its place.
        ("between", vec!["a >b", "c", "b"], &[], "c b a"),
        ("before several", vec!["a =x", "b =x", "c <x"], &[], "c a b"),
        ("after several", vec!["c >x", "a =x", "b =x"], &[], "a b c"),
        ("among those of one name", vec!["a =x", "c", "b =x"], &[], "a c b"),
        ("a name that nobody provides", vec!["a >x", "b <x"], &[], "b a"),
        ("a name that nobody knows", vec!["a >x", "b >y"], &[], "a b"),
        ("a phase", vec!["a >p", "b <p"], &["p"], "b a"),
        ("phases before phases", vec!["c >q", "b >p <q", "a <p"], &["p <q", "q"], "a b c"),
        ("phases after phases", vec!["c >q", "b >p <q", "a <p"], &["q >p", "p"], "a b c"),
        (
            "phases by way of others",
            vec!["second >p3", "first <p1"],
            &["p1 <p2", "p2 <p3 >p1", "p3 >p2 >p1"],
            "first second",
        ),
        ("a phase that only phases name", vec!["b >q", "a <q"], &["p <q"], "a b"),
        // Vespa, `ChainBuilderTest`.
        ("regular", with(&[]), phases, "a b c d e f g"),
        ("before all", with(&["x <*"]), phases, "x a b c d e f g"),
        ("after all", with(&["x >*"]), phases, "a b c d e f g x"),
        ("around all", with(&["last >*", "first <*"]), phases, "first a b c d e f g last"),
        ("after what is after all", with(&["y >x", "x >*"]), phases, "a b c d e f g x y"),
        ("two before all", vec!["a", "b <*", "c <*"], &[], "b c a"),
        ("two before all in order", vec!["a", "b <* >c", "c <*"], &[], "c b a"),
        // It comes before the other names of those that share one with it.
        ("before all and a name of it", vec!["a =x", "b <* =x"], &[], "b a"),
        ("before all comes before phases", vec!["a <p", "b <*"], &["p"], "b a"),
    ];
    for (label, components, phases, expected) in cases {
        assert_eq!(ordered(&components, phases), Ok(words(expected)), "{label}");
    }
}

#[test]
fn cycles_are_told_by_name() {
    let cases: Vec<(&str, Vec<&str>, &[&str], &str)> = vec![
        ("itself", vec!["a <a"], &[], "a, a"),
        ("two", vec!["a <b", "b <a"], &[], "a, b, a"),
        ("two by after", vec!["a >b", "b >a"], &[], "a, b, a"),
        ("others are not told", vec!["x <a", "a <b", "b <c", "c <a", "z >c"], &[], "a, b, c, a"),
        ("a phase", vec!["a <p >b", "b >p"], &["p"], "a, phase p, b, a"),
        ("an open name", vec!["a <x", "b >x <a"], &[], "a, \"x\", b, a"),
        ("all", vec!["a <* >b", "b"], &[], "a, b, a"),
    ];
    for (label, components, phases, expected) in cases {
        let told = ordered(&components, phases).unwrap_err();
        let names = told.strip_prefix("each of these must come before the next one: ").unwrap();
        // A cycle has no beginning.
        let turn = |text: &str| {
            let mut names: Vec<&str> = text.split(", ").skip(1).collect();
            let least = (0..names.len()).min_by_key(|at| names[*at]).unwrap();
            names.rotate_left(least);
            names.join(", ")
        };
        assert_eq!(turn(names), turn(expected), "{label}: {told}");
    }
    let phases = ordered(&["a"], &["p <q", "q <p"]);
    assert_eq!(phases, Ok(words("a")), "phases alone put nothing out of order");
    let clash = ordered(&["a =p"], &["p"]).unwrap_err();
    assert_eq!(clash, "a provides p, which is the name of a phase");
}

struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % limit.max(1) as u64) as usize
    }

    fn shuffled(&mut self, count: usize) -> Vec<usize> {
        let mut list: Vec<usize> = (0..count).collect();
        for at in (1..count).rev() {
            list.swap(at, self.below(at + 1));
        }
        list
    }
}

/// A chain whose wishes hold in a hidden order, which is that of ids: `c00` before `c01` and so on. Names `g0`, `g1`, ... are of
/// several components next to each other, `p0`, `p1`, ... are phases at points of the hidden order.
fn chain(seed: u64) -> (Vec<(String, Dependencies)>, Vec<Phase>) {
    let mut random = Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
    let count = 2 + random.below(12);
    let groups: Vec<usize> = (0..count).map(|at| at / (1 + random.below(3))).collect();
    let (firsts, lasts) = (random.below(3), random.below(3));
    let mut points: Vec<usize> = Vec::new();
    for _ in 0..random.below(4) {
        points.push(firsts + random.below(count + 1 - firsts));
    }
    points.sort_unstable();
    let members = |group: usize| (0..count).filter(|at| groups[*at] == group).collect::<Vec<_>>();
    let mut components: Vec<(String, Dependencies)> = Vec::new();
    for at in 0..count {
        let provides = vec![format!("c{at:02}"), format!("g{}", groups[at])];
        let mut of = Dependencies { provides, ..Dependencies::default() };
        for _ in 0..random.below(4) {
            let other = random.below(count);
            let group = members(groups[other]);
            match random.below(3) {
                0 if other > at => of.before.push(format!("c{other:02}")),
                0 if other < at => of.after.push(format!("c{other:02}")),
                1 if group.iter().all(|member| *member > at) => {
                    of.before.push(format!("g{}", groups[other]))
                }
                1 if group.iter().all(|member| *member < at) => {
                    of.after.push(format!("g{}", groups[other]))
                }
                2 if !points.is_empty() => {
                    let phase = random.below(points.len());
                    let list = if at < points[phase] { &mut of.before } else { &mut of.after };
                    list.push(format!("p{phase}"));
                }
                _ => {}
            }
        }
        // Only where nothing else has its names, and behind others that are first.
        let are_first = components.iter().all(|(_, d)| d.before.iter().any(|name| name == "*"));
        if at < firsts && are_first && members(groups[at]).len() == 1 {
            of.before.push("*".to_owned());
        } else if at + lasts >= count {
            of.after.push("*".to_owned());
        }
        components.push((format!("c{at:02}"), of));
    }
    let phases = (0..points.len()).map(|at| Phase {
        name: format!("p{at}"),
        before: (at + 1 < points.len()).then(|| format!("p{}", at + 1)).into_iter().collect(),
        after: Vec::new(),
        place: Place::file("services.xml"),
    });
    (components, phases.collect())
}

fn sorted(
    components: &[(String, Dependencies)],
    phases: &[Phase],
) -> Result<Vec<String>, OrderError> {
    let named: Vec<(&str, &Dependencies)> =
        components.iter().map(|(id, d)| (id.as_str(), d)).collect();
    order(&named, phases).map(|list| list.into_iter().map(|at| components[at].0.clone()).collect())
}

/// What the chain wants, checked by the meaning of each wish and not by a graph. `STEAD_CHAIN_SEED=n` runs one.
#[test]
fn wishes_without_a_cycle_are_all_fulfilled() {
    let one: Option<u64> =
        std::env::var("STEAD_CHAIN_SEED").ok().and_then(|seed| seed.parse().ok());
    for seed in one.map_or(1..3000, |seed| seed..seed + 1) {
        let (mut components, phases) = chain(seed);
        let shuffled = Random(seed + 1).shuffled(components.len());
        components = shuffled.into_iter().map(|at| components[at].clone()).collect();
        let repro = || format!("STEAD_CHAIN_SEED={seed}: {components:?}, {phases:?}");
        let found = sorted(&components, &phases).unwrap_or_else(|e| panic!("{e}; {}", repro()));
        assert_eq!(found.len(), components.len(), "{}", repro());
        let at = |id: &str| found.iter().position(|other| other == id).unwrap();
        let after_all = |d: &Dependencies| d.after.iter().any(|name| name == "*");
        for (id, wants) in &components {
            for (other, of) in components.iter().filter(|(other, _)| other != id) {
                let is = |names: &[String]| names.iter().any(|name| of.provides.contains(name));
                assert!(
                    !is(&wants.before) || at(id) < at(other),
                    "{id} before {other}; {}",
                    repro()
                );
                assert!(!is(&wants.after) || at(id) > at(other), "{id} after {other}; {}", repro());
                // By way of phases, which are in the order of their numbers.
                for p in wants.before.iter().filter(|name| name.starts_with('p')) {
                    let behind =
                        of.after.iter().filter(|name| name.starts_with('p')).any(|q| q >= p);
                    assert!(!behind || at(id) < at(other), "{id} {p} {other}; {}", repro());
                }
                let first = wants.before.iter().any(|name| name == "*");
                let shares = wants.provides.iter().any(|name| of.provides.contains(name));
                let also = of.before.iter().any(|name| name == "*");
                assert!(!first || shares || also || at(id) < at(other), "{id} first; {}", repro());
                assert!(
                    !after_all(wants) || after_all(of) || at(id) > at(other),
                    "{id} last; {}",
                    repro()
                );
            }
        }
        // The order of wishes and of phases does not matter.
        let mut turned = components.clone();
        for (_, wants) in &mut turned {
            wants.provides.reverse();
            wants.before.reverse();
            wants.after.reverse();
        }
        let backwards: Vec<Phase> = phases.iter().rev().cloned().collect();
        assert_eq!(sorted(&turned, &backwards), Ok(found.clone()), "{}", repro());
        // One wish against an order that has to be makes a cycle.
        let required = components.iter().find_map(|(id, wants)| {
            let other = wants.before.iter().find(|name| name.starts_with('c'))?;
            Some((id.clone(), other.clone()))
        });
        if let Some((first, second)) = required {
            let mut broken = components.clone();
            broken
                .iter_mut()
                .filter(|(id, _)| *id == second)
                .for_each(|(_, d)| d.before.push(first.clone()));
            match sorted(&broken, &phases) {
                Err(OrderError::Cycle(names)) => assert!(names.len() > 1, "{names:?}; {}", repro()),
                other => panic!("{other:?} with {second} before {first}; {}", repro()),
            }
        }
    }
}
