//! Replies of Redis, memcached and HTTP servers: decoded, and judged by every rule. See [`crate::fuzzing`].

use super::judge::{Judge, Strict};
use super::reply::Reply;
use super::{Decoded, Ending, ErrorKind, Expected, ProtocolError, Reading, Verdict, memcached, resp};
use crate::content::template::Filling;
use crate::content::values::Values;
use crate::fuzzing::{Input, receive_all};
use crate::load::{Request, Shared, Workload};
use crate::net::inbox::Inbox;
use crate::plan::{Documents, Expect, Plan, Verify};
use std::cell::RefCell;
use std::sync::{Arc, OnceLock};

const EXPECTS: [Expect; 11] = [
    Expect::Any,
    Expect::Ok,
    Expect::Integer,
    Expect::Document,
    Expect::Hash,
    Expect::Field,
    Expect::FieldArray,
    Expect::Value,
    Expect::Item,
    Expect::Positive,
    Expect::Row,
];
const STRICT: [Strict; 5] = [Strict::No, Strict::There, Strict::Document, Strict::Field, Strict::Value];
const LIMITS: [usize; 3] = [100, 4096, 64 * 1024 * 1024];

/// What came of a stream: what each reply was worth, and how it ended.
#[derive(Debug, PartialEq, Eq)]
enum Event {
    Reply(Vec<u8>, Vec<Option<ErrorKind>>),
    Push(Vec<u8>),
    Http(u16, bool, Verdict),
    Malformed(ErrorKind),
    End(Ending),
    Left(Vec<u8>),
}

/// How a protocol of commands reads replies.
struct Commands {
    decode: fn(&[u8], usize) -> Result<Decoded, ProtocolError>,
    /// Judges a reply by one rule.
    judge: fn(&Judge, Expect, Strict, &Expected, &[u8]) -> Verdict,
}

const RESP: Commands = Commands {
    decode: |bytes, max_bytes| Ok(resp::decode(bytes, max_bytes)?),
    judge: |judge, expect, strict, expected, bytes| judge.judge(expect, strict, || *expected, || 1, resp::reply(bytes)),
};
const MEMCACHED: Commands = Commands {
    decode: |bytes, max_bytes| Ok(memcached::decode(bytes, max_bytes)?),
    judge: |judge, expect, strict, expected, bytes| {
        memcached::judge_reply(judge, expect, strict, || *expected, || 1, memcached::reply(bytes))
    },
};

/// A stream of replies of Redis to commands that expect anything.
pub fn resp(data: &[u8]) {
    command_replies(data, &RESP);
}

/// A stream of replies of memcached to commands that expect anything.
pub fn memcached(data: &[u8]) {
    command_replies(data, &MEMCACHED);
}

fn command_replies(data: &[u8], protocol: &Commands) {
    let Some(input) = Input::of(data) else { return };
    let max_bytes = LIMITS[usize::from(input.settings) % LIMITS.len()];
    input.both_ways(input.bytes, |pieces| reply_events(pieces, protocol, max_bytes));
}

fn reply_events(pieces: &[&[u8]], protocol: &Commands, max_bytes: usize) -> Vec<Event> {
    let mut events = Vec::new();
    let mut inbox = receive_all(pieces, |inbox| take_replies(inbox, protocol, max_bytes, &mut events));
    // Bytes that cannot be a reply are found at once, or when so many came as any reply would have here.
    inbox.need = 0;
    if !matches!(events.last(), Some(Event::Malformed(_))) && take_replies(&mut inbox, protocol, max_bytes, &mut events)
    {
        events.push(Event::Left(inbox.unread().to_vec()));
    }
    events
}

/// Takes all complete replies; false after bytes that are none.
fn take_replies(inbox: &mut Inbox, protocol: &Commands, max_bytes: usize, events: &mut Vec<Event>) -> bool {
    while inbox.unread().len() >= inbox.need.max(1) {
        let unread = inbox.unread();
        let (event, length) = match (protocol.decode)(unread, max_bytes) {
            Ok(Decoded::Complete { length }) => {
                (Event::Reply(unread[..length].to_vec(), judged(protocol, &unread[..length])), length)
            }
            Ok(Decoded::Push { length }) => (Event::Push(unread[..length].to_vec()), length),
            Ok(Decoded::Part { .. }) => panic!("a reply to a command is not released in parts"),
            Ok(Decoded::Incomplete { at_least }) => {
                assert!(at_least > unread.len(), "{at_least} bytes are there");
                inbox.need = at_least;
                continue;
            }
            Err(error) => {
                assert!(!error.to_string().is_empty());
                events.push(Event::Malformed(error.kind()));
                return false;
            }
        };
        assert!((3..=unread.len()).contains(&length), "{length}");
        events.push(event);
        inbox.consume(length);
    }
    true
}

