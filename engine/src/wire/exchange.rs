//! The commands of a plan, checked and made ready to be written, each with what its reply must be.

use super::command::Command;
use super::judge::Strict;
use super::reply::Reply;
use super::{Step, WireOperation};
use crate::content::other_keys::{self, OtherKeys};
use crate::content::send_buffer::Sink;
use crate::content::template::{Filling, Parser, Part, Placeholders, others_named};
use crate::content::values::Values;
use crate::plan::{self, Expect, Plan, PlanError, Writes};

/// A command, and what its reply must be.
#[derive(Debug)]
pub(super) struct Exchange {
    command: Command,
    pub expect: Expect,
    pub strict: Strict,
    pub uses_previous: bool,
    /// How many other keys it names.
    others: usize,
    /// It needs something beside what every operation has.
    needs_more: bool,
    /// How often the reply was that there is no such key, or no such part of it.
    pub missed: u64,
}

impl Exchange {
    /// Appends the request, filled with that. `previous` reads the reply to the one before it, where that is needed.
    #[inline(always)]
    pub fn write<'a>(
        &self,
        filling: &mut Filling<'a>,
        previous: impl FnOnce() -> Option<Reply<'a>>,
        other_keys: &mut OtherKeys,
        scratch: &mut Vec<u8>,
        out: &mut impl Sink,
    ) {
        if self.needs_more {
            if self.uses_previous
                && let Some(Reply::Text(text)) = previous()
            {
                filling.previous = text;
            }
            return self.write_with(filling, other_keys, scratch, out);
        }
        self.command.write(filling, scratch, out);
    }

    #[inline(never)]
    fn write_with(&self, filling: &Filling, keys: &mut OtherKeys, scratch: &mut Vec<u8>, out: &mut impl Sink) {
        let others = if self.others == 0 { &[] } else { keys.draw(self.others, filling.key, filling.seq) };
        self.command.write(&Filling { others, ..*filling }, scratch, out);
    }
}

/// The placeholders in the arguments of commands.
pub(crate) const PLACEHOLDERS: Placeholders = Placeholders {
    changed: true,
    number: false,
    message: true,
    list: "{key}, {key2}, {document}, {id}, {version}, {field}, {body}, {field_json}, {changed}, {value}, {seq}, \
           {message}, {data.FIELD}, {uniform A..B}, {random N lowercase}; write {{ and }} for literal braces",
};

/// Makes a command of its arguments, as a protocol frames it; the error says why it cannot be one.
pub(super) type Frame = fn(Vec<Vec<Part>>, &Values) -> Result<Command, String>;

/// Makes exchanges of the commands of a plan's operations.
pub(super) struct Compiler<'a> {
    parser: Parser<'a>,
    values: &'a Values,
    frame: Frame,
    plan: &'a Plan,
    exchanges: Vec<Exchange>,
}

impl<'a> Compiler<'a> {
    pub fn new(plan: &'a Plan, filling: &Filling<'a>, frame: Frame) -> Self {
        let parser = Parser::new(&plan.keys.prefix, &PLACEHOLDERS, filling.data);
        Self { parser, values: filling.values, frame, plan, exchanges: vec![] }
    }

    /// All of them; a command's number is its place.
    pub fn into_exchanges(self) -> Vec<Exchange> {
        self.exchanges
    }

    /// Adds the commands of the plan's operation number `index`.
    pub fn add(&mut self, operation: &plan::Operation, index: usize) -> Result<WireOperation, PlanError> {
        let place = format!("operations[{index}]");
        let mut added = WireOperation::default();
        let mut writes_value = false;
        for (step, command) in operation.commands.iter().enumerate() {
            let place = format!("{place}.commands[{step}]");
            let parts = self.parse(command, &place)?;
            check_writes(&parts, operation, &place)?;
            self.check_others(&parts, operation, &place)?;
            let previous = step.checked_sub(1).map(|before| operation.commands[before].expect);
            check_previous(&parts, previous, &place)?;
            writes_value |= uses(&parts, &Part::Value);
            added.keys.extend(key_arguments(&parts, self.parser.prefix()));
            added.steps.push(self.push(command, parts, Strict::No, &place)?);
        }
        if let Some(command) = &operation.read_back {
            let place = format!("{place}.read_back");
            if operation.writes == Writes::Nothing {
                let message =
                    "an operation that writes nothing has nothing to read back; set `writes`, or leave it out";
                return Err(PlanError::new(place, message));
            }
            let parts = self.parse(command, &place)?;
            check_previous(&parts, None, &place)?;
            added.keys.extend(key_arguments(&parts, self.parser.prefix()));
            let strict = Strict::of_read_back(operation.writes, command.expect, writes_value, self.plan.others_write());
            added.read_back = Some(self.push(command, parts, strict, &place)?);
        }
        Ok(added)
    }

