//! TensorFlow's names and numbers of element types.

use crate::proto::tensorflow::DataType;
use stead_tensor::DType;

const TYPES: &[(DataType, DType)] = &[
    (DataType::DtFloat, DType::F32),
    (DataType::DtDouble, DType::F64),
    (DataType::DtInt32, DType::I32),
    (DataType::DtUint8, DType::U8),
    (DataType::DtInt16, DType::I16),
    (DataType::DtInt8, DType::I8),
    (DataType::DtString, DType::String),
    (DataType::DtComplex64, DType::C64),
    (DataType::DtInt64, DType::I64),
    (DataType::DtBool, DType::Bool),
    (DataType::DtBfloat16, DType::BF16),
    (DataType::DtUint16, DType::U16),
    (DataType::DtComplex128, DType::C128),
    (DataType::DtHalf, DType::F16),
    (DataType::DtUint32, DType::U32),
    (DataType::DtUint64, DType::U64),
];

/// The element type of a TensorFlow number, if there is one.
pub fn dtype_of(number: i32) -> Option<DType> {
    TYPES.iter().find(|row| row.0 as i32 == number).map(|row| row.1)
}

/// The TensorFlow type of an element type; `DT_INVALID` for ONNX's small ones.
pub fn data_type(dtype: DType) -> DataType {
    TYPES.iter().find(|row| row.1 == dtype).map_or(DataType::DtInvalid, |row| row.0)
}
