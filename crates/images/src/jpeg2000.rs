//! JPEG 2000. What its decoder makes for the parts that a codestream says it has is counted before: these need not be there.

use hayro_jpeg2000::{DecodeSettings, DecoderContext};

use crate::{Image, ImageError, check_size};

/// The most code blocks and precincts of an image: its decoder keeps some 600 bytes for each in the worst case.
const MAX_PARTS: u64 = 1 << 20;

/// The most components: four colours and how transparent they are.
const MAX_COMPONENTS: usize = 5;

/// Markers of segments, as table A.2 of ISO/IEC 15444-1 names them.
mod marker {
    pub const SOC: u16 = 0xff4f;
    pub const SIZ: u16 = 0xff51;
    pub const COD: u16 = 0xff52;
    pub const COC: u16 = 0xff53;
    pub const SOT: u16 = 0xff90;
    pub const SOD: u16 = 0xff93;
    pub const EOC: u16 = 0xffd9;
}

pub fn decode(bytes: &[u8], most: u64) -> Result<Image, ImageError> {
    let stream = codestream(bytes).ok_or_else(|| damaged("there is no codestream"))?;
    check(stream, most)?;
    let settings = DecodeSettings { strict: true, ..DecodeSettings::default() };
    let file = hayro_jpeg2000::Image::new(bytes, &settings).map_err(damaged)?;
    let (width, height) = (file.width(), file.height());
    check_size(width, height, most)?;
    let channels = usize::from(file.color_space().num_channels());
    let stored = channels + usize::from(file.has_alpha());
    if !matches!(channels, 1 | 3) {
        return Err(ImageError::Unsupported(format!(
            "JPEG 2000 of {channels} colours is not read; grey and RGB are"
        )));
    }
    let mut context = DecoderContext::default();
    let decoded = file.decode(&mut context).map_err(damaged)?;
    let (width, height) = (width as usize, height as usize);
    let samples = decoded.components().iter().map(|one| one.samples().len());
    if !samples.eq(std::iter::repeat_n(width * height, stored)) {
        return Err(damaged("its components are of other sizes than the image"));
    }
    let mut cells = decoded.data_u8();
    if stored != 3 {
        let pixels = cells.chunks_exact(stored);
        cells = match channels {
            1 => pixels.flat_map(|pixel| pixel.first().map_or([0; 3], |grey| [*grey; 3])).collect(),
            _ => pixels.flat_map(|pixel| pixel.iter().take(3).copied()).collect(),
        };
    }
    Ok(Image { width, height, rgb: cells })
}

fn damaged(e: impl ToString) -> ImageError {
    ImageError::Damaged(e.to_string())
}

/// The codestream of a file of boxes, or the one that stands alone.
fn codestream(bytes: &[u8]) -> Option<&[u8]> {
    if bytes.starts_with(&marker::SOC.to_be_bytes()) {
        return Some(bytes);
    }
    let mut rest = bytes;
    loop {
        let length = u32::from_be_bytes(*rest.first_chunk::<4>()?);
        let name = rest.get(4..8)?;
        // 0: to the end. 1: the length follows in 8 bytes.
        let (head, end) = match length {
            0 => (8, rest.len()),
            1 => {
                let long = u64::from_be_bytes(*rest.get(8..)?.first_chunk::<8>()?);
                (16, usize::try_from(long).ok()?)
            }
            _ => (8, length as usize),
        };
        if name == b"jp2c" {
            return rest.get(head..end.min(rest.len()));
        }
        rest = rest.get(end.max(head)..)?;
    }
}

/// A segment: its marker and what follows its length, and the bytes behind it.
fn segment(bytes: &[u8]) -> Option<(u16, &[u8], &[u8])> {
    let (marker, rest) = bytes.split_first_chunk::<2>()?;
    let length = usize::from(u16::from_be_bytes(*rest.first_chunk::<2>()?));
    Some((u16::from_be_bytes(*marker), rest.get(2..length)?, rest.get(length..)?))
}

/// Counts what the headers of a codestream ask for.
fn check(stream: &[u8], most: u64) -> Result<(), ImageError> {
    let cut = || damaged("its headers are cut short");
    let (first, size, mut rest) = stream.get(2..).and_then(segment).ok_or_else(cut)?;
    if first != marker::SIZ {
        return Err(damaged("it does not begin with its size"));
    }
    let number = |at: usize| Some(u32::from_be_bytes(*size.get(at..)?.first_chunk::<4>()?));
    let side = |end: usize, from: usize| Some(number(end)?.saturating_sub(number(from)?));
    let (Some(width), Some(height), Some(components)) =
        (side(2, 10), side(6, 14), size.get(34..).and_then(|rest| rest.first_chunk::<2>()))
    else {
        return Err(cut());
    };
    check_size(width, height, most)?;
    let components = usize::from(u16::from_be_bytes(*components));
    if components > MAX_COMPONENTS {
        return Err(ImageError::Unsupported(format!(
            "JPEG 2000 of {components} components is not read; at most {MAX_COMPONENTS} are"
        )));
    }
    // The part of a tile whose headers are read.
    let mut part = None;
    loop {
        if rest.starts_with(&marker::SOD.to_be_bytes()) {
            // Data, up to the next part.
            let part: &[u8] = part.take().ok_or_else(cut)?;
            let length = part.get(6..).and_then(|rest| rest.first_chunk::<4>());
            let length = u32::from_be_bytes(*length.ok_or_else(cut)?) as usize;
            if length == 0 {
                return Ok(());
            }
            rest = part.get(length.max(12)..).unwrap_or_default();
        }
        if rest.is_empty() || rest.starts_with(&marker::EOC.to_be_bytes()) {
            return Ok(());
        }
        let (name, body, behind) = segment(rest).ok_or_else(cut)?;
        let coding = match name {
            marker::COD => body.split_at_checked(5).map(|(head, coding)| (head.first(), coding)),
            marker::COC => body.split_at_checked(2).map(|(head, coding)| (head.last(), coding)),
            _ => None,
        };
        if let Some((Some(style), coding)) = coding {
            let parts = parts(width, height, coding, style & 1 == 1).ok_or_else(cut)?;
            if parts.saturating_mul(components as u64) > MAX_PARTS {
                return Err(ImageError::Unsupported(format!(
                    "JPEG 2000 of more than {MAX_PARTS} code blocks and precincts is not read"
                )));
            }
        }
        if name == marker::SOT {
            part = Some(rest);
        }
        rest = behind;
    }
}

/// Code blocks and precincts of one component, about; what follows levels in a COD or COC segment says their sizes.
fn parts(width: u32, height: u32, coding: &[u8], has_precincts: bool) -> Option<u64> {
    let &[levels, columns, rows, _, _, ref sizes @ ..] = coding else { return None };
    let block = 1_u64 << (u32::from(columns & 15) + 2 + u32::from(rows & 15) + 2);
    let pixels = u64::from(width) * u64::from(height);
    let mut parts = pixels.div_ceil(block);
    if has_precincts {
        for level in 0..=levels {
            // The last level is as large as the image.
            let shift = u32::from(levels - level).min(31);
            let size = *sizes.get(usize::from(level))?;
            let along = |side: u32, log: u8| u64::from(side >> shift >> log) + 1;
            // Three bands, and blocks of each.
            parts = parts.saturating_add(6 * along(width, size & 15) * along(height, size >> 4));
        }
    }
    Some(parts)
}
