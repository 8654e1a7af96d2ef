//! A recording that is sent to the nodes of a cluster: where each command goes, its order, and slots that move.

use crate::prepared::{Command, NOT_IN_A_CLUSTER, Prepared, recorded};
use crate::resp_server::Server;
use crate::support::{Outcome, drive};
use loadstone_engine::load::slots::slot_of;
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};

const HALVES: [[u16; 2]; 2] = [[0, 8191], [8192, 16_383]];
/// Tags whose slots the first node has, and the second.
const LOW: &str = "{b}";
const HIGH: &str = "{a}";

/// What came in, at which node.
type Log = Arc<Mutex<Vec<(usize, String)>>>;

fn half_of(key: &str) -> usize {
    usize::from(slot_of(key.as_bytes()) > 8191)
}

/// A node that notes all commands; `reply` says what it answers.
fn node(number: usize, log: &Log, reply: impl Fn(&[String]) -> String + Send + Sync + 'static) -> Server {
    let log = log.clone();
    Server::start(move |received| {
        log.lock().unwrap().push((number, received.arguments.join(" ")));
        vec![reply(received.arguments).into_bytes()]
    })
}

fn ok(_: &[String]) -> String {
    "+OK\r\n".into()
}

fn moved(kind: &str, key: &str, port: u16) -> String {
    format!("-{kind} {} 127.0.0.1:{port}\r\n", slot_of(key.as_bytes()))
}

fn endpoints(ports: &[u16]) -> Value {
    let slots = |place: usize| HALVES.get(place).map_or(json!([]), |half| json!([half]));
    ports.iter().enumerate().map(|(place, port)| json!({"port": port, "slots": slots(place)})).collect()
}

fn replay(name: &str, commands: &[Command], ports: &[u16], model: Value, mut changes: Value) -> Outcome {
    let file = Prepared::new(name, commands);
    changes["endpoints"] = endpoints(ports);
    drive(file.plan(0, model, changes))
}

fn all(texts: &[&str]) -> Vec<Command> {
    texts.iter().map(|text| Command::new(0, 0, text)).collect()
}

fn texts(log: &Log) -> Vec<(usize, String)> {
    log.lock().unwrap().clone()
}

#[test]
fn the_tags_are_on_the_nodes_that_they_stand_for() {
    assert_eq!((half_of(LOW), half_of(HIGH)), (0, 1));
}

#[test]
fn each_command_goes_to_its_node_and_each_clients_in_their_order() {
    const CLIENTS: u32 = 5;
    let command = |number: u32| {
        let client = number * 7 % CLIENTS;
        Command::new(u64::from(number / 4), client, &format!("SET @{{{}}}:{client} {number}", number * 31 % 97))
    };
    let commands: Vec<Command> = (0..400).map(command).collect();
    for (name, model) in [("own", recorded()), ("fastest", json!({"kind": "closed", "users": 5}))] {
        for (threads, depth, connections) in [(1, 1, 10), (2, 4, 10), (1, 4, 4)] {
            let log = Log::default();
            let nodes = [node(0, &log, ok), node(1, &log, ok)];
            let changes = json!({"threads": threads, "pipeline_depth": depth, "pool": {"connections": connections}});
            let name = format!("order-{name}-{threads}-{connections}");
            let ports = nodes.each_ref().map(|node| node.port);
            let outcome = replay(&name, &commands, &ports, model.clone(), changes);
            assert_eq!((outcome.counts("set").ok, outcome.errors()), (400, 0));
            assert_eq!(outcome.record.connections.opened, connections, "one to each node for each client");
            let came = texts(&log);
            for place in 0..2 {
                let own = came.iter().filter(|(node, _)| *node == place).count() as u64;
                assert_eq!(outcome.record.endpoints[place].sent, own);
                assert!(own > 0);
            }
            for client in 0..CLIENTS {
                let numbers: Vec<u32> = came
                    .iter()
                    .filter_map(|(node, text)| {
                        let words: Vec<&str> = text.split(' ').collect();
                        assert_eq!(half_of(words[1]), *node, "{text}");
                        words[1].ends_with(&format!("}}:{client}")).then(|| words[2].parse().unwrap())
                    })
                    .collect();
                assert!(numbers.len() == 80 && numbers.is_sorted(), "client {client}: {numbers:?}");
            }
        }
    }
}

