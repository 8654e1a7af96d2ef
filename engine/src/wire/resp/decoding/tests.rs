//! Scripted bytes: every type, cut at every place; and bytes that no server should send.

use proptest::prelude::*;

use super::*;

/// The longest reply that the tests take: one string as long as Redis allows it.
const REPLY_MAX_BYTES: usize = 512 * 1024 * 1024 + 1024;

fn decode(bytes: &[u8]) -> Result<Decoded, Malformed> {
    super::decode(bytes, REPLY_MAX_BYTES)
}

/// A reply of every type, RESP2 and RESP3, flat and nested.
const REPLIES: &[&str] = &[
    "+OK\r\n",
    "+\r\n",
    "-ERR unknown command\r\n",
    ":0\r\n",
    ":-9223372036854775808\r\n",
    "$0\r\n\r\n",
    "$5\r\nhello\r\n",
    "$7\r\na\r\nb\r\nc\r\n",
    "$-1\r\n",
    "*-1\r\n",
    "*0\r\n",
    "*2\r\n$1\r\na\r\n:5\r\n",
    "*3\r\n*0\r\n*1\r\n*2\r\n+a\r\n-E\r\n$-1\r\n",
    "_\r\n",
    "#t\r\n",
    "#f\r\n",
    ",1.5e3\r\n",
    ",inf\r\n",
    "(-3492890328409238509324850943850943825024385\r\n",
    "!10\r\nSYNTAX bad\r\n",
    "=8\r\ntxt:some\r\n",
    "%0\r\n",
    "%2\r\n+a\r\n:1\r\n$1\r\nb\r\n*1\r\n_\r\n",
    "~2\r\n:1\r\n#t\r\n",
    "|1\r\n+ttl\r\n:3600\r\n*1\r\n:1\r\n",
    "|1\r\n+a\r\n*1\r\n+b\r\n+OK\r\n",
    "*1\r\n|1\r\n+a\r\n+b\r\n:7\r\n",
    "|0\r\n+OK\r\n",
];

#[test]
fn every_reply_is_found_whole_and_its_end_known() {
    for text in REPLIES {
        let length = text.len();
        assert_eq!(decode(text.as_bytes()), Ok(Decoded::Complete { length }), "{text:?}");
        let followed = format!("{text}$3\r\n");
        assert_eq!(decode(followed.as_bytes()), Ok(Decoded::Complete { length }), "{text:?}");
        assert!(reply(text.as_bytes()).is_some(), "{text:?}");
    }
}

#[test]
fn a_text_framed_as_the_last_one_was_is_what_decoding_finds() {
    let text = |length: usize| format!("${length}\r\n{}\r\n", "x".repeat(length));
    let mut replies: Vec<String> = [0, 1, 2, 5, 9, 10, 99, 100, 1000, 99_999, 100_000].map(text).to_vec();
    // As long as others, with another head, another end, or none.
    replies
        .extend(["$0099\r\n", "$099\r\n", "$100\r\n", "*100\r\n"].map(|head| format!("{head}{}\r\n", "x".repeat(99))));
    replies.extend([
        text(100).replace("x\r\n", "xx\n"),
        text(100)[..100].into(),
        "\0".repeat(8),
        "+OK\r\n+OK\r\n".into(),
    ]);
    for before in &replies {
        let mut last = LastText::default();
        last.note(before.as_bytes());
        for reply in replies.iter().map(|reply| reply.as_bytes()) {
            let Some(found) = last.find(reply) else { continue };
            assert_eq!(decode(reply), Ok(Decoded::Complete { length: found.len() }), "{before:?} {reply:?}");
            assert_eq!(super::reply(found), last.text(found).map(Reply::Text), "{before:?} {reply:?}");
            assert!(last.text(found).is_some() && last.text(&found[..found.len() - 1]).is_none());
        }
        let is_whole = decode(before.as_bytes()) == Ok(Decoded::Complete { length: before.len() });
        if is_whole && (8..100_000).contains(&before.len()) {
            assert!(last.find(before.as_bytes()).is_some(), "{before:?}");
        }
    }
}

