//! The server over real sockets. Nothing here depends on how fast the machine is.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde_json::json;

use super::*;
use crate::load::{Shared, Workload};
use crate::plan::Plan;
use crate::wire::Decoded;
use crate::wire::Reading;
use crate::wire::resp::decode;

fn start(options: serde_json::Value, fault: Option<Fault>) -> NullServer {
    let options = NullOptions::from_json(&options.to_string()).unwrap();
    NullServer::start(NullOptions { fault, ..options }).unwrap()
}

fn connect(server: &NullServer) -> TcpStream {
    let stream = TcpStream::connect(("127.0.0.1", server.port())).unwrap();
    // A server that never answers must not hang the tests.
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    stream
}

fn command(arguments: &[&str]) -> Vec<u8> {
    let mut text = format!("*{}\r\n", arguments.len());
    arguments.iter().for_each(|argument| text += &format!("${}\r\n{argument}\r\n", argument.len()));
    text.into_bytes()
}

/// Reads so many replies; fewer if the connection ends before.
fn replies(stream: &mut impl Read, count: usize) -> Vec<Vec<u8>> {
    let (mut all, mut at, mut found) = (Vec::new(), 0, Vec::new());
    let mut buffer = vec![0; 1 << 16];
    while found.len() < count {
        match decode(&all[at..], usize::MAX).unwrap() {
            Decoded::Complete { length } => {
                found.push(all[at..at + length].to_vec());
                at += length;
            }
            _ => match stream.read(&mut buffer).unwrap() {
                0 => break,
                length => all.extend_from_slice(&buffer[..length]),
            },
        }
    }
    found
}

fn send(stream: &mut (impl Read + Write), arguments: &[&str]) -> String {
    stream.write_all(&command(arguments)).unwrap();
    String::from_utf8(replies(stream, 1).pop().unwrap_or_default()).unwrap()
}

#[test]
fn unknown_commands_and_the_handshake_are_answered() {
    let server = start(json!({}), None);
    let mut stream = connect(&server);
    assert_eq!(send(&mut stream, &["AUTH", "user", "secret"]), "+OK\r\n");
    assert_eq!(send(&mut stream, &["client", "SETNAME", "x"]), "+OK\r\n");
    assert_eq!(server.commands(), 0, "the handshake does not count");
    assert_eq!(send(&mut stream, &["SET", "k", "v"]), "+OK\r\n");
    assert_eq!(send(&mut stream, &["ping"]), "+PONG\r\n");
    assert_eq!(server.commands(), 2);
    assert!(send(&mut stream, &["HELLO", "2"]).starts_with("*14\r\n"));
    assert!(send(&mut stream, &["HELLO", "3", "AUTH", "a", "b"]).starts_with("%7\r\n"));
}

#[test]
fn every_kind_of_reply_is_what_the_judge_expects() {
    let kinds = ["any", "ok", "integer", "document", "hash", "field", "field_array", "value", "item", "positive"];
    let names: Vec<String> = kinds.iter().map(|kind| format!("C.{kind}")).collect();
    let table: serde_json::Map<_, _> = names.iter().cloned().zip(kinds.map(Into::into)).collect();
    let server = start(json!({"document_bytes": 622, "field_bytes": 33, "replies": table}), None);
    for protocol in ["resp2", "resp3"] {
        let operations: Vec<_> = kinds
            .iter()
            .zip(&names)
            .map(|(kind, name)| json!({"name": kind, "commands": [{"args": [name, "{key}"], "expect": kind}]}))
            .collect();
        // The null server's documents are those of key 0, version 1 and seed 1.
        let plan = json!({
            "protocol": protocol, "endpoints": [{}], "model": {"kind": "closed", "users": 1}, "pool": {"connections": 1},
            "operations": operations, "keys": {"count": 1, "loaded": true},
            "documents": {"payload_bytes": 500, "field_bytes": 33},
        });
        let plan = Plan::from_json(&plan.to_string()).unwrap();
        let mut workload = Workload::new(&plan, Arc::new(Shared::new(&plan).unwrap()), 0).unwrap();
        let mut stream = connect(&server);
        let mut bytes = Vec::new();
        let greetings = workload.wire().hello(&plan.endpoints[0], &mut bytes);
        stream.write_all(&bytes).unwrap();
        assert_eq!(replies(&mut stream, greetings).len(), greetings);
        let mut judged = std::collections::BTreeSet::new();
        while judged.len() < kinds.len() {
            let request = workload.begin().unwrap();
            bytes.clear();
            workload.encode(&request, 0, b"", &mut bytes);
            stream.write_all(&bytes).unwrap();
            let reply = replies(&mut stream, 1).pop().unwrap();
            assert_eq!(
                workload.judge(&request, &mut Reading::default(), &reply),
                Ok(()),
                "{}",
                kinds[usize::from(request.operation)]
            );
            judged.insert(request.operation);
        }
    }
}

