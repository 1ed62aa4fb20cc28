//! The tokenizers of components: their files, and what becomes of the ids.

use super::components::{Component, ComponentKind, Parameter};
use crate::package::{Located, PackageFiles, Report};

/// How a component makes token ids of texts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenizerSettings {
    /// The file, from the root of the package.
    pub file: Located<String>,
    /// What the file is.
    pub form: TokenizerForm,
    /// The ids around each text.
    pub specials: SpecialTokens,
    /// The most ids of a text, those around it counted.
    pub max_tokens: Option<usize>,
}

/// What the file of a tokenizer is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenizerForm {
    /// `tokenizer.json` of Hugging Face.
    HuggingFace,
    /// `vocab.txt` of BERT.
    Vocabulary,
}

/// The ids around each text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SpecialTokens {
    /// None.
    None,
    /// Those that the file says.
    OfFile,
    /// These two.
    Around(u32, u32),
}

impl Component {
    /// Its tokenizer; nothing if it has none that can be read, which is reported. What a component says nothing of is as
    /// in Vespa: a `hugging-face-tokenizer` gives the ids of the text alone and all of them, an embedder
    /// wraps and cuts them for its model.
    #[must_use]
    pub fn tokenizer(
        &self,
        files: &PackageFiles,
        report: &mut Report,
    ) -> Option<TokenizerSettings> {
        let (parameter, form, specials, max_tokens) = match self.kind {
            ComponentKind::HuggingFaceTokenizer => {
                ("model", TokenizerForm::HuggingFace, SpecialTokens::None, None)
            }
            ComponentKind::BertEmbedder => {
                let start = self.number("transformer-start-sequence-token", 101, report)?;
                let end = self.number("transformer-end-sequence-token", 102, report)?;
                let specials = SpecialTokens::Around(start, end);
                let most = self.number("max-tokens", 384, report)?;
                ("tokenizer-vocab", TokenizerForm::Vocabulary, specials, Some(most))
            }
            ComponentKind::HuggingFaceEmbedder
            | ComponentKind::ColbertEmbedder
            | ComponentKind::SpladeEmbedder => {
                let most = self.number("max-tokens", 512, report)?;
                // A model that gives a vector for each token has ids of its own around them.
                let specials = match self.kind {
                    ComponentKind::ColbertEmbedder => SpecialTokens::None,
                    _ => SpecialTokens::OfFile,
                };
                ("tokenizer-model", TokenizerForm::HuggingFace, specials, Some(most))
            }
            ComponentKind::ImageEmbedder
            | ComponentKind::Linguistics(_)
            | ComponentKind::Java { .. } => {
                let text = format!("component {} is no tokenizer", self.id);
                report.error(&self.place, text);
                return None;
            }
        };
        let mut models = self.parameters.iter().filter(|p| p.name == parameter);
        // Those of a language are for texts of that language.
        let model = models.clone().find(|m| language_of(m).is_none());
        let Some(model) = model else {
            let text = match models.next() {
                Some(_) => format!(
                    "component {} has models by language only; write one without a language, for all texts",
                    self.id
                ),
                None => format!("component {} has no {parameter}", self.id),
            };
            report.error(&self.place, text);
            return None;
        };
        let file = self.file(model, files, report)?;
        let max_tokens = max_tokens.map(|most| most as usize);
        Some(TokenizerSettings { file, form, specials, max_tokens })
    }

    /// The tokenizers of a `hugging-face-tokenizer` for texts of some languages, beside that for all others; by the tags of these, in small
    /// letters. What is wrong with their files is reported.
    #[must_use]
    pub fn tokenizers_by_language(
        &self,
        files: &PackageFiles,
        report: &mut Report,
    ) -> Vec<(String, TokenizerSettings)> {
        if self.kind != ComponentKind::HuggingFaceTokenizer {
            return Vec::new();
        }
        let mut found: Vec<(String, TokenizerSettings)> = Vec::new();
        for model in self.parameters.iter().filter(|p| p.name == "model") {
            let Some(language) = language_of(model) else { continue };
            if found.iter().any(|(known, _)| *known == language) {
                let text = format!("component {} has two models of {language}", self.id);
                report.error(&model.place, text);
                continue;
            }
            let Some(file) = self.file(model, files, report) else { continue };
            let (form, specials) = (TokenizerForm::HuggingFace, SpecialTokens::None);
            found.push((language, TokenizerSettings { file, form, specials, max_tokens: None }));
        }
        found
    }

    /// The file that a parameter names.
    pub(super) fn file(
        &self,
        model: &Parameter,
        files: &PackageFiles,
        report: &mut Report,
    ) -> Option<Located<String>> {
        let (name, id) = (&model.name, &self.id);
        let text = match (model.attribute("path"), model.attribute("url")) {
            (Some(path), _) if files.has(path) => {
                return Some(Located::new(path.to_owned(), model.place.clone()));
            }
            (Some(path), _) => format!("{name} of component {id}: the package has no file {path}"),
            (None, Some(url)) => format!(
                "{name} of component {id} is at {url}, which is not fetched; put the file into models/ and write path=\"models/...\""
            ),
            (None, None) => match model.attribute("model-id") {
                Some(model) => format!(
                    "{name} of component {id} is {model} of Vespa's cloud; put the file into models/ and write path=\"models/...\""
                ),
                None => format!("{name} of component {id} has no path"),
            },
        };
        report.error(&model.place, text);
        None
    }

