//! Formats of files, by how they begin.

/// A format that is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Of Windows and OS/2.
    Bmp,
    /// Baseline, extended and progressive.
    Jpeg,
    /// The codestream of part 1, alone or in a JP2 file.
    Jpeg2000,
    /// With or without interlacing.
    Png,
    /// PBM, PGM, PPM as text and as bytes, and PAM.
    Pnm,
    /// Of either order of bytes.
    Tiff,
    /// With and without loss.
    WebP,
}

/// Each with its name, and with the types of media that stand for it.
const TABLE: [(Format, &str, &[&str]); 7] = [
    (Format::Bmp, "BMP", &["image/bmp", "image/x-ms-bmp"]),
    (Format::Jpeg, "JPEG", &["image/jpeg", "image/jpg"]),
    (Format::Jpeg2000, "JPEG 2000", &["image/jp2", "image/j2c"]),
    (Format::Png, "PNG", &["image/png"]),
    (
        Format::Pnm,
        "PNM",
        &[
            "image/x-portable-anymap",
            "image/x-portable-bitmap",
            "image/x-portable-graymap",
            "image/x-portable-pixmap",
        ],
    ),
    (Format::Tiff, "TIFF", &["image/tiff"]),
    (Format::WebP, "WebP", &["image/webp"]),
];

impl Format {
    /// The format of a file.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Option<Format> {
        match bytes {
            [b'B', b'M', ..] => Some(Format::Bmp),
            [0xff, 0xd8, 0xff, ..] => Some(Format::Jpeg),
            [0, 0, 0, 12, b'j', b'P', b' ', b' ', ..] | [0xff, 0x4f, 0xff, 0x51, ..] => {
                Some(Format::Jpeg2000)
            }
            [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', ..] => Some(Format::Png),
            [b'P', b'1'..=b'7', b' ' | b'\t' | b'\r' | b'\n', ..] => Some(Format::Pnm),
            [b'I', b'I', 42 | 43, 0, ..] | [b'M', b'M', 0, 42 | 43, ..] => Some(Format::Tiff),
            [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some(Format::WebP),
            _ => None,
        }
    }

    /// The format that a type of media stands for, written in small letters.
    #[must_use]
    pub fn of_media_type(name: &str) -> Option<Format> {
        TABLE.iter().find(|(_, _, types)| types.contains(&name)).map(|(format, ..)| *format)
    }

    /// The names of all formats, for messages.
    #[must_use]
    pub fn names() -> String {
        TABLE.map(|(_, name, _)| name).join(", ")
    }
}
