//! Tensors of every element type, to Python and back, in both kinds of interpreters.
#![allow(clippy::unwrap_used)] // a panic in a test is its report

mod common;

use common::{both, load, on_every_numpy, with_ml_dtypes, without_numpy};
use stead_python::{Call, CallError, Deadline, Interpreter, Value};
use stead_tensor::{AlignedBuf, DType, Shape, Tensor};

/// Types of numpy, `bf16` and strings.
const TYPES: [DType; 16] = [
    DType::F32,
    DType::F64,
    DType::F16,
    DType::I8,
    DType::I16,
    DType::I32,
    DType::I64,
    DType::U8,
    DType::U16,
    DType::U32,
    DType::U64,
    DType::Bool,
    DType::C64,
    DType::C128,
    DType::BF16,
    DType::String,
];

const CODE: &str = r"
try:
    import numpy
except ImportError:
    numpy = None

def same(x):
    return x

def fresh(x):
    return {name: [numpy.array(value)] for name, value in x.items()}

def kinds(x):
    return [type(x).__name__, str(x.dtype), str(x.flags.writeable)]

def texts(kind):
    values = [['a', ''], ['\u00e4\u0000b', '\U0001f980']]
    if kind == 'StringDType':
        if not hasattr(numpy.dtypes, 'StringDType'):
            return None
        return numpy.array(values, dtype=numpy.dtypes.StringDType())
    if kind == 'bytes':
        return numpy.array([[text.encode() for text in row] for row in values], dtype=object)
    if kind == 'S':
        return numpy.array([b'a', b'bc'], dtype='S2')
    if kind == 'scalar':
        return numpy.array('abc')
    if kind == 'mixed':
        return numpy.array(['a', 1], dtype=object)
    return numpy.array(values, dtype=kind)

def lists(x):
    return [type(x).__name__, x]
";

/// `xorshift64*` (Vigna 2016).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    fn below(&mut self, limit: u64) -> usize {
        (self.next() % limit) as usize
    }

    fn tensor(&mut self) -> Tensor {
        let dtype = TYPES[self.below(TYPES.len() as u64)];
        let dims: Vec<usize> = (0..self.below(4)).map(|_| self.below(5)).collect();
        let shape = Shape::new(&dims).unwrap();
        if dtype == DType::String {
            let string = |random: &mut Random| {
                (0..random.below(9)).map(|_| random.next() as u8).collect::<Vec<u8>>()
            };
            let strings = (0..shape.elements()).map(|_| string(self)).collect();
            return Tensor::from_strings(strings, &dims).unwrap();
        }
        let mut bytes = vec![0u8; shape.byte_len(dtype)];
        let most = if dtype == DType::Bool { 2 } else { 256 };
        bytes.iter_mut().for_each(|byte| *byte = self.below(most) as u8);
        Tensor::from_buffer(dtype, shape, AlignedBuf::copy_of(&bytes).unwrap()).unwrap()
    }
}

fn ask(of: &mut dyn Interpreter, name: &str, argument: Value) -> Result<Value, CallError> {
    of.call(Call::new("m", name, vec![argument]), Deadline::NEVER)
}

/// The same bits: tensors of random bytes have elements that equal nothing.
fn assert_same(found: &Tensor, expected: &Tensor, told: &str) {
    assert_eq!((found.dtype(), found.shape()), (expected.dtype(), expected.shape()), "{told}");
    assert_eq!(found.bytes(), expected.bytes(), "{told}");
    assert_eq!(found.view().strings(), expected.view().strings(), "{told}");
}

/// What comes back where there is no `ml_dtypes`: the bits.
fn without_ml_dtypes(tensor: &Tensor) -> Tensor {
    if tensor.dtype() != DType::BF16 {
        return tensor.clone();
    }
    let bits = AlignedBuf::copy_of(tensor.bytes()).unwrap();
    Tensor::from_buffer(DType::U16, tensor.shape(), bits).unwrap()
}

fn random_tensors_come_back(of: &mut dyn Interpreter, expected: impl Fn(&Tensor) -> Tensor) {
    for seed in 1..=60 {
        let mut random = Random(seed);
        let tensors: Vec<(String, Tensor)> =
            (0..1 + random.below(4)).map(|i| (format!("t{i}"), random.tensor())).collect();
        let told = format!("seed {seed}, {:?}", of.mode());
        let values = tensors.iter().map(|(name, t)| (name.clone(), Value::Tensor(t.clone())));
        let values = Value::Dict(values.collect());
        let Ok(Value::Dict(same)) = ask(of, "same", values.clone()) else { panic!("{told}") };
        let Ok(Value::Dict(fresh)) = ask(of, "fresh", values) else { panic!("{told}") };
        for (i, (name, tensor)) in tensors.iter().enumerate() {
            let told = format!("{told}, {name}");
            let Value::Tensor(found) = &same[i].1 else { panic!("{told}") };
            assert_same(found, &expected(tensor), &told);
            let Value::List(found) = &fresh[i].1 else { panic!("{told}") };
            let Value::Tensor(found) = &found[0] else { panic!("{told}") };
            assert_same(found, &expected(tensor), &told);
        }
    }
}

