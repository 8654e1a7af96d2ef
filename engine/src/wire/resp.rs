//! RESP, the protocol of Redis and its relatives: versions 2 and 3.

mod command;
mod decoding;
mod receiving;
mod redirection;
mod sentinel;

pub(super) use super::limits::check;
use decoding::LastText;
pub use decoding::{Items, Malformed, decode, reply};
pub use receiving::{Receiving, Taken};
pub use redirection::{Redirection, SLOTS};
pub(super) use sentinel::address;

use super::commands::Commands;
use super::reply::Reply;
use super::{Capabilities, Decoded, Expected, Verdict, WireOperation};
use crate::content::send_buffer::Sink;
use crate::content::template::Filling;
use crate::plan::{Endpoint, Plan, PlanError, WireKind};
use command::{framed, write_hello};
use redirection::ASKING;

/// Of a server's error, what is kept for a person; an error may be as long as any other reply.
const ERROR_TEXT_BYTES: usize = 500;

pub(super) const fn capabilities(name: &'static str) -> Capabilities {
    Capabilities {
        name,
        pipelining: true,
        slots: true,
        follows_versions: true,
        data_file: true,
        recordings: true,
        receivers: true,
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
    commands: Commands,
    /// A replica of its nodes serves nothing before READONLY.
    is_cluster: bool,
    last: LastText,
}

impl Resp {
    pub(super) fn new(plan: &Plan, filling: &Filling) -> Result<(Self, Vec<WireOperation>), PlanError> {
        let (commands, operations) = Commands::new(plan, filling, framed)?;
        let is_cluster = plan.endpoints.iter().any(|endpoint| !endpoint.slots.is_empty());
        Ok((Self { kind: plan.protocol, commands, is_cluster, last: LastText::default() }, operations))
    }

    /// The last reply is that to CLIENT SETNAME, without which a connection works as well.
    pub(super) fn hello(&self, endpoint: &Endpoint, out: &mut Vec<u8>) -> usize {
        write_hello(self.kind, endpoint, self.is_cluster && endpoint.replica_of.is_some(), out)
    }

    #[inline(always)]
    pub(super) fn encode<'a>(
        &mut self,
        number: usize,
        filling: &mut Filling<'a>,
        previous_reply: &'a [u8],
        out: &mut impl Sink,
    ) {
        self.commands.write(number, filling, || reply(previous_reply), out);
    }

    #[inline]
    pub(super) fn decode(&mut self, bytes: &[u8]) -> Result<Decoded, Malformed> {
        if let Some(reply) = self.last.find(bytes) {
            return Ok(Decoded::Complete { length: reply.len() });
        }
        let decoded = decode(bytes, self.commands.reply_max_bytes);
        if let Ok(Decoded::Complete { length }) = decoded {
            self.last.note(&bytes[..length]);
        }
        decoded
    }

    #[inline(always)]
    pub(super) fn judge<'a>(
        &mut self,
        number: usize,
        expected: impl Fn() -> Expected<'a>,
        newest: impl Fn() -> u32,
        bytes: &[u8],
    ) -> Verdict {
        let found = self.last.text(bytes).map(Reply::Text).or_else(|| reply(bytes));
        let (expect, strict) = self.commands.replied(number, found);
        self.commands.judge.judge(expect, strict, expected, newest, found)
    }

    /// See `Wire::is_stale`.
    pub(super) fn is_stale(&self, number: usize, expected: &Expected, alone: bool, bytes: &[u8]) -> bool {
        self.commands.is_stale(number, expected, alone, reply(bytes))
    }

    /// Whether command `number` holds what was in the reply to the one before it.
    pub(super) fn uses_previous(&self, number: usize) -> bool {
        self.commands.uses_previous(number)
    }

    pub(super) fn missed(&self, number: usize) -> u64 {
        self.commands.missed(number)
    }
}

/// The beginning of the server's text if `bytes` are an error of Redis.
pub(super) fn error_text(bytes: &[u8]) -> Option<String> {
    match reply(bytes)? {
        Reply::Error(text) => Some(String::from_utf8_lossy(&text[..text.len().min(ERROR_TEXT_BYTES)]).into_owned()),
        _ => None,
    }
}

/// Appends what goes right before a command that follows an `ASK` of another node.
pub(super) fn write_asking(out: &mut Vec<u8>) {
    out.extend_from_slice(ASKING);
}

/// An error refuses the connection, but for one in reply to its naming (the last): a server may just not know, or not
/// allow, that command.
pub(super) fn refusal(bytes: &[u8], is_last: bool) -> Option<String> {
    let is_harmless = |text: &str| text.starts_with("NOPERM") || text.to_ascii_lowercase().contains("unknown");
    error_text(bytes).filter(|text| !is_last || !is_harmless(text))
}
