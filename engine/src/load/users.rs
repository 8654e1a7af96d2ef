//! The closed model's virtual users: when each one is ready for its next operations.

use crate::content::rng::Rng;
use crate::machine::clock::from_s;
use crate::plan::{Closed, Phases, Share, ThinkTime};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The users of one thread among those of all agents. Thread i of n has the users i, i + n, i + 2n...
#[derive(Debug)]
pub struct Users {
    /// Users who start later or think, by the time at which they are ready.
    asleep: BinaryHeap<Reverse<(u64, u32)>>,
    /// Users who are ready and wait for the drive to go on.
    held: Vec<u32>,
    /// Operations left to each user; empty when there is no limit.
    left: Vec<u64>,
    /// Parts of each user's batch that have not ended; empty where batches are not split.
    parts: Vec<u32>,
    think_ns: f64,
    think_time: ThinkTime,
    rng: Rng,
    started: usize,
    ended: usize,
    total: usize,
}

impl Users {
    pub fn new(closed: &Closed, phases: &Phases, seed: u64, share: Share) -> Self {
        let Share { number: thread, of: threads } = share;
        let all = closed.users as usize;
        let mut asleep = BinaryHeap::with_capacity(all / threads + 1);
        for (own, user) in (thread..all).step_by(threads).enumerate() {
            asleep.push(Reverse((start_ns(closed, phases, user), own as u32)));
        }
        let total = asleep.len();
        let left = match closed.operations_per_user {
            None => Vec::new(),
            Some(each) => {
                (thread..all).step_by(threads).map(|user| each + u64::from(does_more(closed, user))).collect()
            }
        };
        Self {
            asleep,
            held: Vec::with_capacity(total),
            left,
            parts: Vec::new(),
            think_ns: closed.think_time_ms * 1e6,
            think_time: closed.think_time,
            rng: Rng::new(seed, USERS_STREAM + thread as u64),
            started: 0,
            ended: 0,
            total,
        }
    }

    /// The same users, whose batches may go to several connections.
    pub fn splitting_batches(mut self) -> Self {
        self.parts = vec![0; self.total];
        self
    }

    /// A user's batch goes to so many connections.
    #[inline]
    pub fn split(&mut self, user: u32, parts: u32) {
        if let Some(left) = self.parts.get_mut(user as usize) {
            *left = parts;
        }
    }

    /// A user's batch goes to one more connection.
    pub fn part_added(&mut self, user: u32) {
        if let Some(left) = self.parts.get_mut(user as usize) {
            *left += 1;
        }
    }

    /// What a connection had of a user's batch ended. Whether that was all of it.
    #[inline]
    pub fn part_ended(&mut self, user: u32) -> bool {
        match self.parts.get_mut(user as usize) {
            None => true,
            Some(left) => {
                *left -= 1;
                *left == 0
            }
        }
    }

    /// When the next sleeping user is ready, in nanoseconds since the load started.
    #[inline]
    pub fn next_ns(&self) -> Option<u64> {
        self.asleep.peek().map(|Reverse((ready_ns, _))| *ready_ns)
    }

    /// Wakes a user who is ready at `now_ns`: the user, and the instant at which it became ready.
    pub fn wake(&mut self, now_ns: u64) -> Option<(u32, u64)> {
        if self.next_ns()? > now_ns {
            return None;
        }
        let Reverse((ready_ns, user)) = self.asleep.pop()?;
        self.started = self.started.max(user as usize + 1);
        Some((user, ready_ns))
    }

    /// A user's operations completed at `now_ns`: it is ready at the returned time if that is now,
    /// else it sleeps until then.
    #[inline]
    pub fn think(&mut self, user: u32, now_ns: u64) -> Option<u64> {
        if self.think_ns == 0.0 {
            return Some(now_ns);
        }
        let factor = match self.think_time {
            ThinkTime::Constant => 1.0,
            ThinkTime::Exponential => self.rng.exponential(),
        };
        self.asleep.push(Reverse((now_ns + (self.think_ns * factor) as u64, user)));
        None
    }

    /// How many of `most` operations the user may still begin; they count as begun.
    #[inline]
    pub fn take(&mut self, user: u32, most: usize) -> usize {
        match self.left.get_mut(user as usize) {
            None => most,
            Some(left) => {
                let taken = (*left).min(most as u64);
                *left -= taken;
                taken as usize
            }
        }
    }

    /// A user does nothing before the drive goes on.
    pub fn hold(&mut self, user: u32) {
        self.held.push(user);
    }

    /// The drive goes on: users who were held are ready at `ready_ns`.
    pub fn release(&mut self, ready_ns: u64) {
        self.asleep.extend(self.held.drain(..).map(|user| Reverse((ready_ns, user))));
    }

    /// A user does nothing more.
    pub fn end(&mut self) {
        self.ended += 1;
    }

    /// Users who began and did not end.
    pub fn active(&self) -> usize {
        self.started.saturating_sub(self.ended)
    }

    /// Whether every user, those who were to start later included, has ended.
    pub fn all_ended(&self) -> bool {
        self.ended == self.total
    }
}

/// Whether a user does one operation more than the others: the first ones of all threads together do.
fn does_more(closed: &Closed, user: usize) -> bool {
    user < closed.operations_more as usize
}

