//! Replies of Redis and of HTTP servers: decoded, and judged by every rule. See [`crate::fuzzing`].

use super::judge::{Asked, Judge, Strict};
use super::{Decoded, Ending, ErrorKind, Judgement, Protocol, Reading, Request, Shared};
use crate::connection::Inbox;
use crate::fuzzing::{Input, receive_all};
use crate::plan::{Documents, Expect, Plan, Verify};
use crate::resp::{self, Reply};
use crate::values::Values;
use std::cell::RefCell;
use std::sync::{Arc, OnceLock};

const EXPECTS: [Expect; 10] = [
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
];
const STRICT: [Strict; 4] = [Strict::No, Strict::Document(1), Strict::Field(1), Strict::Value(1)];
const LIMITS: [usize; 3] = [100, 4096, 64 * 1024 * 1024];

/// What came of a stream: what each reply was worth, and how it ended.
#[derive(Debug, PartialEq, Eq)]
enum Event {
    Reply(Vec<u8>, Vec<Option<ErrorKind>>),
    Push(Vec<u8>),
    Http(u16, bool, Judgement),
    Malformed(ErrorKind),
    End(Ending),
    Left(Vec<u8>),
}

/// A stream of replies to commands that expect anything.
pub fn resp(data: &[u8]) {
    let Some(input) = Input::of(data) else { return };
    let max_bytes = LIMITS[usize::from(input.settings) % LIMITS.len()];
    input.both_ways(input.bytes, |pieces| resp_events(pieces, max_bytes));
}

fn resp_events(pieces: &[&[u8]], max_bytes: usize) -> Vec<Event> {
    let mut events = Vec::new();
    let mut inbox = receive_all(pieces, |inbox| take_replies(inbox, max_bytes, &mut events));
    // Bytes that cannot be a reply are found at once, or when so many came as any reply would have here.
    inbox.need = 0;
    if !matches!(events.last(), Some(Event::Malformed(_))) && take_replies(&mut inbox, max_bytes, &mut events) {
        events.push(Event::Left(inbox.unread().to_vec()));
    }
    events
}

/// Takes all complete replies; false after bytes that are none.
fn take_replies(inbox: &mut Inbox, max_bytes: usize, events: &mut Vec<Event>) -> bool {
    while inbox.unread().len() >= inbox.need.max(1) {
        let unread = inbox.unread();
        let (event, length) = match resp::decode(unread, max_bytes) {
            Ok(Decoded::Complete { length }) => {
                (Event::Reply(unread[..length].to_vec(), judged(&unread[..length])), length)
            }
            Ok(Decoded::Push { length }) => (Event::Push(unread[..length].to_vec()), length),
            Ok(Decoded::Part { .. }) => panic!("a reply of Redis is not let go of in parts"),
            Ok(Decoded::Incomplete { at_least }) => {
                assert!(at_least > unread.len(), "{at_least} bytes are there");
                inbox.need = at_least;
                continue;
            }
            Err(error) => {
                assert!(!error.to_string().is_empty());
                events.push(Event::Malformed(ErrorKind::Protocol));
                return false;
            }
        };
        assert!((3..=unread.len()).contains(&length), "{length}");
        events.push(event);
        inbox.start += length;
        inbox.need = 0;
    }
    true
}

/// What every kind of command makes of a reply.
fn judged(reply: &[u8]) -> Vec<Option<ErrorKind>> {
    static VALUES: OnceLock<Values> = OnceLock::new();
    let values = VALUES.get_or_init(|| Values::new(1, &Documents { payload_bytes: 20, field_bytes: 5 }));
    let reply = resp::reply(reply);
    look_at_elements(reply);
    let mut verdicts = Vec::new();
    for count_mismatch in [true, false] {
        let judge = Judge::new(&Verify { count_mismatch, ..Verify::default() }, false);
        for expect in EXPECTS {
            for strict in STRICT {
                let asked = Asked { key: 0, newest: 1, known: true, strict };
                verdicts.push(judge.judge(values, expect, &asked, reply).err());
            }
        }
    }
    verdicts
}

/// Takes every element.
fn look_at_elements(reply: Option<Reply>) {
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
    static HTTP: RefCell<(Protocol, Vec<Request>)> = RefCell::new(http_protocol());
}

/// The protocol of a plan with a request of each kind, and these requests.
fn http_protocol() -> (Protocol, Vec<Request>) {
    let text = r#"{"protocol": "http1", "endpoints": [{}], "model": {"kind": "closed", "users": 1},
        "pool": {"connections": 1}, "keys": {"count": 1}, "verify": {"reply_max_bytes": 65536}, "operations": [
        {"name": "plain", "requests": [{"path": "/"}]},
        {"name": "head", "requests": [{"method": "HEAD", "path": "/"}]},
        {"name": "text", "requests": [{"path": "/", "expect": {"equals": "hello"}}]},
        {"name": "json", "requests": [{"path": "/", "expect": {"contains": "b", "json_fields": ["a.0.b", "c"]}}]}]}"#;
    let plan = Plan::from_json(text).expect("the plan is right");
    let shared = Arc::new(Shared::new(&plan).expect("there is room"));
    let mut protocol = Protocol::new(&plan, shared, 0).expect("the plan can be driven");
    let requests = (0..4).map(|number| protocol.begin_operation(number).expect("keys never run out")).collect();
    (protocol, requests)
}

fn http_events(pieces: &[&[u8]], settings: u8) -> Vec<Event> {
    HTTP.with_borrow_mut(|(protocol, requests)| {
        let request = &requests[usize::from(settings) % requests.len()];
        let mut reading = Reading::default();
        let (mut events, mut over) = (Vec::new(), false);
        let inbox = receive_all(pieces, |inbox| {
            while inbox.unread().len() >= inbox.need.max(1) {
                let unread = inbox.unread();
                match protocol.decode(Some(request), &mut reading, unread) {
                    Ok(Decoded::Complete { length }) => {
                        let (status, closes) = (reading.status(), reading.closes());
                        let judgement = protocol.judge(request, &mut reading, &unread[..length]);
                        events.push(Event::Http(status, closes, judgement));
                        inbox.start += length;
                        inbox.need = 0;
                        if closes {
                            over = true;
                            return false;
                        }
                    }
                    Ok(Decoded::Part { length }) => {
                        assert!((1..=unread.len()).contains(&length));
                        inbox.start += length;
                        inbox.need = 0;
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
            let ending = protocol.ending(true, &reading, inbox.unread().len());
            events.push(Event::End(ending));
            if ending == Ending::Complete {
                let judgement = protocol.judge(request, &mut reading, &[]);
                events.push(Event::Http(reading.status(), true, judgement));
            }
        }
        events
    })
}
