//! Documents that change while they are read, beside a map of what is expected.
#![allow(clippy::unwrap_used)]

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::atomic::{AtomicBool, Ordering};

use stead_store::{Collection, Column, Elements, FieldValue, View};
use stead_text::fold;

use crate::harness;
use crate::harness::{Chance, Fields, Model, kind, seeds};

fn elements(elements: &Elements, places: std::ops::Range<usize>) -> String {
    match elements {
        Elements::Texts(texts) => {
            format!("{:?}", &places.map(|at| texts.get(at)).collect::<Vec<_>>())
        }
        Elements::Numbers(list) => {
            format!("{:?}", places.map(|at| list.get(at).map(f64::to_bits)).collect::<Vec<_>>())
        }
    }
}

/// What the column of an attribute has for a document, as a text.
fn stored(column: &Column, row: usize) -> String {
    match column {
        Column::Numbers(numbers) => match numbers.get(row).unwrap() {
            number if number.is_nan() => "none".to_owned(),
            number => format!("{number}"),
        },
        Column::Texts(texts) => texts.get(row).unwrap().to_owned(),
        Column::Raw(raw) => format!("{:?}", raw.get(row).unwrap()),
        Column::Tensors(tensors) => {
            let value = tensors.value(row).unwrap();
            let bits = value
                .cells()
                .doubles()
                .iter()
                .fold(0, |sum: u64, cell| sum.rotate_left(7).wrapping_add(cell.to_bits()));
            format!("{:?} {bits}", value.labels())
        }
        Column::Many(many) => {
            let weights = many.places(row).map(|at| many.weight(at)).collect::<Vec<_>>();
            format!("{} {weights:?}", elements(many.elements(), many.places(row)))
        }
    }
}

/// A collection with this document alone has the same columns, which other tests check.
fn expected(fields: &Fields) -> Vec<String> {
    let mut collection = Collection::new(kind());
    collection.put("id", fields).unwrap();
    collection.publish();
    columns(&collection.view(), 0)
}

fn columns(view: &View, lid: u32) -> Vec<String> {
    let attributes = view.kind().attributes().iter().filter_map(|a| view.attribute(&a.name));
    let of = |attribute: stead_store::AttributeView<'_>| {
        let (column, row) = attribute.at(lid).unwrap().unwrap();
        stored(&column, row)
    };
    attributes.map(of).collect()
}

fn check(view: &View, model: &Model) {
    assert_eq!(view.len(), model.len());
    let lids: BTreeSet<u32> = view.lids().collect();
    assert_eq!(lids.len(), model.len());
    for (id, fields) in model {
        let lid = view.find(id).unwrap();
        assert!(lids.contains(&lid));
        assert_eq!(view.id(lid), Some(id.as_str()));
        assert_eq!(view.fields(lid).as_ref(), Some(fields), "{id}");
        assert_eq!(columns(view, lid), expected(fields), "{id}");
    }
    let fields = model.iter().map(|(id, fields)| (view.find(id).unwrap(), fields.clone()));
    harness::texts::check(view, &fields.collect());
    assert_eq!(view.find("id:absent"), None);
    assert_eq!(view.id(u32::MAX), None);
}

/// The keys that an index has for a row of a column, as texts; numbers with fractions are looked for.
fn keys(column: &Column, row: usize) -> BTreeSet<String> {
    match column {
        Column::Numbers(numbers) if numbers.list().is_whole() => {
            numbers.list().integer(row).into_iter().map(|n| n.to_string()).collect()
        }
        Column::Texts(texts) => texts.get(row).map(fold).into_iter().collect(),
        Column::Many(many) => {
            let label = |at: usize| fold(&many.elements().label(at).unwrap());
            many.places(row).map(label).collect()
        }
        _ => BTreeSet::new(),
    }
}