/// When a user starts, in nanoseconds since the load started: in nGrinder's steps, or spread evenly
/// over the ramp-up.
fn start_ns(closed: &Closed, phases: &Phases, user: usize) -> u64 {
    match &closed.ramp_up {
        Some(steps) => {
            let later = (user + 1).saturating_sub(steps.initial_users as usize);
            from_s(later.div_ceil(steps.step_users as usize) as f64 * steps.step_every_s)
        }
        None => from_s(phases.ramp_up_s * user as f64 / f64::from(closed.users)),
    }
}

/// Keeps the random numbers of users apart from those of keys and operations.
const USERS_STREAM: u64 = 2 << 32;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::RampUp;

    fn closed(users: u32) -> Closed {
        Closed {
            users,
            think_time_ms: 0.0,
            think_time: ThinkTime::Constant,
            ramp_up: None,
            operations_per_user: None,
            operations_more: 0,
            spin_us: None,
        }
    }

    fn started_by(users: &mut Users, seconds: f64) -> usize {
        while users.wake(from_s(seconds)).is_some() {}
        users.active()
    }

    #[test]
    fn users_are_spread_evenly_over_the_ramp_up() {
        let phases = Phases { ramp_up_s: 10.0, ..Phases::default() };
        let mut users = Users::new(&closed(20), &phases, 1, Share::WHOLE);
        assert_eq!(started_by(&mut users, 0.0), 1);
        assert_eq!(started_by(&mut users, 4.9), 10);
        assert_eq!(started_by(&mut users, 10.0), 20);
    }

    #[test]
    fn all_start_at_once_without_a_ramp_up() {
        let phases = Phases { ramp_up_s: 0.0, ..Phases::default() };
        assert_eq!(started_by(&mut Users::new(&closed(20), &phases, 1, Share::WHOLE), 0.0), 20);
    }

    #[test]
    fn users_start_in_ngrinders_steps() {
        let mut model = closed(10);
        model.ramp_up = Some(RampUp { initial_users: 3, step_users: 2, step_every_s: 1.0 });
        let mut users = Users::new(&model, &Phases::default(), 1, Share::WHOLE);
        let started = [0.0, 0.9, 1.0, 2.0, 3.0, 3.9, 4.0].map(|seconds| started_by(&mut users, seconds));
        assert_eq!(started, [3, 3, 5, 7, 9, 9, 10]);
    }

    #[test]
    fn threads_share_all_users() {
        let phases = Phases { ramp_up_s: 1.0, ..Phases::default() };
        let of = |thread| started_by(&mut Users::new(&closed(10), &phases, 1, Share { number: thread, of: 3 }), 1.0);
        assert_eq!([of(0), of(1), of(2)], [4, 3, 3]);
    }

    #[test]
    fn a_thinking_user_is_ready_after_its_think_time() {
        let mut model = closed(1);
        model.think_time_ms = 2.0;
        let mut users = Users::new(&model, &Phases::default(), 1, Share::WHOLE);
        assert_eq!(users.wake(0), Some((0, 0)));
        assert_eq!(users.think(0, 5_000_000), None);
        assert_eq!(users.wake(6_999_999), None);
        assert_eq!(users.wake(8_000_000), Some((0, 7_000_000)));
    }

    #[test]
    fn exponential_think_time_has_its_mean() {
        let mut model = closed(1);
        model.think_time_ms = 1.0;
        model.think_time = ThinkTime::Exponential;
        let mut users = Users::new(&model, &Phases::default(), 5, Share::WHOLE);
        users.wake(0);
        let mut total = 0;
        for _ in 0..20_000 {
            users.think(0, 0);
            total += users.wake(u64::MAX).unwrap().1;
        }
        assert!((total as f64 / 20_000.0 / 1e6 - 1.0).abs() < 0.05);
    }

    #[test]
    fn a_split_batch_ends_with_its_last_part() {
        let mut users = Users::new(&closed(2), &Phases::default(), 1, Share::WHOLE);
        assert!(users.part_ended(1), "whole batches have one part");
        users = users.splitting_batches();
        users.split(1, 2);
        users.split(0, 1);
        assert_eq!([users.part_ended(1), users.part_ended(0), users.part_ended(1)], [false, true, true]);
    }

    #[test]
    fn users_who_are_held_are_ready_when_the_drive_goes_on() {
        let mut users = Users::new(&closed(2), &Phases { ramp_up_s: 0.0, ..Phases::default() }, 1, Share::WHOLE);
        assert_eq!([users.wake(0), users.wake(0)], [Some((0, 0)), Some((1, 0))]);
        users.hold(1);
        assert_eq!((users.wake(100), users.active()), (None, 2));
        users.release(50);
        assert_eq!([users.wake(100), users.wake(100)], [Some((1, 50)), None]);
    }

    #[test]
    fn a_user_ends_after_its_operations() {
        let mut model = closed(1);
        model.operations_per_user = Some(5);
        let mut users = Users::new(&model, &Phases::default(), 1, Share::WHOLE);
        assert_eq!([users.take(0, 3), users.take(0, 3), users.take(0, 3)], [3, 2, 0]);
        users.end();
        assert!(users.all_ended());
    }

    #[test]
    fn the_first_users_of_all_threads_do_one_operation_more() {
        let mut model = closed(7);
        model.operations_per_user = Some(2);
        model.operations_more = 6;
        let of = |thread| {
            let mut users = Users::new(&model, &Phases::default(), 1, Share { number: thread, of: 3 });
            (0..users.total as u32).map(|user| users.take(user, 100)).collect::<Vec<_>>()
        };
        assert_eq!([of(0), of(1), of(2)], [vec![3, 3, 2], vec![3, 3], vec![3, 3]]);
    }
}
