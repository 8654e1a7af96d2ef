//! The client's side of the meta protocol: how commands are framed, and what a connection says first.

use crate::content::template::Part;
use crate::content::values::Values;
use crate::plan::Endpoint;
use crate::wire::command::Command;

/// The longest key that memcached takes.
const KEY_MAX_BYTES: usize = 250;
/// What an integer takes at the most, of placeholders whose length is not always the same.
const INTEGER_BYTES: usize = 20;
/// The commands: with a key, and the one without.
const WITH_KEY: [&[u8]; 4] = [b"mg", b"ms", b"md", b"ma"];
pub(super) const STORE: &[u8] = b"ms";
const NOTHING: &[u8] = b"mn";

/// The command with these arguments: its name, its key, of `ms` the data, and flags. The data's length is written where
/// the protocol has it. The error says why it is none.
pub(super) fn framed(arguments: Vec<Vec<Part>>, values: &Values) -> Result<Command, String> {
    let mut arguments = arguments.into_iter();
    let name = match arguments.next().as_deref() {
        Some([Part::Literal(name)]) => name.clone(),
        _ => Vec::new(),
    };
    let text = String::from_utf8_lossy(&name).into_owned();
    let mut command = Command::default();
    if name == NOTHING {
        command.push_text("mn\r\n");
        return if arguments.next().is_none() { Ok(command) } else { Err("mn takes no key and no flags".into()) };
    }
    if !WITH_KEY.contains(&name.as_slice()) {
        return Err(format!("`{text}` is no meta command of memcached: use mg, ms, md, ma or mn"));
    }
    let key = arguments.next().ok_or_else(|| format!("`{text}` needs a key, as in `{text} {{key}}`"))?;
    check_key(&key, values)?;
    command.push_text(&format!("{text} "));
    key.into_iter().for_each(|part| command.push(part, values));
    let data = if name == STORE {
        Some(arguments.next().ok_or("`ms` needs a key and data, as in `ms {key} {value}`; flags come after the data")?)
    } else {
        None
    };
    let mut rest = Vec::new();
    for flag in arguments {
        check_flag(&flag)?;
        rest.push(literal(" "));
        rest.extend(flag);
    }
    rest.push(literal("\r\n"));
    match data {
        Some(data) => {
            command.push_text(" ");
            command.push_sized(data, rest, values);
            command.push_text("\r\n");
        }
        None => rest.into_iter().for_each(|part| command.push(part, values)),
    }
    Ok(command)
}

fn literal(text: &str) -> Part {
    Part::Literal(text.as_bytes().to_vec())
}

fn check_key(key: &[Part], values: &Values) -> Result<(), String> {
    let bytes: usize = key.iter().map(|part| part.fixed_bytes(values).unwrap_or(INTEGER_BYTES)).sum();
    if bytes == 0 || bytes > KEY_MAX_BYTES {
        return Err(format!("its key takes {bytes} bytes: memcached takes keys of 1 to {KEY_MAX_BYTES}"));
    }
    check_plain(key, "its key")
}

fn check_flag(flag: &[Part]) -> Result<(), String> {
    let letter = match flag.first() {
        Some(Part::Literal(text)) => text.first().copied().unwrap_or_default(),
        _ => 0,
    };
    match letter {
        b'q' => Err("flag `q`: a quiet command is not always answered, and so cannot be measured; leave it out".into()),
        b'b' => Err("flag `b`: keys are sent as they are written; leave it out".into()),
        letter if letter.is_ascii_alphabetic() => check_plain(flag, "a flag"),
        _ => Err("a flag begins with its letter, as `v` or `T60`".into()),
    }
}

/// Whether nothing in it parts it in two.
fn check_plain(parts: &[Part], what: &str) -> Result<(), String> {
    let parted = |part: &Part| match part {
        Part::Literal(text) => text.iter().any(|byte| byte.is_ascii_whitespace() || byte.is_ascii_control()),
        _ => false,
    };
    if parts.iter().any(parted) {
        return Err(format!("{what} holds a space or a control character; write it without"));
    }
    Ok(())
}

