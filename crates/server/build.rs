//! Compiles the vendored interface definitions without `protoc`.

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("cargo:rerun-if-changed=proto");
    let descriptors = protox::compile(
        [
            "grpc_service.proto",
            "tensorflow_serving/apis/prediction_service.proto",
            "tensorflow_serving/apis/model_service.proto",
        ],
        ["proto/kserve", "proto"],
    )?;
    tonic_prost_build::configure()
        // Tensors must not be copied on their way through: `bytes` fields share the message's buffer.
        .bytes(".")
        // Answers list tensors in one order, whatever the hash seed, and the few parameters of a request need no hashes.
        .btree_map(".")
        .emit_rerun_if_changed(false)
        .compile_fds(descriptors)?;
    Ok(())
}
