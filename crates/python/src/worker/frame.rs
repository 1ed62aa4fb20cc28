//! Messages over the socket of a worker: a header of 32 bytes, a body, and the segment of its tensors, which is either
//! behind the body or a file that comes with the header.
#![allow(unsafe_code)] // files that pass through a socket

use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use super::segment::{Builder, INLINE, Segment};
use crate::Deadline;

/// What a message is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// To the worker: two texts, the name and the source of a module.
    Load = 1,
    /// To the worker: three texts, package, module and name, a list of arguments and a dict of keywords.
    Call = 2,
    /// To the worker: the value that it asked for.
    Answer = 3,
    /// To the worker: two texts, the code and the message of why it has no answer.
    Refused = 4,
    /// It is there.
    Ready = 10,
    /// What the code returned.
    Value = 11,
    /// Three texts of an exception.
    Raised = 12,
    /// One text: the code returned what cannot be passed.
    Returned = 13,
    /// A text and a list: what the code asks for, and with what. It waits for the answer.
    Asked = 14,
}

const MAGIC: [u8; 4] = *b"stpy";
const HEADER: usize = 32;
const IN_FILE: u64 = 1;

/// How large messages may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WorkerLimits {
    /// Bytes of everything but tensors.
    pub body: u64,
    /// Bytes of the tensors.
    pub tensors: u64,
}

impl Default for WorkerLimits {
    fn default() -> WorkerLimits {
        WorkerLimits { body: 256 << 20, tensors: 16 << 30 }
    }
}

/// A message that was received.
pub(super) struct Message {
    pub kind: Kind,
    pub body: Vec<u8>,
    pub segment: Segment,
}

/// Why a message was not sent or received.
#[derive(Debug)]
pub(super) enum FrameError {
    /// The deadline passed before anything was received or while something was sent.
    TimedOut,
    /// The deadline passed in the middle of a message: the next one cannot be found any more.
    CutShort,
    /// The other side is gone.
    Closed,
    /// Nothing was sent: too large.
    TooLarge { bytes: u64, limit: u64 },
    /// The other side sent something else than a message.
    Protocol(String),
    /// The system refused.
    System(io::Error),
}

impl From<io::Error> for FrameError {
    fn from(error: io::Error) -> FrameError {
        use io::ErrorKind::{BrokenPipe, ConnectionReset, TimedOut, UnexpectedEof, WouldBlock};
        match error.kind() {
            WouldBlock | TimedOut => FrameError::TimedOut,
            BrokenPipe | ConnectionReset | UnexpectedEof => FrameError::Closed,
            _ => FrameError::System(error),
        }
    }
}

