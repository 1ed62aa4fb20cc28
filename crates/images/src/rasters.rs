//! The formats that the crate `image` reads.

use std::io::Cursor;

use image::{DynamicImage, ImageDecoder, ImageFormat, ImageReader, Limits};

use crate::{Format, Image, ImageError, check_size, webp};

/// The most bytes of memory for each pixel while an image is decoded: four cells of two bytes, as they are stored and as they are
/// handed over.
const BYTES_OF_PIXEL: u64 = 16;

/// Memory of a decoder that does not depend on the pixels.
const OVERHEAD: u64 = 1 << 20;

pub fn decode(bytes: &[u8], format: Format, most: u64) -> Result<Image, ImageError> {
    let format = match format {
        Format::Bmp => ImageFormat::Bmp,
        Format::Png => ImageFormat::Png,
        Format::Pnm => ImageFormat::Pnm,
        Format::Tiff => ImageFormat::Tiff,
        Format::WebP => {
            webp::check_sizes(bytes, most)?;
            ImageFormat::WebP
        }
        Format::Jpeg | Format::Jpeg2000 => return Err(ImageError::Format),
    };
    let mut limits = Limits::no_limits();
    limits.max_alloc = Some(most.saturating_mul(BYTES_OF_PIXEL).saturating_add(OVERHEAD));
    let mut reader = ImageReader::with_format(Cursor::new(bytes), format);
    reader.limits(limits.clone());
    let mut decoder = reader.into_decoder().map_err(refused)?;
    let (width, height) = decoder.dimensions();
    check_size(width, height, most)?;
    decoder.set_limits(limits).map_err(refused)?;
    let rgb = DynamicImage::from_decoder(decoder).map_err(refused)?.into_rgb8().into_raw();
    Ok(Image { width: width as usize, height: height as usize, rgb })
}

fn refused(e: image::ImageError) -> ImageError {
    match e {
        image::ImageError::Unsupported(_) => ImageError::Unsupported(e.to_string()),
        _ => ImageError::Damaged(e.to_string()),
    }
}
