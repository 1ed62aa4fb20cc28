//! `stead store` as a user meets it: a backup of a server that goes on, what is damaged, and a server from the backup.
#![cfg(unix)]
#![allow(clippy::unwrap_used)] // a panic in a test is its report

use std::path::{Path, PathBuf};
use std::process::Output;

use serde_json::Value;

use crate::server::app::App;
use crate::server::{Server, stead};

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn store(verb: &str, folder: &Path, more: &[&str]) -> Output {
    stead(&[&["store", verb, folder.to_str().unwrap()], more].concat())
}

fn file(folder: &Path, ending: &str) -> PathBuf {
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<PathBuf> =
        files.filter(|path| path.to_string_lossy().ends_with(ending)).collect();
    files.sort();
    files.pop().unwrap_or_else(|| panic!("a file *{ending} in {}", folder.display()))
}

#[test]
fn a_backup_is_verified_and_restored() {
    let folder = tempfile::tempdir().unwrap();
    let (data, new) = (folder.path().join("data"), folder.path().join("new"));
    let schema = "schema item { document item {
        field n type int { indexing: attribute | summary }
        field text type string { indexing: summary } } }";

    let server = Server::start(&data);
    let target = ["--target", server.deploy.as_str()];
    let early = stead(&[&["store", "backup", "one"][..], &target].concat());
    assert_eq!(
        (early.status.code(), text(&early.stderr).contains("Unknown application")),
        (Some(1), true),
        "{early:?}"
    );
    App::new("item", schema).deploy(&server);
    let get = |server: &Server, n: u32| {
        let (_, answer) = server.request("GET", &format!("/document/v1/n/item/docid/{n}"), "");
        answer["fields"]["text"].as_str().map(str::to_owned)
    };
    for n in 0..50 {
        let body = format!(r#"{{"fields": {{"n": {n}, "text": "text of {n}"}}}}"#);
        server.request("POST", &format!("/document/v1/n/item/docid/{n}"), &body);
    }
    let backup = stead(&[&["store", "backup", "one"][..], &target].concat());
    assert_eq!(text(&backup.stdout), "backup one of 50 documents in backups/one\n", "{backup:?}");
    for (name, wrong) in
        [("one", "there is a backup one already"), ("../x", "is no name for a backup")]
    {
        let refused = stead(&[&["store", "backup", name][..], &target].concat());
        assert!(
            refused.status.code() == Some(1) && text(&refused.stderr).contains(wrong),
            "{refused:?}"
        );
    }
    // What comes later is not in it, and who has the folder is told.
    server.request("DELETE", "/document/v1/n/item/docid/7", "");
    assert_eq!(get(&server, 7), None);
    let held = store("verify", &data, &[]);
    assert!(
        held.status.code() == Some(1) && text(&held.stderr).contains("in use by another process"),
        "{held:?}"
    );
    drop(server);

    let whole = store("verify", &data, &[]);
    assert!(whole.status.success(), "{whole:?}");
    let backup = data.join("backups/one");
    let whole = store("verify", &backup, &["--json"]);
    let json: Value = serde_json::from_slice(&whole.stdout).unwrap();
    assert_eq!(
        (&json["opens"], &json["snapshots"][0]["documents"]["item"]),
        (&Value::Bool(true), &Value::from(50))
    );

    let restored = stead(&["store", "restore", backup.to_str().unwrap(), new.to_str().unwrap()]);
    assert!(text(&restored.stdout).starts_with("restored 50 documents"), "{restored:?}");
    let again = stead(&["store", "restore", backup.to_str().unwrap(), new.to_str().unwrap()]);
    assert!(text(&again.stderr).contains("expected an empty folder"), "{again:?}");
    let server = Server::start(&new);
    assert_eq!(get(&server, 7), Some("text of 7".to_owned()));
    drop(server);

    // A bit that has changed is found, named, and not restored.
    let pack = file(&backup.join("documents"), ".pack");
    let mut bytes = std::fs::read(&pack).unwrap();
    let last = bytes.len() - 1;
    bytes[last] ^= 4;
    std::fs::write(&pack, bytes).unwrap();
    let damaged = store("verify", &backup, &[]);
    let name = pack.file_name().unwrap().to_str().unwrap().to_owned();
    let told = text(&damaged.stderr);
    assert!(
        damaged.status.code() == Some(1)
            && told.contains(&format!("damaged: {name} is corrupt at byte")),
        "{told}"
    );
    let other = folder.path().join("other");
    let refused = stead(&["store", "restore", backup.to_str().unwrap(), other.to_str().unwrap()]);
    assert!(text(&refused.stderr).contains("nothing is restored"), "{refused:?}");
    assert!(!other.exists());
}
