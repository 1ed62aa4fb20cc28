//! What hits show of their documents: marks, parts of texts, tokens, elements.
#![allow(clippy::unwrap_used)]

use serde_json::{Value as Json, json};

use crate::asked::Asked;

const SCHEMA: &str = "schema page {
  document page {
    struct person { field name type string {} field age type int {} }
    field title type string {
      indexing: index | summary
      bolding: on
    }
    field body type string {
      indexing: index | summary
      summary: dynamic
    }
    field notes type array<string> {
      indexing: index | summary
      summary notes { matched-elements-only }
      summary marked { source: notes
        bolding: on }
    }
    field tags type weightedset<string> {
      indexing: attribute | summary
      summary: matched-elements-only
    }
    field years type array<int> {
      indexing: attribute | summary
    }
    field people type array<person> {
      indexing: summary
      struct-field name { indexing: attribute }
      struct-field age { indexing: attribute }
      summary: matched-elements-only
    }
    field names type map<string, int> {
      indexing: summary
      struct-field key { indexing: attribute }
      struct-field value { indexing: attribute }
      summary: matched-elements-only
    }
    field label type string { indexing: attribute | summary }
  }
  fieldset default { fields: title, body }
  document-summary words {
    summary title_tokens { source: title
      tokens }
    summary notes_tokens { source: notes
      tokens }
    summary label_tokens { source: label
      tokens }
    summary tags_tokens { source: tags
      tokens }
  }
  document-summary some {
    summary years { source: years
      select-elements-by: chosen }
  }
  document-summary plain {
    summary whole { source: title }
    summary title {}
  }
  rank-profile chosen {
    function chosen() { expression: tensor(x{}):{0:1,2:1,9:1} }
    summary-features: chosen
  }
}";

fn page() -> Json {
    let filler = "Lorem ipsum dolor sit amet, consectetur adipiscing elit. ".repeat(12);
    json!({
        "title": "Jumping by the sea",
        "body": format!("{filler}The sea is blue. {filler}Nobody knows. {filler}A sea of cats ran."),
        "notes": ["blue waves", "two cats by the sea", "the cat"],
        "tags": {"zebra": 3, "Sea": 1, "cat": 2, "ape": 7},
        "years": [1999, 2005, 2010],
        "people": [{"name": "ann", "age": 5}, {"name": "bob", "age": 7}, {"name": "ann", "age": 9}],
        "names": {"x": 1, "y": 2, "z": 1},
        "label": "Blue Sea",
    })
}

fn fields(asked: &Asked, views: &stead_store::View, body: &Json) -> Json {
    let (status, result) = asked.search(&[views], body);
    assert_eq!(status, 200, "{body}: {result}");
    result["root"]["children"][0]["fields"].clone()
}

