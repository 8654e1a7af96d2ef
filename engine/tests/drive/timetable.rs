//! Rounds by a timetable: slices of several agents begin together, and what would be late is left out.

use crate::rounds::{SLICE_S, finish, made, options, sliceable};
use crate::shared::now_ns;
use crate::support::{Outcome, lay_over, server};
use loadstone_engine::record::slices::SliceRecord;
use loadstone_engine::rounds::Rounds;
use serde_json::{Value, json};
use std::collections::BTreeSet;

// A busy machine is late for some slices, with all of these.
const ROUNDS: usize = 8;
const SETTLE_S: f64 = 0.04;
const EDGE_S: f64 = 0.002;
const PAUSE_S: f64 = 0.05;
const SLOT_S: f64 = SETTLE_S + SLICE_S + 2.0 * EDGE_S + PAUSE_S;

fn timetable(changes: Value) -> Value {
    let mut options =
        options(2, ROUNDS, json!({"settle_s": SETTLE_S, "timetable": {"pause_s": PAUSE_S, "edge_s": EDGE_S}}));
    lay_over(&mut options, changes);
    options
}

/// Two drives for each of so many agents, whose first round begins at one instant: what came of each agent's.
fn by_agents(ports: [u16; 2], agents: usize, changes: &Value, options: &Value) -> Vec<Vec<Outcome>> {
    let agent = |number: usize| {
        let plans = ports.map(|port| {
            let mut plan = sliceable(port, changes.clone());
            lay_over(&mut plan, json!({"share": {"number": number, "of": agents}}));
            plan
        });
        let rounds = made(&plans, options);
        let opened = rounds.open().expect("the servers take connections");
        (rounds, opened)
    };
    let all: Vec<_> = (0..agents).map(agent).collect();
    let at_ns = now_ns() + 50_000_000;
    let begin = |(rounds, opened): (Rounds, _)| {
        assert_eq!(rounds.begin_at(opened, Some(at_ns)), Ok(at_ns));
        rounds
    };
    let begun: Vec<Rounds> = all.into_iter().map(begin).collect();
    let outcomes: Vec<Vec<Outcome>> = begun.iter().map(finish).collect();
    assert!(outcomes.iter().flatten().all(|outcome| outcome.record.started_monotonic_ns == at_ns));
    outcomes
}

/// The slices of one drive that every agent measured, by their places, with each agent's.
fn in_common(outcomes: &[Vec<Outcome>], drive: usize) -> Vec<Vec<&SliceRecord>> {
    let of = |agent: &'_ Vec<Outcome>| -> BTreeSet<(usize, usize)> {
        agent[drive].record.slices.iter().map(|slice| (slice.round, slice.position)).collect()
    };
    let mut places = of(&outcomes[0]);
    outcomes[1..].iter().for_each(|agent| places = places.intersection(&of(agent)).copied().collect());
    let slices = |(round, position)| {
        let mut own = outcomes.iter().flat_map(|agent| &agent[drive].record.slices);
        let is_it = |slice: &&SliceRecord| (slice.round, slice.position) == (round, position);
        std::iter::from_fn(|| own.find(is_it)).collect()
    };
    places.into_iter().map(slices).collect()
}

#[test]
fn slices_of_all_agents_are_measured_at_the_same_time() {
    let servers = [server(|_| {}), server(|_| {})];
    let ports = servers.each_ref().map(|server| server.port());
    let models = [json!({"kind": "closed", "users": 6}), json!({"kind": "open", "rate_per_s": 3000.0})];
    for model in models {
        for warm_up_s in [0.0, 0.03] {
            let changes = json!({"model": model, "pool": {"connections": 6}, "phases": {"warm_up_s": warm_up_s}});
            let outcomes = by_agents(ports, 3, &changes, &timetable(json!({})));
            for drive in 0..2 {
                let slices = in_common(&outcomes, drive);
                assert!(slices.len() >= 2, "{} slices", slices.len());
                for of_agents in slices {
                    assert_eq!(of_agents.len(), 3);
                    assert!(of_agents.iter().all(|one| one.begin_s == of_agents[0].begin_s), "{of_agents:?}");
                    assert!(of_agents.iter().all(|one| one.end_s == of_agents[0].end_s && one.ok > 0), "{of_agents:?}");
                    let before = of_agents[0].round * 2 + of_agents[0].position;
                    let begin_s = 2.0 * if warm_up_s > 0.0 { warm_up_s + PAUSE_S } else { 0.0 };
                    let due_s = begin_s + before as f64 * SLOT_S + SETTLE_S + EDGE_S;
                    assert!((of_agents[0].begin_s - due_s).abs() < 1e-6, "{} and not {due_s}", of_agents[0].begin_s);
                }
            }
        }
    }
}

