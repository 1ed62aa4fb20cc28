//! What a file says, before it is decided how its scores are computed.

use crate::link::Link;

/// The library that fitted a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Library {
    /// XGBoost.
    XgBoost,
    /// LightGBM.
    LightGbm,
}

/// The format of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// XGBoost's `dump_model(..., dump_format="json")`: trees alone.
    XgBoostDump,
    /// XGBoost's `save_model` as JSON.
    XgBoostJson,
    /// XGBoost's `save_model` as UBJ.
    XgBoostUbj,
    /// LightGBM's `dump_model()` as JSON.
    LightGbmJson,
    /// LightGBM's `save_model`, which is text.
    LightGbmText,
}

/// What the categories of a feature are called. A row holds a category as its place in this list.
#[derive(Debug, Clone, PartialEq)]
pub enum Categories {
    /// By strings.
    Strings(Vec<String>),
    /// By integers.
    Integers(Vec<i64>),
}

impl Categories {
    /// How many there are.
    pub fn len(&self) -> usize {
        match self {
            Categories::Strings(names) => names.len(),
            Categories::Integers(values) => values.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// An input of a model.
#[derive(Debug, Clone, PartialEq)]
pub struct Feature {
    /// Its name, for example that of a rank feature; empty if the file gives none.
    pub name: String,
    /// Whether splits ask for a category. Its values in rows are then codes: places in
    /// [`Feature::categories`] if there are any, otherwise the numbers that the model was fitted on.
    /// (Of LightGBM models Vespa then compares with the strings that write these numbers.)
    pub categorical: bool,
    /// The names of the categories, where the file has them.
    pub categories: Option<Categories>,
    /// Whether any split asks for it.
    pub used: bool,
}

impl Feature {
    pub(crate) fn named(name: impl Into<String>) -> Feature {
        Feature { name: name.into(), categorical: false, categories: None, used: false }
    }
}

/// What LightGBM takes for a missing value (`MissingType` of its `tree.h`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Missing {
    /// Nothing: NaN is 0.
    None,
    /// NaN, and numbers within 1e-35 of 0.
    Zero,
    /// NaN.
    Nan,
}

/// When a row goes left.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Test {
    /// XGBoost: `x < threshold`, a threshold that is an f32.
    Less { threshold: f64, missing_left: bool },
    /// LightGBM: `x <= threshold`.
    AtMost { threshold: f64, missing: Missing, default_left: bool },
    /// A category in the set (XGBoost sends those right, LightGBM left).
    Among { set: CategorySet, inside_left: bool, missing_left: bool },
}

/// A set of category codes, ascending. A list: one high code must not cost the memory of all below it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub(crate) struct CategorySet(Vec<u32>);

impl CategorySet {
    /// Codes above this cannot be told apart as f32 (`OutOfRangeCat` of XGBoost).
    pub(crate) const MAX: u32 = (1 << 24) - 1;

    pub(crate) fn new(mut codes: Vec<u32>) -> CategorySet {
        codes.sort_unstable();
        codes.dedup();
        CategorySet(codes)
    }

    pub(crate) fn codes(&self) -> &[u32] {
        &self.0
    }

    /// The highest code.
    pub(crate) fn last(&self) -> Option<u32> {
        self.0.last().copied()
    }
}

/// A node of a tree. Children stand behind their parent.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Node {
    Split {
        feature: u32,
        test: Test,
        left: u32,
        right: u32,
    },
    Leaf {
        value: f64,
        /// What Vespa reads instead, where that differs.
        vespa: f64,
    },
}

/// A tree in pre-order: node 0 is the root, a left child follows its parent.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Tree {
    pub(crate) nodes: Vec<Node>,
    /// The output that its leaves are added to.
    pub(crate) output: u32,
    /// What its leaves are multiplied with (DART).
    pub(crate) weight: f64,
}

/// A tree model as its file describes it. [`Model::forest`] makes it computable.
#[derive(Debug, Clone, PartialEq)]
pub struct Model {
    pub(crate) format: Format,
    pub(crate) features: Vec<Feature>,
    pub(crate) trees: Vec<Tree>,
    /// What each output begins with in the library's own predictions (after its link's inverse).
    pub(crate) base: Vec<f64>,
    /// What Vespa adds to the sum.
    pub(crate) vespa_base: f64,
    pub(crate) objective: Option<String>,
    pub(crate) link: Link,
    /// The sum of an output is divided by this (random forests of LightGBM; otherwise 1).
    pub(crate) divide: f64,
}

impl Model {
    /// The format that the model was read from.
    pub fn format(&self) -> Format {
        self.format
    }

    /// The library that fitted it.
    pub fn library(&self) -> Library {
        match self.format {
            Format::LightGbmJson | Format::LightGbmText => Library::LightGbm,
            _ => Library::XgBoost,
        }
    }

    /// The features, in the order of the columns of a row.
    pub fn features(&self) -> &[Feature] {
        &self.features
    }

    /// The objective by the library's name, where the file has one.
    pub fn objective(&self) -> Option<&str> {
        self.objective.as_deref()
    }

    /// How many trees there are.
    pub fn trees(&self) -> usize {
        self.trees.len()
    }

    /// How many numbers a prediction has: one for each class or target.
    pub fn outputs(&self) -> usize {
        self.link.outputs(self.base.len())
    }

    /// The highest category of a feature that any split asks for.
    pub fn last_category(&self, feature: usize) -> Option<u32> {
        let nodes = self.trees.iter().flat_map(|tree| &tree.nodes);
        let last = |node: &Node| match node {
            Node::Split { feature: of, test: Test::Among { set, .. }, .. }
                if *of as usize == feature =>
            {
                set.last()
            }
            _ => None,
        };
        nodes.filter_map(last).max()
    }

    /// Splits and leaves of all trees.
    pub fn nodes(&self) -> usize {
        self.trees.iter().map(|tree| tree.nodes.len()).sum()
    }
}
