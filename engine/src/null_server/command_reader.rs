//! The server's side of commands: which one is it, and where does it end.

/// Where a connection stands in its stream of commands. Arguments are skipped, not copied.
#[derive(Debug, Default)]
pub(super) struct CommandReader {
    /// Bytes of the current argument, with its line end, that are to be skipped.
    skip: usize,
    arguments_left: u64,
    /// Arguments of the current command read so far.
    index: u64,
    command: Option<usize>,
    /// The second argument of a greeting, if it is one digit.
    digit: u8,
}

/// What was found in the bytes so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Found {
    /// A whole command: what `find` said of its name, and its second argument if that is one digit (0 if not).
    Command { command: usize, digit: u8 },
    /// Not enough bytes to go on.
    More,
    /// No RESP command.
    Bad,
}

/// The longest name of a command that is looked up.
const NAME_MAX_BYTES: usize = 64;
const HEAD_MAX_BYTES: usize = 16;

impl CommandReader {
    /// Goes on with `bytes`, to the end of one command at the most. Returns how many bytes were used; unused ones
    /// (few) must come again with what follows them. `find` returns what a name stands for.
    #[inline]
    pub fn read(&mut self, bytes: &[u8], find: impl Fn(&[u8]) -> usize) -> (usize, Found) {
        let mut at = 0;
        loop {
            if self.skip > 0 {
                let skipped = self.skip.min(bytes.len() - at);
                self.skip -= skipped;
                at += skipped;
                if self.skip > 0 {
                    return (at, Found::More);
                }
                self.arguments_left -= 1;
            }
            if self.arguments_left == 0
                && let Some(command) = self.command.take()
            {
                return (at, Found::Command { command, digit: std::mem::take(&mut self.digit) });
            }
            let kind = if self.arguments_left == 0 { b'*' } else { b'$' };
            let rest = &bytes[at..];
            let (length, head) = match read_head(kind, rest) {
                Head::Is(length, head) => (length, head),
                Head::More => return (at, Found::More),
                Head::Bad => return (at, Found::Bad),
            };
            if kind == b'*' {
                (self.arguments_left, self.index) = (length as u64, 0);
                at += head;
                continue;
            }
            match self.look_at(&rest[head..], length, &find) {
                Some(Found::More) => return (at, Found::More),
                Some(found) => return (at, found),
                None => {}
            }
            self.index += 1;
            self.skip = length + 2;
            at += head;
        }
    }

    /// Looks at the first two arguments; `bytes` begin with the argument.
    #[inline]
    fn look_at(&mut self, bytes: &[u8], length: usize, find: &impl Fn(&[u8]) -> usize) -> Option<Found> {
        match self.index {
            0 if length > NAME_MAX_BYTES => Some(Found::Bad),
            0 => match bytes.get(..length) {
                None => Some(Found::More),
                Some(name) => {
                    self.command = Some(find(name));
                    None
                }
            },
            1 if length == 1 => match bytes.first() {
                None => Some(Found::More),
                Some(digit) => {
                    self.digit = digit.wrapping_sub(b'0');
                    None
                }
            },
            _ => None,
        }
    }
}

enum Head {
    Is(usize, usize),
    More,
    Bad,
}

/// Reads `<kind><digits>\r\n`.
#[inline]
fn read_head(kind: u8, bytes: &[u8]) -> Head {
    match bytes.first() {
        None => return Head::More,
        Some(first) if *first != kind => return Head::Bad,
        Some(_) => {}
    }
    let mut length = 0usize;
    for (place, &byte) in bytes.iter().enumerate().skip(1).take(HEAD_MAX_BYTES) {
        let digit = byte.wrapping_sub(b'0');
        if digit <= 9 {
            length = length * 10 + usize::from(digit);
            continue;
        }
        return match (byte, bytes.get(place + 1)) {
            (b'\r', Some(b'\n')) if place > 1 => Head::Is(length, place + 2),
            (b'\r', None) => Head::More,
            _ => Head::Bad,
        };
    }
    if bytes.len() > HEAD_MAX_BYTES { Head::Bad } else { Head::More }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STREAM: &[u8] =
        b"*2\r\n$3\r\nGET\r\n$5\r\nk\r\nab\r\n*1\r\n$4\r\nPING\r\n*0\r\n*2\r\n$5\r\nHELLO\r\n$1\r\n3\r\n\
        *3\r\n$3\r\nSET\r\n$0\r\n\r\n$20\r\nxxxxxxxxxxxxxxxxxxxx\r\n";

    fn find(name: &[u8]) -> usize {
        [&b"GET"[..], b"PING", b"HELLO", b"SET"].iter().position(|known| *known == name).unwrap()
    }

    /// Feeds pieces as a connection does: unused bytes come again in front of the next piece.
    fn read_all(pieces: &[&[u8]]) -> Vec<(usize, u8)> {
        let (mut reader, mut held, mut commands) = (CommandReader::default(), Vec::new(), Vec::new());
        for piece in pieces {
            held.extend_from_slice(piece);
            let mut at = 0;
            loop {
                let (used, found) = reader.read(&held[at..], find);
                at += used;
                match found {
                    Found::Command { command, digit } => commands.push((command, digit)),
                    Found::More => break,
                    Found::Bad => panic!("{:?}", String::from_utf8_lossy(&held[at..])),
                }
            }
            held.drain(..at);
            assert!(held.len() < 80);
        }
        commands
    }

    #[test]
    fn commands_are_found_however_they_are_cut() {
        let expected = vec![(0, 0), (1, 0), (2, 3), (3, 0)];
        assert_eq!(read_all(&[STREAM]), expected);
        for cut in 0..STREAM.len() {
            assert_eq!(read_all(&[&STREAM[..cut], &STREAM[cut..]]), expected, "cut at {cut}");
        }
        assert_eq!(read_all(&STREAM.chunks(1).collect::<Vec<_>>()), expected);
    }

    #[test]
    fn what_is_no_command_is_bad() {
        for bytes in
            [&b"GET key\r\n"[..], b"*x\r\n", b"*\r\n", b"*1\r\n+GET\r\n", b"*1\r\n$99\r\nG", b"*1\r\n$-1\r\n", b"*1\rx"]
        {
            assert_eq!(CommandReader::default().read(bytes, |_| 0).1, Found::Bad, "{bytes:?}");
        }
        assert_eq!(CommandReader::default().read(b"*11111111111111111111", |_| 0).1, Found::Bad);
    }
}
