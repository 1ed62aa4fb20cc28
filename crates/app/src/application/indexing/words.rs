//! What the words of the indexing language take and give.

use stead_expr::{CellType, Dimension, TensorType};

use crate::schema::FieldType;

/// A word.
pub(super) struct Word {
    name: &'static str,
    /// Whether it has a value without one before it.
    pub(super) is_source: bool,
    /// The types that it takes; any if there are none.
    pub(super) takes: &'static [FieldType],
    pub(super) gives: &'static Gives,
}

/// What a word gives.
pub(super) enum Gives {
    /// A value of this type.
    Type(FieldType),
    /// One of the type that it was given.
    Same,
    /// One whose type follows from where it goes.
    Unknown,
    /// An array with what it was given.
    ArrayOf,
    /// A weighted set with what it was given.
    SetOf,
    /// `array<string>`
    Texts,
    /// A string of the elements of an array.
    Joined,
    /// A value of a map.
    Entry,
    /// A tensor of bits in bytes.
    Packed,
    /// A tensor of the same dimensions.
    Tensor,
}

const ANY: &[FieldType] = &[];
const TEXT: &[FieldType] = &[FieldType::String];
const LONG: &[FieldType] = &[FieldType::Long];

const fn word(
    name: &'static str,
    is_source: bool,
    takes: &'static [FieldType],
    gives: &'static Gives,
) -> Word {
    Word { name, is_source, takes, gives }
}

const WORDS: &[Word] = &[
    word("base64decode", false, TEXT, &Gives::Type(FieldType::Long)),
    word("base64encode", false, LONG, &Gives::Type(FieldType::String)),
    word("binarize", false, ANY, &Gives::Tensor),
    word("chunk", false, TEXT, &Gives::Texts),
    word("clear_state", true, ANY, &Gives::Unknown),
    word("documentid", true, ANY, &Gives::Type(FieldType::String)),
    word("echo", false, ANY, &Gives::Same),
    word("embed", false, ANY, &Gives::Unknown),
    word("exact", false, ANY, &Gives::Same),
    word("flatten", false, TEXT, &Gives::Type(FieldType::String)),
    word("generate", false, ANY, &Gives::Unknown),
    word("get_language", true, ANY, &Gives::Type(FieldType::String)),
    word("get_value", false, ANY, &Gives::Entry),
    word("get_var", true, ANY, &Gives::Unknown),
    word("hash", false, TEXT, &Gives::Unknown),
    word("hex_decode", false, TEXT, &Gives::Type(FieldType::Long)),
    word("hex_encode", false, LONG, &Gives::Type(FieldType::String)),
    word("hexdecode", false, TEXT, &Gives::Type(FieldType::Long)),
    word("hexencode", false, LONG, &Gives::Type(FieldType::String)),
    word("hostname", true, ANY, &Gives::Type(FieldType::String)),
    word("input", true, ANY, &Gives::Unknown),
    word("join", false, ANY, &Gives::Joined),
    word("lowercase", false, TEXT, &Gives::Type(FieldType::String)),
    word("ngram", false, TEXT, &Gives::Type(FieldType::String)),
    word("normalize", false, TEXT, &Gives::Type(FieldType::String)),
    word("now", true, ANY, &Gives::Type(FieldType::Long)),
    word("optimize_predicate", false, ANY, &Gives::Same),
    word("pack_bits", false, ANY, &Gives::Packed),
    word("random", true, ANY, &Gives::Type(FieldType::Int)),
    word("set_language", false, ANY, &Gives::Same),
    word("split", false, TEXT, &Gives::Texts),
    word("substring", false, TEXT, &Gives::Type(FieldType::String)),
    word("this", false, ANY, &Gives::Same),
    word("to_array", false, ANY, &Gives::ArrayOf),
    word("to_bool", false, ANY, &Gives::Type(FieldType::Bool)),
    word("to_byte", false, ANY, &Gives::Type(FieldType::Byte)),
    word("to_double", false, ANY, &Gives::Type(FieldType::Double)),
    word("to_epoch_second", false, TEXT, &Gives::Type(FieldType::Long)),
    word("to_float", false, ANY, &Gives::Type(FieldType::Float)),
    word("to_int", false, ANY, &Gives::Type(FieldType::Int)),
    word("to_long", false, ANY, &Gives::Type(FieldType::Long)),
    word("to_pos", false, TEXT, &Gives::Type(FieldType::Position)),
    word("to_string", false, ANY, &Gives::Type(FieldType::String)),
    word("to_uri", false, TEXT, &Gives::Type(FieldType::Uri)),
    word("to_wset", false, ANY, &Gives::SetOf),
    word("tokenize", false, ANY, &Gives::Same),
    word("trim", false, TEXT, &Gives::Type(FieldType::String)),
    word("uri", false, TEXT, &Gives::Type(FieldType::Uri)),
    word("zcurve", false, &[FieldType::Position], &Gives::Type(FieldType::Long)),
];

/// What is known of a word.
pub(super) fn find(name: &str) -> Option<&'static Word> {
    WORDS.iter().find(|w| w.name == name)
}

/// The word that makes a value of a type.
pub(super) fn conversion(kind: &FieldType) -> Option<&'static str> {
    Some(match kind {
        FieldType::Bool => "to_bool",
        FieldType::Byte => "to_byte",
        FieldType::Int => "to_int",
        FieldType::Long => "to_long",
        FieldType::Float => "to_float",
        FieldType::Double => "to_double",
        FieldType::String => "to_string",
        FieldType::Position => "to_pos",
        FieldType::Array(_) => "to_array",
        FieldType::WeightedSet(_) => "to_wset",
        _ => return None,
    })
}

/// Whether numbers of a type are added and multiplied.
pub(super) fn is_arithmetic(kind: &FieldType) -> bool {
    kind.is_number() && *kind != FieldType::Bool
}

/// The type of a sum or product.
pub(super) fn wider(left: &FieldType, right: &FieldType) -> FieldType {
    let has = |kind: FieldType| *left == kind || *right == kind;
    if has(FieldType::Double) {
        FieldType::Double
    } else if has(FieldType::Float) || has(FieldType::Float16) {
        FieldType::Float
    } else if has(FieldType::Long) {
        FieldType::Long
    } else {
        FieldType::Int
    }
}

/// The type of a tensor whose bits are packed.
pub(super) fn packed(kind: &TensorType) -> Option<FieldType> {
    let pack = |d: &Dimension| match d.size() {
        Some(size) => Dimension::indexed(&d.name, size.div_ceil(8)),
        None => d.clone(),
    };
    let dimensions = kind.dimensions().iter().map(pack).collect();
    TensorType::new(CellType::Int8, dimensions).ok().map(FieldType::Tensor)
}
