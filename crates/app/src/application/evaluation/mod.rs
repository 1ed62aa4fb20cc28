//! The models that `model-evaluation` serves: files below `models/`, whose inputs are given by who asks for an output
//! (facts: Vespa, `model-integration/src/main/java/ai/vespa/rankingexpression/importer`).

mod settings;

use std::collections::BTreeMap;

use stead_expr::{CellType, Compiled, Dimension, Function, Rate, Scope, TensorType, compile};
use stead_tensor::Precision;
use stead_trees::{Categories, Feature};

use super::Application;
use crate::BackendKind;
use crate::application::rank::{
    ExpressionModel, ModelInput, ModelKind, ModelOptions, ModelOutput, ModelTypes, ProfileModel,
    Source, TreeLibrary, of_other_format, read_any_trees,
};
use crate::package::{PackageFiles, Place, Report};

/// A model.
#[derive(Debug, Clone)]
pub struct EvaluationModel {
    /// Its name: the path below `models/` without its ending, with `_` for `/` and `.`.
    pub name: String,
    /// Its file, from the root of the package.
    pub path: String,
    /// What it is.
    pub kind: EvaluationKind,
    /// The most threads of a run, where the settings say so; below 0 the cores divided by so many.
    pub threads: Option<i32>,
    /// How products by its weights are computed.
    pub precision: Precision,
    /// What evaluates it.
    pub backend: BackendKind,
    /// Inputs whose values are names of categories.
    pub categories: Vec<String>,
}

/// What a model is.
#[derive(Debug, Clone)]
pub enum EvaluationKind {
    /// A network, whose file tells its inputs and outputs.
    Onnx,
    /// Functions by their names, each of one output: one of trees, some of a `.model` file. Their inputs are values of the query.
    Functions(Vec<(String, ProfileModel)>),
}

/// The models of an application; none without `model-evaluation`.
#[must_use]
pub fn evaluation_models(
    application: &Application,
    files: &PackageFiles,
    types: &dyn ModelTypes,
    report: &mut Report,
) -> Vec<EvaluationModel> {
    let containers = application.services.containers.iter();
    let mut places = containers.filter_map(|c| Some((&c.place, c.model_evaluation.as_ref()?)));
    let Some((place, settings)) = places.next() else { return Vec::new() };
    let mut found: BTreeMap<String, EvaluationModel> = BTreeMap::new();
    for path in files.below("models") {
        let file = path.strip_prefix("models/").unwrap_or(path);
        let Some((stem, ending)) = file.rsplit_once('.') else { continue };
        let name = stem.replace(['/', '.'], "_");
        let mut categories = Vec::new();
        let kind = match ending {
            "onnx" => EvaluationKind::Onnx,
            "model" => match functions(file, types) {
                Ok(list) => EvaluationKind::Functions(list),
                Err(text) => {
                    report.error(&Place::file(path), text);
                    continue;
                }
            },
            // Other files have these endings too, such as those of tokenizers.
            "json" | "txt" | "ubj" => match trees(&name, file, files) {
                Some((function, of_words)) => {
                    categories = of_words;
                    EvaluationKind::Functions(vec![(name.clone(), function)])
                }
                None => continue,
            },
            // Other files have these endings too.
            "pb" if !stem.ends_with("saved_model") => continue,
            "xml" if !files.has(&format!("models/{stem}.bin")) => continue,
            _ => {
                if let Some(text) = of_other_format(path) {
                    report.warning(&Place::file(path), text.to_owned());
                }
                continue;
            }
        };
        let model = EvaluationModel {
            name: name.clone(),
            path: path.to_owned(),
            kind,
            threads: None,
            precision: Precision::F32,
            backend: BackendKind::Stead,
            categories,
        };
        if let Some(other) = found.insert(name.clone(), model) {
            let text = format!("{} and {path} are both the model {name}; rename one", other.path);
            report.error(&Place::file(path), text);
        }
    }
    for of in settings {
        settings::apply(of, place, &mut found, report);
    }
    found.into_values().collect()
}

