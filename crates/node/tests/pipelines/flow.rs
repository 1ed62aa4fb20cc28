//! From the inputs of a pipeline to its outputs: joins and branches.

use super::server::{Server, diamond, node, pipeline, request, step, sums, values};
use std::time::Duration;
use stead_node::{Code, Param, VersionRef};

#[test]
fn fan_out_and_join() {
    let server = Server::new(&diamond());
    let answer = server.infer(request(&[("x", &[1.0, 2.0], &[2, 1])])).unwrap();
    let shape = vec![2, 1];
    assert_eq!(
        values(&answer),
        [
            ("d", shape.clone(), vec![-9.0, -9.0]),
            ("p", shape.clone(), vec![22.0, 36.0]),
            ("l", shape, vec![2.0, 3.0])
        ]
    );
    assert_eq!((&*answer.model, answer.version, &*answer.id), ("p", 1, "r"));
    // Versions of pipelines are ignored, and outputs can be chosen.
    let mut some = request(&[("x", &[1.0], &[1, 1])]);
    (some.version, some.outputs) = (VersionRef::Number(7), vec!["l".to_owned()]);
    let answer = server.infer(some).unwrap();
    assert_eq!(values(&answer), [("l", vec![1, 1], vec![2.0])]);
    let cases: [(&str, &[(&str, &[f32], &[usize])], &str); 4] = [
        ("missing", &[], "Missing input with specific name - Required input: x"),
        ("unknown", &[("z", &[1.0], &[1, 1])], "Unexpected input - model p has no input 'z'"),
        ("rank", &[("x", &[1.0], &[1])], "Invalid number of shape dimensions - Expected: (-1,1)"),
        ("shape", &[("x", &[1.0, 2.0], &[1, 2])], "Invalid input shape - Expected: (-1,1)"),
    ];
    for (label, inputs, start) in cases {
        let error = server.infer(request(inputs)).unwrap_err();
        assert_eq!(error.code, Code::InvalidArgument, "{label}");
        assert!(error.to_string().starts_with(start), "{label}: {error}");
    }
}

#[test]
fn branches_of_a_node() {
    // Three values of shape [1, 1], each of which runs through one node, and then together through another.
    let nodes = [
        node("split deep \"demultiply_count\": 3", "x=request.x", "y"),
        node("each ten", "x=split.y", "y"),
        node("all total \"gather_from_node\": \"split\"", "x=each.y", "y"),
    ];
    let input = request(&[("x", &[1.0, 2.0, 3.0], &[3, 1, 1])]);
    let server = Server::new(&pipeline("x", "", &nodes, "y=all.y"));
    let answer = server.infer(input.clone()).unwrap();
    assert_eq!(values(&answer), [("y", vec![1, 1], vec![336.0])]);
    // Without the gathering node the response gathers.
    let server = Server::new(&pipeline("x", "", &nodes[..2], "y=each.y s=split.y"));
    let answer = server.infer(input).unwrap();
    let shape = vec![3, 1, 1];
    assert_eq!(
        values(&answer),
        [("y", shape.clone(), vec![111.0, 112.0, 113.0]), ("s", shape, vec![101.0, 102.0, 103.0])]
    );
    let outputs: Vec<_> = server.metadata().1.into_iter().map(|(_, shape)| shape).collect();
    assert_eq!(outputs, [[3, -1, 1], [3, -1, 1]]);
    let error = server.infer(request(&[("x", &[1.0, 2.0], &[2, 1, 1])])).unwrap_err();
    assert_eq!(error.code, Code::InvalidArgument);
    assert!(
        error.to_string().starts_with(
            "Wrong dimension size. Should match demultiply count - expected: 3; actual: 2; pipeline: p; node: split"
        ),
        "{error}"
    );
}

/// The count comes from the request, and from a node.
#[test]
fn dynamic_branches() {
    let each = node("each ten", "x=request.x", "y");
    let split = node("split deep \"demultiply_count\": -1", "x=request.x", "y");
    let after = node("each ten", "x=split.y", "y");
    let cases = [
        ("request", pipeline("x", ", \"demultiply_count\": -1", &[each], "y=each.y"), 10.0),
        ("node", pipeline("x", "", &[split, after], "y=each.y"), 110.0),
    ];
    for (label, text, add) in cases {
        let server = Server::new(&text);
        for count in [1usize, 2, 300] {
            let given: Vec<f32> = (0..count).map(|i| i as f32).collect();
            let answer = server.infer(request(&[("x", &given, &[count, 1, 1])])).unwrap();
            let expected: Vec<f32> = given.iter().map(|v| v + add).collect();
            assert_eq!(values(&answer), [("y", vec![count, 1, 1], expected)], "{label}");
        }
        let error = server.infer(request(&[("x", &[], &[0, 1, 1])])).unwrap_err();
        assert_eq!(error.code, Code::NoContent, "{label}");
        assert!(error.to_string().starts_with("Pipeline execution aborted due to no content"));
        let many = request(&[("x", &[0.0; 10_001], &[10_001, 1, 1])]);
        assert_eq!(server.infer(many).unwrap_err().code, Code::ResourceExhausted, "{label}");
        assert_eq!(server.metadata().1, [("y".to_owned(), vec![-1, -1, 1])], "{label}");
    }
}

#[test]
fn branches_in_branches() {
    let nodes = [
        node("each deep \"demultiply_count\": 3", "x=request.x", "y"),
        node("inner ten", "x=each.y", "y"),
    ];
    let outer = pipeline("x", ", \"demultiply_count\": 2", &nodes, "y=inner.y");
    let server = Server::new(&outer);
    let given: Vec<f32> = (0..6).map(|i| i as f32).collect();
    let answer = server.infer(request(&[("x", &given, &[2, 3, 1, 1])])).unwrap();
    let expected = given.iter().map(|v| v + 110.0).collect();
    assert_eq!(values(&answer), [("y", vec![2, 3, 1, 1], expected)]);
    assert_eq!(server.metadata().0, [("x".to_owned(), vec![2, -1, -1, 1])]);
}

#[test]
fn deadlines_pass_through() {
    let server = Server::new(&sums());
    let mut late = request(&[("x", &[1.0], &[1, 1])]);
    late.parameters.insert("sequence_id".into(), Param::U64(1));
    late.parameters.insert("sequence_start".into(), Param::Bool(true));
    late.deadline = std::time::Instant::now().checked_sub(Duration::from_millis(1));
    assert_eq!(server.infer(late).unwrap_err().code, Code::DeadlineExceeded);
    assert_eq!(
        step(&server, 1, &["start"], None, 2.0),
        Ok(vec![2.0, 2.0, 3.0]),
        "nothing was left"
    );
}
