//! ImageDecoder: images of other sizes run after run, and what is none.
#![allow(clippy::unwrap_used)] // a panic is the report

use stead_engine::{LoadError, LoadOptions, Model, RunError, Session, SessionOptions};
use stead_onnx::{AttributeValue, ModelBuilder};
use stead_tensor::{DType, Tensor};

const FILES: [(&str, &[u8], &[u8]); 3] = [
    (
        "jpeg",
        include_bytes!("../../images/tests/data/420.jpg"),
        include_bytes!("../../images/tests/data/420.jpg.rgb"),
    ),
    (
        "small jpeg",
        include_bytes!("../../images/tests/data/small.jpg"),
        include_bytes!("../../images/tests/data/small.jpg.rgb"),
    ),
    (
        "webp",
        include_bytes!("../../images/tests/data/lossy.webp"),
        include_bytes!("../../images/tests/data/lossy.webp.rgb"),
    ),
];

fn session(format: &str) -> Result<Session, LoadError> {
    let model = ModelBuilder::new(20)
        .input("x", DType::U8, &["n"])
        .node("ImageDecoder", &["x"], &["y"])
        .attr("pixel_format", AttributeValue::String(format.as_bytes().to_vec()))
        .node("Shape", &["y"], &["sizes"])
        .output("y", DType::U8)
        .output("sizes", DType::I64);
    let model = Model::from_onnx(model.build().unwrap(), &LoadOptions::default())?;
    Session::new(model, &SessionOptions::default())
}

fn run(session: &Session, file: &[u8]) -> Result<(Vec<u8>, Vec<i64>), RunError> {
    let x = Tensor::from_slice(file, &[file.len()]).unwrap();
    let found = session.run(&[("x", x.view())], &[])?;
    let sizes = found[1].as_slice::<i64>().unwrap().to_vec();
    assert_eq!(found[0].shape().dims().iter().map(|n| *n as i64).collect::<Vec<_>>(), sizes);
    Ok((found[0].as_slice::<u8>().unwrap().to_vec(), sizes))
}

#[test]
fn each_run_has_the_size_of_its_image() {
    for (format, channels) in [("RGB", 3), ("BGR", 3), ("Grayscale", 1)] {
        let session = session(format).unwrap();
        for (label, file, expected) in FILES.into_iter().chain(FILES) {
            let side = |at: usize| i64::from(expected[at]) + 256 * i64::from(expected[at + 1]);
            let (cells, sizes) = run(&session, file).unwrap();
            assert_eq!(sizes, [side(4), side(0), channels], "{label}");
            let mut pixels = expected[8..].as_chunks::<3>().0.to_vec();
            let first = match format {
                "RGB" => pixels.concat(),
                "BGR" => {
                    pixels.iter_mut().for_each(|pixel| pixel.reverse());
                    pixels.concat()
                }
                _ => continue,
            };
            assert_eq!(cells, first, "{label} as {format}");
        }
    }
}

#[test]
fn what_cannot_be_decoded_is_an_empty_matrix() {
    let (rgb, grey) = (session("RGB").unwrap(), session("Grayscale").unwrap());
    let (_, whole, _) = FILES[0];
    for (label, file) in
        [("nothing", &[][..]), ("GIF", b"GIF89a\x01\x00\x01\x00"), ("half", &whole[..500])]
    {
        assert_eq!(run(&rgb, file).unwrap(), (Vec::new(), vec![0, 0, 3]), "{label}");
        assert_eq!(run(&grey, file).unwrap(), (Vec::new(), vec![0, 0, 1]), "{label}");
    }
    assert_eq!(run(&rgb, whole).unwrap().1, [23, 37, 3]);
}

#[test]
fn what_is_not_read_is_an_error() {
    let refused = session("YCbCr").err().unwrap().to_string();
    assert!(refused.contains("pixel_format YCbCr; supported: RGB, BGR, Grayscale"), "{refused}");

    let mut large = FILES[0].1.to_vec();
    let frame = large.windows(2).position(|pair| pair == [0xff, 0xc0]).unwrap();
    large[frame + 5..frame + 9].fill(0xff);
    let refused = run(&session("RGB").unwrap(), &large).unwrap_err().to_string();
    assert!(refused.contains("65535 x 65535 pixels, and at most 89478485 are read"), "{refused}");

    let mut other = FILES[0].1.to_vec();
    other[frame + 1] = 0xc9;
    let refused = run(&session("RGB").unwrap(), &other).unwrap_err().to_string();
    assert!(refused.contains("arithmetic codes is not read"), "{refused}");
}
