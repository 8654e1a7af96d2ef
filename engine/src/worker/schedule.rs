//! What a thread has to do: which operations are intended by now, and which of them wait for a connection.

use super::queues::{Queues, Waiting};
use crate::load::arrivals::Arrivals;
use crate::load::users::Users;
use crate::load::{Recorded, Request, Workload};
use crate::plan::{Model, Plan, Share};
use crate::record::outcome::Phase;
use crate::record::recorder::Recorder;
use crate::record::timeline::Timeline;

/// Where operations come from.
#[derive(Debug)]
enum Source {
    Closed(Users),
    Open(Arrivals),
    /// Arrivals as they were recorded.
    Recorded {
        /// When the next one is intended, in nanoseconds since the load began.
        next_ns: Option<u64>,
        /// Each is due as soon as it can be sent; so many may wait for their connections.
        ahead: Option<usize>,
    },
}

impl Source {
    fn at_its_speed(recorded: &Recorded) -> Self {
        Source::Recorded { next_ns: recorded.next_ns(), ahead: None }
    }

    fn as_fast_as_possible(recorded: &Recorded) -> Self {
        Source::Recorded { next_ns: recorded.next_ns(), ahead: Some(recorded.ahead()) }
    }
}

/// What is to be begun.
#[derive(Debug, Clone, Copy)]
pub(super) enum Due {
    User { user: u32, intended_ns: u64 },
    Arrival { intended_ns: u64 },
}

/// What a user begins together: so many operations at most, which are members of a phase.
#[derive(Debug, Clone, Copy)]
pub(super) struct Batch {
    pub user: u32,
    pub intended_ns: u64,
    pub member: Phase,
    pub operations: usize,
}

#[derive(Debug)]
pub(super) struct Schedule {
    source: Source,
    pub queues: Queues,
    /// Operations that a user begins together.
    batch: usize,
    backlog_max: usize,
    /// Something becomes due although no reply comes.
    timed: bool,
    /// The key space has been used up.
    exhausted: bool,
    /// The drive is paused again and again: what is ready in a drain waits until it goes on.
    in_slices: bool,
    /// What waited for a connection when it was paused.
    aside: Option<Queues>,
    /// The other threads know that this one has no more work.
    reported_done: bool,
}

impl Schedule {
    /// The schedule of one thread of a plan, whose operations come from `workload`.
    pub fn new(plan: &Plan, share: Share, workload: &Workload) -> Self {
        let shards = workload.shards();
        let (source, timed, backlog) = match (&plan.model, workload.recorded()) {
            (Model::Closed(_), Some(recorded)) => (Source::as_fast_as_possible(recorded), true, u64::MAX),
            (Model::Open(open), Some(recorded)) => (Source::at_its_speed(recorded), true, open.backlog_max),
            (Model::Closed(closed), None) => {
                let users = Users::new(closed, &plan.phases, plan.seed, share);
                let users = if shards > 1 { users.splitting_batches() } else { users };
                (Source::Closed(users), closed.think_time_ms > 0.0, u64::MAX)
            }
            (Model::Open(open), None) => {
                let arrivals = Arrivals::new(open, &plan.phases, plan.seed, share);
                (Source::Open(arrivals), true, open.backlog_max)
            }
        };
        let exhausted = matches!(source, Source::Recorded { next_ns: None, .. });
        Self {
            source,
            queues: Queues::new(shards),
            batch: plan.pipeline_depth,
            backlog_max: share.part_of(backlog.min(u64::from(u32::MAX)) as usize).max(1),
            timed,
            exhausted,
            in_slices: false,
            aside: None,
            reported_done: false,
        }
    }

    /// The schedule of a drive in slices.
    pub fn in_slices(self) -> Self {
        Self { in_slices: true, ..self }
    }

    /// From when users and arrivals count in a slice that begins at `begin_ns`, after the one of `before`: arrivals make
    /// up for nothing, so that their schedule is set back by the time in which none was taken.
    pub fn origin_ns(&self, before: &Timeline, begin_ns: u64) -> u64 {
        match &self.source {
            Source::Closed(_) => before.origin_ns(),
            Source::Open(_) | Source::Recorded { .. } => {
                before.origin_ns() + begin_ns.saturating_sub(before.start_ns(Phase::Drain))
            }
        }
    }

