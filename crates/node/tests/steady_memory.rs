//! Sequences that have ended leave nothing behind (Triton's L0_memory_growth): however many there were, the process is as
//! large as before.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::print_stdout)] // a panic in a test is its report

use stead_node::{Embedded, InferRequest, NodeConfig, Param, Parameters, Protocol, VersionRef};
use stead_onnx::{ModelBuilder, ValueType, dims_of};
use stead_tensor::{DType, Tensor};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Sequences in the tests; `STEAD_SEQUENCES` makes them more.
const SEQUENCES: u64 = 10_000;

fn summator() -> Vec<u8> {
    let row = || ValueType::tensor(DType::F32, Some(dims_of(&["batch", "16"])));
    ModelBuilder::new(17)
        .input("x", DType::F32, &["batch", "16"])
        .input("sum", DType::F32, &["batch", "16"])
        .node("Add", &["x", "sum"], &["sum_out"])
        .node("Identity", &["sum_out"], &["y"])
        .output_of("y", row())
        .output_of("sum_out", row())
        .bytes()
}

/// Bytes of memory that the process holds.
fn resident() -> u64 {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap();
    text.split(' ').nth(1).unwrap().parse::<u64>().unwrap() * 4096
}

#[test]
fn ended_sequences_take_no_memory() {
    let asked = std::env::var("STEAD_SEQUENCES").ok().and_then(|n| n.parse().ok());
    let sequences = asked.unwrap_or(SEQUENCES);
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(folder.path().join("m/1")).unwrap();
    std::fs::write(folder.path().join("m/1/model.onnx"), summator()).unwrap();
    let config = r#"{"model_config_list": [{"config": {"name": "m", "base_path": "m", "stateful": true,
        "max_sequence_number": 64, "stead": {"ended_answer_ttl_ms": 20}}}]}"#;
    std::fs::write(folder.path().join("config.json"), config).unwrap();
    let config =
        NodeConfig { threads: Some(1), ..NodeConfig::path(folder.path().join("config.json")) };
    let node = Embedded::start(config).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let step = |id: u64, n: u64| {
        let flag = |on| Param::Bool(on);
        let request = InferRequest {
            model: "m".to_owned(),
            version: VersionRef::Latest,
            id: format!("request {id}"),
            inputs: vec![("x".to_owned(), Tensor::from_slice(&[1f32; 16], &[1, 16]).unwrap())],
            outputs: Vec::new(),
            parameters: Parameters::from([
                ("sequence_id".into(), Param::Str(format!("sequence {id}"))),
                ("sequence_start".into(), flag(n == 1)),
                ("sequence_end".into(), flag(n == 3)),
                ("sequence_step".into(), Param::U64(n)),
            ]),
            deadline: None,
            protocol: Protocol::KserveGrpc,
        };
        let answer = runtime.block_on(node.infer(request)).unwrap();
        assert_eq!(answer.outputs[0].1.as_slice::<f32>().unwrap()[0], n as f32);
    };
    let mut before = 0;
    for id in 0..sequences {
        (1..=3).for_each(|n| step(id, n));
        if id == sequences / 3 {
            before = resident();
        }
    }
    let grown = resident().saturating_sub(before);
    println!("{sequences} sequences: {} KiB more at the end than after a third", grown >> 10);
    assert!(grown < 8 << 20, "{grown} bytes more");
    let metrics = node.metrics().models[0].versions[0].sequences.unwrap();
    assert_eq!((metrics.active, metrics.counters.ended), (0, sequences));
}
