//! Images as bytes and as texts: PNG and JPEG to pixels, within limits that are checked before anything is allocated for them.

use std::io::Cursor;

use base64::Engine;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use image::{DynamicImage, ImageDecoder, ImageFormat, ImageReader, Limits};

use super::{ImageError, Pixels};

/// The most bytes of memory for each pixel while an image is decoded: four cells of two bytes, as they are stored and as they are
/// handed over.
const BYTES_OF_PIXEL: u64 = 16;

/// Memory of a decoder that does not depend on the pixels.
const OVERHEAD: u64 = 1 << 20;

/// The kinds of data that a `data:` URI may say.
const MEDIA_TYPES: [&str; 4] = ["image/png", "image/jpeg", "image/jpg", "application/octet-stream"];

/// The bytes of an image that is written as text: base64, or a `data:` URI with it. Line ends are left out.
///
/// # Errors
/// [`ImageError::Text`]
pub fn bytes_of_text(text: &str) -> Result<Vec<u8>, ImageError> {
    let wrong = |text: String| Err(ImageError::Text(text));
    let mut text = text.trim();
    if let Some(head) = text.get(..5).filter(|head| head.eq_ignore_ascii_case("data:")) {
        let rest = text.get(head.len()..).unwrap_or_default();
        let Some((kind, data)) = rest.split_once(',') else {
            return wrong("the data: URI has no comma".to_owned());
        };
        let kind = kind.to_ascii_lowercase();
        let Some(media) = kind.strip_suffix(";base64") else {
            return wrong("the data: URI is not in base64".to_owned());
        };
        let media = media.split(';').next().unwrap_or_default();
        if !media.is_empty() && !MEDIA_TYPES.contains(&media) {
            return wrong(format!("{media:.60} is not read; image/png and image/jpeg are"));
        }
        text = data;
    }
    let lax = GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);
    let engine = GeneralPurpose::new(&STANDARD, lax);
    let is_blank = |b: &u8| b.is_ascii_whitespace();
    let found = match text.as_bytes().iter().any(is_blank) {
        true => engine.decode(text.bytes().filter(|b| !is_blank(b)).collect::<Vec<u8>>()),
        false => engine.decode(text),
    };
    found.map_err(|e| ImageError::Text(format!("expected base64 or a data: URI: {e}")))
}

/// The pixels of a PNG or JPEG: grey ones as three equal cells, without transparency, and turned as they are stored.
///
/// # Errors
/// [`ImageError`]
pub fn decode(bytes: &[u8], max_pixels: u64) -> Result<Pixels, ImageError> {
    let wrong = |e: image::ImageError| ImageError::Damaged(e.to_string());
    let mut reader = ImageReader::new(Cursor::new(bytes))
        .with_guessed_format()
        .map_err(|e| ImageError::Damaged(e.to_string()))?;
    if !matches!(reader.format(), Some(ImageFormat::Png | ImageFormat::Jpeg)) {
        return Err(ImageError::Format);
    }
    let mut limits = Limits::no_limits();
    limits.max_alloc = Some(max_pixels.saturating_mul(BYTES_OF_PIXEL).saturating_add(OVERHEAD));
    reader.limits(limits.clone());
    let mut decoder = reader.into_decoder().map_err(wrong)?;
    let (width, height) = decoder.dimensions();
    let pixels = u64::from(width) * u64::from(height);
    if pixels > max_pixels {
        return Err(ImageError::Size { width, height, most: max_pixels });
    }
    if pixels == 0 {
        return Err(ImageError::Damaged("it has no pixels".to_owned()));
    }
    decoder.set_limits(limits).map_err(wrong)?;
    let image = DynamicImage::from_decoder(decoder).map_err(wrong)?.into_rgb8();
    Pixels::new(width as usize, height as usize, image.into_raw())
        .ok_or_else(|| ImageError::Damaged("it has fewer pixels than it says".to_owned()))
}
