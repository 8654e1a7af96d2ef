use super::*;
use crate::plan::Phases;
use crate::record::histogram::LONGEST_NS;
use crate::record::outcome::Errors;
use crate::wire::ErrorKind;
use std::sync::mpsc::channel;

const MS: u64 = 1_000_000;

/// A recorder of a load that begins at 0: 10 ms of warm-up, then measured until 30 ms.
fn recorder(interval_s: f64) -> (Recorder, Receiver<Message>) {
    let (to_collector, messages) = channel();
    let (_, spares) = channel();
    let mut recorder = Recorder::new(0, (1, true), interval_s, spares, to_collector);
    let phases = Phases { ramp_up_s: 0.0, warm_up_s: 0.01, ..Phases::default() };
    recorder.begin(Timeline::new(&phases, 0, 30 * MS));
    (recorder, messages)
}

fn cross(recorder: &mut Recorder, now_ns: u64) {
    while recorder.border_ns() <= now_ns {
        recorder.cross_border(Gauges::default());
    }
}

/// One operation as the worker records it, borders crossed in passing.
fn operate(recorder: &mut Recorder, intended_ns: u64, completed_ns: u64, end: End) {
    cross(recorder, intended_ns);
    let member = recorder.timeline.phase_of(intended_ns);
    recorder.offered(0, member);
    recorder.sent(0, member);
    cross(recorder, completed_ns);
    recorder.ended(0, member, end, Times { intended_ns, sent_ns: intended_ns + 1, completed_ns, own_ns: 0 });
}

fn interval(message: Message) -> Option<IntervalData> {
    match message {
        Message::Interval { data, .. } => Some(*data),
        Message::End { .. } => None,
    }
}

fn intervals(messages: &Receiver<Message>) -> Vec<IntervalData> {
    messages.try_iter().filter_map(interval).filter(|data| data.end_ns > data.start_ns).collect()
}

#[test]
fn an_operation_counts_in_the_phase_of_its_intended_time_and_in_the_window_of_its_end() {
    let (mut recorder, messages) = recorder(0.015);
    operate(&mut recorder, 9 * MS, 11 * MS, End::Correct);
    operate(&mut recorder, 12 * MS, 13 * MS, End::Correct);
    operate(&mut recorder, 29 * MS, 31 * MS, End::Correct);
    recorder.finish(32 * MS, Gauges::default());
    let measured = &recorder.measured[0];
    assert_eq!((measured.tally.offered, measured.tally.ok), (2, 2));
    assert_eq!((measured.window_completed, measured.window_ok), (2, 2));
    assert_eq!((measured.response_sum_ns, measured.earlier_ns), (3 * MS, MS));
    let delivered: Vec<_> = intervals(&messages)
        .iter()
        .map(|data| (data.phase, data.place.1, data.operations[0].tally.ok, data.operations[0].response.len()))
        .collect();
    // The first operation ended in the measure phase without being measured; the last in the drain.
    let expected = [(Phase::WarmUp, 0, 0, 0), (Phase::Measure, 0, 2, 1), (Phase::Measure, 1, 0, 0)];
    assert_eq!(delivered[..3], expected);
    assert_eq!(delivered[3..], [(Phase::Drain, 0, 1, 1)]);
}

#[test]
fn what_began_before_the_measure_phase_takes_time_of_it_and_of_nothing_else() {
    let (mut recorder, _messages) = recorder(0.015);
    operate(&mut recorder, MS, 9 * MS, End::Correct);
    assert_eq!(recorder.measured[0].earlier_ns, 0);
    operate(&mut recorder, 9 * MS, 14 * MS, End::TimedOut);
    assert_eq!(recorder.measured[0].earlier_ns, 4 * MS);
    recorder.went_on_until(0, 8 * MS, 35 * MS);
    recorder.went_on_until(0, 12 * MS, 35 * MS);
    assert_eq!(recorder.measured[0].earlier_ns, (4 + 20) * MS);
}

#[test]
fn intervals_end_where_they_are_due_and_where_a_phase_ends() {
    let (mut recorder, messages) = recorder(0.015);
    operate(&mut recorder, MS, 31 * MS, End::Correct);
    recorder.finish(33 * MS, Gauges::default());
    let delivered: Vec<_> = intervals(&messages).iter().map(|data| (data.start_ns / MS, data.end_ns / MS)).collect();
    assert_eq!(delivered, [(0, 10), (10, 25), (25, 30), (30, 33)]);
}

