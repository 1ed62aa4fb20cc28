//! Events as lines of the log that is in memory.

use std::fmt::{Debug, Write};
use std::time::SystemTime;

use stead_server::{LogEvent, RecentLog};
use tracing::field::{Field, Visit};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::Context;

/// Keeps the events that are told.
pub struct Recent(pub RecentLog);

impl<S: Subscriber> Layer<S> for Recent {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let mut told = Told::default();
        event.record(&mut told);
        // The names of Vespa's levels.
        let level = match *event.metadata().level() {
            Level::ERROR => "error",
            Level::WARN => "warning",
            Level::INFO => "info",
            Level::DEBUG | Level::TRACE => "debug",
        };
        let message = format!("{}{}", told.message, told.fields);
        let component = event.metadata().target();
        self.0.push(LogEvent { time: SystemTime::now(), component, level, message: &message });
    }
}

/// What an event says: its message, and its fields as ` name=value`.
#[derive(Default)]
struct Told {
    message: String,
    fields: String,
}

impl Visit for Told {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        // Writing to texts does not fail.
        let _ = match field.name() {
            "message" => write!(self.message, "{value:?}"),
            name => write!(self.fields, " {name}={value:?}"),
        };
    }
}
