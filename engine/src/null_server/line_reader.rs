//! The server's side of memcached's meta protocol: which command is it, and where does it end, with its data.

use super::command_reader::Found;

/// The longest line taken.
const LINE_MAX_BYTES: usize = 4096;

/// Where a connection stands in its stream of commands. Data are skipped, not copied.
#[derive(Debug, Default)]
pub(super) struct LineReader {
    /// Bytes of the data, with their line end, that are still to be skipped.
    skip: usize,
    /// The command whose data are skipped.
    command: Option<usize>,
}

impl LineReader {
    /// Goes on with `bytes`, to the end of one command at the most. Returns how many bytes were used; unused ones
    /// must come again with what follows them. `find` returns what a name stands for.
    #[inline]
    pub fn read(&mut self, bytes: &[u8], find: impl Fn(&[u8]) -> usize) -> (usize, Found) {
        let mut at = 0;
        if self.command.is_none() {
            let Some(end) = memchr::memchr(b'\n', &bytes[..bytes.len().min(LINE_MAX_BYTES)]) else {
                return (0, if bytes.len() < LINE_MAX_BYTES { Found::More } else { Found::Bad });
            };
            let Some((name, data)) = bytes[..end].strip_suffix(b"\r").and_then(name_and_data) else {
                return (0, Found::Bad);
            };
            (at, self.skip, self.command) = (end + 1, data, Some(find(name)));
        }
        let skipped = self.skip.min(bytes.len() - at);
        self.skip -= skipped;
        match self.command.take_if(|_| self.skip == 0) {
            Some(command) => (at + skipped, Found::Command { command, digit: 0 }),
            None => (at + skipped, Found::More),
        }
    }
}

/// The name of a command, and how many bytes follow its line. None: it is none.
fn name_and_data(line: &[u8]) -> Option<(&[u8], usize)> {
    let mut words = line.split(|&byte| byte == b' ');
    let name = words.next().filter(|name| !name.is_empty())?;
    let length = match name {
        b"ms" => words.nth(1)?,
        // The login.
        b"set" => words.nth(3)?,
        _ => return Some((name, 0)),
    };
    let length: u32 = std::str::from_utf8(length).ok()?.parse().ok()?;
    Some((name, length as usize + b"\r\n".len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const STREAM: &[u8] = b"set loadstone 0 0 4\r\na b\n\r\nmn\r\nms k 5 T60\r\nhe\r\nl\r\nmg k v\r\n\
        ms k 0\r\n\r\nmd k\r\n";
    const NAMES: [&[u8]; 5] = [b"set", b"mn", b"ms", b"mg", b"md"];

    fn find(name: &[u8]) -> usize {
        NAMES.iter().position(|known| *known == name).unwrap()
    }

    fn read_all(pieces: &[&[u8]]) -> Vec<usize> {
        let (mut reader, mut held, mut commands) = (LineReader::default(), Vec::new(), Vec::new());
        for piece in pieces {
            held.extend_from_slice(piece);
            let mut at = 0;
            while at < held.len() {
                let (used, found) = reader.read(&held[at..], find);
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
    fn commands_are_found_however_they_are_cut() {
        let expected = [0, 1, 2, 3, 2, 4];
        assert_eq!(read_all(&[STREAM]), expected);
        for cut in 0..STREAM.len() {
            assert_eq!(read_all(&[&STREAM[..cut], &STREAM[cut..]]), expected, "cut at {cut}");
        }
        assert_eq!(read_all(&STREAM.chunks(1).collect::<Vec<_>>()), expected);
    }

    #[test]
    fn what_is_no_command_is_bad() {
        let long = vec![b'x'; LINE_MAX_BYTES];
        for bytes in
            [&b"\r\n"[..], b"mg k v\n", b"ms k\r\n", b"ms k x\r\n", b"ms k -1\r\n", b"set a 0 0\r\n", &long[..]]
        {
            assert_eq!(LineReader::default().read(bytes, |_| 0).1, Found::Bad, "{bytes:?}");
        }
    }
}
