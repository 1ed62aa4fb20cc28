//! Colours of JFIF and Adobe to red, green and blue, rounded as libjpeg and Pillow do.

/// What the components of a file are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Colours {
    /// How bright a pixel is.
    Grey,
    /// Red, green, blue.
    Rgb,
    /// Brightness and two differences.
    YCbCr,
    /// Cyan, magenta, yellow, black, all of them inverted.
    Cmyk,
    /// The first three of these as brightness and differences.
    Ycck,
}

impl Colours {
    /// Writes pixels of the rows of components.
    pub fn write(self, rows: &[Vec<u8>], out: &mut [u8]) {
        let row = |at: usize| rows.get(at).map(Vec::as_slice).unwrap_or_default();
        let [a, b, c, d] = [row(0), row(1), row(2), row(3)];
        match self {
            Colours::Grey => a.iter().zip(out.chunks_exact_mut(3)).for_each(|(a, o)| o.fill(*a)),
            Colours::Rgb => each([a, b, c], out, |cells| cells),
            Colours::YCbCr => each([a, b, c], out, rgb),
            Colours::Cmyk => {
                each([a, b, c], out, |ink| ink);
                print(d, out);
            }
            // Brightness and differences of what is left of white.
            Colours::Ycck => {
                each([a, b, c], out, |cells| rgb(cells).map(|cell| 255 - cell));
                print(d, out);
            }
        }
    }
}

/// Pixels that are computed together, so that the compiler has whole vectors of each colour.
const TOGETHER: usize = 32;

/// Writes what `pixel` makes of the cells of three rows.
#[inline(always)]
fn each(rows: [&[u8]; 3], out: &mut [u8], pixel: impl Fn([u8; 3]) -> [u8; 3]) {
    let [a, b, c] = rows.map(|row| row.as_chunks::<TOGETHER>());
    let (parts, rest) = out.as_chunks_mut::<{ 3 * TOGETHER }>();
    for (((a, b), c), out) in a.0.iter().zip(b.0).zip(c.0).zip(&mut *parts) {
        let mut colours = [[0; TOGETHER]; 3];
        for i in 0..TOGETHER {
            [colours[0][i], colours[1][i], colours[2][i]] = pixel([a[i], b[i], c[i]]);
        }
        for i in 0..TOGETHER {
            [out[3 * i], out[3 * i + 1], out[3 * i + 2]] = colours.map(|colour| colour[i]);
        }
    }
    // The rest of rows, which may be longer than what is seen of them.
    let tail = rows.map(|row| row.get(parts.len() * TOGETHER..).unwrap_or_default());
    let cells = tail[0].iter().zip(tail[1]).zip(tail[2]);
    for (((a, b), c), out) in cells.zip(rest.chunks_exact_mut(3)) {
        out.copy_from_slice(&pixel([*a, *b, *c]));
    }
}

/// Takes the black of a row from inks.
fn print(black: &[u8], out: &mut [u8]) {
    for (black, out) in black.iter().zip(out.chunks_exact_mut(3)) {
        for cell in out {
            *cell = printed(*cell, *black);
        }
    }
}

/// Bits behind the point.
const BITS: u32 = 16;
const HALF: i32 = 1 << (BITS - 1);

const fn fixed(x: f64) -> i32 {
    (x * (1 << BITS) as f64 + 0.5) as i32
}

/// The two factors above 1 are computed without their whole part, so that all products are of 16 bits.
#[inline(always)]
fn rgb([y, cb, cr]: [u8; 3]) -> [u8; 3] {
    let (y, cb, cr) = (i16::from(y), i16::from(cb) - 128, i16::from(cr) - 128);
    let wide = |a: i16, by: i16| i32::from(a) * i32::from(by);
    let red = y + cr + ((wide(cr, RED) + HALF) >> BITS) as i16;
    let green = y - cr + ((wide(cb, GREEN[0]) + wide(cr, GREEN[1]) + HALF) >> BITS) as i16;
    let blue = y + 2 * cb + ((wide(cb, BLUE) + HALF) >> BITS) as i16;
    [red, green, blue].map(|cell| cell.clamp(0, 255) as u8)
}

/// 1.402 - 1, -0.34414, 1 - 0.71414, 1.772 - 2, behind the point.
const RED: i16 = (fixed(1.402) - (1 << BITS)) as i16;
const GREEN: [i16; 2] = [-fixed(0.344_14) as i16, ((1 << BITS) - fixed(0.714_14)) as i16];
const BLUE: i16 = (fixed(1.772) - (2 << BITS)) as i16;

/// Of an ink that is stored as what it leaves of white.
fn printed(left: u8, black: u8) -> u8 {
    let white = i32::from(black);
    // Division by 255, rounded.
    let product = (255 - i32::from(left)) * white + 128;
    (white - ((product + (product >> 8)) >> 8)).clamp(0, 255) as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    /// libjpeg's formula.
    fn plain([y, cb, cr]: [u8; 3]) -> [u8; 3] {
        let (y, cb, cr) = (i32::from(y), i32::from(cb) - 128, i32::from(cr) - 128);
        let red = y + ((fixed(1.402) * cr + HALF) >> BITS);
        let green = y + ((-fixed(0.344_14) * cb - fixed(0.714_14) * cr + HALF) >> BITS);
        let blue = y + ((fixed(1.772) * cb + HALF) >> BITS);
        [red, green, blue].map(|cell| cell.clamp(0, 255) as u8)
    }

    #[test]
    fn products_of_16_bits_change_no_colour() {
        for cb in 0..=255 {
            for cr in 0..=255 {
                for y in [0, 1, 77, 128, 200, 254, 255] {
                    assert_eq!(rgb([y, cb, cr]), plain([y, cb, cr]), "{y} {cb} {cr}");
                }
            }
        }
    }

    #[test]
    fn rows_of_any_length_are_written() {
        for width in [1, 2, 31, 32, 33, 64, 70] {
            // Rows of components may be longer than what is seen of them.
            let row = |by: usize| (0..width + 5).map(|x| (x * by % 251) as u8).collect();
            let rows: Vec<Vec<u8>> = [7, 13, 29, 31].map(row).to_vec();
            let cells = |x: usize| [rows[0][x], rows[1][x], rows[2][x]];
            let cases: [(Colours, &dyn Fn(usize) -> [u8; 3]); 5] = [
                (Colours::Grey, &|x| [rows[0][x]; 3]),
                (Colours::Rgb, &cells),
                (Colours::YCbCr, &|x| plain(cells(x))),
                (Colours::Cmyk, &|x| cells(x).map(|ink| printed(ink, rows[3][x]))),
                (Colours::Ycck, &|x| plain(cells(x)).map(|c| printed(255 - c, rows[3][x]))),
            ];
            for (colours, expected) in cases {
                let mut out = vec![0; 3 * width];
                colours.write(&rows, &mut out);
                let expected: Vec<u8> = (0..width).flat_map(expected).collect();
                assert_eq!(out, expected, "{colours:?} of {width}");
            }
        }
    }
}
