//! Model files of other formats, read into the same [`Model`] as ONNX.
//!
//! [`read`] takes the file or folder of a model and tells its [`Format`] by its name: `.onnx`, OpenVINO IR (`.xml` with
//! `.bin`), TensorFlow's SavedModel (`saved_model.pb` with `variables`) and frozen GraphDef (`.pb`).
//! What a format has and ONNX has not is lowered to nodes of ONNX, by one table for each format; variables,
//! which ONNX has not, become the nodes ReadValue and Assign of the domain `stead`, of which the engine makes states.
//!
//! ```
//! use stead_formats::{Format, openvino};
//! use stead_onnx::Limits;
//!
//! let xml = br#"<net name="twice" version="11"><layers>
//!   <layer id="0" name="x" type="Parameter" version="opset1"><data shape="?,2" element_type="f32"/>
//!     <output><port id="0" precision="FP32" names="x"><dim>-1</dim><dim>2</dim></port></output></layer>
//!   <layer id="1" name="y" type="Add" version="opset1">
//!     <input><port id="0" precision="FP32"><dim>-1</dim><dim>2</dim></port>
//!            <port id="1" precision="FP32"><dim>-1</dim><dim>2</dim></port></input>
//!     <output><port id="2" precision="FP32" names="y"><dim>-1</dim><dim>2</dim></port></output></layer>
//!   <layer id="2" name="r" type="Result" version="opset1">
//!     <input><port id="0" precision="FP32"><dim>-1</dim><dim>2</dim></port></input></layer>
//! </layers><edges>
//!   <edge from-layer="0" from-port="0" to-layer="1" to-port="0"/>
//!   <edge from-layer="0" from-port="0" to-layer="1" to-port="1"/>
//!   <edge from-layer="1" from-port="2" to-layer="2" to-port="0"/>
//! </edges></net>"#;
//! let model = openvino::from_bytes(xml, &[], &Limits::default())?;
//! assert_eq!(model.graph.inputs[0].name, "x");
//! assert_eq!(model.graph.nodes[0].op_type, "Add");
//! assert_eq!(Format::of("1/model.xml".as_ref()), Some(Format::OpenVino));
//! # Ok::<(), stead_formats::FormatError>(())
//! ```
#![forbid(unsafe_code)]

mod error;
mod format;
mod make;
pub mod openvino;
pub mod tensorflow;

pub use error::FormatError;
pub use format::{FORMATS, FileKind, Format, as_onnx, files, read};