/// Appends what a new connection says first: the login where there is one, and a command of the meta protocol. Returns
/// the number of replies to expect.
pub(super) fn write_hello(endpoint: &Endpoint, out: &mut Vec<u8>) -> usize {
    let login = endpoint.password.as_ref().map(|password| {
        let login = format!("{} {password}", endpoint.username.as_deref().unwrap_or_default());
        out.extend_from_slice(format!("set loadstone:probe:login 0 0 {}\r\n{login}\r\n", login.len()).as_bytes());
    });
    out.extend_from_slice(b"mn\r\n");
    1 + usize::from(login.is_some())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::content::template::{Filling, Parser};
    use crate::plan::Documents;
    use crate::wire::exchange::PLACEHOLDERS;

    fn tried(arguments: &[&str]) -> Result<String, String> {
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
        let mut parser = Parser::new("k:", &PLACEHOLDERS, None);
        let parts = arguments.iter().map(|argument| parser.parse(argument, "args").unwrap()).collect();
        let command = framed(parts, &values)?;
        let (mut out, mut scratch) = (vec![], vec![]);
        command.write(&filling, &mut scratch, &mut out);
        let first = out.clone();
        command.write(&filling, &mut scratch, &mut out);
        assert_eq!(out, [first.clone(), first.clone()].concat(), "writing appends, and repeats itself");
        Ok(String::from_utf8(first).unwrap())
    }

    fn written(arguments: &[&str]) -> String {
        tried(arguments).unwrap()
    }

    #[test]
    fn commands_are_lines_and_data_follow_their_length() {
        assert_eq!(written(&["mg", "{key}", "v"]), "mg k:000000000007 v\r\n");
        assert_eq!(written(&["mg", "{key}", "v", "t", "T60"]), "mg k:000000000007 v t T60\r\n");
        assert_eq!(written(&["md", "{key}"]), "md k:000000000007\r\n");
        assert_eq!(written(&["ma", "{key}:n", "v", "N0", "J{seq}"]), "ma k:000000000007:n v N0 J12\r\n");
        assert_eq!(written(&["mn"]), "mn\r\n");
        assert_eq!(written(&["ms", "{key}", "größe"]), "ms k:000000000007 7\r\ngröße\r\n");
        assert_eq!(written(&["ms", "{key}", "", "T60"]), "ms k:000000000007 0 T60\r\n\r\n");
        assert_eq!(written(&["ms", "{key}", "a\r\nb {seq}", "T60"]), "ms k:000000000007 7 T60\r\na\r\nb 12\r\n");
        assert_eq!(written(&["ms", "{key}", "{seq}", "T{uniform 3..3}"]), "ms k:000000000007 2 T3\r\n12\r\n");
        let document = written(&["ms", "{key}", "{document}"]);
        assert!(document.starts_with("ms k:000000000007 142\r\n{\"id\":\"000000000007\""), "{document}");
    }

    #[test]
    fn what_is_always_the_same_is_one_piece() {
        let values = Values::new(5, &Documents::default());
        let mut parser = Parser::new("k:", &PLACEHOLDERS, None);
        let parts = ["mg", "{key}", "v"].map(|argument| parser.parse(argument, "args").unwrap());
        assert_eq!(framed(parts.to_vec(), &values).unwrap().pieces(), 1);
    }

    #[test]
    fn what_cannot_be_sent_is_refused_with_the_reason() {
        let long = "x".repeat(KEY_MAX_BYTES + 1);
        let of_values = "{value}".repeat(12) + "{key}";
        for (arguments, part) in [
            (&["get", "{key}"][..], "`get` is no meta command"),
            (&["MG", "{key}"], "`MG` is no meta command"),
            (&["mg"], "needs a key"),
            (&["mg", ""], "takes 0 bytes"),
            (&["mg", long.as_str()], "takes 251 bytes"),
            (&["mg", of_values.as_str()], "takes 254 bytes"),
            (&["mg", "a b"], "a space or a control character"),
            (&["mg", "a\r\nflush_all"], "a space or a control character"),
            (&["ms", "{key}"], "needs a key and data"),
            (&["ms", "{key}", "{value}", "q"], "flag `q`"),
            (&["mg", "{key}", "v", "q"], "flag `q`"),
            (&["mg", "{key}", "b"], "flag `b`"),
            (&["mg", "{key}", "T6\r\nflush_all"], "a space or a control character"),
            (&["mg", "{key}", "{seq}"], "begins with its letter"),
            (&["mg", "{key}", ""], "begins with its letter"),
            (&["mg", "{key}", "60"], "begins with its letter"),
            (&["mn", "{key}"], "takes no key"),
        ] {
            let message = tried(arguments).unwrap_err();
            assert!(message.contains(part), "{arguments:?}: {message}");
        }
    }

    #[test]
    fn a_connection_logs_in_and_tries_the_meta_protocol() {
        let hello = |endpoint: &Endpoint| {
            let mut out = vec![];
            let replies = write_hello(endpoint, &mut out);
            (replies, String::from_utf8(out).unwrap())
        };
        assert_eq!(hello(&Endpoint::default()), (1, "mn\r\n".into()));
        let secret = Endpoint { username: Some("ann".into()), password: Some("pw".into()), ..Endpoint::default() };
        assert_eq!(hello(&secret), (2, "set loadstone:probe:login 0 0 6\r\nann pw\r\nmn\r\n".into()));
    }
}
