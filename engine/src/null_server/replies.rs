//! What the null server says: every reply is made once, when it starts.

use crate::content::values::{CONSTANT_FIELDS, ENVELOPE_BYTES, Values};
use crate::plan::{Documents, Expect};

use super::{NullOptions, NullProtocol};

/// The documents' key, version and seed: any will do, since nothing is stored.
const KEY: u64 = 0;
const VERSION: u32 = 1;
const SEED: u64 = 1;

/// The replies, by command. A command is a place in this table.
#[derive(Debug)]
pub(super) struct Replies {
    names: Vec<Vec<u8>>,
    texts: Vec<Reply>,
    to_bad_input: &'static [u8],
}

/// A reply in RESP2 and RESP3.
#[derive(Debug)]
struct Reply {
    resp2: Vec<u8>,
    resp3: Vec<u8>,
}

pub(super) const HELLO: usize = 0;
/// Commands below this are those of the handshake.
pub(super) const FIRST_AFTER_HANDSHAKE: usize = 4;
const OTHER: usize = 4;
/// HTTP: a request whose reply has a body, and HEAD, whose reply has none.
pub(super) const HTTP_OTHER: usize = FIRST_AFTER_HANDSHAKE;
pub(super) const HTTP_HEAD: usize = FIRST_AFTER_HANDSHAKE + 1;
/// memcached: the login, and the command by which a connection finds out that its server speaks the meta protocol.
const LOGIN: [(&str, &[u8]); FIRST_AFTER_HANDSHAKE] = [("set", b"STORED\r\n"), ("mn", b"MN\r\n"), ("", b""), ("", b"")];
const HANDSHAKE: [&str; FIRST_AFTER_HANDSHAKE] = ["HELLO", "AUTH", "SELECT", "CLIENT"];

impl Replies {
    pub fn new(options: &NullOptions) -> Self {
        match options.protocol {
            NullProtocol::Resp => Self::resp(options),
            NullProtocol::Http1 => Self::http(options),
            NullProtocol::Memcached => Self::memcached(options),
        }
    }

    fn http(options: &NullOptions) -> Self {
        let to_bad_input = b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";
        let mut replies = Self { names: vec![], texts: vec![], to_bad_input };
        let has_body = !matches!(options.status, 204 | 304);
        let body = if has_body { json_text(options.body_bytes) } else { vec![] };
        let length = if has_body { format!("Content-Length: {}\r\n", body.len()) } else { String::new() };
        let head = format!("HTTP/1.1 {} Null\r\nContent-Type: application/json\r\n{length}\r\n", options.status);
        // No request of HTTP is one of Redis' handshake.
        (0..FIRST_AFTER_HANDSHAKE).for_each(|_| replies.add("", Reply::same(vec![])));
        replies.add("", Reply::same([head.as_bytes(), &body].concat()));
        replies.add("", Reply::same(head.into_bytes()));
        replies
    }

    fn memcached(options: &NullOptions) -> Self {
        let values = values(options);
        let mut replies = Self { names: vec![], texts: vec![], to_bad_input: b"ERROR\r\n" };
        for (name, text) in LOGIN {
            replies.add(name, Reply::same(text.to_vec()));
        }
        replies.add("", Reply::same(b"HD\r\n".to_vec()));
        for (name, &kind) in &options.replies {
            replies.add(name, Reply::same(meta_reply(kind, &values)));
        }
        replies
    }

    fn resp(options: &NullOptions) -> Self {
        let values = values(options);
        let to_bad_input = b"-ERR Protocol error: not a RESP command\r\n";
        let mut replies = Self { names: vec![], texts: vec![], to_bad_input };
        for name in HANDSHAKE {
            replies.add(name, Reply::same(b"+OK\r\n".to_vec()));
        }
        replies.texts[HELLO] = hello();
        replies.add("", Reply::same(b"+OK\r\n".to_vec()));
        for (name, &kind) in &options.replies {
            replies.add(name, reply(kind, &values));
        }
        replies.add("PING", Reply::same(b"+PONG\r\n".to_vec()));
        replies
    }

    fn add(&mut self, name: &str, reply: Reply) {
        self.names.push(name.to_uppercase().into_bytes());
        self.texts.push(reply);
    }

    /// The command of that name.
    #[inline]
    pub fn find(&self, name: &[u8]) -> usize {
        self.names.iter().position(|known| known.eq_ignore_ascii_case(name)).unwrap_or(OTHER)
    }

