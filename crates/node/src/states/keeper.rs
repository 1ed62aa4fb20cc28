//! The thread that takes snapshots, keeps the log short and puts idle states on disk.

use super::{Signal, States};
use std::sync::{Arc, PoisonError, Weak};
use std::time::Duration;

/// How often the thread looks whether something is due.
const LOOK: Duration = Duration::from_millis(250);

/// Time between two snapshots of a model with `state_durability: snapshot`.
const SNAPSHOT: Duration = Duration::from_secs(10);

impl States {
    pub(super) fn begin(self: &Arc<Self>) -> std::io::Result<()> {
        let me = Arc::downgrade(self);
        std::thread::Builder::new().name("stead-states".into()).spawn(move || run(&me)).map(drop)
    }

    /// Records what has changed since the last snapshot.
    pub(super) fn snapshot(&self) {
        for model in self.models() {
            if let Err(error) = model.snapshot() {
                tracing::error!("a snapshot of states failed: {error}");
            }
        }
    }
}

fn run(states: &Weak<States>) {
    let Some(mut taken) = states.upgrade().map(|me| me.clock.now()) else { return };
    let mut failed = false;
    while let Some(me) = states.upgrade() {
        {
            let calm = |signal: &mut Signal| !signal.stopped && !signal.full;
            let waited = me.changed.wait_timeout_while(me.signal(), LOOK, calm);
            let mut signal = waited.unwrap_or_else(PoisonError::into_inner).0;
            if signal.stopped {
                return;
            }
            signal.full = false;
        }
        me.models().iter().for_each(|model| model.spill_idle());
        let now = me.clock.now();
        if now.saturating_sub(taken) >= SNAPSHOT {
            taken = now;
            me.snapshot();
        }
        if me.has_grown() && !failed {
            // A log that cannot be written says so once; the steps that need it say it every time.
            failed =
                me.rewrite().inspect_err(|e| tracing::error!("the log of states: {e}")).is_err();
        }
    }
}
