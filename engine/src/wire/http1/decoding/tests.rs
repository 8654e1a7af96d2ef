//! Scripted bytes: replies cut at every place, and bytes that no server should send.

use proptest::prelude::*;

use super::*;

/// The longest body that the tests keep.
const KEPT_MAX_BYTES: usize = 1024 * 1024;
const GET: Requested = Requested { is_head: false, kept_max_bytes: Some(KEPT_MAX_BYTES) };
const HEAD: Requested = Requested { is_head: true, kept_max_bytes: Some(KEPT_MAX_BYTES) };

/// What became of one reply: its status, its body, and whether its connection closes.
#[derive(Debug, PartialEq, Eq)]
struct Found {
    status: u16,
    body: String,
    closes: bool,
    /// Bytes that were not decoded.
    left: usize,
}

/// Feeds pieces as a connection does: what is not done with comes again in front of the next piece. None if
/// the reply is not complete when the connection ends.
fn read_pieces(requested: Requested, pieces: &[&[u8]]) -> Result<Option<Found>, Malformed> {
    read_after(&mut Kept::default(), requested, pieces)
}

/// The same on a thread that has read others before.
fn read_after(kept: &mut Kept, requested: Requested, pieces: &[&[u8]]) -> Result<Option<Found>, Malformed> {
    let (mut reading, mut held) = (Reading::default(), Vec::new());
    let found = |reading: &Reading, reply: &[u8], left: usize| Found {
        status: reading.status(),
        body: String::from_utf8_lossy(reading.body(reply)).into_owned(),
        closes: reading.closes(),
        left,
    };
    for piece in pieces {
        held.extend_from_slice(piece);
        let mut need = 0;
        while held.len() > need {
            match decode(&mut reading, Some(requested), &held, kept)? {
                Decoded::Complete { length } => {
                    return Ok(Some(found(&reading, &held[..length], held.len() - length)));
                }
                Decoded::Part { length } => {
                    assert!(length > 0);
                    drop(held.drain(..length));
                }
                Decoded::Incomplete { at_least } => need = at_least.max(held.len() + 1) - 1,
                Decoded::Push { .. } => unreachable!("HTTP pushes nothing"),
            }
        }
    }
    match reading.ending(held.len()) {
        Ending::Complete => Ok(Some(found(&reading, &[], 0))),
        Ending::BeforeReply | Ending::Truncated => Ok(None),
    }
}

fn read(requested: Requested, text: &str) -> Result<Option<Found>, Malformed> {
    read_pieces(requested, &[text.as_bytes()])
}

/// The reply read in one go, which must be the same for every cut in two, and byte by byte.
fn read_all_ways(requested: Requested, text: &str) -> Result<Option<Found>, Malformed> {
    let bytes = text.as_bytes();
    let whole = read_pieces(requested, &[bytes]);
    for cut in 0..=bytes.len() {
        let mut one = read_pieces(requested, &[&bytes[..cut], &bytes[cut..]]);
        if let (Ok(Some(one)), Ok(Some(whole))) = (&mut one, &whole) {
            // A reply that ends with the first piece leaves the second one alone.
            one.left = whole.left;
        }
        assert_eq!(one, whole, "cut at {cut} of {text:?}");
    }
    let single = read_pieces(requested, &bytes.chunks(1).collect::<Vec<_>>());
    assert_eq!(
        single.map(|found| found.map(|found| (found.status, found.body))),
        whole.as_ref().map_err(|e| *e).map(|found| found.as_ref().map(|found| (found.status, found.body.clone())))
    );
    whole
}

fn reads(status: u16, body: &str, closes: bool) -> Result<Option<Found>, Malformed> {
    Ok(Some(Found { status, body: body.into(), closes, left: 0 }))
}

#[test]
fn replies_are_found_however_they_are_cut() {
    for (text, status, body, closes) in [
        ("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", 200, "hello", false),
        ("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", 200, "", false),
        ("HTTP/1.1 201\r\ncontent-length:5 \r\n\r\nhello", 201, "hello", false),
        ("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\nok", 200, "ok", false),
        ("HTTP/1.1 404 Not Found\r\nConnection: keep-alive, Close\r\nContent-Length: 1\r\n\r\nx", 404, "x", true),
        (
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n6;a=b\r\n world\r\n0\r\n\r\n",
            200,
            "hello world",
            false,
        ),
        (
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, Chunked\r\n\r\nA\r\n0123456789\r\n00\r\nX: y\r\nZ: \r\n\r\n",
            200,
            "0123456789",
            false,
        ),
        ("HTTP/1.1 200 OK\r\n\r\nuntil the end", 200, "until the end", true),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\nzipped", 200, "zipped", true),
        ("HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok", 200, "ok", true),
        ("HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\nok", 200, "ok", false),
        ("HTTP/1.1 204 No Content\r\n\r\n", 204, "", false),
        ("HTTP/1.1 304 Not Modified\r\nContent-Length: 100\r\n\r\n", 304, "", false),
        ("HTTP/1.1 302 Found\r\nLocation: /\r\nContent-Length: 0\r\n\r\n", 302, "", false),
        (
            "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx",
            200,
            "x",
            false,
        ),
    ] {
        assert_eq!(read_all_ways(GET, text), reads(status, body, closes), "{text:?}");
    }
}

