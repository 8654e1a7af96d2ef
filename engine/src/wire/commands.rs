//! The commands of one plan, whatever protocol frames them: written, and their replies counted and judged.

use super::exchange::{Compiler, Exchange, Frame};
use super::judge::{Judge, Strict};
use super::reply::Reply;
use super::{Expected, WireOperation, limits, reply_max};
use crate::content::other_keys::OtherKeys;
use crate::content::send_buffer::Sink;
use crate::content::template::Filling;
use crate::plan::{Expect, Plan, PlanError, Writes};

#[derive(Debug)]
pub(super) struct Commands {
    exchanges: Vec<Exchange>,
    pub judge: Judge,
    /// The longest reply that is taken.
    pub reply_max_bytes: usize,
    other_keys: OtherKeys,
    scratch: Vec<u8>,
}

impl Commands {
    /// Those of a plan, and its operations. The error names the argument that cannot be used.
    pub fn new(plan: &Plan, filling: &Filling, frame: Frame) -> Result<(Self, Vec<WireOperation>), PlanError> {
        let mut compiler = Compiler::new(plan, filling, frame);
        let operations = plan.operations.iter().enumerate().map(|(index, operation)| compiler.add(operation, index));
        let operations = operations.collect::<Result<_, _>>()?;
        let writes_fields = plan.operations.iter().any(|operation| operation.writes == Writes::Field);
        let commands = Self {
            exchanges: compiler.into_exchanges(),
            judge: Judge::new(&plan.verify, writes_fields, plan.others_write()),
            reply_max_bytes: reply_max::bytes(plan, limits::are_replies_known(plan)),
            other_keys: OtherKeys::new(plan),
            scratch: Vec::new(),
        };
        Ok((commands, operations))
    }

    /// Appends command `number`. `previous` reads the reply to the one before it, where that is needed.
    #[inline(always)]
    pub fn write<'a>(
        &mut self,
        number: usize,
        filling: &mut Filling<'a>,
        previous: impl FnOnce() -> Option<Reply<'a>>,
        out: &mut impl Sink,
    ) {
        self.exchanges[number].write(filling, previous, &mut self.other_keys, &mut self.scratch, out);
    }

    /// Counts a reply to command `number`; returns what it must be.
    #[inline]
    pub fn replied(&mut self, number: usize, reply: Option<Reply>) -> (Expect, Strict) {
        let exchange = &mut self.exchanges[number];
        exchange.missed += u64::from(matches!(reply, Some(Reply::Nothing)));
        (exchange.expect, exchange.strict)
    }

    /// Whether `reply`, of a replica, to command `number` lacks what was there before; see `judge::stale`.
    pub fn is_stale(&self, number: usize, expected: &Expected, alone: bool, reply: Option<Reply>) -> bool {
        self.judge.is_stale(self.exchanges[number].expect, expected, alone, reply)
    }

    /// Whether command `number` holds what was in the reply to the one before it.
    pub fn uses_previous(&self, number: usize) -> bool {
        self.exchanges[number].uses_previous
    }

    /// How many replies to command `number` were that there is no such key.
    pub fn missed(&self, number: usize) -> u64 {
        self.exchanges[number].missed
    }
}
