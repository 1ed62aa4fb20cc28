//! What the segments in front of the data say: frames, scans and tables (T.81, annex B).

use super::damaged;
use super::huffman::Huffman;
use super::upsample::Plane;
use crate::ImageError;

/// Where the coefficients of a block stand, in the order in which they are stored.
pub const ZIGZAG: [u8; 64] = [
    0, 1, 8, 16, 9, 2, 3, 10, 17, 24, 32, 25, 18, 11, 4, 5, 12, 19, 26, 33, 40, 48, 41, 34, 27, 20,
    13, 6, 7, 14, 21, 28, 35, 42, 49, 56, 57, 50, 43, 36, 29, 22, 15, 23, 30, 37, 44, 51, 58, 59,
    52, 45, 38, 31, 39, 46, 53, 60, 61, 54, 47, 55, 62, 63,
];

/// A component of a frame.
pub struct Component {
    id: u8,
    /// Blocks of it in a unit of interleaved scans: across and down.
    pub sampling: (usize, usize),
    table: usize,
    /// The steps of its coefficients in their natural order, as they are when its first scan begins.
    pub steps: Option<[u16; 64]>,
    /// Blocks that have something of the image: across and down.
    pub seen: (usize, usize),
    /// Blocks from one row to the next.
    pub stride: usize,
    /// Coefficients, where several scans make them.
    pub blocks: Vec<[i16; 64]>,
    /// Samples.
    pub plane: Plane,
}

/// A frame: the image.
pub struct Frame {
    /// Whether several scans make a block.
    pub is_progressive: bool,
    /// Columns.
    pub width: u16,
    /// Rows.
    pub height: u16,
    /// One to four.
    pub components: Vec<Component>,
    /// Units of interleaved scans: across and down.
    pub units: (usize, usize),
}

impl Frame {
    /// Reads a frame header; nothing is made for its pixels yet.
    pub fn parse(body: &[u8], is_progressive: bool) -> Result<Frame, ImageError> {
        let cut = || damaged("the header of its frame is cut short");
        let (&[bits, h1, h0, w1, w0, count], rest) = body.split_first_chunk().ok_or_else(cut)?;
        if bits != 8 {
            return Err(ImageError::Unsupported(format!("JPEG of {bits} bits is not read; 8 are")));
        }
        if !matches!(count, 1 | 3 | 4) {
            let text = format!("JPEG of {count} components is not read; 1, 3 and 4 are");
            return Err(ImageError::Unsupported(text));
        }
        let (width, height) = (u16::from_be_bytes([w1, w0]), u16::from_be_bytes([h1, h0]));
        if height == 0 {
            let text = "JPEG whose height stands behind its data is not read";
            return Err(ImageError::Unsupported(text.to_owned()));
        }
        let list = rest.get(..3 * usize::from(count)).ok_or_else(cut)?.as_chunks::<3>().0;
        let sampling = |both: u8| (usize::from(both >> 4), usize::from(both & 15));
        let all = || list.iter().map(|one| sampling(one[1]));
        if !all().all(|(h, v)| (1..=4).contains(&h) && (1..=4).contains(&v)) {
            return Err(damaged("a component has no samples"));
        }
        let most = all().fold((1, 1), |(a, b), (h, v)| (a.max(h), b.max(v)));
        if all().any(|(h, v)| most.0 % h != 0 || most.1 % v != 0) {
            let text = "JPEG of which a sample stands for a part of a pixel is not read";
            return Err(ImageError::Unsupported(text.to_owned()));
        }
        let size = (usize::from(width), usize::from(height));
        let units = (size.0.div_ceil(8 * most.0), size.1.div_ceil(8 * most.1));
        let component = |&[id, both, table]: &[u8; 3]| {
            let (h, v) = sampling(both);
            let (width, height) = ((size.0 * h).div_ceil(most.0), (size.1 * v).div_ceil(most.1));
            let stride = units.0 * h;
            Component {
                id,
                sampling: (h, v),
                table: usize::from(table),
                steps: None,
                seen: (width.div_ceil(8), height.div_ceil(8)),
                stride,
                blocks: Vec::new(),
                plane: Plane {
                    samples: Vec::new(),
                    stride: 8 * stride,
                    width,
                    height,
                    across: most.0 / h,
                    down: most.1 / v,
                },
            }
        };
        let components = list.iter().map(component).collect();
        Ok(Frame { is_progressive, width, height, components, units })
    }

    /// Makes the memory of its samples, and that of its coefficients if they are kept.
    pub fn allocate(&mut self) {
        for component in &mut self.components {
            let blocks = component.stride * self.units.1 * component.sampling.1;
            component.plane.samples = vec![0; 64 * blocks];
            if self.is_progressive {
                component.blocks = vec![[0; 64]; blocks];
            }
        }
    }

    /// The names of its components.
    pub fn ids(&self) -> Vec<u8> {
        self.components.iter().map(|one| one.id).collect()
    }
}

