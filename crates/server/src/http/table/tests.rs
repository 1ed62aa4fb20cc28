use super::*;
use crate::vespa::deploy;
use std::collections::BTreeSet;

/// A path of a form with something in the place of each name.
fn filled(path: &str) -> String {
    let mut text = path.to_owned();
    while let (Some(begin), Some(end)) = (text.find('{'), text.find('}')) {
        let value = match &text[begin + 1..end] {
            "tenant" | "application" | "instance" => "default",
            name if name.ends_with("...") => "a/b",
            _ => "1",
        };
        text.replace_range(begin..=end, value);
    }
    text
}

fn leads_somewhere(endpoint: &Endpoint, path: &str) -> bool {
    let method: Method = endpoint.method.parse().unwrap();
    match endpoint.port {
        Port::Deploy => deploy::is_call(&method, path),
        _ if path.starts_with(document::ROOT) => document::is_call(path),
        // It is what no handler of the application takes.
        _ if [crate::embeddings::plain::PATH, crate::vespa::bindings::PATH].contains(&path) => true,
        _ => !matches!(
            route(&method, path),
            Route::Unknown | Route::WrongMethod | Route::NotServed(_)
        ),
    }
}

#[test]
fn every_row_is_a_call_and_is_found() {
    let mut seen = BTreeSet::new();
    for form in forms() {
        let (endpoint, path) = (form.endpoint, filled(&form.path));
        assert!(leads_somewhere(endpoint, &path), "{} {path}", endpoint.method);
        assert!(
            seen.insert((endpoint.port == Deploy, endpoint.method, form.path.clone())),
            "{path} twice"
        );
        let method: Method = endpoint.method.parse().unwrap();
        let found = find(endpoint.port, &method, &path).unwrap();
        assert_eq!((found.path, found.role), (endpoint.path, endpoint.role), "{method} {path}");
        if method == Method::GET {
            assert!(find(endpoint.port, &Method::HEAD, &path).is_some(), "{path}");
        }
    }
    assert!(seen.len() > 90, "{}", seen.len());
}

#[test]
fn what_is_no_call_needs_something_all_the_same() {
    for (port, method, path, expected) in [
        (Query, "GET", "/v2/nothing", Read),
        (Query, "DELETE", "/v2/models/m", Read),
        (Query, "POST", "/v2/models/m/generate", Read),
        (Query, "GET", "/v2/logging", Admin),
        (Query, "POST", "/v2/logging", Admin),
        (Query, "GET", "/mine", Read),
        (Query, "HEAD", "/mine", Read),
        (Query, "POST", "/mine", Write),
        (Query, "BREW", "/mine", Write),
        (Query, "PATCH", "/document/v1/ns/t/docid/1", Write),
        (Query, "POST", "/document/v1/ns/t/other/1", Write),
        (Query, "POST", "/document/v1//t/docid/1", Write),
        (Query, "GET", "/document/v1/ns", Read),
        (Port::Admin, "POST", "/v2/repository/models/m/load", Admin),
        (Query, "POST", "/application/v2/tenant/default/prepareandactivate", Read),
        (Deploy, "GET", "/nothing", Admin),
        (Deploy, "GET", "/v2", Admin),
        (Deploy, "GET", "/state/v1/health", Anyone),
        (Query, "HEAD", "/state/v1/health", Anyone),
        (Query, "GET", "/v1/models/m/versions/2/metadata", Read),
        (Query, "GET", "/v2/models/m/versions/2/sequences/%2F/state", Admin),
        (Query, "GET", "", Read),
    ] {
        let method: Method = method.parse().unwrap();
        assert_eq!(required(port, &method, path).role, expected, "{method} {path}");
    }
}

#[test]
fn the_methods_of_grpc_are_those_of_its_services() {
    let mut expected = BTreeSet::new();
    for (package, text) in [
        ("inference", include_str!("../../../proto/kserve/grpc_service.proto")),
        (
            "tensorflow.serving",
            include_str!("../../../proto/tensorflow_serving/apis/model_service.proto"),
        ),
        (
            "tensorflow.serving",
            include_str!("../../../proto/tensorflow_serving/apis/prediction_service.proto"),
        ),
    ] {
        let mut service = "";
        for line in text.lines().map(str::trim) {
            if let Some(name) = line.strip_prefix("service ") {
                service = name.split([' ', '{']).next().unwrap();
            } else if let Some(rest) = line.strip_prefix("rpc ") {
                expected
                    .insert(format!("/{package}.{service}/{}", rest.split('(').next().unwrap()));
            }
        }
    }
    let listed: BTreeSet<String> =
        GRPC_METHODS.iter().map(|(path, _)| (*path).to_owned()).collect();
    assert_eq!(listed, expected);
    assert_eq!(required_by_grpc("/no.Service/Method").role, Read);
}
