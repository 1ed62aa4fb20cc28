//! The collections that `stead evaluate` reads: of BEIR, of TREC, of MS MARCO, and documents as they are fed. Rankings are known: of
//! documents that have a word once the shorter ones stand first.
#![allow(clippy::unwrap_used)] // a panic in a test is its report

use std::fs;
use std::io::Write;

use serde_json::{Value, json};

use crate::server::app::App;
use crate::server::stead;

/// A folder with a package in `app`, whose documents have these fields of text.
struct Folder(tempfile::TempDir);

impl Folder {
    fn new(fields: &[&str]) -> Folder {
        let folder = Folder(tempfile::tempdir().unwrap());
        let texts: String = fields
            .iter()
            .map(|name| {
                format!(
                    "field {name} type string {{ indexing: index | summary\nindex: enable-bm25 }}\n"
                )
            })
            .collect();
        let score: Vec<String> = fields.iter().map(|name| format!("bm25({name})")).collect();
        let (all, score) = (fields.join(", "), score.join(" + "));
        let app = App::new(
            "page",
            format!(
                "schema page {{ document page {{ {texts}\nfield n type int {{ indexing: attribute | summary }} }}
  fieldset default {{ fields: {all} }}
  rank-profile words {{ first-phase {{ expression: {score} }} }}
  rank-profile up {{ first-phase {{ expression: attribute(n) }} }} }}"
            ),
        );
        folder.write("app/services.xml", &app.services);
        folder.write("app/schemas/page.sd", &app.schema);
        folder
    }

    fn path(&self, name: &str) -> String {
        self.0.path().join(name).to_str().unwrap().to_owned()
    }

    /// Writes a file, packed if it is called so, and says where it is.
    fn write(&self, name: &str, text: &str) -> String {
        let path = self.0.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let mut bytes = text.as_bytes().to_vec();
        if name.ends_with(".gz") {
            let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
            packed.write_all(&bytes).unwrap();
            bytes = packed.finish().unwrap();
        }
        fs::write(&path, bytes).unwrap();
        path.to_str().unwrap().to_owned()
    }

    /// The report of `stead evaluate app`, and what was told beside it. Flags that begin with `@` are files of this folder.
    fn evaluate(&self, flags: &str) -> (Value, String) {
        let (code, output, told) = self.run(&format!("{flags} --json"));
        assert_eq!(code, 0, "{told}");
        (serde_json::from_str(&output).unwrap(), told)
    }

    fn run(&self, flags: &str) -> (i32, String, String) {
        let flags: Vec<String> = flags
            .split_whitespace()
            .map(|flag| flag.strip_prefix('@').map_or(flag.to_owned(), |name| self.path(name)))
            .collect();
        let app = self.path("app");
        let mut args = vec!["evaluate", &app];
        args.extend(flags.iter().map(String::as_str));
        let output = stead(&args);
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
    }
}

fn score(report: &Value, query: usize, measure: &str) -> f64 {
    report["profiles"][0]["queries"][query]["scores"][measure].as_f64().unwrap()
}

/// Lines of documents that are put, with their bodies.
fn puts(documents: &[(&str, &str)]) -> String {
    let line = |(id, body): &(&str, &str)| json!({"put": id, "fields": {"body": body}}).to_string();
    documents.iter().map(line).collect::<Vec<_>>().join("\n")
}

#[test]
fn documents_of_a_package_lie_in_it_or_beside_it() {
    let folder = Folder::new(&["body"]);
    folder.write("q.jsonl", "{\"_id\": \"1\", \"text\": \"sea\"}\n");
    folder.write("qrels.txt", "1 0 a 1\n");
    let flags = "--queries @q.jsonl --qrels @qrels.txt";
    let (code, _, told) = folder.run(flags);
    assert_eq!(code, 64, "{told}");
    for part in ["documents.jsonl, docs.jsonl, corpus.jsonl", "--docs", "--target"] {
        assert!(told.contains(part), "{told}");
    }
    let sea = puts(&[("id:a:page::a", "the sea"), ("id:a:page::b", "a hill")]);
    for name in ["documents.jsonl", "app/docs.jsonl"] {
        folder.write(name, &sea);
        let (report, told) = folder.evaluate(flags);
        assert_eq!(score(&report, 0, "recall"), 1.0);
        assert!(
            told.contains(&format!("the documents are those of {}", folder.path(name))),
            "{told}"
        );
    }
}

