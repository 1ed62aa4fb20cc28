//! Rows of components that have fewer samples than the image, as libjpeg makes them as long as its rows ("fancy upsampling"): by linear
//! interpolation where there are half as many, with halves rounded down and up in turns, which ONNX's `ImageDecoder` asks for; by
//! repetition where there are fewer.

/// Samples of one component, row by row, in rows that may be longer than what is seen of them.
pub struct Plane {
    /// All of them.
    pub samples: Vec<u8>,
    /// Samples from one row to the next.
    pub stride: usize,
    /// Columns that are seen.
    pub width: usize,
    /// Rows that are seen.
    pub height: usize,
    /// How many columns of the image a sample stands for.
    pub across: usize,
    /// How many rows.
    pub down: usize,
}

impl Plane {
    fn row(&self, y: usize) -> &[u8] {
        let from = y.min(self.height.saturating_sub(1)) * self.stride;
        self.samples.get(from..from + self.width).unwrap_or_default()
    }

    /// Writes a row of the image; `sums` is room.
    pub fn upsample(&self, y: usize, sums: &mut Vec<u16>, out: &mut [u8]) {
        let is_fancy = self.width > 2;
        match (self.across, self.down) {
            (1, 1) => copy(self.row(y), out),
            (2, 1) if is_fancy => {
                halves(
                    self.row(y),
                    |cell| u16::from(*cell),
                    out,
                    |this, beside, odd| match odd {
                        false => (3 * this + beside + 1) >> 2,
                        true => (3 * this + beside + 2) >> 2,
                    },
                );
            }
            (1, 2) => {
                let (near, far) = self.rows(y);
                let bias = 1 + (y as u32 & 1);
                for ((near, far), out) in near.iter().zip(far).zip(out) {
                    *out = ((3 * u32::from(*near) + u32::from(*far) + bias) >> 2) as u8;
                }
            }
            (2, 2) if is_fancy => {
                let (near, far) = self.rows(y);
                let cells = near.iter().zip(far);
                sums.clear();
                sums.extend(cells.map(|(near, far)| 3 * u16::from(*near) + u16::from(*far)));
                halves(
                    sums,
                    |sum| *sum,
                    out,
                    |this, beside, odd| match odd {
                        false => (3 * this + beside + 8) >> 4,
                        true => (3 * this + beside + 7) >> 4,
                    },
                );
            }
            (across, down) => {
                let row = self.row(y / down.max(1));
                for (sample, out) in row.iter().zip(out.chunks_mut(across.max(1))) {
                    out.fill(*sample);
                }
            }
        }
    }

    /// The row of samples that a row of the image lies in, and the one that it is next to.
    fn rows(&self, y: usize) -> (&[u8], &[u8]) {
        let near = y / 2;
        let far = if y & 1 == 0 { near.saturating_sub(1) } else { near + 1 };
        (self.row(near), self.row(far))
    }
}

fn copy(from: &[u8], to: &mut [u8]) {
    to.iter_mut().zip(from).for_each(|(to, from)| *to = *from);
}

/// Two samples of each one, each nearer to one neighbour; those at the ends have themselves for a neighbour.
#[inline(always)]
fn halves<T>(
    row: &[T],
    number: impl Fn(&T) -> u16,
    out: &mut [u8],
    mix: impl Fn(u16, u16, bool) -> u16,
) {
    let two = |[before, this, after]: [&T; 3]| {
        let this = number(this);
        [mix(this, number(before), false) as u8, mix(this, number(after), true) as u8]
    };
    let ([first, second, ..], [.., previous, last]) = (row, row) else { return };
    let pairs = out.as_chunks_mut::<2>().0;
    if let (Some(out), true) = (pairs.first_mut(), row.len() > 1) {
        *out = two([first, first, second]);
    }
    for (window, out) in row.windows(3).zip(pairs.iter_mut().skip(1)) {
        *out = two([&window[0], &window[1], &window[2]]);
    }
    if let Some(out) = pairs.get_mut(row.len() - 1) {
        *out = two([previous, last, last]);
    } else if let Some(out) = out.get_mut(2 * row.len() - 2) {
        *out = two([previous, last, last])[0];
    }
}
