//! Writing links.

use std::io::{self, Write};

use super::{MAGIC, METRICS, VERSION};
use crate::graph::Graph;
use crate::links::{count, nodes};

/// Bytes that are written at a time.
const PART: usize = 64 << 10;

impl Graph {
    /// Writes the links, without the vectors.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn write_to(&self, out: &mut impl Write) -> io::Result<()> {
        let mut out = Summed { out, part: Vec::with_capacity(PART), sum: 0 };
        let options = &self.options;
        let metric = METRICS.iter().position(|metric| *metric == options.metric).unwrap_or(0);
        out.put(&MAGIC)?;
        out.put(&VERSION.to_le_bytes())?;
        out.put(&[metric as u8, u8::from(options.has_many), 0, 0])?;
        out.put(&(options.links(1) as u32).to_le_bytes())?;
        // Places behind the last node are no part of it.
        let bound = (0..self.bound).rev().find(|node| self.node(*node).levels > 0);
        let bound = bound.map_or(0, |last| last + 1);
        out.put(&bound.to_le_bytes())?;
        out.put(&self.entry.map_or(0, |(node, _)| node + 1).to_le_bytes())?;
        out.put(&self.longest.to_le_bytes())?;
        for number in 0..bound {
            let node = self.node(number);
            out.put(&[node.levels as u8])?;
            if options.has_many && node.levels > 0 {
                out.put(&node.place.0.to_le_bytes())?;
                out.put(&node.place.1.to_le_bytes())?;
            }
            for level in 0..node.levels {
                let links = self.links(number, level);
                out.put(&(count(links) as u16).to_le_bytes())?;
                for other in nodes(links) {
                    out.put(&other.to_le_bytes())?;
                }
            }
        }
        out.flush()?;
        let sum = out.sum;
        out.out.write_all(&sum.to_le_bytes())
    }
}

/// Bytes that are summed on their way.
struct Summed<'o, W> {
    out: &'o mut W,
    part: Vec<u8>,
    sum: u32,
}

impl<W: Write> Summed<'_, W> {
    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.part.extend_from_slice(bytes);
        if self.part.len() < PART { Ok(()) } else { self.flush() }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.sum = crc32c::crc32c_append(self.sum, &self.part);
        self.out.write_all(&self.part)?;
        self.part.clear();
        Ok(())
    }
}
