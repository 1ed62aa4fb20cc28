use super::{RowEncoding, script_steps, tokenizer_hash};
use crate::application::Application;
use crate::package::PackageFiles;
use crate::services::ServicesOptions;

fn application(tokenizer: &str, indexing: &str) -> (PackageFiles, Application) {
    let services = "<services version='1.0'><container version='1.0' id='c'>
        <component id='t' type='hugging-face-tokenizer'><model path='models/t.json'/></component>
        <component id='l' type='com.yahoo.language.simple.SimpleLinguistics'/>
        </container><content id='d' version='1.0'><documents><document type='d' mode='index'/></documents></content></services>";
    let schema = format!(
        "schema d {{ document d {{ field a type string {{ }} field b type string {{ }} }}
        field tokens type tensor<float>(d0[4]) {{ indexing: {indexing} }} }}"
    );
    let files = PackageFiles::from_texts([
        ("services.xml", services),
        ("models/t.json", tokenizer),
        ("schemas/d.sd", schema.as_str()),
    ]);
    let files = files.unwrap();
    let options = ServicesOptions { ignore_components: true };
    let (application, _) = Application::read(&files, options);
    (files, application)
}

#[test]
fn tokenizers_are_the_same_if_they_give_the_same_ids() {
    let hash = |text: &str| {
        let (files, application) = application(text, "input a | embed t | attribute");
        tokenizer_hash(&application.services.containers[0].components[0], &files)
    };
    let base =
        r#"{"version":"1.0","truncation":null,"model":{"vocab":{"a":1,"b":2}},"added_tokens":[]}"#;
    let known = hash(base).unwrap();
    assert!(known.starts_with("xxh3:") && known.len() == 37, "{known}");
    for (label, text, is_same) in [
        (
            "spaces and order",
            r#"{ "added_tokens": [], "model": {"vocab": {"b": 2, "a": 1}}, "version": "1.0" }"#,
            true,
        ),
        (
            "what does not count",
            r#"{"truncation":{"max_length":8},"padding":{},"post_processor":{"type":"x"},"model":{"vocab":{"a":1,"b":2}},"added_tokens":[]}"#,
            true,
        ),
        ("another id", r#"{"model":{"vocab":{"a":1,"b":3}},"added_tokens":[]}"#, false),
        ("another word", r#"{"model":{"vocab":{"a":1,"c":2}},"added_tokens":[]}"#, false),
        ("a text for a number", r#"{"model":{"vocab":{"a":"1","b":2}},"added_tokens":[]}"#, false),
        (
            "one member more",
            r#"{"normalizer":null,"model":{"vocab":{"a":1,"b":2}},"added_tokens":[]}"#,
            false,
        ),
        ("other nesting", r#"{"model":{"vocab":{"a":1},"b":2},"added_tokens":[]}"#, false),
    ] {
        assert_eq!(hash(text).unwrap() == known, is_same, "{label}");
    }
    let error = hash("{").unwrap_err();
    assert!(error.starts_with("models/t.json: EOF"), "{error}");
}

#[test]
fn scripts_are_the_same_if_they_make_the_same_texts() {
    for (indexing, expected) in [
        ("input a | embed t | attribute", "input a, embed"),
        ("input a | embed | attribute | summary", "input a, embed"),
        ("input a | lowercase | embed t | attribute", "input a, lowercase, embed"),
        (
            "(input a || \"none\") . \" \" . input b | embed t | attribute",
            ". of 3, ( ) of 1, || of 2, input a, \"none\", \" \", input b, embed",
        ),
        ("input a | substring 0 5 | embed t | attribute", "input a, substring 0 5, embed"),
        (
            "if (input a == \"x\") { input a | embed t | attribute; } else { input b | embed t | attribute; }",
            "if equal 3 else 3, input a, \"x\", input a, embed, input b, embed",
        ),
    ] {
        let (_, application) = application("{}", indexing);
        let field = application.schemas[0].all_fields().find(|f| f.name.value == "tokens").unwrap();
        let steps = script_steps(field.indexing.as_ref().unwrap());
        assert_eq!(steps.join(", "), expected, "{indexing}");
    }
}

#[test]
fn descriptions_are_read_as_they_were_written() {
    let text = r#"{"format":1,"length":8,"start":101,"end":102,"texts":[{"of":"query","size":3,"tokenizer":"xxh3:0"},{"of":"document","size":2,"tokenizer":"xxh3:1","indexing":["input a","embed"]}]}"#;
    assert_eq!(RowEncoding::from_json(text).unwrap().to_json(), text);
    for (wrong, expected) in [
        ("", "EOF while parsing a value at line 1 column 0"),
        (r#"{"length":8}"#, "missing field `format` at line 1 column 12"),
        (r#"{"format":2,"lengths":8}"#, "its format is 2, and this stead reads 1"),
        (
            r#"{"format":1,"length":8,"start":101,"end":102,"texts":[],"more":1}"#,
            "unknown field `more`, expected one of `format`, `length`, `start`, `end`, `texts` at line 1 column 62",
        ),
    ] {
        assert_eq!(RowEncoding::from_json(wrong).unwrap_err(), expected, "{wrong}");
    }
}
