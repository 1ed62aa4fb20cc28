//! The emulation itself: encodings, what instructions do, and what a processor would refuse.

extern crate std;
use super::*;
use crate::amx::Kind;
use std::vec::Vec;

/// What GNU objdump 2.44 makes of these bytes (`objdump -d -M intel`), and the same instruction here. The first lines are
/// all that it finds in the binary of these tests; the others are what GNU as makes of other registers.
#[test]
fn instructions_are_those_that_a_disassembler_reads() {
    let at = |base, index, scale, displacement| Address { base, index, scale, displacement };
    let cases: [(&[u8], &str, Instruction); 33] = [
        (
            &[0xc4, 0xc2, 0x78, 0x49, 0x01],
            "ldtilecfg [r9]",
            Instruction::LoadConfiguration(at(9, None, 0, 0)),
        ),
        (&[0xc4, 0xe2, 0x78, 0x49, 0xc0], "tilerelease", Instruction::Release),
        (&[0xc4, 0xe2, 0x7b, 0x49, 0xc0], "tilezero tmm0", Instruction::Zero(0)),
        (&[0xc4, 0xe2, 0x7b, 0x49, 0xc8], "tilezero tmm1", Instruction::Zero(1)),
        (&[0xc4, 0xe2, 0x7b, 0x49, 0xd0], "tilezero tmm2", Instruction::Zero(2)),
        (&[0xc4, 0xe2, 0x7b, 0x49, 0xd8], "tilezero tmm3", Instruction::Zero(3)),
        (
            &[0xc4, 0x82, 0x7b, 0x4b, 0x24, 0x10],
            "tileloadd tmm4,[r8+r10*1]",
            Instruction::Load(4, at(8, Some(10), 0, 0)),
        ),
        (
            &[0xc4, 0x82, 0x7b, 0x4b, 0x2c, 0x11],
            "tileloadd tmm5,[r9+r10*1]",
            Instruction::Load(5, at(9, Some(10), 0, 0)),
        ),
        (
            &[0xc4, 0x82, 0x7b, 0x4b, 0x34, 0x3e],
            "tileloadd tmm6,[r14+r15*1]",
            Instruction::Load(6, at(14, Some(15), 0, 0)),
        ),
        (
            &[0xc4, 0x82, 0x7b, 0x4b, 0x7c, 0x3e, 0x40],
            "tileloadd tmm7,[r14+r15*1+0x40]",
            Instruction::Load(7, at(14, Some(15), 0, 0x40)),
        ),
        (
            &[0xc4, 0xe2, 0x7a, 0x4b, 0x04, 0x39],
            "tilestored [rcx+rdi*1],tmm0",
            Instruction::Store(0, at(1, Some(7), 0, 0)),
        ),
        (
            &[0xc4, 0xe2, 0x7a, 0x4b, 0x4c, 0x39, 0x40],
            "tilestored [rcx+rdi*1+0x40],tmm1",
            Instruction::Store(1, at(1, Some(7), 0, 0x40)),
        ),
        (
            &[0xc4, 0xe2, 0x7a, 0x4b, 0x94, 0x39, 0, 8, 0, 0],
            "tilestored [rcx+rdi*1+0x800],tmm2",
            Instruction::Store(2, at(1, Some(7), 0, 0x800)),
        ),
        (
            &[0xc4, 0xe2, 0x7a, 0x4b, 0x9c, 0x39, 0x40, 8, 0, 0],
            "tilestored [rcx+rdi*1+0x840],tmm3",
            Instruction::Store(3, at(1, Some(7), 0, 0x840)),
        ),
        (
            &[0xc4, 0xe2, 0x4a, 0x5c, 0xc4],
            "tdpbf16ps tmm0,tmm4,tmm6",
            Instruction::Multiply(Kind::Pairs, [0, 4, 6]),
        ),
        (
            &[0xc4, 0xe2, 0x42, 0x5c, 0xcc],
            "tdpbf16ps tmm1,tmm4,tmm7",
            Instruction::Multiply(Kind::Pairs, [1, 4, 7]),
        ),
        (
            &[0xc4, 0xe2, 0x4a, 0x5c, 0xd5],
            "tdpbf16ps tmm2,tmm5,tmm6",
            Instruction::Multiply(Kind::Pairs, [2, 5, 6]),
        ),
        (
            &[0xc4, 0xe2, 0x42, 0x5c, 0xdd],
            "tdpbf16ps tmm3,tmm5,tmm7",
            Instruction::Multiply(Kind::Pairs, [3, 5, 7]),
        ),
        (
            &[0xc4, 0xe2, 0x49, 0x5e, 0xc4],
            "tdpbusd tmm0,tmm4,tmm6",
            Instruction::Multiply(Kind::Quads, [0, 4, 6]),
        ),
        (
            &[0xc4, 0xe2, 0x41, 0x5e, 0xcc],
            "tdpbusd tmm1,tmm4,tmm7",
            Instruction::Multiply(Kind::Quads, [1, 4, 7]),
        ),
        (
            &[0xc4, 0xe2, 0x49, 0x5e, 0xd5],
            "tdpbusd tmm2,tmm5,tmm6",
            Instruction::Multiply(Kind::Quads, [2, 5, 6]),
        ),
        (
            &[0xc4, 0xe2, 0x41, 0x5e, 0xdd],
            "tdpbusd tmm3,tmm5,tmm7",
            Instruction::Multiply(Kind::Quads, [3, 5, 7]),
        ),
        (
            &[0xc4, 0xe2, 0x69, 0x5e, 0xf8],
            "tdpbusd tmm7,tmm0,tmm2",
            Instruction::Multiply(Kind::Quads, [7, 0, 2]),
        ),
        (
            &[0xc4, 0xe2, 0x78, 0x49, 0x44, 0x24, 0x40],
            "ldtilecfg [rsp+0x40]",
            Instruction::LoadConfiguration(at(4, None, 0, 0x40)),
        ),
        (
            &[0xc4, 0xc2, 0x78, 0x49, 0x04, 0x24],
            "ldtilecfg [r12]",
            Instruction::LoadConfiguration(at(12, None, 0, 0)),
        ),
        (
            &[0xc4, 0xc2, 0x78, 0x49, 0x45, 0],
            "ldtilecfg [r13+0x0]",
            Instruction::LoadConfiguration(at(13, None, 0, 0)),
        ),
        (
            &[0xc4, 0xe2, 0x78, 0x49, 0x80, 0x45, 0x23, 0x01, 0],
            "ldtilecfg [rax+0x12345]",
            Instruction::LoadConfiguration(at(0, None, 0, 0x12345)),
        ),
        (
            &[0xc4, 0xe2, 0x78, 0x49, 0x44, 0x8b, 0xf8],
            "ldtilecfg [rbx+rcx*4-0x8]",
            Instruction::LoadConfiguration(at(3, Some(1), 2, -8)),
        ),
        (&[0xc4, 0xe2, 0x7b, 0x49, 0xf8], "tilezero tmm7", Instruction::Zero(7)),
        (
            &[0xc4, 0xe2, 0x7b, 0x4b, 0x04, 0x18],
            "tileloadd tmm0,[rax+rbx*1]",
            Instruction::Load(0, at(0, Some(3), 0, 0)),
        ),
        (
            &[0xc4, 0x82, 0x7b, 0x4b, 0x5c, 0xe5, 0],
            "tileloadd tmm3,[r13+r12*8+0x0]",
            Instruction::Load(3, at(13, Some(12), 3, 0)),
        ),
        (
            &[0xc4, 0xe2, 0x7b, 0x4b, 0x6c, 0x44, 0x80],
            "tileloadd tmm5,[rsp+rax*2-0x80]",
            Instruction::Load(5, at(4, Some(0), 1, -0x80)),
        ),
        (
            &[0xc4, 0xa2, 0x7a, 0x4b, 0x74, 0x0d, 0],
            "tilestored [rbp+r9*1+0x0],tmm6",
            Instruction::Store(6, at(5, Some(9), 0, 0)),
        ),
    ];
    for (bytes, text, want) in cases {
        // What follows an instruction is none of its business.
        let code = |i: usize| bytes.get(i).copied().unwrap_or(0x90);
        assert_eq!(decode(code), Some((want, bytes.len())), "{text}");
    }
}