/// A scan: which components it has, each with its tables, and which part of their coefficients.
pub struct Scan {
    /// Component, table of its first coefficients, table of the others.
    pub parts: Vec<(usize, usize, usize)>,
    /// The first coefficient, in the order in which they are stored.
    pub from: usize,
    /// The last one.
    pub to: usize,
    /// Bits that were there before, if any.
    pub before: u8,
    /// Bits that are left for later scans.
    pub left: u8,
}

impl Scan {
    /// Reads a scan header.
    pub fn parse(body: &[u8], frame: &Frame) -> Result<Scan, ImageError> {
        let cut = || damaged("the header of a scan is cut short");
        let (count, rest) = body.split_first().ok_or_else(cut)?;
        let (list, rest) = rest.split_at_checked(2 * usize::from(*count)).ok_or_else(cut)?;
        let &[from, to, bits, ..] = rest else { return Err(cut()) };
        let mut parts: Vec<(usize, usize, usize)> = Vec::with_capacity(usize::from(*count));
        for [id, tables] in list.as_chunks::<2>().0 {
            let at = frame.components.iter().position(|one| one.id == *id);
            let at = at.ok_or_else(|| damaged("a scan has a component that the frame has not"))?;
            if parts.iter().any(|(known, ..)| *known == at) {
                return Err(damaged("a scan has a component twice"));
            }
            parts.push((at, usize::from(tables >> 4), usize::from(tables & 15)));
        }
        let sampling = |at: &(usize, usize, usize)| {
            frame.components.get(at.0).map_or(0, |one| one.sampling.0 * one.sampling.1)
        };
        // T.81, B.2.3.
        if parts.is_empty() || (parts.len() > 1 && parts.iter().map(sampling).sum::<usize>() > 10) {
            return Err(damaged("a scan has no components, or too many"));
        }
        let (from, to, before, left) = match frame.is_progressive {
            true => (usize::from(from), usize::from(to), bits >> 4, bits & 15),
            false => (0, 63, 0, 0),
        };
        let is_first = from == 0;
        let is_fine = match frame.is_progressive {
            true if is_first => to == 0,
            true => parts.len() == 1 && from <= to && to < 64,
            false => true,
        };
        if !is_fine || left > 13 || before > 14 {
            return Err(damaged("a scan has no such coefficients"));
        }
        Ok(Scan { parts, from, to, before, left })
    }
}

/// Tables that segments set, and later ones set again.
#[derive(Default)]
pub struct Tables {
    steps: [Option<[u16; 64]>; 4],
    /// Codes of first coefficients.
    pub first: [Option<Huffman>; 4],
    /// Codes of the others.
    pub others: [Option<Huffman>; 4],
    /// Units between restarts; 0 without.
    pub restart: usize,
}

impl Tables {
    /// Reads steps of coefficients (DQT).
    pub fn read_steps(&mut self, mut body: &[u8]) -> Result<(), ImageError> {
        let cut = || damaged("a table of steps is cut short");
        while let Some((kind, rest)) = body.split_first() {
            let wide = kind >> 4 != 0;
            let (list, rest) =
                rest.split_at_checked(if wide { 128 } else { 64 }).ok_or_else(cut)?;
            let mut steps = [0; 64];
            for (at, place) in ZIGZAG.iter().enumerate() {
                let step = match (wide, list) {
                    (true, list) => u16::from_be_bytes([list[2 * at], list[2 * at + 1]]),
                    (false, list) => u16::from(list[at]),
                };
                steps[usize::from(*place)] = step;
            }
            let slot = self.steps.get_mut(usize::from(kind & 15));
            *slot.ok_or_else(|| damaged("a table has no such number"))? = Some(steps);
            body = rest;
        }
        Ok(())
    }

    /// Reads codes (DHT).
    pub fn read_codes(&mut self, mut body: &[u8]) -> Result<(), ImageError> {
        let cut = || damaged("a table of codes is cut short");
        while let Some((kind, rest)) = body.split_first() {
            let (counts, rest) = rest.split_first_chunk::<16>().ok_or_else(cut)?;
            let total = counts.iter().map(|count| usize::from(*count)).sum();
            let (symbols, rest) = rest.split_at_checked(total).ok_or_else(cut)?;
            let of_kind = if kind >> 4 == 0 { &mut self.first } else { &mut self.others };
            let slot = of_kind.get_mut(usize::from(kind & 15));
            let slot = slot.ok_or_else(|| damaged("a table has no such number"))?;
            *slot = Some(Huffman::new(counts, symbols)?);
            body = rest;
        }
        Ok(())
    }

    /// The steps of a component, which it keeps from its first scan on.
    pub fn settle(&self, component: &mut Component) -> Result<(), ImageError> {
        if component.steps.is_none() {
            let steps = self.steps.get(component.table).copied().flatten();
            component.steps = Some(steps.ok_or_else(|| damaged("a table of steps is missing"))?);
        }
        Ok(())
    }
}
