//! Redis Cluster: a node says that another one has a slot.

/// Hash slots of a cluster.
pub const SLOTS: usize = 16_384;

/// The longest host name there is.
const HOST_MAX: usize = 255;
/// What is sent right before a command that follows an `ASK`.
pub(super) const ASKING: &[u8] = b"*1\r\n$6\r\nASKING\r\n";

/// Where a command is to be sent instead.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Redirection<'a> {
    /// `ASK`: this command alone, after ASKING. Else `MOVED`: whatever has a key of the slot, from now on.
    pub asks: bool,
    pub slot: u16,
    /// Empty: that of the node which says so.
    pub host: &'a str,
    pub port: u16,
}

impl<'a> Redirection<'a> {
    /// What a reply says, if it is one that can be followed: `-MOVED 3999 127.0.0.1:6381`.
    pub fn of(reply: &'a [u8]) -> Option<Self> {
        let text = std::str::from_utf8(reply.strip_prefix(b"-")?).ok()?.trim_end_matches(['\r', '\n']);
        let mut parts = text.split(' ');
        let asks = match parts.next()? {
            "MOVED" => false,
            "ASK" => true,
            _ => return None,
        };
        let slot = parts.next()?.parse().ok().filter(|&slot: &u16| usize::from(slot) < SLOTS)?;
        let (host, port) = parts.next()?.rsplit_once(':')?;
        let is_host = |byte: u8| byte.is_ascii_alphanumeric() || b".:-_[]".contains(&byte);
        let port = port.parse().ok().filter(|&port: &u16| port > 0)?;
        let is_one = host.len() <= HOST_MAX && host.bytes().all(is_host);
        is_one.then(|| Self { asks, slot, host: host.trim_matches(['[', ']']), port })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_node_says_is_read() {
        let read = |text: &'static str| Redirection::of(text.as_bytes());
        let found = |asks, slot, host, port| Some(Redirection { asks, slot, host, port });
        assert_eq!(read("-MOVED 3999 127.0.0.1:6381\r\n"), found(false, 3999, "127.0.0.1", 6381));
        assert_eq!(read("-ASK 0 node-2.example:7001\r\n"), found(true, 0, "node-2.example", 7001));
        assert_eq!(read("-MOVED 16383 :7001\r\n"), found(false, 16_383, "", 7001));
        assert_eq!(read("-MOVED 5 ::1:7001\r\n"), found(false, 5, "::1", 7001));
        assert_eq!(read("-MOVED 5 [::1]:7001\r\n"), found(false, 5, "::1", 7001));
    }

    #[test]
    fn what_cannot_be_followed_is_no_redirection() {
        for text in [
            "-MOVED 16384 127.0.0.1:6381\r\n",
            "-MOVED 5 127.0.0.1\r\n",
            "-MOVED 5 127.0.0.1:0\r\n",
            "-MOVED -1 h:1\r\n",
            "-MOVED 5 h:65536\r\n",
            "-MOVED\r\n",
            "-ASK 5\r\n",
            "-MOVEDX 5 h:1\r\n",
            "-ERR MOVED 5 h:1\r\n",
            "-MOVED 5 a\u{1b}[2Jb:1\r\n",
            "+MOVED 5 h:1\r\n",
            "",
            "-",
        ] {
            assert_eq!(Redirection::of(text.as_bytes()), None, "{text:?}");
        }
        assert_eq!(Redirection::of(b"-MOVED 5 \xff:1\r\n"), None);
        let long = format!("-MOVED 5 {}:1\r\n", "h".repeat(HOST_MAX + 1));
        assert_eq!(Redirection::of(long.as_bytes()), None);
    }
}
