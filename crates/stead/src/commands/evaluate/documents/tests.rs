use std::path::Path;

use serde_json::Value as Json;
use stead_app::application::Application;
use stead_app::package::PackageFiles;
use stead_app::services::ServicesOptions;

use super::{Fed, Untaken, document, row};
use crate::commands::evaluate::mapping::{Mapping, Wanted};

/// A package of types with a title, and the fields of a text.
fn application(types: &[(&str, &[&str])]) -> Application {
    let documents: String = types
        .iter()
        .map(|(kind, _)| format!("<document type=\"{kind}\" mode=\"index\"/>"))
        .collect();
    let services = format!(
        "<services version=\"1.0\"><content id=\"c\" version=\"1.0\"><redundancy>1</redundancy><documents>{documents}</documents></content></services>"
    );
    let mut files = vec![("services.xml".to_owned(), services)];
    for (kind, texts) in types {
        let texts: String = texts
            .iter()
            .map(|name| format!("field {name} type string {{ indexing: index }}\n"))
            .collect();
        let schema = format!(
            "schema {kind} {{ document {kind} {{ field title type string {{ indexing: attribute }}\n{texts} }} }}"
        );
        files.push((format!("schemas/{kind}.sd"), schema));
    }
    let files = files.iter().map(|(name, text)| (&**name, &**text));
    let files = PackageFiles::from_texts(files).unwrap();
    Application::read(&files, ServicesOptions::default()).0
}

fn pairs(text: &str) -> Vec<(String, String)> {
    let pairs = text.split_whitespace().map(|pair| pair.split_once('=').unwrap());
    pairs.map(|(member, field)| (member.to_owned(), field.to_owned())).collect()
}

fn shown(fed: Result<Fed, String>) -> Result<String, String> {
    let fed = fed?;
    let json: Json = serde_json::from_str(&fed.json).unwrap();
    Ok(format!("{} {}", fed.id, json["fields"]))
}

#[test]
fn documents_are_fed_or_of_a_collection() {
    let application = application(&[("page", &["body"])]);
    for (label, fields, object, expected) in [
        ("fed", "", r#"{"put": "id:a:b::1", "fields": {"x": 1}}"#, Ok(r#"id:a:b::1 {"x":1}"#)),
        (
            "of BEIR",
            "",
            r#"{"_id": "x:1", "title": "T", "url": ""}"#,
            Ok(r#"id:page:page::x:1 {"title":"T"}"#),
        ),
        (
            "named",
            "text=body",
            r#"{"_id": 1, "title": "T", "text": "X"}"#,
            Ok(r#"id:page:page::1 {"body":"X","title":"T"}"#),
        ),
        (
            "a field has one member",
            "text=title",
            r#"{"_id": 1, "title": "T", "text": "X"}"#,
            Ok(r#"id:page:page::1 {"title":"X"}"#),
        ),
        (
            "a member may be two fields",
            "text=title text=body",
            r#"{"_id": 1, "text": "X"}"#,
            Ok(r#"id:page:page::1 {"body":"X","title":"X"}"#),
        ),
        ("neither", "", "{}", Err("expected \"put\" or \"_id\"")),
        (
            "no field",
            "",
            r#"{"_id": 1, "headline": "T", "text": "X"}"#,
            Err(
                "no member of the document is a field: it has headline, text, page has title, body; --field MEMBER=FIELD says which is which",
            ),
        ),
    ] {
        let fields = pairs(fields);
        let wanted = Wanted { schema: None, fields: &fields };
        let mapping = Mapping::of(&application, &wanted).unwrap();
        let found = document(object.as_bytes(), &mapping, &mut Untaken::default());
        assert_eq!(shown(found), expected.map(str::to_owned).map_err(str::to_owned), "{label}");
    }
}

#[test]
fn members_that_no_field_takes_are_counted() {
    let application = application(&[("page", &["body"])]);
    let mapping = Mapping::of(&application, &Wanted { schema: None, fields: &[] }).unwrap();
    let mut untaken = Untaken::default();
    assert_eq!(untaken.note(Path::new("a")), None);
    for object in [
        r#"{"_id": 1, "title": "T", "text": "X", "url": "", "metadata": {}}"#,
        r#"{"_id": 2, "title": "T", "text": "X", "url": "u"}"#,
        r#"{"_id": 3}"#,
    ] {
        document(object.as_bytes(), &mapping, &mut untaken).unwrap();
    }
    let told = "a: no field takes text (2 of 3 documents), url (1 of 3 documents); --field MEMBER=FIELD names one";
    assert_eq!(untaken.note(Path::new("a")).unwrap(), told);
}

#[test]
fn lines_become_the_field_of_the_text() {
    for (label, texts, fields, line, expected) in [
        ("the only one", &["body"][..], "", "7\ta\tb ", Ok(r#"id:page:page::7 {"body":"a\tb"}"#)),
        ("named", &["body", "more"], "text=more", "7\ta", Ok(r#"id:page:page::7 {"more":"a"}"#)),
        (
            "two",
            &["body", "more"],
            "",
            "7\ta",
            Err("the text may become body or more; say which by --field text=NAME"),
        ),
        (
            "none",
            &[],
            "",
            "7\ta",
            Err(
                "expected a field of type string with an index for the text, page has none; --field text=NAME names another",
            ),
        ),
        (
            "no tab",
            &["body"],
            "",
            "7 a",
            Err("expected an object, or an id and a text with a tab between"),
        ),
    ] {
        let application = application(&[("page", texts)]);
        let fields = pairs(fields);
        let wanted = Wanted { schema: None, fields: &fields };
        let mapping = Mapping::of(&application, &wanted).unwrap();
        let found = shown(row(line, &mapping));
        assert_eq!(found, expected.map(str::to_owned).map_err(str::to_owned), "{label}");
    }
}

#[test]
fn types_and_fields_are_those_of_the_package() {
    let application = application(&[("page", &["body"]), ("post", &[])]);
    for (schema, fields, expected) in [
        (Some("page"), "text=body", None),
        (None, "", None),
        (Some("book"), "", Some("expected --schema page or post, found book")),
        (
            Some("post"),
            "text=body",
            Some("--field text=body: there is no field body: post has title"),
        ),
        (
            None,
            "text=body",
            Some(
                "--field text=body: there is no field body: the package has several schemas; say which by --schema",
            ),
        ),
        (Some("page"), "a=body b=body", Some("--field: expected one member for body, found two")),
    ] {
        let fields = pairs(fields);
        let told = Mapping::of(&application, &Wanted { schema, fields: &fields }).err();
        assert_eq!(told.map(|e| e.to_string()).as_deref(), expected, "{schema:?} {fields:?}");
    }
}
