//! Where the values of the `embed` steps of a script go.

use stead_app::application::{EmbedTarget, embed_target};
use stead_app::schema::{Argument, Operation, Script, Statement, Step};

/// Each `embed` of a script with its arguments.
pub(super) fn of_script(script: &Script) -> Vec<(&[Argument], EmbedTarget<'_>)> {
    let mut found = Vec::new();
    script.statements.iter().for_each(|statement| of_statement(statement, &mut found));
    found
}

/// Steps nest as deep as the text, which has a limit.
fn of_statement<'s>(statement: &'s Statement, found: &mut Vec<(&'s [Argument], EmbedTarget<'s>)>) {
    for (at, step) in statement.steps.iter().enumerate() {
        let behind = statement.steps.get(at + 1..).unwrap_or_default();
        of_step(step, behind, found);
    }
}

fn of_step<'s>(
    step: &'s Step,
    behind: &'s [Step],
    found: &mut Vec<(&'s [Argument], EmbedTarget<'s>)>,
) {
    match &step.operation {
        Operation::Call("embed", arguments) => found.push((arguments, embed_target(behind))),
        Operation::Choice(steps) | Operation::Concat(steps) => {
            steps.iter().for_each(|step| of_step(step, behind, found));
        }
        Operation::If { then, otherwise, .. } => {
            let scripts = std::iter::once(then).chain(otherwise);
            scripts.flat_map(|s| &s.statements).for_each(|s| of_statement(s, found));
        }
        Operation::ForEach(statement) | Operation::Group(statement) => {
            of_statement(statement, found)
        }
        Operation::Switch { cases, default } => {
            cases.iter().map(|(_, case)| case).chain(default).for_each(|s| of_statement(s, found));
        }
        Operation::SelectInput(cases) => {
            cases.iter().for_each(|(_, case)| of_statement(case, found));
        }
        Operation::Guard(script) | Operation::Script(script) => {
            script.statements.iter().for_each(|s| of_statement(s, found));
        }
        _ => {}
    }
}