#[test]
fn the_load_goes_on_for_an_edge_beyond_what_is_measured() {
    let servers = [server(|_| {}), server(|_| {})];
    let ports = servers.each_ref().map(|server| server.port());
    let changes = json!({"model": {"kind": "open", "rate_per_s": 2000.0}});
    let options = timetable(json!({"timetable": {"edge_s": 0.01}}));
    let outcomes = by_agents(ports, 1, &changes, &options);
    for outcome in &outcomes[0] {
        let slices = &outcome.record.slices;
        assert!(slices.len() >= 2, "{} slices", slices.len());
        for slice in slices {
            // 20 ms at 2,000/s.
            assert!((39..=41).contains(&slice.offered), "{slice:?}");
            assert!(slice.drained_s >= slice.end_s + 0.009, "{slice:?}");
            assert!(slice.turn_ok >= slice.ended + 20, "what came before and after it: {slice:?}");
        }
    }
}

#[test]
fn a_slice_that_would_be_late_is_left_out_and_intervals_end_with_the_same_rounds() {
    // Each reply takes longer than the pause: the slice after it is not begun.
    let servers = [server(|options| options.delay_us = 150_000.0), server(|_| {})];
    let ports = servers.each_ref().map(|server| server.port());
    let outcomes = by_agents(ports, 1, &json!({"interval_s": 0.05}), &timetable(json!({})));
    let [slow, fast] = &outcomes[0][..] else { unreachable!() };
    let places = |outcome: &Outcome| outcome.record.slices.len();
    assert!(places(slow) > 0 && places(slow) + places(fast) < 2 * ROUNDS, "{} {}", places(slow), places(fast));
    let rounds = |outcome: &Outcome| {
        let measured = outcome.intervals.iter().filter(|interval| interval["phase"] == "measure");
        measured.map(|interval| interval["last_round"].as_u64()).collect::<Vec<_>>()
    };
    assert!(outcomes[0].iter().all(|outcome| outcome.record.stopped.is_none()));
    // An interval in which a drive measured nothing is not there.
    let last = |outcome: &Outcome| rounds(outcome).into_iter().flatten().max();
    assert!(last(slow) <= Some(ROUNDS as u64 - 1) && last(fast) <= Some(ROUNDS as u64 - 1));
}

#[test]
fn rounds_that_began_in_the_past_go_on_where_they_are_by_now() {
    let servers = [server(|_| {}), server(|_| {})];
    let plans = servers.each_ref().map(|server| sliceable(server.port(), json!({})));
    let rounds = made(&plans, &timetable(json!({})));
    let opened = rounds.open().unwrap();
    std::thread::sleep(std::time::Duration::from_secs_f64(8.0 * SLOT_S + 0.1));
    // So that four rounds are over.
    let at_ns = now_ns() - (8.0 * SLOT_S * 1e9) as u64;
    assert_eq!(rounds.begin_at(opened, Some(at_ns)), Ok(at_ns));
    let outcomes = finish(&rounds);
    for outcome in &outcomes {
        let slices = &outcome.record.slices;
        assert!(slices.iter().all(|slice| slice.round >= 4) && !slices.is_empty(), "{slices:?}");
    }
    let early = made(&plans, &timetable(json!({})));
    let opened = early.open().unwrap();
    let why = early.begin_at(opened, Some(1)).unwrap_err().to_string();
    assert!(why.ends_with("the first round was before the engine was there; choose a later instant"), "{why}");
}