#[test]
fn other_instructions_are_not_taken_for_those() {
    let cases: [(&[u8], &str); 8] = [
        (&[0x0f, 0x0b], "ud2"),
        (&[0xc4, 0xe2, 0x43, 0x5e, 0xcc], "tdpbssd tmm1,tmm4,tmm7"),
        (&[0xc4, 0xe2, 0x42, 0x5e, 0xcc], "tdpbsud tmm1,tmm4,tmm7"),
        (&[0xc4, 0xe2, 0x40, 0x5e, 0xcc], "tdpbuud tmm1,tmm4,tmm7"),
        (&[0xc4, 0xe2, 0x79, 0x49, 0x00], "sttilecfg [rax]"),
        (&[0xc4, 0xe2, 0x79, 0x4b, 0x0c, 0x18], "tileloaddt1 tmm1,[rax+rbx*1]"),
        (&[0xc4, 0xe2, 0x75, 0x5e, 0xc2], "no tiles: 256 bits"),
        (&[0xc4, 0xe2, 0x7b, 0x4b, 0x00], "tileloadd without a stride"),
    ];
    for (bytes, text) in cases {
        let code = |i: usize| bytes.get(i).copied().unwrap_or(0x90);
        assert_eq!(decode(code), None, "{text}");
    }
}

