//! The line over real sockets. Nothing here depends on how fast the machine is.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::time::{Duration, Instant};

use serde_json::json;

use super::*;

/// What a millisecond of these delays takes at least: nothing arrives earlier by more than 50 us on a way.
const A_LITTLE_LESS: Duration = Duration::from_micros(980);

/// A line to a listener of ours.
fn line(options: serde_json::Value) -> (Link, TcpListener) {
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut all = json!({"to_host": "127.0.0.1", "to_port": server.local_addr().unwrap().port()});
    all.as_object_mut().unwrap().extend(options.as_object().unwrap().clone());
    (Link::start(LinkOptions::from_json(&all.to_string()).unwrap()).unwrap(), server)
}

/// Both ends of a connection through it.
fn connected(link: &Link, server: &TcpListener) -> (TcpStream, TcpStream) {
    let client = TcpStream::connect(("127.0.0.1", link.port())).unwrap();
    let (served, _) = server.accept().unwrap();
    for stream in [&client, &served] {
        // A line that loses something must not hang the tests.
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        stream.set_nodelay(true).unwrap();
    }
    (client, served)
}

fn exactly(stream: &mut TcpStream, count: usize) -> Vec<u8> {
    let mut found = vec![0; count];
    stream.read_exact(&mut found).unwrap();
    found
}

#[test]
fn what_is_sent_arrives_later_and_both_ways() {
    let both = json!({"to_server": {"delay_us": 20_000}, "to_client": {"delay_us": 30_000}});
    let (link, server) = line(both);
    let (mut client, mut served) = connected(&link, &server);
    client.write_all(b"x").unwrap();
    exactly(&mut served, 1);
    let began = Instant::now();
    client.write_all(b"ping").unwrap();
    assert_eq!(exactly(&mut served, 4), b"ping");
    assert!(began.elapsed() >= A_LITTLE_LESS * 20, "{:?}", began.elapsed());
    served.write_all(b"pong").unwrap();
    assert_eq!(exactly(&mut client, 4), b"pong");
    assert!(began.elapsed() >= A_LITTLE_LESS * 50, "{:?}", began.elapsed());
    let report = link.report().unwrap();
    assert_eq!((report.connections, report.accepted, report.to_server.bytes, report.to_client.bytes), (1, 1, 5, 4));
    assert_eq!(report.to_server.pieces, 2);
    assert!(report.cpu_ns > 0 && report.cpu_ns <= report.wall_ns, "{report:?}");
    assert_eq!(link.report().unwrap().to_server.pieces, 0, "counted anew");
}

#[test]
fn jitter_changes_no_order_and_a_great_deal_comes_through_whole() {
    let way = json!({"delay_us": 300, "jitter_us": 300, "distribution": "uniform"});
    let (link, server) = line(json!({"to_server": way, "to_client": way}));
    let (mut client, mut served) = connected(&link, &server);
    let sent: Vec<u8> = (0..8_000_000u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    let expected = sent.clone();
    let echo = std::thread::spawn(move || {
        let mut buffer = vec![0; 100_000];
        loop {
            match served.read(&mut buffer).unwrap() {
                0 => return served.shutdown(Shutdown::Write).unwrap(),
                count => served.write_all(&buffer[..count]).unwrap(),
            }
        }
    });
    let mut writer = client.try_clone().unwrap();
    let write = std::thread::spawn(move || {
        sent.chunks(7_777).for_each(|chunk| writer.write_all(chunk).unwrap());
        writer.shutdown(Shutdown::Write).unwrap();
    });
    let mut found = Vec::new();
    client.read_to_end(&mut found).unwrap();
    write.join().unwrap();
    echo.join().unwrap();
    assert!(found == expected, "{} of {} bytes", found.len(), expected.len());
}

#[test]
fn a_side_that_is_not_read_stops_the_other_and_not_the_line() {
    let (link, server) = line(json!({}));
    let (mut client, mut served) = connected(&link, &server);
    client.set_nonblocking(true).unwrap();
    let (block, mut sent, mut idle) = (vec![7; 64 * 1024], 0u64, 0);
    while idle < 20 {
        match client.write(&block) {
            Ok(count) => (sent, idle) = (sent + count as u64, 0),
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                std::thread::sleep(Duration::from_millis(10));
                idle += 1;
            }
            Err(error) => panic!("{error}"),
        }
        assert!(sent < 200_000_000, "nothing stops it");
    }
    let held = link.report().unwrap().held_bytes;
    assert!(held <= path::HELD_MOST_BYTES + 64 * 1024, "{held}");
    client.shutdown(Shutdown::Write).unwrap();
    let mut received = 0u64;
    let mut buffer = vec![0; 1 << 20];
    loop {
        match served.read(&mut buffer).unwrap() {
            0 => break,
            count => received += count as u64,
        }
    }
    assert_eq!(received, sent);
}

