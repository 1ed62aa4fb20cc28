//! Generates the message types of TensorFlow; `protox` parses the schema, so that no `protoc` has to be installed.
#![allow(clippy::expect_used)] // a build script reports by panicking

fn main() {
    println!("cargo::rerun-if-changed=proto");
    let files = protox::compile(["tensorflow.proto"], ["proto"]).expect("the schema is valid");
    prost_build::Config::new()
        // In order, so that the inputs of a signature are.
        .btree_map(["."])
        .boxed(".tensorflow.AttrValue.value.tensor")
        .disable_comments(["."])
        .compile_fds(files)
        .expect("the schema's types can be generated");
}
