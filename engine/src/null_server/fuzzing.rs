//! Commands and requests as the null server reads them. See [`crate::fuzzing`].

use super::client::Reader;
use super::command_reader::{CommandReader, Found};
use super::line_reader::LineReader;
use super::request_reader::RequestReader;
use crate::fuzzing::Input;

/// What a connection holds back at the most: what is unused of a command's head and name, or of a request's head.
const HELD_MAX_BYTES: usize = 64 * 1024 + 100;

/// A stream of commands of RESP.
pub fn commands(data: &[u8]) {
    let Some(input) = Input::of(data) else { return };
    input.both_ways(input.bytes, |pieces| found(pieces, Reader::Resp(CommandReader::default())));
}

/// A stream of HTTP requests.
pub fn requests(data: &[u8]) {
    let Some(input) = Input::of(data) else { return };
    input.both_ways(input.bytes, |pieces| found(pieces, Reader::Http(RequestReader::default())));
}

/// A stream of commands of memcached.
pub fn lines(data: &[u8]) {
    let Some(input) = Input::of(data) else { return };
    input.both_ways(input.bytes, |pieces| found(pieces, Reader::Lines(LineReader::default())));
}

/// The commands that were found, as a connection finds them, and whether the last bytes are bad.
fn found(pieces: &[&[u8]], mut reader: Reader) -> (Vec<(usize, u8)>, bool) {
    let (mut held, mut commands) = (Vec::new(), Vec::new());
    for piece in pieces {
        held.extend_from_slice(piece);
        let mut used = 0;
        while used < held.len() {
            let (taken, found) = reader.read(&held[used..], |name| name.len());
            used += taken;
            assert!(used <= held.len());
            match found {
                Found::Command { command, digit } => commands.push((command, digit)),
                Found::More => break,
                Found::Bad => return (commands, true),
            }
        }
        held.drain(..used);
        assert!(held.len() <= HELD_MAX_BYTES);
    }
    (commands, false)
}
