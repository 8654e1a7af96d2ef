//! The receiving side: what a subscriber or a consumer says, and the messages in what it gets. No input or output.

use super::command::{write_argument, write_command, write_hello};
use super::decoding::{decode, elements, reply};
use super::{error_text, refusal};
use crate::content::template::write_integer;
use crate::plan::{Endpoint, Plan, ReceiverKind, Receivers, WireKind};
use crate::wire::Decoded;
use crate::wire::reply::Reply;

/// The group that all consumers are of.
const GROUP: &str = "loadstone";
/// Replies to the commands that make a group of a stream, and have it begin at the stream's end.
const REPLIES_OF_A_GROUP: usize = 2;
/// What a reply holds beside its messages, at most.
const FRAMES_BYTES: usize = 1024 * 1024;
/// What each message has around it, at most: an entry's number, lengths, the channel's name.
const FRAME_BYTES: usize = 1024;

/// What the bytes so far hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Taken {
    /// So many bytes were taken.
    Bytes(usize),
    /// There is nothing to be done before there are so many.
    More { at_least: usize },
}

/// One connection that receives.
#[derive(Debug)]
pub struct Receiving {
    wire: WireKind,
    kind: ReceiverKind,
    /// The channel or the stream.
    key: String,
    consumer: String,
    count: String,
    max_bytes: usize,
    /// Replies to what it said first that are still to come, and how many of them are of the subscription itself.
    greeting: usize,
    subscribing: usize,
    /// Acknowledgements that were not answered yet.
    unanswered: usize,
    /// Whether it waits for entries.
    reads: bool,
}

impl Receiving {
    /// Number `number` of a plan's receivers; `key` is the name of its channel or stream.
    pub fn new(plan: &Plan, receivers: &Receivers, number: usize, key: String) -> Self {
        let at_once = match receivers.kind {
            ReceiverKind::Subscribe => 1,
            ReceiverKind::StreamGroup => receivers.count as usize,
        };
        Self {
            wire: plan.protocol,
            kind: receivers.kind,
            key,
            consumer: format!("consumer-{number}"),
            count: receivers.count.to_string(),
            max_bytes: FRAMES_BYTES + at_once * (plan.documents.payload_bytes + FRAME_BYTES),
            greeting: 0,
            subscribing: 0,
            unanswered: 0,
            reads: false,
        }
    }

    /// Appends what is said first.
    pub fn begin(&mut self, endpoint: &Endpoint, out: &mut Vec<u8>) {
        self.greeting = write_hello(self.wire, endpoint, false, out);
        self.subscribing = match self.kind {
            ReceiverKind::Subscribe => {
                write_command(&["SUBSCRIBE", &self.key], out);
                1
            }
            ReceiverKind::StreamGroup => {
                write_command(&["XGROUP", "CREATE", &self.key, GROUP, "$", "MKSTREAM"], out);
                write_command(&["XGROUP", "SETID", &self.key, GROUP, "$"], out);
                REPLIES_OF_A_GROUP
            }
        };
        self.greeting += self.subscribing;
    }

    /// Whether everything that was said first was answered.
    pub fn is_ready(&self) -> bool {
        self.greeting == 0
    }

    /// Whether every acknowledgement was answered.
    pub fn is_settled(&self) -> bool {
        self.unanswered == 0
    }

    /// Takes what stands at the beginning of `bytes`; messages go to `message`, and what is to be sent to `out`. The
    /// error says why the connection is of no more use.
    pub fn take(&mut self, bytes: &[u8], out: &mut Vec<u8>, message: impl FnMut(&[u8])) -> Result<Taken, String> {
        let length = match decode(bytes, self.max_bytes).map_err(|error| error.to_string())? {
            Decoded::Complete { length } | Decoded::Push { length } => length,
            Decoded::Part { length } => return Ok(Taken::Bytes(length)),
            Decoded::Incomplete { at_least } => return Ok(Taken::More { at_least }),
        };
        let frame = &bytes[..length];
        if self.is_ready() {
            self.take_frame(frame, out, message)?;
        } else {
            self.take_greeting(frame, out)?;
        }
        Ok(Taken::Bytes(length))
    }

