//! Blocks of documents take the memory of those before them.
#![allow(clippy::unwrap_used, unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use stead_expr::{
    Attribute, Cells, Documents, Numbers, Rate, Scratch, TensorType, compile, parse_type,
};

thread_local! {
    /// Pieces of memory of a size that grows with the documents.
    static LARGE: Cell<usize> = const { Cell::new(0) };
}

struct Counting;

// SAFETY: every call goes to the system allocator unchanged; the counter allocates nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if layout.size() >= 2048 {
            LARGE.with(|large| large.set(large.get() + 1));
        }
        // SAFETY: the caller's promise is passed on.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise is passed on.
        unsafe { System.dealloc(ptr, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

#[test]
fn steps_take_memory_once() {
    const COUNT: usize = 1024;
    let scope = |name: &str| match name {
        "v" | "w" => Some((parse_type("tensor<float>(x[16])").unwrap(), Rate::Document)),
        "h" => Some((parse_type("tensor<float16>(x[16])").unwrap(), Rate::Document)),
        "n" => Some((TensorType::double(), Rate::Document)),
        "q" => Some((parse_type("tensor<float>(x[16])").unwrap(), Rate::Query)),
        _ => None,
    };
    let floats: Vec<f32> = (0..COUNT * 16).map(|n| (n % 31) as f32 / 8.0).collect();
    let halves: Vec<half::f16> = floats.iter().map(|x| half::f16::from_f32(*x)).collect();
    let numbers: Vec<f32> = floats.iter().copied().take(COUNT).collect();
    let q = compile("tensor<float>(x[16])(x)", &scope).unwrap().run(&[]).unwrap();
    for text in [
        "sum(exp(v))",
        "sum(relu(v - w), x) * n",
        "max(v * n)",
        "reduce(softmax(v, x), max)",
        "avg(h * q)",
        "sum(if(n > 1, v, w))",
        "sum(v in [1, 2])",
        "sum(join(v, q, f(a,b)(a * b)))",
        "v{x:3} + w{x:4}",
        "max(concat(v, w, x))",
    ] {
        let expression = compile(text, &scope).unwrap();
        let attributes: Vec<Attribute<'_>> = expression
            .document_names()
            .map(|name| match name {
                "n" => Attribute::Numbers(Numbers::F32(&numbers)),
                "h" => Attribute::Dense { cells: Cells::Float16((&halves[..]).into()), stride: 16 },
                _ => Attribute::Dense { cells: Cells::Float((&floats[..]).into()), stride: 16 },
            })
            .collect();
        let values: Vec<_> = expression.query_names().map(|_| &q).collect();
        let bound = expression.for_query(&values).unwrap();
        let documents = Documents { count: COUNT, index: None, attributes: &attributes };
        let (mut scratch, mut scores) = (Scratch::default(), Vec::new());
        bound.scores(&documents, &mut scratch, &mut scores).unwrap();
        let before = LARGE.with(Cell::get);
        bound.scores(&documents, &mut scratch, &mut scores).unwrap();
        let taken = LARGE.with(Cell::get) - before;
        assert_eq!(taken, 0, "{text}");
    }
}