#[test]
fn what_no_node_takes_is_not_sent_and_what_has_no_key_goes_where_its_client_was_last() {
    let log = Log::default();
    let nodes = [node(0, &log, ok), node(1, &log, ok)];
    let mut commands = all(&["PING 0", "SET @{a}k 1", "PING 1", "MSET @k 1 @l 2", "GET @{b}", "PING 2"]);
    commands[3].flags = NOT_IN_A_CLUSTER;
    let changes = json!({"pool": {"connections": 2}});
    let outcome = replay("keyless", &commands, &[nodes[0].port, nodes[1].port], recorded(), changes);
    let expected = [(0, "PING 0"), (1, "SET p:{a}k 1"), (1, "PING 1"), (0, "GET p:{b}"), (0, "PING 2")];
    assert_eq!(texts(&log), expected.map(|(node, text)| (node, text.to_string())));
    assert_eq!((outcome.record.total.offered, outcome.counts("mset").offered, outcome.errors()), (5, 0, 0));
    assert_eq!((outcome.record.commands["PING"].sent, outcome.record.commands["MSET"].sent), (3, 0));
}

#[test]
fn a_slot_that_moved_is_followed_with_the_same_bytes_and_in_order() {
    for depth in [1, 4] {
        let log = Log::default();
        let target = node(1, &log, ok);
        let port = target.port;
        let source = node(0, &log, move |arguments| moved("MOVED", &arguments[1], port));
        let texts_sent: Vec<String> = (0..20).map(|number| format!("SET @{LOW}{} {number}", number % 3)).collect();
        let commands = all(&texts_sent.iter().map(String::as_str).collect::<Vec<_>>());
        let changes = json!({"pool": {"connections": 2}, "pipeline_depth": depth});
        let outcome = replay(&format!("moved-{depth}"), &commands, &[source.port, port], recorded(), changes);
        assert_eq!((outcome.errors(), outcome.counts("set").ok), (0, 20));
        let came: Vec<String> = texts(&log).into_iter().filter(|(node, _)| *node == 1).map(|(_, text)| text).collect();
        assert_eq!(came, texts_sent.iter().map(|text| text.replace('@', "p:")).collect::<Vec<_>>());
        let redirections = outcome.record.redirections.clone().unwrap();
        assert!((1..=depth).contains(&redirections.moved), "{redirections:?}");
        assert_eq!((outcome.record.endpoints[0].sent, outcome.record.endpoints[1].sent), (0, 20));
        assert_eq!(outcome.record.commands["SET"].sent, 20 + redirections.moved);
        assert_eq!(outcome.record.commands["SET"].replied, 20 + redirections.moved);
    }
}

#[test]
fn a_key_that_is_on_its_way_is_asked_for_at_the_other_node() {
    let log = Log::default();
    let target = node(1, &log, ok);
    let port = target.port;
    let source = node(0, &log, move |arguments| moved("ASK", &arguments[1], port));
    let commands = all(&["SET @{b}1 x", "SET @{b}2 y"]);
    let changes = json!({"pool": {"connections": 2}});
    let outcome = replay("ask", &commands, &[source.port, port], recorded(), changes);
    let expected = ["ASKING", "SET p:{b}1 x", "ASKING", "SET p:{b}2 y"];
    let came: Vec<String> = texts(&log).into_iter().filter(|(node, _)| *node == 1).map(|(_, text)| text).collect();
    assert_eq!((came.as_slice(), outcome.errors()), (expected.map(String::from).as_slice(), 0));
    assert_eq!(outcome.record.redirections.as_ref().map(|found| (found.ask, found.moved)), Some((2, 0)));
}

