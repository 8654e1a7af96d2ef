//! Recordings, read and written as a thread does it.

use super::*;
use crate::load::slots::slot_of;
use crate::plan::{Endpoint, Share};
use std::path::PathBuf;

struct Written(PathBuf);

impl Drop for Written {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

fn row(at_ns: u64, client: u32, operation: u32, arguments: &[(&[u8], bool)]) -> Vec<u8> {
    let sized = |(text, is_key): &(&[u8], bool)| {
        [&((text.len() as u32) << 2 | u32::from(*is_key)).to_le_bytes()[..], text].concat()
    };
    let body: Vec<u8> = arguments.iter().flat_map(sized).collect();
    let mut row = at_ns.to_le_bytes().to_vec();
    for number in [client, operation, arguments.len() as u32, body.len() as u32] {
        row.extend(number.to_le_bytes());
    }
    [row, body].concat()
}

fn plan(name: &str, rows: &[Vec<u8>], model: &str, threads: usize) -> (Written, Plan) {
    let path = std::env::temp_dir().join(format!("loadstone-recorded-{}-{name}", std::process::id()));
    let written = Written(path);
    std::fs::write(&written.0, [&MAGIC[..], &rows.concat()].concat()).unwrap();
    let path = written.0.to_str().unwrap();
    let text = format!(
        r#"{{"endpoints": [{{}}], "model": {model}, "pool": {{"connections": 4}}, "threads": {threads},
        "recording": {{"path": "{path}", "speed": 2}}, "keys": {{"prefix": "p:"}},
        "operations": [{{"name": "set", "commands": [{{"args": ["SET"]}}]}}]}}"#
    );
    (written, Plan::from_json(&text).unwrap())
}

const OPEN: &str = r#"{"kind": "open", "rate_per_s": 1, "arrivals": "recorded"}"#;

#[test]
fn keys_have_the_prefix_and_bytes_are_as_recorded() {
    let rows = [row(5_000, 0, 0, &[(b"SET", false), (b"a", true), (b"v\0\r\n", false)])];
    let (_written, plan) = plan("keys", &rows, OPEN, 1);
    let mut recorded = Recorded::new(&plan, Share::WHOLE).unwrap().unwrap();
    assert_eq!(recorded.next_ns(), Some(2_500), "at twice the speed");
    let (operation, place) = recorded.take().unwrap();
    let mut out = Vec::new();
    recorded.write(place, &mut out);
    assert_eq!((operation, out), (0, b"*3\r\n$3\r\nSET\r\n$3\r\np:a\r\n$4\r\nv\0\r\n\r\n".to_vec()));
    assert_eq!((recorded.next_ns(), recorded.take(), recorded.held_bytes), (None, None, 0));
    assert!(recorded.failure().is_none());
}