#[test]
fn what_was_read_before_changes_nothing() {
    let long = format!("HTTP/1.1 200 OK\r\nX: {}\r\nContent-Length: 2\r\n\r\nok", "x".repeat(2 * HEAD_KEPT_BYTES));
    let replies = [
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nno",
        "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nyes",
        "HTTP/1.1 404 Not Found\r\nConnection: close\r\nContent-Length: 2\r\n\r\nno",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
        "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
        "HTTP/1.1 200 OK\r\nContent-Length: 2, 2\r\n\r\nok",
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n",
        &long,
    ];
    let all = || replies.iter().flat_map(|reply| [(GET, *reply), (HEAD, *reply)]);
    for (first, before) in all() {
        let mut kept = Kept::default();
        let _ = read_after(&mut kept, first, &[before.as_bytes()]);
        for (requested, reply) in all() {
            let found = read_after(&mut kept, requested, &[reply.as_bytes()]);
            assert_eq!(found, read(requested, reply), "{before:?} {reply:?}");
        }
    }
}

#[test]
fn the_reply_to_head_has_no_body() {
    for text in [
        "HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
        "HTTP/1.1 200 OK\r\n\r\n",
    ] {
        assert_eq!(read_all_ways(HEAD, text), reads(200, "", false), "{text:?}");
    }
}

#[test]
fn what_follows_a_reply_is_left_alone() {
    let text = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 500";
    assert_eq!(read(GET, text).unwrap().unwrap().left, 12);
    let text = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nmore";
    assert_eq!(read(GET, text).unwrap().unwrap().left, 4);
}

/// Fault: garbage, or a connection that ends within a reply
#[test]
fn a_connection_that_ends_within_a_reply_truncates_it() {
    for text in [
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\nX: y\r\n\r\n",
        "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n",
    ] {
        for end in 1..text.len() {
            assert_eq!(read(GET, &text[..end]), Ok(None), "{:?}", &text[..end]);
        }
    }
    let reading = Reading::default();
    assert_eq!((reading.ending(0), reading.ending(1)), (Ending::BeforeReply, Ending::Truncated));
    let (mut reading, mut kept) = (Reading::default(), Kept::default());
    decode(&mut reading, Some(GET), b"HTTP/1.1 100 Continue\r\n\r\n", &mut kept).unwrap();
    assert_eq!(reading.ending(0), Ending::Truncated, "something had come");
}

#[test]
fn what_is_no_reply_is_malformed() {
    let with = |headers: &str| format!("HTTP/1.1 200 OK\r\n{headers}\r\n\r\n");
    let head = |text: &str| matches!(read(GET, text), Err(Malformed::Head(_)));
    for text in
        ["+OK\r\n", "HTTP/2 200\r\n\r\n", "SSH-2.0-OpenSSH\r\n", "HTTP/1.1 abc OK\r\n\r\n", "<html>", "\0\0\0\0"]
    {
        assert!(head(text), "{text:?}: {:?}", read(GET, text));
    }
    assert!(head(&with("no colon here")));
    assert!(head(&with("bad name : x")));
    for status in ["000", "099", "600", "999"] {
        assert_eq!(read(GET, &format!("HTTP/1.1 {status} X\r\n\r\n")), Err(Malformed::Status));
    }
    assert_eq!(read(GET, "HTTP/1.1 101 Switching Protocols\r\n\r\n"), Err(Malformed::Switches));
    for length in ["-1", "+1", "", "5, 5", "1e3", "0x10", "18446744073709551616", "1 2"] {
        let text = with(&format!("Content-Length: {length}"));
        assert_eq!(read(GET, &text), Err(Malformed::Length), "{length:?}");
    }
    assert_eq!(read(GET, &with("Content-Length: 1\r\nContent-Length: 2")), Err(Malformed::Length));
    for headers in
        ["Content-Length: 5\r\nTransfer-Encoding: chunked", "Transfer-Encoding: chunked\r\nContent-Length: 5"]
    {
        assert_eq!(read(GET, &with(headers)), Err(Malformed::TwoLengths));
    }
    for chunk in
        ["x\r\n", "\r\n", "-5\r\nhello\r\n", "5\r\nhelloworld", "5\nhello\r\n", "11111111111111111\r\n", "5 5\r\n"]
    {
        let text = with("Transfer-Encoding: chunked") + chunk;
        assert_eq!(read(GET, &text), Err(Malformed::Chunk), "{chunk:?}");
    }
    let text = with("Transfer-Encoding: chunked") + "0\r\nno colon\r\n\r\n";
    assert!(head(&text));
}

