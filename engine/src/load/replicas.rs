//! Replicas: which endpoint gets an operation that only reads.

use crate::plan::Plan;

/// Endpoints that take turns.
#[derive(Debug, Default)]
struct Readers {
    endpoints: Vec<usize>,
    next: usize,
}

/// What one thread knows of the replicas of its plan.
#[derive(Debug)]
pub struct Replicas {
    /// By endpoint: who is read in its place, itself among them where it is read, too. Empty where it has no replicas.
    readers: Vec<Readers>,
    /// By endpoint: the one that it is a replica of.
    primary_of: Vec<Option<usize>>,
    /// Endpoints that cannot be reached by now.
    unreached: Vec<bool>,
}

impl Replicas {
    /// None if the plan has no replicas. Threads begin with different ones.
    pub fn new(plan: &Plan, thread: usize) -> Option<Self> {
        let primary_of: Vec<Option<usize>> =
            plan.endpoints.iter().filter(|one| one.in_service()).map(|one| one.replica_of).collect();
        primary_of.iter().any(Option::is_some).then(|| {
            let readers = |primary: usize| {
                let own = (0..primary_of.len()).filter(|&other| primary_of[other] == Some(primary));
                let mut endpoints: Vec<usize> = own.collect();
                if !endpoints.is_empty() && !plan.endpoints[primary].writes_only {
                    endpoints.push(primary);
                }
                Readers { next: thread % endpoints.len().max(1), endpoints }
            };
            let readers = (0..primary_of.len()).map(readers).collect();
            Self { readers, unreached: vec![false; primary_of.len()], primary_of }
        })
    }

    /// Endpoints that get load.
    pub fn endpoints(&self) -> usize {
        self.primary_of.len()
    }

    /// Who is read next in the place of an endpoint: itself where it has no replicas, or none that can be reached.
    #[inline]
    pub fn reader_of(&mut self, primary: usize) -> usize {
        let Readers { endpoints, next } = &mut self.readers[primary];
        for _ in 0..endpoints.len() {
            let reader = endpoints[*next];
            *next = if *next + 1 < endpoints.len() { *next + 1 } else { 0 };
            if !self.unreached[reader] {
                return reader;
            }
        }
        primary
    }

    /// An endpoint has no connection any more. Who is read in its place, if it is a replica.
    pub fn leave(&mut self, endpoint: usize) -> Option<usize> {
        self.unreached[endpoint] = true;
        self.primary_of[endpoint].map(|primary| self.reader_of(primary))
    }

    /// An endpoint has a connection again.
    pub fn reached(&mut self, endpoint: usize) {
        self.unreached[endpoint] = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn replicas(endpoints: &str, thread: usize) -> Option<Replicas> {
        let text = format!(
            r#"{{"endpoints": {endpoints}, "model": {{"kind": "closed", "users": 1}}, "pool": {{"connections": 1}},
            "operations": [{{"name": "get", "commands": [{{"args": ["GET", "{{key}}"]}}]}}]}}"#
        );
        Replicas::new(&Plan::from_json(&text).unwrap(), thread)
    }

    fn read(replicas: &mut Replicas, primary: usize) -> [usize; 4] {
        std::array::from_fn(|_| replicas.reader_of(primary))
    }

    #[test]
    fn replicas_take_turns_and_the_primary_where_it_is_read() {
        let mut alone = replicas(r#"[{"writes_only": true}, {"replica_of": 0}, {"replica_of": 0}]"#, 0).unwrap();
        assert_eq!(read(&mut alone, 0), [1, 2, 1, 2]);
        let any = r#"[{}, {"replica_of": 0}, {"replica_of": 0}]"#;
        assert_eq!(read(&mut replicas(any, 0).unwrap(), 0), [1, 2, 0, 1]);
        assert_eq!(read(&mut replicas(any, 4).unwrap(), 0), [2, 0, 1, 2], "another thread begins elsewhere");
        assert!(replicas("[{}]", 0).is_none());
    }

    #[test]
    fn those_of_a_cluster_are_read_for_their_own_primary() {
        let cluster = r#"[{"slots": [[0, 99]]}, {"slots": [[100, 16383]], "writes_only": true}, {"replica_of": 1}]"#;
        let mut replicas = replicas(cluster, 0).unwrap();
        assert_eq!((replicas.endpoints(), read(&mut replicas, 0), read(&mut replicas, 1)), (3, [0; 4], [2; 4]));
        assert_eq!(read(&mut replicas, 2), [2; 4], "a replica that became a primary is read itself");
    }

    #[test]
    fn one_that_cannot_be_reached_is_left_out_until_it_can() {
        let mut two = replicas(r#"[{"writes_only": true}, {"replica_of": 0}, {"replica_of": 0}]"#, 0).unwrap();
        assert_eq!((two.leave(1), read(&mut two, 0)), (Some(2), [2; 4]));
        assert_eq!((two.leave(2), read(&mut two, 0)), (Some(0), [0; 4]), "the primary where no replica is left");
        assert_eq!(two.leave(0), None);
        two.reached(1);
        assert_eq!(read(&mut two, 0), [1; 4]);
    }
}
