//! The wire types of both protocols, generated from `proto/` at build time.

/// KServe V2 / Open Inference Protocol with Triton's extensions, package `inference`.
#[allow(missing_docs, clippy::all)]
pub mod kserve {
    tonic::include_proto!("inference");
}

/// The TensorFlow messages that TensorFlow Serving's interface needs.
#[allow(missing_docs, clippy::all)]
pub mod tensorflow {
    tonic::include_proto!("tensorflow");

    /// Package `tensorflow.error`.
    pub mod error {
        tonic::include_proto!("tensorflow.error");
    }

    /// Package `tensorflow.serving`.
    pub mod serving {
        tonic::include_proto!("tensorflow.serving");
    }
}
