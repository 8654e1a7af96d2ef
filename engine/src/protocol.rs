//! What is said to a server, and whether its answers are right. No input or output here: bytes in, bytes out.
//!
//! A worker thread has one [`Protocol`]. [`Protocol::begin`] draws an operation, its key and its version;
//! [`Protocol::encode`] writes each of its commands; [`Protocol::decode`] finds where a reply ends, and
//! [`Protocol::judge`] says whether it is right. Documents name their key and version, and their text follows
//! from both (see [`crate::values`]), so a reply is judged without anything having been stored.

mod acknowledged;
mod compile;
mod error_kind;
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) mod fuzzing;
mod http;
mod judge;
mod read_back;
mod reply_max;
mod route;
mod shared;

use std::sync::Arc;

use crate::http1;
use crate::keys::KeyPicker;
use crate::plan::{Endpoint, Expect, Method, Plan, PlanError, ProtocolKind, Writes};
use crate::resp::{self, Reply};
use crate::rng::Rng;
use crate::template::{Filling, Part};

use compile::{Command, Compiled};
use judge::{Asked, Judge, Strict};
use read_back::{RecentWrites, Write};

pub use crate::decoded::Decoded;
pub use crate::http1::Reading;
pub use error_kind::ErrorKind;
pub use http::Ending;
pub use read_back::ReadBackCounts;
pub use shared::Shared;

/// Of a server's error, what is kept for a person; an error may be as long as any other reply.
const ERROR_TEXT_BYTES: usize = 500;

/// An operation as the loop sees it. `steps` is the number of its commands.
#[derive(Debug, Clone, PartialEq)]
pub struct OperationInfo {
    pub name: String,
    pub steps: u16,
    pub weight: f64,
}

/// One operation on its way. The loop counts `step` up after each right reply; nothing else may change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request {
    pub operation: u16,
    pub step: u16,
    /// The version to be written; for a read the newest when it began, for a read-back the one that is due.
    pub version: u32,
    pub key: u64,
    /// The operation's number in the drive.
    pub seq: u64,
    /// Whether this is a read-back, of one command, rather than the operation itself.
    pub read_back: bool,
    /// The key held a document for certain.
    known: bool,
    /// No other write of the key was in flight.
    alone: bool,
}

impl Request {
    /// What the placeholders stand for.
    #[inline]
    fn filling<'a>(&self, shared: &'a Shared, previous: &'a [u8]) -> Filling<'a> {
        let Request { key, version, seq, .. } = *self;
        Filling { values: &shared.values, key, version, seq, previous, data: shared.data.as_ref() }
    }
}

/// What a reply is worth.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Judgement {
    Right,
    /// The operation is over; no further command of it may be sent.
    Wrong(ErrorKind),
}

