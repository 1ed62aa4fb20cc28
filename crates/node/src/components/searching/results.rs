//! Results as searchers see them, and what they make of them. What they did not change keeps its exact form.

use stead_expr::codec::json::Form;
use stead_python::Value as Plain;
use stead_search::query::{SearchCode, SearchError};
use stead_search::result::{Coverage, Hit, SearchResult};

use crate::components::plain::item::{item, read_item};
use crate::components::plain::{PlainError, dict, kind};

/// The results of the searches of one call, and their hits, each with the numbers that Python knows them by.
#[derive(Default)]
pub(super) struct Results {
    /// Without their hits.
    results: Vec<SearchResult>,
    hits: Vec<Hit>,
}

impl Results {
    /// The number of the next result, and that of its first hit.
    pub(super) fn next(&self) -> (usize, usize) {
        (self.results.len(), self.hits.len())
    }

    pub(super) fn add(&mut self, mut result: SearchResult) {
        self.hits.append(&mut result.hits);
        self.results.push(result);
    }
}

/// A result as searchers see it, with its number and that of its first hit.
///
/// # Errors
/// When memory is short.
pub(super) fn plain_result(
    result: &SearchResult,
    (number, first): (usize, usize),
) -> Result<Plain, PlainError> {
    let mut hits = Vec::with_capacity(result.hits.len());
    for (at, hit) in result.hits.iter().enumerate() {
        let mut fields = Vec::with_capacity(hit.fields.len());
        for (name, of) in &hit.fields {
            fields.push((name.clone(), item(of)?));
        }
        hits.push(dict([
            ("ref", count(first + at)),
            ("id", hit.id.as_str().into()),
            ("relevance", hit.relevance.into()),
            ("source", hit.source.as_str().into()),
            ("fields", Plain::Dict(fields)),
        ]));
    }
    let error = |error: &SearchError| {
        let code = Plain::Int(error.code.number().into());
        dict([("code", code), ("message", error.message.as_str().into())])
    };
    Ok(dict([
        ("ref", count(number)),
        ("total", Plain::Int(i64::try_from(result.total).unwrap_or(i64::MAX))),
        ("hits", Plain::List(hits)),
        ("errors", Plain::List(result.errors.iter().map(error).collect())),
        ("coverage", result.coverage.as_ref().map_or(Plain::None, coverage)),
    ]))
}

fn count(number: usize) -> Plain {
    Plain::Int(i64::try_from(number).unwrap_or(i64::MAX))
}

fn coverage(of: &Coverage) -> Plain {
    dict([
        ("coverage", count(of.percent() as usize)),
        ("documents", count(of.covered as usize)),
        ("full", of.is_full().into()),
        ("nodes", Plain::Int(of.nodes.into())),
    ])
}

/// The result that searchers gave; new tensors have a form of JSON. Coverage, times and what was traced are those of the result that it
/// was made of.
///
/// # Errors
/// That it is none.
pub(super) fn read_result(
    answer: Plain,
    found: &Results,
    form: Form,
) -> Result<SearchResult, String> {
    let [base, total, hits, errors] = members(answer, ["ref", "total", "hits", "errors"])?;
    let mut result = match reference(&base, &found.results)? {
        Some(result) => result.clone(),
        None => SearchResult::default(),
    };
    result.total = match total {
        Plain::Int(total) => u64::try_from(total).map_err(|_| format!("gave the total {total}"))?,
        other => return Err(format!("gave the total {}", kind(&other))),
    };
    let (Plain::List(hits), Plain::List(errors)) = (hits, errors) else {
        return Err("gave a result without lists of hits and errors".to_owned());
    };
    let hits = hits.into_iter().map(|one| read_hit(one, found, form));
    result.hits = hits.collect::<Result<_, _>>()?;
    result.errors = errors.into_iter().map(read_error).collect::<Result<_, _>>()?;
    Ok(result)
}

fn read_hit(one: Plain, found: &Results, form: Form) -> Result<Hit, String> {
    let [base, id, relevance, source, fields, removed] =
        members(one, ["ref", "id", "relevance", "source", "fields", "removed"])?;
    let (Plain::Str(id), Plain::Float(relevance), Plain::Str(source)) = (id, relevance, source)
    else {
        return Err("gave a hit without id, relevance and source".to_owned());
    };
    let (Plain::Dict(new), Plain::List(removed)) = (fields, removed) else {
        return Err(format!("gave hit {id} without fields"));
    };
    let base = reference(&base, &found.hits)?;
    let mut fields = base.map(|hit| hit.fields.clone()).unwrap_or_default();
    fields.retain(|(name, _)| {
        !removed.iter().any(|gone| matches!(gone, Plain::Str(gone) if gone == name))
    });
    for (name, value) in new {
        let value = read_item(value, form).map_err(|e| format!("gave hit {id}: {name}: {e}"))?;
        match fields.iter_mut().find(|(known, _)| *known == name) {
            Some((_, field)) => *field = value,
            None => fields.push((name, value)),
        }
    }
    Ok(Hit { id, relevance, source, fields })
}

fn read_error(one: Plain) -> Result<SearchError, String> {
    let [code, message] = members(one, ["code", "message"])?;
    let (Plain::Int(number), Plain::Str(message)) = (code, message) else {
        return Err("gave an error without code and message".to_owned());
    };
    let code = u32::try_from(number).ok().and_then(SearchCode::of_number);
    let code = code.ok_or_else(|| format!("gave an error of code {number}; there are 0 to 13"))?;
    Ok(SearchError { code, message })
}

