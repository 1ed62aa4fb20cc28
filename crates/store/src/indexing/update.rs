//! Scripts of a document that an update changes.

use std::collections::BTreeSet;

use stead_app::application::takes_value;
use stead_app::schema::{Argument, Operation, Script};

use super::machine::{Machine, Stop};
use super::{FieldScript, ScriptContext, ScriptError, Scripts};
use crate::kind::DocumentType;
use crate::value::FieldValue;

/// The fields that a script reads.
pub(super) fn inputs(
    script: &Script,
    kind: &DocumentType,
    own: usize,
    is_inside: bool,
) -> Vec<usize> {
    let mut found = BTreeSet::new();
    let mut first = script.statements.iter().filter_map(|s| s.steps.first());
    if is_inside && first.any(|step| takes_value(&step.operation)) {
        found.insert(own);
    }
    let number = |name: &str| {
        // What stands behind a dot is a part of the field.
        kind.field(name.split('.').next().unwrap_or_default()).map(|(number, _)| number)
    };
    for step in script.steps() {
        match &step.operation {
            Operation::Call("input", arguments) => match arguments.first() {
                Some(Argument::Name(name)) => found.extend(number(name)),
                _ => found.extend([own]),
            },
            Operation::SelectInput(cases) => {
                found.extend(cases.iter().filter_map(|(name, _)| number(name)));
            }
            _ => {}
        }
    }
    found.into_iter().collect()
}

impl FieldScript {
    /// Whether it runs where an update changes these fields: it reads one of them, or none at all.
    fn runs(&self, changed: &BTreeSet<usize>) -> bool {
        self.inputs.is_empty() || self.inputs.iter().any(|field| changed.contains(field))
    }
}

impl Scripts {
    /// The fields that scripts read which run where an update changes some.
    pub(crate) fn needed(&self, changed: &BTreeSet<usize>) -> BTreeSet<usize> {
        let running = self.scripts.iter().filter(|script| script.runs(changed));
        running.flat_map(|script| script.inputs.iter().copied()).collect()
    }

    /// What scripts make of a document behind an update: fields with their values, or none. A script runs if it reads a field that
    /// the update changes, or none at all, as with Vespa; other than there it sees what the update leaves as it was too. Of the document the fields that are
    /// [needed](Scripts::needed) must be there.
    ///
    /// # Errors
    /// When a step is given a value that it cannot take.
    pub(crate) fn updated(
        &self,
        id: &str,
        fields: &[(usize, FieldValue)],
        changed: &BTreeSet<usize>,
        cx: &ScriptContext<'_>,
    ) -> Result<Vec<(usize, Option<FieldValue>)>, ScriptError> {
        let mut machine = Machine::new(&self.kind, id, fields, cx);
        let mut outputs = BTreeSet::new();
        for script in &self.scripts {
            if !script.runs(changed) {
                continue;
            }
            match machine.script(script.field, &script.script, script.is_inside) {
                Ok(()) => outputs.extend(&script.outputs),
                Err(Stop::Missing) => {}
                Err(Stop::Failed(text)) => {
                    return Err(ScriptError { field: script.name.clone(), text });
                }
            }
        }
        let mut written = machine.written();
        let value = |field: usize| {
            let at = written.iter().position(|(at, _)| *at == field);
            (field, at.map(|at| written.swap_remove(at).1))
        };
        Ok(outputs.into_iter().map(value).collect())
    }
}