/// What every kind of command makes of a reply.
fn judged(protocol: &Commands, reply: &[u8]) -> Vec<Option<ErrorKind>> {
    static VALUES: OnceLock<Values> = OnceLock::new();
    let values =
        VALUES.get_or_init(|| Values::new(1, &Documents { payload_bytes: 20, field_bytes: 5, ..Documents::default() }));
    take_elements(resp::reply(reply));
    let filling = Filling {
        values,
        key: 0,
        version: 1,
        seq: 0,
        intended: Default::default(),
        previous: b"",
        others: &[],
        data: None,
    };
    let expected = Expected { filling, known: true };
    let mut verdicts = Vec::new();
    for count_mismatch in [true, false] {
        let judge = Judge::new(&Verify { count_mismatch, ..Verify::default() }, false, false);
        for expect in EXPECTS {
            for strict in STRICT {
                verdicts.push((protocol.judge)(&judge, expect, strict, &expected, reply).err());
            }
        }
    }
    verdicts
}

/// Takes every element.
fn take_elements(reply: Option<Reply>) {
    let Some(Reply::Items(mut items)) = reply else { return };
    while items.left > 0 {
        let left = items.left;
        let _ = items.next_text();
        assert!(items.left < left);
    }
}

/// A stream of replies to HTTP requests.
pub fn http(data: &[u8]) {
    let Some(input) = Input::of(data) else { return };
    input.both_ways(input.bytes, |pieces| http_events(pieces, input.settings));
}

/// As [`http`], within a reply in chunks.
pub fn chunks(data: &[u8]) {
    let Some(input) = Input::of(data) else { return };
    let bytes = [b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", input.bytes].concat();
    input.both_ways(&bytes, |pieces| http_events(pieces, input.settings));
}

thread_local! {
    static HTTP: RefCell<(Workload, Vec<Request>)> = RefCell::new(http_workload());
}

/// The workload of a plan with a request of each kind, and these requests.
fn http_workload() -> (Workload, Vec<Request>) {
    let text = r#"{"protocol": "http1", "endpoints": [{}], "model": {"kind": "closed", "users": 1},
        "pool": {"connections": 1}, "keys": {"count": 1}, "verify": {"reply_max_bytes": 65536}, "operations": [
        {"name": "plain", "requests": [{"path": "/"}]},
        {"name": "head", "requests": [{"method": "HEAD", "path": "/"}]},
        {"name": "text", "requests": [{"path": "/", "expect": {"equals": "hello"}}]},
        {"name": "json", "requests": [{"path": "/", "expect": {"contains": "b", "json_fields": ["a.0.b", "c"]}}]}]}"#;
    let plan = Plan::from_json(text).expect("the plan is valid");
    let shared = Arc::new(Shared::new(&plan).expect("there is room"));
    let mut workload = Workload::new(&plan, shared, 0).expect("the plan can be driven");
    let requests = (0..4).map(|number| workload.begin_operation(number).expect("keys never run out")).collect();
    (workload, requests)
}

fn http_events(pieces: &[&[u8]], settings: u8) -> Vec<Event> {
    HTTP.with_borrow_mut(|(workload, requests)| {
        let request = &requests[usize::from(settings) % requests.len()];
        let mut reading = Reading::default();
        let (mut events, mut over) = (Vec::new(), false);
        let inbox = receive_all(pieces, |inbox| {
            while inbox.unread().len() >= inbox.need.max(1) {
                let unread = inbox.unread();
                match workload.decode(|| Some(request), &mut reading, unread) {
                    Ok(Decoded::Complete { length }) => {
                        let (status, closes) = (reading.http1.status(), reading.closes());
                        let judgement = workload.judge(request, &mut reading, &unread[..length]);
                        events.push(Event::Http(status, closes, judgement));
                        inbox.consume(length);
                        if closes {
                            over = true;
                            return false;
                        }
                    }
                    Ok(Decoded::Part { length }) => {
                        assert!((1..=unread.len()).contains(&length));
                        inbox.consume(length);
                    }
                    Ok(Decoded::Incomplete { at_least }) => inbox.need = at_least.max(unread.len() + 1),
                    Ok(Decoded::Push { .. }) => panic!("HTTP pushes nothing"),
                    Err(error) => {
                        events.push(Event::Malformed(error.kind()));
                        over = true;
                        return false;
                    }
                }
            }
            true
        });
        if !over {
            let ending = workload.wire().ending(true, &reading, inbox.unread().len());
            events.push(Event::End(ending));
            if ending == Ending::Complete {
                let judgement = workload.judge(request, &mut reading, &[]);
                events.push(Event::Http(reading.http1.status(), true, judgement));
            }
        }
        events
    })
}
