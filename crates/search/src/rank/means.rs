//! What ranking may spend: time and cores.

use std::fmt;

use stead_kernels::Parallel;

/// What ranking may spend. Scores do not depend on it, but which documents get any does.
#[derive(Clone, Copy)]
pub struct Means<'m> {
    /// Whether it is late: what is not begun by then is left out.
    pub is_late: &'m (dyn Fn() -> bool + Sync),
    /// The cores that may take part in the first phase.
    pub cores: &'m dyn Parallel,
}

impl fmt::Debug for Means<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Means").field("threads", &self.cores.threads()).finish_non_exhaustive()
    }
}

impl Means<'_> {
    /// One core and all the time there is.
    pub const UNBOUNDED: Means<'static> =
        Means { is_late: &|| false, cores: &stead_kernels::Serial };
}