/// An input that is a value of the query.
fn input(name: &str, kind: &TensorType) -> Option<ModelInput> {
    let scope = |_: &str| Some((kind.clone(), Rate::Query));
    let source = Source::Expression(compile(name, &scope).ok()?);
    Some(ModelInput { name: name.to_owned(), source })
}

/// The function that a file of trees is, if it is one, with its features that are categories.
fn trees(name: &str, file: &str, files: &PackageFiles) -> Option<(ProfileModel, Vec<String>)> {
    let (model, library) = read_any_trees(files, file).ok()?;
    let facts = crate::application::rank::tree_facts(&model);
    let kind = match facts.outputs {
        0 | 1 => TensorType::double(),
        several => {
            TensorType::new(CellType::Double, vec![Dimension::indexed("d0", several)]).ok()?
        }
    };
    let inputs = facts.features.iter().map(|feature| match feature.is_empty() {
        true => Some(ModelInput { name: String::new(), source: Source::Nothing }),
        false => input(feature, &TensorType::double()),
    });
    let categories = model.features().iter().zip(&facts.features);
    let is_of_words = |feature: &Feature| match (&feature.categories, library) {
        (Some(Categories::Strings(_)), _) => true,
        // Vespa compares with the texts that write the numbers of LightGBM.
        (None, TreeLibrary::LightGbm) => feature.categorical,
        _ => false,
    };
    let categories = categories.filter(|(f, name)| is_of_words(f) && !name.is_empty());
    let categories = categories.map(|(_, name)| name.clone()).collect();
    let output = ModelOutput { feature: name.to_owned(), name: String::new(), kind };
    let function = ProfileModel {
        kind: ModelKind::Trees { library, file: file.to_owned() },
        inputs: inputs.collect::<Option<_>>()?,
        outputs: vec![output],
        options: ModelOptions::default(),
        rate: Rate::Query,
    };
    Some((function, categories))
}

/// The names within a file of functions: what is neither a constant nor a declared input is a number.
struct FileScope<'m>(&'m ExpressionModel);

impl Scope for FileScope<'_> {
    fn find(&self, name: &str) -> Option<(TensorType, Rate)> {
        let plain = name.strip_prefix("constant(").and_then(|n| n.strip_suffix(')'));
        let plain = plain.unwrap_or(name);
        if let Some((_, value)) = self.0.constants.iter().find(|(n, _)| n == plain) {
            return Some((value.kind().clone(), Rate::Constant));
        }
        let declared = self.0.inputs.iter().find(|(n, _)| n == name).map(|(_, kind)| kind.clone());
        Some((declared.unwrap_or_else(TensorType::double), Rate::Query))
    }

    fn function(&self, name: &str) -> Option<&Function> {
        self.0.functions.iter().find(|(n, _)| n == name).map(|(_, function)| function)
    }
}