fn texts_become_strings(of: &mut dyn Interpreter) {
    let texts = ["a", "", "\u{e4}\0b", "\u{1f980}"].map(|text| text.as_bytes().to_vec());
    let square = Tensor::from_strings(texts.to_vec(), &[2, 2]).unwrap();
    let pair = Tensor::from_strings(vec![b"a".to_vec(), b"bc".to_vec()], &[2]).unwrap();
    let one = Tensor::from_strings(vec![b"abc".to_vec()], &[]).unwrap();
    for (kind, expected) in [
        ("U", &square),
        ("object", &square),
        ("bytes", &square),
        ("StringDType", &square),
        ("S", &pair),
        ("scalar", &one),
    ] {
        match ask(of, "texts", kind.into()).unwrap() {
            Value::Tensor(found) => assert_same(&found, expected, kind),
            // Versions of numpy before 2 do not have it.
            Value::None if kind == "StringDType" => {}
            other => panic!("{kind}: {other:?}"),
        }
    }
    let refused = ask(of, "texts", "mixed".into()).unwrap_err().to_string();
    let expected = "the result: an array of elements \"O\" cannot leave the interpreter; return numbers, bool or texts";
    assert_eq!(refused, expected);
    let kinds = ask(of, "kinds", square.into()).unwrap();
    assert_eq!(kinds, Value::List(vec!["ndarray".into(), "object".into(), "False".into()]));
}

#[test]
fn every_element_type_comes_back() {
    on_every_numpy("every_element_type_comes_back", |python| {
        for mut interpreter in both(python) {
            load(&mut *interpreter, CODE);
            random_tensors_come_back(&mut *interpreter, without_ml_dtypes);
            texts_become_strings(&mut *interpreter);
            let bf16 = Tensor::zeros(DType::BF16, Shape::new(&[2]).unwrap()).unwrap();
            let kinds = ask(&mut *interpreter, "kinds", bf16.into()).unwrap();
            let expected = vec!["ndarray".into(), "uint16".into(), "False".into()];
            assert_eq!(kinds, Value::List(expected));
        }
    });
}

#[test]
fn bfloat16_is_that_of_ml_dtypes_where_it_is_installed() {
    with_ml_dtypes("bfloat16_is_that_of_ml_dtypes_where_it_is_installed", |python| {
        for mut interpreter in both(python) {
            load(&mut *interpreter, CODE);
            random_tensors_come_back(&mut *interpreter, Tensor::clone);
            // 1.5 and -2 as bfloat16.
            let bits: Vec<u8> = [0x3fc0u16, 0xc000].iter().flat_map(|b| b.to_le_bytes()).collect();
            let shape = Shape::new(&[2]).unwrap();
            let bits = AlignedBuf::copy_of(&bits).unwrap();
            let bf16 = Tensor::from_buffer(DType::BF16, shape, bits).unwrap();
            let expected = vec!["ndarray".into(), "bfloat16".into(), "False".into()];
            let kinds = ask(&mut *interpreter, "kinds", bf16.clone().into()).unwrap();
            assert_eq!(kinds, Value::List(expected));
            let list = Call::new("numpy", "ndarray.tolist", vec![bf16.into()]);
            let numbers = interpreter.call(list, Deadline::NEVER).unwrap();
            assert_eq!(numbers, Value::List(vec![1.5.into(), (-2.0).into()]));
        }
    });
}

#[test]
fn strings_are_nested_lists_without_numpy() {
    without_numpy("strings_are_nested_lists_without_numpy", |python| {
        for mut interpreter in both(python) {
            load(&mut *interpreter, CODE);
            let bytes = |text: &str| Value::Bytes(text.as_bytes().to_vec());
            let list = |items: Vec<Value>| Value::List(items);
            for (dims, strings, expected) in [
                (&[][..], vec!["a"], bytes("a")),
                (&[2], vec!["a", "b"], list(vec![bytes("a"), bytes("b")])),
                (
                    &[2, 1],
                    vec!["a", "b"],
                    list(vec![list(vec![bytes("a")]), list(vec![bytes("b")])]),
                ),
                (&[2, 0], vec![], list(vec![list(vec![]), list(vec![])])),
                (&[0, 2], vec![], list(vec![])),
            ] {
                let strings = strings.iter().map(|text| text.as_bytes().to_vec()).collect();
                let tensor = Tensor::from_strings(strings, dims).unwrap();
                let found = ask(&mut *interpreter, "same", tensor.into()).unwrap();
                assert_eq!(found, expected, "{dims:?}");
            }
        }
    });
}
