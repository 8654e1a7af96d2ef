//! A queue of known truth: so many servers behind one queue, each busy with a command for a random time.
//!
//! The servers wait and use no CPU, so what a load meets is the queue alone: with exponential service M/M/m, for which
//! the formulas are known. A contention and a coherency (Gunther's universal scalability law) make each service longer
//! by how many commands are there, which gives a throughput that has its peak at a known number of users.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use serde::Deserialize;

use crate::content::rng::Rng;

/// A queue in place of answers that leave at once.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Queue {
    /// How many commands are served at one time.
    pub servers: usize,
    /// Mean of the service times, which are exponential.
    pub service_us: f64,
    /// USL's sigma: with n commands there, a service is longer by the factor 1 + sigma (n - 1) + kappa n (n - 1).
    #[serde(default)]
    pub sigma: f64,
    /// USL's kappa.
    #[serde(default)]
    pub kappa: f64,
    #[serde(default)]
    pub seed: u64,
}

impl Queue {
    /// What makes no sense, as `option: value: rule`.
    pub(super) fn problem(&self) -> Option<String> {
        if self.servers == 0 {
            return Some("queue.servers: 0: must be at least 1".into());
        }
        for (name, value, most) in
            [("service_us", self.service_us, 1e9), ("sigma", self.sigma, 1.0), ("kappa", self.kappa, 1.0)]
        {
            if !(0.0..=most).contains(&value) {
                return Some(format!("queue.{name}: {value}: must be 0 to {most}"));
            }
        }
        None
    }
}

/// The queue and its servers at work on jobs of kind `J`.
#[derive(Debug)]
pub(super) struct Servers<J> {
    options: Queue,
    rng: Rng,
    waiting: VecDeque<J>,
    /// What is being served, by when it is done.
    served: BinaryHeap<Reverse<(u64, u64)>>,
    jobs: Vec<Option<J>>,
    free: Vec<usize>,
}

impl<J> Servers<J> {
    pub fn new(options: Queue) -> Self {
        let rng = Rng::new(options.seed, 0);
        Self { options, rng, waiting: VecDeque::new(), served: BinaryHeap::new(), jobs: Vec::new(), free: Vec::new() }
    }

    /// A job comes at `now_ns`: it is served if a server is free, and waits otherwise.
    pub fn come(&mut self, job: J, now_ns: u64) {
        if self.served.len() < self.options.servers {
            self.serve(job, now_ns);
        } else {
            self.waiting.push_back(job);
        }
    }

    /// When the next job is done; None: there is none.
    pub fn next_done_ns(&self) -> Option<u64> {
        self.served.peek().map(|Reverse((done_ns, _))| *done_ns)
    }

    /// A job that is done by `now_ns`. Its server goes on with the next one from when it was done, and not from when
    /// that was noticed: the queue is as fast as its service times say, however late the thread is.
    pub fn take_done(&mut self, now_ns: u64) -> Option<J> {
        let &Reverse((done_ns, place)) = self.served.peek()?;
        if done_ns > now_ns {
            return None;
        }
        self.served.pop();
        let job = self.jobs[place as usize].take();
        self.free.push(place as usize);
        if let Some(next) = self.waiting.pop_front() {
            self.serve(next, done_ns);
        }
        job
    }

    fn serve(&mut self, job: J, from_ns: u64) {
        let there = (self.served.len() + self.waiting.len() + 1) as f64;
        let slower = 1.0 + self.options.sigma * (there - 1.0) + self.options.kappa * there * (there - 1.0);
        let service_ns = self.options.service_us * 1e3 * self.rng.exponential() * slower;
        let place = self.free.pop().unwrap_or_else(|| {
            self.jobs.push(None);
            self.jobs.len() - 1
        });
        self.jobs[place] = Some(job);
        self.served.push(Reverse((from_ns + service_ns as u64, place as u64)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queue(servers: usize, sigma: f64, kappa: f64) -> Servers<u32> {
        Servers::new(Queue { servers, service_us: 1000.0, sigma, kappa, seed: 1 })
    }

    /// Jobs a second of so many users without think time, and the mean of their response times in seconds.
    fn closed(mut queue: Servers<u32>, users: u32) -> (f64, f64) {
        const JOBS: u32 = 200_000;
        let mut began = vec![0u64; users as usize];
        (0..users).for_each(|user| queue.come(user, 0));
        let (mut now_ns, mut responses_ns) = (0, 0u64);
        for _ in 0..JOBS {
            now_ns = queue.next_done_ns().unwrap();
            let user = queue.take_done(now_ns).unwrap();
            responses_ns += now_ns - began[user as usize];
            began[user as usize] = now_ns;
            queue.come(user, now_ns);
        }
        (f64::from(JOBS) / (now_ns as f64 / 1e9), responses_ns as f64 / f64::from(JOBS) / 1e9)
    }

    fn near(found: f64, true_value: f64, share: f64) -> bool {
        (found / true_value - 1.0).abs() < share
    }

    #[test]
    fn one_server_serves_one_and_eight_serve_eight() {
        for (servers, users, rate) in [(1, 1, 1000.0), (1, 5, 1000.0), (8, 4, 4000.0), (8, 20, 8000.0)] {
            let (found, response_s) = closed(queue(servers, 0.0, 0.0), users);
            assert!(near(found, rate, 0.015), "{servers} {users}: {found}");
            assert!(near(response_s, f64::from(users) / rate, 0.015), "Little's law: {response_s}");
        }
    }

    #[test]
    fn an_open_queue_has_the_response_times_of_the_formula() {
        let (mut queue, mut arrivals) = (queue(1, 0.0, 0.0), Rng::new(2, 0));
        let (mut came, mut responses_s, mut next_ns) = (Vec::new(), Vec::new(), 0u64);
        for job in 0..300_000u32 {
            next_ns += (arrivals.exponential() * 1e9 / 700.0) as u64;
            while let Some(done_ns) = queue.next_done_ns().filter(|done_ns| *done_ns <= next_ns) {
                let done = queue.take_done(done_ns).unwrap();
                responses_s.push((done_ns - came[done as usize]) as f64 / 1e9);
            }
            came.push(next_ns);
            queue.come(job, next_ns);
        }
        responses_s.sort_by(f64::total_cmp);
        let mean = responses_s.iter().sum::<f64>() / responses_s.len() as f64;
        let p99 = responses_s[responses_s.len() * 99 / 100];
        // M/M/1: exponential response times with the mean 1 / (mu - lambda).
        assert!(near(mean, 1.0 / 300.0, 0.04) && near(p99, 100f64.ln() / 300.0, 0.06), "{mean} {p99}");
    }

    #[test]
    fn contention_and_coherency_give_the_curve_of_the_law() {
        let law = |n: f64| 1000.0 * n / (1.0 + 0.05 * (n - 1.0) + 0.005 * n * (n - 1.0));
        for users in [1, 4, 14, 40] {
            let (found, _) = closed(queue(1000, 0.05, 0.005), users);
            assert!(near(found, law(f64::from(users)), 0.02), "{users}: {found} {}", law(f64::from(users)));
        }
    }
}