/// Indexes tell of every row that they know what its column has. Returns how many rows there are that they do not know.
fn check_indexes(view: &View) -> usize {
    let (mut unknown, blocks) = (0, view.span_blocks());
    let spans = view.blocks().count().div_ceil(blocks);
    for (span, number) in
        (0..spans).flat_map(|span| (0..view.kind().attributes().len()).map(move |n| (span, n)))
    {
        let Some(index) = view.index(number, span).unwrap() else { continue };
        let (postings, changed) = (index.postings(), index.changed());
        unknown += changed.count();
        let mut told: BTreeMap<usize, BTreeSet<String>> = BTreeMap::new();
        for key in 0..postings.len() {
            let name = postings.whole_at(key).map(|n| n.to_string());
            let name = name.or(postings.text_at(key).map(str::to_owned));
            let rows = postings.rows(key..key + 1);
            assert!(rows.is_sorted() && !rows.is_empty());
            for row in rows {
                told.entry(usize::from(*row)).or_default().extend(name.clone());
            }
        }
        for (at, block) in view.blocks().skip(span * blocks).take(blocks).enumerate() {
            let column = block.column(number).unwrap().unwrap();
            let column = &*column;
            for row in 0..block.rows() {
                let place = at * view.block_rows() + row;
                if changed.contains(place) {
                    continue;
                }
                let told = told.remove(&place).unwrap_or_default();
                assert_eq!(told, keys(column, row), "{}", view.kind().attributes()[number].name);
                if let Column::Numbers(numbers) = column
                    && let Some(n) =
                        numbers.get(row).filter(|n| !numbers.list().is_whole() && !n.is_nan())
                {
                    assert!(postings.rows(postings.broken(n, n)).contains(&(place as u16)));
                }
            }
        }
        assert!(told.keys().all(|row| changed.contains(*row)), "rows that are not there");
    }
    unknown
}

fn update(fields: &mut Fields, changes: &[(usize, Option<FieldValue>)]) {
    fields.retain(|(field, _)| !changes.iter().any(|(changed, _)| changed == field));
    fields.extend(changes.iter().filter_map(|(field, value)| Some((*field, value.clone()?))));
    fields.sort_by_key(|(field, _)| *field);
}

/// Returns how many rows indexes did not know in all views together.
fn run(seed: u64) -> usize {
    let chance = Chance::new(seed);
    let kind = kind();
    let mut collection = Collection::new(kind.clone());
    let mut model = Model::new();
    let mut kept = Vec::new();
    // Few ids, so that documents are replaced and removed; more than a block has rows. Sometimes so many that indexes are begun anew.
    let scale = if chance.below(6) == 0 { 5 } else { 1 };
    let ids = scale * (1 + chance.below(600));
    for _ in 0..scale * chance.below(1200) {
        let id = format!("id:ns:shop::{}", chance.below(ids));
        match chance.below(10) {
            0..=1 => {
                let changes = chance.changes(&kind);
                let is_there = collection.update(&id, &changes).unwrap();
                assert_eq!(is_there, model.contains_key(&id));
                model.entry(id).and_modify(|fields| update(fields, &changes));
            }
            2..=5 => {
                let fields = chance.fields(&kind);
                collection.put(&id, &fields).unwrap();
                model.insert(id, fields);
            }
            6..=8 => assert_eq!(collection.remove(&id), model.remove(&id).is_some()),
            _ => {
                collection.publish();
                if chance.below(2 * scale) == 0 {
                    check_indexes(&collection.view());
                }
                if chance.below(20 * scale) == 0 {
                    kept.push((collection.view(), model.clone()));
                }
            }
        }
        assert_eq!(collection.len(), model.len());
    }
    collection.publish();
    kept.push((collection.view(), model));
    for (view, model) in &kept {
        check(view, model);
    }
    kept.iter().map(|(view, _)| check_indexes(view)).sum()
}

#[test]
fn a_view_has_what_was_written_before_it() {
    let unknown = Cell::new(0);
    seeds("live::a_view", 12, |seed| unknown.set(unknown.get() + run(seed)));
    assert!(unknown.get() > 0, "indexes are kept while documents change");
}

