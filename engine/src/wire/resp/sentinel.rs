//! What a Sentinel answers to the question where the primary is.

/// Host and port, if it says any: `*2`, and a text each.
pub fn address(reply: &[u8]) -> Option<(&str, u16)> {
    let text = std::str::from_utf8(reply).ok()?;
    let mut lines = text.strip_prefix("*2\r\n")?.split("\r\n");
    let mut next = || lines.next()?.strip_prefix('$').and(lines.next());
    let (host, port) = (next()?, next()?);
    Some((host, port.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_a_host_and_a_port() {
        assert_eq!(address(b"*2\r\n$9\r\n127.0.0.1\r\n$4\r\n6379\r\n"), Some(("127.0.0.1", 6379)));
        for other in [
            &b"*-1\r\n"[..],
            b"-IDONTKNOW x\r\n",
            b"*2\r\n",
            b"*2\r\n$9\r\n127.0.0.1\r\n",
            b"",
            b"\xff",
            b"*2\r\n$1\r\na\r\n$5\r\n65536\r\n",
            b"*2\r\n:1\r\n:2\r\n",
        ] {
            assert_eq!(address(other), None, "{}", String::from_utf8_lossy(other));
        }
    }
}