#[test]
fn a_transaction_goes_to_one_node_whole() {
    let log = Log::default();
    let nodes = [node(0, &log, ok), node(1, &log, ok)];
    let texts_sent = ["SET @{b} 0", "MULTI ~{a}", "SET @{a}1 1", "PING", "SET @{a}2 2", "EXEC", "GET @{b}"];
    for depth in [1, 16] {
        log.lock().unwrap().clear();
        let changes = json!({"pool": {"connections": 2}, "pipeline_depth": depth});
        let ports = [nodes[0].port, nodes[1].port];
        let outcome = replay(&format!("whole-{depth}"), &all(&texts_sent), &ports, recorded(), changes);
        assert_eq!((outcome.errors(), outcome.record.total.ok), (0, 7));
        let expected = ["SET p:{b} 0", "MULTI", "SET p:{a}1 1", "PING", "SET p:{a}2 2", "EXEC", "GET p:{b}"];
        let nodes_of = [0, 1, 1, 1, 1, 1, 0];
        assert_eq!(texts(&log), std::iter::zip(nodes_of, expected.map(String::from)).collect::<Vec<_>>());
    }
}

#[test]
fn a_transaction_whose_slot_moves_ends_as_an_error_and_leaves_no_connection_in_it() {
    let texts_sent = ["MULTI ~{b}", "SET @{b}1 1", "SET @{b}2 2", "EXEC", "MULTI ~{b}", "SET @{b}3 3", "EXEC", "PING"];
    let log = Log::default();
    let target = node(1, &log, ok);
    let port = target.port;
    let source = node(0, &log, move |arguments| match arguments[0].as_str() {
        "SET" => moved("MOVED", &arguments[1], port),
        "EXEC" => "-EXECABORT Transaction discarded because of previous errors.\r\n".into(),
        _ => "+OK\r\n".into(),
    });
    let changes = json!({"pool": {"connections": 2}});
    let outcome = replay("transaction", &all(&texts_sent), &[source.port, port], recorded(), changes);
    let record = &outcome.record;
    assert_eq!(record.redirections.as_ref().map(|found| (found.in_transaction, found.moved)), Some((1, 0)));
    assert_eq!((outcome.errors(), record.total.errors["server_moved"], record.total.ok), (3, 3, 5));
    assert_eq!((record.connections.lost, record.commands["SET"].sent), (1, 2), "the second SET was not sent any more");
    let came: Vec<String> = texts(&log).into_iter().filter(|(node, _)| *node == 1).map(|(_, text)| text).collect();
    assert_eq!(came, ["MULTI", "SET p:{b}3 3", "EXEC", "PING"]);
    // Where its end is on its way already, the server ends it.
    let changes = json!({"pool": {"connections": 2}, "pipeline_depth": 16});
    let outcome = replay("transaction-whole", &all(&texts_sent[..4]), &[source.port, port], recorded(), changes);
    let record = &outcome.record;
    assert_eq!((record.total.errors["server_moved"], record.total.errors["server_execabort"]), (2, 1));
    assert_eq!((record.total.ok, record.connections.lost), (1, 0));
}

#[test]
fn the_end_of_a_transaction_is_not_sent_on() {
    let log = Log::default();
    let target = node(1, &log, ok);
    let port = target.port;
    let source = node(0, &log, move |arguments| match arguments[0].as_str() {
        "EXEC" => moved("MOVED", "p:{b}1", port),
        _ => "+OK\r\n".into(),
    });
    for depth in [1, 16] {
        let texts_sent = ["MULTI ~{b}", "SET @{b}1 1", "EXEC", "GET @{b}1"];
        let changes = json!({"pool": {"connections": 2}, "pipeline_depth": depth});
        let outcome = replay(&format!("end-{depth}"), &all(&texts_sent), &[source.port, port], recorded(), changes);
        assert_eq!((outcome.errors(), outcome.record.total.errors["server_moved"]), (1, 1));
        assert_eq!(outcome.record.redirections.as_ref().map(|found| (found.moved, found.in_transaction)), Some((0, 1)));
        assert_eq!((outcome.record.total.ok, outcome.record.connections.lost), (3, 0));
    }
    assert!(!texts(&log).contains(&(1, "EXEC".into())));
}

