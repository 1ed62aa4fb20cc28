//! Predicates in a form that is evaluated faster than their texts are read.
//!
//! A program is a sequence of steps, each a byte and what it asks for: a value by its [hash](super::hashed), or the hash of a name and the ends of a
//! range. A step makes the set of the queries that have this, each a bit, and joins it with the one before; parts in parentheses are kept on a
//! stack until they are joined. There are no names and values, which most predicates have in common, so that a program is about as
//! long as its text.

use super::MAX_DEPTH;
use super::hashed::{Hashed, hash_of_name, hash_of_value};
use super::parser::Meaning;
use crate::body::{Bytes, signed};

/// The most bytes of a program: a predicate with more than some thousand values is evaluated by its text.
const MOST: usize = 1 << 15;

/// What a step makes, in its lowest bits.
const NOTHING: u8 = 0;
const HAS: u8 = 1;
const WITHIN: u8 = 2;
/// What has been made last, to be joined with what is on the stack.
const LAST: u8 = 3;
const KINDS: u8 = 3;

/// The step makes the opposite.
const NOT: u8 = 1 << 2;

/// How that is joined with what has been made last: else this goes to the stack, but of [`LAST`] there is only the opposite.
const AND: u8 = 1 << 3;
const OR: u8 = 1 << 4;

/// The most sets on the stack: two wait in each parenthesis, one for `or` and one for `and`.
const STACK: usize = 2 * MAX_DEPTH + 3;

/// Evaluates programs, one after the other.
#[derive(Debug)]
pub struct Evaluator {
    stack: [u64; STACK],
}

impl Default for Evaluator {
    fn default() -> Evaluator {
        Evaluator { stack: [0; STACK] }
    }
}

impl Evaluator {
    /// The queries for which the predicate of a program is true, each a bit; nothing for bytes that are no program.
    pub fn run(&mut self, program: &[u8], asked: &Hashed) -> Option<u64> {
        let (mut code, mut last, mut depth) = (Bytes::new(program), 0, 0);
        while !code.is_empty() {
            let step = code.byte().ok()?;
            let mut made = match step & KINDS {
                HAS => asked.has(u64::from_le_bytes(code.array().ok()?)),
                WITHIN => {
                    let name = u64::from_le_bytes(code.array().ok()?);
                    asked.within(name, code.signed().ok()?, code.signed().ok()?)
                }
                LAST => last,
                _ => 0,
            };
            if step & NOT != 0 {
                made = !made;
            }
            if step & KINDS == LAST && step & (AND | OR) != 0 {
                depth = usize::checked_sub(depth, 1)?;
                last = *self.stack.get(depth)?;
            }
            last = match step & (AND | OR) {
                AND => last & made,
                OR => last | made,
                _ => {
                    if step & KINDS != LAST {
                        *self.stack.get_mut(depth)? = last;
                        depth += 1;
                    }
                    made
                }
            };
        }
        (depth == 1).then_some(last)
    }
}

/// Writes a program.
#[derive(Default)]
pub(super) struct Compiler {
    code: Vec<u8>,
    /// Where the last step begins.
    last: usize,
    is_over: bool,
}

/// The byte with which a part begins.
type Begin = usize;

impl Compiler {
    /// What was written; nothing if it is too long.
    pub(super) fn program(self) -> Option<Vec<u8>> {
        (!self.is_over && self.code.len() <= MOST).then_some(self.code)
    }

    fn step(&mut self, step: u8) -> Begin {
        if self.code.len() > MOST {
            // What follows is read and forgotten.
            self.is_over = true;
            self.code.clear();
        }
        self.last = self.code.len();
        self.code.push(step);
        self.last
    }

    /// Joins the part that was written last with the one before.
    fn join(&mut self, first: Begin, second: Begin, how: u8) -> Begin {
        match self.single(second) {
            Some(step) => *step |= how,
            None => {
                self.step(LAST | how);
            }
        }
        first
    }

    /// The step of the part that was written last, if that is one only.
    fn single(&mut self, part: Begin) -> Option<&mut u8> {
        let is_it = part == self.last;
        self.code.get_mut(part).filter(|step| is_it && **step & KINDS != LAST)
    }
}

impl Meaning for Compiler {
    type Part = Begin;

    fn constant(&mut self, is: bool) -> Begin {
        self.step(if is { NOTHING | NOT } else { NOTHING })
    }

    fn has(&mut self, name: &str, value: &str) -> Begin {
        let begin = self.step(HAS);
        self.code.extend(hash_of_value(name, value).to_le_bytes());
        begin
    }

    fn within(&mut self, name: &str, from: i64, to: i64) -> Begin {
        let begin = self.step(WITHIN);
        self.code.extend(hash_of_name(name).to_le_bytes());
        signed(from, &mut self.code);
        signed(to, &mut self.code);
        begin
    }

    fn and(&mut self, first: Begin, second: Begin) -> Begin {
        self.join(first, second, AND)
    }

    fn or(&mut self, first: Begin, second: Begin) -> Begin {
        self.join(first, second, OR)
    }

    fn not(&mut self, part: Begin) -> Begin {
        match self.single(part) {
            Some(step) => *step ^= NOT,
            None => {
                self.step(LAST | NOT);
            }
        }
        part
    }
}