    pub(super) fn number(&self, name: &str, default: u32, report: &mut Report) -> Option<u32> {
        let Some(parameter) = self.parameters.iter().find(|p| p.name == name) else {
            return Some(default);
        };
        let number = parameter.text.trim().parse().ok();
        if number.is_none() {
            let (id, text) = (&self.id, &parameter.text);
            let text =
                format!("expected a whole number for {name} of component {id}, found {text}");
            report.error(&parameter.place, text);
        }
        number
    }
}

/// The language of a model, if it is for one.
fn language_of(model: &Parameter) -> Option<String> {
    let tag = model.attribute("language")?.trim().to_ascii_lowercase().replace('_', "-");
    (tag != "unknown").then_some(tag)
}

impl Parameter {
    /// The value of an attribute.
    #[must_use]
    pub fn attribute(&self, name: &str) -> Option<&str> {
        self.attributes.iter().find(|(n, _)| n == name).map(|(_, value)| value.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::{SpecialTokens, TokenizerForm};
    use crate::application::Application;
    use crate::package::{PackageFiles, Report};
    use crate::services::ServicesOptions;

    /// The tokenizer of the only component of a package, and what is wrong with it.
    fn tokenizer(component: &str) -> (Option<super::TokenizerSettings>, Vec<String>) {
        let services = format!("<container version='1.0' id='c'>\n{component}</container>");
        let files =
            [("services.xml", services.as_str()), ("models/t.json", "{}"), ("models/v.txt", "a")];
        let files = PackageFiles::from_texts(files).unwrap();
        let (application, _) = Application::read(&files, ServicesOptions::default());
        let mut report = Report::default();
        let component = &application.services.containers[0].components[0];
        let found = component.tokenizer(&files, &mut report);
        (found, report.diagnostics().iter().map(ToString::to_string).collect())
    }

    #[test]
    fn components_have_the_tokenizers_of_vespa() {
        let hf = TokenizerForm::HuggingFace;
        for (component, path, form, specials, most) in [
            (
                "<component id='t' type='hugging-face-tokenizer'><model path='models/t.json'/></component>",
                "models/t.json",
                hf,
                SpecialTokens::None,
                None,
            ),
            (
                "<component id='t' type='hugging-face-tokenizer'><model language='no' url='x'/><model language='unknown' path='models/t.json'/></component>",
                "models/t.json",
                hf,
                SpecialTokens::None,
                None,
            ),
            (
                "<component id='t' type='hugging-face-embedder'><tokenizer-model url='x' path='models/t.json'/></component>",
                "models/t.json",
                hf,
                SpecialTokens::OfFile,
                Some(512),
            ),
            (
                "<component id='t' type='bert-embedder'><tokenizer-vocab path='models/v.txt'/><max-tokens>96</max-tokens><transformer-end-sequence-token>3</transformer-end-sequence-token></component>",
                "models/v.txt",
                TokenizerForm::Vocabulary,
                SpecialTokens::Around(101, 3),
                Some(96),
            ),
        ] {
            let (found, wrong) = tokenizer(component);
            assert_eq!(wrong, [""; 0], "{component}");
            let found = found.unwrap();
            assert_eq!(found.file.value, path, "{component}");
            assert_eq!((found.form, found.specials), (form, specials), "{component}");
            assert_eq!(found.max_tokens, most, "{component}");
        }
    }

    #[test]
    fn what_cannot_be_read_is_named() {
        for (inner, expected) in [
            ("", "services.xml:2:1: component t has no model"),
            (
                "<model path='models/x.json'/>",
                "services.xml:2:49: model of component t: the package has no file models/x.json",
            ),
            (
                "<model url='https://a/t.json'/>",
                "services.xml:2:49: model of component t is at https://a/t.json, which is not fetched; put the file into models/ and write path=\"models/...\"",
            ),
            (
                "<model model-id='e5'/>",
                "services.xml:2:49: model of component t is e5 of Vespa's cloud; put the file into models/ and write path=\"models/...\"",
            ),
            ("<model/>", "services.xml:2:49: model of component t has no path"),
            (
                "<model language='en' path='models/t.json'/>",
                "services.xml:2:1: component t has models by language only; write one without a language, for all texts",
            ),
        ] {
            let component =
                format!("<component id='t' type='hugging-face-tokenizer'>{inner}</component>");
            let (found, wrong) = tokenizer(&component);
            assert_eq!(found, None, "{inner}");
            assert_eq!(wrong, [expected], "{inner}");
        }
        let (_, wrong) = tokenizer(
            "<component id='t' type='bert-embedder'><tokenizer-vocab path='models/v.txt'/><max-tokens>all</max-tokens></component>",
        );
        let expected =
            "services.xml:2:78: expected a whole number for max-tokens of component t, found all";
        assert_eq!(wrong, [expected]);
    }

    #[test]
    fn packages_are_checked_for_the_files_of_components() {
        let services = "<container version='1.0' id='c'>
            <component id='t' type='hugging-face-tokenizer'><model path='models/x.json'/></component>
            <component id='u' type='hugging-face-tokenizer'><model url='https://a/t.json'/></component>
        </container>";
        let files = PackageFiles::from_texts([("services.xml", services)]).unwrap();
        let (_, report) = Application::read(&files, ServicesOptions::default());
        let found: Vec<String> = report.diagnostics().iter().map(ToString::to_string).collect();
        let expected = [
            "services.xml:2:61: model of component t: the package has no file models/x.json",
            "services.xml:3:61: warning: model of component u is at https://a/t.json, which is not fetched",
        ];
        assert_eq!(found, expected);
    }
}
