//! Generates the message types of the ONNX format from the vendored `.proto` files; `protox` parses them,
//! so that no `protoc` has to be installed.
#![allow(clippy::expect_used)] // a build script reports by panicking

fn main() {
    println!("cargo::rerun-if-changed=proto");
    let files =
        protox::compile(["onnx/onnx-data.proto"], ["proto"]).expect("the vendored schema is valid");
    prost_build::Config::new()
        // The bytes of weights are taken out of the file's buffer without a copy.
        .bytes([".onnx.TensorProto.raw_data"])
        // Most attributes are one number; held inline these would make each of them 2 kB.
        .boxed(".onnx.AttributeProto.t")
        .boxed(".onnx.AttributeProto.g")
        .boxed(".onnx.AttributeProto.sparse_tensor")
        .boxed(".onnx.AttributeProto.tp")
        // The schema's comments are not ours and would be taken for doc tests.
        .disable_comments(["."])
        .compile_fds(files)
        .expect("the schema's types can be generated");
}
