//! What selections select, and what is none.

use stead_app::application::Application;
use stead_app::package::PackageFiles;
use stead_app::services::ServicesOptions;

use super::{Selected, Selection};
use crate::json::read_put;
use crate::kind::DocumentType;

fn kind() -> DocumentType {
    let schema = "schema music {
      document music {
        struct track { field name type string {} field seconds type int {} }
        field year type int { indexing: attribute }
        field score type double { indexing: attribute }
        field title type string { indexing: attribute }
        field live type bool { indexing: attribute }
        field tags type array<string> { indexing: attribute }
        field words type weightedset<string> { indexing: attribute }
        field stock type map<string,int> { indexing: summary }
        field tracks type array<track> { indexing: summary }
        field nothing type int { indexing: attribute }
      }
    }";
    let files = PackageFiles::from_texts([("schemas/music.sd", schema)]).unwrap();
    let (application, _) = Application::read(&files, ServicesOptions::default());
    DocumentType::new(application.schema("music").unwrap())
}

#[test]
fn documents_are_selected() {
    let kind = kind();
    let json = br#"{"put": "id:n:music:n=7,g=x:a:b", "fields": {"year": 1999, "score": 0.5, "title": "Blue Moon", "live": true,
        "tags": ["pop", "rock"], "words": {"a": 3}, "stock": {"oslo": 4},
        "tracks": [{"name": "one", "seconds": 60}, {"name": "two", "seconds": 90}]}}"#;
    let put = read_put(&kind, 1, json).unwrap();
    let document = Selected { kind: &kind, id: &put.id, fields: &put.fields, now: 2_000_000_000 };
    for (text, expected) in [
        ("true", true),
        ("false or music", true),
        ("book", false),
        ("music.year == 1999", true),
        ("music.year = 1999", true),
        ("music.year > 1998 and music.year <= 1999", true),
        ("music.year + 1 == 2000", true),
        ("music.year % 2 == 1", true),
        ("2 * (3 + 4) == 14", true),
        ("7 - 2 - 1 == 4", true),
        ("-music.year.abs() == -1999", true),
        ("music.title.hash() == \"Blue Moon\".hash()", true),
        ("id.user.hash().abs() % 10 < 10", true),
        // The MD5 of a is 0cc175b9c0f1b6a8...
        ("\"a\".hash() == 0xa8b6f1c0b975c10c", true),
        ("id.bucket == 0x8000000000000007", true),
        ("id.bucket = 0x8000000000000007", true),
        ("id.bucket != 0x8000000000000007", false),
        ("id.bucket == 0x8000000000000008", false),
        ("music.score < 0.75", true),
        ("music.score < 1", true),
        ("music.title == \"Blue Moon\"", true),
        ("music.title == \"Blue*\"", false),
        ("music.title = \"Blue*\"", true),
        ("music.title = '*M?on'", true),
        ("music.title = \"*oon*x\"", false),
        ("music.title =~ \"^B.*n$\"", true),
        ("music.title =~ 'lue'", true),
        ("music.title.lowercase() == \"blue moon\"", true),
        ("music.live == true", true),
        ("music.live", true),
        ("music.nothing", false),
        ("not music.nothing", true),
        ("music.nothing == null and music.year != null", true),
        // An order with nothing is neither true nor false.
        ("music.nothing < 5", false),
        ("not music.nothing < 5", false),
        ("music.nothing < 5 or true", true),
        ("book.year == 1999", false),
        ("not (book.year == 1999)", false),
        ("music.title < 5", false),
        ("music.tags == \"pop\"", true),
        ("music.tags = \"r*\"", true),
        ("music.tags[1] == \"rock\"", true),
        ("music.tags[2] == null", true),
        ("music.words{a} == 3", true),
        ("music.words{\"b\"} == null", true),
        ("music.stock{oslo} > 3", true),
        ("music.stock.key == \"oslo\"", true),
        ("music.tracks.seconds > 80", true),
        ("music.tracks[0].seconds > 80", false),
        ("id == \"id:n:music:n=7,g=x:a:b\"", true),
        ("id.namespace == 'n' and id.type == 'music' and id.specific == 'a:b'", true),
        ("id.user == 7 and id.group == \"x\"", true),
        ("now() - 10 == 1999999990", true),
        ("1999-12-31 > 0", true),
        ("NOT false AND TRUE", true),
        ("0x1f == 31", true),
        ("\"a\\x41\\\"\" == 'aA\"'", true),
        ("false and music.title < 5 or true", true),
        (&("false or ".repeat(7000) + "true"), true),
    ] {
        let selection = Selection::parse(text).unwrap_or_else(|e| panic!("{text}: {e}"));
        assert_eq!(selection.selects(&document), expected, "{text}");
    }
}