/// What a number stands for; nothing where there is none.
fn reference<'l, T>(number: &Plain, list: &'l [T]) -> Result<Option<&'l T>, String> {
    match number {
        Plain::None => Ok(None),
        Plain::Int(number) => {
            let found = usize::try_from(*number).ok().and_then(|at| list.get(at));
            let unknown = || format!("gave the number {number}, which no search gave");
            found.map(Some).ok_or_else(unknown)
        }
        other => Err(format!("gave {} for a number", kind(other))),
    }
}

/// The members of a dict; None where there are none.
fn members<const N: usize>(value: Plain, names: [&str; N]) -> Result<[Plain; N], String> {
    let Plain::Dict(members) = value else {
        return Err(format!("gave {} for a result or a part of one", kind(&value)));
    };
    let mut found = [const { Plain::None }; N];
    for (name, value) in members {
        if let Some((_, place)) = names.iter().zip(&mut found).find(|(known, _)| **known == name) {
            *place = value;
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use stead_search::result::Item;

    use super::*;

    fn hit(id: &str, fields: &[(&str, Item)]) -> Hit {
        let fields = fields.iter().map(|(name, item)| ((*name).to_owned(), item.clone())).collect();
        Hit { id: id.to_owned(), relevance: 1.0, source: "c".to_owned(), fields }
    }

    fn found() -> Results {
        let mut found = Results::default();
        for (total, id) in [(7, "a"), (9, "b")] {
            let fields = [("x", Item::Float(0.1)), ("y", Item::Integer(1))];
            let hits = vec![hit(id, &fields)];
            let coverage = Some(Coverage { covered: total, documents: 9, ..Coverage::default() });
            found.add(SearchResult { total, hits, coverage, ..SearchResult::default() });
        }
        found
    }

    fn of_hit(base: Plain, id: &str, fields: Plain, removed: &[&str]) -> Plain {
        let removed = Plain::List(removed.iter().map(|name| (*name).into()).collect());
        dict([
            ("ref", base),
            ("id", id.into()),
            ("relevance", 2.0.into()),
            ("source", "s".into()),
            ("fields", fields),
            ("removed", removed),
        ])
    }

    fn answer(base: Plain, hits: Vec<Plain>) -> Plain {
        let error = dict([("code", 5.into()), ("message", "not all".into())]);
        let errors = Plain::List(vec![error]);
        dict([("ref", base), ("total", 3.into()), ("hits", Plain::List(hits)), ("errors", errors)])
    }

    #[test]
    fn what_was_not_changed_keeps_its_form() {
        let hits = vec![
            of_hit(1.into(), "b", dict([("y", 2.into()), ("z", "new".into())]), &[]),
            of_hit(0.into(), "a2", dict([]), &["y"]),
            of_hit(Plain::None, "c", dict([("x", 1.5.into())]), &[]),
        ];
        let result = read_result(answer(1.into(), hits), &found(), Form::Short).unwrap();
        assert_eq!((result.total, result.coverage.unwrap().covered), (3, 9));
        let shown: Vec<_> = result.hits.iter().map(|h| (h.id.as_str(), &h.fields[..])).collect();
        let field = |name: &str, item: Item| (name.to_owned(), item);
        let float = || field("x", Item::Float(0.1));
        assert_eq!(
            shown,
            [
                ("b", &[float(), field("y", Item::Integer(2)), field("z", Item::text("new"))][..]),
                ("a2", &[float()][..]),
                ("c", &[field("x", Item::Number(1.5))][..]),
            ]
        );
        assert_eq!(
            (result.errors[0].code, result.hits[0].relevance),
            (SearchCode::Unspecified, 2.0)
        );
        // Of its own, nothing was covered.
        let own = read_result(answer(Plain::None, Vec::new()), &found(), Form::Short).unwrap();
        assert_eq!((own.coverage, own.hits.len()), (None, 0));
    }

    #[test]
    fn what_is_no_result_is_told() {
        for (label, answer, expected) in [
            ("nothing", Plain::None, "gave None for a result or a part of one"),
            (
                "an unknown result",
                answer(2.into(), vec![]),
                "gave the number 2, which no search gave",
            ),
            (
                "an unknown hit",
                answer(0.into(), vec![of_hit(2.into(), "a", dict([]), &[])]),
                "gave the number 2, which no search gave",
            ),
            (
                "no hit",
                answer(0.into(), vec![dict([])]),
                "gave a hit without id, relevance and source",
            ),
            ("no total", dict([("total", (-1).into())]), "gave the total -1"),
        ] {
            let told = read_result(answer, &found(), Form::Short).unwrap_err();
            assert_eq!(told, expected, "{label}");
        }
    }

    #[test]
    fn hits_are_numbered_in_all_searches() {
        let result = SearchResult { hits: vec![hit("c", &[])], ..SearchResult::default() };
        let plain = plain_result(&result, found().next()).unwrap();
        let [number, hits] = members(plain, ["ref", "hits"]).unwrap();
        let Plain::List(mut hits) = hits else { panic!() };
        let [hit] = members(hits.remove(0), ["ref"]).unwrap();
        assert_eq!((number, hit), (2.into(), 2.into()));
    }
}
