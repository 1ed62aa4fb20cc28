//! `stead serve --data` and `stead deploy` as a user meets them.
#![cfg(unix)]
#![allow(clippy::unwrap_used)] // a panic in a test is its report

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::server::{Server, free_port, stead};

fn package() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/ranking/app")
}

#[test]
fn a_package_is_deployed_and_survives_a_kill() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path());
    let app = package();
    let app = app.to_str().unwrap();
    let first = stead(&["deploy", app, "--target", &server.deploy]);
    let told = String::from_utf8_lossy(&first.stdout).into_owned();
    assert_eq!(told, "Session 1 for tenant 'default' prepared and activated.\n", "{first:?}");

    let json = stead(&["deploy", app, "--json", "--target", &server.deploy]);
    let json: Value = serde_json::from_slice(&json.stdout).unwrap();
    assert_eq!((&json["session-id"], &json["activated"]), (&Value::from("2"), &Value::Bool(true)));

    // What is broken is told with its place and changes nothing.
    let broken = tempfile::tempdir().unwrap();
    std::fs::write(broken.path().join("services.xml"), "<services").unwrap();
    let refused = stead(&["deploy", broken.path().to_str().unwrap(), "--target", &server.deploy]);
    let told = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!(refused.status.code(), Some(1));
    assert!(told.contains("services.xml:1:"), "{told}");

    drop(server);
    let server = Server::start(data.path());
    let third = stead(&["deploy", app, "--json", "--target", &server.deploy]);
    let third: Value = serde_json::from_slice(&third.stdout).unwrap();
    assert_eq!(third["session-id"], "3", "the sessions before the kill are known");
}

#[test]
fn two_servers_do_not_share_a_folder() {
    let data = tempfile::tempdir().unwrap();
    let _first = Server::start(data.path());
    let second =
        stead(&["serve", "--data", data.path().to_str().unwrap(), "--rest_port", &free_port()]);
    let told = String::from_utf8_lossy(&second.stderr).into_owned();
    assert_eq!(second.status.code(), Some(1), "{told}");
    assert!(told.contains("another process holds the folder of deployments"), "{told}");
}
