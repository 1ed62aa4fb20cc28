//! `stead check` as a user meets it.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::process::{Command, Output};

fn check(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_stead")).arg("check").args(args).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

const SERVICES: &str = "<services version='1.0'>
  <container id='default' version='1.0'>
    <search/><document-api/>
    <component id='rewriter' class='ai.example.Rewriter' bundle='app'/>
  </container>
  <content id='music' version='1.0'>
    <redundancy>2</redundancy>
    <documents><document type='music' mode='index'/></documents>
  </content>
</services>
";

const SCHEMA: &str = "schema music {
  document music {
    field title type string { indexing: index | summary }
    field vector type tensor<float>(x[2]) { indexing: attribute }
  }
  rank-profile near inherits default {
    inputs { query(q) tensor<float>(x[2]) }
    function score() { expression: sum(query(q) * attribute(vector)) }
    first-phase { expression: score }
  }
}
";

#[test]
fn a_package_is_described_and_its_errors_are_told() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("schemas")).unwrap();
    fs::write(folder.path().join("schemas/music.sd"), SCHEMA).unwrap();
    fs::write(folder.path().join("services.xml"), SERVICES).unwrap();
    let path = folder.path().to_str().unwrap();

    let refused = check(&[path]);
    assert_eq!(refused.status.code(), Some(1));
    assert_eq!(
        text(&refused.stderr),
        "services.xml:4:5: component rewriter is the Java class ai.example.Rewriter of bundle app, which stead does not run; python=\"module:Class\" in its place names a class in Python; --ignore-components leaves it out\n1 error, 0 warnings\n"
    );

    let taken = check(&["--ignore-components", path]);
    assert_eq!(taken.status.code(), Some(0));
    let out = text(&taken.stdout);
    for line in [
        "  field title string: index, summary",
        "  field vector tensor<float>(x[2]): attribute",
        "  rank-profile near inherits default",
        "    query(q) tensor<float>(x[2])",
        "    function score() double",
        "    first-phase score",
        "container default: 1 node, search, document-api",
        "content music: 1 node, redundancy 2",
    ] {
        assert!(out.lines().any(|l| l == line), "{line} in {out}");
    }

    let broken =
        SCHEMA.replace("first-phase { expression: score }", "first-phase { expression: query(q) }");
    fs::write(folder.path().join("schemas/music.sd"), broken).unwrap();
    let json = check(&["--json", "--ignore-components", path]);
    assert_eq!(json.status.code(), Some(1));
    let json: serde_json::Value = serde_json::from_slice(&json.stdout).unwrap();
    assert_eq!(json["ok"], false);
    assert_eq!(
        json["errors"],
        serde_json::json!([{
            "file": "schemas/music.sd", "line": 9, "column": 31,
            "text": "first-phase must be a number, found a tensor<float>(x[2]); reduce its dimensions (x), such as by sum(...)",
        }])
    );
    assert_eq!(json["schemas"][0]["rankProfiles"][0]["functions"]["score"], "double");
}

#[test]
fn what_is_no_package_fails() {
    let file = tempfile::NamedTempFile::new().unwrap();
    fs::write(file.path(), "text").unwrap();
    let output = check(&[file.path().to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(
        text(&output.stderr),
        "error: expected a zip or a tar.gz, found a file that is neither\n"
    );
}

#[test]
fn a_network_that_runs_for_one_document_at_a_time_is_told_with_its_node() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("schemas")).unwrap();
    let model = "  rank-profile net {
    onnx-model net {
      file: mixing.onnx
      input x: attribute(vector)
    }
    first-phase { expression: sum(onnx(net)) }
  }
}
";
    let schema = SCHEMA.replace("(x[2]) { indexing", "(d0[1],d1[2]) { indexing");
    let near = schema.find("  rank-profile near").unwrap();
    let schema = format!("{}{model}", &schema[..near]);
    fs::write(folder.path().join("schemas/music.sd"), schema).unwrap();
    let services =
        SERVICES.replace("<component id='rewriter' class='ai.example.Rewriter' bundle='app'/>", "");
    fs::write(folder.path().join("services.xml"), services).unwrap();
    let data = concat!(env!("CARGO_MANIFEST_DIR"), "/../search/tests/data/onnx/mixing.onnx");
    fs::copy(data, folder.path().join("mixing.onnx")).unwrap();
    let checked = check(&["--quiet", folder.path().to_str().unwrap()]);
    assert_eq!(checked.status.code(), Some(0));
    assert_eq!(
        text(&checked.stderr),
        "schemas/music.sd:7:16: warning: onnx-model net runs for one document at a time: \
         output \"y\" is another for two rows than for each of them alone; \
         Softmax node of \"y\" works along the axis of the rows\n0 errors, 1 warning\n"
    );
}

#[test]
fn a_damaged_model_of_significance_is_told_with_its_place() {
    const SERVICES: &str = "<services version='1.0'>
  <container id='default' version='1.0'>
    <search><significance><model path='rare/en.json'/></significance></search>
  </container>
  <content id='music' version='1.0'>
    <redundancy>1</redundancy>
    <documents><document type='music' mode='index'/></documents>
  </content>
</services>
";
    let folder = tempfile::tempdir().unwrap();
    for name in ["schemas", "rare"] {
        fs::create_dir(folder.path().join(name)).unwrap();
    }
    fs::write(folder.path().join("schemas/music.sd"), SCHEMA).unwrap();
    fs::write(folder.path().join("services.xml"), SERVICES).unwrap();
    let path = folder.path().to_str().unwrap();
    const MODEL: &str = r#"{"version": "1.0", "id": "a", "description": "", "languages":
        {"en": {"description": "", "document-count": 10, "document-frequencies": {"and": 9}}}}"#;
    for (label, model, told) in [
        ("missing", None, "rare/en.json: no such file\n1 error, 0 warnings\n"),
        ("cut off", Some(&MODEL[..MODEL.len() - 20]), "rare/en.json: EOF while parsing"),
        ("without counts", Some(r#"{"languages": {"en": {}}}"#), "missing field `document-count`"),
        ("whole", Some(MODEL), ""),
    ] {
        if let Some(model) = model {
            fs::write(folder.path().join("rare/en.json"), model).unwrap();
        }
        let checked = check(&[path]);
        let errors = text(&checked.stderr);
        assert_eq!(checked.status.success(), told.is_empty(), "{label}: {errors}");
        let begins = "services.xml:3:27: model of significance: ";
        assert!(told.is_empty() || errors.starts_with(begins), "{label}: {errors}");
        assert!(errors.contains(told), "{label}: {errors}");
    }
}
