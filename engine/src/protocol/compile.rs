//! A plan's operations, checked and made ready to be encoded.

use crate::http1;
use crate::plan::{self, Expect, Plan, PlanError, ProtocolKind, Writes};
use crate::resp;
use crate::template::{Filling, Parser, Part};
use crate::values::Values;

use super::route::key_argument;
use super::{OperationInfo, Shared};

/// Everything that is the same for each request.
#[derive(Debug)]
pub(super) struct Compiled {
    pub operations: Vec<Operation>,
    pub infos: Vec<OperationInfo>,
    /// The distinct names of commands, in capitals; of HTTP requests their methods and paths.
    pub names: Vec<String>,
    /// The commands of all operations and read-backs, as the protocol writes them.
    pub resp: Vec<resp::Command>,
    /// The requests of all operations.
    pub http: Vec<http1::Exchange>,
    /// The keys of each operation's commands and its read-back.
    pub keys: Vec<Vec<Vec<Part>>>,
    /// Whether fields change apart from their documents.
    pub writes_fields: bool,
}

#[derive(Debug)]
pub(super) struct Operation {
    pub commands: Vec<Command>,
    pub read_back: Option<Command>,
    pub writes: Writes,
    /// The value written is `{value}` of its version, so that reading it back can be strict.
    pub writes_value: bool,
    /// The operation is drawn by random numbers up to this one, beyond those of the operations before it.
    pub threshold: u64,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Command {
    pub expect: Expect,
    /// Place in `Compiled::names`.
    pub name: usize,
    /// Place in `Compiled::resp` or `Compiled::http`.
    pub encoded: usize,
    pub uses_previous: bool,
}

impl Compiled {
    pub fn new(plan: &Plan, shared: &Shared) -> Result<Self, PlanError> {
        let mut compiled = Self {
            operations: vec![],
            infos: vec![],
            names: vec![],
            resp: vec![],
            http: vec![],
            keys: vec![],
            writes_fields: false,
        };
        let total: f64 = plan.operations.iter().map(|operation| operation.weight).sum();
        let is_http = plan.protocol == ProtocolKind::Http1;
        let data = shared.data.as_ref();
        let prefix = &plan.keys.prefix;
        let mut parser = if is_http { Parser::for_http(prefix, data) } else { Parser::new(prefix) };
        let filling = Filling { values: &shared.values, key: 0, version: 0, seq: 0, previous: b"", data };
        let mut cumulative = 0.0;
        for (index, operation) in plan.operations.iter().enumerate() {
            cumulative += operation.weight;
            let last = index + 1 == plan.operations.len();
            // Rounding must not leave random numbers that draw no operation.
            let threshold = if last { u64::MAX } else { (cumulative / total * u64::MAX as f64) as u64 };
            if operation.commands.len().max(operation.requests.len()) > usize::from(u16::MAX)
                || index > usize::from(u16::MAX)
            {
                let message = "more than 65535 operations, commands or requests: use fewer";
                return Err(PlanError::new(format!("operations[{index}]"), message));
            }
            if is_http {
                compiled.push_requests(operation, index, threshold, &mut parser, &filling)?;
            } else {
                compiled.push(operation, index, threshold, &mut parser, &shared.values)?;
            }
        }
        compiled.writes_fields = plan.operations.iter().any(|operation| operation.writes == Writes::Field);
        Ok(compiled)
    }

    fn push(
        &mut self,
        operation: &plan::Operation,
        index: usize,
        threshold: u64,
        parser: &mut Parser,
        values: &Values,
    ) -> Result<(), PlanError> {
        let place = format!("operations[{index}]");
        let mut commands = vec![];
        let mut keys = vec![];
        let mut writes_value = false;
        for (step, command) in operation.commands.iter().enumerate() {
            let place = format!("{place}.commands[{step}]");
            let parts = parse(command, &place, parser)?;
            check_writes(&parts, operation, &place)?;
            let previous = step.checked_sub(1).map(|before| operation.commands[before].expect);
            check_previous(&parts, previous, &place)?;
            writes_value |= uses(&parts, &Part::Value);
            keys.extend(key_argument(&parts, parser.prefix()));
            commands.push(self.add(command, parts, values));
        }
        let read_back = match &operation.read_back {
            None => None,
            Some(_) if operation.writes == Writes::Nothing => {
                let message =
                    "an operation that writes nothing has nothing to read back; set `writes`, or leave it out";
                return Err(PlanError::new(format!("{place}.read_back"), message));
            }
            Some(command) => {
                let place = format!("{place}.read_back");
                let parts = parse(command, &place, parser)?;
                check_previous(&parts, None, &place)?;
                keys.extend(key_argument(&parts, parser.prefix()));
                Some(self.add(command, parts, values))
            }
        };
        let (name, weight) = (operation.name.clone(), operation.weight);
        self.infos.push(OperationInfo { name, steps: commands.len() as u16, weight });
        self.operations.push(Operation { commands, read_back, writes: operation.writes, writes_value, threshold });
        self.keys.push(keys);
        Ok(())
    }

    fn push_requests(
        &mut self,
        operation: &plan::Operation,
        index: usize,
        threshold: u64,
        parser: &mut Parser,
        filling: &Filling,
    ) -> Result<(), PlanError> {
        let mut commands = vec![];
        for (step, written) in operation.requests.iter().enumerate() {
            let place = format!("operations[{index}].requests[{step}]");
            let request = http1::Request::new(written, &place, parser, filling)?;
            let expectation = http1::Expectation::new(&written.expect, &format!("{place}.expect"), parser)?;
            let name = self.named(request.name.clone());
            self.http.push(http1::Exchange { request, expectation });
            let encoded = self.http.len() - 1;
            commands.push(Command { expect: Expect::Any, name, encoded, uses_previous: false });
        }
        let (name, weight) = (operation.name.clone(), operation.weight);
        self.infos.push(OperationInfo { name, steps: commands.len() as u16, weight });
        let writes = Writes::Nothing;
        self.operations.push(Operation { commands, read_back: None, writes, writes_value: false, threshold });
        Ok(())
    }

    /// The place of a name in `names`.
    fn named(&mut self, name: String) -> usize {
        self.names.iter().position(|known| *known == name).unwrap_or_else(|| {
            self.names.push(name);
            self.names.len() - 1
        })
    }

    fn add(&mut self, command: &plan::Command, parts: Vec<Vec<Part>>, values: &Values) -> Command {
        let index = self.named(command.args[0].to_uppercase());
        let uses_previous = uses(&parts, &Part::Changed);
        self.resp.push(resp::Command::new(parts, values));
        Command { expect: command.expect, name: index, encoded: self.resp.len() - 1, uses_previous }
    }
}

fn parse(command: &plan::Command, place: &str, parser: &mut Parser) -> Result<Vec<Vec<Part>>, PlanError> {
    let arguments = command.args.iter().enumerate();
    let parts: Vec<Vec<Part>> = arguments
        .map(|(index, argument)| parser.parse(argument, &format!("{place}.args[{index}]")))
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
