//! The data of a scan: blocks of coefficients (T.81, F.2.2 and G.2).

use super::bits::Bits;
use super::damaged;
use super::frame::{Frame, Scan, Tables, ZIGZAG};
use super::huffman::Huffman;
use super::idct::idct;
use crate::ImageError;

/// What is decoded of blocks in turn.
struct Coder<'a> {
    bits: Bits<'a>,
    scan: &'a Scan,
    /// Blocks that have nothing more in this scan.
    empty: u32,
}

/// Decodes a scan whose data begin at a byte, and tells where they end.
pub fn decode(
    bytes: &[u8],
    from: usize,
    frame: &mut Frame,
    scan: &Scan,
    tables: &Tables,
) -> Result<usize, ImageError> {
    let mut coder = Coder { bits: Bits::new(bytes, from), scan, empty: 0 };
    let mut before = [0_i32; 4];
    let is_alone = scan.parts.len() == 1;
    for (at, ..) in &scan.parts {
        if let Some(component) = frame.components.get_mut(*at) {
            tables.settle(component)?;
        }
    }
    let seen = scan.parts.first().and_then(|(at, ..)| frame.components.get(*at));
    let (across, down) = match seen {
        Some(component) if is_alone => component.seen,
        _ => frame.units,
    };
    for unit in 0..across * down {
        if tables.restart > 0 && unit > 0 && unit % tables.restart == 0 {
            let end = coder.bits.end();
            if !matches!(bytes.get(end..), Some([0xff, 0xd0..=0xd7, ..])) {
                return Err(damaged("a restart is missing"));
            }
            coder = Coder { bits: Bits::new(bytes, end + 2), scan, empty: 0 };
            before = [0; 4];
        }
        let (x, y) = (unit % across, unit / across);
        for (part, before) in scan.parts.iter().zip(&mut before) {
            let Some(component) = frame.components.get_mut(part.0) else { continue };
            let (h, v) = if is_alone { (1, 1) } else { component.sampling };
            let codes = Codes {
                first: tables.first.get(part.1).and_then(Option::as_ref),
                others: tables.others.get(part.2).and_then(Option::as_ref),
            };
            for (row, column) in (0..v).flat_map(|row| (0..h).map(move |column| (row, column))) {
                let (x, y) = (x * h + column, y * v + row);
                if frame.is_progressive {
                    if let Some(block) = component.blocks.get_mut(y * component.stride + x) {
                        coder.part_of_block(block, codes, before)?;
                    }
                    continue;
                }
                let mut block = [0; 64];
                coder.block(&mut block, codes, before)?;
                if let Some(steps) = &component.steps {
                    store(&mut component.plane.samples, component.stride, (x, y), &block, steps);
                }
            }
        }
        if coder.bits.is_over() {
            return Err(damaged("its data are cut short"));
        }
    }
    Ok(coder.bits.end())
}

/// Makes the samples of blocks whose coefficients were kept.
pub fn transform(frame: &mut Frame) {
    for component in &mut frame.components {
        let Some(steps) = &component.steps else { continue };
        let stride = component.stride.max(1);
        for (at, block) in component.blocks.iter().enumerate() {
            let place = (at % stride, at / stride);
            store(&mut component.plane.samples, stride, place, block, steps);
        }
        component.blocks = Vec::new();
    }
}

/// Writes the samples of one block.
fn store(
    samples: &mut [u8],
    stride: usize,
    (x, y): (usize, usize),
    block: &[i16; 64],
    steps: &[u16; 64],
) {
    let rows = samples.chunks_mut(8 * stride).skip(8 * y);
    for (row, made) in rows.zip(idct(block, steps)) {
        if let Some(to) = row.get_mut(8 * x..8 * x + 8) {
            to.copy_from_slice(&made);
        }
    }
}

/// The codes of a component.
#[derive(Clone, Copy)]
struct Codes<'a> {
    first: Option<&'a Huffman>,
    others: Option<&'a Huffman>,
}

