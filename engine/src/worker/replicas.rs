//! Replicas that get what only reads: what they answer late, and what happens without them.

use super::Worker;

impl Worker {
    /// Counts a reply to the oldest request of a connection if it is that of a replica which is behind its primary: that
    /// is no error.
    pub(super) fn note_stale(&mut self, number: usize, reply: &[u8]) {
        let connection = &mut self.connections[number];
        let target = connection.target;
        if self.plan.endpoints[target].replica_of.is_none() {
            return;
        }
        if let Some(task) = connection.in_flight.front_mut()
            && self.workload.is_stale(&task.request, reply)
        {
            task.request.may_miss();
            self.recording.endpoints[target].stale += 1;
        }
    }

    /// A connection could not be opened, or was lost: where it was the last one of a replica, another endpoint is read in
    /// its place until it can be reached again.
    #[cold]
    pub(super) fn leave_replica(&mut self, shard: usize) {
        if self.connections.pool.open_of(shard) > 0 {
            return;
        }
        let Some(other) = self.workload.replicas.as_mut().and_then(|replicas| replicas.leave(shard)) else {
            return;
        };
        while self.schedule.queues.move_first(shard, other) {}
        self.serve_waiting(other);
    }

    /// A connection takes operations: its endpoint is read again.
    #[cold]
    pub(super) fn return_to_replica(&mut self, shard: usize) {
        if let Some(replicas) = &mut self.workload.replicas {
            replicas.reached(shard);
        }
    }
}