#[test]
fn words_that_were_found_are_marked() {
    let asked = Asked::new(&[("page", false, SCHEMA)]);
    let pages = asked.documents("page", &[page()]);
    for (label, yql, more, field, expected) in [
        (
            "a word",
            "title contains 'sea'",
            json!({}),
            "title",
            json!("Jumping by the <hi>sea</hi>"),
        ),
        (
            "by its stem",
            "title contains 'jumped'",
            json!({}),
            "title",
            json!("<hi>Jumping</hi> by the sea"),
        ),
        (
            "a phrase",
            "title contains phrase('the', 'sea')",
            json!({}),
            "title",
            json!("Jumping by <hi>the</hi> <hi>sea</hi>"),
        ),
        (
            "no phrase",
            "title contains 'sea' and !(title contains phrase('sea', 'the'))",
            json!({}),
            "title",
            json!("Jumping by the <hi>sea</hi>"),
        ),
        (
            "a beginning",
            "title contains ({prefix: true}'ju')",
            json!({}),
            "title",
            json!("<hi>Jumping</hi> by the sea"),
        ),
        ("another field", "body contains 'sea'", json!({}), "title", json!("Jumping by the sea")),
        (
            "what is typed",
            "userInput('sea jumping')",
            json!({}),
            "title",
            json!("<hi>Jumping</hi> by the <hi>sea</hi>"),
        ),
        (
            "filters are not what people typed",
            "title contains 'sea' and title contains ({filter: true}'jumping')",
            json!({}),
            "title",
            json!("Jumping by the <hi>sea</hi>"),
        ),
        (
            "without marks",
            "title contains 'sea'",
            json!({"bolding": false}),
            "title",
            json!("Jumping by the sea"),
        ),
        (
            "elements",
            "notes contains 'cat'",
            json!({}),
            "marked",
            json!(["blue waves", "two <hi>cats</hi> by the sea", "the <hi>cat</hi>"]),
        ),
        (
            "as default has it",
            "title contains 'sea'",
            json!({"summary": "plain"}),
            "title",
            json!("Jumping by the <hi>sea</hi>"),
        ),
        (
            "another name",
            "title contains 'sea'",
            json!({"summary": "plain"}),
            "whole",
            json!("Jumping by the sea"),
        ),
    ] {
        let mut body = json!({"yql": format!("select * from page where {yql}")});
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let fields = fields(&asked, pages.view(), &body);
        assert_eq!(fields[field], expected, "{label}: {fields}");
    }
}

#[test]
fn parts_of_texts_are_shown_where_words_were_found() {
    let asked = Asked::new(&[("page", false, SCHEMA)]);
    let pages = asked.documents("page", &[page()]);
    let shown = |yql: &str, bolding: bool| {
        let yql = format!("select * from page where {yql}");
        let body = json!({"yql": yql, "presentation.bolding": bolding});
        fields(&asked, pages.view(), &body)["body"].as_str().unwrap().to_owned()
    };
    let both = shown("body contains 'sea'", true);
    assert!(
        both.contains("The <hi>sea</hi> is blue") && both.contains("A <hi>sea</hi> of cats ran.")
    );
    assert!(both.starts_with("<sep />") && both.contains(" <hi>"), "{both}");
    assert_eq!(both.matches("<sep />").count(), 2, "{both}");
    assert!(both.len() < 420, "{both}");
    let plain = shown("body contains 'sea'", false);
    assert_eq!(plain, both.replace("<hi>", "").replace("</hi>", "").replace("<sep />", "..."));
    // Nothing is found in it: its beginning.
    let beginning = shown("title contains 'sea'", true);
    assert!(beginning.starts_with("Lorem ipsum") && beginning.ends_with("<sep />"), "{beginning}");
    assert!(beginning.len() <= 256 + "<sep />".len(), "{beginning}");
}

#[test]
fn elements_that_were_found_are_shown() {
    let asked = Asked::new(&[("page", false, SCHEMA)]);
    let pages = asked.documents("page", &[page()]);
    for (yql, field, expected) in [
        ("tags contains 'sea'", "tags", json!({"Sea": 1})),
        ("tags in ('cat', 'ape')", "tags", json!({"cat": 2, "ape": 7})),
        ("weightedSet(tags, {'ZEBRA': 1, 'sea': 1})", "tags", json!({"zebra": 3, "Sea": 1})),
        ("title contains 'sea'", "tags", Json::Null),
        ("notes contains 'cats'", "notes", json!(["two cats by the sea", "the cat"])),
        ("notes contains sameElement('cats', 'sea')", "notes", json!(["two cats by the sea"])),
        ("notes contains phrase('the', 'cat')", "notes", json!(["the cat"])),
        ("years = 2005", "years", json!([1999, 2005, 2010])),
        (
            "people contains sameElement(name contains 'ann', age > 6)",
            "people",
            json!([{"name": "ann", "age": 9}]),
        ),
        ("people.name contains 'bob'", "people", json!([{"name": "bob", "age": 7}])),
        ("names.value = 1", "names", json!({"x": 1, "z": 1})),
        ("names contains sameElement(key contains 'y', value = 2)", "names", json!({"y": 2})),
        ("!(tags contains 'cow') and tags contains 'ape'", "tags", json!({"ape": 7})),
    ] {
        let body = json!({"yql": format!("select * from page where {yql}")});
        let fields = fields(&asked, pages.view(), &body);
        assert_eq!(fields[field], expected, "{yql}: {fields}");
    }
    let body = json!({
        "yql": "select * from page where title contains 'sea'",
        "ranking": "chosen", "summary": "some",
    });
    assert_eq!(fields(&asked, pages.view(), &body)["years"], json!([1999, 2010]));
}