#[test]
fn every_reply_cut_at_every_byte_is_incomplete() {
    for text in REPLIES {
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
fn push_messages_are_no_replies() {
    let text = b">2\r\n$10\r\ninvalidate\r\n*1\r\n$1\r\na\r\n+OK\r\n";
    assert_eq!(decode(text), Ok(Decoded::Push { length: text.len() - 5 }));
    assert_eq!(decode(b">0\r\n"), Ok(Decoded::Push { length: 4 }));
    assert!(matches!(decode(b">2\r\n+a\r\n"), Ok(Decoded::Incomplete { .. })));
    assert_eq!(decode(b"*1\r\n>1\r\n+a\r\n"), Err(Malformed::NestedPush));
}

#[test]
fn what_no_server_should_send_is_an_error() {
    use Malformed::*;
    for (text, error) in [
        ("HTTP/1.1 400 Bad Request\r\n", UnknownType(b'H')),
        ("\r\n", UnknownType(b'\r')),
        ("\0", UnknownType(0)),
        ("$x\r\n", BadLength),
        ("$\r\n", BadLength),
        ("$5x\r\n", BadLength),
        ("$5\rx", BadLength),
        ("$-2\r\n", BadLength),
        ("$-1x\r\n", BadLength),
        ("$+5\r\n", BadLength),
        ("$?\r\n", BadLength),
        ("*?\r\n", BadLength),
        ("!-1\r\n", BadLength),
        ("%-1\r\n", BadLength),
        ("$99999999999\r\n", TooLong(REPLY_MAX_BYTES)),
        ("$600000000\r\n", TooLong(REPLY_MAX_BYTES)),
        ("*4000000000\r\n", TooLong(REPLY_MAX_BYTES)),
        ("*1\r\n%99999999999999999999\r\n", TooLong(REPLY_MAX_BYTES)),
        ("$2\r\nabc\r\n", BadValue),
        ("$2\r\nab\rx", BadValue),
        (":1x\r\n", BadValue),
        (":\r\n", BadValue),
        (":-\r\n", BadValue),
        ("#x\r\n", BadValue),
        ("_x\r\n", BadValue),
        (",\r\n", BadValue),
        ("+a\rb\r\n", BadValue),
    ] {
        assert_eq!(decode(text.as_bytes()), Err(error), "{text:?}");
        assert!(decode(format!("*2\r\n+a\r\n{text}").as_bytes()).is_err(), "{text:?}");
    }
}

#[test]
fn absurd_sizes_are_refused_without_taking_memory() {
    let endless_line = [b"+".as_slice(), &[b'a'; LINE_MAX_BYTES]].concat();
    assert_eq!(decode(&endless_line), Err(Malformed::LineTooLong));
    let deep = "*1\r\n".repeat(1_000_000);
    assert_eq!(decode(deep.as_bytes()), Err(Malformed::TooDeep));
    let largest = b"$536870912\r\n";
    assert_eq!(decode(largest), Ok(Decoded::Incomplete { at_least: 536_870_912 + largest.len() + 2 }));
    let two_large = [b"*2\r\n$300000000\r\n".as_slice(), &vec![b'x'; 300_000_000], b"\r\n$300000000\r\n"].concat();
    assert_eq!(decode(&two_large), Err(Malformed::TooLong(REPLY_MAX_BYTES)));
}

#[test]
fn replies_are_read_as_what_they_are() {
    let read = |text: &'static str| reply(text.as_bytes()).unwrap();
    assert_eq!(read("+OK\r\n"), Reply::Status(b"OK"));
    assert_eq!(read("-ERR no\r\n"), Reply::Error(b"ERR no"));
    assert_eq!(read("!6\r\nERR no\r\n"), Reply::Error(b"ERR no"));
    assert_eq!(read(":-5\r\n"), Reply::Integer(b"-5"));
    assert_eq!(read("$2\r\nab\r\n"), Reply::Text(b"ab"));
    assert_eq!(read("=6\r\ntxt:ab\r\n"), Reply::Text(b"ab"));
    assert_eq!(read("$-1\r\n"), Reply::Nothing);
    assert_eq!(read("*-1\r\n"), Reply::Nothing);
    assert_eq!(read("_\r\n"), Reply::Nothing);
    assert_eq!(read("#t\r\n"), Reply::Other);
    assert_eq!(read("|1\r\n+a\r\n*1\r\n:1\r\n|1\r\n+c\r\n+d\r\n$2\r\nab\r\n"), Reply::Text(b"ab"));
    assert_eq!(reply(b"=2\r\nab\r\n"), None);
    assert_eq!(reply(b"$5\r\nab"), None);
}

#[test]
fn many_small_elements_that_come_in_pieces_are_looked_at_a_few_times() {
    let bytes = ["*1000000\r\n".to_string(), ":1\r\n".repeat(1_000_000)].concat().into_bytes();
    let (mut looks, mut need) = (0, 0);
    for end in (0..bytes.len()).step_by(16 * 1024).chain([bytes.len()]).filter(|&end| end > 0) {
        if end >= need {
            looks += 1;
            match decode(&bytes[..end]).unwrap() {
                Decoded::Incomplete { at_least } => need = at_least,
                other => assert_eq!((other, end), (Decoded::Complete { length: bytes.len() }, bytes.len())),
            }
        }
    }
    assert!(looks < 20, "{looks}");
}

/// Fault: a reply announces a huge length, or has endless heads or attributes
#[test]
fn attributes_without_end_take_no_stack() {
    let bytes = ["|0\r\n".repeat(1_000_000).as_bytes(), b"+OK\r\n"].concat();
    assert_eq!(decode(&bytes), Ok(Decoded::Complete { length: bytes.len() }));
    assert_eq!(reply(&bytes), Some(Reply::Status(b"OK")));
}

#[test]
fn arrays_and_maps_give_their_strings_in_order() {
    for text in ["*4\r\n$1\r\na\r\n+b\r\n$0\r\n\r\n$1\r\nc\r\n", "%2\r\n$1\r\na\r\n+b\r\n$0\r\n\r\n$1\r\nc\r\n"] {
        let Some(Reply::Items(mut items)) = reply(text.as_bytes()) else { panic!("{text:?}") };
        assert_eq!(items.left, 4);
        let texts: Vec<&[u8]> = std::iter::from_fn(|| items.next_text()).collect();
        assert_eq!(texts, [&b"a"[..], b"b", b"", b"c"]);
        assert_eq!(items.left, 0);
    }
    let Some(Reply::Items(mut items)) = reply(b"*2\r\n:1\r\n+a\r\n") else { panic!() };
    assert_eq!(items.next_text(), None);
}

/// Bytes that look like RESP more often than pure noise does.
fn resp_like() -> impl Strategy<Value = Vec<u8>> {
    let token = prop_oneof![
        proptest::sample::select(REPLIES.iter().map(|text| text.as_bytes().to_vec()).collect::<Vec<_>>()),
        proptest::sample::select(b"+-:$*%~>|_,#(!=".iter().map(|&kind| vec![kind]).collect::<Vec<_>>()),
        (0u32..40).prop_map(|number| format!("{number}\r\n").into_bytes()),
        proptest::collection::vec(any::<u8>(), 0..4),
    ];
    proptest::collection::vec(token, 0..12).prop_map(|tokens| tokens.concat())
}

proptest! {
    #[test]
    fn any_bytes_give_an_answer_that_keeps_its_word(bytes in resp_like()) {
        match decode(&bytes) {
            Ok(Decoded::Complete { length } | Decoded::Push { length } | Decoded::Part { length }) => {
                prop_assert!(length <= bytes.len() && length >= 3);
                // The same bytes alone are the same reply, and any shorter piece is incomplete.
                prop_assert_eq!(decode(&bytes[..length]), decode(&bytes));
                for cut in 0..length {
                    let incomplete = matches!(decode(&bytes[..cut]), Ok(Decoded::Incomplete { at_least }) if at_least > cut && at_least <= length);
                    prop_assert!(incomplete, "cut at {}: {:?}", cut, decode(&bytes[..cut]));
                }
            }
            Ok(Decoded::Incomplete { at_least }) => prop_assert!(at_least > bytes.len() && at_least <= REPLY_MAX_BYTES),
            Err(_) => {}
        }
        if let Some(Reply::Items(mut items)) = reply(&bytes) {
            while items.next_text().is_some() {}
        }
    }

    /// Fault: garbage, or a connection that ends within a reply
    #[test]
    fn noise_never_panics(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = decode(&bytes);
        let _ = reply(&bytes);
    }
}