    fn check_others(&self, parts: &[Vec<Part>], operation: &plan::Operation, place: &str) -> Result<(), PlanError> {
        let others = others_named(parts.iter().flatten());
        if others > 0 && operation.writes != Writes::Nothing {
            let message = "names {key2}, and documents are followed by {key} alone; set `writes` to `nothing`";
            return Err(PlanError::new(format!("{place}.args"), message));
        }
        other_keys::check(self.plan, others, &format!("{place}.args"))
    }

    fn push(
        &mut self,
        command: &plan::Command,
        parts: Vec<Vec<Part>>,
        strict: Strict,
        place: &str,
    ) -> Result<Step, PlanError> {
        let uses_previous = uses(&parts, &Part::Changed);
        let others = others_named(parts.iter().flatten());
        let expect = command.expect;
        let framed = (self.frame)(parts, self.values);
        let framed = framed.map_err(|message| PlanError::new(format!("{place}.args"), message))?;
        let needs_more = uses_previous || others > 0;
        self.exchanges.push(Exchange { command: framed, expect, strict, uses_previous, others, needs_more, missed: 0 });
        Ok(Step { name: command.args[0].to_uppercase(), number: self.exchanges.len() - 1 })
    }

    fn parse(&mut self, command: &plan::Command, place: &str) -> Result<Vec<Vec<Part>>, PlanError> {
        let arguments = command.args.iter().enumerate();
        let parts: Vec<Vec<Part>> = arguments
            .map(|(index, argument)| self.parser.parse(argument, &format!("{place}.args[{index}]")))
            .collect::<Result<_, _>>()?;
        match parts.first().map(Vec::as_slice) {
            Some([Part::Literal(_)]) => Ok(parts),
            _ => {
                let name = command.args.first().map_or("", String::as_str);
                let message = format!("`{name}`: a command begins with its name, which has no placeholders");
                Err(PlanError::new(format!("{place}.args[0]"), message))
            }
        }
    }
}

/// The arguments that hold a command's keys: the first one with the plan's prefix in it, and those of other keys.
fn key_arguments(arguments: &[Vec<Part>], prefix: &str) -> Vec<Vec<Part>> {
    let prefix = prefix.as_bytes();
    let has_prefix = |part: &Part| match part {
        Part::Literal(text) => memchr::memmem::find(text, prefix).is_some(),
        _ => false,
    };
    let mut named = arguments.iter().skip(1).filter(|argument| argument.iter().any(has_prefix));
    let first = named.next();
    first.into_iter().chain(named.filter(|argument| others_named(*argument) > 0)).cloned().collect()
}

fn uses(arguments: &[Vec<Part>], part: &Part) -> bool {
    arguments.iter().flatten().any(|used| used == part)
}

fn check_writes(arguments: &[Vec<Part>], operation: &plan::Operation, place: &str) -> Result<(), PlanError> {
    // `{document}` holds a body too.
    let writes = uses(arguments, &Part::Body) || uses(arguments, &Part::Changed);
    if writes && operation.writes == Writes::Nothing {
        let message = "sends {document}, {body} or {changed}, but the operation writes nothing; set `writes` to \
                       `document` or `field`";
        return Err(PlanError::new(format!("{place}.args"), message));
    }
    Ok(())
}

fn check_previous(arguments: &[Vec<Part>], previous: Option<Expect>, place: &str) -> Result<(), PlanError> {
    if !uses(arguments, &Part::Changed) || previous == Some(Expect::Document) {
        return Ok(());
    }
    let message = "{changed} needs a command just before it, in the same operation, with `expect: document`";
    Err(PlanError::new(format!("{place}.args"), message))
}