    fn take_greeting(&mut self, frame: &[u8], out: &mut Vec<u8>) -> Result<(), String> {
        let is_name = self.greeting == self.subscribing + 1;
        let is_there = |text: &String| self.greeting == REPLIES_OF_A_GROUP && text.starts_with("BUSYGROUP");
        if let Some(text) = refusal(frame, is_name).filter(|text| !is_there(text)) {
            return Err(text);
        }
        // A message that nobody subscribed to is no confirmation.
        let confirms = || self.names_key(frame, b"subscribe");
        if self.kind == ReceiverKind::Subscribe && self.greeting == self.subscribing && !confirms() {
            return Err("what came does not confirm the subscription".into());
        }
        self.greeting -= 1;
        if self.is_ready() && self.kind == ReceiverKind::StreamGroup {
            self.write_read(out);
        }
        Ok(())
    }

    /// Whether a frame of a channel is of this kind, and of the channel that was subscribed to.
    fn names_key(&self, frame: &[u8], kind: &[u8]) -> bool {
        let mut texts = elements(frame).skip(1);
        matches!(texts.next(), Some(Reply::Text(text)) if text == kind)
            && matches!(texts.next(), Some(Reply::Text(text)) if text == self.key.as_bytes())
    }

    fn take_frame(&mut self, frame: &[u8], out: &mut Vec<u8>, mut message: impl FnMut(&[u8])) -> Result<(), String> {
        if let Some(text) = error_text(frame) {
            return Err(text);
        }
        match (self.kind, reply(frame)) {
            (ReceiverKind::Subscribe, Some(Reply::Items(_))) => {
                let mut texts = elements(frame).skip(1);
                if let (Some(Reply::Text(b"message")), Some(channel), Some(Reply::Text(text))) =
                    (texts.next(), texts.next(), texts.next())
                {
                    // One of another channel is none of ours, whatever it holds.
                    let is_ours = matches!(channel, Reply::Text(name) if name == self.key.as_bytes());
                    message(if is_ours { text } else { b"" });
                }
            }
            (ReceiverKind::StreamGroup, Some(Reply::Integer(_))) if self.unanswered > 0 => self.unanswered -= 1,
            (ReceiverKind::StreamGroup, Some(Reply::Items(_))) if self.reads => {
                self.take_entries(frame, out, message).ok_or("a reply that holds no entries of its stream")?;
                self.write_read(out);
            }
            (ReceiverKind::StreamGroup, _) => return Err("a reply came that answers no request".into()),
            _ => {}
        }
        Ok(())
    }

    /// The entries of a stream: of each the value of its last field; and acknowledges them. None of what holds none.
    fn take_entries(&mut self, frame: &[u8], out: &mut Vec<u8>, mut message: impl FnMut(&[u8])) -> Option<()> {
        let mut found = elements(frame).skip_while(|element| !matches!(element, Reply::Text(_)));
        if !matches!(found.next(), Some(Reply::Text(name)) if name == self.key.as_bytes()) {
            return None;
        }
        let Some(Reply::Items(entries)) = found.next() else {
            return None;
        };
        write_head(&["XACK", &self.key, GROUP], entries.left, out);
        for _ in 0..entries.left {
            let (Some(Reply::Items(_)), Some(Reply::Text(number))) = (found.next(), found.next()) else {
                return None;
            };
            write_argument(number, out);
            let fields = match found.next() {
                Some(Reply::Items(fields)) => fields.left,
                _ => 0, // It was deleted meanwhile.
            };
            if let Some(Reply::Text(text)) = (0..fields).filter_map(|_| found.next()).last() {
                message(text);
            }
        }
        self.unanswered += 1;
        Some(())
    }

    /// Waits for what comes next, for as long as it takes.
    fn write_read(&mut self, out: &mut Vec<u8>) {
        let group = ["XREADGROUP", "GROUP", GROUP, &self.consumer];
        let options = ["COUNT", &self.count, "BLOCK", "0", "STREAMS", &self.key, ">"];
        write_command(&[&group[..], &options[..]].concat(), out);
        self.reads = true;
    }
}

