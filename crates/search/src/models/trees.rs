//! Forests as functions of features.

use std::borrow::Cow;
use std::collections::HashMap;

use stead_app::application::rank::{TreeLibrary, read_trees};
use stead_app::package::PackageFiles;
use stead_engine::Isa;
use stead_expr::{Attribute, Numbers};
use stead_trees::{Categories, Forest, Mode, Model, Rows};

use super::columns::{Column, Documents};
use super::inputs::Values;

/// The most categories of a feature whose names are only numbers: their hashes are made in advance.
const MAX_NUMBERED: u32 = 1 << 16;

/// A loaded forest.
pub(super) struct Trees {
    forest: Forest,
    isa: Isa,
    /// For each feature that is a category: the code of each value that an expression may have.
    categories: Vec<Option<Codes>>,
    trees: usize,
    mode: Mode,
}

/// Memory that runs use again.
pub(super) type Scratch = stead_trees::Scratch;

/// From values of expressions to codes of categories.
struct Codes {
    /// By the bits of the value.
    codes: HashMap<u64, f64>,
    /// What any other value is.
    other: f64,
}

impl Trees {
    pub(super) fn load(
        files: &PackageFiles,
        library: TreeLibrary,
        file: &str,
        is_exact: bool,
    ) -> Result<Trees, String> {
        let model = read_trees(files, library, file)?;
        let mode = if is_exact { Mode::Exact } else { Mode::Compat };
        let categories = (0..model.features().len())
            .map(|at| codes(&model, at, mode))
            .collect::<Result<_, _>>()?;
        let (forest, trees) = (Forest::new(&model, mode), model.trees());
        Ok(Trees { forest, isa: Isa::detect(), categories, trees, mode })
    }

    /// How the forest runs.
    pub(super) fn explain(&self) -> String {
        let whose = match self.mode {
            Mode::Compat => "scores as Vespa gives them",
            Mode::Exact => "predictions of the library",
        };
        format!("{} trees, {whose}", self.trees)
    }

    /// The scores of documents, those of each document behind each other.
    pub(super) fn run(
        &self,
        values: &[Values<'_>],
        documents: &Documents<'_>,
        scratch: &mut Scratch,
    ) -> Result<Vec<f64>, String> {
        let lists: Vec<List<'_>> = values
            .iter()
            .zip(&self.categories)
            .map(|(values, codes)| {
                let list = List::of(values, documents)?;
                Ok(codes.as_ref().map_or_else(|| list.clone(), |codes| list.coded(codes)))
            })
            .collect::<Result<_, String>>()?;
        let columns: Vec<_> = lists.iter().map(List::column).collect();
        let rows = Rows::of_columns(&columns, documents.count);
        let mut scores = vec![0.0; documents.count * self.forest.outputs()];
        let done = self.forest.predict_with(self.isa, &rows, scratch, &mut scores);
        done.map_err(|e| e.to_string()).map(|()| scores)
    }
}

/// The numbers of a feature.
#[derive(Clone)]
enum List<'v> {
    Same(f64),
    F32(Cow<'v, [f32]>),
    F64(Cow<'v, [f64]>),
}

impl<'v> List<'v> {
    fn of(values: &'v Values<'_>, documents: &Documents<'_>) -> Result<List<'v>, String> {
        Ok(match values {
            Values::Nothing => List::Same(f64::NAN),
            Values::SameText(text) => List::Same(hash(text)?),
            Values::Same(value) => List::Same(value.as_double().unwrap_or(f64::NAN)),
            Values::Computed(stored) => match stored.attribute() {
                Attribute::Numbers(Numbers::F64(list)) => List::F64(Cow::Borrowed(list)),
                _ => return Err("a feature is no number".to_owned()),
            },
            Values::Given(Column::Cells(Attribute::Numbers(numbers))) => {
                List::gathered(*numbers, documents)?
            }
            Values::Given(_) => return Err("a feature is no number".to_owned()),
        })
    }

    fn gathered(numbers: Numbers<'v>, documents: &Documents<'_>) -> Result<List<'v>, String> {
        fn gather<T: Copy, U>(
            list: &[T],
            documents: &Documents<'_>,
            widen: impl Fn(T) -> U,
        ) -> Result<Vec<U>, String> {
            let place = |row| list.get(documents.place(row)).map(|x| widen(*x));
            let all: Option<Vec<U>> = (0..documents.count).map(place).collect();
            all.ok_or_else(|| format!("a column of {} documents is too short", list.len()))
        }
        let whole = documents.index.is_none().then_some(documents.count);
        Ok(match numbers {
            Numbers::F32(list) => match whole.and_then(|count| list.get(..count)) {
                Some(list) => List::F32(Cow::Borrowed(list)),
                None => List::F32(gather(list, documents, |x| x)?.into()),
            },
            Numbers::F64(list) => match whole.and_then(|count| list.get(..count)) {
                Some(list) => List::F64(Cow::Borrowed(list)),
                None => List::F64(gather(list, documents, |x| x)?.into()),
            },
            Numbers::BF16(list) => List::F32(gather(list, documents, |x| x.to_f32())?.into()),
            Numbers::F16(list) => List::F32(gather(list, documents, |x| x.to_f32())?.into()),
            Numbers::I64(list) => List::F64(gather(list, documents, |x| x as f64)?.into()),
            Numbers::I32(list) => List::F64(gather(list, documents, f64::from)?.into()),
            Numbers::I16(list) => List::F32(gather(list, documents, f32::from)?.into()),
            Numbers::I8(list) => List::F32(gather(list, documents, f32::from)?.into()),
            Numbers::U8(list) => List::F32(gather(list, documents, f32::from)?.into()),
        })
    }

    fn coded(&self, codes: &Codes) -> List<'static> {
        let code = |x: f64| codes.of(x);
        match self {
            List::Same(x) => List::Same(code(*x)),
            List::F32(list) => List::F64(list.iter().map(|x| code(f64::from(*x))).collect()),
            List::F64(list) => List::F64(list.iter().map(|x| code(*x)).collect()),
        }
    }

    fn column(&self) -> stead_trees::Column<'_> {
        match self {
            List::Same(x) => stead_trees::Column::Same(*x),
            List::F32(list) => stead_trees::Column::F32(list),
            List::F64(list) => stead_trees::Column::F64(list),
        }
    }
}