#[test]
fn a_half_close_passes_and_the_other_way_stays_open() {
    let (link, server) = line(json!({"to_server": {"delay_us": 1000}, "to_client": {"delay_us": 1000}}));
    let (mut client, mut served) = connected(&link, &server);
    client.write_all(b"last").unwrap();
    client.shutdown(Shutdown::Write).unwrap();
    let mut found = Vec::new();
    served.read_to_end(&mut found).unwrap();
    assert_eq!(found, b"last");
    served.write_all(b"answer").unwrap();
    drop(served);
    let mut answer = Vec::new();
    client.read_to_end(&mut answer).unwrap();
    assert_eq!(answer, b"answer");
}

#[test]
fn a_reset_passes_and_connections_are_lost_on_command() {
    let (link, server) = line(json!({}));
    let (mut first, mut first_served) = connected(&link, &server);
    let (mut second, mut second_served) = connected(&link, &server);
    let is_lost = |stream: &mut TcpStream| stream.read(&mut [0; 9]).unwrap_err().kind() == ErrorKind::ConnectionReset;
    assert_eq!(link.drop_connections(1).unwrap(), 1);
    assert!(is_lost(&mut first) && is_lost(&mut first_served));
    second.write_all(b"on").unwrap();
    assert_eq!(exactly(&mut second_served, 2), b"on");
    socket_that_resets(&second_served);
    drop(second_served);
    assert!(is_lost(&mut second));
    let report = link.report().unwrap();
    assert_eq!((report.dropped, report.connections, link.drop_connections(9).unwrap()), (1, 0, 0));
}

fn socket_that_resets(stream: &TcpStream) {
    let copy = mio::net::TcpStream::from_std(stream.try_clone().unwrap());
    pair::close_by_reset(&copy);
}

#[test]
fn a_server_that_is_not_there_is_a_reset_and_the_line_can_lead_elsewhere() {
    let (link, server) = line(json!({}));
    drop(server);
    let mut client = TcpStream::connect(("127.0.0.1", link.port())).unwrap();
    assert!(client.read(&mut [0; 9]).map_or(true, |count| count == 0));
    let another = TcpListener::bind("127.0.0.1:0").unwrap();
    link.lead_to("127.0.0.1", another.local_addr().unwrap().port()).unwrap();
    let (mut client, mut served) = connected(&link, &another);
    client.write_all(b"here").unwrap();
    assert_eq!(exactly(&mut served, 4), b"here");
}

#[test]
fn a_narrow_line_takes_its_time() {
    let way = json!({"bits_per_s": 8e6}); // a megabyte a second
    let (link, server) = line(json!({"to_server": way}));
    let (mut client, mut served) = connected(&link, &server);
    let began = Instant::now();
    client.write_all(&vec![1; 200_000]).unwrap();
    exactly(&mut served, 200_000);
    assert!(began.elapsed() >= Duration::from_millis(199), "{:?}", began.elapsed());
}

#[test]
fn options_that_make_no_sense_are_named() {
    let refused = |way: serde_json::Value| {
        let options = json!({"to_host": "127.0.0.1", "to_port": 1, "to_server": way}).to_string();
        let options = LinkOptions::from_json(&options).map_err(|error| error.to_string())?;
        Link::start(options).map(drop).map_err(|error| error.to_string())
    };
    for (way, part) in [
        (json!({"delay_us": -1}), "to_server.delay_us: -1: "),
        (json!({"delay_us": 1, "jitter_us": 2}), "to_server.jitter_us: 2: must be at most delay_us"),
        (json!({"bits_per_s": 5}), "to_server.bits_per_s: 5: "),
        (json!({"colour": 5}), "unknown field `colour`"),
    ] {
        let message = refused(way).unwrap_err();
        assert!(message.contains(part), "{message}");
    }
}