    /// The drive is to be paused: what waits for a connection is put aside.
    pub fn put_aside(&mut self) {
        if !self.queues.is_empty() {
            let emptied = Queues::new(self.queues.shards());
            let waiting = std::mem::replace(&mut self.queues, emptied);
            match &mut self.aside {
                Some(aside) => aside.append(waiting),
                None => self.aside = Some(waiting),
            }
        }
    }

    /// What was put aside waits for a connection again.
    pub fn take_back(&mut self) {
        if let Some(mut aside) = self.aside.take() {
            let later = std::mem::replace(&mut self.queues, Queues::new(0));
            aside.append(later);
            self.queues = aside;
        }
    }

    /// The drive goes on, `since_origin_ns` after its users began to count.
    pub fn go_on(&mut self, since_origin_ns: u64) {
        self.take_back();
        if let Source::Closed(users) = &mut self.source {
            users.release(since_origin_ns);
        }
    }

    pub fn is_timed(&self) -> bool {
        self.timed
    }

    /// Whether operations arrive on their own; else users wait for their replies.
    #[inline]
    pub fn is_open(&self) -> bool {
        !matches!(self.source, Source::Closed(_))
    }

    /// Whether an operation is intended when it is sent, having waited for those before it on its connection.
    #[inline]
    pub fn intends_when_sent(&self) -> bool {
        matches!(self.source, Source::Recorded { ahead: Some(_), .. })
    }

    pub fn active_users(&self) -> usize {
        match &self.source {
            Source::Closed(users) => users.active(),
            Source::Open(_) | Source::Recorded { .. } => 0,
        }
    }

    /// When something is due next; None if that depends on replies, or never.
    pub fn next_ns(&self, timeline: &Timeline) -> Option<u64> {
        let since_origin_ns = match &self.source {
            Source::Closed(users) => users.next_ns(),
            Source::Open(_) if self.exhausted => None,
            Source::Open(arrivals) => Some(arrivals.next_ns()),
            Source::Recorded { ahead: Some(ahead), .. } if self.queues.len() >= *ahead => None,
            Source::Recorded { next_ns, .. } => *next_ns,
        };
        since_origin_ns
            .map(|since_origin_ns| timeline.origin_ns() + since_origin_ns)
            .filter(|&at_ns| at_ns < timeline.start_ns(Phase::Drain))
    }

    /// Takes what is due by `now_ns`, one after the other.
    pub fn take_due(&mut self, now_ns: u64, timeline: &Timeline) -> Option<Due> {
        let origin_ns = timeline.origin_ns();
        match &mut self.source {
            Source::Closed(users) => {
                let (user, ready_ns) = users.wake(now_ns.saturating_sub(origin_ns))?;
                Some(Due::User { user, intended_ns: origin_ns + ready_ns })
            }
            Source::Open(arrivals) => {
                let intended_ns = origin_ns + arrivals.next_ns();
                let is_over = intended_ns >= timeline.start_ns(Phase::Drain);
                if intended_ns > now_ns || is_over || self.exhausted {
                    return None;
                }
                arrivals.advance();
                Some(Due::Arrival { intended_ns })
            }
            Source::Recorded { next_ns, ahead: Some(_) } if now_ns >= timeline.start_ns(Phase::Drain) => {
                // It would be due at any time.
                *next_ns = None;
                self.exhausted = true;
                None
            }
            Source::Recorded { next_ns, ahead } => {
                let intended_ns = match ahead {
                    Some(ahead) if self.queues.len() >= *ahead => return None,
                    Some(_) => next_ns.map(|_| now_ns)?,
                    None => origin_ns + (*next_ns)?,
                };
                let is_due = intended_ns <= now_ns && intended_ns < timeline.start_ns(Phase::Drain);
                is_due.then_some(Due::Arrival { intended_ns })
            }
        }
    }