#[test]
fn pipelines_and_large_arguments_are_taken_in_order() {
    let server = start(json!({"document_bytes": 100_122, "replies": {"GET": "document", "DEL": "integer"}}), None);
    let mut stream = connect(&server);
    let large = "x".repeat(100_000);
    let round = [command(&["SET", "k", &large]), command(&["GET", "k"]), command(&["DEL", "k"])].concat();
    let mut writer = stream.try_clone().unwrap();
    let sender = std::thread::spawn(move || {
        // Odd pieces, so that heads and names are cut at many places.
        round.repeat(60).chunks(7919).for_each(|piece| writer.write_all(piece).unwrap());
    });
    let received = replies(&mut stream, 180);
    sender.join().unwrap();
    let lengths: Vec<usize> = received.iter().map(Vec::len).collect();
    assert_eq!(lengths, [5, 100_122 + "$100122\r\n\r\n".len(), 4].repeat(60));
    assert_eq!(server.commands(), 180);
}

#[test]
fn a_client_that_reads_late_gets_everything() {
    let server = start(json!({"document_bytes": 100_122, "replies": {"GET": "document"}}), None);
    let mut stream = connect(&server);
    let mut writer = stream.try_clone().unwrap();
    const COMMANDS: usize = 500;
    let sender = std::thread::spawn(move || {
        writer.write_all(&command(&["GET", "k"]).repeat(COMMANDS)).unwrap();
    });
    sender.join().unwrap();
    assert_eq!(replies(&mut stream, COMMANDS).len(), COMMANDS);
}

#[test]
fn many_connections_are_served_at_once() {
    let server = start(json!({}), None);
    let mut streams: Vec<TcpStream> = (0..100).map(|_| connect(&server)).collect();
    for _ in 0..3 {
        streams.iter_mut().for_each(|stream| stream.write_all(&command(&["PING"])).unwrap());
        for stream in &mut streams {
            assert_eq!(replies(stream, 1), [b"+PONG\r\n".to_vec()]);
        }
        streams.truncate(streams.len() / 2);
        streams.push(connect(&server));
    }
}

#[test]
fn a_unix_socket_serves_and_is_removed() {
    let path = std::env::temp_dir().join(format!("loadstone-null-{}.sock", std::process::id()));
    let server = start(json!({"unix_path": path}), None);
    assert_eq!(server.port(), 0);
    let mut stream = UnixStream::connect(&path).unwrap();
    assert_eq!(send(&mut stream, &["PING"]), "+PONG\r\n");
    server.stop();
    server.stop();
    assert!(!path.exists());
}

#[test]
fn stopping_closes_the_connections_and_frees_the_port() {
    let server = start(json!({}), None);
    let port = server.port();
    let mut stream = connect(&server);
    assert_eq!(send(&mut stream, &["PING"]), "+PONG\r\n");
    server.stop();
    assert_eq!(replies(&mut stream, 1), Vec::<Vec<u8>>::new());
    assert!(TcpStream::connect(("127.0.0.1", port)).is_err());
}

#[test]
fn a_delay_holds_each_reply_back_and_does_not_add_up() {
    let server = start(json!({"delay_us": 30_000}), None);
    let mut stream = connect(&server);
    let began = Instant::now();
    stream.write_all(&command(&["SET", "k", "v"]).repeat(1000)).unwrap();
    assert_eq!(replies(&mut stream, 1000).len(), 1000);
    let took = began.elapsed();
    assert!(took >= Duration::from_millis(30), "{took:?}");
    // One after the other they would take 30 s.
    assert!(took < Duration::from_secs(15), "{took:?}");
}

#[test]
fn service_times_add_up() {
    let server = start(json!({"busy_us": 2000}), None);
    let mut stream = connect(&server);
    let began = Instant::now();
    stream.write_all(&command(&["SET", "k", "v"]).repeat(20)).unwrap();
    assert_eq!(replies(&mut stream, 20).len(), 20);
    assert!(began.elapsed() >= Duration::from_millis(40), "{:?}", began.elapsed());
}

#[test]
fn commands_queue_for_the_servers_that_there_are() {
    let server = start(json!({"queue": {"servers": 8, "service_us": 1000}}), None);
    let mut stream = connect(&server);
    let began = Instant::now();
    stream.write_all(&command(&["SET", "k", "v"]).repeat(2000)).unwrap();
    assert_eq!(replies(&mut stream, 2000).len(), 2000);
    // 250 ms on average, with a standard deviation of 6 ms.
    assert!(began.elapsed() >= Duration::from_millis(200), "{:?}", began.elapsed());
}

#[test]
fn no_reply_leaves_in_a_freeze() {
    // Frozen for all but the first 50 ms of each 250 ms: 200 replies one by one cannot end in one period.
    let server = start(json!({"freeze_every_s": 0.25, "freeze_s": 0.2, "delay_us": 1000}), None);
    let mut stream = connect(&server);
    let began = Instant::now();
    (0..200).for_each(|_| assert_eq!(send(&mut stream, &["SET", "k", "v"]), "+OK\r\n"));
    // 200 ms of open time are four periods at the least, with three whole freezes between them.
    assert!(began.elapsed() >= Duration::from_millis(600), "{:?}", began.elapsed());
}

