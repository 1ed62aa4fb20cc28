//! Classes of failures, and the one table that says how each protocol reports them.

use std::fmt;

/// The class of a failure. [`CODES`] maps it to each protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Code {
    /// The caller went away or cancelled.
    Cancelled,
    /// No better class is known.
    Unknown,
    /// The request itself is wrong.
    InvalidArgument,
    /// The request is not valid JSON (OVMS has a status of its own for it).
    InvalidJson,
    /// The deadline passed before the answer was there.
    DeadlineExceeded,
    /// The named thing does not exist.
    NotFound,
    /// No such URL.
    UnknownUrl,
    /// The URL exists, the method does not.
    MethodNotAllowed,
    /// The named thing exists already.
    AlreadyExists,
    /// The caller may not do this.
    PermissionDenied,
    /// The caller must say who it is.
    Unauthenticated,
    /// A limit of the server is reached.
    ResourceExhausted,
    /// There is too much to do at the moment: the same works later.
    Overloaded,
    /// The body is larger than the limit.
    PayloadTooLarge,
    /// The body's encoding or media type is not supported.
    UnsupportedEncoding,
    /// The state does not allow this now.
    FailedPrecondition,
    /// Given up because of a conflict.
    Aborted,
    /// Outside the valid range.
    OutOfRange,
    /// Not offered by this server.
    Unimplemented,
    /// The server failed.
    Internal,
    /// Try again later: a queue is full or the server stops.
    Unavailable,
    /// The model version exists and is not loaded yet.
    NotLoaded,
    /// A pipeline ended early, because a demultiplexer gave nothing.
    NoContent,
    /// An application package that cannot be served.
    InvalidPackage,
}

/// One row of [`CODES`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CodeRow {
    /// The class.
    pub code: Code,
    /// Its name, as in gRPC's documentation where gRPC has it.
    pub name: &'static str,
    /// The gRPC status number.
    pub grpc: i32,
    /// The HTTP status below `/v2`, as Triton answers.
    pub kserve_http: u16,
    /// The HTTP status below `/v1`, as OpenVINO Model Server answers.
    pub tfs_http: u16,
    /// The HTTP status and `error-code` on the deploy port, as Vespa's config server answers.
    pub deploy_http: (u16, &'static str),
    /// The HTTP status below `/document/v1`, as Vespa answers.
    pub document_http: u16,
}

const fn row(
    code: Code,
    name: &'static str,
    grpc: i32,
    kserve_http: u16,
    tfs_http: u16,
    deploy_http: (u16, &'static str),
    document_http: u16,
) -> CodeRow {
    CodeRow { code, name, grpc, kserve_http, tfs_http, deploy_http, document_http }
}

const BAD_REQUEST: (u16, &str) = (400, "BAD_REQUEST");
const NOT_FOUND: (u16, &str) = (404, "NOT_FOUND");
const CONFLICT: (u16, &str) = (409, "ACTIVATION_CONFLICT");
const INTERNAL: (u16, &str) = (500, "INTERNAL_SERVER_ERROR");

/// How each protocol reports each [`Code`], in the order of the enum.
pub const CODES: &[CodeRow] = &[
    row(Code::Cancelled, "CANCELLED", 1, 499, 499, INTERNAL, 500),
    row(Code::Unknown, "UNKNOWN", 2, 500, 500, INTERNAL, 500),
    row(Code::InvalidArgument, "INVALID_ARGUMENT", 3, 400, 400, BAD_REQUEST, 400),
    row(Code::InvalidJson, "INVALID_ARGUMENT", 3, 400, 412, BAD_REQUEST, 400),
    row(Code::DeadlineExceeded, "DEADLINE_EXCEEDED", 4, 504, 504, (408, "REQUEST_TIMEOUT"), 504),
    row(Code::NotFound, "NOT_FOUND", 5, 404, 404, NOT_FOUND, 404),
    row(Code::UnknownUrl, "NOT_FOUND", 5, 404, 400, NOT_FOUND, 404),
    row(Code::MethodNotAllowed, "UNIMPLEMENTED", 12, 405, 406, (405, "METHOD_NOT_ALLOWED"), 405),
    row(Code::AlreadyExists, "ALREADY_EXISTS", 6, 409, 409, CONFLICT, 409),
    row(Code::PermissionDenied, "PERMISSION_DENIED", 7, 403, 403, (403, "BAD_REQUEST"), 403),
    row(Code::Unauthenticated, "UNAUTHENTICATED", 16, 401, 401, (401, "BAD_REQUEST"), 401),
    row(Code::ResourceExhausted, "RESOURCE_EXHAUSTED", 8, 429, 429, (507, "QUOTA_EXCEEDED"), 507),
    row(Code::Overloaded, "RESOURCE_EXHAUSTED", 8, 429, 429, (429, "BAD_REQUEST"), 429),
    row(Code::PayloadTooLarge, "RESOURCE_EXHAUSTED", 8, 413, 413, (413, "BAD_REQUEST"), 413),
    row(Code::UnsupportedEncoding, "UNIMPLEMENTED", 12, 501, 415, (415, "BAD_REQUEST"), 415),
    row(
        Code::FailedPrecondition,
        "FAILED_PRECONDITION",
        9,
        412,
        412,
        (412, "PRECONDITION_FAILED"),
        412,
    ),
    row(Code::Aborted, "ABORTED", 10, 409, 409, CONFLICT, 409),
    row(Code::OutOfRange, "OUT_OF_RANGE", 11, 400, 400, BAD_REQUEST, 400),
    row(Code::Unimplemented, "UNIMPLEMENTED", 12, 501, 501, (501, "BAD_REQUEST"), 501),
    row(Code::Internal, "INTERNAL", 13, 500, 500, INTERNAL, 500),
    row(Code::Unavailable, "UNAVAILABLE", 14, 503, 503, (503, "INTERNAL_SERVER_ERROR"), 503),
    row(Code::NotLoaded, "UNAVAILABLE", 14, 503, 404, (503, "INTERNAL_SERVER_ERROR"), 503),
    row(Code::NoContent, "ABORTED", 10, 204, 204, INTERNAL, 500),
    row(
        Code::InvalidPackage,
        "INVALID_ARGUMENT",
        3,
        400,
        400,
        (400, "INVALID_APPLICATION_PACKAGE"),
        400,
    ),
];

impl Code {
    /// The row of this code in [`CODES`].
    pub fn row(self) -> &'static CodeRow {
        // The test below keeps the table in the order of the enum.
        &CODES[self as usize]
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.row().name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_in_the_order_of_the_enum() {
        for (i, row) in CODES.iter().enumerate() {
            assert_eq!(row.code as usize, i, "{}", row.name);
            assert_eq!(row.code.row(), row);
        }
    }
}
