//! A primary that Sentinel watches: lost and found again; and which server is not gone to.

use crate::resp_server::Server;
use crate::support::{Outcome, begin, finish, plan, take_until};
use loadstone_engine::drive::Drive;
use serde_json::{Value, json};
use std::io::ErrorKind;
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicU16, AtomicU64, Ordering};
use std::time::Duration;

const OK: &[u8] = b"+OK\r\n";

fn good() -> Server {
    Server::start(|_| vec![OK.to_vec()])
}

/// Names the server at this port; none where that is 0.
fn sentinel(port: Arc<AtomicU16>) -> Server {
    Server::start(move |received| {
        assert_eq!(received.arguments, ["SENTINEL", "GET-MASTER-ADDR-BY-NAME", "main"]);
        let port = port.load(Ordering::SeqCst).to_string();
        let text = format!("*2\r\n$9\r\n127.0.0.1\r\n${}\r\n{port}\r\n", port.len());
        vec![if port == "0" { b"*-1\r\n".to_vec() } else { text.into_bytes() }]
    })
}

fn endpoints(primary: u16, standby: u16, sentinels: &[u16]) -> Value {
    let mut all = vec![json!({"port": primary}), json!({"port": standby, "standby": true})];
    all.extend(sentinels.iter().map(|port| json!({"port": port, "sentinel_of": "main"})));
    json!(all)
}

fn ok(intervals: &[Value]) -> u64 {
    intervals.iter().map(|one| one["operations"]["get"]["ok"].as_u64().unwrap()).sum()
}

/// Loses the primary after a while; Sentinel names the standby some time later.
fn fail_over(depth: u64, threads: u64) -> Outcome {
    let (primary, standby, named) = (good(), good(), Arc::new(AtomicU16::new(0)));
    let (asleep, watching) = (TcpListener::bind("127.0.0.1:0").unwrap(), sentinel(named.clone()));
    let closed = asleep.local_addr().unwrap().port();
    drop(asleep);
    named.store(primary.port, Ordering::SeqCst);
    let changes = json!({
        "endpoints": endpoints(primary.port, standby.port, &[closed, watching.port]), "pipeline_depth": depth,
        "threads": threads, "timeouts": {"gone_s": 20.0},
        "phases": {"ramp_up_s": 0, "warm_up_s": 0, "measure_s": 1.0, "measure_operations": 4000, "measure_max_s": 60},
    });
    let mut running = begin(plan(0, changes));
    let port = standby.port;
    drop(primary);
    let switching = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(300));
        named.store(port, Ordering::SeqCst);
    });
    let before = ok(&running.1);
    take_until(&mut running, |intervals| ok(intervals) >= before + 2000);
    switching.join().unwrap();
    finish(running)
}

#[test]
fn the_standby_that_sentinel_names_gets_the_load() {
    for (depth, threads) in [(1, 1), (4, 2)] {
        let outcome = fail_over(depth, threads);
        let record = &outcome.record;
        assert!(record.total.errors.keys().all(|name| name.starts_with("connection_")), "{:?}", record.total.errors);
        assert!(outcome.errors() <= 4 * depth, "what was on its way: {:?}", record.total.errors);
        assert_eq!(record.failovers.len(), 1, "{:?}", record.failovers);
        let gap = &record.failovers[0];
        let length_s = gap.answered_s.unwrap() - gap.lost_s;
        assert!(length_s >= 0.25, "the standby was named no earlier: {length_s}");
        assert_eq!(gap.primary, 1);
        assert!(record.endpoints[1].ok > 0 && record.endpoints[2].sent == 0);
        assert_eq!(record.stopped, None);
    }
}

#[test]
fn a_primary_that_became_a_replica_is_left() {
    let standby = good();
    let commands = AtomicU64::new(0);
    let primary = Server::start(move |_| {
        let is_first = commands.fetch_add(1, Ordering::SeqCst) < 5;
        vec![if is_first { OK.to_vec() } else { b"-READONLY You can't write against a replica.\r\n".to_vec() }]
    });
    let watching = sentinel(Arc::new(AtomicU16::new(standby.port)));
    let changes = json!({
        "endpoints": endpoints(primary.port, standby.port, &[watching.port]),
        "model": {"kind": "closed", "users": 2, "operations_per_user": 100}, "pool": {"connections": 2},
        "phases": {"ramp_up_s": 0, "warm_up_s": 0},
    });
    let outcome = crate::support::drive(plan(0, changes));
    assert!((1..=2).contains(&outcome.errors()), "one for each connection: {:?}", outcome.record.total.errors);
    assert_eq!(outcome.record.total.errors["server_readonly"], outcome.errors());
    assert_eq!(outcome.record.total.ok + outcome.errors(), 200);
    assert!(outcome.record.failovers.iter().all(|gap| gap.primary == 1));
}

#[test]
fn no_server_is_gone_to_that_was_not_there() {
    let stranger = TcpListener::bind("127.0.0.1:0").unwrap();
    stranger.set_nonblocking(true).unwrap();
    let (primary, standby) = (good(), good());
    let watching = sentinel(Arc::new(AtomicU16::new(stranger.local_addr().unwrap().port())));
    let changes = json!({
        "endpoints": endpoints(primary.port, standby.port, &[watching.port]), "timeouts": {"gone_s": 0.3},
        "phases": {"ramp_up_s": 0, "warm_up_s": 0, "measure_s": 20.0, "drain_s": 0.1},
    });
    let running = begin(plan(0, changes));
    drop(primary);
    let outcome = finish(running);
    let why = outcome.record.stopped.clone().unwrap();
    assert!(why.contains("names a server that was not there when the run began"), "{why}");
    assert_eq!(outcome.record.failovers[0].answered_s, None);
    assert_eq!(stranger.accept().unwrap_err().kind(), ErrorKind::WouldBlock);
}

#[test]
fn endpoints_that_make_no_sense_are_refused() {
    let refusal = |endpoints: Value| {
        let text = crate::support::plan_json(0, json!({"endpoints": endpoints})).to_string();
        loadstone_engine::plan::Plan::from_json(&text).map(Drive::new).expect_err("is refused").to_string()
    };
    let sentinel = json!({"sentinel_of": "main"});
    assert_eq!(
        refusal(json!([{}, {"standby": true}])),
        "endpoints[1]: standby: needs a Sentinel that says when it takes over"
    );
    for endpoints in [json!([sentinel]), json!([{}, {}, sentinel]), json!([sentinel, {}])] {
        assert!(refusal(endpoints).contains("must begin with the one primary, with Sentinel"));
    }
    let slots = json!([{"slots": [[0, 16_383]]}, sentinel]);
    assert!(refusal(slots).starts_with("endpoints[0]: a server that Sentinel watches has no slots"));
}
