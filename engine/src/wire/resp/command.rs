//! The client's side of RESP: commands.

use crate::content::template::{Filling, Part, write_integer};
use crate::content::values::{ID_DIGITS, VERSION_DIGITS, Values, digits};
use crate::plan::Endpoint;
use crate::wire::WireKind;

/// A command, ready to be written: all that is the same in every request is copied in one go.
#[derive(Debug)]
pub(super) struct Command {
    pieces: Vec<Piece>,
}

#[derive(Debug)]
enum Piece {
    /// Text in which the digits of ids and versions are filled in, each at its place.
    Stencil {
        text: Vec<u8>,
        ids: Vec<usize>,
        versions: Vec<usize>,
    },
    Part(Part),
    /// An argument whose length is known only once it is written.
    Sized(Vec<Part>),
}

impl Command {
    /// The command with these arguments; the first is its name.
    pub fn new(arguments: Vec<Vec<Part>>, values: &Values) -> Self {
        let mut command = Self { pieces: vec![] };
        command.push(Part::Literal(format!("*{}\r\n", arguments.len()).into_bytes()));
        for argument in arguments {
            match argument.iter().map(|part| part.fixed_bytes(values)).sum::<Option<usize>>() {
                Some(length) => {
                    command.push(Part::Literal(format!("${length}\r\n").into_bytes()));
                    argument.into_iter().for_each(|part| command.push(part));
                    command.push(Part::Literal(b"\r\n".to_vec()));
                }
                None => command.pieces.push(Piece::Sized(argument)),
            }
        }
        command
    }

    fn push(&mut self, part: Part) {
        if !matches!(part, Part::Literal(_) | Part::Id | Part::Version) {
            return self.pieces.push(Piece::Part(part));
        }
        if !matches!(self.pieces.last(), Some(Piece::Stencil { .. })) {
            self.pieces.push(Piece::Stencil { text: vec![], ids: vec![], versions: vec![] });
        }
        let Some(Piece::Stencil { text, ids, versions }) = self.pieces.last_mut() else { return };
        match part {
            Part::Id => {
                ids.push(text.len());
                text.extend([b'0'; ID_DIGITS]);
            }
            Part::Version => {
                versions.push(text.len());
                text.extend([b'0'; VERSION_DIGITS]);
            }
            Part::Literal(literal) => text.extend(literal),
            _ => {}
        }
    }

    /// Appends the command. `scratch` is only there to be reused.
    #[inline]
    pub fn write(&self, filling: &Filling, scratch: &mut Vec<u8>, out: &mut Vec<u8>) {
        for piece in &self.pieces {
            match piece {
                Piece::Stencil { text, ids, versions } => {
                    let start = out.len();
                    out.extend_from_slice(text);
                    for &at in ids {
                        out[start + at..][..ID_DIGITS].copy_from_slice(&digits::<ID_DIGITS>(filling.key));
                    }
                    for &at in versions {
                        let version = digits::<VERSION_DIGITS>(filling.version.into());
                        out[start + at..][..VERSION_DIGITS].copy_from_slice(&version);
                    }
                }
                Piece::Part(part) => part.write(filling, out),
                Piece::Sized(parts) => {
                    scratch.clear();
                    parts.iter().for_each(|part| part.write(filling, scratch));
                    write_argument(scratch, out);
                }
            }
        }
    }
}

fn write_argument(argument: &[u8], out: &mut Vec<u8>) {
    out.push(b'$');
    write_integer(argument.len() as i128, out);
    out.extend_from_slice(b"\r\n");
    out.extend_from_slice(argument);
    out.extend_from_slice(b"\r\n");
}

fn write_command(arguments: &[&str], out: &mut Vec<u8>) {
    out.push(b'*');
    write_integer(arguments.len() as i128, out);
    out.extend_from_slice(b"\r\n");
    arguments.iter().for_each(|argument| write_argument(argument.as_bytes(), out));
}