#[test]
fn members_of_beir_become_the_fields_that_are_named() {
    let folder = Folder::new(&["title", "body"]);
    let corpus: String = [("a", "sea", ""), ("b", "hill", "by the sea"), ("c", "", "sand")]
        .iter()
        .map(|(id, title, text)| {
            let metadata = json!({});
            let line = json!({"_id": id, "title": title, "text": text, "metadata": metadata});
            line.to_string() + "\n"
        })
        .collect();
    folder.write("beir/corpus.jsonl.gz", &corpus);
    folder.write("beir/queries.jsonl", "{\"_id\": \"1\", \"text\": \"sea\"}\n");
    folder.write("beir/qrels/test.tsv", "query-id\tcorpus-id\tscore\n1\tb\t1\n");

    let (report, told) = folder.evaluate("--beir @beir");
    assert_eq!(score(&report, 0, "recall"), 0.0);
    let note = "no field takes text (2 of 3 documents); --field MEMBER=FIELD names one";
    assert_eq!(told.matches(note).count(), 1, "{told}");

    let (report, told) = folder.evaluate("--beir @beir --field text=body");
    assert_eq!(score(&report, 0, "recall"), 1.0);
    assert_eq!(told, "");

    let strange = folder.write("strange.jsonl", "{\"_id\": 1, \"headline\": \"sea\"}\n");
    for (flags, code, expected) in [
        (
            "--docs @strange.jsonl",
            1,
            format!(
                "{strange}:1: no member of the document is a field: it has headline, page has title, body, n"
            ),
        ),
        (
            "--field text=prose",
            1,
            "--field text=prose: there is no field prose: page has title, body, n".to_owned(),
        ),
        ("--field text", 64, "expected a member and a field, as text=body, found text".to_owned()),
        ("--schema post", 1, "expected --schema page, found post".to_owned()),
    ] {
        let (found, _, told) = folder.run(&format!("--beir @beir {flags}"));
        assert_eq!(found, code, "{told}");
        assert!(told.contains(&expected), "{told}");
    }
}

#[test]
fn documents_are_known_by_their_ids_or_the_ends_of_them() {
    let folder = Folder::new(&["body"]);
    let all = [
        ("id:a:page::x", "sea"),
        ("id:a:page:g=me:y:1", "sea salt"),
        ("id:a:page:n=7:z", "the sea has salt"),
    ];
    folder.write("documents.jsonl", &puts(&all));
    folder.write("q.tsv", "1\tsea\n");
    let recall = |qrels: &str| {
        folder.write("qrels.txt", qrels);
        let (report, told) = folder.evaluate("--queries @q.tsv --qrels @qrels.txt");
        (score(&report, 0, "recall"), told)
    };
    let whole = all.map(|(id, _)| format!("1 0 {id} 1\n")).concat();
    for qrels in ["1 0 x 1\n1 0 y:1 1\n1 0 z 1\n", &whole] {
        let (recall, told) = recall(qrels);
        assert_eq!(recall, 1.0, "{qrels}");
        assert!(!told.contains("judged documents"), "{told}");
    }
    let (recall, told) = recall("1 0 x 1\n1 0 id:b:page:g=me:y:1 1\n1 0 w 1\n2 0 v 1\n");
    assert_eq!(recall, 1.0 / 3.0);
    assert!(told.contains("note: 2 of 3 judged documents are not in "), "{told}");
    assert!(told.contains("as id:b:page:g=me:y:1"), "{told}");
}

#[test]
fn grades_have_fractions() {
    let folder = Folder::new(&["body"]);
    let all = [("id:a:page::x", "sea"), ("id:a:page::y", "sea and salt and sand")];
    folder.write("documents.jsonl", &puts(&all));
    folder.write("q.tsv", "1\tsea\n");
    folder.write("qrels.txt", "1 0 x 0.5\n1 0 y 1.0\n");
    let (report, _) = folder.evaluate("--queries @q.tsv --qrels @qrels.txt --profile words");
    let log = 3.0_f64.log2();
    let expected = (0.5 + 1.0 / log) / (1.0 + 0.5 / log);
    assert!((score(&report, 0, "nDCG@10") - expected).abs() < 1e-12, "{report}");
    assert_eq!(score(&report, 0, "MRR@10"), 1.0);
}

