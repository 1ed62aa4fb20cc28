//! Constants in files of the package.

use std::io::Read;

use stead_expr::codec::binary;
use stead_expr::codec::json::from_json;
use stead_expr::{TensorType, Value};

use crate::package::PackageFiles;

/// The most bytes of a constant, those of a packed file unpacked. JSON in memory takes up to sixteen times as much.
const MAX_CONSTANT: u64 = 1 << 28;

/// Forms of constants by the ends of their names.
const FORMS: [(&str, Form); 3] =
    [(".json", Form::Json), (".json.lz4", Form::PackedJson), (".tbf", Form::Binary)];

#[derive(Clone, Copy)]
enum Form {
    Json,
    /// In a frame of LZ4.
    PackedJson,
    Binary,
}

/// The tensor in a file: JSON, JSON packed by LZ4, or Vespa's binary format.
///
/// # Errors
/// When there is no such file, it passes a limit, or what it holds is not of the type.
pub fn read_constant(files: &PackageFiles, path: &str, kind: &TensorType) -> Result<Value, String> {
    if !files.has(path) {
        return Err(format!("the package has no file {path}"));
    }
    let Some((_, form)) = FORMS.iter().find(|(end, _)| path.ends_with(end)) else {
        let ends = FORMS.map(|(end, _)| end).join(", ");
        return Err(format!("constants are read from files named {ends}, found {path}"));
    };
    let bytes = files.read(path, MAX_CONSTANT).map_err(|e| e.to_string())?;
    let value = match form {
        Form::Json => json(kind, &bytes),
        Form::PackedJson => unpacked(&bytes, MAX_CONSTANT).and_then(|bytes| json(kind, &bytes)),
        Form::Binary => binary::decode(&bytes).map_err(|e| e.to_string()).and_then(|value| {
            match value.kind() == kind {
                true => Ok(value),
                false => Err(format!("expected a {kind}, found a {}", value.kind())),
            }
        }),
    };
    value.map_err(|text| format!("{path}: {text}"))
}

fn json(kind: &TensorType, bytes: &[u8]) -> Result<Value, String> {
    let json = serde_json::from_slice(bytes).map_err(|e| e.to_string())?;
    from_json(kind, &json).map_err(|e| e.to_string())
}

fn unpacked(bytes: &[u8], limit: u64) -> Result<Vec<u8>, String> {
    let mut out = Vec::new();
    let frame = lz4_flex::frame::FrameDecoder::new(bytes);
    frame.take(limit + 1).read_to_end(&mut out).map_err(|e| e.to_string())?;
    if out.len() as u64 > limit {
        return Err(format!("more than {limit} bytes when unpacked"));
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use stead_expr::{Value, compile, parse_type};

    use super::{read_constant, unpacked};
    use crate::application::Application;
    use crate::package::PackageFiles;
    use crate::services::ServicesOptions;

    fn packed(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = lz4_flex::frame::FrameEncoder::new(Vec::new());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    fn literal(text: &str) -> Value {
        compile(text, &|_: &str| None).unwrap().run(&[]).unwrap()
    }

    fn package(path: &str, bytes: &[u8]) -> PackageFiles {
        let mut archive = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
        archive.start_file(path, zip::write::SimpleFileOptions::default()).unwrap();
        archive.write_all(bytes).unwrap();
        PackageFiles::from_archive(&archive.finish().unwrap().into_inner()).unwrap()
    }

    #[test]
    fn constants_are_read_in_every_form() {
        let value = literal("tensor<float>(x[2]):[1,2.5]");
        let binary = stead_expr::codec::binary::encode(&value);
        let json = br#"{"type": "tensor<float>(x[2])", "values": [1, 2.5]}"#;
        for (path, bytes) in [
            ("constants/c.json", json.to_vec()),
            ("constants/c.json.lz4", packed(json)),
            ("constants/c.tbf", binary),
        ] {
            let files = package(path, &bytes);
            assert_eq!(read_constant(&files, path, value.kind()), Ok(value.clone()), "{path}");
        }
    }

    #[test]
    fn what_is_no_constant_of_the_type_is_told() {
        let other = stead_expr::codec::binary::encode(&literal("tensor(y[2]):[1,2]"));
        let deep = "[".repeat(100_000);
        for (path, bytes, expected) in [
            ("c.json", &b"[1,2,3]"[..], "c.json: tensor(x[2]) needs 2 cells in a block, got 3"),
            ("c.json", b"[1", "c.json: EOF while parsing a list at line 1 column 2"),
            ("c.json", deep.as_bytes(), "c.json: recursion limit exceeded at line 1 column 128"),
            ("c.json", br#"["a",2]"#, "c.json: expected a number, found \"a\""),
            (
                "c.json",
                br#"{"type":"tensor(y[2])","values":[1,2]}"#,
                "c.json: expected a tensor(x[2]), found a tensor(y[2])",
            ),
            ("c.json.lz4", b"text", "c.json.lz4: "),
            ("c.tbf", &other, "c.tbf: expected a tensor(x[2]), found a tensor(y[2])"),
            ("c.tbf", b"\x01", "c.tbf: "),
            (
                "c.csv",
                b"1",
                "constants are read from files named .json, .json.lz4, .tbf, found c.csv",
            ),
        ] {
            let kind = parse_type("tensor(x[2])").unwrap();
            let error = read_constant(&package(path, bytes), path, &kind).unwrap_err();
            assert!(error.starts_with(expected), "{expected}: {error}");
        }
        let bomb = packed(&[b' '; 100_000]);
        assert!(bomb.len() < 1000, "{} bytes", bomb.len());
        let error = unpacked(&bomb, 99_999).unwrap_err();
        assert_eq!(error, "more than 99999 bytes when unpacked");
        let kind = parse_type("tensor(x[2])").unwrap();
        for path in ["c.json", "../c.json", "/etc/passwd", "constants/../c.json"] {
            let error = read_constant(&PackageFiles::default(), path, &kind).unwrap_err();
            assert_eq!(error, format!("the package has no file {path}"));
        }
    }

    #[test]
    fn packages_are_checked_for_what_constants_hold() {
        let schema = "schema s {
            document s { }
            constant a { file: constants/a.json type: tensor(x[2]) }
            rank-profile p inherits default {
                constants { b tensor(y{}): file:constants/b.json }
            }
        }";
        let files = PackageFiles::from_texts([
            ("schemas/s.sd", schema),
            ("services.xml", "<container version='1.0' id='c'/>"),
            ("constants/a.json", "[1]"),
            ("constants/b.json", "{\"a\": \"one\"}"),
        ]);
        let (_, report) = Application::read(&files.unwrap(), ServicesOptions::default());
        let found: Vec<String> = report.errors().map(ToString::to_string).collect();
        let expected = [
            "schemas/s.sd:3:32: constant a: constants/a.json: tensor(x[2]) needs 2 cells in a block, got 1",
            "schemas/s.sd:5:49: constant b: constants/b.json: expected a number, found \"one\"",
        ];
        assert_eq!(found, expected);
    }
}