#[test]
fn what_a_later_view_made_tells_an_earlier_one_only_what_both_have() {
    let (chance, kind) = (Chance::new(7), kind());
    let mut collection = Collection::new(kind.clone());
    let mut put = |id: &str| {
        collection.put(id, &chance.fields(&kind)).unwrap();
        collection.publish();
        collection.view()
    };
    let first = put("id:ns:shop::a");
    let indexed = (0..kind.attributes().len()).filter(|n| kind.attributes()[*n].index.is_some());
    let indexed: Vec<usize> = indexed.collect();
    let changed = |view: &View| {
        let changed = |number: &usize| {
            let index = view.index(*number, 0).unwrap().unwrap();
            index.changed().iter().collect::<Vec<_>>()
        };
        indexed.iter().map(changed).collect::<Vec<_>>()
    };
    // Nobody had asked before the first document was there.
    assert_eq!(changed(&first), vec![Vec::<usize>::new(); indexed.len()]);
    for _ in 0..2 {
        let (early, late) = (put("id:ns:shop::b"), put("id:ns:shop::a"));
        assert_eq!(changed(&late), vec![vec![0, 1]; indexed.len()]);
        check_indexes(&early);
        check_indexes(&late);
    }
    check_indexes(&first);
}

#[test]
fn the_lowest_free_number_is_taken_first() {
    let mut collection = Collection::new(kind());
    let put = |collection: &mut Collection, id: &str| collection.put(id, &[]).unwrap();
    assert_eq!(["a", "b", "c", "d"].map(|id| put(&mut collection, id)), [0, 1, 2, 3]);
    for id in ["c", "a"] {
        assert!(collection.remove(id));
    }
    assert_eq!(["d", "e", "f", "g"].map(|id| put(&mut collection, id)), [3, 0, 2, 4]);
    assert!(!collection.remove("a"));
}

/// The sum of the hashes of all documents, whose order does not matter.
fn sum(documents: impl Iterator<Item = (String, i64)>) -> u64 {
    documents.fold(0, |sum, document| {
        let mut hasher = DefaultHasher::new();
        document.hash(&mut hasher);
        sum.wrapping_add(hasher.finish())
    })
}

#[test]
fn readers_see_prefixes_of_what_was_written() {
    seeds("live::readers", 3, |seed| {
        let chance = Chance::new(seed);
        let kind = kind();
        let (count, text) = (kind.field("count").unwrap().0, kind.field("name").unwrap().0);
        // All writes and the sum behind each are known before; the document "at" tells how many were made.
        let mut model = std::collections::BTreeMap::new();
        let mut writes = Vec::new();
        let mut sums = vec![0];
        for at in 1..=1500_i64 {
            let id = chance.below(200).to_string();
            let removed = chance.below(3) == 0;
            match removed {
                true => model.remove(&id),
                false => model.insert(id.clone(), at),
            };
            writes.push((id, removed, at));
            sums.push(sum(model.iter().map(|(id, at)| (id.clone(), *at))));
        }
        let mut collection = Collection::new(kind);
        let reader = collection.reader();
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    let mut last = 0;
                    while !done.load(Ordering::Acquire) || last < 1500 {
                        let view = reader.view();
                        let counts = view.attribute("count").unwrap();
                        let number = |lid: u32| {
                            let (column, row) = counts.at(lid).unwrap().unwrap();
                            let Column::Numbers(numbers) = &*column else { panic!() };
                            numbers.integer(row).unwrap()
                        };
                        let at = view.find("at").map_or(0, number);
                        let others =
                            view.lids().map(|lid| (view.id(lid).unwrap().to_owned(), number(lid)));
                        let found = sum(others.filter(|(id, _)| id != "at"));
                        assert_eq!(found, sums[at as usize], "behind write {at}");
                        assert!(at >= last);
                        last = at;
                    }
                });
            }
            for (id, removed, at) in &writes {
                let fields = [
                    (count, FieldValue::Integer(*at)),
                    (text, FieldValue::Text("x".repeat(*at as usize % 50))),
                ];
                match removed {
                    true => _ = collection.remove(id),
                    false => drop(collection.put(id, &fields).unwrap()),
                }
                collection.put("at", &fields).unwrap();
                if at % 7 == 0 || *at == 1500 {
                    collection.publish();
                }
            }
            done.store(true, Ordering::Release);
        });
    });
}
