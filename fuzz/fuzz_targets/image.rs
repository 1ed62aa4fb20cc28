//! Bytes as an image of any format, and as text: what is read has no more pixels than are allowed, and becomes as many numbers as a model wants.
#![no_main]

use libfuzzer_sys::fuzz_target;
use stead_embed::image::{Preprocess, Resample, Resize, bytes_of_text, decode};

const MOST: u64 = 1 << 16;

fuzz_target!(|bytes: &[u8]| {
    let text = std::str::from_utf8(bytes).ok().and_then(|text| bytes_of_text(text).ok());
    for bytes in [Some(bytes), text.as_deref()].into_iter().flatten() {
        let Ok(image) = decode(bytes, MOST) else { continue };
        assert!(image.cells().len() as u64 <= MOST);
        for resize in [Resize::Keep, Resize::Shorter(9), Resize::To { width: 5, height: 11 }] {
            let prepare = Preprocess {
                resize,
                resample: Resample::Bicubic,
                crop: Some((8, 7)),
                rescale: 1.0 / 255.0,
                mean: [0.5; 3],
                std: [0.5; 3],
            };
            let pixels = prepare.pixels(&image, MOST).expect("a crop has a size");
            assert_eq!(pixels.size(), (8, 7));
            let mut numbers = Vec::new();
            prepare.numbers(&pixels, &mut numbers);
            assert_eq!(numbers.len(), 3 * 8 * 7);
            assert!(numbers.iter().all(|n| (-1.0..=1.0).contains(n)));
        }
    }
});