/// Appends what a new connection says first: HELLO 3 (RESP3), AUTH, SELECT, and last CLIENT SETNAME.
/// Returns the number of replies to expect.
pub(super) fn write_hello(kind: WireKind, endpoint: &Endpoint, out: &mut Vec<u8>) -> usize {
    let user = endpoint.username.as_deref();
    let mut commands: Vec<Vec<&str>> = vec![];
    match (kind, &endpoint.password) {
        (WireKind::Resp3, None) => commands.push(vec!["HELLO", "3"]),
        (WireKind::Resp3, Some(password)) => {
            commands.push(vec!["HELLO", "3", "AUTH", user.unwrap_or("default"), password]);
        }
        (_, None) => {}
        (_, Some(password)) => {
            commands.push(["AUTH"].into_iter().chain(user).chain([password.as_str()]).collect());
        }
    }
    let database = endpoint.database.to_string();
    if endpoint.database != 0 {
        commands.push(vec!["SELECT", &database]);
    }
    commands.push(vec!["CLIENT", "SETNAME", "loadstone"]);
    commands.iter().for_each(|command| write_command(command, out));
    commands.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::content::template::Parser;
    use crate::plan::Documents;

    fn written(arguments: &[&str], filling: &Filling) -> String {
        let mut parser = Parser::new("k:", &crate::wire::resp::PLACEHOLDERS, None);
        let parts = arguments.iter().map(|argument| parser.parse(argument, "args").unwrap()).collect();
        let command = Command::new(parts, filling.values);
        let (mut out, mut scratch) = (vec![], vec![]);
        command.write(filling, &mut scratch, &mut out);
        let first = out.clone();
        command.write(filling, &mut scratch, &mut out);
        assert_eq!(out, [first.clone(), first.clone()].concat(), "writing appends, and repeats itself");
        String::from_utf8(first).unwrap()
    }

    #[test]
    fn commands_are_framed_with_the_correct_lengths() {
        let values = Values::new(5, &Documents { payload_bytes: 20, field_bytes: 4 });
        let filling = Filling { values: &values, key: 7, version: 3, seq: 12, previous: b"", data: None };
        assert_eq!(written(&["GET", "{key}"], &filling), "*2\r\n$3\r\nGET\r\n$14\r\nk:000000000007\r\n");
        assert_eq!(
            written(&["SET", "{key}", "größe", ""], &filling),
            "*4\r\n$3\r\nSET\r\n$14\r\nk:000000000007\r\n$7\r\ngröße\r\n$0\r\n\r\n"
        );
        assert_eq!(
            written(&["ZADD", "{seq}", "a{uniform 3..3}b", "{id}"], &filling),
            "*4\r\n$4\r\nZADD\r\n$2\r\n12\r\n$3\r\na3b\r\n$12\r\n000000000007\r\n"
        );
        let mut document = vec![];
        values.write_document(7, 3, &mut document);
        let document = String::from_utf8(document).unwrap();
        assert_eq!(written(&["{document}"], &filling), format!("*1\r\n$142\r\n{document}\r\n"));
        assert_eq!(written(&["{changed}"], &filling), format!("*1\r\n$142\r\n{document}\r\n"));
    }

    #[test]
    fn what_is_always_the_same_is_one_piece() {
        let values = Values::new(5, &Documents::default());
        let mut parser = Parser::new("k:", &crate::wire::resp::PLACEHOLDERS, None);
        let parts = ["GET", "{key}", "{version}"].map(|argument| parser.parse(argument, "args").unwrap());
        assert_eq!(Command::new(parts.to_vec(), &values).pieces.len(), 1);
    }

    fn hello(kind: WireKind, endpoint: &Endpoint) -> (usize, String) {
        let mut out = vec![];
        let replies = write_hello(kind, endpoint, &mut out);
        (replies, String::from_utf8(out).unwrap().replace("\r\n", " "))
    }

    #[test]
    fn a_connection_introduces_itself() {
        let name = "*3 $6 CLIENT $7 SETNAME $9 loadstone ";
        let plain = Endpoint::default();
        assert_eq!(hello(WireKind::Resp2, &plain), (1, name.into()));
        assert_eq!(hello(WireKind::Resp3, &plain), (2, format!("*2 $5 HELLO $1 3 {name}")));
        let secret = Endpoint { password: Some("p w".into()), database: 5, ..Endpoint::default() };
        let select = format!("*2 $6 SELECT $1 5 {name}");
        assert_eq!(hello(WireKind::Resp2, &secret), (3, format!("*2 $4 AUTH $3 p w {select}")));
        let auth = "*5 $5 HELLO $1 3 $4 AUTH $7 default $3 p w ";
        assert_eq!(hello(WireKind::Resp3, &secret), (3, format!("{auth}{select}")));
        let user = Endpoint { username: Some("ann".into()), database: 0, ..secret };
        assert_eq!(hello(WireKind::Resp2, &user), (2, format!("*3 $4 AUTH $3 ann $3 p w {name}")));
        assert_eq!(hello(WireKind::Resp3, &user).0, 2);
    }
}
