//! Searchers on results that stand for those of documents.

use std::sync::{Condvar, Mutex};
use std::time::Duration;

use stead_search::query::SearchCode;
use stead_search::result::{Hit, Item, SearchResult};

use super::*;
use crate::Code;
use crate::components::ComponentError;
use crate::components::native::{Execution, NativeError, Query};

/// Hits by their names, with `year` and `tags` of some, in the order of their relevance 9, 8, ...
pub(super) fn songs() -> Vec<Hit> {
    let rows =
        [("a", 1, "x"), ("b", 1, "y"), ("c", 2, "x"), ("d", 1, "x"), ("e", 3, "y"), ("f", 2, "z")];
    let hit = |(at, (id, year, tag)): (usize, &(&str, i64, &str))| Hit {
        id: (*id).to_owned(),
        relevance: 9.0 - at as f64,
        source: "stored".to_owned(),
        fields: vec![
            ("year".to_owned(), Item::Integer(*year)),
            ("tags".to_owned(), Item::List(vec![Item::text(*tag)])),
        ],
    };
    let mut hits: Vec<Hit> = rows.iter().enumerate().map(hit).collect();
    hits.push(Hit {
        id: "g".to_owned(),
        relevance: 1.0,
        source: "stored".to_owned(),
        fields: vec![],
    });
    hits
}

/// What a searcher gives for a query: the ids of the hits, and what it asked of the documents.
fn found(searcher: &dyn Searcher, parameters: &[(&str, &str)]) -> (String, Vec<String>) {
    let asked = Mutex::new(Vec::new());
    let back_end = |query: Query| {
        let number =
            |name: &str, default| query.values.get(name).map_or(default, |t| t.parse().unwrap());
        let (hits, offset) = (number("hits", 10), number("offset", 0));
        let shown: Vec<String> = query.values.iter().map(|(n, v)| format!("{n}={v}")).collect();
        asked.lock().unwrap().push(shown.join(" "));
        let all = songs().into_iter().skip(offset).take(hits).collect();
        Ok(SearchResult { total: 7, hits: all, ..SearchResult::default() })
    };
    let call = Call { deadline: Deadline::NEVER };
    let execution = Execution { next: &back_end, call };
    let mut query = Query::default();
    parameters.iter().for_each(|(name, value)| query.values.set(name, (*value).to_owned()));
    let result = searcher.search(query, &execution).unwrap();
    let told = result.errors.iter().map(|error| error.message.clone());
    let ids: Vec<String> = result.hits.iter().map(|hit| hit.id.clone()).chain(told).collect();
    (ids.join(""), asked.into_inner().unwrap())
}

#[test]
fn searchers_leave_hits_out() {
    let by_year = "<fields>year</fields>";
    for (label, kind, inner, parameters, expected, asked) in [
        ("a field", "deduplicate", by_year, &[][..], "aceg", 1),
        (
            "two fields",
            "deduplicate",
            "<fields><item>year</item><item>tags</item></fields>",
            &[],
            "abcefg",
            1,
        ),
        ("pages", "deduplicate", by_year, &[("hits", "2"), ("offset", "1")], "ce", 1),
        (
            "asked again",
            "deduplicate",
            "<fields>tags</fields><more>1</more>",
            &[("hits", "2")],
            "ab",
            1,
        ),
        ("asked again for twice as many", "deduplicate", by_year, &[("hits", "3")], "ace", 1),
        (
            "asked three times",
            "deduplicate",
            "<fields>year</fields><more>2</more>",
            &[("hits", "4")],
            "aceg",
            1,
        ),
        ("until there is no more", "collapse", "<field>year</field>", &[("hits", "5")], "aceg", 1),
        ("two of each", "collapse", "<field>year</field><size>2</size>", &[], "abcefg", 1),
        (
            "as the query says",
            "collapse",
            "<field>year</field>",
            &[("collapsefield", "tags"), ("collapsesize", "2")],
            "abcefg",
            1,
        ),
        ("two fields one after the other", "collapse", "<field>year,tags</field>", &[], "aeg", 1),
        (
            "no size",
            "collapse",
            "<field>year</field>",
            &[("collapsesize", "0")],
            "collapsesize must be a whole number from 1, found 0",
            0,
        ),
        (
            "a boost",
            "boost",
            "<rules><item><field>year</field><at-least>2</at-least><factor>2</factor></item></rules>",
            &[],
            "ceabfdg",
            1,
        ),
        (
            "an element",
            "boost",
            "<rules><item><field>tags</field><equals>z</equals><add>100</add></item></rules>",
            &[],
            "fabcdeg",
            1,
        ),
        (
            "for some queries",
            "boost",
            "<rules><item><when>shop=a</when><field>year</field><at-most>1</at-most><factor>0</factor></item></rules>",
            &[("shop", "a")],
            "cefgabd",
            1,
        ),
        (
            "not for others",
            "boost",
            "<rules><item><when>shop=a</when><field>year</field><at-most>1</at-most><factor>0</factor></item></rules>",
            &[("shop", "b")],
            "abcdefg",
            1,
        ),
        (
            "dropped",
            "boost",
            "<rules><item><field>year</field><equals>1</equals><drop>true</drop></item></rules><more>2</more>",
            &[("hits", "2")],
            "ce",
            1,
        ),
    ] {
        let searcher = searcher_of(kind, inner).unwrap();
        let (ids, questions) = found(&*searcher, parameters);
        assert_eq!(ids, expected, "{label}: {questions:?}");
        assert!(questions.len() >= asked, "{label}: {questions:?}");
    }
    // As few as are wanted are asked for first, then twice as many, never more than a query may ask for.
    let searcher = searcher_of("deduplicate", "<fields>year</fields>").unwrap();
    let (_, asked) = found(&*searcher, &[("hits", "2"), ("maxHits", "5")]);
    assert_eq!(asked, ["hits=4 maxHits=5 offset=0"]);
    let (ids, asked) = found(&*searcher, &[("hits", "3"), ("maxHits", "5")]);
    assert_eq!((ids.as_str(), asked), ("ace", vec!["hits=5 maxHits=5 offset=0".to_owned()]));
    let (_, asked) = found(&*searcher, &[("hits", "9"), ("maxHits", "5")]);
    assert_eq!(asked, ["hits=9 maxHits=5"], "which the documents refuse");
}

