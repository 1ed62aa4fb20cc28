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
    /// Appends pixels of the rows of components.
    pub fn append(self, rows: &[Vec<u8>], width: usize, out: &mut Vec<u8>) {
        let row =
            |at: usize| rows.get(at).map(Vec::as_slice).unwrap_or_default().iter().take(width);
        let three = || row(0).zip(row(1)).zip(row(2)).map(|((a, b), c)| [*a, *b, *c]);
        let four = || three().zip(row(3).copied());
        match self {
            Colours::Grey => out.extend(row(0).flat_map(|grey| [*grey; 3])),
            Colours::Rgb => out.extend(three().flatten()),
            Colours::YCbCr => out.extend(three().flat_map(rgb)),
            Colours::Cmyk => out.extend(four().flat_map(|(ink, black)| printed(ink, black))),
            // Brightness and differences of what is left of white.
            Colours::Ycck => out.extend(
                four().flat_map(|(ink, black)| printed(rgb(ink).map(|cell| 255 - cell), black)),
            ),
        }
    }
}

/// Bits behind the point.
const BITS: u32 = 16;
const HALF: i32 = 1 << (BITS - 1);

const fn fixed(x: f64) -> i32 {
    (x * (1 << BITS) as f64 + 0.5) as i32
}

fn rgb([y, cb, cr]: [u8; 3]) -> [u8; 3] {
    let (y, cb, cr) = (i32::from(y), i32::from(cb) - 128, i32::from(cr) - 128);
    let red = y + ((fixed(1.402) * cr + HALF) >> BITS);
    let green = y + ((-fixed(0.344_14) * cb - fixed(0.714_14) * cr + HALF) >> BITS);
    let blue = y + ((fixed(1.772) * cb + HALF) >> BITS);
    [red, green, blue].map(|cell| cell.clamp(0, 255) as u8)
}

/// Of inks that are stored as what they leave of white.
fn printed(left: [u8; 3], black: u8) -> [u8; 3] {
    left.map(|left| {
        let white = i32::from(black);
        // Division by 255, rounded.
        let product = (255 - i32::from(left)) * white + 128;
        (white - ((product + (product >> 8)) >> 8)).clamp(0, 255) as u8
    })
}
