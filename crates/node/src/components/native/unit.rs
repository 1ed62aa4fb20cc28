//! A component in Rust that was created.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::NativeError;
use crate::Code;
use crate::components::failure::{ComponentError, Failing};
use crate::components::meters::{Meter, Outcome};

/// A component with what is told and measured of it.
pub(in crate::components) struct NativeUnit<T: ?Sized> {
    pub(super) id: String,
    /// What it is: `searcher`.
    pub(super) element: &'static str,
    pub(super) meter: Arc<Meter>,
    /// How long a call may take in all.
    pub(super) timeout: Duration,
    pub(super) component: Box<T>,
}

impl<T: ?Sized> NativeUnit<T> {
    pub(in crate::components) fn id(&self) -> &str {
        &self.id
    }

    pub(in crate::components) fn timeout(&self) -> Duration {
        self.timeout
    }

    /// The component where it fails.
    pub(in crate::components) fn failing(&self) -> Failing<'_> {
        Failing { element: self.element, id: &self.id, is_development: false }
    }

    /// Calls it. A panic of code that a program brought ends the call alone.
    pub(in crate::components) fn call<R>(
        &self,
        call: impl FnOnce(&T) -> R,
    ) -> Result<R, ComponentError> {
        catch_unwind(AssertUnwindSafe(|| call(&self.component))).map_err(|panic| {
            let text = panic.downcast_ref::<&str>().copied();
            let text = text.or(panic.downcast_ref::<String>().map(String::as_str));
            tracing::error!(component = self.id, "panicked: {}", text.unwrap_or("no text"));
            self.failing().error(Code::Internal, "its code panicked")
        })
    }

    /// An error of it as one that the client is told; those of others stay what they are.
    pub(in crate::components) fn failed(&self, error: NativeError) -> ComponentError {
        let code = match &error {
            NativeError::Invalid(_) => Code::InvalidArgument,
            NativeError::Overloaded(_) => Code::Overloaded,
            NativeError::Late => Code::DeadlineExceeded,
            NativeError::Failed(_) => Code::Internal,
            NativeError::Next(error) => return (**error).clone(),
        };
        if code == Code::Internal {
            tracing::error!(component = self.id, "{error}");
        }
        self.failing().error(code, &error.to_string())
    }

    /// Counts a call; where another component failed, this one did not.
    pub(in crate::components) fn record(
        &self,
        error: Option<&ComponentError>,
        waited: Duration,
        begun: Option<Instant>,
    ) {
        let own = error.filter(|error| error.component == self.id);
        if error.is_none() || own.is_some() {
            self.meter.record(Outcome::of(own), waited, begun.map(|begun| begun.elapsed()));
        }
    }

    pub(in crate::components) fn record_refused(&self) {
        self.meter.record(Outcome::Refused, Duration::ZERO, None);
    }
}
