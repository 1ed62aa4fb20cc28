//! stead-onnx