impl Codes {
    fn of(&self, x: f64) -> f64 {
        if x.is_nan() { x } else { self.codes.get(&x.to_bits()).copied().unwrap_or(self.other) }
    }
}

/// How the values of a feature become codes of categories, if they do. Texts are known by their hashes.
fn codes(model: &Model, feature: usize, mode: Mode) -> Result<Option<Codes>, String> {
    let Some(known) = model.features().get(feature).filter(|f| f.categorical) else {
        return Ok(None);
    };
    let numbered = |codes: HashMap<u64, f64>| {
        // Vespa sends a value that is not in the list right, as a code that no list has; pandas calls it missing.
        let other = if mode == Mode::Compat { codes.len() as f64 } else { f64::NAN };
        Ok(Some(Codes { codes, other }))
    };
    match &known.categories {
        Some(Categories::Strings(names)) => {
            let code = |(at, name): (usize, &String)| Ok((hash(name)?.to_bits(), at as f64));
            numbered(names.iter().enumerate().map(code).collect::<Result<_, String>>()?)
        }
        Some(Categories::Integers(values)) => {
            let code = |(at, value): (usize, &i64)| ((*value as f64).to_bits(), at as f64);
            numbered(values.iter().enumerate().map(code).collect())
        }
        None if mode == Mode::Exact || model.library() != stead_trees::Library::LightGbm => {
            Ok(None)
        }
        None => {
            let last = model.last_category(feature).unwrap_or(0);
            if last > MAX_NUMBERED {
                return Err(format!(
                    "feature {} has categories up to {last}, expected at most {MAX_NUMBERED}; exact mode takes their numbers",
                    known.name
                ));
            }
            let code = |at: u32| Ok((hash(&at.to_string())?.to_bits(), f64::from(at)));
            numbered((0..=last).map(code).collect::<Result<_, String>>()?)
        }
    }
}

/// The number that expressions have for a text.
fn hash(text: &str) -> Result<f64, String> {
    let quoted = text.replace('\\', "\\\\").replace('"', "\\\"");
    let failed = || format!("the category {text:?} cannot be written in an expression");
    let compiled = stead_expr::compile(&format!("\"{quoted}\""), &|_: &str| None);
    let value = compiled.map_err(|_| failed())?.run(&[]).map_err(|_| failed())?;
    value.as_double().ok_or_else(failed)
}
