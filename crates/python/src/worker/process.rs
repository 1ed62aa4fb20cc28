//! The process of a worker.
#![allow(unsafe_code)] // what happens between fork and exec

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::OnceLock;
use std::sync::mpsc::{self, Sender};

use crate::library::LIBRARY;
use crate::memory::{SEALS, file_of};
use crate::output::{Output, OutputLine};
use crate::{Installation, StartError, StartOptions};

/// The descriptors of a worker.
const SOCKET: RawFd = 3;
const SOURCE: RawFd = 4;
const MODULES: RawFd = 5;

/// stead's own code of a worker.
const CODE: [&str; 4] = [
    include_str!("../bootstrap.py"),
    include_str!("../garbage.py"),
    include_str!("../objects.py"),
    include_str!("worker.py"),
];

/// Executes it. It is not on the command line, which everybody can read and which is short.
const LOADER: &str = "\
with open(4, 'rb') as _file:
    _source = _file.read()
exec(compile(_source, '<stead>', 'exec'))
";

/// A running worker. Dropped, it is killed with everything that it started.
pub(super) struct Process {
    child: Child,
    pub socket: UnixStream,
    output: Output,
}

impl Process {
    /// Starts one.
    ///
    /// # Errors
    /// [`StartError::System`].
    pub(super) fn start(
        python: &Installation,
        options: &StartOptions,
    ) -> Result<Process, StartError> {
        let failed = StartError::system("a worker process");
        let mut command = Command::new(&python.executable);
        command.args(["-I", "-X", "utf8", "-c", LOADER]);
        command.envs(options.environment());
        let start = move || {
            let (ours, theirs) = UnixStream::pair()?;
            let (reader, writer) = io::pipe()?;
            command.stdin(Stdio::null()).stdout(writer.try_clone()?).stderr(writer);
            // A signal from the terminal is for stead, which ends its workers.
            command.process_group(0);
            let files =
                [high(theirs.as_raw_fd())?, high(source()?.as_raw_fd())?, high(modules()?)?];
            let child = spawn(command, files)?;
            Ok(Process { child, socket: ours, output: Output::of(reader)? })
        };
        on_spawner(start).map_err(failed)
    }

    /// Its number.
    pub(super) fn id(&self) -> u32 {
        self.child.id()
    }

    /// What it wrote last.
    pub(super) fn output(&self) -> Vec<OutputLine> {
        self.output.lines()
    }

    /// Ends it, and says how it ended and what it wrote last.
    pub(super) fn end(mut self) -> String {
        let own_end = self.child.try_wait().ok().flatten();
        let status = own_end.or_else(|| {
            kill(&mut self.child);
            self.child.wait().ok()
        });
        let lines = self.output.last_lines();
        let status = status.map_or_else(|| "it is gone".to_owned(), |status| shown(&status));
        if lines.is_empty() { status } else { format!("{status}; it wrote last:\n{lines}") }
    }

    /// As [`end`](Self::end), for a process whose socket has ended: it is given the time to end itself, so that its own
    /// status is told.
    pub(super) fn ended(self) -> String {
        self.output.wait();
        self.end()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if !matches!(self.child.try_wait(), Ok(Some(_))) {
            kill(&mut self.child);
            let _ = self.child.wait(); // It has been killed.
        }
        // What it wrote is told before it is forgotten.
        self.output.wait();
    }
}

/// Kills a process that has not been waited for, and its group.
fn kill(child: &mut Child) {
    // SAFETY: the number is that of a child that nobody has waited for, so it is no other's.
    unsafe { libc::kill(-(child.id() as libc::pid_t), libc::SIGKILL) };
    let _ = child.kill(); // Where it has left its group.
}

fn shown(status: &ExitStatus) -> String {
    const NAMES: [(i32, &str); 8] = [
        (libc::SIGSEGV, "SIGSEGV"),
        (libc::SIGKILL, "SIGKILL"),
        (libc::SIGABRT, "SIGABRT"),
        (libc::SIGBUS, "SIGBUS"),
        (libc::SIGILL, "SIGILL"),
        (libc::SIGFPE, "SIGFPE"),
        (libc::SIGTERM, "SIGTERM"),
        (libc::SIGSYS, "SIGSYS"),
    ];
    match (status.signal(), status.code()) {
        (Some(signal), _) => {
            let name = NAMES.iter().find(|(number, _)| *number == signal);
            format!("signal {signal} ended it ({})", name.map_or("?", |(_, name)| name))
        }
        (None, code) => format!("it ended with status {}", code.unwrap_or_default()),
    }
}

/// The code in a file without a name.
fn source() -> io::Result<File> {
    file_of(c"stead-worker", CODE.map(str::as_bytes), None)
}

/// The modules that every interpreter has, in one file for all workers, which nobody can change.
fn modules() -> io::Result<RawFd> {
    static FILE: OnceLock<File> = OnceLock::new();
    if let Some(file) = FILE.get() {
        return Ok(file.as_raw_fd());
    }
    let file = file_of(c"stead-modules", [LIBRARY], Some(SEALS))?;
    Ok(FILE.get_or_init(|| file).as_raw_fd())
}

/// A copy of a descriptor whose number is none of those that a worker has.
fn high(fd: RawFd) -> io::Result<OwnedFd> {
    // SAFETY: a descriptor that is open.
    let copy = unsafe { libc::fcntl(fd, libc::F_DUPFD_CLOEXEC, 10) };
    if copy < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: a new descriptor that nobody else has.
    Ok(unsafe { OwnedFd::from_raw_fd(copy) })
}

fn spawn(mut command: Command, files: [OwnedFd; 3]) -> io::Result<Child> {
    let parent = std::process::id();
    let from = files.each_ref().map(AsRawFd::as_raw_fd);
    let prepare = move || {
        // SAFETY: system calls only, between fork and exec; the descriptors are open, and not those that are made.
        unsafe {
            for (from, to) in from.into_iter().zip([SOCKET, SOURCE, MODULES]) {
                if libc::dup2(from, to) < 0 {
                    return Err(io::Error::last_os_error());
                }
            }
            // It dies with the thread that started it, which lives as long as this process.
            if libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) != 0 {
                return Err(io::Error::last_os_error());
            }
            // The parent may be gone already.
            if libc::getppid() as u32 != parent {
                libc::_exit(1);
            }
        }
        Ok(())
    };
    // SAFETY: `prepare` makes system calls and allocates nothing.
    unsafe { command.pre_exec(prepare) };
    command.spawn()
}

type Job = Box<dyn FnOnce() + Send>;

/// Runs `start` on the one thread that starts workers: the signal that a child asks for comes when the thread that
/// started it ends, not the process.
fn on_spawner(start: impl FnOnce() -> io::Result<Process> + Send + 'static) -> io::Result<Process> {
    static SPAWNER: OnceLock<Sender<Job>> = OnceLock::new();
    let gone = || io::Error::other("the thread that starts workers is gone");
    let spawner = SPAWNER.get_or_init(|| {
        let (jobs, received) = mpsc::channel::<Job>();
        let thread = std::thread::Builder::new().name("python-spawn".to_owned());
        // Without the thread nobody receives, which is an error of each start.
        let _ = thread.spawn(move || received.iter().for_each(|job| job()));
        jobs
    });
    let (tell, told) = mpsc::sync_channel(1);
    let job = move || drop(tell.send(start())); // The starter waits for it.
    spawner.send(Box::new(job)).map_err(|_| gone())?;
    told.recv().map_err(|_| gone())?
}