impl Coder<'_> {
    fn symbol(&mut self, codes: Option<&Huffman>) -> Result<u8, ImageError> {
        let codes = codes.ok_or_else(|| damaged("a table of codes is missing"))?;
        codes.next(&mut self.bits).ok_or_else(|| damaged("a code is unknown"))
    }

    fn bit(&mut self) -> bool {
        self.bits.take(1) == 1
    }

    /// The first coefficient, less that of the block before.
    fn difference(&mut self, codes: Option<&Huffman>) -> Result<i32, ImageError> {
        match self.symbol(codes)? {
            count @ 0..=15 => Ok(self.bits.signed(count.into())),
            _ => Err(damaged("a code is unknown")),
        }
    }

    /// All coefficients of a block.
    fn block(
        &mut self,
        block: &mut [i16; 64],
        codes: Codes<'_>,
        before: &mut i32,
    ) -> Result<(), ImageError> {
        *before = before.wrapping_add(self.difference(codes.first)?);
        block[0] = *before as i16;
        let mut at = 1;
        while at < 64 {
            let symbol = self.symbol(codes.others)?;
            let (zeros, count) = (usize::from(symbol >> 4), u32::from(symbol & 15));
            if count == 0 {
                if zeros < 15 {
                    break;
                }
                at += 16;
                continue;
            }
            at += zeros;
            *place(block, at)? = self.bits.signed(count) as i16;
            at += 1;
        }
        Ok(())
    }

    /// What a scan of a progressive frame has of a block.
    fn part_of_block(
        &mut self,
        block: &mut [i16; 64],
        codes: Codes<'_>,
        before: &mut i32,
    ) -> Result<(), ImageError> {
        let left = self.scan.left;
        match (self.scan.from, self.scan.before) {
            (0, 0) => {
                *before = before.wrapping_add(self.difference(codes.first)?);
                block[0] = (*before << left) as i16;
                Ok(())
            }
            (0, _) => {
                block[0] |= i16::from(self.bit()) << left;
                Ok(())
            }
            (_, 0) => self.begin(block, codes.others),
            _ => self.refine(block, codes.others),
        }
    }

    /// How many blocks, this one too, have nothing more behind a symbol for the end.
    fn run_of_empty(&mut self, log: usize) -> u32 {
        (1 << log) + if log > 0 { self.bits.take(log as u32) } else { 0 }
    }

    /// The upper bits of coefficients behind the first.
    fn begin(&mut self, block: &mut [i16; 64], codes: Option<&Huffman>) -> Result<(), ImageError> {
        if self.empty > 0 {
            self.empty -= 1;
            return Ok(());
        }
        let mut at = self.scan.from;
        while at <= self.scan.to {
            let symbol = self.symbol(codes)?;
            let (zeros, count) = (usize::from(symbol >> 4), u32::from(symbol & 15));
            if count == 0 {
                if zeros < 15 {
                    self.empty = self.run_of_empty(zeros) - 1;
                    break;
                }
                at += 16;
                continue;
            }
            at += zeros;
            *place(block, at)? = (self.bits.signed(count) << self.scan.left) as i16;
            at += 1;
        }
        Ok(())
    }

    /// One more bit of coefficients behind the first: of each that is not zero, and of those that become so.
    fn refine(&mut self, block: &mut [i16; 64], codes: Option<&Huffman>) -> Result<(), ImageError> {
        let one = 1_i16 << self.scan.left;
        let mut at = self.scan.from;
        while self.empty == 0 && at <= self.scan.to {
            let symbol = self.symbol(codes)?;
            let (mut zeros, count) = (symbol >> 4, symbol & 15);
            let mut value = 0;
            match (count, zeros) {
                (0, 15) => {}
                (0, log) => {
                    self.empty = self.run_of_empty(log.into());
                    break;
                }
                _ => value = if self.bit() { one } else { -one },
            }
            while at <= self.scan.to {
                let coefficient = place(block, at)?;
                if *coefficient != 0 {
                    self.correct(coefficient, one);
                } else if zeros == 0 {
                    *coefficient = value;
                    break;
                } else {
                    zeros -= 1;
                }
                at += 1;
            }
            at += 1;
        }
        if self.empty > 0 {
            self.empty -= 1;
            while at <= self.scan.to {
                let coefficient = place(block, at)?;
                if *coefficient != 0 {
                    self.correct(coefficient, one);
                }
                at += 1;
            }
        }
        Ok(())
    }

    fn correct(&mut self, coefficient: &mut i16, one: i16) {
        if self.bit() && *coefficient & one == 0 {
            *coefficient = coefficient.wrapping_add(if *coefficient < 0 { -one } else { one });
        }
    }
}

fn place(block: &mut [i16; 64], at: usize) -> Result<&mut i16, ImageError> {
    let place = ZIGZAG.get(at).and_then(|place| block.get_mut(usize::from(*place)));
    place.ok_or_else(|| damaged("a block has too many coefficients"))
}
