//! Wire protocols: how requests become bytes, and what the bytes of a reply are worth. No input or output here.
//!
//! A protocol is a file of this folder, an arm of [`WireKind`] and an arm of [`Wire`]; its [`Capabilities`] are all
//! that the rest of the engine knows of it.

mod command;
mod commands;
mod decoded;
mod error_kind;
pub mod example;
pub(crate) mod exchange;
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) mod fuzzing;
pub mod http1;
mod judge;
mod limits;
pub mod memcached;
mod reply;
mod reply_max;
pub mod resp;

pub use decoded::Decoded;
pub use error_kind::ErrorKind;
pub use resp::{Receiving, Taken};

use crate::content::send_buffer::Sink;
use crate::content::template::{Filling, Part};
use crate::plan::{Endpoint, Plan, PlanError, WireKind};

/// What a protocol can do, and what it requires of the thread that drives it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Capabilities {
    /// The name in plans and messages.
    pub name: &'static str,
    /// A connection takes further requests before earlier ones are answered.
    pub pipelining: bool,
    /// Keys may decide on the endpoint, by hash slots.
    pub slots: bool,
    /// Writes and their versions are followed, so that replies are compared with what was written.
    pub follows_versions: bool,
    /// Requests may hold fields of a data file.
    pub data_file: bool,
    /// Commands of a recording may be sent again.
    pub recordings: bool,
    /// Connections may receive what others send: messages of channels, entries of streams.
    pub receivers: bool,
    /// A reply may close its connection in good order: its operation, or its user, goes on with another one.
    pub reconnects_after_reply: bool,
    /// Bytes of a reply are released as they come; else a reply stays in the inbox until it is complete.
    pub streams_replies: bool,
    /// A connection that cannot be opened is the failure of the operation that has waited longest for one.
    pub fails_without_connection: bool,
    /// The name of the protocol in TLS.
    pub alpn: Option<&'static str>,
}

impl WireKind {
    pub const fn capabilities(self) -> Capabilities {
        match self {
            WireKind::Resp2 => resp::capabilities("resp2"),
            WireKind::Resp3 => resp::capabilities("resp3"),
            WireKind::Http1 => http1::CAPABILITIES,
            WireKind::Memcached => memcached::CAPABILITIES,
        }
    }
}

/// Checks what the protocol requires of the parts of a plan. The error names the field.
pub(crate) fn check(plan: &Plan) -> Result<(), PlanError> {
    let Capabilities { name, pipelining, data_file, .. } = plan.protocol.capabilities();
    if !pipelining && plan.pipeline_depth != 1 {
        let message = format!("{}: must be 1 with protocol {name}", plan.pipeline_depth);
        return Err(PlanError::new("pipeline_depth", message));
    }
    if let Some(data) = plan.data.as_ref().filter(|_| !data_file) {
        return Err(PlanError::new(
            "data",
            format!("{}: a data file needs protocol resp2 or resp3 or http1; leave it out", data.path),
        ));
    }
    match plan.protocol {
        WireKind::Resp2 | WireKind::Resp3 => resp::check(plan),
        WireKind::Http1 => http1::check(plan),
        WireKind::Memcached => memcached::check(plan),
    }
}

/// The requests of one operation as its protocol numbers them.
#[derive(Debug, Default)]
pub struct WireOperation {
    pub steps: Vec<Step>,
    pub read_back: Option<Step>,
    /// What decides on the slot of each request that has a key, the read-back included.
    pub keys: Vec<Vec<Part>>,
}

/// One request of an operation.
#[derive(Debug)]
pub struct Step {
    /// The name under which it is counted.
    pub name: String,
    /// Its number in the protocol.
    pub number: usize,
}

/// What the reply to a request is compared with.
#[derive(Debug, Clone, Copy)]
pub struct Expected<'a> {
    /// What the request's placeholders stand for.
    pub filling: Filling<'a>,
    /// The key held a document for certain when the request was drawn.
    pub known: bool,
}

/// What a reply is worth. After an error no further request of the operation may be sent.
pub type Verdict = Result<(), ErrorKind>;

