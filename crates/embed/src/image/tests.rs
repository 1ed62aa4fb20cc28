use super::*;

/// A small generator, so that a case can be repeated by its seed.
struct Chance(u64);

impl Chance {
    fn next(&mut self, below: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % below
    }

    fn pixels(&mut self, width: usize, height: usize) -> Pixels {
        let bytes = (0..3 * width * height).map(|_| self.next(256) as u8).collect();
        Pixels::new(width, height, bytes).unwrap()
    }
}

const ALL: [Resample; 4] =
    [Resample::Nearest, Resample::Bilinear, Resample::Bicubic, Resample::Lanczos];

/// `recorded.json`, which Pillow wrote by `make_images.py`.
fn recorded() -> serde_json::Value {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/images/recorded.json");
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

fn file(name: &str) -> Vec<u8> {
    std::fs::read(format!("{}/tests/data/images/{name}", env!("CARGO_MANIFEST_DIR"))).unwrap()
}

fn bytes(hex: &serde_json::Value) -> Vec<u8> {
    let hex = hex.as_str().unwrap();
    let byte = |at: usize| u8::from_str_radix(&hex[at..at + 2], 16).unwrap();
    (0..hex.len()).step_by(2).map(byte).collect()
}

#[test]
fn sizes_are_changed_as_pillow_does() {
    let recorded = recorded();
    let mut count = 0;
    for case in recorded["resized"].as_array().unwrap() {
        let image = decode(&file(case["file"].as_str().unwrap()), 1 << 20).unwrap();
        let by = match case["resample"].as_str().unwrap() {
            "nearest" => Resample::Nearest,
            "bilinear" => Resample::Bilinear,
            "bicubic" => Resample::Bicubic,
            "lanczos" => Resample::Lanczos,
            other => panic!("{other}"),
        };
        let size = |name: &str| case[name].as_u64().unwrap() as usize;
        let (width, height) = (size("width"), size("height"));
        let found = resize(&image, Window::all(width), Window::all(height), by);
        let expected = Pixels::new(width, height, bytes(&case["bytes"])).unwrap();
        assert_eq!(found, expected, "{case}");
        count += 1;
    }
    assert_eq!(count, 32);
}

#[test]
fn files_are_read_as_pillow_does() {
    for case in recorded()["decoded"].as_array().unwrap() {
        let name = case["file"].as_str().unwrap();
        let image = decode(&file(name), 1 << 20).unwrap();
        let size = |name: &str| case[name].as_u64().unwrap() as usize;
        assert_eq!(image.size(), (size("width"), size("height")), "{name}");
        let expected = Pixels::new(size("width"), size("height"), bytes(&case["bytes"])).unwrap();
        assert_eq!(image, expected, "{name}");
    }
}

#[test]
fn models_get_the_numbers_of_hugging_face() {
    for case in recorded()["prepared"].as_array().unwrap() {
        let name = case["file"].as_str().unwrap();
        let image = decode(&file(name), 1 << 20).unwrap();
        let number = |name: &str| case[name].as_u64().unwrap() as usize;
        let crop = number("crop");
        let prepare = Preprocess {
            resize: Resize::Shorter(number("shorter")),
            resample: Resample::Bicubic,
            crop: Some((crop, crop)),
            rescale: 1.0 / 255.0,
            mean: [0.48145466, 0.4578275, 0.40821073],
            std: [0.26862954, 0.26130258, 0.27577711],
        };
        let pixels = prepare.pixels(&image, 1 << 20).unwrap();
        let mut found = Vec::new();
        prepare.numbers(&pixels, &mut found);
        let expected = case["numbers"].as_array().unwrap();
        assert_eq!(found.len(), expected.len(), "{name} {crop}");
        for (at, (found, expected)) in found.iter().zip(expected).enumerate() {
            let expected = expected.as_f64().unwrap() as f32;
            assert!(
                (found - expected).abs() < 2e-6,
                "{name} {crop}, number {at}: {found} {expected}"
            );
        }
    }
}

/// Properties of every way and size: a plain image stays plain, no cell leaves the range of those that it is made of where no weight is
/// negative, a part is the part of the whole, and an image of its own size is itself.
#[test]
fn sizes_keep_what_they_must() {
    for seed in 1..200_u64 {
        let chance = &mut Chance(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let (width, height) = (1 + chance.next(40), 1 + chance.next(40));
        let (columns, rows) = (1 + chance.next(50), 1 + chance.next(50));
        let by = ALL[chance.next(4)];
        let label = format!("seed {seed}: {width}x{height} to {columns}x{rows} by {by:?}");
        let image = chance.pixels(width, height);
        let whole = resize(&image, Window::all(columns), Window::all(rows), by);
        assert_eq!(whole.size(), (columns, rows), "{label}");
        assert_eq!(resize(&image, Window::all(width), Window::all(height), by), image, "{label}");

        let colour = [chance.next(256) as u8, chance.next(256) as u8, chance.next(256) as u8];
        let plain = Pixels { width, height, cells: vec![colour; width * height] };
        let plain = resize(&plain, Window::all(columns), Window::all(rows), by);
        assert!(plain.cells().iter().all(|cell| *cell == colour), "{label}");

        if matches!(by, Resample::Nearest | Resample::Bilinear) {
            for channel in 0..3 {
                let all = || image.cells().iter().map(|cell| cell[channel]);
                let (least, most) = (all().min().unwrap(), all().max().unwrap());
                let inside = |cell: &[u8; 3]| (least..=most).contains(&cell[channel]);
                assert!(whole.cells().iter().all(inside), "{label}");
            }
        }
        let (left, top) = (chance.next(columns), chance.next(rows));
        let (across, down) = (1 + chance.next(columns - left), 1 + chance.next(rows - top));
        let window = |size, from, count| Window { size, from, count };
        let part = resize(&image, window(columns, left, across), window(rows, top, down), by);
        for y in 0..down {
            for x in 0..across {
                assert_eq!(part.at(x, y), whole.at(left + x, top + y), "{label}: {x}, {y}");
            }
        }
    }
}

#[test]
fn texts_become_bytes() {
    for (text, expected) in [
        ("AQID", &[1, 2, 3][..]),
        (" AQ\nI=\n", &[1, 2]),
        ("AQI", &[1, 2]),
        ("data:image/png;base64,AQID", &[1, 2, 3]),
        ("DATA:image/JPEG;name=a.jpg;base64,AQID", &[1, 2, 3]),
        ("data:;base64,AQID", &[1, 2, 3]),
    ] {
        assert_eq!(bytes_of_text(text).as_deref(), Ok(expected), "{text}");
    }
    for (text, expected) in [
        ("data:image/png;base64", "the data: URI has no comma"),
        ("data:image/png,abc", "the data: URI is not in base64"),
        (
            "data:text/html;base64,AQID",
            "text/html is not read; types of BMP, JPEG, JPEG 2000, PNG, PNM, TIFF, WebP are",
        ),
        ("a red fox", "expected base64 or a data: URI: Invalid last symbol 120, offset 6."),
        ("http://a/b.png", "expected base64 or a data: URI: Invalid symbol 58, offset 4."),
    ] {
        assert_eq!(bytes_of_text(text).unwrap_err().to_string(), expected, "{text}");
    }
}

/// A header that promises more than a limit is refused before anything is made for it; half a file is told; nothing panics.
#[test]
fn hostile_files_are_refused() {
    let png = file("colours.png");
    let mut huge = png.clone();
    // Width and height stand at byte 16; the sum over the header follows it.
    huge[16..24].copy_from_slice(&[0, 1, 0, 0, 0, 1, 0, 0]);
    let sum = crc(&huge[12..29]);
    huge[29..33].copy_from_slice(&sum.to_be_bytes());
    let size = |width, height, most| {
        ImageError::File(stead_images::ImageError::Size { width, height, most })
    };
    assert_eq!(decode(&huge, 1 << 24), Err(size(1 << 16, 1 << 16, 1 << 24)));
    let (width, height) = decode(&png, 1 << 20).unwrap().size();
    assert_eq!(decode(&png, 10), Err(size(width as u32, height as u32, 10)));
    for (label, bytes) in
        [("nothing", &[][..]), ("a text", b"GIF is no word"), ("GIF", b"GIF89a\x01\x00\x01\x00")]
    {
        assert_eq!(
            decode(bytes, 1 << 20),
            Err(ImageError::File(stead_images::ImageError::Format)),
            "{label}"
        );
    }
    for name in ["colours.png", "grey.png", "photo.jpg"] {
        let whole = file(name);
        for end in (0..whole.len() - 12).step_by(7) {
            let found = decode(&whole[..end], 1 << 20);
            assert!(found.is_err(), "{name} cut at {end}");
        }
        for seed in 1..400_u64 {
            let chance = &mut Chance(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
            let mut bytes = whole.clone();
            for _ in 0..1 + chance.next(4) {
                let at = chance.next(bytes.len());
                bytes[at] = chance.next(256) as u8;
            }
            if let Ok(pixels) = decode(&bytes, 1 << 16) {
                assert!(pixels.cells().len() <= 1 << 16, "{name}, seed {seed}");
            }
        }
    }
}

/// The sum of a chunk of PNG.
fn crc(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0_u32, |sum, byte| {
        (0..8).fold(sum ^ u32::from(*byte), |sum, _| {
            if sum & 1 == 1 { (sum >> 1) ^ 0xedb8_8320 } else { sum >> 1 }
        })
    })
}

/// Sides that differ by millions cost no more than what is cut from the middle.
#[test]
fn long_images_are_cut_before_they_grow() {
    let long = Pixels { width: 1 << 20, height: 1, cells: vec![[9; 3]; 1 << 20] };
    let prepare = Preprocess {
        resize: Resize::Shorter(224),
        resample: Resample::Bilinear,
        crop: Some((224, 224)),
        rescale: 1.0,
        mean: [0.0; 3],
        std: [1.0; 3],
    };
    let found = prepare.pixels(&long, 1 << 24).unwrap();
    assert_eq!(found.size(), (224, 224));
    assert!(found.cells().iter().all(|cell| *cell == [9; 3]));
    let whole = Preprocess { crop: None, ..prepare };
    let expected = ImageError::Shape { width: 1 << 20, height: 1, most: 1 << 24 };
    assert_eq!(whole.pixels(&long, 1 << 24), Err(expected));
}
