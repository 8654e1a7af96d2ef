//! What is particular to HTTP: its replies' worth, and connections that servers close in good order.

use super::compile::Command;
use super::{ErrorKind, Judgement, Protocol, Reading, Request, Wire};
use crate::http1;

/// What it means that a server closed a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// That was the end of the reply.
    Complete,
    /// Nothing was asked for: a server may close a connection that idles.
    Idle,
    Lost(ErrorKind, &'static str),
}

impl Protocol {
    /// What it means that the server closed a connection on which something `is_asked`; `unread` bytes were
    /// received and not decoded.
    pub fn ending(&self, is_asked: bool, reading: &Reading, unread: usize) -> Ending {
        if !self.is_http() {
            return Ending::Lost(ErrorKind::ConnectionClosed, "the server closed the connection");
        }
        match reading.ending(unread) {
            _ if !is_asked => Ending::Idle,
            http1::Ending::Complete => Ending::Complete,
            http1::Ending::BeforeReply => {
                Ending::Lost(ErrorKind::ConnectionClosed, "the server closed the connection before a reply")
            }
            http1::Ending::Truncated => {
                Ending::Lost(ErrorKind::TruncatedReply, "the server closed the connection within a reply")
            }
        }
    }

    /// See [`Protocol::judge`].
    #[inline]
    pub(super) fn judge_http(
        &mut self,
        request: &Request,
        command: Command,
        reading: &mut Reading,
        reply: &[u8],
    ) -> Judgement {
        let Wire::Http { exchanges, spares, .. } = &mut self.wire else { return Judgement::Right };
        let (status, body) = (reading.status(), reading.body(reply));
        let filling = request.filling(&self.shared, b"");
        let expectation = &exchanges[command.encoded].expectation;
        let verdict = expectation.judge(status, body, self.judge.replies, &filling, &mut self.scratch);
        reading.restart(spares);
        match verdict {
            // A server that refuses is a failure even where mismatches do not count.
            http1::Verdict::Status if self.judge.count_mismatch || status >= 400 => {
                Judgement::Wrong(ErrorKind::of_status(status))
            }
            http1::Verdict::Body if self.judge.count_mismatch => Judgement::Wrong(ErrorKind::BodyMismatch),
            _ => Judgement::Right,
        }
    }
}
