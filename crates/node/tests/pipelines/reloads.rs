//! Pipelines while models and configurations change, and after a restart.

use super::models::adder;
use super::server::{MODELS, Server, diamond, request, step, sums, values};
use stead_node::{Code, Parameters};

#[test]
fn reloads() {
    let server = Server::new(&diamond());
    let call = || {
        let answer = server.infer(request(&[("x", &[1.0], &[1, 1])])).map_err(|e| e.to_string())?;
        Ok::<_, String>(values(&answer)[0].2[0])
    };
    assert_eq!(call(), Ok(-9.0));
    // Another wiring.
    let swapped = diamond().replace("\"version\": 1", "\"version\": 2");
    assert_eq!(server.reload(MODELS, &swapped), Vec::<String>::new());
    assert_eq!(call(), Ok(-8.0));
    // A model goes away, and comes back.
    let without: Vec<_> = MODELS.iter().copied().filter(|m| m.0 != "ten").collect();
    let failures = server.reload(&without, &swapped);
    assert_eq!(failures.len(), 1);
    assert!(
        failures[0].contains("node \"right\": ") && failures[0].contains("model: ten"),
        "{failures:?}"
    );
    let error = call().unwrap_err();
    assert!(
        error.starts_with("Pipeline is not loaded yet - pipeline: p; ") && error.contains("ten"),
        "{error}"
    );
    assert_eq!(server.reload(MODELS, &swapped), Vec::<String>::new());
    assert_eq!(call(), Ok(-8.0));
    // A model is unloaded and loaded by request.
    server.node.unload_model("ten").unwrap();
    assert!(call().unwrap_err().contains("ten"));
    server.node.load_model("ten", &Parameters::new()).unwrap();
    assert_eq!(call(), Ok(-8.0));
    // A new version of a model without a version of its own.
    let path = server.folder.path().join("models/ten/2");
    std::fs::create_dir_all(&path).unwrap();
    std::fs::write(path.join("model.onnx"), adder(20.0, &["n", "1"])).unwrap();
    assert_eq!(server.reload(MODELS, &swapped), Vec::<String>::new());
    assert_eq!(call(), Ok(-18.0));
    // The pipeline itself is unloaded, and goes.
    server.node.unload_model("p").unwrap();
    assert!(call().is_err());
    server.reload(MODELS, &swapped);
    assert!(call().is_err());
    server.node.load_model("p", &Parameters::new()).unwrap();
    assert_eq!(call(), Ok(-18.0));
    server.reload(MODELS, "");
    assert!(call().unwrap_err().contains("retired"));
    assert!(server.node.repository_index(false).iter().all(|e| e.name != "p"));
}

#[test]
fn sequences_outlive_a_reload() {
    let server = Server::new(&sums());
    step(&server, 1, &["start"], None, 1.0).unwrap();
    let swapped = sums().replace("\"version\": 1", "\"version\": 2");
    assert_eq!(server.reload(MODELS, &swapped), Vec::<String>::new());
    assert_eq!(step(&server, 1, &[], None, 1.0), Ok(vec![2.0, 3.0, 2.0]), "as it began");
    assert_eq!(step(&server, 2, &["start"], None, 1.0), Ok(vec![1.0, 1.0, 3.0]), "as it is now");
    assert_eq!(step(&server, 1, &["end"], None, 1.0), Ok(vec![3.0, 6.0, 2.0]));
}

/// A restart finds the states of all nodes as they were after the same step.
#[test]
fn sequences_outlive_a_restart() {
    let durable = r#", "stateful": true, "stead": {"state_durability": "every_step"}"#;
    let models: Vec<_> =
        MODELS.iter().map(|(n, o)| (*n, if *n == "log" { durable } else { *o })).collect();
    let states = tempfile::tempdir().unwrap();
    let path = || Some(states.path().join("states"));
    let server = Server::with(&models, &sums(), |_| {}, path());
    assert_eq!(step(&server, 7, &["start"], Some(1), 1.0), Ok(vec![1.0, 1.0, 2.0]));
    assert_eq!(step(&server, 7, &[], Some(2), 2.0), Ok(vec![3.0, 4.0, 3.0]));
    assert_eq!(step(&server, 7, &[], Some(3), 100.0), Err(Code::InvalidArgument));
    drop(server);
    let server = Server::with(&models, &sums(), |_| {}, path());
    assert_eq!(step(&server, 7, &[], Some(2), 2.0), Ok(vec![3.0, 4.0, 3.0]), "the stored answer");
    assert_eq!(step(&server, 7, &["end"], Some(3), 1.0), Ok(vec![4.0, 8.0, 2.0]));
}
