//! Models that are functions in the language of expressions: files `models/<name>.model`
//! (facts: Vespa, `model-integration/src/main/javacc/ModelParser.jj`).
//!
//! ```text
//! model example {
//!     inputs { vector: tensor(x[3]) }
//!     constants { weight: 3.0 }
//!     constant table { type: tensor(x[3])  file: constants/table.json }
//!     function score() { expression: sum(vector * constant(table)) * weight }
//! }
//! ```

use stead_expr::{Function, TensorType, Value, compile, parse_type};

use crate::application::constants::read_constant;
use crate::package::PackageFiles;

/// The most functions, inputs and constants of a file.
const MAX_MEMBERS: usize = 10_000;

/// A file of functions.
#[derive(Debug, Clone, Default)]
pub struct ExpressionModel {
    /// Inputs with their types; a name that is none of these is a number of the profile.
    pub inputs: Vec<(String, TensorType)>,
    /// Values that never change.
    pub constants: Vec<(String, Value)>,
    /// The functions.
    pub functions: Vec<(String, Function)>,
}

/// The model in a file of `models/`.
pub(super) fn read(files: &PackageFiles, file: &str) -> Result<ExpressionModel, String> {
    let path = format!("models/{file}");
    if !files.has(&path) {
        return Err(format!("the package has no file {path}"));
    }
    let text = files.text(&path).map_err(|e| e.to_string())?;
    let mut reader = Reader { text: &text, at: 0 };
    let mut model = ExpressionModel::default();
    let fail = |reader: &Reader<'_>, reason: String| {
        let line = reader.text[..reader.at].matches('\n').count() + 1;
        Err(format!("{path}:{line}: {reason}"))
    };
    match reader.model(files, &path, &mut model) {
        Ok(()) => Ok(model),
        Err(reason) => fail(&reader, reason),
    }
}

