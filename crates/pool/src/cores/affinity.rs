//! The affinity masks of threads.

#![allow(unsafe_code)]

use std::io;
use std::thread::JoinHandle;

/// Room for more CPUs than Linux can be built for.
#[cfg(target_os = "linux")]
type Mask = [libc::c_ulong; 8192 / libc::c_ulong::BITS as usize];

#[cfg(target_os = "linux")]
fn mask(cpus: &[usize]) -> Mask {
    let bits = libc::c_ulong::BITS as usize;
    let mut mask: Mask = [0; 8192 / libc::c_ulong::BITS as usize];
    for cpu in cpus {
        if let Some(word) = mask.get_mut(cpu / bits) {
            *word |= 1 << (cpu % bits);
        }
    }
    mask
}

/// The CPUs that the calling thread may run on, ascending; as many as there are where the system does not tell.
#[cfg(target_os = "linux")]
pub(crate) fn allowed() -> Vec<usize> {
    let mut mask = mask(&[]);
    // SAFETY: the pointer is to `size_of::<Mask>()` bytes that the call may write, and a mask longer than `cpu_set_t`
    // is what the call is made for: the size is told.
    let told = unsafe { libc::sched_getaffinity(0, size_of::<Mask>(), mask.as_mut_ptr().cast()) };
    let bits = libc::c_ulong::BITS as usize;
    let is_in =
        |cpu: &usize| mask.get(cpu / bits).is_some_and(|word| word >> (cpu % bits) & 1 == 1);
    let cpus: Vec<usize> = (0..bits * mask.len()).filter(is_in).collect();
    if told == 0 && !cpus.is_empty() { cpus } else { unknown() }
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn allowed() -> Vec<usize> {
    unknown()
}

fn unknown() -> Vec<usize> {
    (0..std::thread::available_parallelism().map_or(1, usize::from)).collect()
}

/// Keeps a thread on some CPUs.
///
/// # Errors
/// The operating system's, where the thread may not run on any of them.
#[cfg(target_os = "linux")]
pub(crate) fn pin(thread: &JoinHandle<()>, cpus: &[usize]) -> io::Result<()> {
    use std::os::unix::thread::JoinHandleExt;
    let mask = mask(cpus);
    // SAFETY: the handle has not been joined, so the thread's id is valid, and the pointer is to a mask of the size that
    // is told.
    let code = unsafe {
        libc::pthread_setaffinity_np(thread.as_pthread_t(), size_of::<Mask>(), mask.as_ptr().cast())
    };
    if code == 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(code)) }
}

/// Lets the calling thread run on some CPUs, and the threads that it starts from then on.
#[cfg(target_os = "linux")]
pub(crate) fn allow(cpus: &[usize]) {
    let mask = mask(cpus);
    // SAFETY: the pointer is to a mask of the size that is told; 0 is the calling thread. If the system refuses it the
    // thread stays where it was, which is no worse than slow.
    unsafe { libc::sched_setaffinity(0, size_of::<Mask>(), mask.as_ptr().cast()) };
}

/// The CPU on which the calling thread runs just now, where the system tells.
#[cfg(target_os = "linux")]
pub(crate) fn current() -> Option<usize> {
    // SAFETY: the call takes nothing and only reads.
    usize::try_from(unsafe { libc::sched_getcpu() }).ok()
}

/// Moves the calling thread to another CPU than this one, of those on which it may run; from then on it may run on all of
/// them as before. Returns whether there is another. It allocates nothing.
#[cfg(target_os = "linux")]
pub(crate) fn leave(cpu: usize) -> bool {
    let mut before = mask(&[]);
    // SAFETY: the pointer is to `size_of::<Mask>()` bytes that the call may write; 0 is the calling thread.
    let told = unsafe { libc::sched_getaffinity(0, size_of::<Mask>(), before.as_mut_ptr().cast()) };
    let mut others = before;
    for (word, one) in others.iter_mut().zip(mask(&[cpu])) {
        *word &= !one;
    }
    if told != 0 || others.iter().all(|word| *word == 0) {
        return false;
    }
    // A thread whose mask no longer has the CPU on which it runs is moved before the call returns.
    // SAFETY: the pointers are to masks of the size that is told. If the system refuses the first the thread stays, and
    // it has just told the second.
    unsafe {
        let moved = libc::sched_setaffinity(0, size_of::<Mask>(), others.as_ptr().cast()) == 0;
        libc::sched_setaffinity(0, size_of::<Mask>(), before.as_ptr().cast());
        moved
    }
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn current() -> Option<usize> {
    None
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn leave(_: usize) -> bool {
    false
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn pin(_: &JoinHandle<()>, _: &[usize]) -> io::Result<()> {
    Err(io::Error::new(io::ErrorKind::Unsupported, "threads are pinned on Linux only"))
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn allow(_: &[usize]) {}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn a_thread_leaves_a_cpu_and_may_run_where_it_could() {
        let test = || {
            let (before, here) = (allowed(), current().unwrap());
            assert!(before.contains(&here));
            assert_eq!(leave(here), before.len() > 1);
            assert_eq!(allowed(), before);
            // With nowhere else to go it stays.
            allow(&[here]);
            assert!(!leave(here));
            assert_eq!((allowed(), current()), (vec![here], Some(here)));
            // A CPU on which it may not run anyway.
            assert!(leave(here + 1));
            assert_eq!((allowed(), current()), (vec![here], Some(here)));
        };
        std::thread::spawn(test).join().unwrap();
    }
}
