//! Images as bytes and as texts.

use base64::Engine;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use stead_images::Format;

use super::{ImageError, Pixels};

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
        let is_plain = media.is_empty() || media == "application/octet-stream";
        if !is_plain && Format::of_media_type(media).is_none() {
            return wrong(format!("{media:.60} is not read; types of {} are", Format::names()));
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

/// The pixels of a [file](stead_images): grey ones as three equal cells, without transparency, and turned as they are stored.
///
/// # Errors
/// [`ImageError`]
pub fn decode(bytes: &[u8], max_pixels: u64) -> Result<Pixels, ImageError> {
    let image = stead_images::decode(bytes, max_pixels)?;
    let short = || stead_images::ImageError::Damaged("it has fewer pixels than it says".to_owned());
    Ok(Pixels::new(image.width, image.height, image.rgb).ok_or_else(short)?)
}
