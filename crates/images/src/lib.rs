//! Files of images to pixels, within limits that are checked before anything is allocated for them: BMP, JPEG, JPEG 2000, PNG, PNM, TIFF
//! and WebP, as ONNX's `ImageDecoder` names them.
//!
//! Grey images have three equal cells, transparency is left out, profiles of colours and orientations are not applied: so Pillow's
//! `convert("RGB")` has it. Of several images in a file the first is read.
//!
//! ```
//! let image = stead_images::decode(b"P2 2 1 255 0 128", 100).unwrap();
//! assert_eq!((image.width, image.height), (2, 1));
//! assert_eq!(image.rgb, [0, 0, 0, 128, 128, 128]);
//! ```
#![forbid(unsafe_code)]

mod format;
mod jpeg;
mod jpeg2000;
mod rasters;
mod webp;

pub use format::Format;

/// Rows of pixels.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Image {
    /// Columns, at least one.
    pub width: usize,
    /// Rows, at least one.
    pub height: usize,
    /// Red, green and blue of each pixel: `3 * width * height` bytes.
    pub rgb: Vec<u8>,
}

/// Why there are no pixels.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ImageError {
    /// The bytes are something else.
    #[error("the image is none of {}", Format::names())]
    Format,
    /// It is too large.
    #[error("the image has {width} x {height} pixels, and at most {most} are read")]
    Size {
        /// Its columns.
        width: u32,
        /// Its rows.
        height: u32,
        /// The most pixels.
        most: u64,
    },
    /// It may be whole, and has something that is not read.
    #[error("the image cannot be read: {0}")]
    Unsupported(String),
    /// It cannot be decoded.
    #[error("the image cannot be read: {0}")]
    Damaged(String),
}

/// The cells of a pixel, and their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PixelFormat {
    /// Red, green, blue.
    Rgb,
    /// Blue, green, red.
    Bgr,
    /// How bright it is.
    Grayscale,
}

impl PixelFormat {
    /// As ONNX writes it.
    #[must_use]
    pub fn named(name: &str) -> Option<PixelFormat> {
        match name {
            "RGB" => Some(PixelFormat::Rgb),
            "BGR" => Some(PixelFormat::Bgr),
            "Grayscale" => Some(PixelFormat::Grayscale),
            _ => None,
        }
    }

    /// Cells of a pixel.
    #[must_use]
    pub fn channels(self) -> usize {
        match self {
            PixelFormat::Rgb | PixelFormat::Bgr => 3,
            PixelFormat::Grayscale => 1,
        }
    }
}

impl Image {
    /// Its cells row by row, those of a pixel together.
    #[must_use]
    pub fn into_cells(self, format: PixelFormat) -> Vec<u8> {
        let mut rgb = self.rgb;
        match format {
            PixelFormat::Rgb => rgb,
            PixelFormat::Bgr => {
                rgb.as_chunks_mut::<3>().0.iter_mut().for_each(|pixel| pixel.swap(0, 2));
                rgb
            }
            PixelFormat::Grayscale => rgb.as_chunks::<3>().0.iter().map(luma).collect(),
        }
    }
}

/// ITU-R 601-2 in 16 bits, as Pillow's `convert("L")` rounds it: what is grey already stays as it is.
fn luma([red, green, blue]: &[u8; 3]) -> u8 {
    let sum = 19595 * u32::from(*red) + 38470 * u32::from(*green) + 7471 * u32::from(*blue);
    ((sum + 0x8000) >> 16) as u8
}

/// The pixels of a file of at most so many.
///
/// # Errors
/// [`ImageError`]
pub fn decode(bytes: &[u8], max_pixels: u64) -> Result<Image, ImageError> {
    match Format::of(bytes).ok_or(ImageError::Format)? {
        Format::Jpeg => jpeg::decode(bytes, max_pixels),
        Format::Jpeg2000 => jpeg2000::decode(bytes, max_pixels),
        format => rasters::decode(bytes, format, max_pixels),
    }
}

/// Refuses what has no pixels, or too many of them.
fn check_size(width: u32, height: u32, most: u64) -> Result<(), ImageError> {
    match u64::from(width) * u64::from(height) {
        0 => Err(ImageError::Damaged("it has no pixels".to_owned())),
        pixels if pixels > most => Err(ImageError::Size { width, height, most }),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests;
