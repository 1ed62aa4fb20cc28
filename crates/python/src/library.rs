//! The Python modules that every interpreter has without anybody installing them: the module `stead`, and
//! `stead_package`.
//!
//! They lie in memory once. Interpreters read of it what they import.

/// A line that tells where each module begins and ends, then their sources (`build.rs`).
pub(crate) const LIBRARY: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/library"));

#[cfg(test)]
mod tests {
    use super::*;

    /// What components and packages are made and opened with, but neither command lines nor what is for tests.
    #[test]
    fn the_modules_are_there_and_no_others() {
        let text = std::str::from_utf8(LIBRARY).unwrap();
        let index = text.lines().next().unwrap();
        let modules: Vec<(&str, &str)> = index
            .split(';')
            .map(|part| {
                let parts: Vec<&str> = part.split(' ').collect();
                let place = |at: usize| parts[at].parse::<usize>().unwrap();
                (parts[0], &text[place(1)..place(2)])
            })
            .collect();
        for (name, begin) in [
            ("stead", "\"\"\"What Python code sees of stead"),
            ("stead._components", "\"\"\"What stead calls"),
            ("stead_package", "\"\"\""),
            ("stead_package.package_importer", "\"\"\""),
            ("stead_package.export.package_exporter", "\"\"\""),
        ] {
            let (_, source) = modules.iter().find(|(other, _)| *other == name).unwrap();
            assert!(source.starts_with(begin), "{name}: {source:.40}");
        }
        for name in ["stead_package.__main__", "stead.testing"] {
            assert!(!modules.iter().any(|(other, _)| *other == name), "{name}");
        }
    }
}
