//! HTTP/1.1 as a client speaks it (RFC 9112).

mod decoding;
mod expectation;
mod json;
mod limits;
mod request;

pub(super) use decoding::is_idle_timeout;
pub use decoding::{Malformed, Reading};
pub(super) use limits::check;

use super::{Capabilities, Decoded, Ending, ErrorKind, Step, Verdict, WireOperation, reply_max};
use crate::content::other_keys::{self, OtherKeys};
use crate::content::send_buffer::Sink;
use crate::content::template::{Filling, Parser, Placeholders};
use crate::plan::{self, Method, Plan, PlanError};
use crate::wire::example::push_beginning;
use decoding::{Kept, Requested};
use expectation::{Expectation, Mismatch};
use request::{Request, Target};

pub(super) const CAPABILITIES: Capabilities = Capabilities {
    name: "http1",
    pipelining: false,
    slots: false,
    follows_versions: false,
    data_file: true,
    recordings: false,
    receivers: false,
    reconnects_after_reply: true,
    streams_replies: true,
    fails_without_connection: true,
    alpn: Some("http/1.1"),
};

/// The placeholders in paths, headers and bodies.
const PLACEHOLDERS: Placeholders = Placeholders {
    message: false,
    changed: false,
    number: true,
    list: "{number}, {number2}, {data.FIELD}, {key}, {key2}, {id}, {document}, {version}, {field}, {body}, {field_json}, {value}, {seq}, \
           {uniform A..B}, {random N lowercase}; write {{ and }} for literal braces",
};

/// A request, and what its reply must be.
#[derive(Debug)]
struct Exchange {
    request: Request,
    requested: Requested,
    expectation: Expectation,
}

/// The requests of one plan.
#[derive(Debug)]
pub struct Http1 {
    exchanges: Vec<Exchange>,
    targets: Vec<Target>,
    kept: Kept,
    counts_mismatches: bool,
    other_keys: OtherKeys,
    scratch: Vec<u8>,
    /// The beginning of the last reply that was not correct.
    example: Vec<u8>,
}

impl Http1 {
    pub(super) fn new(plan: &Plan, filling: &Filling) -> Result<(Self, Vec<WireOperation>), PlanError> {
        let mut parser = Parser::new(&plan.keys.prefix, &PLACEHOLDERS, filling.data);
        let body_max_bytes = reply_max::bytes(plan, false);
        let mut exchanges = Vec::new();
        let mut add = |(index, operation): (usize, &plan::Operation)| {
            let mut steps = Vec::new();
            for (step, written) in operation.requests.iter().enumerate() {
                let place = format!("operations[{index}].requests[{step}]");
                let request = Request::new(written, &place, &mut parser, filling)?;
                other_keys::check(plan, request.others, &place)?;
                let expectation = Expectation::new(&written.expect, &format!("{place}.expect"), &mut parser)?;
                steps.push(Step { name: request.name.clone(), number: exchanges.len() });
                let is_checked = plan.verify.replies && expectation.needs_body();
                let requested = Requested {
                    is_head: request.method == Method::Head,
                    kept_max_bytes: is_checked.then_some(body_max_bytes),
                };
                exchanges.push(Exchange { request, requested, expectation });
            }
            Ok(WireOperation { steps, ..WireOperation::default() })
        };
        let operations = plan.operations.iter().enumerate().map(&mut add).collect::<Result<_, PlanError>>()?;
        let http1 = Self {
            exchanges,
            targets: plan.endpoints.iter().map(Target::new).collect(),
            kept: Kept::default(),
            counts_mismatches: plan.verify.count_mismatch,
            other_keys: OtherKeys::new(plan),
            scratch: Vec::new(),
            example: Vec::new(),
        };
        Ok((http1, operations))
    }

    #[inline]
    pub(super) fn encode(&mut self, number: usize, target: usize, filling: &Filling, out: &mut impl Sink) {
        let request = &self.exchanges[number].request;
        let target = &self.targets[target];
        if request.others > 0 {
            let others = self.other_keys.draw(request.others, filling.key, filling.seq);
            return request.write(target, &Filling { others, ..*filling }, &mut self.scratch, out);
        }
        request.write(target, filling, &mut self.scratch, out);
    }

    #[inline]
    pub(super) fn decode(
        &mut self,
        number: Option<usize>,
        reading: &mut Reading,
        bytes: &[u8],
    ) -> Result<Decoded, Malformed> {
        let requested = number.map(|number| self.exchanges[number].requested);
        decoding::decode(reading, requested, bytes, &mut self.kept)
    }

    #[inline]
    pub(super) fn judge(&mut self, number: usize, filling: &Filling, reading: &mut Reading, reply: &[u8]) -> Verdict {
        let status = reading.status();
        let Exchange { requested, expectation, .. } = &self.exchanges[number];
        let body = requested.kept_max_bytes.map(|_| reading.body(reply));
        let verdict = match expectation.compare(status, body, filling, &mut self.scratch) {
            // A server that refuses is a failure even where mismatches do not count.
            Err(Mismatch::Status) if self.counts_mismatches || status >= 400 => Err(ErrorKind::of_status(status)),
            Err(Mismatch::Body) if self.counts_mismatches => Err(ErrorKind::BodyMismatch),
            _ => Ok(()),
        };
        if verdict.is_err() {
            self.note_example(reading, reply);
        }
        reading.restart(&mut self.kept);
        verdict
    }

    /// Notes the status line of a reply and the beginning of its body.
    #[cold]
    fn note_example(&mut self, reading: &Reading, reply: &[u8]) {
        self.example.clear();
        match reading.status_line(reply) {
            Some(line) => push_beginning(line, &mut self.example),
            None => push_beginning(format!("HTTP/1.1 {}", reading.status()).as_bytes(), &mut self.example),
        }
        self.example.push(b' ');
        push_beginning(reading.body(reply), &mut self.example);
    }

    /// See [`super::Wire::write_example`].
    pub(super) fn write_example(&self, out: &mut Vec<u8>) {
        push_beginning(&self.example, out);
    }
}

/// See [`super::Wire::ending`].
pub(super) fn ending(is_due: bool, reading: &Reading, unread: usize) -> Ending {
    match reading.ending(unread) {
        _ if !is_due => Ending::Idle,
        decoding::Ending::Complete => Ending::Complete,
        decoding::Ending::BeforeReply => {
            Ending::Lost(ErrorKind::ConnectionClosed, "the server closed the connection before a reply")
        }
        decoding::Ending::Truncated => {
            Ending::Lost(ErrorKind::TruncatedReply, "the server closed the connection within a reply")
        }
    }
}
