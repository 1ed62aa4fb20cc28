//! The prompt of `stead tensor`: line by line, with history where it speaks to a terminal.

use std::io::{BufRead, IsTerminal};

use rustyline::DefaultEditor;
use rustyline::error::ReadlineError;

use super::session::{Session, assignment};
use crate::failure::Failure;

const HELP: &str = "expression          its type and value
name = expression   the same, kept under the name
names               what was kept
help, quit";

/// Reads and answers lines until there are no more.
pub(super) fn run(mut session: Session) -> Result<(), Failure> {
    if !std::io::stdin().is_terminal() {
        for line in std::io::stdin().lock().lines() {
            let line = line.map_err(Failure::failed)?;
            if !answer(&mut session, line.trim()) {
                break;
            }
        }
        return Ok(());
    }
    println!("Ranking expressions; `help` says more, Ctrl-D ends.");
    let mut editor = DefaultEditor::new().map_err(Failure::failed)?;
    loop {
        match editor.readline("> ") {
            Ok(line) => {
                // A history that cannot grow is no reason to stop.
                let _ = editor.add_history_entry(&line);
                if !answer(&mut session, line.trim()) {
                    return Ok(());
                }
            }
            Err(ReadlineError::Interrupted) => {}
            Err(ReadlineError::Eof) => return Ok(()),
            Err(e) => return Err(Failure::failed(e)),
        }
    }
}

/// Answers a line; false if it was the last.
fn answer(session: &mut Session, line: &str) -> bool {
    match line {
        "" => {}
        "quit" | "exit" => return false,
        "help" => println!("{HELP}"),
        "names" => session.values().for_each(|(n, v)| println!("{n}: {}", v.kind())),
        _ => {
            let (name, text) = match assignment(line) {
                Some((name, text)) => (Some(name), text),
                None => (None, line),
            };
            match session.value(text) {
                Ok(value) => {
                    // The literal of a tensor begins with its type.
                    let kind = if value.kind().is_double() { "double: " } else { "" };
                    println!("{kind}{value}");
                    if let Some(name) = name {
                        session.keep(name, value);
                    }
                }
                Err(text) => println!("error: {text}"),
            }
        }
    }
    true
}
