//! Files that may be packed.

use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

/// Bytes that are read at a time.
const PIECE: usize = 1 << 20;

/// What a file holds, unpacked by the ending of its name: `.gz`, `.zst`, or as it is.
///
/// # Errors
/// When there is no unpacker for want of memory; bytes that are not packed so are an error of the reader.
pub fn unpacked(path: &Path, file: impl Read + 'static) -> io::Result<Box<dyn BufRead>> {
    let ending = path.extension().and_then(|e| e.to_str()).unwrap_or_default();
    Ok(match ending {
        // Several members behind each other are what `cat a.gz b.gz` makes.
        "gz" => {
            let unpacked = flate2::read::MultiGzDecoder::new(file);
            Box::new(BufReader::with_capacity(PIECE, unpacked))
        }
        "zst" => {
            let unpacked = zstd::stream::read::Decoder::new(file)?;
            Box::new(BufReader::with_capacity(PIECE, unpacked))
        }
        _ => Box::new(BufReader::with_capacity(PIECE, file)),
    })
}