#[test]
fn what_is_no_selection_is_refused() {
    let deep = format!("{}true{}", "(".repeat(101), ")".repeat(101));
    let nots = "not ".repeat(100_000) + "true";
    let long = "1 + ".repeat(1001) + "1 > 0";
    for (text, expected) in [
        ("", "character 0: expected a value, found the end"),
        ("music.year >", "character 12: expected a value, found the end"),
        ("music.year 5", "character 11: expected the end, found 5"),
        ("(true", "character 5: expected ), found the end"),
        ("music.title = \"x", "character 14: the text does not end"),
        ("music.title =~ \"(\"", "character 15: expected a regular expression, found ("),
        ("music.title =~ 5", "character 15: expected a regular expression as a text, found 5"),
        ("music.a[$x]", "character 8: expected a place, found $"),
        (
            "id.size == 1",
            "character 3: expected one of namespace, type, user, group, specific and bucket, found size",
        ),
        ("id.size() == 1", "character 3: expected abs(), hash() or lowercase(), found size"),
        ("music.", "character 6: expected the name of a field, found the end"),
        ("#", "character 0: unexpected #"),
        (deep.as_str(), "character 101: selections nest at most 100 deep"),
        (nots.as_str(), "character 0: 400004 bytes, at most 65536 are possible"),
        (long.as_str(), "character 4004: more than 1000 operators and functions"),
        ("99999999999999999999", "character 0: expected a number"),
    ] {
        let found = Selection::parse(text).unwrap_err().to_string();
        assert_eq!(found, format!("selection, {expected}"), "{text:.60}");
    }
}

#[test]
fn selections_are_joined_and_negated_and_neither_stays_neither() {
    let kind = kind();
    let json = br#"{"put": "id:n:music:n=7:a", "fields": {"year": 1999}}"#;
    let put = read_put(&kind, 1, json).unwrap();
    let document = Selected { kind: &kind, id: &put.id, fields: &put.fields, now: 100 };
    let parse = |text: &str| Selection::parse(text).unwrap();
    for (first, second, both, neither_of_both, rejects_id) in [
        ("true", "music.year > 1990", true, false, false),
        ("music", "music.year > 2000", false, true, false),
        ("music.nothing > 5", "true", false, false, false),
        ("music.nothing > 5", "false", false, true, true),
        ("id.user == 8", "music.year > 1990", false, true, true),
        ("id.user == 7", "music.year > 1990", true, false, false),
        ("now() > 99", "now() > 100", false, true, true),
        ("book", "music.year == 1999", false, true, true),
    ] {
        let all = parse(first).and(&parse(second));
        let label = all.text().to_owned();
        assert_eq!(all.selects(&document), both, "{label}");
        assert_eq!(all.negated().selects(&document), neither_of_both, "not {label}");
        assert_eq!(all.rejects_id(&kind, &put.id, 100), rejects_id, "{label}");
        // The text says the same as what was joined.
        assert_eq!(parse(all.text()).selects(&document), both, "{label}");
        assert_eq!(parse(all.negated().text()).selects(&document), neither_of_both, "{label}");
    }
}

#[test]
fn a_selection_tells_what_it_names() {
    let text = "music.year.abs() > 3 and not (book or id.user + now() == music.tracks[0].seconds) \
                and music.year =~ 'x' and music.stock{a} == null";
    let selection = Selection::parse(text).unwrap();
    let found: Vec<_> = selection.references().into_iter().collect();
    let music = |field| ("music", Some(field));
    assert_eq!(found, [("book", None), music("stock"), music("tracks"), music("year")]);
    let kind = kind();
    let numbers = ["year", "stock", "tracks"].map(|name| kind.field(name).unwrap().0);
    assert_eq!(selection.fields_of(&kind), numbers.into_iter().collect());
    assert!(Selection::parse("now() > 5 and true").unwrap().references().is_empty());
}
