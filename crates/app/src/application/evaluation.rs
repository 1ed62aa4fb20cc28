//! The models that `model-evaluation` serves: files below `models/`, whose inputs are given by who asks for an output
//! (facts: Vespa, `model-integration/src/main/java/ai/vespa/rankingexpression/importer`).

use std::collections::BTreeMap;

use stead_expr::{CellType, Compiled, Dimension, Function, Rate, Scope, TensorType, compile};

use super::Application;
use super::rank::{
    ExpressionModel, ModelInput, ModelKind, ModelOptions, ModelOutput, ModelTypes, ProfileModel,
    Source, read_any_trees,
};
use crate::package::{PackageFiles, Place, Report};
use crate::services::ContainerModel;

/// A model.
#[derive(Debug, Clone)]
pub struct EvaluationModel {
    /// Its name: the path below `models/` without its ending, with `_` for `/` and `.`.
    pub name: String,
    /// Its file, from the root of the package.
    pub path: String,
    /// What it is.
    pub kind: EvaluationKind,
    /// The most threads of a run, where `intraop-threads` says so; below 0 the cores divided by so many.
    pub threads: Option<i32>,
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
                Some(function) => EvaluationKind::Functions(vec![(name.clone(), function)]),
                None => continue,
            },
            _ => continue,
        };
        let model =
            EvaluationModel { name: name.clone(), path: path.to_owned(), kind, threads: None };
        if let Some(other) = found.insert(name.clone(), model) {
            let text = format!("{} and {path} are both the model {name}; rename one", other.path);
            report.error(&Place::file(path), text);
        }
    }
    for of in settings {
        apply(of, place, &mut found, report);
    }
    found.into_values().collect()
}

/// What `services.xml` says of a model.
fn apply(
    of: &ContainerModel,
    place: &Place,
    models: &mut BTreeMap<String, EvaluationModel>,
    report: &mut Report,
) {
    let name = &of.name;
    let Some(model) = models.get_mut(name) else {
        let known = models.keys().cloned().collect::<Vec<_>>().join(", ");
        let text =
            format!("model-evaluation names the model {name}, which is none of models/: {known}");
        return report.error(place, text);
    };
    for (option, value) in &of.settings {
        let number = || value.trim().parse::<i32>().ok();
        let expected = match option.as_str() {
            "intraop-threads" => match number() {
                Some(threads) => {
                    model.threads = Some(threads).filter(|threads| *threads != 0);
                    continue;
                }
                None => "a number",
            },
            // The operators of a model run one after the other, each on all threads of the run.
            "interop-threads" if number().is_some() => continue,
            "interop-threads" => "a number",
            "execution-mode" if matches!(value.trim(), "parallel" | "sequential") => continue,
            "execution-mode" => "parallel or sequential",
            "gpu-device" => {
                let text = format!("model {name}: gpu-device is not used: models run on CPUs");
                report.warning(place, text);
                continue;
            }
            other => {
                report.error(place, format!("model {name} has the unknown setting {other}"));
                continue;
            }
        };
        report.error(place, format!("model {name}: {option} must be {expected}, found {value}"));
    }
}

/// An input that is a value of the query.
fn input(name: &str, kind: &TensorType) -> Option<ModelInput> {
    let scope = |_: &str| Some((kind.clone(), Rate::Query));
    let source = Source::Expression(compile(name, &scope).ok()?);
    Some(ModelInput { name: name.to_owned(), source })
}

/// The function that a file of trees is, if it is one.
fn trees(name: &str, file: &str, files: &PackageFiles) -> Option<ProfileModel> {
    let (model, library) = read_any_trees(files, file).ok()?;
    let facts = super::rank::tree_facts(&model);
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
    let output = ModelOutput { feature: name.to_owned(), name: String::new(), kind };
    Some(ProfileModel {
        kind: ModelKind::Trees { library, file: file.to_owned() },
        inputs: inputs.collect::<Option<_>>()?,
        outputs: vec![output],
        options: ModelOptions::default(),
        rate: Rate::Query,
    })
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
                "<model name='net'><gpu-device>0</gpu-device></model>",
                None,
                Some("model net: gpu-device is not used: models run on CPUs"),
            ),
            (
                "<model name='net'><intraop-threads>many</intraop-threads></model>",
                None,
                Some("model net: intraop-threads must be a number, found many"),
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
        ] {
            let (_, told) = read("<model-evaluation/>", &[(file, text)]);
            assert!(told.len() == 1 && told[0].contains(expected), "{file}: {told:?}");
        }
    }
}