    /// An arrival of the open model joins the queue of its shard, which is returned; None if it was dropped, or if
    /// there are no more keys.
    pub fn queue_arrival(
        &mut self,
        intended_ns: u64,
        now_ns: u64,
        workload: &mut Workload,
        recorder: &mut Recorder,
    ) -> Option<usize> {
        let begun = workload.begin();
        if let (Source::Recorded { next_ns, ahead }, Some(recorded)) = (&mut self.source, workload.recorded()) {
            (*next_ns, *ahead) = (recorded.next_ns(), ahead.map(|_| recorded.ahead()));
            self.exhausted = next_ns.is_none();
        }
        let Some(request) = begun else {
            self.exhausted = true;
            return None;
        };
        let member = recorder.timeline.phase_of(intended_ns);
        let operation = usize::from(request.operation);
        recorder.offered(operation, member);
        recorder.picked_up(member, now_ns.saturating_sub(intended_ns));
        if self.queues.len() >= self.backlog_max || workload.recorded().is_some_and(Recorded::is_full) {
            recorder.dropped(operation, member);
            workload.abandon(&request);
            return None;
        }
        let shard = workload.shard(&request);
        self.queues.push(shard, request);
        self.queues.close(shard, Waiting::new(intended_ns, 0, 1, member));
        Some(shard)
    }

    /// What a user begins together, having become ready at `intended_ns`. None if it ends, or waits until the drive goes on.
    #[inline]
    pub fn take_batch(&mut self, user: u32, intended_ns: u64, timeline: &Timeline) -> Option<Batch> {
        let Source::Closed(users) = &mut self.source else {
            return None;
        };
        let member = timeline.phase_of(intended_ns);
        let operations = if member == Phase::Drain { 0 } else { users.take(user, self.batch) };
        if operations > 0 {
            return Some(Batch { user, intended_ns, member, operations });
        }
        if member == Phase::Drain && self.in_slices {
            users.hold(user);
        } else {
            users.end();
        }
        None
    }

    /// The next operation of a user; None if there are no more keys.
    #[inline(always)]
    pub fn draw(&mut self, workload: &mut Workload) -> Option<Request> {
        let drawn = workload.begin();
        self.exhausted |= drawn.is_none();
        drawn
    }

    /// A user finds no more keys, and ends.
    pub fn end_user(&mut self) {
        if let Source::Closed(users) = &mut self.source {
            users.end();
        }
    }

    /// The operations of a batch join the queues of their shards. False if there are no more keys: the user ends.
    pub fn queue_batch(&mut self, batch: Batch, now_ns: u64, workload: &mut Workload, recorder: &mut Recorder) -> bool {
        let Batch { user, intended_ns, member, operations } = batch;
        let mut drawn = 0;
        while drawn < operations
            && let Some(request) = self.draw(workload)
        {
            recorder.offered(usize::from(request.operation), member);
            self.queues.push(workload.shard(&request), request);
            drawn += 1;
        }
        if drawn == 0 {
            self.end_user();
            return false;
        }
        recorder.picked_up(member, now_ns.saturating_sub(intended_ns));
        let waiting = Waiting::new(intended_ns, user, 0, member);
        let parts = (0..self.queues.shards()).filter(|&shard| self.queues.close(shard, waiting)).count();
        if let Source::Closed(users) = &mut self.source {
            users.split(user, parts as u32);
        }
        true
    }

    /// An operation of a user's batch goes to another connection than the rest of it.
    pub fn part_added(&mut self, user: u32) {
        if let Source::Closed(users) = &mut self.source {
            users.part_added(user);
        }
    }

    /// What a connection had of a user's batch ended at `now_ns`: after the last part of it the user thinks. When it is
    /// ready if that is at once.
    #[inline]
    pub fn part_ended(&mut self, user: u32, now_ns: u64, timeline: &Timeline) -> Option<u64> {
        let Source::Closed(users) = &mut self.source else {
            return None;
        };
        if !users.part_ended(user) {
            return None;
        }
        let origin_ns = timeline.origin_ns();
        users.think(user, now_ns - origin_ns).map(|ready_ns| origin_ns + ready_ns)
    }

    /// Whether all work of this thread was done just now; true once. `in_flight` operations have a connection.
    pub fn is_newly_done(&mut self, in_flight: usize) -> bool {
        if self.reported_done {
            return false;
        }
        let used_up = match &self.source {
            Source::Closed(users) => self.exhausted || users.all_ended(),
            Source::Open(_) | Source::Recorded { .. } => self.exhausted,
        };
        self.reported_done = used_up && in_flight == 0 && self.queues.is_empty();
        self.reported_done
    }
}
