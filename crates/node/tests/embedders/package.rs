//! Packages with small models, and what these make of texts.

use std::fs;

use stead_app::package::PackageFiles;
use stead_embed::{Cut, Settings, Specials, Tokenizer};
use stead_onnx::{ModelBuilder, ValueType, dims_of};
use stead_tensor::{DType, Tensor};

/// Says of itself that texts are cut at 8 tokens.
pub const TOKENIZER: &[u8] = include_bytes!("../../../embed/tests/data/tokenizer.json");
pub const VOCABULARY: &str = include_str!("../../../embed/tests/data/vocab.txt");

/// The cells of a vector.
pub const WIDTH: usize = 16;

/// The rows of the table of words.
const ROWS: usize = 300;

/// A model fails on texts with this word of the vocabulary.
pub const POISON: &str = "engine";

/// A cell of the vector of an id.
pub fn cell(id: u32, at: usize) -> f32 {
    ((id as f32 + 1.0) * (at as f32 + 1.3)).sin()
}

fn floats(dims: &[&str]) -> ValueType {
    ValueType::tensor(DType::F32, Some(dims_of(dims)))
}

/// A model that gives the vector of each id, or for each id a value for each word.
pub struct Model {
    pub output: &'static str,
    pub rows: usize,
    pub inputs: &'static [&'static str],
    pub dims: [&'static str; 2],
    pub words: usize,
}

impl Default for Model {
    fn default() -> Model {
        let inputs = &["input_ids", "attention_mask", "token_type_ids"];
        Model { output: "last_hidden_state", rows: ROWS, inputs, dims: ["batch", "seq"], words: 0 }
    }
}

impl Model {
    pub fn bytes(&self) -> Vec<u8> {
        let table: Vec<f32> =
            (0..self.rows as u32).flat_map(|id| (0..WIDTH).map(move |at| cell(id, at))).collect();
        let poison = ids(POISON)[1];
        let mut model = ModelBuilder::new(17);
        for name in self.inputs {
            model = model.input(name, DType::I64, &self.dims);
        }
        let output = if self.words == 0 { self.output } else { "vectors" };
        model = model
            .init("table", Tensor::from_slice(&table, &[self.rows, WIDTH]).unwrap())
            .init("poison", Tensor::from_slice(&[i64::from(poison)], &[1]).unwrap())
            .init("nothing", Tensor::from_slice(&[0.0_f32; WIDTH], &[1, WIDTH]).unwrap())
            .node("Gather", &["table", "input_ids"], &["hidden"])
            .node("Equal", &["input_ids", "poison"], &["is_poison"])
            .node("Cast", &["is_poison"], &["row"])
            .attr("to", 7)
            // There is no row 1.
            .node("Gather", &["nothing", "row"], &["added"])
            .node("Add", &["hidden", "added"], &[output]);
        let width = match self.words {
            0 => WIDTH,
            words => {
                let weights: Vec<f32> = (0..WIDTH * words).map(|n| (n as f32).cos()).collect();
                model = model
                    .init("words", Tensor::from_slice(&weights, &[WIDTH, words]).unwrap())
                    .node("MatMul", &["vectors", "words"], &[self.output]);
                words
            }
        };
        let [batch, sequence] = self.dims;
        model.output_of(self.output, floats(&[batch, sequence, &width.to_string()])).bytes()
    }
}

/// A tokenizer in which `query` and `model` have the ids of each other.
fn german() -> Vec<u8> {
    let mut tokenizer: serde_json::Value = serde_json::from_slice(TOKENIZER).unwrap();
    let words = tokenizer["model"]["vocab"].as_object_mut().unwrap();
    let (query, model) = (words["query"].clone(), words["model"].clone());
    words["query"] = model;
    words["model"] = query;
    serde_json::to_vec(&tokenizer).unwrap()
}

/// The ids of a text as embedders have them.
pub fn ids(text: &str) -> Vec<u32> {
    let settings = Settings { specials: Specials::OfFile, cut: Cut::OfFileOr(512) };
    Tokenizer::from_json(TOKENIZER, settings).unwrap().encode(text).unwrap()
}

/// The mean of the vectors of the tokens of a text.
pub fn mean(text: &str) -> Vec<f32> {
    let ids = ids(text);
    (0..WIDTH)
        .map(|at| ids.iter().map(|id| cell(*id, at)).sum::<f32>() / ids.len() as f32)
        .collect()
}

/// A package of a folder with these files beside a tokenizer and its vocabulary.
pub fn package(
    texts: &[(&str, &str)],
    models: &[(&str, Model)],
) -> (tempfile::TempDir, PackageFiles) {
    let folder = tempfile::tempdir().unwrap();
    let write = |path: &str, bytes: &[u8]| {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    };
    write("models/tokenizer.json", TOKENIZER);
    write("models/german.json", &german());
    write("models/vocab.txt", VOCABULARY.as_bytes());
    texts.iter().for_each(|(path, text)| write(path, text.as_bytes()));
    models.iter().for_each(|(path, model)| write(path, &model.bytes()));
    let files = PackageFiles::open(folder.path()).unwrap();
    (folder, files)
}