#[test]
fn queries_are_rewritten_by_a_table() {
    let table = "<parameter>q</parameter><rules>
        <item><when>cheap *</when><set><item key='ranking.profile'>price</item><item key='was'>%{q}</item></set></item>
        <item><when>*</when><set><item key='hits'>1</item></set></item></rules>";
    let searcher = searcher_of("rewrite", table).unwrap();
    for (q, expected) in [
        (Some("Cheap shoes"), "q=Cheap shoes ranking.profile=price was=Cheap shoes"),
        (Some("shoes"), "hits=1 q=shoes"),
        (None, ""),
    ] {
        let parameters: Vec<(&str, &str)> = q.iter().map(|q| ("q", *q)).collect();
        assert_eq!(found(&*searcher, &parameters).1, [expected]);
    }
}

#[test]
fn sources_are_blended() {
    let blend = |rule: &str| {
        let text = format!(
            "<sources><item>stored</item><item>song</item></sources><rule>{rule}</rule><weights><item key='song'>0.5</item></weights>"
        );
        searcher_of("blend", &text).unwrap()
    };
    for (rule, expected) in [
        ("score", "abcd"),
        ("interleave", "aabb"),
        ("normalised", "abcd"),
        ("reciprocal-rank", "abcd"),
    ] {
        let (ids, mut asked) = found(&*blend(rule), &[("hits", "4"), ("yql", "x")]);
        assert_eq!(ids, expected, "{rule}");
        // They are asked at the same time.
        asked.sort();
        assert_eq!(asked.len(), 2, "{rule}");
        assert!(asked[0].contains("model.restrict=song"), "{asked:?}");
        assert!(asked[1].contains("model.restrict=stored"), "{asked:?}");
    }
    let wrong = searcher_of("blend", "<sources>elsewhere</sources>").err();
    assert_eq!(wrong.unwrap(), "there is no source elsewhere; there are stored, song");
}

#[test]
fn sources_are_searched_at_the_same_time_and_fail_alone() {
    let blend = searcher_of("blend", "<sources><item>stored</item><item>song</item></sources>");
    let blend = blend.unwrap();
    let call = Call { deadline: Deadline::NEVER };
    let result = |next: &(dyn Fn(Query) -> Result<SearchResult, ComponentError> + Sync)| {
        blend.search(Query::default(), &Execution { next, call })
    };
    // Each waits for the other.
    let (inside, changed) = (Mutex::new(0), Condvar::new());
    let both = |_: Query| {
        let mut count = inside.lock().unwrap();
        *count += 1;
        changed.notify_all();
        let wait = Duration::from_secs(60);
        let (count, _) = changed.wait_timeout_while(count, wait, |count| *count < 2).unwrap();
        assert_eq!(*count, 2, "one source was searched behind the other");
        Ok(SearchResult { total: 1, ..SearchResult::default() })
    };
    assert_eq!(result(&both).unwrap().total, 2);
    let failing = |which: &'static str| {
        move |query: Query| match query.values.get("model.restrict") {
            Some(name) if which.contains(name) => Err(ComponentError {
                code: Code::DeadlineExceeded,
                component: "chain".to_owned(),
                kind: None,
                message: "the deadline passed".to_owned(),
                traceback: None,
            }),
            Some("song") if which.contains("panic") => panic!("a panic behind it"),
            _ => Ok(SearchResult { total: 7, hits: songs(), ..SearchResult::default() }),
        }
    };
    let one = result(&failing("song")).unwrap();
    assert_eq!((one.hits.len(), one.errors.len()), (7, 1));
    assert_eq!(one.errors[0].code, SearchCode::Timeout);
    assert_eq!(one.errors[0].message, "source song: the deadline passed");
    let one = result(&failing("panic")).unwrap();
    assert_eq!(one.errors[0].message, "source song: a search panicked");
    let all = result(&failing("song stored")).unwrap_err();
    assert!(matches!(all, NativeError::Next(_)), "{all:?}");
}
