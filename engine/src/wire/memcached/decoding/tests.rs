//! Scripted bytes: every reply, cut at every place; and bytes that no server should send.

use proptest::prelude::*;

use super::*;

const REPLY_MAX_BYTES: usize = 64 * 1024 * 1024;

fn decode(bytes: &[u8]) -> Result<Decoded, Malformed> {
    super::decode(bytes, REPLY_MAX_BYTES)
}

const REPLIES: &[(&str, Reply)] = &[
    ("HD\r\n", Reply::Status(b"OK")),
    ("HD t60 c5\r\n", Reply::Status(b"OK")),
    ("MN\r\n", Reply::Status(b"OK")),
    ("VA 0\r\n\r\n", Reply::Text(b"")),
    ("VA 5\r\nhello\r\n", Reply::Text(b"hello")),
    ("VA 7 s7 t-1\r\na\r\nb\r\nc\r\n", Reply::Text(b"a\r\nb\r\nc")),
    ("VA 4\r\nHD\r\n\r\n", Reply::Text(b"HD\r\n")),
    ("VA 2 W\r\n10\r\n", Reply::Text(b"10")),
    ("EN\r\n", Reply::Nothing),
    ("NF\r\n", Reply::Nothing),
    ("NF k5 O7\r\n", Reply::Nothing),
    ("NS\r\n", Reply::NotStored),
    ("EX\r\n", Reply::NotStored),
    ("ERROR\r\n", Reply::Error(b"ERROR")),
    ("CLIENT_ERROR bad command line format\r\n", Reply::Error(b"CLIENT_ERROR bad command line format")),
    ("SERVER_ERROR out of memory storing object\r\n", Reply::Error(b"SERVER_ERROR out of memory storing object")),
    ("STORED\r\n", Reply::Other),
];

#[test]
fn every_reply_is_found_whole_and_its_end_known() {
    for (text, expected) in REPLIES {
        let length = text.len();
        assert_eq!(decode(text.as_bytes()), Ok(Decoded::Complete { length }), "{text:?}");
        assert_eq!(decode(format!("{text}VA 9").as_bytes()), Ok(Decoded::Complete { length }), "{text:?}");
        assert_eq!(reply(text.as_bytes()), Some(*expected), "{text:?}");
    }
}

#[test]
fn every_reply_cut_at_every_byte_is_incomplete() {
    for (text, _) in REPLIES {
        for cut in 0..text.len() {
            match decode(&text.as_bytes()[..cut]) {
                Ok(Decoded::Incomplete { at_least }) => {
                    assert!((cut + 1..=text.len()).contains(&at_least), "{text:?} cut at {cut}: {at_least}");
                }
                other => panic!("{text:?} cut at {cut}: {other:?}"),
            }
        }
    }
}

#[test]
fn a_values_length_is_waited_for_at_once() {
    assert_eq!(decode(b"VA 1000000\r\nab"), Ok(Decoded::Incomplete { at_least: 12 + 1_000_000 + 2 }));
}

#[test]
fn what_no_server_should_send_is_named() {
    for (bytes, expected) in [
        (&b"+OK\r\n"[..], Malformed::UnknownCode(b'+', b'O')),
        (b"OK", Malformed::UnknownCode(b'O', b'K')),
        (b"HTTP/1.1 200 OK\r\n", Malformed::UnknownCode(b'H', b'T')),
        (b"VALUE a 0 1\r\nx\r\nEND\r\n", Malformed::UnknownCode(b'V', b'A')),
        (b"END\r\n", Malformed::UnknownCode(b'E', b'N')),
        (b"HDX\r\n", Malformed::UnknownCode(b'H', b'D')),
        (b"ER\r\n", Malformed::UnknownCode(b'E', b'R')),
        (b"\r\n", Malformed::UnknownCode(b'\r', b'\n')),
        (b"HD\rx", Malformed::BadEnd),
        (b"VA\r\n", Malformed::BadLength),
        (b"VA \r\n", Malformed::BadLength),
        (b"VA -1\r\n", Malformed::BadLength),
        (b"VA 5x\r\n", Malformed::BadLength),
        (b"VA  5\r\n", Malformed::BadLength),
        (b"VA 2\r\nabc\r\n", Malformed::BadEnd),
        (b"VA 99999999999999999999\r\n", Malformed::TooLong(REPLY_MAX_BYTES)),
        (b"VA 67108864\r\n", Malformed::TooLong(REPLY_MAX_BYTES)),
    ] {
        assert_eq!(decode(bytes), Err(expected), "{:?}", String::from_utf8_lossy(bytes));
        assert_eq!(reply(bytes).filter(|_| !bytes.starts_with(b"VA")), None, "{:?}", String::from_utf8_lossy(bytes));
    }
}

#[test]
fn a_line_without_end_is_too_long() {
    let line = [b"HD ".as_slice(), &vec![b'k'; LINE_MAX_BYTES]].concat();
    assert!(matches!(decode(&line[..LINE_MAX_BYTES]), Ok(Decoded::Incomplete { .. })));
    assert_eq!(decode(&line), Err(Malformed::LineTooLong));
    assert_eq!(decode(&[line, b"\r\n".to_vec()].concat()), Err(Malformed::LineTooLong));
}

#[test]
fn a_reply_longer_than_the_plan_expects_is_an_error_before_it_came() {
    assert_eq!(super::decode(b"VA 90\r\n", 99), Ok(Decoded::Incomplete { at_least: 99 }));
    assert_eq!(super::decode(b"VA 91\r\n", 99), Err(Malformed::TooLong(99)));
}

proptest! {
    #[test]
    fn any_bytes_are_taken(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        if let Ok(Decoded::Complete { length }) = decode(&bytes) {
            prop_assert!(length <= bytes.len());
            prop_assert!(reply(&bytes[..length]).is_some());
        }
    }

    #[test]
    fn any_value_comes_back(value in proptest::collection::vec(any::<u8>(), 0..300)) {
        let text = [format!("VA {}\r\n", value.len()).as_bytes(), &value, b"\r\n"].concat();
        prop_assert_eq!(decode(&text), Ok(Decoded::Complete { length: text.len() }));
        prop_assert_eq!(reply(&text), Some(Reply::Text(&value)));
    }
}
