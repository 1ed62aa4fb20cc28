//! Names of element types in KServe V2 messages and in Triton's model configuration.

use stead_tensor::DType;

/// Name in messages, name and number in Triton's `DataType`, element type.
const DATATYPES: &[(&str, &str, i32, DType)] = &[
    ("BOOL", "TYPE_BOOL", 1, DType::Bool),
    ("UINT8", "TYPE_UINT8", 2, DType::U8),
    ("UINT16", "TYPE_UINT16", 3, DType::U16),
    ("UINT32", "TYPE_UINT32", 4, DType::U32),
    ("UINT64", "TYPE_UINT64", 5, DType::U64),
    ("INT8", "TYPE_INT8", 6, DType::I8),
    ("INT16", "TYPE_INT16", 7, DType::I16),
    ("INT32", "TYPE_INT32", 8, DType::I32),
    ("INT64", "TYPE_INT64", 9, DType::I64),
    ("FP16", "TYPE_FP16", 10, DType::F16),
    ("FP32", "TYPE_FP32", 11, DType::F32),
    ("FP64", "TYPE_FP64", 12, DType::F64),
    ("BYTES", "TYPE_STRING", 13, DType::String),
    ("BF16", "TYPE_BF16", 14, DType::BF16),
];

/// The element type of a datatype's name, if there is one.
pub fn dtype_of(name: &str) -> Option<DType> {
    DATATYPES.iter().find(|row| row.0 == name).map(|row| row.3)
}

/// The name of an element type in messages. Types that the protocol does not know keep ONNX's name in
/// capitals, so that metadata stays readable.
pub fn datatype_name(dtype: DType) -> String {
    match DATATYPES.iter().find(|row| row.3 == dtype) {
        Some(row) => row.0.to_owned(),
        None => dtype.name().to_uppercase(),
    }
}

/// The name of an element type in Triton's model configuration.
pub fn config_name(dtype: DType) -> &'static str {
    DATATYPES.iter().find(|row| row.3 == dtype).map_or("TYPE_INVALID", |row| row.1)
}

/// The number of an element type in Triton's model configuration.
pub fn config_number(dtype: DType) -> i32 {
    DATATYPES.iter().find(|row| row.3 == dtype).map_or(0, |row| row.2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip() {
        for row in DATATYPES {
            assert_eq!(dtype_of(row.0), Some(row.3));
            assert_eq!(datatype_name(row.3), row.0);
            assert_eq!(config_name(row.3), row.1);
        }
        assert_eq!(dtype_of("fp32"), None);
        assert_eq!(datatype_name(DType::U4), "U4");
        assert_eq!(config_number(DType::U4), 0);
    }
}