struct Reader<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> Reader<'t> {
    fn model(
        &mut self,
        files: &PackageFiles,
        path: &str,
        model: &mut ExpressionModel,
    ) -> Result<(), String> {
        self.expect_word("model")?;
        let name = self.word()?;
        let stem = path.rsplit('/').next().and_then(|file| file.strip_suffix(".model"));
        if stem != Some(name) {
            let stem = stem.unwrap_or_default();
            return Err(format!(
                "expected a model with the name of the file ({stem}), found {name}"
            ));
        }
        self.expect("{")?;
        while !self.takes("}") {
            let members = model.inputs.len() + model.constants.len() + model.functions.len();
            if members > MAX_MEMBERS {
                return Err(format!("more than {MAX_MEMBERS} inputs, constants and functions"));
            }
            match self.word()? {
                "inputs" if self.takes("{") => {
                    while !self.takes("}") {
                        let name = self.word()?;
                        self.input(name, model)?;
                    }
                }
                "constants" if self.takes("{") => {
                    while !self.takes("}") {
                        let constant = self.constant()?;
                        model.constants.push(constant);
                    }
                }
                "constant" => {
                    let constant = self.constant_file(files, path)?;
                    model.constants.push(constant);
                }
                "function" => {
                    let function = self.function(files, path)?;
                    model.functions.push(function);
                }
                name => self.input(name, model)?,
            }
        }
        self.skip();
        match &self.text[self.at..] {
            "" => Ok(()),
            _ => Err("expected nothing behind the model".to_owned()),
        }
    }

    /// `: tensor(x[3])`
    fn input(&mut self, name: &str, model: &mut ExpressionModel) -> Result<(), String> {
        self.expect(":")?;
        let kind = self.kind()?;
        model.inputs.push((name.to_owned(), kind));
        Ok(())
    }

    /// `name: 3.0`, `name: tensor(x[2]):[1,2]`, the type with or without the first colon.
    fn constant(&mut self) -> Result<(String, Value), String> {
        let name = self.word()?.to_owned();
        self.takes(":");
        self.skip();
        let text = self.line()?;
        let value = compile(text, &|_: &str| None).map_err(|e| format!("constant {name}: {e}"))?;
        let value = value.run(&[]).map_err(|e| format!("constant {name}: {e}"))?;
        Ok((name, value))
    }

    /// `name { type: tensor(x[3])  file: path }`
    fn constant_file(
        &mut self,
        files: &PackageFiles,
        path: &str,
    ) -> Result<(String, Value), String> {
        let name = self.word()?.to_owned();
        self.expect("{")?;
        let (mut kind, mut file) = (None, None);
        while !self.takes("}") {
            let key = self.word()?;
            self.expect(":")?;
            match key {
                "type" => kind = Some(self.kind()?),
                "file" => file = Some(self.line()?.to_owned()),
                other => return Err(format!("expected type or file, found {other}")),
            }
        }
        let (Some(kind), Some(file)) = (kind, file) else {
            return Err(format!("constant {name} needs a type and a file"));
        };
        // Beside the model, as Vespa has it.
        let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
        Ok((name, read_constant(files, &format!("{folder}/{file}"), &kind)?))
    }

    /// `name(a, b) { expression: ... }`
    fn function(&mut self, files: &PackageFiles, path: &str) -> Result<(String, Function), String> {
        let name = self.word()?.to_owned();
        self.expect("(")?;
        let mut parameters = Vec::new();
        while !self.takes(")") {
            parameters.push(self.word()?.to_owned());
            self.takes(",");
        }
        self.expect("{")?;
        self.expect_word("expression")?;
        let body = match self.takes("{") {
            true => {
                let body = self.braced()?;
                self.expect("}")?;
                body
            }
            false => {
                self.expect(":")?;
                self.line()?
            }
        };
        self.expect("}")?;
        let text = match body.trim().strip_prefix("file:") {
            None => body.to_owned(),
            Some(file) => {
                let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
                files.text(&format!("{folder}/{}", file.trim())).map_err(|e| e.to_string())?
            }
        };
        let function =
            Function::new(parameters, &text).map_err(|e| format!("function {name} at {e}"))?;
        Ok((name, function))
    }

    fn kind(&mut self) -> Result<TensorType, String> {
        self.skip();
        let rest = &self.text[self.at..];
        let open = rest.find('(').filter(|_| rest.starts_with("tensor"));
        let end = open.and_then(|open| Some(open + rest[open..].find(')')? + 1));
        let Some(end) = end else {
            let word = self.word()?;
            return match word {
                "double" => Ok(TensorType::double()),
                other => Err(format!("expected a tensor type, found {other}")),
            };
        };
        self.at += end;
        parse_type(&rest[..end]).map_err(|e| e.to_string())
    }

    /// White space and comments.
    fn skip(&mut self) {
        loop {
            let rest = &self.text[self.at..];
            let trimmed = rest.trim_start();
            self.at += rest.len() - trimmed.len();
            if !trimmed.starts_with('#') {
                return;
            }
            self.at += trimmed.find('\n').unwrap_or(trimmed.len());
        }
    }

    fn takes(&mut self, sign: &str) -> bool {
        self.skip();
        let is_next = self.text[self.at..].starts_with(sign);
        self.at += if is_next { sign.len() } else { 0 };
        is_next
    }

    fn expect(&mut self, sign: &str) -> Result<(), String> {
        if self.takes(sign) {
            Ok(())
        } else {
            Err(format!("expected {sign}, found {}", self.found()))
        }
    }

    fn expect_word(&mut self, word: &str) -> Result<(), String> {
        match self.word()? {
            found if found == word => Ok(()),
            found => Err(format!("expected {word}, found {found}")),
        }
    }

    fn word(&mut self) -> Result<&'t str, String> {
        self.skip();
        let rest = &self.text[self.at..];
        let is_of_word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.');
        let end = rest.find(|c| !is_of_word(c)).unwrap_or(rest.len());
        if end == 0 {
            return Err(format!("expected a name, found {}", self.found()));
        }
        self.at += end;
        Ok(&rest[..end])
    }

    /// What stands there, for messages.
    fn found(&self) -> String {
        match self.text[self.at..].split_whitespace().next() {
            Some(word) => word.chars().take(40).collect(),
            None => "the end of the file".to_owned(),
        }
    }

    /// The rest of the line, up to a closing brace that opens before it.
    fn line(&mut self) -> Result<&'t str, String> {
        self.until(|c| c == '\n')
    }

    /// Everything up to the brace that closes what is open.
    fn braced(&mut self) -> Result<&'t str, String> {
        self.until(|_| false)
    }

    fn until(&mut self, ends: impl Fn(char) -> bool) -> Result<&'t str, String> {
        let (mut depth, mut quote, first) = (0_usize, None, self.at);
        for (at, c) in self.text[first..].char_indices() {
            match (quote, c) {
                (Some(open), c) => quote = Some(open).filter(|open| *open != c),
                (None, '"' | '\'') => quote = Some(c),
                (None, '}') if depth == 0 => {
                    self.at = first + at;
                    return Ok(self.text[first..self.at].trim());
                }
                (None, '{') => depth += 1,
                (None, '}') => depth -= 1,
                (None, c) if depth == 0 && ends(c) => {
                    self.at = first + at;
                    return Ok(self.text[first..self.at].trim());
                }
                _ => {}
            }
        }
        self.at = self.text.len();
        Err("expected a closing brace, found the end of the file".to_owned())
    }
}
