//! The bits of entropy-coded segments (T.81, F.2.2.5).

/// Reads bits, the highest first, up to the next marker. Behind the last bit there are zeros, which are counted.
pub struct Bits<'a> {
    bytes: &'a [u8],
    at: usize,
    /// Bits that were read ahead, at the low end.
    window: u64,
    /// How many.
    ahead: u32,
    /// How many of them are made up.
    missing: u32,
}

impl<'a> Bits<'a> {
    /// Begins at a byte.
    pub fn new(bytes: &'a [u8], at: usize) -> Bits<'a> {
        Bits { bytes, at, window: 0, ahead: 0, missing: 0 }
    }

    fn fill(&mut self) {
        while self.ahead <= 48 {
            let byte = match self.bytes.get(self.at..) {
                Some([0xff, 0, ..]) => {
                    self.at += 2;
                    0xff
                }
                Some([byte, ..]) if *byte != 0xff => {
                    self.at += 1;
                    *byte
                }
                _ => {
                    self.missing += 8;
                    0
                }
            };
            self.window = self.window << 8 | u64::from(byte);
            self.ahead += 8;
        }
    }

    /// The next bits, at most 16, which stay.
    pub fn peek(&mut self, count: u32) -> u32 {
        if self.ahead < count {
            self.fill();
        }
        (self.window >> (self.ahead - count)) as u32 & ((1 << count) - 1)
    }

    /// Leaves out bits that [`Bits::peek`] gave.
    pub fn skip(&mut self, count: u32) {
        self.ahead = self.ahead.saturating_sub(count);
    }

    /// The next bits, at most 16.
    pub fn take(&mut self, count: u32) -> u32 {
        let found = self.peek(count);
        self.skip(count);
        found
    }

    /// A number of so many bits, of which those that begin with 0 are negative (T.81, F.12).
    pub fn signed(&mut self, count: u32) -> i32 {
        if count == 0 {
            return 0;
        }
        let bits = self.take(count) as i32;
        if bits < 1 << (count - 1) { bits - (1 << count) + 1 } else { bits }
    }

    /// Whether bits were taken that are not there.
    pub fn is_over(&self) -> bool {
        self.missing > self.ahead
    }

    /// Where the segment ends: at a marker, or where the bytes do. Bits that were not taken are left out.
    pub fn end(&self) -> usize {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let is_marker = |pair: &[u8]| matches!(pair, [0xff, code] if !matches!(code, 0 | 0xff));
        self.at + rest.windows(2).position(is_marker).unwrap_or(rest.len())
    }
}
