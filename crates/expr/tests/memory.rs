//! Tensors of ten million labelled cells take memory in proportion, and no more.
#![allow(clippy::unwrap_used, unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

use stead_expr::codec::binary::{decode, encode};
use stead_expr::codec::json::from_json;
use stead_expr::{Cells, Label, Labels, Rate, TensorType, Value, compile, parse_type};

/// Bytes that are held now, and the most there were.
static HELD: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(0);

struct Counting;

fn grow(size: usize) {
    let held = HELD.fetch_add(size, Ordering::Relaxed) + size;
    MOST.fetch_max(held, Ordering::Relaxed);
}

// SAFETY: every call goes to the system allocator unchanged; the counters allocate nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        grow(layout.size());
        // SAFETY: the caller's promise is passed on.
        unsafe { System.alloc(layout) }
    }
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        grow(layout.size());
        // SAFETY: the caller's promise is passed on.
        unsafe { System.alloc_zeroed(layout) }
    }
    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        HELD.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller's promise is passed on.
        unsafe { System.dealloc(ptr, layout) }
    }
    unsafe fn realloc(&self, ptr: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // Both may be there while one is copied to the other.
        grow(size);
        HELD.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller's promise is passed on.
        unsafe { System.realloc(ptr, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// What `work` gives, and the most bytes that it held beyond those before.
fn most<T>(work: impl FnOnce() -> T) -> (T, usize) {
    let before = HELD.load(Ordering::Relaxed);
    MOST.store(before, Ordering::Relaxed);
    let result = work();
    (result, MOST.load(Ordering::Relaxed).saturating_sub(before))
}

/// A tensor of one mapped dimension with labels 0, 1, 2 ...
fn line(name: &str, count: u32) -> Value {
    let kind = parse_type(&format!("tensor({name}{{}})")).unwrap();
    let labels = Labels::hold((0..count).filter_map(Label::number).collect());
    Value::new(kind, labels, Cells::Double(vec![1.0; count as usize].into())).unwrap()
}

// One test: the counters are of the whole process.
#[test]
fn ten_million_cells_take_memory_in_proportion() {
    const SIDE: u32 = 3_200;
    const CELLS: usize = (SIDE * SIDE) as usize;
    let scope = |name: &str| {
        let kind: TensorType = parse_type(&format!("tensor({name}{{}})")).ok()?;
        Some((kind, Rate::Query))
    };
    let inputs = [line("p", SIDE), line("q", SIDE)];
    let run = |text: &str| {
        let compiled = compile(text, &scope).unwrap();
        let (value, bytes) = most(|| compiled.run(&inputs.each_ref()).unwrap());
        (value, bytes / CELLS)
    };
    // A cell has 8 bytes, its two labels 8.
    let (all, bytes) = run("p*q");
    assert_eq!((all.blocks(), all.labels().len()), (CELLS, 2 * CELLS));
    assert!(bytes <= 64, "{bytes} bytes for each cell of a product");
    let (sum, bytes) = run("reduce(map(p*q,f(x)(x+1)),sum)");
    assert_eq!(sum.as_double(), Some(2.0 * CELLS as f64));
    assert!(bytes <= 64, "{bytes} bytes for each cell of a sum");

    let (written, bytes) = most(|| encode(&all));
    assert!(bytes / CELLS <= 64, "{} bytes for each cell that is written", bytes / CELLS);
    let (read, bytes) = most(|| decode(&written).unwrap());
    assert_eq!(read.blocks(), CELLS);
    assert!(bytes / CELLS <= 96, "{} bytes for each cell that is read", bytes / CELLS);
    drop((all, read, written));

    // JSON in memory takes far more than the tensor; what is measured is the tensor.
    const SOME: usize = 200_000;
    let json: serde_json::Map<_, _> =
        (0..SOME).map(|n| (n.to_string(), serde_json::json!(n))).collect();
    let json = serde_json::Value::Object(json);
    let kind = parse_type("tensor(p{})").unwrap();
    let (value, bytes) = most(|| from_json(&kind, &json).unwrap());
    assert_eq!(value.blocks(), SOME);
    assert!(bytes / SOME <= 96, "{} bytes for each cell of JSON", bytes / SOME);
}
