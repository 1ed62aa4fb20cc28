//! Which function of a model a path names
//! (facts: Vespa, `model-evaluation/src/main/java/ai/vespa/models/evaluation/Model.java`).

use crate::{Code, Error};

/// The place of the function that names select: its name, or the begin or end of it at a `.`; none where there is only one. Names are
/// those of others too where only capitals differ.
///
/// # Errors
/// [`Code::NotFound`] in Vespa's words where no function, or more than one, is meant.
pub(super) fn choose(model: &str, functions: &[&str], names: &[String]) -> Result<usize, Error> {
    let wrong = |text: String| {
        let known = functions.join(", ");
        Error::new(Code::NotFound, format!("{text}. Available functions: {known}"))
    };
    let name = match names {
        [] if functions.len() == 1 => return Ok(0),
        [] => {
            let text = "More than one function is available in model";
            return Err(wrong(format!("{text} '{model}', but no name is given")));
        }
        [name] => name.clone(),
        [signature, name] => format!("{signature}.{name}"),
        more => {
            let text = "No more than 2 names can be given when choosing a function, got";
            return Err(Error::new(
                Code::NotFound,
                format!("{text} [{}]", short(&more.join(", "))),
            ));
        }
    };
    // Signatures of TensorFlow, by the names that they had and have.
    let of_default = name.strip_prefix("serving_default").map(|rest| format!("default{rest}"));
    let mut plain = of_default.as_deref().unwrap_or(&name);
    while let Some(rest) = plain.strip_prefix("default.") {
        plain = rest;
    }
    for name in [Some(name.as_str()), of_default.as_deref(), Some(plain)].into_iter().flatten() {
        if let Some(at) = find(functions, name)
            .map_err(|several| wrong(format!("{several} '{}' in model '{model}'", short(name))))?
        {
            return Ok(at);
        }
    }
    Err(wrong(format!("No function '{}' in model '{model}'", short(plain))))
}

/// The function of a name, if there is one; what several have in common if there are some.
fn find(functions: &[&str], name: &str) -> Result<Option<usize>, &'static str> {
    if let Some(at) = functions.iter().position(|function| *function == name) {
        return Ok(Some(at));
    }
    let lower = name.to_ascii_lowercase();
    let (begin, end) = (format!("{lower}."), format!(".{lower}"));
    let is_meant: [(&dyn Fn(&str) -> bool, &'static str); 3] = [
        (&|function| function == lower, "Multiple functions called"),
        (&|function| function.starts_with(&begin), "Multiple functions start by"),
        (&|function| function.ends_with(&end), "Multiple functions called"),
    ];
    for (is_meant, several) in is_meant {
        let all = functions.iter().enumerate();
        let mut found = all.filter(|(_, f)| is_meant(&f.to_ascii_lowercase())).map(|(at, _)| at);
        match (found.next(), found.next()) {
            (None, _) => {}
            (only, None) => return Ok(only),
            _ => return Err(several),
        }
    }
    Ok(None)
}

/// What a client wrote, as far as it is worth telling.
pub(super) fn short(text: &str) -> String {
    text.chars().take(100).collect()
}

#[cfg(test)]
mod tests {
    use super::choose;

    #[test]
    fn functions_are_chosen_as_in_vespa() {
        let two = ["output1", "output2"];
        let known = ". Available functions: output1, output2";
        for (functions, names, expected) in [
            (&["f"][..], &[][..], Ok(0)),
            (&["f"], &["f"], Ok(0)),
            (&["F"], &["f"], Ok(0)),
            (&["f", "F"], &["F"], Ok(1)),
            (&["output"], &["default.output"], Ok(0)),
            (&["output"], &["default", "output"], Ok(0)),
            (&["default.add"], &["serving_default.add"], Ok(0)),
            (&["serving_default.y", "g"], &["serving_default"], Ok(0)),
            (&["serving_default.y", "g"], &["y"], Ok(0)),
            (&two, &["output2"], Ok(1)),
            (&two, &["OUTPUT1"], Ok(0)),
            (
                &two,
                &[],
                Err("More than one function is available in model 'm', but no name is given"),
            ),
            (&two, &["output"], Err("No function 'output' in model 'm'")),
            (&two, &["default.x"], Err("No function 'x' in model 'm'")),
            (&["a.y", "b.y"], &["y"], Err("Multiple functions called 'y' in model 'm'")),
            (&["a.x", "a.y"], &["a"], Err("Multiple functions start by 'a' in model 'm'")),
            (&["xy", "Xy"], &["XY"], Err("Multiple functions called 'XY' in model 'm'")),
            (
                &two,
                &["a", "b", "c"],
                Err("No more than 2 names can be given when choosing a function, got [a, b, c]"),
            ),
        ] {
            let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
            let found = choose("m", functions, &names).map_err(|e| e.to_string());
            match expected {
                Ok(at) => assert_eq!(found, Ok(at), "{functions:?} {names:?}"),
                Err(text) => {
                    let found = found.unwrap_err();
                    assert!(found.starts_with(text), "{found}");
                    let has_known = found.contains(". Available functions: ");
                    assert_eq!(has_known, names.len() < 3, "{found}");
                    assert!(functions != two || names.len() == 3 || found.ends_with(known));
                }
            }
        }
    }

    #[test]
    fn names_that_are_long_end_soon() {
        for name in ["default.", "serving_default.", "x"] {
            let text = choose("m", &["a"], &[name.repeat(1_000_000)]).unwrap_err().to_string();
            assert!(text.len() < 300, "{text}");
        }
    }
}
