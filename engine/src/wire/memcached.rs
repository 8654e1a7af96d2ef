//! memcached's meta protocol: `mg`, `ms`, `md`, `ma` and `mn`.

mod command;
mod decoding;
mod limits;

pub use decoding::{Malformed, decode, reply};
pub(super) use limits::check;

use super::commands::Commands;
use super::judge::{Judge, Strict};
use super::reply::Reply;
use super::{Capabilities, Decoded, ErrorKind, Expected, Verdict, WireOperation};
use crate::content::send_buffer::Sink;
use crate::content::template::Filling;
use crate::plan::{Endpoint, Expect, Plan, PlanError};
use command::{framed, write_hello};

pub(super) const CAPABILITIES: Capabilities = Capabilities {
    name: "memcached",
    pipelining: true,
    slots: false,
    follows_versions: true,
    data_file: false,
    recordings: false,
    receivers: false,
    reconnects_after_reply: false,
    streams_replies: false,
    fails_without_connection: false,
    alpn: None,
};
/// The replies to what a connection says first.
const LOGGED_IN: &[u8] = b"STORED";
const SPEAKS_META: &[u8] = b"MN";

/// The commands of one plan.
#[derive(Debug)]
pub struct Memcached {
    commands: Commands,
}

impl Memcached {
    pub(super) fn new(plan: &Plan, filling: &Filling) -> Result<(Self, Vec<WireOperation>), PlanError> {
        let (commands, operations) = Commands::new(plan, filling, framed)?;
        Ok((Self { commands }, operations))
    }

    /// The last reply is that to a command of the meta protocol, which a server that is too old does not know.
    pub(super) fn hello(&self, endpoint: &Endpoint, out: &mut Vec<u8>) -> usize {
        write_hello(endpoint, out)
    }

    #[inline]
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
    pub(super) fn decode(&self, bytes: &[u8]) -> Result<Decoded, Malformed> {
        decode(bytes, self.commands.reply_max_bytes)
    }

    #[inline]
    pub(super) fn judge<'a>(
        &mut self,
        number: usize,
        expected: impl Fn() -> Expected<'a>,
        newest: impl Fn() -> u32,
        bytes: &[u8],
    ) -> Verdict {
        let found = reply(bytes);
        let (expect, strict) = self.commands.replied(number, found);
        judge_reply(&self.commands.judge, expect, strict, expected, newest, found)
    }

    pub(super) fn missed(&self, number: usize) -> u64 {
        self.commands.missed(number)
    }
}

/// Judges a complete reply to a command that expects `expect`; see [`Judge::judge`].
#[inline]
pub(super) fn judge_reply<'a>(
    judge: &Judge,
    expect: Expect,
    strict: Strict,
    expected: impl Fn() -> Expected<'a>,
    newest: impl Fn() -> u32,
    reply: Option<Reply>,
) -> Verdict {
    let found = match (reply, expect) {
        (Some(Reply::Error(text)), _) => return Err(kind(text)),
        // A counter's value comes as any other: its digits are the text.
        (Some(Reply::Text(text)), Expect::Integer | Expect::Positive) if is_number(text) => Some(Reply::Integer(text)),
        (found, _) => found,
    };
    match (judge.judge(expect, strict, expected, newest, found), found) {
        (Err(ErrorKind::WrongType), Some(Reply::Nothing)) => Err(ErrorKind::Missing),
        (verdict, _) => verdict,
    }
}

fn is_number(text: &[u8]) -> bool {
    !text.is_empty() && text.iter().all(u8::is_ascii_digit)
}

/// The kind of an error of memcached.
fn kind(text: &[u8]) -> ErrorKind {
    if text.starts_with(b"SERVER_ERROR out of memory") {
        ErrorKind::ServerOom
    } else if text.starts_with(b"SERVER_ERROR object too large") {
        ErrorKind::ServerTooLarge
    } else if text.starts_with(b"SERVER_ERROR") {
        ErrorKind::ServerOther
    } else if text.starts_with(b"CLIENT_ERROR unauthenticated") {
        ErrorKind::ServerNoAuth
    } else {
        ErrorKind::ServerErr
    }
}

/// The server's text if `bytes` are an error.
pub(super) fn error_text(bytes: &[u8]) -> Option<String> {
    match reply(bytes)? {
        Reply::Error(text) => Some(String::from_utf8_lossy(text).into_owned()),
        _ => None,
    }
}

/// Why the server refuses the connection: it does not take the password, or does not know the meta protocol.
pub(super) fn refusal(bytes: &[u8], is_last: bool) -> Option<String> {
    if bytes.starts_with(if is_last { SPEAKS_META } else { LOGGED_IN }) {
        return None;
    }
    let text = String::from_utf8_lossy(bytes.trim_ascii_end()).into_owned();
    let is_unknown = is_last && text == "ERROR";
    Some(if is_unknown { format!("{text}: it does not know the meta commands of memcached 1.6") } else { text })
}