#[test]
fn tokens_are_those_of_indexes() {
    let asked = Asked::new(&[("page", false, SCHEMA)]);
    let pages = asked.documents("page", &[page()]);
    let body = json!({"yql": "select * from page where true", "summary": "words"});
    let fields = fields(&asked, pages.view(), &body);
    for (field, expected) in [
        ("title_tokens", json!(["jump", "by", "the", "sea"])),
        (
            "notes_tokens",
            json!([["blue", "wave"], ["two", "cat", "by", "the", "sea"], ["the", "cat"]]),
        ),
        ("label_tokens", json!(["blue sea"])),
        (
            "tags_tokens",
            json!([
                {"item": ["sea"], "weight": 1}, {"item": ["ape"], "weight": 7},
                {"item": ["cat"], "weight": 2}, {"item": ["zebra"], "weight": 3},
            ]),
        ),
    ] {
        assert_eq!(fields[field], expected, "{field}: {fields}");
    }
}

const LOREM: &str = "Lorem ipsum dolor sit amet consectetur adipiscing elit sed do eiusmod tempor incididunt ut labore et \
                     dolore magna aliqua ut enim ad minim veniam quis nostrud exercitation ullamco laboris nisi aliquip";

#[test]
fn services_say_how_long_parts_of_texts_are() {
    let config = "<config name='vespa.config.search.summary.juniperrc'>
      <length>60</length><max_matches>1</max_matches><min_length>0</min_length><surround_max>20</surround_max>
      <override><item><fieldname>title</fieldname><length>40</length><prefix>false</prefix></item></override>
    </config>";
    let schema = "schema page {
      document page {
        field title type string { indexing: index | summary\n summary: dynamic }
        field body type string { indexing: index | summary\n summary: dynamic }
      }
      fieldset default { fields: title, body }
    }";
    let text = format!("{LOREM} sea {LOREM} sea {LOREM}");
    let page = json!({"title": text, "body": text});
    let shown = |container: &str, query: &str| {
        let asked = Asked::of_package(&[("page", false, schema)], container, &[]);
        let pages = asked.documents("page", std::slice::from_ref(&page));
        fields(&asked, pages.view(), &json!({"yql": query}))
    };
    let sea = "select * from page where body contains 'sea'";
    let (usual, short) = (shown("", sea), shown(config, sea));
    let body = |of: &Json| of["body"].as_str().unwrap().to_owned();
    assert_eq!(body(&usual).matches("<hi>sea</hi>").count(), 2, "{usual}");
    assert_eq!(body(&short).matches("<hi>sea</hi>").count(), 1, "{short}");
    // No word is cut.
    assert!(body(&short).len() < 80 + "<sep /><hi></hi><sep />".len(), "{short}");
    // Nothing of the title was found: usually that is its beginning.
    assert!(usual["title"].as_str().unwrap().starts_with("Lorem"), "{usual}");
    assert_eq!(short.get("title"), None, "{short}");
    let both = shown(config, "select * from page where title contains 'sea'");
    assert_eq!(body(&both), format!("{}<sep />", &LOREM[..body(&both).len() - "<sep />".len()]));
    // What an override does not say is not what the others have.
    assert_eq!(both["title"].as_str().unwrap().matches("<hi>").count(), 2, "{both}");
}
