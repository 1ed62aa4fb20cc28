//! Checks of the source tree that no compiler does; they run as ordinary tests.

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::{Path, PathBuf};

    use crate::paths;

    /// Files with one of these endings, build results and hidden folders left out.
    fn files(endings: &[&str]) -> Vec<PathBuf> {
        let mut found = Vec::new();
        let mut folders = vec![paths::root()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap().filter_map(Result::ok) {
                let path = entry.path();
                let name = entry.file_name().to_string_lossy().into_owned();
                if path.is_dir() {
                    if name != "target" && !name.starts_with('.') {
                        folders.push(path);
                    }
                } else if endings.iter().any(|ending| name.ends_with(ending)) {
                    found.push(path);
                }
            }
        }
        found
    }

    fn shown(path: &Path) -> String {
        path.strip_prefix(paths::root()).unwrap_or(path).display().to_string()
    }

    #[test]
    fn links_between_pages_lead_somewhere() {
        let mut broken = Vec::new();
        for page in files(&[".md"]) {
            let text = fs::read_to_string(&page).unwrap();
            let targets = text.split("](").skip(1).filter_map(|rest| rest.split(')').next());
            for target in targets {
                let file = target.split('#').next().unwrap_or_default();
                let elsewhere = file.is_empty() || file.contains("://") || file.contains(' ');
                let there = || page.parent().is_some_and(|folder| folder.join(file).exists());
                if !elsewhere && !there() {
                    broken.push(format!("{}: {target}", shown(&page)));
                }
            }
        }
        assert!(broken.is_empty(), "{broken:#?}");
    }

    fn has_tests(folder: &Path) -> bool {
        let files = fs::read_dir(folder).unwrap().filter_map(Result::ok);
        let texts = files.filter_map(|file| fs::read_to_string(file.path()).ok());
        texts.into_iter().any(|text| text.contains("#[test]"))
    }

    /// Where cargo does not look for tests itself, a file that nobody names would never run.
    #[test]
    fn files_of_tests_are_parts_of_a_program() {
        let (mut missing, mut seen) = (Vec::new(), 0);
        for manifest in files(&["Cargo.toml"]) {
            let text = fs::read_to_string(&manifest).unwrap();
            if !text.contains("autotests = false") {
                continue;
            }
            let folder = manifest.with_file_name("tests");
            let parts = fs::read_to_string(folder.join("main.rs")).unwrap();
            for entry in fs::read_dir(&folder).unwrap().filter_map(Result::ok) {
                let name = entry.file_name().to_string_lossy().into_owned();
                // A folder is a program of its own with `main.rs`, and shared parts or data without tests.
                let is_folder = entry.path().join("mod.rs").exists() && has_tests(&entry.path());
                let part = if is_folder { Some(&*name) } else { name.strip_suffix(".rs") };
                let Some(name) = part.filter(|name| *name != "main") else { continue };
                seen += 1;
                let is_part = parts.lines().any(|line| line == format!("mod {name};"));
                if !is_part && !text.contains(&format!("name = \"{name}\"")) {
                    missing.push(shown(&entry.path()));
                }
            }
        }
        assert!(missing.is_empty(), "in no program of tests: {missing:#?}");
        assert!(seen > 50, "{seen} files of tests");
    }

    /// Every scenario of the servers that stead succeeds is re-created by its name, or an exception with a reason.
    #[test]
    fn scenarios_stand_in_tests() {
        let root = paths::root();
        let list = fs::read_to_string(root.join("tests/data/scenarios.txt")).unwrap();
        let names: Vec<&str> =
            list.lines().filter(|l| !l.is_empty() && !l.starts_with('#')).collect();
        let mut words = std::collections::BTreeSet::new();
        for path in files(&[".rs", ".py"]) {
            if path.starts_with(root.join("xtask")) {
                continue;
            }
            let text = fs::read_to_string(path).unwrap();
            let word = |c: char| !(c.is_ascii_alphanumeric() || c == '_');
            for found in text.split(word) {
                words.insert(found.to_owned());
                words.insert(found.trim_start_matches("test_").to_owned());
            }
        }
        // The name of one test may hold those of several scenarios.
        let stands = |name: &str| {
            words.contains(name)
                || words.iter().any(|w| w.len() < 100 && w.split("_and_").any(|p| p == name))
                || words.iter().any(|w| {
                    name.starts_with(char::is_uppercase) && w.split('_').any(|p| p == name)
                })
        };
        let missing: Vec<&&str> = names.iter().filter(|name| !stands(name)).collect();
        assert!(missing.is_empty(), "{missing:#?}");
        assert!(names.len() > 100, "{}", names.len());
    }

    #[test]
    fn sources_are_ascii() {
        let ascii = |path: &PathBuf| fs::read(path).unwrap().is_ascii();
        let other: Vec<String> =
            files(&[".rs", ".py"]).iter().filter(|p| !ascii(p)).map(|p| shown(p)).collect();
        assert!(other.is_empty(), "{other:#?}");
    }

    /// Interpreters inside the server are given the half of stead_package that opens packages, without `export`.
    #[test]
    fn the_opening_half_of_stead_package_imports_nothing_of_the_other() {
        let root = paths::root().join("python/stead_package/src/stead_package");
        let mut opening = 0;
        for path in fs::read_dir(&root).unwrap().filter_map(Result::ok).map(|e| e.path()) {
            // The table of names in `__init__.py` loads what it lists when it is asked for.
            if path.is_dir() || path.ends_with("__init__.py") {
                continue;
            }
            opening += 1;
            let text = fs::read_to_string(&path).unwrap();
            let across = text.lines().find(|line| {
                let line = line.trim_start();
                (line.starts_with("from ") || line.starts_with("import "))
                    && line.contains("export")
            });
            assert_eq!(across, None, "{}", shown(&path));
        }
        assert!(opening > 20, "{opening}");
    }

    #[test]
    fn crates_without_an_address_for_unsafe_forbid_it() {
        const MAY: &[&str] = &["tensor", "kernels", "pool", "python", "wheel"];
        for entry in fs::read_dir(paths::root().join("crates")).unwrap().filter_map(Result::ok) {
            let name = entry.file_name().to_string_lossy().into_owned();
            let root = ["src/lib.rs", "src/main.rs"].map(|file| entry.path().join(file));
            let text: String =
                root.iter().filter_map(|file| fs::read_to_string(file).ok()).collect();
            assert!(
                MAY.contains(&name.as_str()) || text.contains("#![forbid(unsafe_code)]"),
                "{name}"
            );
        }
    }
}