/// Bytes that no server of this protocol should send; the connection is of no more use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ProtocolError {
    #[error(transparent)]
    Resp(#[from] resp::ProtocolError),
    #[error(transparent)]
    Http(#[from] http1::Malformed),
}

impl ProtocolError {
    /// The kind under which the request is counted.
    pub fn kind(&self) -> ErrorKind {
        match self {
            ProtocolError::Resp(_) => ErrorKind::Protocol,
            ProtocolError::Http(_) => ErrorKind::MalformedReply,
        }
    }

    /// Whether the bytes came without a request to answer.
    pub fn is_unrequested(&self) -> bool {
        matches!(self, ProtocolError::Http(http1::Malformed::Unasked))
    }
}

/// One arm a protocol: how requests become bytes.
#[derive(Debug)]
enum Wire {
    Resp {
        kind: ProtocolKind,
        commands: Vec<resp::Command>,
    },
    Http {
        exchanges: Vec<http1::Exchange>,
        targets: Vec<http1::Target>,
        /// Buffers for bodies that are checked and come in parts.
        spares: Vec<Vec<u8>>,
    },
}

/// The protocol's side of one worker thread.
#[derive(Debug)]
pub struct Protocol {
    shared: Arc<Shared>,
    wire: Wire,
    operations: Vec<compile::Operation>,
    /// What decides on the slot of each operation; empty where there are none.
    routes: Vec<Vec<Part>>,
    infos: Vec<OperationInfo>,
    names: Vec<String>,
    judge: Judge,
    /// Of RESP a whole reply, of HTTP a body that is kept for its check.
    reply_max_bytes: usize,
    keys: KeyPicker,
    rng: Rng,
    next_seq: u64,
    threads: u64,
    recent: RecentWrites,
    read_backs: ReadBackCounts,
    scratch: Vec<u8>,
}

impl Protocol {
    /// The protocol of thread number `thread`. `shared` was made from the same plan. The error names the
    /// argument of the plan that cannot be used.
    pub fn new(plan: &Plan, shared: Arc<Shared>, thread: usize) -> Result<Protocol, PlanError> {
        let Compiled { operations, infos, names, resp, http, keys, writes_fields } = Compiled::new(plan, &shared)?;
        let routes = route::routes(plan, &shared, keys)?;
        let wire = match plan.protocol {
            ProtocolKind::Http1 => {
                let targets = plan.endpoints.iter().map(http1::Target::new).collect();
                Wire::Http { exchanges: http, targets, spares: vec![] }
            }
            kind => Wire::Resp { kind, commands: resp },
        };
        let reads_back = if plan.verify.replies { plan.verify.read_back_max } else { 0 };
        Ok(Protocol {
            shared,
            wire,
            operations,
            routes,
            infos,
            names,
            judge: Judge::new(&plan.verify, writes_fields),
            reply_max_bytes: reply_max::bytes(plan),
            keys: KeyPicker::new(&plan.keys, thread, plan.threads),
            rng: Rng::new(plan.seed, thread as u64),
            next_seq: thread as u64,
            threads: plan.threads as u64,
            recent: RecentWrites::new(usize::try_from(reads_back).unwrap_or(usize::MAX)),
            read_backs: ReadBackCounts::default(),
            scratch: Vec::new(),
        })
    }

    pub fn operations(&self) -> &[OperationInfo] {
        &self.infos
    }

    /// The distinct names of commands, read-backs included, in capitals; of HTTP requests their methods and
    /// paths.
    pub fn command_names(&self) -> &[String] {
        &self.names
    }

    /// Place in [`Protocol::command_names`] of the command that `request` is at.
    #[inline]
    pub fn command_index(&self, request: &Request) -> usize {
        self.command(request).name
    }

    /// Whether a connection is held for one request, may be closed by the server in good order, and one that
    /// cannot be opened is the failure of a request: HTTP.
    pub fn is_http(&self) -> bool {
        matches!(self.wire, Wire::Http { .. })
    }

    /// Appends what a new connection says first; returns the number of replies to expect. The last is that of
    /// CLIENT SETNAME, without which a connection works as well. HTTP says nothing first.
    pub fn hello(&self, endpoint: &Endpoint, out: &mut Vec<u8>) -> usize {
        match &self.wire {
            Wire::Resp { kind, .. } => resp::write_hello(*kind, endpoint, out),
            Wire::Http { .. } => 0,
        }
    }

    /// The beginning of the server's text if `reply` is an error of Redis.
    pub fn error_text(&self, reply: &[u8]) -> Option<String> {
        match resp::reply(reply)? {
            Reply::Error(text) => Some(String::from_utf8_lossy(&text[..text.len().min(ERROR_TEXT_BYTES)]).into_owned()),
            _ => None,
        }
    }

    /// Draws the next operation; None when every key of `exactly_once` was taken.
    #[inline]
    pub fn begin(&mut self) -> Option<Request> {
        let operation = self.draw_operation();
        self.begin_operation(operation)
    }

    #[inline]
    fn begin_operation(&mut self, operation: usize) -> Option<Request> {
        let key = self.keys.next(&mut self.rng, &self.shared.taken)?;
        let seq = self.next_seq;
        self.next_seq += self.threads;
        let writes = self.operations[operation].writes != Writes::Nothing;
        let (state, version) = if self.is_http() {
            // Nothing is followed: every operation has texts of its own.
            (self.shared.state(key), seq as u32)
        } else if writes {
            let before = self.shared.begin_write(key);
            (before, before.version().wrapping_add(1))
        } else {
            let now = self.shared.state(key);
            (now, now.version())
        };
        Some(Request {
            operation: operation as u16,
            step: 0,
            version,
            key,
            seq,
            read_back: false,
            known: state.stored(),
            alone: state.in_flight() == 0,
        })
    }

    #[inline]
    fn draw_operation(&mut self) -> usize {
        if self.operations.len() == 1 {
            return 0;
        }
        let drawn = self.rng.next_u64();
        self.operations.iter().position(|operation| drawn <= operation.threshold).unwrap_or(0)
    }

    #[inline]
    fn command(&self, request: &Request) -> Command {
        let operation = &self.operations[usize::from(request.operation)];
        match operation.read_back {
            Some(command) if request.read_back => command,
            _ => operation.commands[usize::from(request.step)],
        }
    }

    /// Appends the command or request that `request` is at, for the endpoint number `target`. `previous_reply`
    /// is the reply to the one before it.
    #[inline]
    pub fn encode(&mut self, request: &Request, target: usize, previous_reply: &[u8], out: &mut Vec<u8>) {
        let command = self.command(request);
        let previous = match command.uses_previous.then(|| resp::reply(previous_reply)) {
            Some(Some(Reply::Text(text))) => text,
            _ => b"",
        };
        let filling = request.filling(&self.shared, previous);
        match &self.wire {
            Wire::Resp { commands, .. } => commands[command.encoded].write(&filling, &mut self.scratch, out),
            Wire::Http { exchanges, targets, .. } => {
                exchanges[command.encoded].request.write(&targets[target], &filling, &mut self.scratch, out);
            }
        }
    }

    /// Where the reply at the beginning of `bytes` ends. `request` is what was asked for, None if nothing was;
    /// `reading` is what the connection remembers of the reply.
    #[inline]
    pub fn decode(
        &mut self,
        request: Option<&Request>,
        reading: &mut Reading,
        bytes: &[u8],
    ) -> Result<Decoded, ProtocolError> {
        let command = request.map(|request| self.command(request));
        match &mut self.wire {
            Wire::Resp { .. } => Ok(resp::decode(bytes, self.reply_max_bytes)?),
            Wire::Http { exchanges, spares, .. } => {
                let asked = command.map(|command| &exchanges[command.encoded]).map(|exchange| http1::Asked {
                    is_head: exchange.request.method == Method::Head,
                    kept_max_bytes: (self.judge.replies && exchange.expectation.needs_body())
                        .then_some(self.reply_max_bytes),
                });
                Ok(http1::decode(reading, asked, bytes, spares)?)
            }
        }
    }

    /// Judges the complete `reply` to the command that `request` is at. To be called once for each reply: a write
    /// counts as ended from then on. Not to be called when no reply came.
    #[inline]
    pub fn judge(&mut self, request: &Request, reading: &mut Reading, reply: &[u8]) -> Judgement {
        let command = self.command(request);
        if self.is_http() {
            return self.judge_http(request, command, reading, reply);
        }
        let asked = Asked {
            key: request.key,
            newest: self.shared.state(request.key).version(),
            known: request.known,
            strict: if request.read_back { self.strict(request, command.expect) } else { Strict::No },
        };
        let verdict = self.judge.judge(&self.shared.values, command.expect, &asked, resp::reply(reply));
        if request.read_back {
            self.read_backs.checked += 1;
            self.read_backs.wrong += u64::from(verdict.is_err());
        } else {
            self.after_reply(request, verdict.is_ok());
        }
        verdict.map_or_else(Judgement::Wrong, |()| Judgement::Right)
    }

    fn strict(&self, request: &Request, expect: Expect) -> Strict {
        let operation = &self.operations[usize::from(request.operation)];
        match (operation.writes, expect) {
            (Writes::Nothing, _) => Strict::No,
            (Writes::Field, _) => Strict::Field(request.version),
            (Writes::Document, Expect::Value) if operation.writes_value => Strict::Value(request.version),
            (Writes::Document, Expect::Value) => Strict::No,
            (Writes::Document, _) => Strict::Document(request.version),
        }
    }

    /// Gives up a request none of whose commands was sent: its write will never happen. (A write that was sent
    /// and not answered may still happen; nothing is to be called for it.)
    pub fn abandon(&mut self, request: &Request) {
        let writes = self.operations[usize::from(request.operation)].writes != Writes::Nothing;
        if writes && !request.read_back {
            self.shared.end_write(request.key, false);
        }
    }

    /// Notes the end of a write: when its last command was answered, or an earlier one wrongly. What is acknowledged
    /// is noted for every operation.
    #[inline]
    fn after_reply(&mut self, request: &Request, is_right: bool) {
        let operation = &self.operations[usize::from(request.operation)];
        let is_last = usize::from(request.step) + 1 == operation.commands.len();
        if let Some(acknowledged) = &self.shared.acknowledged
            && is_right
            && is_last
        {
            acknowledged.note(request.key, request.version, request.alone);
        }
        if operation.writes == Writes::Nothing || (is_right && !is_last) {
            return;
        }
        self.shared.end_write(request.key, is_right && operation.writes == Writes::Document);
        if is_right && request.alone && operation.read_back.is_some() {
            let Request { operation, key, version, .. } = *request;
            self.recent.push(Write { operation, key, version });
        }
    }

    /// After the drain: the next key of this thread to read back, if its last write is still the newest. A
    /// read-back has one command and is judged strictly.
    pub fn next_read_back(&mut self) -> Option<Request> {
        while let Some(Write { operation, key, version }) = self.recent.take() {
            if self.shared.state(key).version() == version {
                let seq = self.next_seq;
                self.next_seq += self.threads;
                return Some(Request {
                    operation,
                    step: 0,
                    version,
                    key,
                    seq,
                    read_back: true,
                    known: true,
                    alone: true,
                });
            }
            self.read_backs.skipped += 1;
        }
        None
    }

    /// The read-backs so far.
    pub fn read_back_counts(&self) -> ReadBackCounts {
        self.read_backs
    }
}

#[cfg(test)]
mod tests;
