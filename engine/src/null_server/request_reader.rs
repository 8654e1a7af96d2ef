//! The server's side of HTTP: where does a request end, and may its reply have a body.

use httparse::{EMPTY_HEADER, Request, Status};

use super::command_reader::Found;
use super::replies::{HTTP_HEAD, HTTP_OTHER};

const HEADERS_MAX: usize = 64;
const HEAD_MAX_BYTES: usize = 64 * 1024;

/// Where a connection stands in its stream of requests. Bodies are skipped, not copied.
#[derive(Debug, Default)]
pub(super) struct RequestReader {
    /// Bytes of the body that are still to be skipped.
    skip: u64,
    /// The request whose body is skipped.
    command: Option<usize>,
}

impl RequestReader {
    /// Goes on with `bytes`, to the end of one request at the most. Returns how many bytes were used; unused ones
    /// must come again with what follows them.
    #[inline]
    pub fn read(&mut self, bytes: &[u8]) -> (usize, Found) {
        let mut at = 0;
        if self.command.is_none() {
            let mut headers = [EMPTY_HEADER; HEADERS_MAX];
            let mut request = Request::new(&mut headers);
            match request.parse(bytes) {
                Ok(Status::Complete(length)) => at = length,
                Ok(Status::Partial) if bytes.len() < HEAD_MAX_BYTES => return (0, Found::More),
                _ => return (0, Found::Bad),
            }
            let Some(length) = body_bytes(request.headers) else { return (0, Found::Bad) };
            self.skip = length;
            self.command = Some(if request.method == Some("HEAD") { HTTP_HEAD } else { HTTP_OTHER });
        }
        let skipped = usize::try_from(self.skip).unwrap_or(usize::MAX).min(bytes.len() - at);
        self.skip -= skipped as u64;
        match self.command.take_if(|_| self.skip == 0) {
            Some(command) => (at + skipped, Found::Command { command, digit: 0 }),
            None => (at + skipped, Found::More),
        }
    }
}

/// The length of the body; None if that is not plainly said.
fn body_bytes(headers: &[httparse::Header]) -> Option<u64> {
    let named = |name: &str| headers.iter().find(|header| header.name.eq_ignore_ascii_case(name));
    if named("transfer-encoding").is_some() {
        return None;
    }
    match named("content-length") {
        Some(header) => std::str::from_utf8(header.value).ok()?.parse().ok(),
        None => Some(0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STREAM: &[u8] = b"GET / HTTP/1.1\r\nHost: a\r\n\r\nPOST /b HTTP/1.1\r\ncontent-length: 5\r\n\r\nhello\
        HEAD / HTTP/1.1\r\n\r\nPUT / HTTP/1.1\r\nContent-Length: 0\r\n\r\n";

    fn read_all(pieces: &[&[u8]]) -> Vec<usize> {
        let (mut reader, mut held, mut commands) = (RequestReader::default(), Vec::new(), Vec::new());
        for piece in pieces {
            held.extend_from_slice(piece);
            let mut at = 0;
            while at < held.len() {
                let (used, found) = reader.read(&held[at..]);
                at += used;
                match found {
                    Found::Command { command, .. } => commands.push(command),
                    Found::More => break,
                    Found::Bad => panic!("{:?}", String::from_utf8_lossy(&held[at..])),
                }
            }
            held.drain(..at);
        }
        commands
    }

    #[test]
    fn requests_are_found_however_they_are_cut() {
        let expected = [HTTP_OTHER, HTTP_OTHER, HTTP_HEAD, HTTP_OTHER];
        assert_eq!(read_all(&[STREAM]), expected);
        for cut in 0..STREAM.len() {
            assert_eq!(read_all(&[&STREAM[..cut], &STREAM[cut..]]), expected, "cut at {cut}");
        }
        assert_eq!(read_all(&STREAM.chunks(1).collect::<Vec<_>>()), expected);
    }

    #[test]
    fn what_is_no_plain_request_is_bad() {
        for bytes in [
            &b"*1\r\n$4\r\nPING\r\n"[..],
            b"GET / HTTP/1.1\r\nContent-Length: x\r\n\r\n",
            b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        ] {
            assert_eq!(RequestReader::default().read(bytes).1, Found::Bad, "{bytes:?}");
        }
    }
}
