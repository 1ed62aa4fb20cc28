//! What a pipeline is from outside: described, metered and refused as a model is.

use super::server::{Server, diamond, node, pipeline, request};
use stead_node::{Code, IndexState, VersionRef, VersionState};

#[test]
fn a_pipeline_is_described_and_metered_like_a_model() {
    let server = Server::new(&diamond());
    server.infer(request(&[("x", &[1.0], &[1, 1])])).unwrap();
    server.infer(request(&[])).unwrap_err();
    let (inputs, outputs) = server.metadata();
    assert_eq!(inputs, [("x".to_owned(), vec![-1, 1])]);
    assert_eq!(outputs.iter().map(|o| &*o.0).collect::<Vec<_>>(), ["d", "p", "l"]);
    assert!(server.node.model_ready("p", &VersionRef::Number(3)));
    let config = server.node.model_config("p", &VersionRef::Latest).unwrap();
    let parameters: Vec<_> = config.parameters.iter().map(|(n, v)| format!("{n}: {v}")).collect();
    assert_eq!(
        parameters,
        [
            "node.left: model one, version 1",
            "node.right: model ten, version 1",
            "node.join: model two, version 1"
        ]
    );
    let status = server.node.model_status("p", &VersionRef::Number(9)).unwrap();
    assert_eq!((status[0].version, status[0].state), (1, VersionState::Available));
    let index = server.node.repository_index(true);
    assert!(index.iter().any(|e| e.name == "p" && e.state == Some(IndexState::Ready)));
    let statistics = server.node.statistics(Some("p"), &VersionRef::Latest).unwrap();
    assert_eq!((statistics[0].success.count, statistics[0].fail.count), (1, 1));
    assert_eq!((statistics[0].inference_count, statistics[0].execution_count), (1, 1));
    let metrics = server.node.metrics();
    let row = metrics.models.iter().find(|m| m.name == "p").unwrap();
    let calls: u64 = row.versions[0].calls.iter().map(|(_, success, _)| success).sum();
    assert_eq!(calls, 1);
}

#[test]
fn pipelines_that_do_not_fit_their_models() {
    let base = "UNKNOWN - /pipeline_config_list/0";
    let split = "split deep \"demultiply_count\": 3";
    let whole = |nodes: &[String], out: &str| pipeline("x", "", nodes, out);
    let cases = [
        (
            "model",
            whole(&[node("a none", "x=request.x", "y")], "y=a.y"),
            "/nodes/0/model_name: Pipeline definition has reference to missing model - node \"a\": there is no model \"none\"",
        ),
        (
            "version",
            whole(&[node("a one \"version\": 3", "x=request.x", "y")], "y=a.y"),
            "/nodes/0/model_name: Pipeline definition has reference to missing model - node \"a\": Model with requested version is not found - model: one; version: 3",
        ),
        (
            "input",
            whole(&[node("a one", "z=request.x", "y")], "y=a.y"),
            "/nodes/0/inputs/0/z: Pipeline definition has connection to non existing model input - model \"one\" has no input \"z\"; it has: x",
        ),
        (
            "output",
            whole(&[node("a one", "x=request.x", "z")], "y=a.z"),
            "/nodes/0/outputs/0/data_item: Pipeline definition has reference to missing model output - model \"one\" has no output \"z\"; it has: y",
        ),
        (
            "open input",
            whole(&[node("a two", "a=request.x", "product")], "y=a.product"),
            "/nodes/0/inputs: Pipeline definition does not have connections for all inputs of underlying models - node \"a\", model \"two\": b",
        ),
        (
            "shape",
            whole(&[node("a one", "x=request.x", "y"), node("b total", "x=a.y", "y")], "y=b.y"),
            "/nodes/1/inputs/0/x: shape of input \"x\" and of what node \"a\" gives differ - expected: (-1,-1,1); actual: (-1,1)",
        ),
        (
            "metadata",
            whole(
                &[node("a one", "x=request.x", "y"), node("b total", "x=request.x", "y")],
                "y=a.y z=b.y",
            ),
            "/nodes/1/inputs/0/x: Multiple nodes connected to the same pipeline input require different tensor metadata - \"x\": (-1,1) and (-1,-1,1)",
        ),
        (
            "state",
            whole(&[node(split, "x=request.x", "y"), node("s sum", "x=split.y", "y")], "y=s.y"),
            "/nodes/1: node \"s\" runs in the branches of a demultiplexer, which the stateful model \"sum\" cannot",
        ),
        (
            "hidden input",
            whole(&[node("s sum", "x=request.x sum=request.x", "y")], "y=s.y"),
            "/nodes/0/inputs/1/sum: Pipeline definition has connection to non existing model input - model \"sum\" has no input \"sum\"; it has: x",
        ),
        (
            "count",
            whole(&[node("s sum \"demultiply_count\": 3", "x=request.x", "y")], "y=s.y"),
            "/nodes/0/outputs/0: Demultiply count does not match tensor first dimension - demultiply_count: 3; output \"y\" of model \"sum\" has (1,1)",
        ),
    ];
    for (label, text, expected) in cases {
        let server = Server::new(&text);
        let problem = server.problem();
        assert!(problem.starts_with(&format!("{base}{expected}")), "{label}: {problem}");
        assert!(!server.node.model_ready("p", &VersionRef::Latest), "{label}");
        let error = server.infer(request(&[])).unwrap_err();
        assert_eq!(error.code, Code::NotLoaded, "{label}");
        assert!(server.node.model_ready("two", &VersionRef::Latest), "others are served: {label}");
    }
    let refusing = [("sum", r#", "stateful": true, "stead": {"ovms_compat": true}"#)];
    let server = Server::of(&refusing, &whole(&[node("s sum", "x=request.x", "y")], "y=s.y"));
    assert!(server.problem().contains("Stateful model cannot be subscribed to pipeline"));
}