/// What it means that a server closed a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// That was the end of the reply.
    Complete,
    /// No reply was due: a server may close a connection that idles.
    Idle,
    Lost(ErrorKind, &'static str),
}

/// Bytes that no server of this protocol should send; the connection is of no more use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ProtocolError {
    #[error(transparent)]
    Resp(#[from] resp::Malformed),
    #[error(transparent)]
    Http1(#[from] http1::Malformed),
    #[error(transparent)]
    Memcached(#[from] memcached::Malformed),
}

impl ProtocolError {
    /// The kind under which the request is counted.
    pub fn kind(&self) -> ErrorKind {
        match self {
            ProtocolError::Resp(_) | ProtocolError::Memcached(_) => ErrorKind::Protocol,
            ProtocolError::Http1(_) => ErrorKind::MalformedReply,
        }
    }

    /// Whether the `bytes` are a reply that came without a request.
    pub fn is_unrequested(&self, bytes: &[u8]) -> bool {
        matches!(self, ProtocolError::Http1(http1::Malformed::Unrequested)) && !http1::is_idle_timeout(bytes)
    }
}

/// What a connection remembers of the reply that it is receiving: the state of each protocol that has one.
#[derive(Debug, Default)]
pub struct Reading {
    pub(crate) http1: http1::Reading,
}

impl Reading {
    /// Whether the connection is of no more use after this reply.
    #[inline]
    pub fn closes(&self) -> bool {
        self.http1.closes()
    }
}

/// The protocol of one thread, with the requests of its plan.
#[derive(Debug)]
pub enum Wire {
    Resp(resp::Resp),
    Http1(http1::Http1),
    Memcached(memcached::Memcached),
}

impl Wire {
    /// The plan's protocol and its operations, in the plan's order. `filling` holds the texts that fill templates. The
    /// error names the argument of the plan that cannot be used.
    pub fn new(plan: &Plan, filling: &Filling) -> Result<(Self, Vec<WireOperation>), PlanError> {
        Ok(match plan.protocol {
            WireKind::Resp2 | WireKind::Resp3 => {
                let (resp, operations) = resp::Resp::new(plan, filling)?;
                (Self::Resp(resp), operations)
            }
            WireKind::Http1 => {
                let (http1, operations) = http1::Http1::new(plan, filling)?;
                (Self::Http1(http1), operations)
            }
            WireKind::Memcached => {
                let (memcached, operations) = memcached::Memcached::new(plan, filling)?;
                (Self::Memcached(memcached), operations)
            }
        })
    }

    /// Appends what a new connection says first; returns the number of replies to expect.
    pub fn hello(&self, endpoint: &Endpoint, out: &mut Vec<u8>) -> usize {
        match self {
            Self::Resp(resp) => resp.hello(endpoint, out),
            Self::Http1(_) => 0,
            Self::Memcached(memcached) => memcached.hello(endpoint, out),
        }
    }

    /// Why the server refuses the connection, if this reply to what was said first says so.
    pub fn refusal(&self, reply: &[u8], is_last: bool) -> Option<String> {
        match self {
            Self::Resp(_) => resp::refusal(reply, is_last),
            Self::Http1(_) => None,
            Self::Memcached(_) => memcached::refusal(reply, is_last),
        }
    }

    /// The beginning of the server's text if `reply` is an error.
    pub fn error_text(&self, reply: &[u8]) -> Option<String> {
        match self {
            Self::Resp(_) => resp::error_text(reply),
            Self::Http1(_) => None,
            Self::Memcached(_) => memcached::error_text(reply),
        }
    }

    /// Appends the beginning of a `reply` that was judged not to be correct right before, for people.
    pub fn write_example(&self, reply: &[u8], out: &mut Vec<u8>) {
        match self {
            Self::Resp(_) => reply::write_example(resp::reply(reply), reply, out),
            Self::Http1(http1) => http1.write_example(out),
            Self::Memcached(_) => reply::write_example(memcached::reply(reply), reply, out),
        }
    }

    /// Appends request `number` for the endpoint number `target`. `previous_reply` is the whole reply to the request
    /// before it in the same operation.
    #[inline(always)]
    pub fn encode<'a>(
        &mut self,
        number: usize,
        target: usize,
        filling: &mut Filling<'a>,
        previous_reply: &'a [u8],
        out: &mut impl Sink,
    ) {
        match self {
            Self::Resp(resp) => resp.encode(number, filling, previous_reply, out),
            Self::Http1(http1) => http1.encode(number, target, filling, out),
            Self::Memcached(memcached) => memcached.encode(number, filling, previous_reply, out),
        }
    }

    /// Where the reply at the beginning of `bytes` ends. `number` returns that of the request it answers, None if none
    /// was sent.
    #[inline]
    pub fn decode(
        &mut self,
        number: impl FnOnce() -> Option<usize>,
        reading: &mut Reading,
        bytes: &[u8],
    ) -> Result<Decoded, ProtocolError> {
        match self {
            Self::Resp(resp) => Ok(resp.decode(bytes)?),
            Self::Http1(http1) => Ok(http1.decode(number(), &mut reading.http1, bytes)?),
            Self::Memcached(memcached) => Ok(memcached.decode(bytes)?),
        }
    }

    /// Judges the complete `reply` to request `number`. `expected` returns what it is compared with, `newest` the newest
    /// version of its key that was begun.
    #[inline(always)]
    pub fn judge<'a>(
        &mut self,
        number: usize,
        expected: impl Fn() -> Expected<'a>,
        newest: impl Fn() -> u32,
        reading: &mut Reading,
        reply: &[u8],
    ) -> Verdict {
        match self {
            Self::Resp(resp) => resp.judge(number, expected, newest, reply),
            Self::Http1(http1) => http1.judge(number, &expected().filling, &mut reading.http1, reply),
            Self::Memcached(memcached) => memcached.judge(number, expected, newest, reply),
        }
    }

    /// Whether the `reply` of a replica lacks the key, or its newest version, of what was there when the request was
    /// drawn. `alone`: no write of the key was in flight then.
    pub fn is_stale(&self, number: usize, expected: &Expected, alone: bool, reply: &[u8]) -> bool {
        match self {
            Self::Resp(resp) => resp.is_stale(number, expected, alone, reply),
            Self::Http1(_) | Self::Memcached(_) => false,
        }
    }

    /// Where the cluster's node says a request is to be sent instead, if `reply` says so.
    pub fn redirection<'a>(&self, reply: &'a [u8]) -> Option<resp::Redirection<'a>> {
        match self {
            Self::Resp(_) => resp::Redirection::of(reply),
            Self::Http1(_) | Self::Memcached(_) => None,
        }
    }

    /// Where the primary is, as a Sentinel answers it.
    pub fn address<'a>(&self, reply: &'a [u8]) -> Option<(&'a str, u16)> {
        match self {
            Self::Resp(_) => resp::address(reply),
            Self::Http1(_) | Self::Memcached(_) => None,
        }
    }

    /// Appends what goes right before a request that follows an `ASK` of another node; one reply comes to it.
    pub fn write_asking(&self, out: &mut Vec<u8>) {
        if let Self::Resp(_) = self {
            resp::write_asking(out);
        }
    }

    /// Whether request `number` holds what was in the reply to the one before it.
    pub fn uses_previous(&self, number: usize) -> bool {
        match self {
            Self::Resp(resp) => resp.uses_previous(number),
            Self::Http1(_) | Self::Memcached(_) => false,
        }
    }

    /// How many replies to request `number` were that there is no such key, or no such part of it.
    pub fn missed(&self, number: usize) -> u64 {
        match self {
            Self::Resp(resp) => resp.missed(number),
            Self::Http1(_) => 0,
            Self::Memcached(memcached) => memcached.missed(number),
        }
    }

    /// What it means that the server closed a connection. `is_due`: a reply, or the end of its opening, was due;
    /// `unread` bytes were received and not decoded.
    pub fn ending(&self, is_due: bool, reading: &Reading, unread: usize) -> Ending {
        match self {
            Self::Resp(_) | Self::Memcached(_) => {
                Ending::Lost(ErrorKind::ConnectionClosed, "the server closed the connection")
            }
            Self::Http1(_) => http1::ending(is_due, &reading.http1, unread),
        }
    }
}
