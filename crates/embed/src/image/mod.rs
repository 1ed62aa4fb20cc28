//! Images to the inputs of vision models, as the preprocessors of Hugging Face and torchvision make them: decode, resize, crop, rescale,
//! normalise.

mod decode;
mod resize;

pub use decode::{bytes_of_text, decode};
pub use resize::{Resample, Window, resize};

/// What is wrong with an image.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ImageError {
    /// The text is no image.
    #[error("{0}")]
    Text(String),
    /// The file is not read.
    #[error(transparent)]
    File(#[from] stead_images::ImageError),
    /// It would be too large.
    #[error("the image of {width} x {height} pixels would be resized to more than {most}")]
    Shape {
        /// Its columns.
        width: usize,
        /// Its rows.
        height: usize,
        /// The most pixels.
        most: u64,
    },
}

/// Rows of red, green and blue bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pixels {
    width: usize,
    height: usize,
    cells: Vec<[u8; 3]>,
}

impl Pixels {
    /// From `3 * width * height` bytes; nothing if there are others.
    #[must_use]
    pub fn new(width: usize, height: usize, bytes: Vec<u8>) -> Option<Pixels> {
        let (cells, rest) = bytes.as_chunks::<3>();
        let is_whole = rest.is_empty() && width.checked_mul(height) == Some(cells.len());
        is_whole.then(|| Pixels { width, height, cells: cells.to_vec() })
    }

    fn black(width: usize, height: usize) -> Pixels {
        Pixels { width, height, cells: vec![[0; 3]; width * height] }
    }

    /// Columns and rows.
    #[must_use]
    pub fn size(&self) -> (usize, usize) {
        (self.width, self.height)
    }

    /// Row by row.
    #[must_use]
    pub fn cells(&self) -> &[[u8; 3]] {
        &self.cells
    }

    /// A pixel; black outside.
    fn at(&self, x: usize, y: usize) -> [u8; 3] {
        self.cells.get(y * self.width + x).copied().unwrap_or_default()
    }

    fn set(&mut self, x: usize, y: usize, cell: [u8; 3]) {
        if let Some(slot) = self.cells.get_mut(y * self.width + x) {
            *slot = cell;
        }
    }
}

/// The size that an image gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Resize {
    /// None but its own.
    Keep,
    /// The shorter side; the longer one in proportion, rounded down.
    Shorter(usize),
    /// Both sides, whatever they were.
    To {
        /// The columns.
        width: usize,
        /// The rows.
        height: usize,
    },
}

/// How a model wants its images.
#[derive(Debug, Clone, PartialEq)]
pub struct Preprocess {
    /// The size that they get.
    pub resize: Resize,
    /// How.
    pub resample: Resample,
    /// Columns and rows of what is cut from the middle; where the image has less, it stands in black.
    pub crop: Option<(usize, usize)>,
    /// What bytes are multiplied by.
    pub rescale: f64,
    /// What is taken from red, green and blue then.
    pub mean: [f64; 3],
    /// What they are divided by then.
    pub std: [f64; 3],
}

impl Preprocess {
    /// Columns and rows of what the model is given, where they are the same for all images.
    #[must_use]
    pub fn size(&self) -> Option<(usize, usize)> {
        match (self.crop, self.resize) {
            (Some(crop), _) => Some(crop),
            (None, Resize::To { width, height }) => Some((width, height)),
            (None, _) => None,
        }
    }

    /// The pixels that the model sees; those of [`Preprocess::size`] are as many as it says.
    ///
    /// # Errors
    /// [`ImageError::Shape`] where no size is fixed and the image would get more than `max_pixels`.
    pub fn pixels(&self, image: &Pixels, max_pixels: u64) -> Result<Pixels, ImageError> {
        let (width, height) = match self.resize {
            Resize::Keep => (image.width, image.height),
            Resize::To { width, height } => (width, height),
            Resize::Shorter(side) => {
                let longer = |long: usize, short: usize| {
                    (side as u128 * long as u128 / short.max(1) as u128) as usize
                };
                match image.width <= image.height {
                    true => (side, longer(image.height, image.width)),
                    false => (longer(image.width, image.height), side),
                }
            }
        };
        let Some((columns, rows)) = self.crop else {
            if (width as u64).saturating_mul(height as u64) > max_pixels {
                let (width, height) = (image.width, image.height);
                return Err(ImageError::Shape { width, height, most: max_pixels });
            }
            return Ok(resize(image, Window::all(width), Window::all(height), self.resample));
        };
        let (across, left) = middle(width, columns);
        let (down, top) = middle(height, rows);
        let part = resize(image, across, down, self.resample);
        if (across.count, down.count) == (columns, rows) {
            return Ok(part);
        }
        let mut whole = Pixels::black(columns, rows);
        for y in 0..down.count {
            for x in 0..across.count {
                whole.set(left + x, top + y, part.at(x, y));
            }
        }
        Ok(whole)
    }

    /// Appends the numbers of pixels: all reds, then greens, then blues.
    pub fn numbers(&self, pixels: &Pixels, out: &mut Vec<f32>) {
        for ((channel, mean), std) in (0..3).zip(self.mean).zip(self.std) {
            // A byte has few values.
            let number = |byte: usize| ((byte as f64 * self.rescale - mean) / std) as f32;
            let table: Vec<f32> = (0..256).map(number).collect();
            let byte = |cell: &[u8; 3]| usize::from(cell.get(channel).copied().unwrap_or(0));
            out.extend(pixels.cells.iter().filter_map(|cell| table.get(byte(cell)).copied()));
        }
    }
}

/// The cells of an axis that a crop from the middle takes, and how many it has before these.
fn middle(size: usize, crop: usize) -> (Window, usize) {
    if crop <= size {
        let from = (size - crop) / 2;
        return (Window { size, from, count: crop }, 0);
    }
    // As in Hugging Face, the odd one stands before.
    (Window::all(size), (crop - size).div_ceil(2))
}

#[cfg(test)]
mod tests;
