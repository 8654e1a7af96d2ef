//! A plan's operations as they are drawn: by weight, each with its steps and the names these are counted under.

use super::Request;
use crate::plan::{Plan, PlanError, Writes};
use crate::wire::{Step, WireOperation};

/// An operation as the loop knows it. `steps` is the number of its requests.
#[derive(Debug, Clone, PartialEq)]
pub struct OperationInfo {
    pub name: String,
    pub steps: u16,
    pub weight: f64,
}

/// Everything that is the same for each request.
#[derive(Debug, Default)]
pub(super) struct Operations {
    pub all: Vec<Operation>,
    /// The requests of all operations, each operation's in order.
    pub requests: Vec<RequestId>,
    pub infos: Vec<OperationInfo>,
    /// The distinct names of requests.
    pub names: Vec<String>,
}

#[derive(Debug)]
pub(super) struct Operation {
    /// Places in [`Operations::requests`] of its requests, the first and the last, and of its read-back.
    pub first: u32,
    pub last: u32,
    pub read_back: Option<u32>,
    pub writes: Writes,
    pub reads_only: bool,
    /// The operation is drawn by random numbers up to this one, beyond those of the operations before it.
    pub threshold: u64,
}

/// One request of an operation.
#[derive(Debug, Clone, Copy)]
pub(super) struct RequestId {
    /// Place in [`Operations::names`].
    pub name: usize,
    /// Its number in the wire protocol.
    pub number: usize,
}

impl Operations {
    /// The operations of a plan; `requests` are theirs. The error names an operation that is too long.
    pub fn new(plan: &Plan, requests: Vec<WireOperation>) -> Result<Self, PlanError> {
        let mut operations = Self::default();
        let total: f64 = plan.operations.iter().map(|operation| operation.weight).sum();
        let mut cumulative = 0.0;
        for (index, (operation, WireOperation { steps, read_back, .. })) in
            plan.operations.iter().zip(requests).enumerate()
        {
            cumulative += operation.weight;
            let last = index + 1 == plan.operations.len();
            // Rounding must not leave random numbers that draw no operation.
            let threshold = if last { u64::MAX } else { (cumulative / total * u64::MAX as f64) as u64 };
            let Ok(count) = u16::try_from(steps.len().max(index)).map(|_| steps.len() as u16) else {
                let message = "more than 65535 operations, commands or requests: use fewer";
                return Err(PlanError::new(format!("operations[{index}]"), message));
            };
            let first = operations.requests.len() as u32;
            steps.into_iter().for_each(|step| operations.push(step));
            let last = first + u32::from(count.max(1)) - 1;
            let read_back = read_back.map(|step| {
                operations.push(step);
                last + 1
            });
            operations.infos.push(OperationInfo {
                name: operation.name.clone(),
                steps: count,
                weight: operation.weight,
            });
            let (writes, reads_only) = (operation.writes, operation.reads_only);
            operations.all.push(Operation { first, last, read_back, writes, reads_only, threshold });
        }
        Ok(operations)
    }

    /// The request that an operation is at.
    #[inline]
    pub fn current(&self, request: &Request) -> RequestId {
        self.requests[request.place as usize]
    }

    fn push(&mut self, Step { name, number }: Step) {
        let name = self.names.iter().position(|known| *known == name).unwrap_or_else(|| {
            self.names.push(name);
            self.names.len() - 1
        });
        self.requests.push(RequestId { name, number });
    }
}
