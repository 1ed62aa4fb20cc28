use super::*;

use std::path::{Path, PathBuf};

/// A small generator, so that a case can be repeated by its seed.
struct Chance(u64);

impl Chance {
    fn of(seed: u64) -> Chance {
        Chance(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }

    fn next(&mut self, below: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % below
    }
}

/// The images that `make_images.py` made, with what Pillow reads of them.
fn recorded() -> Vec<(String, Vec<u8>, Image)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    let mut paths: Vec<PathBuf> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let pixels = |path: &&PathBuf| path.extension().is_some_and(|end| end == "rgb");
    let one = |path: &PathBuf| {
        let bytes = std::fs::read(path).unwrap();
        let side = |at: usize| u32::from_le_bytes(*bytes[at..].first_chunk::<4>().unwrap());
        let (width, height) = (side(0) as usize, side(4) as usize);
        let image = Image { width, height, rgb: bytes[8..].to_vec() };
        let file = path.with_extension("");
        let name = file.file_name().unwrap().to_string_lossy().into_owned();
        (name, std::fs::read(file).unwrap(), image)
    };
    paths.iter().filter(pixels).map(one).collect()
}

#[test]
fn files_are_read_as_pillow_does() {
    let recorded = recorded();
    assert!(recorded.len() >= 40);
    let mut wrong = Vec::new();
    for (name, file, expected) in recorded {
        match decode(&file, 1 << 20) {
            Ok(found) if found == expected => {}
            Ok(found) => {
                let worst = found.rgb.iter().zip(&expected.rgb).map(|(a, b)| a.abs_diff(*b)).max();
                let sizes = (found.width, found.height, expected.width, expected.height);
                wrong.push(format!("{name}: {sizes:?}, {worst:?}"));
            }
            Err(e) => wrong.push(format!("{name}: {e}")),
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// A limit is told before pixels are made; half a file is damaged; bytes that are changed are read or refused, and never panic.
#[test]
fn hostile_files_are_refused() {
    for (name, file, image) in recorded() {
        let pixels = (image.width * image.height) as u64;
        let (width, height) = (image.width as u32, image.height as u32);
        let most = pixels - 1;
        let expected = match most {
            0 => None,
            _ => Some(ImageError::Size { width, height, most }),
        };
        if let Some(expected) = expected {
            assert_eq!(decode(&file, most), Err(expected), "{name}");
        }
        for end in (0..file.len()).step_by(11) {
            if let Ok(image) = decode(&file[..end], pixels) {
                assert_eq!(image.rgb.len() as u64, 3 * pixels, "{name} cut at {end}");
            }
        }
        for seed in 1..150_u64 {
            let chance = &mut Chance::of(seed);
            let mut bytes = file.clone();
            for _ in 0..1 + chance.next(4) {
                let near = 200 + chance.next(2000);
                let at = chance.next(bytes.len().min(near));
                bytes[at] = chance.next(256) as u8;
            }
            if let Ok(image) = decode(&bytes, 1 << 14) {
                let pixels = image.width * image.height;
                assert!(pixels <= 1 << 14 && image.rgb.len() == 3 * pixels, "{name}, seed {seed}");
            }
        }
    }
    for (label, bytes) in [("nothing", &[][..]), ("GIF", b"GIF89a\x01\x00\x01\x00")] {
        assert_eq!(decode(bytes, 1 << 20), Err(ImageError::Format), "{label}");
    }
}

#[test]
fn cells_stand_in_the_order_that_is_asked_for() {
    let image = Image { width: 2, height: 1, rgb: vec![250, 20, 30, 77, 77, 77] };
    for (format, expected) in [
        ("RGB", &[250, 20, 30, 77, 77, 77][..]),
        ("BGR", &[30, 20, 250, 77, 77, 77]),
        ("Grayscale", &[90, 77]),
    ] {
        let format = PixelFormat::named(format).unwrap();
        assert_eq!(image.clone().into_cells(format), expected);
        assert_eq!(expected.len(), 2 * format.channels());
    }
    assert_eq!(PixelFormat::named("rgb"), None);
}

/// A frame of a WebP that says another size than the file, and a JPEG 2000 of very many parts: refused by what they say.
#[test]
fn sizes_inside_files_count_too() {
    let (_, file, _) = recorded().into_iter().find(|(name, ..)| name == "alpha.webp").unwrap();
    let mut wide = file.clone();
    let at = wide.windows(4).position(|part| part == b"VP8 ").unwrap();
    wide[at + 14..at + 18].copy_from_slice(&[0xff, 0x3f, 0xff, 0x3f]);
    let expected = ImageError::Size { width: 0x3fff, height: 0x3fff, most: 1 << 20 };
    assert_eq!(decode(&wide, 1 << 20), Err(expected));

    let (_, file, _) = recorded().into_iter().find(|(name, ..)| name == "tiles.jp2").unwrap();
    let mut fine = file.clone();
    let size = fine.windows(2).position(|part| part == [0xff, 0x51]).unwrap();
    fine[size + 6..size + 14].copy_from_slice(&[0, 0, 8, 0, 0, 0, 8, 0]);
    let coding = fine.windows(2).position(|part| part == [0xff, 0x52]).unwrap();
    let levels = usize::from(fine[coding + 9]) + 1;
    fine[coding + 14..coding + 14 + levels].fill(0x11);
    let found = decode(&fine, 1 << 24).unwrap_err();
    assert!(
        matches!(&found, ImageError::Unsupported(text) if text.contains("precincts")),
        "{found}"
    );
}