    /// What is said to bytes that are no command or request, before the connection is closed.
    pub fn to_bad_input(&self) -> &'static [u8] {
        self.to_bad_input
    }

    #[inline]
    pub fn text(&self, command: usize, resp3: bool) -> &[u8] {
        let reply = &self.texts[command];
        if resp3 { &reply.resp3 } else { &reply.resp2 }
    }
}

impl Reply {
    fn same(text: Vec<u8>) -> Self {
        Self { resp2: text.clone(), resp3: text }
    }

    /// Names and values: an array in RESP2, a map in RESP3.
    fn map(pairs: &[(&str, Vec<u8>)]) -> Self {
        let text: Vec<u8> =
            pairs.iter().flat_map(|(name, value)| [bulk(name.as_bytes()), value.clone()]).flatten().collect();
        let head = |kind, count| format!("{kind}{count}\r\n").into_bytes();
        Self {
            resp2: [head('*', pairs.len() * 2), text.clone()].concat(),
            resp3: [head('%', pairs.len()), text].concat(),
        }
    }
}

/// JSON of that length; plain letters if it is too short for that.
fn json_text(bytes: usize) -> Vec<u8> {
    let (before, after) = (br#"{"null":""#, br#""}"#);
    match bytes.checked_sub(before.len() + after.len()) {
        Some(letters) => [&before[..], &vec![b'x'; letters], after].concat(),
        None => vec![b'x'; bytes],
    }
}

/// The texts of documents as long as the options have them.
fn values(options: &NullOptions) -> Values {
    let payload_bytes = options.document_bytes - ENVELOPE_BYTES;
    let field_bytes = options.field_bytes.unwrap_or(10).min(payload_bytes - 1);
    Values::new(SEED, &Documents { payload_bytes, field_bytes, ..Documents::default() })
}

/// What memcached answers: a value, or that it was done.
fn meta_reply(kind: Expect, values: &Values) -> Vec<u8> {
    let text = match kind {
        Expect::Any | Expect::Ok | Expect::Hash | Expect::FieldArray => return b"HD\r\n".to_vec(),
        Expect::Integer | Expect::Positive => b"1".to_vec(),
        Expect::Document => {
            let mut document = Vec::new();
            values.write_document(KEY, VERSION, &mut document);
            document
        }
        Expect::Field => values.field(KEY, VERSION).to_vec(),
        Expect::Value | Expect::Item | Expect::Row => values.value(KEY, VERSION).to_vec(),
    };
    [format!("VA {}\r\n", text.len()).as_bytes(), &text, b"\r\n"].concat()
}

fn bulk(text: &[u8]) -> Vec<u8> {
    [format!("${}\r\n", text.len()).as_bytes(), text, b"\r\n"].concat()
}

fn reply(kind: Expect, values: &Values) -> Reply {
    match kind {
        Expect::Any | Expect::Ok => Reply::same(b"+OK\r\n".to_vec()),
        Expect::Integer | Expect::Positive => Reply::same(b":1\r\n".to_vec()),
        Expect::Document => {
            let mut document = Vec::new();
            values.write_document(KEY, VERSION, &mut document);
            Reply::same(bulk(&document))
        }
        Expect::Hash => {
            let mut pairs = vec![("id", bulk(b"000000000000")), ("version", bulk(b"0000000001"))];
            pairs.extend(CONSTANT_FIELDS.iter().map(|&(name, value)| (name, bulk(value.as_bytes()))));
            pairs.push(("field", bulk(values.field(KEY, VERSION))));
            pairs.push(("body", bulk(values.body(KEY, VERSION))));
            Reply::map(&pairs)
        }
        Expect::Field => Reply::same(bulk(values.field(KEY, VERSION))),
        Expect::FieldArray => Reply::same(bulk(&[b"[\"", values.field(KEY, VERSION), b"\"]"].concat())),
        Expect::Value | Expect::Item | Expect::Row => Reply::same(bulk(values.value(KEY, VERSION))),
    }
}

fn hello() -> Reply {
    let pairs = |version: u8| {
        [
            ("server", bulk(b"redis")),
            ("version", bulk(b"0.0.0")),
            ("proto", format!(":{version}\r\n").into_bytes()),
            ("id", b":1\r\n".to_vec()),
            ("mode", bulk(b"standalone")),
            ("role", bulk(b"master")),
            ("modules", b"*0\r\n".to_vec()),
        ]
    };
    Reply { resp2: Reply::map(&pairs(2)).resp2, resp3: Reply::map(&pairs(3)).resp3 }
}
