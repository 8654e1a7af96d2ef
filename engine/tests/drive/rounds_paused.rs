//! Programs that not every drive needs stand still while another drive has its slice, and never longer than the rounds.

use crate::rounds::{begun, finish, options, sliceable};
use crate::support::{PATIENCE, server};
use loadstone_engine::rounds::Rounds;
use serde_json::{Value, json};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};
use std::time::Duration;

/// A program that takes all the CPU it gets, in a group of its own as those under a guard are.
struct Busy(Child);

impl Busy {
    fn new() -> Self {
        let mut shell = Command::new("nice");
        let ends_with_us = "while kill -0 $PPID; do :; done 2> /dev/null";
        Self(shell.args(["sh", "-c", ends_with_us]).process_group(0).spawn().expect("a shell"))
    }

    fn pid(&self) -> u32 {
        self.0.id()
    }

    /// The fields of its `stat` from the state on.
    fn stat(&self) -> Vec<String> {
        let text = std::fs::read_to_string(format!("/proc/{}/stat", self.pid())).expect("it runs");
        text.rsplit(')').next().expect("a name").split_ascii_whitespace().map(String::from).collect()
    }

    fn identity(&self) -> Value {
        json!({"pid": self.pid(), "started_ticks": self.stat()[19].parse::<u64>().expect("a number")})
    }

    fn runs(&self) -> bool {
        self.stat()[0] != "T"
    }

    fn comes_to_stand_still(&self) -> bool {
        comes_true(|| !self.runs())
    }

    fn comes_to_run(&self) -> bool {
        comes_true(|| self.runs())
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.kill().expect("it is ours");
        self.0.wait().expect("it is ours");
    }
}

fn comes_true(mut is_so: impl FnMut() -> bool) -> bool {
    (0..10_000).any(|_| {
        std::thread::sleep(Duration::from_millis(1));
        is_so()
    })
}

/// Rounds of two drives, of which each needs one of these, and both what they share.
fn paused(own: [&Busy; 2], shared: &Busy) -> Value {
    let parts = json!({"first": [own[0].pid()], "second": [own[1].pid()], "shared": [shared.pid()]});
    let of = |busy: &Busy| json!([busy.identity(), shared.identity()]);
    json!({"parts": [parts.clone(), parts], "paused": [of(own[0]), of(own[1])]})
}

fn endless(own: [&Busy; 2], shared: &Busy) -> (loadstone_engine::null_server::NullServer, Rounds) {
    let there = server(|_| ());
    let plans = vec![sliceable(there.port(), json!({})); 2];
    let rounds = begun(&plans, &options(2, 100_000, paused(own, shared)));
    (there, rounds)
}

#[test]
fn a_program_takes_no_cpu_in_the_slices_of_a_drive_that_does_not_need_it() {
    let (own, shared) = ([Busy::new(), Busy::new()], Busy::new());
    let there = server(|_| ());
    let plans = vec![sliceable(there.port(), json!({})); 2];
    let rounds = begun(&plans, &options(2, 20, paused([&own[0], &own[1]], &shared)));
    let outcomes = finish(&rounds);
    let spent = |drive: usize, part: &str| -> f64 {
        outcomes[drive].record.slices.iter().map(|slice| slice.parts[part].cpu_s.expect("it runs")).sum()
    };
    for (drive, needed, other) in [(0, "first", "second"), (1, "second", "first")] {
        assert!(spent(drive, needed) > 0.0, "its own ran");
        assert!(spent(drive, "shared") > 0.0, "what both need ran");
        assert!(spent(drive, other) < 0.1 * spent(drive, needed), "the other's stood still");
    }
    assert!(own.iter().all(Busy::comes_to_run) && shared.comes_to_run());
}

#[test]
fn all_of_them_run_after_a_stop_in_the_midst() {
    let (own, shared) = ([Busy::new(), Busy::new()], Busy::new());
    let (_there, rounds) = endless([&own[0], &own[1]], &shared);
    assert!(own[0].comes_to_stand_still() && own[1].comes_to_stand_still() && shared.runs());
    rounds.stop();
    for drive in 0..2 {
        rounds.result(drive, PATIENCE).expect("it was started").expect("it has ended");
    }
    assert!(own.iter().all(Busy::comes_to_run));
}

#[test]
fn all_of_them_run_when_the_rounds_are_dropped() {
    let (own, shared) = ([Busy::new(), Busy::new()], Busy::new());
    let (_there, rounds) = endless([&own[0], &own[1]], &shared);
    assert!(own[1].comes_to_stand_still());
    drop(rounds);
    assert!(own.iter().all(Busy::runs));
}

#[test]
fn all_of_them_run_when_a_server_goes_away() {
    let (own, shared) = ([Busy::new(), Busy::new()], Busy::new());
    let (there, rounds) = endless([&own[0], &own[1]], &shared);
    assert!(own[0].comes_to_stand_still());
    drop(there);
    rounds.stop();
    for drive in 0..2 {
        rounds.result(drive, PATIENCE).expect("it was started").expect("it has ended");
    }
    assert!(own.iter().all(Busy::comes_to_run));
}

#[test]
fn a_program_that_ended_meanwhile_is_no_obstacle() {
    let (own, shared) = ([Busy::new(), Busy::new()], Busy::new());
    let there = server(|_| ());
    let plans = vec![sliceable(there.port(), json!({})); 2];
    let given = options(2, 6, paused([&own[0], &own[1]], &shared));
    let [first, second] = own;
    drop(second);
    assert_eq!(finish(&begun(&plans, &given)).len(), 2);
    assert!(first.comes_to_run());
}
