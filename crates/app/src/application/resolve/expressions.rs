//! Expressions and profiles that stand in files of their own.

use crate::application::read;
use crate::application::schema::Schema;
use crate::package::{Located, PackageFiles, Place, Report};
use crate::schema::{Expression, Holds, parse_elements};

/// Adds the profiles of `schemas/<schema>/**/*.profile`.
pub(in crate::application) fn from_profile_files(
    schema: &mut Schema,
    folder: &str,
    files: &PackageFiles,
    report: &mut Report,
) {
    let below = format!("{folder}/{}", schema.name.value);
    let paths: Vec<&str> = files.below(&below).filter(|p| p.ends_with(".profile")).collect();
    for path in paths {
        let text = match files.text(path) {
            Ok(text) => text,
            Err(error) => {
                report.error(&Place::file(path), error.to_string());
                continue;
            }
        };
        let (elements, errors) = parse_elements(path, &text, Holds::ProfileFile);
        report.append(errors);
        let found = read::profiles(&elements, report);
        let name = path.rsplit('/').next().and_then(|n| n.strip_suffix(".profile"));
        for profile in found {
            if name.is_some_and(|name| profile.name.value.split('.').next() != Some(name)) {
                let text = format!(
                    "expected a rank-profile with the name of the file, found {}",
                    profile.name.value
                );
                report.error(&profile.name.place, text);
            }
            if let Some(first) = schema.profile(&profile.name.value) {
                let text = format!(
                    "rank-profile {} stands twice, first at {}",
                    profile.name.value, first.name.place
                );
                report.error(&profile.name.place, text);
                continue;
            }
            schema.profiles.push(profile);
        }
    }
}

/// Puts the texts of files where an expression is `file:name`.
pub(in crate::application) fn files(
    schema: &mut Schema,
    files: &PackageFiles,
    report: &mut Report,
) {
    let name = schema.name.value.clone();
    for profile in &mut schema.profiles {
        let phases =
            [&mut profile.first_phase, &mut profile.second_phase, &mut profile.global_phase];
        let phases = phases.into_iter().filter_map(|p| p.expression.as_mut());
        for expression in phases.chain(profile.functions.iter_mut().map(|f| &mut f.body)) {
            if expression.value.starts_with("file:") {
                read_file(expression, &name, files, report);
            }
        }
    }
}

fn read_file(expression: &mut Expression, schema: &str, files: &PackageFiles, report: &mut Report) {
    let name = expression.value.trim_start_matches("file:").trim();
    if name.contains('/') {
        let text = format!("expected the name of a file beside the schema, found {name:?}");
        report.error(&expression.place, text);
        return;
    }
    let name = name.strip_suffix(".expression").unwrap_or(name);
    let folders = ["schemas", "searchdefinitions"];
    let beside = folders.iter().map(|f| format!("{f}/{name}.expression"));
    let below = folders.iter().map(|f| format!("{f}/{schema}/{name}.expression"));
    let Some(path) = beside.chain(below).find(|path| files.has(path)) else {
        let text =
            format!("expected the file schemas/{name}.expression, which is not in the package");
        report.error(&expression.place, text);
        return;
    };
    match files.text(&path) {
        Ok(text) => {
            let start = text.len() - text.trim_start().len();
            let lines = text[..start].matches('\n').count();
            let column = text[..start].rsplit('\n').next().map_or(0, str::len);
            let place = Place { file: path.as_str().into(), line: 1, column: 1 };
            let place = place.within(lines + 1, column + 1);
            *expression = Located::new(text.trim().to_owned(), place);
        }
        Err(error) => report.error(&expression.place, error.to_string()),
    }
}