#[test]
fn a_command_before_a_transaction_is_sent_on_without_it() {
    let log = Log::default();
    let target = node(1, &log, ok);
    let port = target.port;
    let source = node(0, &log, move |arguments| match arguments.get(1) {
        Some(key) if key.contains('x') => moved("MOVED", key, port),
        _ => "+OK\r\n".into(),
    });
    let low =
        |letter: &str| (0..).map(|number| format!("{letter}{number}")).find(|key| half_of(&format!("p:{key}")) == 0);
    let (first, second) = (low("x").unwrap(), low("y").unwrap());
    let texts_sent =
        [format!("SET @{first} 0"), format!("MULTI ~{second}"), format!("SET @{second} 1"), "EXEC".to_string()];
    let commands = all(&texts_sent.each_ref().map(String::as_str));
    for depth in [1, 2, 3, 4] {
        let changes = json!({"pool": {"connections": 2}, "pipeline_depth": depth});
        let outcome = replay(&format!("before-{depth}"), &commands, &[source.port, port], recorded(), changes);
        assert_eq!((outcome.errors(), outcome.record.total.ok), (0, 4), "{depth}: {:?}", outcome.record.total);
        assert_eq!(outcome.record.redirections.as_ref().map(|found| (found.moved, found.in_transaction)), Some((1, 0)));
    }
}

#[test]
fn a_node_that_sends_all_on_for_ever_ends_them_as_errors() {
    let other = Arc::new(Mutex::new(0));
    let log = Log::default();
    let pointing = other.clone();
    let a = node(0, &log, move |arguments| moved("MOVED", &arguments[1], *pointing.lock().unwrap()));
    let port = a.port;
    let b = node(1, &log, move |arguments| moved("MOVED", &arguments[1], port));
    *other.lock().unwrap() = b.port;
    let changes = json!({"pool": {"connections": 2}});
    let outcome = replay("for-ever", &all(&["SET @{b} 1", "SET @{a} 1"]), &[a.port, b.port], recorded(), changes);
    assert_eq!((outcome.errors(), outcome.record.total.errors["server_moved"]), (2, 2));
    assert_eq!(outcome.record.redirections.as_ref().map(|found| (found.too_many, found.moved)), Some((2, 10)));
}

#[test]
fn what_waits_for_a_node_that_is_gone_tries_another_one() {
    let log = Log::default();
    let replica = node(2, &log, ok);
    let port = replica.port;
    let primary = Server::start(|_| vec![]);
    let high =
        node(
            1,
            &log,
            move |arguments| {
                if half_of(&arguments[1]) == 0 { moved("MOVED", &arguments[1], port) } else { "+OK\r\n".into() }
            },
        );
    let commands: Vec<Command> = (0..200)
        .map(|number| Command::new(number * 5, number as u32 % 4, &format!("SET @{{{}}} {number}", number * 31 % 97)))
        .collect();
    let ports = [primary.port, high.port, port];
    let file = Prepared::new("gone", &commands);
    let changes = json!({"endpoints": endpoints(&ports), "pool": {"connections": 12}, "pipeline_depth": 2});
    let running = crate::support::begin(file.plan(0, recorded(), changes));
    drop(primary);
    let outcome = crate::support::finish(running);
    let record = &outcome.record;
    assert!(record.endpoints[2].ok > 0, "the replica: {:?}", record.endpoints);
    assert!(record.total.errors.keys().all(|name| name.starts_with("connection_")), "{:?}", record.total.errors);
    assert!(outcome.errors() <= 8, "what was on its way: {:?}", record.total.errors);
    assert_eq!(record.total.ok + outcome.errors(), 200);
}