/// A configuration of these rows and bytes of rows of the first tiles.
fn configuration(tiles: &[(u8, u16)]) -> [u8; 64] {
    let mut c = [0; 64];
    c[0] = 1;
    for (i, &(rows, bytes)) in tiles.iter().enumerate() {
        c[16 + 2 * i..18 + 2 * i].copy_from_slice(&bytes.to_le_bytes());
        c[48 + i] = rows;
    }
    c
}

#[test]
fn what_a_processor_refuses_is_refused() {
    let with = |at: usize, x: u8| {
        let mut c = configuration(&[(16, 64)]);
        c[at] = x;
        c
    };
    let configurations = [
        ("palette 2", with(0, 2), Err(Fault::Palette)),
        ("a first row", with(1, 1), Err(Fault::StartRow)),
        ("reserved at the beginning", with(15, 1), Err(Fault::Reserved)),
        ("bytes of a ninth tile", with(32, 64), Err(Fault::Reserved)),
        ("rows of a ninth tile", with(56, 16), Err(Fault::Reserved)),
        ("17 rows", with(48, 17), Err(Fault::TooLarge)),
        ("65 bytes", with(16, 65), Err(Fault::TooLarge)),
        ("no rows", with(48, 0), Err(Fault::HalfConfigured)),
        ("no bytes", with(16, 0), Err(Fault::HalfConfigured)),
        ("all of it", configuration(&[(16, 64); 8]), Ok(())),
        ("palette 0", with(0, 0), Ok(())),
    ];
    for (label, c, want) in configurations {
        assert_eq!(Machine::new().configure(&c), want, "{label}");
    }
    // Sums of 5 x 3 lanes, A of 5 x 2, B of 2 x 3; others do not fit.
    let sizes = [(5, 12), (5, 8), (2, 12), (4, 8), (2, 16), (3, 12), (0, 0)];
    let products = [
        ("sums, A and B", [0, 1, 2], Ok(())),
        ("rows of A", [0, 3, 2], Err(Fault::Sizes)),
        ("columns of B", [0, 1, 4], Err(Fault::Sizes)),
        ("rows of B", [0, 1, 5], Err(Fault::Sizes)),
        ("none", [0, 1, 6], Err(Fault::NotConfigured)),
        ("A twice", [0, 1, 1], Err(Fault::SameTile)),
        ("sums as A", [0, 0, 2], Err(Fault::SameTile)),
        ("sums as B", [2, 1, 2], Err(Fault::SameTile)),
    ];
    for kind in [Kind::Pairs, Kind::Quads] {
        for (label, tiles, want) in products {
            let mut machine = Machine::new();
            assert_eq!(machine.multiply(kind, tiles), Err(first_of(want)), "{label}: before");
            machine.configure(&configuration(&sizes)).unwrap();
            assert_eq!(machine.multiply(kind, tiles), want, "{label}");
            machine.release();
            assert_eq!(machine.zero(0), Err(Fault::NotConfigured), "{label}: after");
        }
    }
}

/// What is refused first where nothing is configured.
fn first_of(want: Result<(), Fault>) -> Fault {
    if want == Err(Fault::SameTile) { Fault::SameTile } else { Fault::NotConfigured }
}

