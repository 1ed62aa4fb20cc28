//! What rank properties say of conversions and models.

use super::compile::Compiler;
use super::uses::{KeptOption, ModelOptions};
use crate::application::profile::RankProfile;

/// The property by which a package lets numbers be rounded that would be cells exactly or not at all.
const CONVERSIONS: &str = "stead.inexact-conversions";

/// What the models of a profile keep.
const KEPT: &str = "stead.kept-values";

/// The most MiB that are kept.
const MAX_KEPT: u32 = 1 << 20;

/// The options of a profile.
#[derive(Debug, Default)]
pub(super) struct RankOptions {
    /// Whether numbers are rounded that would be cells exactly or not at all.
    pub(super) is_rounded: bool,
    kept: KeptOption,
    /// What is said of models, by what they are called: `xgboost(file)`, `onnx(name)`.
    models: Vec<(String, ModelOption)>,
}

/// One thing that is said of a model.
#[derive(Debug, Clone, Copy)]
enum ModelOption {
    Exact(bool),
    Rounded(bool),
    OwnCells(bool),
    Kept(KeptOption),
}

fn kept(text: &str) -> Option<KeptOption> {
    match text {
        "off" => Some(KeptOption::Off),
        _ => text.parse().ok().filter(|n| (1..=MAX_KEPT).contains(n)).map(KeptOption::Megabytes),
    }
}

impl RankOptions {
    /// The options of a profile, and the properties with values that they do not have: their number and what is wrong.
    pub(super) fn read(profile: &RankProfile) -> (RankOptions, Vec<(usize, String)>) {
        let (mut options, mut wrong) = (RankOptions::default(), Vec::new());
        for (at, (key, value)) in profile.properties.iter().enumerate() {
            let key = key.replace('"', "");
            if key == KEPT || (key.starts_with("onnx(") && key.ends_with(").kept-values")) {
                match (kept(value.value.trim_matches('"')), key.strip_suffix(".kept-values")) {
                    (Some(kept), Some(of)) if key != KEPT => {
                        options.models.push((of.to_owned(), ModelOption::Kept(kept)));
                    }
                    (Some(kept), _) => options.kept = kept,
                    (None, _) => {
                        let found = &value.value;
                        wrong.push((
                            at,
                            format!("expected off or a number of MiB from 1 to {MAX_KEPT} for {key}, found {found}"),
                        ));
                    }
                }
                continue;
            }
            let mut choice = |usual: &str, other: &str| match value.value.trim_matches('"') {
                found if found == usual => Some(false),
                found if found == other => Some(true),
                found => {
                    wrong.push((
                        at,
                        format!("expected {usual} or {other} for {key}, found {found}"),
                    ));
                    None
                }
            };
            if key == CONVERSIONS {
                options.is_rounded = choice("refuse", "allow").unwrap_or_default();
                continue;
            }
            let Some((of, option)) = key.rsplit_once('.') else { continue };
            let is_onnx = of.starts_with("onnx(");
            let is_trees = of.starts_with("xgboost(") || of.starts_with("lightgbm(");
            let said = match option {
                "mode" if is_trees => choice("compat", "exact").map(ModelOption::Exact),
                "conversion" if is_onnx => choice("exact", "nearest").map(ModelOption::Rounded),
                "cells" if is_onnx => choice("vespa", "own").map(ModelOption::OwnCells),
                _ => continue,
            };
            options.models.extend(said.map(|said| (of.to_owned(), said)));
        }
        (options, wrong)
    }

    /// Those of a model; a later one counts.
    pub(super) fn of_model(&self, of: &str) -> ModelOptions {
        let (is_rounded, kept) = (self.is_rounded, self.kept);
        let mut found = ModelOptions { is_rounded, kept, ..ModelOptions::default() };
        for (_, said) in self.models.iter().filter(|(name, _)| name == of) {
            match *said {
                ModelOption::Exact(is_exact) => found.is_exact = is_exact,
                ModelOption::Rounded(is_rounded) => found.is_rounded = is_rounded,
                ModelOption::OwnCells(has_own_cells) => found.has_own_cells = has_own_cells,
                ModelOption::Kept(kept) => found.kept = kept,
            }
        }
        found
    }
}

impl Compiler<'_, '_> {
    /// Reports properties with values that options do not have.
    pub(super) fn options(&mut self) {
        let profile = self.scope.profile;
        for (at, text) in RankOptions::read(profile).1 {
            if let Some((_, value)) = profile.properties.get(at) {
                self.report.error(&value.place, text);
            }
        }
    }
}
