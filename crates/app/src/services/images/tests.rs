use stead_embed::image::{Preprocess, Resample, Resize};
use stead_tensor::Precision;

use super::{ImageSettings, PoolingStrategy, config, torchvision};
use crate::application::Application;
use crate::package::{PackageFiles, Report};
use crate::services::ServicesOptions;

/// The settings of the only component of a package, and what is wrong with it.
fn settings(inner: &str, config: &str) -> (Option<ImageSettings>, Vec<String>) {
    let services = format!(
        "<container version='1.0' id='c'>\n<component id='i' type='image-embedder'>{inner}</component></container>"
    );
    let files = PackageFiles::from_texts([
        ("services.xml", services.as_str()),
        ("models/m.onnx", ""),
        ("models/p.json", config),
    ]);
    let files = files.unwrap();
    let (application, _) = Application::read(&files, ServicesOptions::default());
    let mut report = Report::default();
    let found =
        application.services.containers[0].components[0].image_embedder(&files, &mut report);
    (found, report.diagnostics().iter().map(ToString::to_string).collect())
}

const MODEL: &str = "<image-model path='models/m.onnx'/>";

#[test]
fn what_is_not_said_is_as_torchvision_does() {
    let (found, wrong) = settings(MODEL, "");
    assert_eq!(wrong, [""; 0]);
    let found = found.unwrap();
    assert_eq!(found.prepare, torchvision());
    assert_eq!((found.size, found.max_pixels), ((224, 224), 1 << 24));
    assert_eq!((found.input, found.output, found.threads), (None, None, None));
    assert_eq!((found.pooling, found.normalize), (PoolingStrategy::None, false));

    let all = "<image-input>x</image-input><image-output>y</image-output><resize>40x30</resize>
        <resample>lanczos</resample><crop>none</crop><rescale>0.5</rescale><mean>1, 2, 3</mean><std>4 5 6</std>
        <pooling-strategy>mean</pooling-strategy><normalize>true</normalize><max-pixels>900</max-pixels>
        <onnx-intraop-threads>2</onnx-intraop-threads><onnx-precision>bf16</onnx-precision>";
    let (found, wrong) = settings(&format!("{MODEL}{all}"), "");
    assert_eq!(wrong, [""; 0]);
    let found = found.unwrap();
    let expected = Preprocess {
        resize: Resize::To { width: 40, height: 30 },
        resample: Resample::Lanczos,
        crop: None,
        rescale: 0.5,
        mean: [1.0, 2.0, 3.0],
        std: [4.0, 5.0, 6.0],
    };
    assert_eq!((found.prepare, found.size, found.max_pixels), (expected, (40, 30), 900));
    assert_eq!((found.input.as_deref(), found.output.as_deref()), (Some("x"), Some("y")));
    assert_eq!(
        (found.pooling, found.normalize, found.threads, found.precision),
        (PoolingStrategy::Mean, true, Some(2), Precision::Bf16)
    );
}

