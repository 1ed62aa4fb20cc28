//! JPEG: baseline, extended and progressive frames of 8 bits with Huffman codes, to the pixels that libjpeg makes of them, bit by bit.
//!
//! ONNX's `ImageDecoder` asks for these, and the preprocessors that vision models were trained with read them by Pillow, which uses
//! libjpeg. The decoders that are there in Rust round colours and what is between samples otherwise, or bring ten times the code.
//! A file that is damaged is refused, where libjpeg makes up the rest.

mod bits;
mod colour;
mod frame;
mod huffman;
mod idct;
mod scan;
mod upsample;

use crate::{Image, ImageError, check_size};
use colour::Colours;
use frame::{Frame, Scan, Tables};

/// The most scans of a file, which may each be a few bytes for all blocks. Encoders write about ten.
const MAX_SCANS: usize = 256;

fn damaged(text: &str) -> ImageError {
    ImageError::Damaged(text.to_owned())
}

pub fn decode(bytes: &[u8], most: u64) -> Result<Image, ImageError> {
    let (mut tables, mut frame, mut marks) = (Tables::default(), None, Marks::default());
    let (mut at, mut scans) = (2, 0);
    loop {
        let (code, body, end) = segment(bytes, at)?;
        at = end;
        match code {
            // Baseline, extended, progressive.
            0xc0..=0xc2 => {
                let mut found = Frame::parse(body, code == 0xc2)?;
                check_size(found.width.into(), found.height.into(), most)?;
                if frame.is_some() {
                    return Err(damaged("it has two frames"));
                }
                found.allocate();
                frame = Some(found);
            }
            0xc4 => tables.read_codes(body)?,
            0xc3 | 0xc5..=0xc7 | 0xc9..=0xcf => {
                let text = "JPEG without loss, in a hierarchy or of arithmetic codes is not read";
                return Err(ImageError::Unsupported(text.to_owned()));
            }
            0xd9 => break,
            0xda => {
                let frame = frame.as_mut().ok_or_else(|| damaged("it has no frame"))?;
                let scan = Scan::parse(body, frame)?;
                scans += 1;
                if scans > MAX_SCANS {
                    let text = format!("JPEG of more than {MAX_SCANS} scans is not read");
                    return Err(ImageError::Unsupported(text));
                }
                at = scan::decode(bytes, at, frame, &scan, &tables)?;
                // What follows the last scan of such a frame does not change it.
                if !frame.is_progressive && is_whole(frame) {
                    break;
                }
            }
            0xdb => tables.read_steps(body)?,
            0xdd => match body {
                [high, low, ..] => tables.restart = u16::from_be_bytes([*high, *low]).into(),
                _ => return Err(damaged("a segment is cut short")),
            },
            0xe0 => marks.is_jfif |= body.starts_with(b"JFIF\0"),
            0xee if body.starts_with(b"Adobe") => marks.adobe = body.get(11).copied(),
            _ => {}
        }
    }
    let mut frame = frame.ok_or_else(|| damaged("it has no frame"))?;
    if !is_whole(&frame) {
        return Err(damaged("a component has no data"));
    }
    scan::transform(&mut frame);
    Ok(picture(&frame, marks.colours(&frame)))
}

/// Whether there were data for each component.
fn is_whole(frame: &Frame) -> bool {
    frame.components.iter().all(|one| one.steps.is_some())
}

/// The next segment from a byte on: its code, what is in it, and where the next begins.
fn segment(bytes: &[u8], mut at: usize) -> Result<(u8, &[u8], usize), ImageError> {
    let cut = || damaged("it is cut short");
    loop {
        match bytes.get(at..) {
            Some([0xff, 0xd9, ..]) => return Ok((0xd9, &[], at + 2)),
            // Codes that have nothing behind them, and bytes that stand between segments.
            Some([0xff, 0x01 | 0xd0..=0xd8, ..]) => at += 2,
            Some([0xff, code, high, low, ..]) if !matches!(code, 0 | 0xff) => {
                let end = at + 2 + usize::from(u16::from_be_bytes([*high, *low]));
                return Ok((*code, bytes.get(at + 4..end).ok_or_else(cut)?, end));
            }
            Some([_, _, ..]) => at += 1,
            _ => return Err(cut()),
        }
    }
}

/// What applications say of the colours.
#[derive(Default)]
struct Marks {
    is_jfif: bool,
    /// The transformation that Adobe's segment names.
    adobe: Option<u8>,
}

impl Marks {
    /// As libjpeg guesses.
    fn colours(&self, frame: &Frame) -> Colours {
        match (frame.ids().as_slice(), self.is_jfif, self.adobe) {
            ([_], ..) => Colours::Grey,
            ([_, _, _], true, _) => Colours::YCbCr,
            ([_, _, _], _, Some(0)) => Colours::Rgb,
            ([b'R', b'G', b'B'], _, None) => Colours::Rgb,
            ([_, _, _], ..) => Colours::YCbCr,
            (_, _, Some(2)) => Colours::Ycck,
            _ => Colours::Cmyk,
        }
    }
}

fn picture(frame: &Frame, colours: Colours) -> Image {
    let (width, height) = (usize::from(frame.width), usize::from(frame.height));
    let plane = |one: &frame::Component| vec![0; one.plane.width * one.plane.across];
    let mut rows: Vec<Vec<u8>> = frame.components.iter().map(plane).collect();
    let mut sums = Vec::new();
    let mut rgb = vec![0; 3 * width * height];
    for (y, pixels) in rgb.chunks_exact_mut((3 * width).max(1)).enumerate() {
        for (component, row) in frame.components.iter().zip(&mut rows) {
            component.plane.upsample(y, &mut sums, row);
        }
        colours.write(&rows, pixels);
    }
    Image { width, height, rgb }
}