#[test]
fn a_server_that_records_knows_when_each_reply_left() {
    let server = start(json!({"record": true, "delay_us": 2000}), None);
    let mut stream = connect(&server);
    let since_epoch_ns = || SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos() as u64;
    let began_ns = since_epoch_ns();
    (0..3).for_each(|_| assert_eq!(send(&mut stream, &["SET", "k", "v"]), "+OK\r\n"));
    let left_ns = server.left_unix_ns();
    assert_eq!(left_ns.len(), 3);
    assert!(left_ns[0] >= began_ns + 2_000_000 && left_ns[2] <= since_epoch_ns());
    assert!(left_ns.windows(2).all(|two| two[1] >= two[0] + 2_000_000));
    assert!(start(json!({}), None).left_unix_ns().is_empty());
}

#[cfg(target_os = "linux")]
#[test]
fn a_server_that_records_knows_how_long_each_command_was_with_it() {
    let server = start(json!({"record": true, "delay_us": 2000}), None);
    let mut stream = connect(&server);
    // The kernel begins to stamp soon after the first socket requests it, and a reply is there before it is noted.
    let known = (0..500).find(|_| {
        assert_eq!(send(&mut stream, &["SET", "k", "v"]), "+OK\r\n");
        !server.residence_ns().is_empty()
    });
    assert!(known.is_some() && server.residence_ns().iter().all(|&ns| ns >= 2_000_000), "{:?}", server.residence_ns());
    assert!(start(json!({}), None).residence_ns().is_empty());
}

#[test]
fn faults_come_at_their_command() {
    let after = |fault: Fault| {
        let server = start(json!({}), Some(fault));
        let mut stream = connect(&server);
        stream.write_all(&command(&["CLIENT", "SETNAME", "x"])).unwrap();
        stream.write_all(&command(&["SET", "k", "v"]).repeat(3)).unwrap();
        let mut all = Vec::new();
        stream.set_read_timeout(Some(Duration::from_millis(300))).unwrap();
        let closed = loop {
            let mut buffer = [0; 1000];
            match stream.read(&mut buffer) {
                Ok(0) => break true,
                Ok(length) => all.extend_from_slice(&buffer[..length]),
                // A close with unread input may come as a reset.
                Err(error) if error.kind() == io::ErrorKind::ConnectionReset => break true,
                Err(_) => break false,
            }
        };
        (String::from_utf8_lossy(&all).replace("\r\n", " "), closed)
    };
    assert_eq!(after(Fault::CloseAfter { commands: 2 }), ("+OK +OK +OK ".into(), true));
    assert_eq!(after(Fault::CloseAfter { commands: 0 }), ("+OK ".into(), true));
    assert_eq!(after(Fault::HalfThenClose { nth: 2 }), ("+OK +OK +O".into(), true));
    let error = Fault::Error { nth: 2, text: "OOM full".into() };
    assert_eq!(after(error), ("+OK +OK -OOM full +OK ".into(), false));
    assert_eq!(after(Fault::Silence { nth: 2 }), ("+OK +OK +OK ".into(), false));
    assert_eq!(after(Fault::Pieces { bytes: 1, pause_us: 100 }), ("+OK +OK +OK +OK ".into(), false));
    let (garbage, closed) = after(Fault::Garbage { nth: 2 });
    assert!(garbage.starts_with("+OK +OK @garbage") && garbage.ends_with("+OK ") && !closed, "{garbage}");
}

#[test]
fn what_is_no_command_is_refused() {
    let server = start(json!({}), None);
    let mut stream = connect(&server);
    stream.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
    let mut text = Vec::new();
    let _ = stream.read_to_end(&mut text);
    assert!(text.starts_with(b"-ERR Protocol error"));
}

#[test]
fn options_that_make_no_sense_are_named() {
    let refused = |options: serde_json::Value| {
        let options = NullOptions::from_json(&options.to_string()).map_err(|error| error.to_string())?;
        NullServer::start(options).map(drop).map_err(|error| error.to_string())
    };
    for (options, part) in [
        (json!({"document_bytes": 123}), "document_bytes: 123: must be at least 124"),
        (json!({"document_bytes": 222, "field_bytes": 100}), "field_bytes: 100: "),
        (json!({"delay_us": -1}), "delay_us: -1: "),
        (json!({"queue": {"servers": 0, "service_us": 1}}), "queue.servers: 0: "),
        (json!({"queue": {"servers": 1, "service_us": 1, "kappa": 2}}), "queue.kappa: 2: must be 0 to 1"),
        (json!({"queue": {"servers": 1, "service_us": 1}, "delay_us": 1}), "queue: must stand alone"),
        (json!({"freeze_s": 1, "freeze_every_s": 1}), "freeze_s: 1: must be less than freeze_every_s"),
        (json!({"colour": 1}), "unknown field `colour`"),
        (json!({"replies": {"GET": "text"}}), "replies.GET: unknown variant `text`"),
    ] {
        let message = refused(options).unwrap_err();
        assert!(message.contains(part), "{message}");
    }
}
