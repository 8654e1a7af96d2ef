//! A drive in slices: between them its thread waits without using the CPU, and its own time stands still.

use super::Worker;
use super::ending::Ended;
use crate::control::turns::{Slice, Turn, Turns};
use crate::machine::clock::from_s;
use crate::net::event::Events;
use crate::record::timeline::Timeline;

impl Worker {
    /// Drives the load slice for slice until there are no more, or the drive is stopped.
    pub(super) fn load_in_slices(&mut self, turns: &Turns, origin_ns: u64, events: &mut Events) -> Ended {
        let nothing = Timeline::of_slice(origin_ns, origin_ns, origin_ns, origin_ns);
        self.recording.recorder.begin_in_slices(nothing);
        let mut done = 0;
        while let Some(slice) = self.wait_for_a_slice(turns, done, events) {
            self.begin_slice(&slice);
            self.load(events);
            if self.control.is_stopped() {
                let ended = self.end_load();
                turns.left(done, Some(&self.recording.recorder.slice_tally(self.now_ns)));
                return ended;
            }
            self.end_slice(slice.ends_interval);
            turns.paused(&self.recording.recorder.slice_tally(self.now_ns));
            done = slice.number;
        }
        let ended = self.end_load();
        turns.left(done, None);
        ended
    }

    /// Keeps the connections until the drive goes on. None at its end.
    fn wait_for_a_slice(&mut self, turns: &Turns, done: u64, events: &mut Events) -> Option<Slice> {
        loop {
            self.now_ns = self.clock.now();
            match turns.next(done) {
                _ if self.control.is_stopped() => return None,
                Turn::Load(slice) => return Some(slice),
                Turn::Over => return None,
                Turn::Wait => {}
            }
            self.check_connections();
            // Nothing is in flight: only connections that are being opened may be late.
            let is_idle = self.connections.opening.is_empty();
            self.turn(events, if is_idle { u64::MAX } else { self.connections.check_ns });
        }
    }

    fn begin_slice(&mut self, slice: &Slice) {
        let Slice { shift_ns, begin_ns, measure_ns, end_ns, until_ns, round, .. } = *slice;
        self.clock = self.control.clock.set_back(shift_ns);
        self.now_ns = self.clock.now();
        self.drain_ns = from_s(self.plan.phases.drain_s);
        let origin_ns = self.schedule.origin_ns(self.recording.timeline(), begin_ns);
        let timeline = Timeline::of_slice(origin_ns, measure_ns, end_ns, until_ns);
        self.recording.recorder.begin_slice(timeline, begin_ns, shift_ns, round);
        self.connections.go_on(self.clock, self.now_ns);
        self.schedule.go_on(begin_ns.saturating_sub(origin_ns));
        for shard in 0..self.schedule.queues.shards() {
            self.serve_waiting(shard);
        }
        self.flush_listed();
    }

    fn end_slice(&mut self, ends_interval: bool) {
        self.schedule.put_aside();
        let (connections, users) = (self.connections.pool.open(), self.schedule.active_users());
        let gauges = self.recording.gauges(connections, users, self.schedule.queues.len());
        self.recording.recorder.end_slice(self.now_ns, gauges, ends_interval);
    }

    /// There is no more time for what was not drained: the drive ends so, or it is paused once nothing is in flight,
    /// which takes no longer than a request may. What waits for a connection waits on when the drive does.
    pub(super) fn gives_up_draining(&mut self) -> bool {
        if self.control.turns.is_none() {
            return true;
        }
        self.schedule.put_aside();
        self.drain_ns = u64::MAX;
        self.connections.in_flight == 0
    }
}