/// Appends the beginning of a command that `more` arguments follow.
fn write_head(arguments: &[&str], more: u64, out: &mut Vec<u8>) {
    out.push(b'*');
    write_integer(i128::from(more) + arguments.len() as i128, out);
    out.extend_from_slice(b"\r\n");
    arguments.iter().for_each(|argument| write_argument(argument.as_bytes(), out));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn receiving(kind: &str, protocol: &str) -> Receiving {
        let command = if kind == "subscribe" { "PUBLISH" } else { "XADD" };
        let text = format!(
            r#"{{"protocol": "{protocol}", "endpoints": [{{}}], "model": {{"kind": "closed", "users": 1}},
            "pool": {{"connections": 1}}, "keys": {{"count": 1}}, "receivers": {{"kind": "{kind}", "connections": 1}},
            "operations": [{{"name": "send", "commands": [{{"args": ["{command}", "{{key}}", "{{message}}"]}}]}}]}}"#
        );
        let plan = Plan::from_json(&text).unwrap();
        Receiving::new(&plan, plan.receivers.as_ref().unwrap(), 0, "k:0".into())
    }

    /// What it takes from some bytes, to the last of them, and what it says.
    fn taken(receiving: &mut Receiving, mut bytes: &[u8]) -> Result<(Vec<String>, String), String> {
        let (mut messages, mut out) = (vec![], vec![]);
        while !bytes.is_empty() {
            let found = receiving.take(bytes, &mut out, |text| messages.push(String::from_utf8_lossy(text).into()))?;
            let Taken::Bytes(length) = found else { panic!("{found:?}") };
            bytes = &bytes[length..];
        }
        Ok((messages, String::from_utf8(out).unwrap().replace("\r\n", " ")))
    }

    fn ready(kind: &str, protocol: &str, replies: &[u8]) -> Receiving {
        let mut one = receiving(kind, protocol);
        one.begin(&Endpoint::default(), &mut vec![]);
        assert!(!one.is_ready());
        taken(&mut one, replies).unwrap();
        assert!(one.is_ready());
        one
    }

    #[test]
    fn a_subscriber_takes_the_messages_of_both_versions() {
        for (protocol, kind, before) in [("resp2", '*', ""), ("resp3", '>', "%1\r\n+proto\r\n:3\r\n")] {
            let greeting = format!("{before}+OK\r\n{kind}3\r\n$9\r\nsubscribe\r\n$3\r\nk:0\r\n:1\r\n");
            let mut one = ready("subscribe", protocol, greeting.as_bytes());
            let message = format!("{kind}3\r\n$7\r\nmessage\r\n$3\r\nk:0\r\n$5\r\nhello\r\n");
            let (messages, said) = taken(&mut one, message.repeat(2).as_bytes()).unwrap();
            assert_eq!((messages, said.as_str()), (vec!["hello".to_owned(); 2], ""));
            let half = one.take(&message.as_bytes()[..20], &mut vec![], |_| panic!("it is no whole one"));
            assert!(matches!(half, Ok(Taken::More { .. })));
        }
    }

    #[test]
    fn a_consumer_acknowledges_what_it_takes_and_reads_on() {
        let entries = "*2\r\n*2\r\n$3\r\n1-0\r\n*2\r\n$1\r\nm\r\n$5\r\nfirst\r\n\
                       *2\r\n$3\r\n2-0\r\n*4\r\n$1\r\na\r\n$1\r\nb\r\n$1\r\nm\r\n$6\r\nsecond\r\n";
        for (protocol, head, before) in [("resp2", "*1\r\n*2\r\n", ""), ("resp3", "%1\r\n", "%1\r\n+proto\r\n:3\r\n")] {
            let greeting = format!("{before}+OK\r\n-BUSYGROUP Consumer Group name already exists\r\n+OK\r\n");
            let mut one = ready("stream_group", protocol, greeting.as_bytes());
            let (messages, said) = taken(&mut one, format!("{head}$3\r\nk:0\r\n{entries}").as_bytes()).unwrap();
            assert_eq!(messages, ["first", "second"]);
            let acknowledged = "*5 $4 XACK $3 k:0 $9 loadstone $3 1-0 $3 2-0 ";
            assert!(said.starts_with(acknowledged), "{said}");
            assert!(said[acknowledged.len()..].starts_with("*11 $10 XREADGROUP $5 GROUP $9 loadstone"), "{said}");
            assert!(!one.is_settled());
            assert_eq!(taken(&mut one, b":2\r\n").unwrap().0, [""; 0]);
            assert!(one.is_settled());
        }
    }

    #[test]
    fn a_message_of_another_channel_is_none_of_ours() {
        let mut one = ready("subscribe", "resp2", b"+OK\r\n*3\r\n$9\r\nsubscribe\r\n$3\r\nk:0\r\n:1\r\n");
        let of = |channel: &str| format!("*3\r\n$7\r\nmessage\r\n$3\r\n{channel}\r\n$5\r\nhello\r\n");
        let (messages, _) = taken(&mut one, format!("{}{}", of("k:1"), of("k:0")).as_bytes()).unwrap();
        assert_eq!(messages, ["", "hello"], "it is counted, and not read");
    }

    #[test]
    fn what_comes_before_the_subscription_is_confirmed_does_not_confirm_it() {
        let message = "*3\r\n$7\r\nmessage\r\n$3\r\nk:0\r\n$5\r\nhello\r\n";
        let other = "*3\r\n$9\r\nsubscribe\r\n$3\r\nk:1\r\n:1\r\n";
        for reply in [message, other, "+OK\r\n", ":1\r\n", "*0\r\n", "*-1\r\n"] {
            let mut one = receiving("subscribe", "resp2");
            one.begin(&Endpoint::default(), &mut vec![]);
            let refused = taken(&mut one, format!("+OK\r\n{reply}").as_bytes());
            assert!(refused.unwrap_err().contains("confirm"), "{reply:?}");
        }
    }

    #[test]
    fn entries_of_another_stream_end_it() {
        let entries = "*1\r\n*2\r\n$3\r\nk:1\r\n*1\r\n*2\r\n$3\r\n1-0\r\n*2\r\n$1\r\nm\r\n$1\r\nx\r\n";
        let mut one = ready("stream_group", "resp2", b"+OK\r\n+OK\r\n+OK\r\n");
        assert!(taken(&mut one, entries.as_bytes()).is_err());
    }

    #[test]
    fn a_message_larger_than_any_that_is_sent_ends_it() {
        let greeting = b"+OK\r\n*3\r\n$9\r\nsubscribe\r\n$3\r\nk:0\r\n:1\r\n";
        let mut one = ready("subscribe", "resp2", greeting);
        let announced = b"*3\r\n$7\r\nmessage\r\n$3\r\nk:0\r\n$536870912\r\n";
        assert!(one.take(announced, &mut vec![], |_| panic!("it is no whole one")).is_err());
    }

    #[test]
    fn an_error_ends_it() {
        let mut one = receiving("subscribe", "resp2");
        one.begin(&Endpoint::default(), &mut vec![]);
        let refused = taken(&mut one, b"+OK\r\n-NOPERM this user has no permissions\r\n");
        assert_eq!(refused.unwrap_err(), "NOPERM this user has no permissions");
        let mut one = ready("stream_group", "resp2", b"+OK\r\n+OK\r\n+OK\r\n");
        assert!(taken(&mut one, b"-NOGROUP No such key\r\n").unwrap_err().starts_with("NOGROUP"));
        assert!(taken(&mut one, b"\0\0\0\0").is_err());
    }

    #[test]
    fn what_a_consumer_did_not_request_ends_it() {
        let unrequested = ["$-1\r\n", "*-1\r\n", "_\r\n", "+OK\r\n", ":1\r\n"];
        let malformed = ["*0\r\n", "*1\r\n*2\r\n$3\r\nk:0\r\n*2\r\n*2\r\n$3\r\n1-0\r\n*0\r\n+what\r\n"];
        for reply in unrequested.iter().chain(&malformed) {
            let mut one = ready("stream_group", "resp2", b"+OK\r\n+OK\r\n+OK\r\n");
            assert!(taken(&mut one, reply.as_bytes()).is_err(), "{reply:?}");
        }
    }
}
