//! `embed(...)` as the value of an input: which embedder is asked for the tensor of which text
//! (grammar and texts: Vespa, `container-search/src/main/java/com/yahoo/search/schema/internal/TensorConverter.java`).

/// What an `embed(...)` asks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EmbedCall {
    /// The id of the embedder.
    pub embedder: String,
    /// The text.
    pub text: String,
}

/// Whether the value of an input asks an embedder.
#[must_use]
pub fn is_embed(value: &str) -> bool {
    value.starts_with("embed(")
}

/// Reads `embed(text)`, `embed("text")`, `embed(@parameter)`, and the same behind the id of an embedder and a comma. Behind an id a text is
/// quoted; without one all embedders there are must be one. `ids` has those that there are, `parameter` the values of parameters.
///
/// # Errors
/// In words: no such embedder or parameter, or that an embedder must be named.
pub fn read_embed(
    value: &str,
    ids: &[&str],
    parameter: &dyn Fn(&str) -> Option<String>,
) -> Result<EmbedCall, String> {
    let argument = value.strip_prefix("embed(").and_then(|rest| rest.strip_suffix(')'));
    let argument = argument
        .ok_or("Expected any string enclosed in embed(), but the argument does not end by ')'")?;
    let named = argument.split_once(',').and_then(|(id, text)| {
        let is_id = |c: char| c.is_ascii_alphanumeric() || "_@-.".contains(c);
        let text = text.trim_start();
        let is_quoted =
            text.len() > 1 && text.starts_with(['"', '\'']) && text.ends_with(['"', '\'']);
        let fits = !id.is_empty() && id.chars().all(is_id) && (is_quoted || text.starts_with('@'));
        fits.then_some((id, text))
    });
    let available = || {
        let ids: Vec<String> = ids.iter().map(|id| format!("'{id}'")).collect();
        format!("Available embedder ids are {}.", ids.join(", "))
    };
    let (embedder, text) = match (named, ids) {
        (_, []) => return Err("No embedders provided".to_owned()),
        (Some((id, _)), _) if !ids.contains(&id) => {
            return Err(format!("Can't find embedder '{id}'. {}", available()));
        }
        (Some(named), _) => named,
        (None, [only]) => (*only, argument),
        (None, _) => {
            let is_quoted = argument.contains(['"', '\'']);
            let what = if is_quoted {
                "no embedder id is given"
            } else {
                "the string to embed is not quoted"
            };
            return Err(format!(
                "Multiple embedders are provided but {what}. Usage: embed(embedder-id, 'text'). {}",
                available()
            ));
        }
    };
    let quoted = |quote: char| {
        text.strip_prefix(quote).and_then(|text| text.strip_suffix(quote)).map(str::to_owned)
    };
    let text = match (quoted('\''), text.strip_prefix('@')) {
        (Some(text), _) => text,
        (None, Some(name)) => parameter(name).ok_or_else(|| {
            format!(
                "Could not resolve query parameter reference '{name}' used in an embed() argument"
            )
        })?,
        (None, None) => quoted('"').unwrap_or_else(|| text.to_owned()),
    };
    Ok(EmbedCall { embedder: embedder.to_owned(), text })
}

#[cfg(test)]
mod tests {
    use super::read_embed;

    /// The texts are those of Vespa's `RankProfileInputTest`.
    #[test]
    fn calls_are_those_of_vespa() {
        let parameter = |name: &str| (name == "param2").then(|| "text to embed".to_owned());
        let (one, two): (&[&str], &[&str]) = (&["emb1"], &["emb1", "emb2"]);
        let usage = "Usage: embed(embedder-id, 'text'). Available embedder ids are 'emb1', 'emb2'.";
        for (value, ids, expected) in [
            ("embed(text to embed)", one, Ok(("emb1", "text to embed"))),
            ("embed('text to embed')", one, Ok(("emb1", "text to embed"))),
            ("embed(\"text to embed\")", one, Ok(("emb1", "text to embed"))),
            ("embed(emb1, 'it''s')", one, Ok(("emb1", "it''s"))),
            ("embed(emb2,\"a (b), 'c'\")", two, Ok(("emb2", "a (b), 'c'"))),
            ("embed(a, b)", one, Ok(("emb1", "a, b"))),
            ("embed(@param2)", one, Ok(("emb1", "text to embed"))),
            ("embed(emb2, @param2)", two, Ok(("emb2", "text to embed"))),
            ("embed('')", one, Ok(("emb1", ""))),
            ("embed()", one, Ok(("emb1", ""))),
            ("embed(emb2, \"text\")", one, Err("Can't find embedder 'emb2'. Available embedder ids are 'emb1'.".to_owned())),
            ("embed(emb3, 'text')", two, Err("Can't find embedder 'emb3'. Available embedder ids are 'emb1', 'emb2'.".to_owned())),
            ("embed(emb1, text)", two, Err(format!("Multiple embedders are provided but the string to embed is not quoted. {usage}"))),
            ("embed('text')", two, Err(format!("Multiple embedders are provided but no embedder id is given. {usage}"))),
            ("embed(emb1, @none)", one, Err("Could not resolve query parameter reference 'none' used in an embed() argument".to_owned())),
            ("embed(text", one, Err("Expected any string enclosed in embed(), but the argument does not end by ')'".to_owned())),
            ("embed(text)", &[], Err("No embedders provided".to_owned())),
        ] {
            let found = read_embed(value, ids, &parameter);
            let found = found.as_ref().map(|call| (call.embedder.as_str(), call.text.as_str()));
            assert_eq!(found, expected.as_ref().map(|pair| *pair), "{value}");
        }
    }
}
