//! The client's side of RESP: how commands are framed, and what a connection says first.

use crate::content::template::{Part, write_integer};
use crate::content::values::Values;
use crate::plan::{Endpoint, WireKind};
use crate::wire::command::Command;

/// The command with these arguments; the first is its name. Any arguments can be framed.
pub(super) fn framed(arguments: Vec<Vec<Part>>, values: &Values) -> Result<Command, String> {
    let mut command = Command::default();
    command.push_text(&format!("*{}\r\n", arguments.len()));
    for argument in arguments {
        command.push_text("$");
        command.push_sized(argument, vec![Part::Literal(b"\r\n".to_vec())], values);
        command.push_text("\r\n");
    }
    Ok(command)
}

pub(super) fn write_argument(argument: &[u8], out: &mut Vec<u8>) {
    out.push(b'$');
    write_integer(argument.len() as i128, out);
    out.extend_from_slice(b"\r\n");
    out.extend_from_slice(argument);
    out.extend_from_slice(b"\r\n");
}

pub(super) fn write_command(arguments: &[&str], out: &mut Vec<u8>) {
    out.push(b'*');
    write_integer(arguments.len() as i128, out);
    out.extend_from_slice(b"\r\n");
    arguments.iter().for_each(|argument| write_argument(argument.as_bytes(), out));
}

/// Appends what a new connection says first: HELLO 3 (RESP3), AUTH, SELECT, and last CLIENT SETNAME.
/// Of a Sentinel AUTH, and the question where the primary is. `reads_only`: of a cluster's replica, READONLY before the
/// last. Returns the number of replies to expect.
pub(super) fn write_hello(kind: WireKind, endpoint: &Endpoint, reads_only: bool, out: &mut Vec<u8>) -> usize {
    let user = endpoint.username.as_deref();
    if let Some(name) = &endpoint.sentinel_of {
        return write_question(name, user, endpoint.password.as_deref(), out);
    }
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
    if reads_only {
        commands.push(vec!["READONLY"]);
    }
    commands.push(vec!["CLIENT", "SETNAME", "loadstone"]);
    commands.iter().for_each(|command| write_command(command, out));
    commands.len()
}

fn write_question(name: &str, user: Option<&str>, password: Option<&str>, out: &mut Vec<u8>) -> usize {
    let login = password.map(|password| ["AUTH"].into_iter().chain(user).chain([password]).collect::<Vec<_>>());
    let question = vec!["SENTINEL", "GET-MASTER-ADDR-BY-NAME", name];
    let commands = login.into_iter().chain([question]);
    commands.inspect(|command| write_command(command, out)).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::content::template::{Filling, Parser};
    use crate::plan::Documents;

    fn written(arguments: &[&str], filling: &Filling) -> String {
        let mut parser = Parser::new("k:", &crate::wire::exchange::PLACEHOLDERS, None);
        let parts = arguments.iter().map(|argument| parser.parse(argument, "args").unwrap()).collect();
        let command = framed(parts, filling.values).unwrap();
        let (mut out, mut scratch) = (vec![], vec![]);
        command.write(filling, &mut scratch, &mut out);
        let first = out.clone();
        command.write(filling, &mut scratch, &mut out);
        assert_eq!(out, [first.clone(), first.clone()].concat(), "writing appends, and repeats itself");
        String::from_utf8(first).unwrap()
    }

    #[test]
    fn commands_are_framed_with_the_correct_lengths() {
        let values = Values::new(5, &Documents { payload_bytes: 20, field_bytes: 4, ..Documents::default() });
        let filling = Filling {
            values: &values,
            key: 7,
            version: 3,
            seq: 12,
            intended: Default::default(),
            previous: b"",
            others: &[],
            data: None,
        };
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
        let values = Values::new(5, &Documents { payload_bytes: 2000, field_bytes: 700, ..Documents::default() });
        let filling = Filling { values: &values, ..filling };
        let mut document = vec![];
        values.write_document(7, 3, &mut document);
        let document = String::from_utf8(document).unwrap();
        assert_eq!(
            written(&["SET", "{document}", "{version}"], &filling),
            format!("*3\r\n$3\r\nSET\r\n$2122\r\n{document}\r\n$10\r\n0000000003\r\n")
        );
    }

    #[test]
    fn what_is_always_the_same_is_one_piece() {
        let pieces = |payload_bytes, arguments: [&str; 4]| {
            let values = Values::new(5, &Documents { payload_bytes, field_bytes: 10, ..Documents::default() });
            let mut parser = Parser::new("k:", &crate::wire::exchange::PLACEHOLDERS, None);
            let parts = arguments.map(|argument| parser.parse(argument, "args").unwrap());
            framed(parts.to_vec(), &values).unwrap().pieces()
        };
        assert_eq!(pieces(100, ["GET", "{key}", "{version}", "{field}"]), 1);
        assert_eq!(pieces(100, ["SET", "{key}", "{value}", "{document}"]), 1, "a short text is copied into its place");
        assert_eq!(pieces(10_000, ["SET", "{key}", "{value}", "NX"]), 2);
        assert_eq!(pieces(100, ["XADD", "{key}", "{seq}", "{uniform 1..9}"]), 3);
    }

    fn hello(kind: WireKind, endpoint: &Endpoint) -> (usize, String) {
        let mut out = vec![];
        let replies = write_hello(kind, endpoint, endpoint.replica_of.is_some(), &mut out);
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
        let replica = Endpoint { replica_of: Some(0), ..Endpoint::default() };
        assert_eq!(hello(WireKind::Resp2, &replica), (2, format!("*1 $8 READONLY {name}")));
        let question = "*3 $8 SENTINEL $23 GET-MASTER-ADDR-BY-NAME $2 my ";
        let sentinel = Endpoint { sentinel_of: Some("my".into()), ..user };
        for kind in [WireKind::Resp2, WireKind::Resp3] {
            assert_eq!(hello(kind, &sentinel), (2, format!("*3 $4 AUTH $3 ann $3 p w {question}")));
            let open = Endpoint { password: None, ..sentinel.clone() };
            assert_eq!(hello(kind, &open), (1, question.into()));
        }
    }
}
