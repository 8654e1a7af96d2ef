//! RESP, the protocol of Redis and its relatives: versions 2 and 3.

mod command;
mod decoding;
mod exchange;
pub(crate) mod judge;
mod limits;

pub use decoding::{Items, Malformed, Reply, decode, reply};
pub(super) use limits::{are_replies_known, check};

use super::{Capabilities, Decoded, Expected, Verdict, WireKind, WireOperation, reply_max};
use crate::content::template::{Filling, Placeholders};
use crate::plan::{Endpoint, Plan, PlanError, Writes};
use command::write_hello;
use exchange::{Compiler, Exchange};
use judge::Judge;

/// Of a server's error, what is kept for a person; an error may be as long as any other reply.
const ERROR_TEXT_BYTES: usize = 500;

/// The placeholders in the arguments of commands.
pub(crate) const PLACEHOLDERS: Placeholders = Placeholders {
    changed: true,
    number: false,
    list: "{key}, {document}, {id}, {version}, {field}, {body}, {field_json}, {changed}, {value}, {seq}, \
           {uniform A..B}, {random N lowercase}; write {{ and }} for literal braces",
};

pub(super) const fn capabilities(name: &'static str) -> Capabilities {
    Capabilities {
        name,
        pipelining: true,
        slots: true,
        follows_versions: true,
        data_file: false,
        reconnects_after_reply: false,
        streams_replies: false,
        fails_without_connection: false,
        alpn: None,
    }
}

/// The commands of one plan.
#[derive(Debug)]
pub struct Resp {
    kind: WireKind,
    exchanges: Vec<Exchange>,
    judge: Judge,
    /// The longest reply that is taken.
    reply_max_bytes: usize,
    scratch: Vec<u8>,
}

impl Resp {
    pub(super) fn new(plan: &Plan, filling: &Filling) -> Result<(Self, Vec<WireOperation>), PlanError> {
        let mut compiler = Compiler::new(plan, filling);
        let operations = plan.operations.iter().enumerate().map(|(index, operation)| compiler.add(operation, index));
        let operations = operations.collect::<Result<_, _>>()?;
        let writes_fields = plan.operations.iter().any(|operation| operation.writes == Writes::Field);
        let resp = Self {
            kind: plan.protocol,
            exchanges: compiler.into_exchanges(),
            judge: Judge::new(&plan.verify, writes_fields),
            reply_max_bytes: reply_max::bytes(plan, are_replies_known(plan)),
            scratch: Vec::new(),
        };
        Ok((resp, operations))
    }

    /// The last reply is that to CLIENT SETNAME, without which a connection works as well.
    pub(super) fn hello(&self, endpoint: &Endpoint, out: &mut Vec<u8>) -> usize {
        write_hello(self.kind, endpoint, out)
    }

    #[inline]
    pub(super) fn encode(&mut self, number: usize, filling: Filling, previous_reply: &[u8], out: &mut Vec<u8>) {
        let exchange = &self.exchanges[number];
        let previous = match exchange.uses_previous.then(|| reply(previous_reply)) {
            Some(Some(Reply::Text(text))) => text,
            _ => b"",
        };
        exchange.command.write(&Filling { previous, ..filling }, &mut self.scratch, out);
    }

    #[inline]
    pub(super) fn decode(&self, bytes: &[u8]) -> Result<Decoded, Malformed> {
        decode(bytes, self.reply_max_bytes)
    }

    #[inline]
    pub(super) fn judge(&self, number: usize, expected: &Expected, newest: impl Fn() -> u32, bytes: &[u8]) -> Verdict {
        let Exchange { expect, strict, .. } = self.exchanges[number];
        self.judge.judge(expect, strict, expected, newest, reply(bytes))
    }
}

/// The beginning of the server's text if `bytes` are an error of Redis.
pub(super) fn error_text(bytes: &[u8]) -> Option<String> {
    match reply(bytes)? {
        Reply::Error(text) => Some(String::from_utf8_lossy(&text[..text.len().min(ERROR_TEXT_BYTES)]).into_owned()),
        _ => None,
    }
}

/// An error refuses the connection, but for one in reply to its naming (the last): a server may just not know, or not
/// allow, that command.
pub(super) fn refusal(bytes: &[u8], is_last: bool) -> Option<String> {
    let is_harmless = |text: &str| text.starts_with("NOPERM") || text.to_ascii_lowercase().contains("unknown");
    error_text(bytes).filter(|text| !is_last || !is_harmless(text))
}
