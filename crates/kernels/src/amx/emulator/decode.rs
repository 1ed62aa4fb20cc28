//! The encodings of instructions on tiles (Intel SDM volume 2): `VEX.128.0F38.W0`, opcodes 49, 4B, 5C and 5E.

use super::super::block::Kind;

/// An address: `base + (index << scale) + displacement`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Address {
    pub base: u8,
    pub index: Option<u8>,
    pub scale: u8,
    pub displacement: i32,
}

/// Those instructions that kernels use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Instruction {
    /// `ldtilecfg`
    LoadConfiguration(Address),
    /// `tilerelease`
    Release,
    /// `tilezero`
    Zero(usize),
    /// `tileloadd`
    Load(usize, Address),
    /// `tilestored`
    Store(usize, Address),
    /// `tdpbf16ps` and `tdpbusd`: sums, `A` and `B`.
    Multiply(Kind, [usize; 3]),
}

/// The prefix that `VEX.pp` stands for.
const NONE: u8 = 0;
const P66: u8 = 1;
const PF3: u8 = 2;
const PF2: u8 = 3;

/// The instruction whose bytes `code` gives one by one, and its length; `None` if it is none of these.
pub(super) fn decode(code: impl Fn(usize) -> u8) -> Option<(Instruction, usize)> {
    if code(0) != 0xc4 {
        return None;
    }
    // The bits R, X and B, and those of vvvv, are stored inverted.
    let (one, two, opcode, modrm) = (code(1), code(2), code(3), code(4));
    let (r, x, b) = (!one >> 7, !one >> 6 & 1, !one >> 5 & 1);
    let (map, w, l, prefix) = (one & 0x1f, two >> 7, two >> 2 & 1, two & 3);
    if map != 2 || w != 0 || l != 0 || r != 0 {
        return None;
    }
    let (vvvv, mode) = (!two >> 3 & 0xf, modrm >> 6);
    let (reg, rm) = (modrm >> 3 & 7, modrm & 7);
    let tile = usize::from(reg);
    if opcode == 0x5c || opcode == 0x5e {
        let kind = match (opcode, prefix) {
            (0x5c, PF3) => Kind::Pairs,
            (0x5e, P66) => Kind::Quads,
            _ => return None,
        };
        let tiles = [tile, usize::from(rm), usize::from(vvvv)];
        return (mode == 3 && b == 0 && vvvv < 8)
            .then_some((Instruction::Multiply(kind, tiles), 5));
    }
    // All others have no third operand, which is written as zeros, inverted.
    if vvvv != 0 {
        return None;
    }
    match (opcode, prefix, mode) {
        (0x49, NONE, 3) => (modrm == 0xc0 && b == 0).then_some((Instruction::Release, 5)),
        (0x49, PF2, 3) => (rm == 0 && b == 0).then_some((Instruction::Zero(tile), 5)),
        (0x49, NONE, _) => {
            let (address, length) = address(&code, (x, b))?;
            (reg == 0).then_some((Instruction::LoadConfiguration(address), length))
        }
        (0x4b, PF2 | PF3, 0..3) if rm == 4 => {
            let (address, length) = address(&code, (x, b))?;
            let instruction = if prefix == PF2 {
                Instruction::Load(tile, address)
            } else {
                Instruction::Store(tile, address)
            };
            Some((instruction, length))
        }
        _ => None,
    }
}

/// The address of an instruction whose byte ModRM is at 4, and the length of the instruction. One relative to the
/// instruction or without a base is not among those that kernels use.
fn address(code: &impl Fn(usize) -> u8, (x, b): (u8, u8)) -> Option<(Address, usize)> {
    let modrm = code(4);
    let (mode, rm) = (modrm >> 6, modrm & 7);
    let mut at = 5;
    let (mut low, mut index, mut scale) = (rm, None, 0);
    if rm == 4 {
        let sib = code(at);
        at += 1;
        low = sib & 7;
        scale = sib >> 6;
        // Register 4 is no index.
        index = Some((sib >> 3 & 7) | x << 3).filter(|&n| n != 4);
    }
    if mode == 0 && low == 5 {
        return None;
    }
    let displacement = match mode {
        0 => 0,
        1 => i32::from(code(at) as i8),
        _ => i32::from_le_bytes([code(at), code(at + 1), code(at + 2), code(at + 3)]),
    };
    at += [0, 1, 4][usize::from(mode)];
    Some((Address { base: low | b << 3, index, scale, displacement }, at))
}