/// Multiplies one row by one column of lanes, on top of `old`.
fn multiply(kind: Kind, a: &[u32], b: &[u32], old: u32) -> u32 {
    let (lanes, mut machine) = (a.len(), Machine::new());
    let sizes = [(1, 4), (1, 4 * lanes as u16), (lanes as u8, 4)];
    machine.configure(&configuration(&sizes)).unwrap();
    let mut sum = old;
    // SAFETY: a row of `lanes`, as many rows of one, and one sum.
    unsafe {
        machine.load(0, (&raw const sum) as u64, 0).unwrap();
        machine.load(1, a.as_ptr() as u64, 0).unwrap();
        machine.load(2, b.as_ptr() as u64, 4).unwrap();
        machine.multiply(kind, [0, 1, 2]).unwrap();
        machine.store(0, (&raw mut sum) as u64, 0).unwrap();
    }
    sum
}

#[test]
fn products_are_those_of_the_manual() {
    let pair = |even: f32, odd: f32| even.to_bits() >> 16 | (odd.to_bits() & 0xffff_0000);
    let tiny = f32::from_bits(0x0040_0000);
    let pairs: [(&str, &[u32], &[u32], f32, f32); 6] = [
        ("a pair", &[pair(2.0, 3.0)], &[pair(5.0, 7.0)], 100.0, 131.0),
        // In order the 1 would vanish before the large numbers do.
        (
            "even and odd apart",
            &[pair(1e20, 1.0), pair(-1e20, 1.0)],
            &[pair(1.0, 1.0), pair(1.0, 1.0)],
            0.0,
            2.0,
        ),
        ("an operand below the normal ones", &[pair(tiny, 0.0)], &[pair(2.0, 0.0)], 1.0, 1.0),
        ("an old sum below the normal ones", &[pair(0.0, 0.0)], &[pair(1.0, 1.0)], tiny, 0.0),
        ("a sum below the normal ones", &[pair(1e-20, 0.0)], &[pair(1e-20, 0.0)], 0.0, 0.0),
        ("infinity by zero", &[pair(f32::INFINITY, 0.0)], &[pair(0.0, 0.0)], 0.0, f32::NAN),
    ];
    for (label, a, b, old, want) in pairs {
        let got = f32::from_bits(multiply(Kind::Pairs, a, b, old.to_bits()));
        assert!(got == want || (got.is_nan() && want.is_nan()), "{label}: {got}, expected {want}");
    }
    let quads: [(&str, [u8; 4], [u8; 4], i32, i32); 4] = [
        ("a quad", [1, 2, 3, 4], [5, 6, 7, 8], 1000, 1070),
        ("signs of B alone", [255, 0, 0, 128], [255, 0, 0, 128], 0, -255 - 128 * 128),
        ("nothing saturates", [255; 4], [127; 4], 0, 4 * 255 * 127),
        ("sums wrap", [1, 0, 0, 0], [1, 0, 0, 0], i32::MAX, i32::MIN),
    ];
    for (label, a, b, old, want) in quads {
        let (a, b) = ([u32::from_le_bytes(a)], [u32::from_le_bytes(b)]);
        assert_eq!(multiply(Kind::Quads, &a, &b, old as u32) as i32, want, "{label}");
    }
}

#[test]
fn tiles_move_by_their_rows_and_strides() {
    let from: Vec<u8> = (0..250).collect();
    let mut machine = Machine::new();
    machine.configure(&configuration(&[(3, 8)])).unwrap();
    let mut to = [0xeeu8; 40];
    // SAFETY: three rows of eight bytes, 100 and 12 apart.
    unsafe {
        machine.load(0, from.as_ptr() as u64 + 5, 100).unwrap();
        machine.store(0, to.as_mut_ptr() as u64 + 1, 12).unwrap();
    }
    for (i, byte) in to.into_iter().enumerate() {
        let (row, col) = (i.div_ceil(12), (i + 11) % 12);
        let is_inside = (1..=3).contains(&row) && col < 8;
        let want = if is_inside { 5 + 100 * (row - 1) + col } else { 0xee };
        assert_eq!(usize::from(byte), want, "byte {i}");
    }
}
