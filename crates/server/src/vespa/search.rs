//! `/search/`: searches by GET and POST (Vespa, documentation, `reference/api/query.html`).

use super::parameters::pairs;
use crate::fault::Fault;
use crate::http::{Body, Reply, Shared};
use http::header::{CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderValue, Method, StatusCode};
use stead_node::{Code, Error};
use stead_search::query::{SearchCode, SearchError};
use stead_search::request::{Format, flatten};
use stead_search::result::{SearchResult, render};

/// Answers a search. Parameters of the body stand before those of the URL.
///
/// # Errors
/// No application, and bodies that cannot be read. What is wrong with the search is in its result.
pub async fn answer(shared: &Shared, method: &Method, body: Body) -> Result<Reply, Fault> {
    if shared.node.deployments().is_none() {
        return Err(Fault::new(Code::UnknownUrl, "Invalid request URL"));
    }
    let bad = || Fault::invalid("the parameters are not UTF-8");
    let mut parameters = pairs(body.query()).ok_or_else(bad)?;
    let takes_cbor = body.accept().is_some_and(|accept| accept.contains("application/cbor"));
    if *method == Method::POST {
        let kind = body.text(CONTENT_TYPE).unwrap_or_default().to_ascii_lowercase();
        let bytes = body.read(&shared.options).await?;
        let more = match kind.split(';').next().map(str::trim) {
            Some("application/json") => match flatten(&bytes) {
                Ok(more) => more,
                Err(error) => return Ok(reply(&SearchResult::failed(error), Format::Json)),
            },
            _ => std::str::from_utf8(&bytes).ok().and_then(pairs).ok_or_else(bad)?,
        };
        parameters.extend(more);
    }
    let is_format =
        |name: &str| ["format", "presentation.format"].iter().any(|f| f.eq_ignore_ascii_case(name));
    if takes_cbor && !parameters.iter().any(|(name, _)| is_format(name)) {
        parameters.push(("presentation.format".to_owned(), "cbor".to_owned()));
    }
    match shared.node.search(parameters).await {
        Ok((result, format)) => Ok(reply(&result, format)),
        Err(error) => match error.retry_after() {
            Some(seconds) => Ok(refused(&error, seconds)),
            None => Err(error.into()),
        },
    }
}

/// A search that is not let in is a result too, which clients read errors from; to them it is a node that is too busy.
fn refused(error: &Error, seconds: u64) -> Reply {
    let code = SearchCode::NoBackendsInService;
    let result = SearchResult::failed(SearchError { code, message: error.to_string() });
    let header = Some((RETRY_AFTER, HeaderValue::from(seconds)));
    Reply { header, ..reply(&result, Format::Json) }
}

fn reply(result: &SearchResult, format: Format) -> Reply {
    let content_type = match format {
        Format::Json => "application/json;charset=utf-8",
        Format::Cbor => "application/cbor",
    };
    let status = StatusCode::from_u16(result.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let content_type = HeaderValue::from_static(content_type);
    Reply { status, content_type, ..Reply::json(render(result, format)) }
}
