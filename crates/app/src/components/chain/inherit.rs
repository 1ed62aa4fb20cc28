//! What chains inherit from each other.

use std::collections::{BTreeMap, HashMap};

use super::built_in::{INDEXING, indexing};
use super::order::order;
use super::{BuiltInChain, Chain, ChainDefinition, ChainKind, ChainPart, Dependencies, Phase};
use crate::package::{Place, Report};

/// All components and phases of a chain, its own first.
#[derive(Clone, Default)]
struct Flat {
    parts: Vec<ChainPart>,
    phases: Vec<Phase>,
}

/// Resolves the chains of one kind: what they inherit, and the order of their components. `dependencies` are those of the
/// components, by their ids. A chain that has no order, or inherits from what is not there, is reported and left out.
#[must_use]
pub fn resolve_chains(
    kind: ChainKind,
    definitions: &[ChainDefinition],
    dependencies: &HashMap<String, Dependencies>,
    report: &mut Report,
) -> Vec<Chain> {
    let mut numbers: BTreeMap<&str, usize> = BTreeMap::new();
    for (number, chain) in definitions.iter().enumerate() {
        if numbers.contains_key(chain.id.as_str()) {
            let text = format!("two {} chains have the id {}", kind.name(), chain.id);
            report.error(&chain.place, text);
        }
        numbers.entry(&chain.id).or_insert(number);
    }
    let mut flat: HashMap<&str, Flat> = HashMap::new();
    for chain in BuiltInChain::of(kind).iter().filter(|chain| !numbers.contains_key(chain.id)) {
        flat.insert(chain.id, built_in(chain));
    }
    let parents: Vec<Vec<usize>> = definitions
        .iter()
        .map(|chain| {
            chain.inherits.iter().filter_map(|id| numbers.get(id.as_str())).copied().collect()
        })
        .collect();
    let (sorted, circles) = crate::order::order(&parents);
    for number in circles {
        let chain = &definitions[number];
        let text = format!("chain {} inherits from itself, at once or by way of others", chain.id);
        report.error(&chain.place, text);
    }
    let mut found: Vec<(usize, Chain)> = Vec::new();
    for number in sorted {
        let chain = &definitions[number];
        let Some(all) = flatten(kind, chain, &flat, &numbers, report) else { continue };
        if numbers.get(chain.id.as_str()) == Some(&number) {
            flat.insert(&chain.id, all.clone());
        }
        match arrange(kind, chain, &all, dependencies) {
            Ok(chain) => found.push((number, chain)),
            Err(text) => report.error(&chain.place, text),
        }
    }
    // In the order in which they are written.
    found.sort_by_key(|(number, _)| *number);
    found.into_iter().map(|(_, chain)| chain).collect()
}

fn built_in(chain: &BuiltInChain) -> Flat {
    let place = Place::file("services.xml");
    let phases = chain.phases(&place);
    let part = ChainPart { name: INDEXING.to_owned(), id: INDEXING.to_owned(), place };
    Flat { parts: chain.indexes().then_some(part).into_iter().collect(), phases }
}

/// The components and phases of a chain and of all that it inherits from.
fn flatten(
    kind: ChainKind,
    chain: &ChainDefinition,
    flat: &HashMap<&str, Flat>,
    numbers: &BTreeMap<&str, usize>,
    report: &mut Report,
) -> Option<Flat> {
    let mut all = Flat::default();
    for part in &chain.parts {
        if all.parts.iter().any(|other| other.name == part.name) {
            let text = format!("{} {} is in chain {} twice", kind.element(), part.name, chain.id);
            report.error(&part.place, text);
        } else {
            all.parts.push(part.clone());
        }
    }
    for phase in &chain.phases {
        if all.phases.iter().any(|other| other.name == phase.name) {
            let text = format!("phase {} is in chain {} twice", phase.name, chain.id);
            report.error(&phase.place, text);
        } else {
            all.phases.push(phase.clone());
        }
    }
    let is_excluded = |name: &str| chain.excludes.iter().any(|exclude| exclude.value == name);
    all.parts.retain(|part| !is_excluded(&part.name));
    let own: Vec<String> = chain.parts.iter().map(|part| part.name.clone()).collect();
    let mut inherited_names: Vec<&str> = Vec::new();
    for id in &chain.inherits {
        let Some(inherited) = flat.get(id.as_str()) else {
            // A chain that is there was reported when it was read.
            if !numbers.contains_key(id.as_str()) {
                let known =
                    numbers.keys().copied().chain(BuiltInChain::of(kind).iter().map(|c| c.id));
                let known: Vec<&str> = known.filter(|known| *known != chain.id).collect();
                let text = format!(
                    "chain {} inherits from {}, which is not there; there are {}",
                    chain.id,
                    id.value,
                    known.join(", ")
                );
                report.error(&id.place, text);
            }
            return None;
        };
        inherited_names.extend(inherited.parts.iter().map(|part| part.name.as_str()));
        for part in &inherited.parts {
            if own.contains(&part.name) || is_excluded(&part.name) {
                continue;
            }
            match all.parts.iter().find(|other| other.name == part.name) {
                None => all.parts.push(part.clone()),
                Some(other) if other.id == part.id => {}
                Some(other) => {
                    let text = format!(
                        "chain {} inherits both {} and {}; exclude {}, or declare one in this chain",
                        chain.id, other.id, part.id, part.name
                    );
                    report.error(&id.place, text);
                    return None;
                }
            }
        }
        for phase in &inherited.phases {
            match all.phases.iter_mut().find(|other| other.name == phase.name) {
                None => all.phases.push(phase.clone()),
                Some(other) => {
                    join(&mut other.before, &phase.before);
                    join(&mut other.after, &phase.after);
                }
            }
        }
    }
    for exclude in &chain.excludes {
        let name = exclude.value.as_str();
        if !inherited_names.contains(&name) && !own.iter().any(|own| own == name) {
            let text = format!("chain {} excludes {name}, which it does not inherit", chain.id);
            report.warning(&exclude.place, text);
        }
    }
    Some(all)
}

fn join(names: &mut Vec<String>, more: &[String]) {
    for name in more {
        if !names.contains(name) {
            names.push(name.clone());
        }
    }
}

fn arrange(
    kind: ChainKind,
    chain: &ChainDefinition,
    all: &Flat,
    dependencies: &HashMap<String, Dependencies>,
) -> Result<Chain, String> {
    let (none, own) = (Dependencies::default(), indexing());
    let of = |part: &ChainPart| match part.id.as_str() {
        INDEXING => &own,
        id => dependencies.get(id).unwrap_or(&none),
    };
    let components: Vec<(&str, &Dependencies)> =
        all.parts.iter().map(|part| (part.id.as_str(), of(part))).collect();
    let sorted =
        order(&components, &all.phases).map_err(|error| format!("chain {}: {error}", chain.id))?;
    let ids: Vec<&str> = sorted.iter().map(|at| components[*at].0).collect();
    let indexing = ids.iter().position(|id| *id == INDEXING);
    let (before_work, indexes) = (indexing.unwrap_or(ids.len()), indexing.is_some());
    let components = ids.into_iter().filter(|id| *id != INDEXING).map(str::to_owned).collect();
    let (id, place) = (chain.id.clone(), chain.place.clone());
    Ok(Chain { id, kind, components, before_work, indexes, place })
}

#[cfg(test)]
mod tests;