#[test]
fn a_huge_length_is_waited_for_and_not_made_room_for() {
    let text = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\nx", u64::MAX);
    assert_eq!(read(Requested { kept_max_bytes: None, ..GET }, &text), Ok(None));
    assert_eq!(read(GET, &text), Err(Malformed::TooLong(KEPT_MAX_BYTES)), "it cannot be kept for its check");
    let text = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\nx";
    assert_eq!(read(GET, text), Ok(None));
}

/// Fault: a reply announces a huge length, or has endless heads or attributes
#[test]
fn heads_chunk_lines_and_trailers_have_limits() {
    let long = "x".repeat(HEAD_MAX_BYTES);
    let open = |text: String| read_pieces(GET, &text.as_bytes().chunks(1000).collect::<Vec<_>>());
    assert_eq!(open(format!("HTTP/1.1 200 OK\r\nX: {long}")), Err(Malformed::HeadTooLong));
    assert_eq!(open(format!("HTTP/1.1 200 {long}")), Err(Malformed::HeadTooLong));
    let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    assert_eq!(open(format!("{chunked}5;{long}")), Err(Malformed::HeadTooLong));
    assert_eq!(open(format!("{chunked}0\r\nX: {long}")), Err(Malformed::HeadTooLong));
    let many = "X: y\r\n".repeat(HEADERS_MAX + 1);
    assert_eq!(open(format!("HTTP/1.1 200 OK\r\n{many}\r\n")), Err(Malformed::HeadTooLong));
    let enough = "X: y\r\n".repeat(HEADERS_MAX);
    assert_eq!(open(format!("HTTP/1.1 204 OK\r\n{enough}\r\n")), reads(204, "", false));
}

#[test]
fn bytes_that_answer_no_request_are_refused() {
    let (mut reading, mut kept) = (Reading::default(), Kept::default());
    let decoded = decode(&mut reading, None, b"HTTP/1.1 408 Request Timeout\r\n\r\n", &mut kept);
    assert_eq!(decoded, Err(Malformed::Unrequested));
}

#[test]
fn a_body_that_no_check_looks_at_is_not_kept() {
    let requested = Requested { kept_max_bytes: None, ..GET };
    let (mut reading, mut kept) = (Reading::default(), Kept::default());
    decode(&mut reading, Some(requested), b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhell", &mut kept).unwrap();
    assert_eq!(decode(&mut reading, Some(requested), b"o yo", &mut kept), Ok(Decoded::Part { length: 4 }));
    assert_eq!(reading.body.capacity(), 0);
}

#[test]
fn one_connection_reads_reply_after_reply_and_buffers_are_used_again() {
    let (mut reading, mut kept) = (Reading::default(), Kept::default());
    for _ in 0..3 {
        let parts: [&[u8]; 2] = [b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhe", b"llo"];
        let decoded = decode(&mut reading, Some(GET), parts[0], &mut kept);
        assert_eq!(decoded, Ok(Decoded::Part { length: parts[0].len() }));
        assert_eq!(decode(&mut reading, Some(GET), parts[1], &mut kept), Ok(Decoded::Complete { length: 3 }));
        assert_eq!(reading.body(parts[1]), b"hello");
        reading.restart(&mut kept);
        assert_eq!(kept.spares.len(), 1);
    }
}

/// Fault: garbage, or a connection that ends within a reply
#[test]
fn no_bytes_make_the_decoder_panic() {
    proptest!(|(
        text in "(HTTP/1\\.[01] [0-9]{1,3} [a-zA-Z]{0,9}\r\n(Content-Length: [-0-9]{0,22}\r\n|Transfer-Encoding: chunked\r\n|X: y\r\n){0,3}\r\n)?",
        tail in proptest::collection::vec(any::<u8>(), 0..64),
        chunks in "([0-9a-f]{0,3}\r\n[a-z]{0,20}\r\n){0,4}",
    )| {
        let bytes = [text.as_bytes(), chunks.as_bytes(), &tail].concat();
        let whole = read_pieces(GET, &[&bytes]);
        let single = read_pieces(GET, &bytes.chunks(1).collect::<Vec<_>>());
        prop_assert_eq!(whole.is_err(), single.is_err());
    });
}
