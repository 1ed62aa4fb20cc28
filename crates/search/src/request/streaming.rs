//! Which of the documents of a streamed type are searched.

use stead_store::{Location, Selection, Streamed};

use super::read::Read;
use crate::query::{SearchCode, SearchError};

/// What a request says of streamed documents.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct StreamingRequest {
    /// `streaming.userid`: those with `n=` and this number in their ids.
    user: Option<i64>,
    /// `streaming.groupname`: those with `g=` and this name.
    group: Option<String>,
    /// `streaming.selection`: those that it selects.
    selection: Option<Selection>,
    /// `streaming.maxBytes`: the most memory that they may take.
    pub(crate) most_bytes: usize,
}

impl StreamingRequest {
    pub(super) fn of(read: &Read<'_>) -> Result<StreamingRequest, SearchError> {
        let user = read.text("streaming.userid").map(|text| {
            let number = text.trim().parse();
            number.map_err(|_| {
                let text = format!("streaming.userid: expected a whole number, found '{text:.60}'");
                SearchError::parameter(text)
            })
        });
        let selection = read.text("streaming.selection").map(|text| {
            Selection::parse(&text)
                .map_err(|error| SearchError::parameter(format!("streaming.selection: {error}")))
        });
        Ok(StreamingRequest {
            user: user.transpose()?,
            group: read.text("streaming.groupname"),
            selection: selection.transpose()?,
            most_bytes: read.count("streaming.maxBytes")?.unwrap_or(1 << 30),
        })
    }

    /// The documents that it means, at a time in seconds since 1970.
    ///
    /// # Errors
    /// Where it says nothing, or too much (the text: Vespa, `StreamingSearcher.java`).
    pub(crate) fn documents(&self, now: i64) -> Result<Streamed<'_>, SearchError> {
        match (self.user, &self.group, &self.selection) {
            (Some(user), None, None) => Ok(Streamed::Of(Location::User(user))),
            (None, Some(group), None) => Ok(Streamed::Of(Location::Group(group))),
            (None, None, Some(selection)) => Ok(Streamed::By(selection, now)),
            _ => Err(SearchError {
                code: SearchCode::BackendCommunication,
                message: "Streaming search needs one and only one of these query parameters to be \
                          set: streaming.userid, streaming.groupname, streaming.selection"
                    .to_owned(),
            }),
        }
    }
}