/// Sends a message.
///
/// # Errors
/// [`FrameError`].
pub(super) fn send(
    socket: &UnixStream,
    kind: Kind,
    body: &[u8],
    tensors: &Builder<'_>,
    limits: WorkerLimits,
    deadline: Deadline,
) -> Result<(), FrameError> {
    for (bytes, limit) in [(body.len() as u64, limits.body), (tensors.len(), limits.tensors)] {
        if bytes > limit {
            return Err(FrameError::TooLarge { bytes, limit });
        }
    }
    let file = if tensors.len() > INLINE { Some(tensors.file()?) } else { None };
    let mut frame = Vec::with_capacity(HEADER + body.len());
    frame.extend(MAGIC);
    frame.extend((kind as u32).to_le_bytes());
    let flags = if file.is_some() { IN_FILE } else { 0 };
    for number in [body.len() as u64, tensors.len(), flags] {
        frame.extend(number.to_le_bytes());
    }
    frame.extend(body);
    if file.is_none() {
        tensors.parts().for_each(|part| frame.extend_from_slice(part));
    }
    let (header, rest) = frame.split_at(HEADER);
    wait_at_most(deadline, |time| socket.set_write_timeout(time))?;
    let sent = match &file {
        Some(file) => send_with_file(socket, header, file.as_raw_fd())?,
        None => 0,
    };
    let mut left = [header.get(sent..).unwrap_or_default(), rest];
    for part in &mut left {
        while !part.is_empty() {
            wait_at_most(deadline, |time| socket.set_write_timeout(time))?;
            match (&mut &*socket).write(part) {
                Ok(written) => *part = part.get(written..).unwrap_or_default(),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
    Ok(())
}

/// Receives a message.
///
/// # Errors
/// [`FrameError`].
pub(super) fn receive(
    socket: &UnixStream,
    limits: WorkerLimits,
    deadline: Deadline,
) -> Result<Message, FrameError> {
    let mut header = [0u8; HEADER];
    wait_at_most(deadline, |time| socket.set_read_timeout(time))?;
    let (filled, file) = receive_with_file(socket, &mut header)?;
    if filled == 0 {
        return Err(FrameError::Closed);
    }
    rest_of(socket, header, filled, file, limits, deadline).map_err(|error| match error {
        FrameError::TimedOut => FrameError::CutShort,
        error => error,
    })
}

/// The rest of a message of whose header `filled` bytes have come.
fn rest_of(
    socket: &UnixStream,
    mut header: [u8; HEADER],
    filled: usize,
    file: Option<OwnedFd>,
    limits: WorkerLimits,
    deadline: Deadline,
) -> Result<Message, FrameError> {
    let missing = read(socket, (HEADER - filled) as u64, deadline)?;
    header[filled..].copy_from_slice(&missing);
    let number = |at: usize| {
        let bytes = header.get(at..at + 8).and_then(|bytes| bytes.try_into().ok());
        bytes.map_or(0, u64::from_le_bytes)
    };
    let protocol = |text: &str| FrameError::Protocol(text.to_owned());
    let kinds = [Kind::Ready, Kind::Value, Kind::Raised, Kind::Returned, Kind::Asked];
    let kind = kinds.into_iter().find(|&kind| header[4..8] == (kind as u32).to_le_bytes());
    let Some(kind) = kind.filter(|_| header[..4] == MAGIC) else {
        return Err(protocol("a message has no known header"));
    };
    let (body_len, segment_len, flags) = (number(8), number(16), number(24));
    if body_len > limits.body || segment_len > limits.tensors {
        return Err(protocol("a message is above the limits"));
    }
    let body = read(socket, body_len, deadline)?;
    let segment = match (flags, file) {
        (IN_FILE, Some(file)) => {
            Segment::of_file(file, segment_len).map_err(FrameError::Protocol)?
        }
        (0, None) if segment_len == 0 => Segment::empty(),
        (0, None) if segment_len <= INLINE => {
            let bytes = read(socket, segment_len, deadline)?;
            Segment::inline(&bytes).map_err(FrameError::Protocol)?
        }
        _ => return Err(protocol("a segment is neither in its frame nor in a file")),
    };
    Ok(Message { kind, body, segment })
}

/// So many bytes, whose room grows as they come.
fn read(socket: &UnixStream, len: u64, deadline: Deadline) -> Result<Vec<u8>, FrameError> {
    const STEP: u64 = 1 << 20;
    let mut bytes = Vec::new();
    while (bytes.len() as u64) < len {
        wait_at_most(deadline, |time| socket.set_read_timeout(time))?;
        let wanted = (len - bytes.len() as u64).min(STEP);
        match (&mut &*socket).take(wanted).read_to_end(&mut bytes) {
            Ok(0) => return Err(FrameError::Closed),
            Ok(_) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(bytes)
}

/// Sets the time that the next call on the socket may take.
fn wait_at_most(
    deadline: Deadline,
    set: impl Fn(Option<Duration>) -> io::Result<()>,
) -> Result<(), FrameError> {
    match deadline.left() {
        Some(Duration::ZERO) => Err(FrameError::TimedOut),
        left => Ok(set(left)?),
    }
}

/// Room for the control message of one descriptor, aligned as its header is.
type Control = [u64; 4];

/// Sends the first bytes of `bytes`, at least one, together with a file.
fn send_with_file(socket: &UnixStream, bytes: &[u8], file: RawFd) -> Result<usize, FrameError> {
    let mut control: Control = [0; 4];
    let mut part = libc::iovec { iov_base: bytes.as_ptr().cast_mut().cast(), iov_len: bytes.len() };
    // SAFETY: a message header of zeros is an empty one. The control message is one header and one descriptor, for
    // which there is room and alignment; bytes, control and header live until the call is over.
    let sent = unsafe {
        let mut message: libc::msghdr = std::mem::zeroed();
        message.msg_iov = &raw mut part;
        message.msg_iovlen = 1;
        message.msg_control = control.as_mut_ptr().cast();
        message.msg_controllen = libc::CMSG_SPACE(size_of::<RawFd>() as u32) as _;
        debug_assert!(message.msg_controllen as usize <= size_of::<Control>());
        let first = libc::CMSG_FIRSTHDR(&raw const message);
        (*first).cmsg_level = libc::SOL_SOCKET;
        (*first).cmsg_type = libc::SCM_RIGHTS;
        (*first).cmsg_len = libc::CMSG_LEN(size_of::<RawFd>() as u32) as _;
        libc::CMSG_DATA(first).cast::<RawFd>().write_unaligned(file);
        libc::sendmsg(socket.as_raw_fd(), &raw const message, libc::MSG_NOSIGNAL)
    };
    usize::try_from(sent).map_err(|_| io::Error::last_os_error().into())
}

/// Receives some bytes, and the file that came with them: the first byte of a header brings it.
fn receive_with_file(
    socket: &UnixStream,
    bytes: &mut [u8],
) -> Result<(usize, Option<OwnedFd>), FrameError> {
    let mut control: Control = [0; 4];
    let mut part = libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: bytes.len() };
    // SAFETY: a message header of zeros is an empty one; bytes, control and header live until the call is over and the
    // kernel writes within the lengths given. A control message of rights holds a descriptor that is new and ours.
    unsafe {
        let mut message: libc::msghdr = std::mem::zeroed();
        message.msg_iov = &raw mut part;
        message.msg_iovlen = 1;
        message.msg_control = control.as_mut_ptr().cast();
        // Room for one descriptor: the kernel closes what does not fit.
        message.msg_controllen = libc::CMSG_SPACE(size_of::<RawFd>() as u32) as _;
        debug_assert!(message.msg_controllen as usize <= size_of::<Control>());
        let flags = libc::MSG_CMSG_CLOEXEC;
        let read = loop {
            let read = libc::recvmsg(socket.as_raw_fd(), &raw mut message, flags);
            if read >= 0 || io::Error::last_os_error().kind() != io::ErrorKind::Interrupted {
                break read;
            }
        };
        let read = usize::try_from(read).map_err(|_| io::Error::last_os_error())?;
        let first = libc::CMSG_FIRSTHDR(&raw const message);
        let one = libc::CMSG_LEN(size_of::<RawFd>() as u32) as usize;
        let mut file = None;
        if !first.is_null()
            && (*first).cmsg_level == libc::SOL_SOCKET
            && (*first).cmsg_type == libc::SCM_RIGHTS
            && (*first).cmsg_len as usize >= one
        {
            let fd = libc::CMSG_DATA(first).cast::<RawFd>().read_unaligned();
            file = Some(OwnedFd::from_raw_fd(fd));
        }
        Ok((read, file))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: WorkerLimits = WorkerLimits { body: 100, tensors: 1 << 20 };

    fn now() -> Deadline {
        Deadline::after(Duration::from_millis(1))
    }

    /// What a worker would send.
    fn sent(kind: Kind, body: &[u8], tensors: &[u8]) -> (UnixStream, UnixStream) {
        let (worker, ours) = UnixStream::pair().unwrap();
        let mut builder = Builder::default();
        builder.add(tensors);
        send(&worker, kind, body, &builder, LIMITS, Deadline::NEVER).unwrap();
        (worker, ours)
    }

    #[test]
    fn messages_come_with_their_segments() {
        let large = vec![7u8; INLINE as usize + 1];
        for tensors in [&[][..], &[1, 2, 3], &large] {
            let (_worker, ours) = sent(Kind::Value, b"body", tensors);
            let message = receive(&ours, LIMITS, Deadline::NEVER).unwrap();
            assert_eq!((message.kind, message.body.as_slice()), (Kind::Value, &b"body"[..]));
            assert_eq!(&*message.segment.range(0..tensors.len()).unwrap(), tensors);
            assert!(matches!(receive(&ours, LIMITS, now()), Err(FrameError::TimedOut)));
        }
    }

    /// Wherever a message is cut, it is known that the next one cannot be found; an end is an end.
    #[test]
    fn messages_that_are_cut_are_told_apart_from_none() {
        let (_worker, ours) = sent(Kind::Raised, b"body", &[1, 2, 3]);
        let mut whole = [0u8; HEADER + 4 + 3];
        (&mut &ours).read_exact(&mut whole).unwrap();
        for cut in 1..whole.len() {
            let (worker, ours) = UnixStream::pair().unwrap();
            (&mut &worker).write_all(&whole[..cut]).unwrap();
            let found = receive(&ours, LIMITS, now());
            assert!(matches!(found, Err(FrameError::CutShort)), "{cut}");
            let (worker, ours) = UnixStream::pair().unwrap();
            (&mut &worker).write_all(&whole[..cut]).unwrap();
            drop(worker);
            let found = receive(&ours, LIMITS, Deadline::NEVER);
            assert!(matches!(found, Err(FrameError::Closed)), "{cut}");
        }
    }

    #[test]
    fn what_is_no_message_is_an_error() {
        let header = |kind: u32, body: u64, tensors: u64, flags: u64| {
            let mut header = MAGIC.to_vec();
            header.extend(kind.to_le_bytes());
            [body, tensors, flags].iter().for_each(|n| header.extend(n.to_le_bytes()));
            header
        };
        let cases = [
            ("magic", [vec![0; 4], header(11, 0, 0, 0)[4..].to_vec()].concat()),
            ("kind", header(99, 0, 0, 0)),
            ("one of ours", header(Kind::Call as u32, 0, 0, 0)),
            ("body", header(11, 101, 0, 0)),
            ("tensors", header(11, 0, (1 << 20) + 1, 0)),
            ("tensors that should be in a file", header(11, 0, INLINE + 1, 0)),
            ("no file", header(11, 0, 100, IN_FILE)),
            ("flags", header(11, 0, 0, 2)),
        ];
        for (label, bytes) in cases {
            let (worker, ours) = UnixStream::pair().unwrap();
            (&mut &worker).write_all(&bytes).unwrap();
            let found = receive(&ours, LIMITS, Deadline::NEVER);
            assert!(matches!(found, Err(FrameError::Protocol(_))), "{label}");
        }
        let (ours, _worker) = UnixStream::pair().unwrap();
        let large =
            send(&ours, Kind::Call, &[0; 101], &Builder::default(), LIMITS, Deadline::NEVER);
        assert!(matches!(large, Err(FrameError::TooLarge { bytes: 101, limit: 100 })));
    }
}