#[test]
fn files_of_hugging_face_are_read() {
    let clip = r#"{"crop_size": {"height": 224, "width": 224}, "do_center_crop": true, "do_convert_rgb": true, "do_normalize": true,
        "do_rescale": true, "do_resize": true, "feature_extractor_type": "CLIPFeatureExtractor", "image_mean": [0.48, 0.45, 0.4],
        "image_std": [0.26, 0.26, 0.27], "resample": 3, "rescale_factor": 0.00392156862745098, "size": {"shortest_edge": 224}}"#;
    let base = torchvision();
    let of_clip = Preprocess {
        resize: Resize::Shorter(224),
        resample: Resample::Bicubic,
        crop: Some((224, 224)),
        rescale: 0.003_921_568_627_450_98,
        mean: [0.48, 0.45, 0.4],
        std: [0.26, 0.26, 0.27],
    };
    let square = Resize::To { width: 9, height: 9 };
    for (label, text, expected) in [
        ("CLIP", clip, of_clip),
        (
            "older CLIP",
            r#"{"size": 8, "crop_size": 6}"#,
            Preprocess { resize: Resize::Shorter(8), crop: Some((6, 6)), ..base.clone() },
        ),
        ("older ViT", r#"{"size": 9}"#, Preprocess { resize: square, crop: None, ..base.clone() }),
        (
            "ViT",
            r#"{"size": {"height": 9, "width": 9}, "do_normalize": false, "do_rescale": false}"#,
            Preprocess {
                resize: square,
                crop: None,
                rescale: 1.0,
                mean: [0.0; 3],
                std: [1.0; 3],
                ..base.clone()
            },
        ),
        (
            "no resizing",
            r#"{"do_resize": false, "size": 7, "crop_size": {"width": 5, "height": 4}, "resample": 0}"#,
            Preprocess {
                resize: Resize::Keep,
                crop: Some((5, 4)),
                resample: Resample::Nearest,
                ..base.clone()
            },
        ),
    ] {
        assert_eq!(config::read(text, base.clone()), Ok(expected), "{label}");
    }
    for (text, expected) in [
        ("[]", "expected a JSON object"),
        (r#"{"do_pad": true}"#, "do_pad: true is not supported"),
        (r#"{"crop_pct": 0.9}"#, "crop_pct: 0.9 is not supported"),
        (r#"{"size": {"longest_edge": 5}}"#, r#"size: {"longest_edge":5} is not supported"#),
        (
            r#"{"size": {"shortest_edge": 5, "longest_edge": 9}}"#,
            r#"size: {"longest_edge":9,"shortest_edge":5} is not supported"#,
        ),
        (r#"{"size": 100000}"#, "size: 100000 is not supported"),
        (r#"{"resample": 5}"#, "resample: 5 is not supported; 0, 1, 2 and 3 are"),
        (r#"{"image_mean": [1, 2]}"#, "image_mean: [1,2] is no list of three numbers"),
        (r#"{"image_std": [1, 0, 2]}"#, "image_std has a 0"),
        (r#"{"do_center_crop": true}"#, "do_center_crop needs a crop_size"),
    ] {
        assert_eq!(config::read(text, base.clone()), Err(expected.to_owned()), "{text}");
    }
    // The component says more than its file.
    let inner = format!("{MODEL}<preprocessor-config path='models/p.json'/><crop>6</crop>");
    let (found, wrong) = settings(&inner, r#"{"size": {"shortest_edge": 8}, "crop_size": 7}"#);
    assert_eq!(wrong, [""; 0]);
    assert_eq!(found.unwrap().prepare.crop, Some((6, 6)));
}

#[test]
fn what_is_wrong_is_named() {
    for (inner, expected) in [
        (String::new(), "services.xml:2:1: component i has no image-model"),
        (
            "<image-model path='models/x.onnx'/>".to_owned(),
            "services.xml:2:41: image-model of component i: the package has no file models/x.onnx",
        ),
        (
            format!("{MODEL}<resample>sharp</resample>"),
            "services.xml:2:76: expected nearest, bilinear, bicubic or lanczos for resample of component i, found sharp",
        ),
        (
            format!("{MODEL}<std>1 0 1</std>"),
            "services.xml:2:76: expected three numbers, none of them 0 for std of component i, found 1 0 1",
        ),
        (
            format!("{MODEL}<crop>none</crop>"),
            "services.xml:2:1: component i must give its model images of one size, of at most 4096 x 4096: write <crop>224</crop> or <resize>224x224</resize>",
        ),
        (
            format!("{MODEL}<crop>99999</crop>"),
            "services.xml:2:76: expected a number, such as 224, WIDTHxHEIGHT or none for crop of component i, found 99999",
        ),
        (
            format!("{MODEL}<preprocessor-config path='models/p.json'/>"),
            "services.xml:2:76: models/p.json of component i: EOF while parsing a value at line 1 column 0",
        ),
    ] {
        let (found, wrong) = settings(&inner, "");
        assert_eq!(found, None, "{inner}");
        assert_eq!(wrong, [expected], "{inner}");
    }
}