#[test]
fn files_of_trec_and_ms_marco_are_read_and_runs_written() {
    let folder = Folder::new(&["body"]);
    folder.write("collection.tsv.gz", "7\tsea\n8\tsea and salt and sand\n9\ta hill\n");
    folder.write(
        "topics.txt.gz",
        "<top>\n<num> Number: 301\n<title> Topic: the\nsea\n<desc> Description:\nwater\n</top>\n<top>\n<num> Number: 302\n<title> hill\n</top>\n",
    );
    folder.write("qrels.txt.gz", "301 0 8 1\n302 0 9 2\n");
    let files = "--docs @collection.tsv.gz --queries @topics.txt.gz --qrels @qrels.txt.gz";
    // "the" stands nowhere.
    let asked = "--parameter type=any";
    let (report, _) = folder.evaluate(&format!("{files} {asked} --profile words --run @words.run"));
    assert_eq!((score(&report, 0, "MRR@10"), score(&report, 1, "MRR@10")), (0.5, 1.0));
    let run = fs::read_to_string(folder.path("words.run")).unwrap();
    let rows: Vec<Vec<&str>> = run.lines().map(|line| line.split(' ').collect()).collect();
    let places: Vec<String> =
        rows.iter().map(|row| [&row[..4], &row[5..]].concat().join(" ")).collect();
    assert_eq!(places, ["301 Q0 7 1 words", "301 Q0 8 2 words", "302 Q0 9 1 words"]);
    let score_of = |row: usize| rows[row][4].parse::<f64>().unwrap();
    assert!(score_of(0) > score_of(1) && score_of(1) > 0.0, "{run}");

    // Scores that are the same would be put in the order of names.
    folder.evaluate(&format!(
        "{files} {asked} --profile up --profile words --run @up.run --run @b.run"
    ));
    assert_eq!(fs::read_to_string(folder.path("b.run")).unwrap(), run);
    let run = fs::read_to_string(folder.path("up.run")).unwrap();
    assert!(run.starts_with("301 Q0 ") && run.contains(" 2 0.5 up\n"), "{run}");

    let (code, _, told) = folder.run(&format!("{files} --run @a --run @b"));
    assert_eq!(
        (code, told.contains("expected one --run for each profile, found 2 for 1")),
        (64, true)
    );
    folder.write("broken.txt", "<top> <title> a </top>");
    let (code, _, told) =
        folder.run("--docs @collection.tsv.gz --qrels @qrels.txt.gz --queries @broken.txt");
    assert_eq!((code, told.contains("broken.txt: topic 1: expected <num>")), (1, true), "{told}");
}

#[test]
fn documents_may_stand_in_an_array() {
    let folder = Folder::new(&["body"]);
    let lines = puts(&[("id:a:page::x", "sea"), ("id:a:page::y", "a hill")]);
    folder.write("documents.json", &format!("\n[\n{}\n]\n", lines.replace('\n', ",\n")));
    folder.write("q.tsv", "1\thill\n");
    folder.write("qrels.txt", "1 0 y 1\n");
    let flags = "--queries @q.tsv --qrels @qrels.txt --docs";
    let (report, _) = folder.evaluate(&format!("{flags} @documents.json"));
    assert_eq!(score(&report, 0, "recall"), 1.0);
    folder.write("wrong.json", "[{\"put\": \"id:a:page::x\",\n \"fields\": {\"colour\": 1}}]");
    let (code, _, told) = folder.run(&format!("{flags} @wrong.json"));
    assert_eq!((code, told.contains("wrong.json:1: ")), (1, true), "{told}");
}

#[test]
fn more_hits_than_a_request_has_may_be_looked_at() {
    let folder = Folder::new(&["body"]);
    let documents: String = (1..=600)
        .map(|n| {
            json!({"put": format!("id:a:page::{n}"), "fields": {"n": n, "body": "sea"}}).to_string()
                + "\n"
        })
        .collect();
    folder.write("documents.jsonl", &documents);
    folder.write("qrels.txt", "1 0 600 1\n1 0 1 1\n");
    folder.write(
        "q.jsonl",
        "{\"_id\": 1, \"text\": \"any\", \"yql\": \"select * from page where true\"}\n",
    );
    for (hits, recall) in [(400, 0.5), (401, 0.5), (1000, 1.0)] {
        let flags = format!("--queries @q.jsonl --qrels @qrels.txt --profile up --hits {hits}");
        let (report, _) = folder.evaluate(&flags);
        assert_eq!(score(&report, 0, "recall"), recall, "{hits}");
    }
    // Texts are looked for by a weakAnd, which stops at a hundred documents of its own accord.
    folder.write("q.tsv", "1\tsea\n");
    let flags = "--queries @q.tsv --qrels @qrels.txt --profile up --hits 1000";
    let (report, _) = folder.evaluate(flags);
    assert_eq!(score(&report, 0, "recall"), 1.0);
}
