//! Requests with what they say, and requests that are refused.

use std::time::Duration;

use serde_json::json;
use stead_app::application::Application;
use stead_app::package::PackageFiles;
use stead_app::services::ServicesOptions;
use stead_expr::codec::json::Form;

use super::{Format, SearchRequest};
use crate::query::SearchError;

const PROFILES: [(&str, &str); 4] = [
    (
        "search/query-profiles/default.xml",
        "<query-profile id=\"default\"><field name=\"hits\">7</field>\
         <field name=\"greeting\">hello %{name}</field><field name=\"maxHits\" overridable=\"false\">50</field></query-profile>",
    ),
    (
        "search/query-profiles/user.xml",
        "<query-profile id=\"user\" inherits=\"default\" type=\"mine\"><field name=\"ranking\"><ref>slow</ref></field>\
         <field name=\"name\">%{first} B</field></query-profile>",
    ),
    (
        "search/query-profiles/slow.xml",
        "<query-profile id=\"slow\"><field name=\"profile\">expensive</field></query-profile>",
    ),
    (
        "search/query-profiles/types/mine.xml",
        "<query-profile-type id=\"mine\"><strict/><field name=\"name\" type=\"string\"/><field name=\"greeting\" type=\"string\"/>\
         <field name=\"first\" type=\"string\" mandatory=\"true\" alias=\"f\"/><field name=\"age\" type=\"integer\"/></query-profile-type>",
    ),
];

fn request(pairs: &[(&str, &str)], with_profiles: bool) -> Result<SearchRequest, SearchError> {
    let files = PackageFiles::from_texts(PROFILES).unwrap();
    let (application, _) = Application::read(&files, ServicesOptions::default());
    let mut list = vec![("yql".to_owned(), "select * from d where true".to_owned())];
    list.extend(pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())));
    match with_profiles {
        true => SearchRequest::new(list, &application.query_profiles),
        false => SearchRequest::new(list, &Default::default()),
    }
}

#[test]
fn parameters_say_what_they_say() {
    let found = request(&[], false).unwrap();
    assert_eq!((found.hits, found.offset, found.max_hits), (10, 0, 400));
    assert_eq!(
        (found.timeout, found.tensors, found.format),
        (Duration::from_millis(500), Form::Short, Format::Json)
    );
    let found = request(
        &[
            ("COUNT", "3"),
            ("start", "4"),
            ("timeout", "20ms"),
            ("ranking", "p"),
            ("input.query(a)", "[1, 2]"),
            ("rankfeature.query(b)", "{x:1}"),
            ("ranking.properties.k.v", "7"),
            ("ranking.rerankCount", "5"),
            ("ranking.globalPhase.rankScoreDropLimit", "-1.5"),
            ("sorting", "-n"),
            ("summary", "s"),
            ("restrict", "a, b"),
            ("format", "cbor"),
            ("format.tensors", "hex-value"),
            ("timing", "true"),
            ("mine", "x"),
        ],
        false,
    )
    .unwrap();
    assert_eq!((found.hits, found.offset, found.timeout), (3, 4, Duration::from_millis(20)));
    assert_eq!((found.rank.profile.as_deref(), found.sorting.as_deref()), (Some("p"), Some("-n")));
    assert_eq!(found.rank.inputs["a"], json!([1, 2]));
    assert_eq!(found.rank.inputs["b"], json!("{x:1}"));
    assert_eq!(found.rank.text("k.v").as_deref(), Some("7"));
    assert_eq!(found.rank.second_phase.rerank_count, Some(5));
    assert_eq!(found.rank.global_phase.drop_limit, Some(-1.5));
    assert_eq!(
        (found.summary.as_deref(), found.restrict),
        (Some("s"), vec!["a".into(), "b".into()])
    );
    assert_eq!((found.format, found.timing), (Format::Cbor, true));
    assert_eq!(found.values.get("mine"), Some("x"));
    assert_eq!(found.warnings, [""; 0]);
}