#[test]
fn each_client_has_its_thread_and_its_connection() {
    let rows: Vec<_> = (0..12).map(|client| row(client.into(), client, 0, &[(b"PING", false)])).collect();
    let (_written, plan) = plan("clients", &rows, r#"{"kind": "closed", "users": 4}"#, 2);
    for thread in 0..2 {
        let mut recorded = Recorded::new(&plan, Share { number: thread, of: 2 }).unwrap().unwrap();
        assert_eq!((recorded.own_sequences(), recorded.next_ns()), (2, Some(0)), "as fast as possible");
        let places: Vec<usize> = std::iter::from_fn(|| recorded.take()).map(|(_, place)| place).collect();
        let sequences: Vec<usize> = places.iter().map(|&place| recorded.sequence(place)).collect();
        assert_eq!(sequences, [0, 1, 0, 1, 0, 1]);
        places.into_iter().for_each(|place| recorded.let_go(place));
        assert_eq!(recorded.free.len(), 6);
    }
}

fn cluster_plan(name: &str, rows: &[Vec<u8>]) -> (Written, Plan) {
    let (written, mut plan) = plan(name, rows, OPEN, 1);
    plan.endpoints =
        [vec![(0, 8191)], vec![(8192, 16_383)]].map(|slots| Endpoint { slots, ..plan.endpoints[0].clone() }).into();
    (written, plan)
}

#[test]
fn a_command_for_a_cluster_has_its_first_keys_slot_and_is_held_until_it_is_let_go() {
    let set = |client, text: &[u8]| row(0, client, 0, &[(b"SET", false), (text, true)]);
    let rows = [set(0, b"foo"), set(1, b"{x}a"), row(0, 1, 0, &[(b"PING", false)]), set(0, b"foo")];
    let (_written, plan) = cluster_plan("slots", &rows);
    let mut recorded = Recorded::new(&plan, Share::WHOLE).unwrap().unwrap();
    assert_eq!(recorded.own_sequences(), 2, "of four connections to two nodes");
    let places: Vec<usize> = std::iter::from_fn(|| recorded.take()).map(|(_, place)| place).collect();
    let (foo, tagged) = (slot_of(b"p:foo") as u16, slot_of(b"x") as u16);
    assert_eq!(places.iter().map(|&place| recorded.slot(place)).collect::<Vec<_>>(), [foo, tagged, tagged, foo]);
    let mut out = Vec::new();
    recorded.write(places[0], &mut out);
    let first = std::mem::take(&mut out);
    recorded.write(places[0], &mut out);
    assert!(recorded.is_kept(places[0]) && first == out, "the same again");
    recorded.by_slots.as_mut().unwrap().kept_max_bytes = 0;
    recorded.write(places[3], &mut out);
    assert!(!recorded.is_kept(places[3]), "there is no more room");
    places.into_iter().for_each(|place| recorded.let_go(place));
    let kept_bytes = recorded.by_slots.as_ref().map(|by_slots| by_slots.kept_bytes);
    assert_eq!((recorded.held_bytes, kept_bytes, recorded.free.len()), (0, Some(0), 4));
}

#[test]
fn what_is_not_sent_says_where_a_command_goes_and_what_no_node_takes_is_passed_over() {
    let route = [&(1u32 << 2 | NOT_SENT).to_le_bytes()[..], b"k"].concat();
    let mut multi = row(0, 0, 0, &[(b"MULTI", false)]);
    let length = (multi.len() - HEAD_BYTES + route.len()) as u32;
    multi[20..24].copy_from_slice(&length.to_le_bytes());
    multi.extend(route);
    let mut several = row(1_000, 0, 0, &[(b"MSET", false), (b"k", true), (b"l", true)]);
    several[16..20].copy_from_slice(&(3 | OF_SEVERAL_SLOTS).to_le_bytes());
    for (of_a_cluster, commands) in [(true, 1), (false, 2)] {
        let rows = [multi.clone(), several.clone()];
        let name = format!("route-{of_a_cluster}");
        let (_written, plan) = if of_a_cluster { cluster_plan(&name, &rows) } else { plan(&name, &rows, OPEN, 1) };
        let mut recorded = Recorded::new(&plan, Share::WHOLE).unwrap().unwrap();
        let places: Vec<usize> = std::iter::from_fn(|| recorded.take()).map(|(_, place)| place).collect();
        let mut out = Vec::new();
        recorded.write(places[0], &mut out);
        assert_eq!((places.len(), out.as_slice()), (commands, &b"*1\r\n$5\r\nMULTI\r\n"[..]));
        if of_a_cluster {
            assert_eq!(usize::from(recorded.slot(places[0])), slot_of(b"p:k"));
        } else {
            recorded.write(places[1], &mut out);
            assert!(out.ends_with(b"*3\r\n$4\r\nMSET\r\n$3\r\np:k\r\n$3\r\np:l\r\n"));
        }
    }
}

#[test]
fn a_file_that_was_cut_or_is_another_one_is_an_error() {
    let whole = row(0, 0, 0, &[(b"PING", false)]);
    let (_cut, cut) = plan("cut", &[whole[..whole.len() - 1].to_vec()], OPEN, 1);
    let mut recorded = Recorded::new(&cut, Share::WHOLE).unwrap().unwrap();
    assert!(recorded.take().is_none() && recorded.failure().is_some());
    let (_unknown, unknown) = plan("unknown", &[row(0, 0, 1, &[])], OPEN, 1);
    assert!(Recorded::new(&unknown, Share::WHOLE).unwrap_err().message.contains("operation 1 is none of the plan's"));
    let (written, other) = plan("other", &[], OPEN, 1);
    std::fs::write(&written.0, "text").unwrap();
    assert!(Recorded::new(&other, Share::WHOLE).unwrap_err().message.contains("is no recording"));
}