/// The functions of a file that take no parameters.
fn functions(file: &str, types: &dyn ModelTypes) -> Result<Vec<(String, ProfileModel)>, String> {
    let model = types.expressions(file)?;
    let mut found = Vec::new();
    for (name, _) in model.functions.iter().filter(|(_, f)| f.parameters().is_empty()) {
        let body: Compiled = compile(name, &FileScope(&model))
            .map_err(|e| format!("function {name}: {}", e.reason))?;
        let of_query = body.inputs().filter(|(_, _, rate)| *rate != Rate::Constant);
        let inputs = of_query.map(|(name, kind, _)| {
            input(name, kind).ok_or_else(|| format!("{name} is no name of an input"))
        });
        let inputs = inputs.collect::<Result<_, _>>()?;
        let kind = body.kind().clone();
        let outputs = vec![ModelOutput { feature: name.clone(), name: name.clone(), kind }];
        let constants = model.constants.clone();
        let function = ProfileModel {
            kind: ModelKind::Function { file: file.to_owned(), body, constants },
            inputs,
            outputs,
            options: ModelOptions::default(),
            rate: Rate::Query,
        };
        found.push((name.clone(), function));
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::application::rank::PackageModels;
    use crate::services::ServicesOptions;

    const TREE: &str = r#"[{"nodeid": 0, "split": "age", "split_condition": 0.5, "yes": 1, "no": 2,
        "missing": 1, "children": [{"nodeid": 1, "leaf": -1.5}, {"nodeid": 2, "leaf": 2.0}]}]"#;
    const FUNCTIONS: &str = "model f { inputs { v: tensor(x[]) } constants { w: 3.0 }
        function a() { expression: sum(v) * w + n }
        function twice(y) { expression: 2 * y }
        function b() { expression: twice(sum(v)) } }";

    fn read(
        settings: &str,
        more: &[(&'static str, &'static str)],
    ) -> (Vec<EvaluationModel>, Vec<String>) {
        let services = format!("<container id='c' version='1.0'>{settings}</container>");
        let mut list = vec![
            ("services.xml", services.as_str()),
            ("models/deep/er/t.1.json", TREE),
            ("models/f.model", FUNCTIONS),
            ("models/net.onnx", ""),
            ("models/tokenizer.json", "{\"model\": {}}"),
            ("models/readme.md", ""),
        ];
        list.extend(more);
        let files = PackageFiles::from_texts(list).unwrap();
        let (application, _) = Application::read(&files, ServicesOptions::default());
        let mut report = Report::default();
        let models = PackageModels::new(&files);
        let found = evaluation_models(&application, &files, &models, &mut report);
        (found, report.diagnostics().iter().map(|d| d.text.clone()).collect())
    }

    #[test]
    fn the_models_of_a_package_are_found() {
        assert!(read("", &[]).0.is_empty());
        let (found, told) = read("<model-evaluation/>", &[]);
        assert!(told.is_empty(), "{told:?}");
        let names: Vec<_> = found.iter().map(|m| m.name.as_str()).collect();
        assert_eq!(names, ["deep_er_t_1", "f", "net"]);
        let takes = |model: &EvaluationModel| match &model.kind {
            EvaluationKind::Onnx => Vec::new(),
            EvaluationKind::Functions(list) => {
                let of = |(name, function): &(String, ProfileModel)| {
                    let input = |i: &ModelInput| format!("{} {}", i.name, i.source.kind());
                    let inputs: Vec<_> = function.inputs.iter().map(input).collect();
                    format!("{name}({}) {}", inputs.join(", "), function.outputs[0].kind)
                };
                list.iter().map(of).collect()
            }
        };
        assert_eq!(takes(&found[0]), ["deep_er_t_1(age double) double"]);
        assert_eq!(
            takes(&found[1]),
            ["a(v tensor(x[]), n double) double", "b(v tensor(x[])) double"]
        );
        assert!(matches!(found[2].kind, EvaluationKind::Onnx));
    }

    #[test]
    fn settings_of_models_are_read() {
        let of = |inner: &str| {
            format!("<model-evaluation><onnx><models>{inner}</models></onnx></model-evaluation>")
        };
        for (inner, threads, expected) in [
            ("<model name='net'><intraop-threads>2</intraop-threads></model>", Some(2), None),
            ("<model name='net'><intraop-threads>0</intraop-threads></model>", None, None),
            (
                "<model name='net'><interop-threads>2</interop-threads><execution-mode>parallel</execution-mode></model>",
                None,
                None,
            ),
            (
                "<model name='net'><intraop-threads>2</intraop-threads><interop-threads>3</interop-threads><execution-mode>parallel</execution-mode></model>",
                Some(3),
                None,
            ),
            (
                "<model name='net'><intraop-threads>2</intraop-threads><interop-threads>3</interop-threads><execution-mode>sequential</execution-mode></model>",
                Some(2),
                None,
            ),
            (
                "<model name='net'><intraop-threads>-2</intraop-threads><interop-threads>3</interop-threads><execution-mode>parallel</execution-mode></model>",
                Some(-2),
                None,
            ),
            (
                "<model name='net'><interop-threads>-1</interop-threads></model>",
                None,
                Some("model net: interop-threads must be a number from 0 on, found -1"),
            ),
            ("<model name='net'><gpu-device>-1</gpu-device></model>", None, None),
            (
                "<model name='net'><gpu-device>first</gpu-device></model>",
                None,
                Some("model net: gpu-device must be a number, found first"),
            ),
            ("<model name='net'><optimize-model>true</optimize-model></model>", None, None),
            (
                "<model name='net'><optimize-model>false</optimize-model></model>",
                None,
                Some("model net: optimize-model is not used: models are always optimised"),
            ),
            (
                "<model name='net'><gpu-device>0</gpu-device></model>",
                None,
                Some("model net: gpu-device is not used: models run on CPUs"),
            ),
            (
                "<model name='net'><intraop-threads>many</intraop-threads></model>",
                None,
                Some("model net: intraop-threads must be a number, found many"),
            ),
            ("<model name='net'><precision>bf16</precision></model>", None, None),
            (
                "<model name='f'><precision>bf16</precision></model>",
                None,
                Some("model f: precision is for ONNX models, which it is not"),
            ),
            (
                "<model name='net'><precision>BF16</precision></model>",
                None,
                Some("model net: precision must be f32, bf16, f64 or int8, found BF16"),
            ),
            (
                "<model name='net'><backend>tensorrt</backend></model>",
                None,
                Some("model net: backend must be stead or onnxruntime, found tensorrt"),
            ),
            ("<model name='net'><backend>stead</backend></model>", None, None),
            ("<model name='net'><backend>onnxruntime</backend></model>", None, None),
            (
                "<model name='net'><backend>onnxruntime</backend><intraop-threads>2</intraop-threads></model>",
                Some(2),
                Some(
                    "model net: threads have no effect: other back ends compute a run on one thread",
                ),
            ),
            (
                "<model name='net'><backend>onnxruntime</backend><precision>int8</precision></model>",
                None,
                Some("model net: precision int8: not with backend onnxruntime"),
            ),
            (
                "<model name='f'><backend>onnxruntime</backend></model>",
                None,
                Some("model f: backend is for ONNX models, which it is not"),
            ),
            (
                "<model name='net'><execution-mode>fast</execution-mode></model>",
                None,
                Some("model net: execution-mode must be parallel or sequential, found fast"),
            ),
            (
                "<model name='net'><x>1</x></model>",
                None,
                Some("model net has the unknown setting x"),
            ),
            (
                "<model name='nets'/>",
                None,
                Some(
                    "model-evaluation names the model nets, which is none of models/: deep_er_t_1, f, net",
                ),
            ),
        ] {
            let (found, told) = read(&of(inner), &[]);
            assert_eq!(found[2].threads, threads, "{inner}");
            let is_other = inner.contains("'net'><backend>onnxruntime<");
            assert_eq!(found[2].backend == BackendKind::OnnxRuntime, is_other, "{inner}");
            let is_half = inner.contains("'net'><precision>bf16<");
            assert_eq!(found[2].precision == Precision::Bf16, is_half, "{inner}");
            assert_eq!(told, expected.into_iter().collect::<Vec<_>>(), "{inner}");
        }
    }

    #[test]
    fn what_is_wrong_with_models_is_told() {
        for (file, text, expected) in [
            (
                "models/net.model",
                "model net { function a() { expression: 1 } }",
                "models/net.model and models/net.onnx are both the model net; rename one",
            ),
            (
                "models/g.model",
                "model g { function a() { expression: 1 + } }",
                "models/g.model:1: function a at",
            ),
            (
                "models/g.model",
                "model h {}",
                "models/g.model:1: expected a model with the name of the file (g), found h",
            ),
            (
                "models/mnist/saved/saved_model.pb",
                "",
                "models of TensorFlow are not read in packages; convert it to ONNX (tf2onnx) and put the .onnx in its place",
            ),
        ] {
            let (_, told) = read("<model-evaluation/>", &[(file, text)]);
            assert!(told.len() == 1 && told[0].contains(expected), "{file}: {told:?}");
        }
        // Only with its constants beside it a file is OpenVINO IR.
        let other = ("models/ir/net.xml", "<net/>");
        assert!(read("<model-evaluation/>", &[other]).1.is_empty());
        let (_, told) = read("<model-evaluation/>", &[other, ("models/ir/net.bin", "")]);
        assert!(told.len() == 1 && told[0].contains("OpenVINO IR is not read"), "{told:?}");
    }
}