#[test]
fn times_have_units() {
    for (text, expected) in
        [("0.5", 500), ("500 ms", 500), ("2s", 2000), ("1000us", 1), ("3", 3000)]
    {
        let found = request(&[("timeout", text)], false).unwrap();
        assert_eq!(found.timeout, Duration::from_millis(expected), "{text}");
    }
}

#[test]
fn profiles_fill_what_a_request_does_not_say() {
    let found = request(&[], true).unwrap();
    assert_eq!((found.hits, found.values.get("greeting")), (7, Some("hello ")));
    let found = request(&[("hits", "8"), ("maxHits", "9")], true).unwrap();
    assert_eq!((found.hits, found.max_hits), (8, 50));
    assert_eq!(
        found.warnings,
        ["maxHits has no effect: query profile default does not let requests change it"]
    );
    let found = request(&[("queryProfile", "user"), ("f", "A")], true).unwrap();
    assert_eq!(found.values.get("greeting"), Some("hello A B"));
    assert_eq!(found.rank.profile.as_deref(), Some("expensive"));
}

#[test]
fn what_is_wrong_is_named() {
    for (pairs, code, expected) in [
        (
            vec![("hits", "-1")],
            4,
            "Could not set 'hits' to '-1': 'hits' must be a positive number, not -1",
        ),
        (vec![("hits", "x")], 4, "Could not set 'hits' to 'x': expected a whole number from 0"),
        (
            vec![("ranking.elementGap.f", "-1")],
            4,
            "Could not set 'ranking.elementGap.f' to '-1': expected a whole number or infinity",
        ),
        (
            vec![("gram.match", "some")],
            4,
            "Could not set 'gram.match' to 'some': expected one of all, any, weakAnd, phrase, near, onear",
        ),
        (vec![("hits", "401")], 4, "Requested 401 hits returned, but max hits allowed is 50."),
        (vec![("offset", "1001")], 4, "Requested offset 1001, but the max offset allowed is 1000."),
        (
            vec![("timeout", "soon")],
            4,
            "Could not set 'timeout' to 'soon': expected a time such as 0.5, 500ms or 2s",
        ),
        (
            vec![("timing", "maybe")],
            4,
            "Could not set 'presentation.timing' to 'maybe': expected true or false",
        ),
        (
            vec![("format", "xml")],
            4,
            "Could not set 'presentation.format' to 'xml': expected one of default, json, cbor",
        ),
        (
            vec![("select.fields", "title")],
            4,
            "Could not set 'select.fields': Json parse error. expected ident at line 1 column 2",
        ),
        (vec![("queryProfile", "none")], 3, "Could not resolve query profile 'none'"),
        (
            vec![("queryProfile", "user")],
            4,
            "Incomplete query: Parameter 'first' is mandatory in query profile 'user' of type 'mine' but is not set",
        ),
        (
            vec![("queryProfile", "user"), ("first", "A"), ("age", "old")],
            4,
            "Could not set 'age' to 'old': 'old' is not an integer",
        ),
        (
            vec![("queryProfile", "user"), ("first", "A"), ("other", "B")],
            4,
            "Could not set 'other' to 'B': 'other' is not declared in query profile type 'mine', and the type is strict",
        ),
    ] {
        let error = request(&pairs, true).unwrap_err();
        assert_eq!((error.code.number(), error.message.as_str()), (code, expected), "{pairs:?}");
    }
    let error = SearchRequest::new(Vec::new(), &Default::default()).unwrap_err();
    assert_eq!(error.code.number(), 1);
    let alone = vec![("select.grouping".to_owned(), "[]".to_owned())];
    assert_eq!(SearchRequest::new(alone, &Default::default()).unwrap_err().code.number(), 1);
    let found =
        request(&[("noCache", "true"), ("user", "me"), ("rankfeatures", "false")], false).unwrap();
    assert_eq!(
        found.warnings,
        ["noCache has no effect: there is no cache", "user has no effect: nobody asks for it"]
    );
}