#[test]
fn a_collector_that_does_not_keep_up_costs_no_count_and_bounded_memory() {
    let (to_collector, messages) = channel();
    let (_, spares) = channel();
    let mut recorder = Recorder::new(0, (1, false), 1e-6, spares, to_collector);
    let phases = Phases { ramp_up_s: 0.0, warm_up_s: 0.01, measure_s: 0.02, ..Phases::default() };
    recorder.begin(Timeline::new(&phases, 0, 30 * MS));
    for number in 0..29_000 {
        operate(&mut recorder, number * 1000, number * 1000 + 900, End::Correct);
    }
    cross(&mut recorder, 31 * MS);
    recorder.finish(31 * MS, Gauges::default());
    let delivered: Vec<_> = messages.try_iter().collect();
    assert!(delivered.len() <= most_sets(1, false) + Phase::ALL.len(), "{} sets", delivered.len());
    let all: Vec<IntervalData> = delivered.into_iter().filter_map(interval).collect();
    let of = |phase: Phase| -> (u64, u64, u64) {
        let own: Vec<_> = all.iter().filter(|data| data.phase == phase).collect();
        let intervals = own.iter().map(|data| 1 + u64::from(data.joined())).sum();
        let operations = || own.iter().map(|data| &data.operations[0]);
        (intervals, operations().map(|one| one.tally.ok).sum(), operations().map(|one| one.response.len()).sum())
    };
    assert_eq!(of(Phase::WarmUp), (10_000, 10_000, 10_000));
    assert_eq!(of(Phase::Measure), (20_000, 19_000, 19_000));
    assert_eq!(recorder.joined, all.iter().map(|data| u64::from(data.joined())).sum::<u64>());
    assert!(all.windows(2).all(|pair| pair[0].end_ns == pair[1].start_ns));
    assert_eq!(all.last().unwrap().end_ns, 31 * MS);
}

#[test]
fn a_set_that_came_back_takes_up_the_next_interval() {
    let (to_collector, messages) = channel();
    let (back, spares) = channel();
    let mut recorder = Recorder::new(0, (1, false), 0.001, spares, to_collector);
    recorder.begin(Timeline::new(&Phases { ramp_up_s: 0.0, ..Phases::default() }, 0, u64::MAX));
    for number in 0..1000 {
        operate(&mut recorder, number * MS, number * MS + 1, End::Correct);
        for mut data in messages.try_iter().filter_map(interval) {
            data.clear();
            back.send(Box::new(data)).unwrap();
        }
    }
    assert_eq!(recorder.joined, 0);
    assert!(recorder.ready.len() <= 1, "the same sets go round");
}

#[test]
fn only_correct_replies_have_latencies_and_only_replies_complete() {
    let (mut recorder, _messages) = recorder(0.015);
    let wrong = ErrorKind::WrongReply;
    for end in
        [End::Correct, End::Wrong(wrong), End::Wrong(wrong), End::Lost(ErrorKind::ConnectionReset), End::TimedOut]
    {
        operate(&mut recorder, 12 * MS, 13 * MS, end);
    }
    let measured = &recorder.measured[0];
    assert_eq!((measured.window_completed, measured.window_ok), (3, 1));
    assert_eq!(measured.response_sum_ns, 5 * MS);
    let counts = measured.tally.counts(0, 0);
    assert!(counts.conserved());
    assert_eq!(counts.errors, Errors::from([("wrong_reply", 2), ("connection_reset", 1)]));
    assert_eq!(recorder.current.operations[0].response.len(), 1);
}

#[test]
fn operations_that_are_alike_are_recorded_as_one_after_the_other_would_be() {
    let wrong = End::Wrong(ErrorKind::WrongReply);
    for (intended_ns, completed_ns, end) in [
        (8 * MS, 9 * MS, End::Correct),
        (9 * MS, 14 * MS, End::Correct),
        (12 * MS, 14 * MS, End::Correct),
        (12 * MS, 14 * MS, wrong),
        (12 * MS, 14 * MS + 2 * LONGEST_NS, End::Correct),
    ] {
        let (mut each, _messages) = recorder(10_000.0);
        let (mut alike, _messages) = recorder(10_000.0);
        let member = each.timeline.phase_of(intended_ns);
        let times = Times { intended_ns, sent_ns: intended_ns + 1, completed_ns, own_ns: 0 };
        for _ in 0..3 {
            each.offered(0, member);
            each.sent(0, member);
            each.ended(0, member, end, times);
        }
        alike.begun(0, member, 3);
        alike.ended_alike(0, member, end, times, 3);
        let recorded = |mut recorder: Recorder| {
            let (measured, current) = (&recorder.measured[0], &mut recorder.current.operations[0]);
            let counts =
                format!("{measured:?} {:?} {} {}", current.tally, recorder.overflowed, recorder.measured_ended);
            (counts, current.take_latencies())
        };
        let (alike, each) = (recorded(alike), recorded(each));
        assert!(alike == each, "{} {}", alike.0, each.0);
    }
}

#[test]
fn what_overflows_is_counted() {
    let (mut recorder, _messages) = recorder(10_000.0);
    recorder.end_measure(3 * LONGEST_NS);
    operate(&mut recorder, 12 * MS, 13 * MS + 2 * LONGEST_NS, End::Correct);
    assert_eq!((recorder.overflowed, recorder.measured[0].tally.ok), (1, 1));
}

#[test]
fn pool_wait_and_lag_are_those_of_measured_operations() {
    let (mut recorder, _messages) = recorder(0.015);
    for member in [Phase::WarmUp, Phase::Measure] {
        recorder.picked_up(member, 5);
        recorder.acquired(member, 7, 3);
    }
    assert_eq!((recorder.schedule_lag.len(), recorder.pool_wait.len()), (1, 3));
}
