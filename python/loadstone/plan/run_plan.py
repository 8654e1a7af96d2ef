"""The design of a run: conditions, blocks in random order, and the plan of each trial."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from loadstone.plan.model import Closed, Open, Plan
from loadstone.plan.trial_length import TRIAL_OVERHEAD_S
from loadstone.plan.wanted import PlannedCrash, StoredCount, WantedData, WantedSubject

Level = str | int | float | bool
Condition = dict[str, Level]

ASSUMED_RATE_PER_S = 10_000
"""What a closed model is taken to reach as long as nothing has been measured."""
TABLE_GROUP = "table"
"""The group of the conditions that no comparison needs."""
START_S, USUAL_WARM_UP_S = 12.0, 20.0
"""What starting a subject is taken to cost (its build is not in it), and its warm-up where only its manifest tells."""
WARM_UP_TIMES = 2.4
"""How many times as long as planned a warm-up is taken to last: a JVM with one CPU goes on getting faster. The mean of
ten of `aof-modes` on two CPUs, 1.5 to 3 (2026-11-22)."""
ROWS_PER_S = 20_000
"""How fast rows are taken to be written before the first trial."""
CRASH_S = 4.0
"""What a crash is taken to cost beside the load until the kill: the server's restart, and counting."""
WARM_BLOCK = 0
"""Warms the machine up; its trials are recorded and never used."""


@dataclass(frozen=True)
class Pair:
    """Two conditions that differ in one factor."""

    a: Condition
    b: Condition


@dataclass(frozen=True)
class Group:
    """Conditions that are measured together, block by block, and judged together.

    A declared comparison is a group of its own name; what only stands in tables is `TABLE_GROUP`, without pairs.
    """

    name: str
    conditions: tuple[Condition, ...]
    pairs: tuple[Pair, ...]
    metric: str
    """The primary metric, which decides."""
    margin: float
    """A share: 0.05 means that less than 5 % does not matter."""
    looks: tuple[int, ...]
    """Numbers of blocks, not counting the warm one, after which the pairs are judged; the last is the most."""
    sequential: bool
    """Whether it ends at the first look that decides every pair; otherwise there is one look."""
    warm_block: bool
    trial_s: float
    """Mean length of the measure phase of its trials in seconds."""
    overhead_s: float
    """Mean of what a trial takes beside that: warm-up, loading, drain, start."""

    @property
    def block_s(self) -> float:
        """Seconds that one block is expected to take."""
        return len(self.conditions) * (self.trial_s + self.overhead_s)


@dataclass(frozen=True)
class PlannedTrial:
    """One trial to run. `plan` and `load` have placeholder endpoints until a server is deployed."""

    name: str
    """`b<block>-<order>` in the table's group, e.g. `b01-007`; `<group>-b<block>-<order>` in a comparison's."""
    condition: Condition
    block: int
    order: int
    servers: dict[str, dict[str, object]]
    """Settings of each server under this condition, after substitution."""
    plan: Plan
    load: Plan | None
    """Stores the data that the trial needs; None when it needs none."""
    group: str = TABLE_GROUP
    subjects: Mapping[str, WantedSubject] = field(default_factory=dict)
    """Applications that must run, by name."""
    data: tuple[WantedData, ...] = ()
    """Rows that must be there before the first trial on a server."""
    stored: tuple[StoredCount, ...] = ()
    target: str | None = None
    """The server or subject that gets the load; None: every server."""


@dataclass(frozen=True)
class CrashTrial:
    """A trial that ends with the death of a server."""

    trial: PlannedTrial
    crash: PlannedCrash


@dataclass(frozen=True)
class RunPlan:
    """All trials of a run, as many as it may need at most, group by group and block by block."""

    experiment: str
    seed: int
    quick: bool
    as_published: bool
    budget_s: float
    """How long the run may last; 0: there is no end."""
    conditions: tuple[Condition, ...]
    groups: tuple[Group, ...]
    """The table's group first, if there is one; then a group for each comparison."""
    trials: tuple[PlannedTrial, ...]
    crashes: tuple[CrashTrial, ...] = ()
    """Measured after all trials, outside of every table and comparison."""
    scale: float = 1.0
    """Users and rows are so many times those that the experiment writes."""

    def expected_s(self) -> float:
        """A guess at the seconds until the tables are measured and every comparison had its first look.

        What starts before the first trials is in it, and the crashes after the last ones.
        """
        first = {group.name: group.looks[0] for group in self.groups}
        needed = [trial.plan for trial in self.trials if trial.block <= first.get(trial.group, trial.block)]
        measured_s = sum(expected_measure_s(plan) + expected_overhead_s(plan) for plan in needed)
        return self.preparation_s() + measured_s + self.crashes_s()

    def preparation_s(self) -> float:
        """A guess at the seconds that the subjects' starts and warm-ups take, and writing the rows: each once."""
        starts, warm_ups, rows = set[str](), dict[str, float](), dict[str, int]()
        for trial in self._one_of_each_condition():
            operations = [operation.name for operation in trial.plan.operations]
            for subject in trial.subjects.items():
                place = f"{subject} {trial.servers}"
                starts |= set() if subject[1].urls else {place}
                usual_s = 0.0 if subject[1].urls else USUAL_WARM_UP_S
                warm_up_s = subject[1].warm_up_s
                warm_ups[f"{place} {operations}"] = usual_s if warm_up_s is None else warm_up_s
            for data in trial.data:
                rows[f"{data} {trial.servers[data.server]}"] = data.rows
        return START_S * len(starts) + WARM_UP_TIMES * sum(warm_ups.values()) + sum(rows.values()) / ROWS_PER_S

    def crashes_s(self) -> float:
        """A guess at the seconds that all crashes take."""
        return sum(one.crash.after_s + CRASH_S for one in self.crashes)

    def _one_of_each_condition(self) -> Iterable[PlannedTrial]:
        trials = (*self.trials, *(one.trial for one in self.crashes))
        return {str(trial.condition): trial for trial in trials}.values()

    def longest_s(self) -> float:
        """A guess at the most seconds: of all trials that may be needed, each at its longest, or the budget if less.

        Only the time of blocks that are measured again, because something outside spoiled them, is not in it.
        """
        everything = sum(_longest_measure_s(trial.plan) + expected_overhead_s(trial.plan) for trial in self.trials)
        return min(self._budget_s, self.preparation_s() + everything + self.crashes_s())

    def looks_within_budget(self) -> dict[str, int | None]:
        """Group -> blocks that the budget is expected to allow; of a comparison: of its last look, None if of none.

        The first block of a table comes first, whatever it takes, then the groups take their looks in turns, none of
        them decided before its last; the rest of a table comes after their first ones.
        """
        spent_s, reached = self.preparation_s(), dict.fromkeys((group.name for group in self.groups), 0)
        tables = [group for group in self.groups if not group.pairs]
        for table in tables:
            spent_s, reached[table.name] = spent_s + table.block_s, 1
        for number in range(max((len(group.looks) for group in self.groups), default=0)):
            for group in (group for group in self.groups if group.pairs and number < len(group.looks)):
                done = reached[group.name] or -int(group.warm_block)
                cost_s = (group.looks[number] - done) * group.block_s
                if spent_s + cost_s <= self._budget_s:
                    spent_s, reached[group.name] = spent_s + cost_s, group.looks[number]
            for table in tables if number == 0 else ():
                rest = (n for n in range(1, table.looks[-1]) if spent_s + n * table.block_s <= self._budget_s)
                blocks = max(rest, default=0)
                spent_s, reached[table.name] = spent_s + blocks * table.block_s, 1 + blocks
        return {name: blocks or None for name, blocks in reached.items()}

    @property
    def _budget_s(self) -> float:
        return self.budget_s if self.budget_s > 0 else math.inf


def expected_measure_s(plan: Plan) -> float:
    """A guess at the length of a trial's measure phase in seconds.

    One that goes on until enough operations were done is guessed from the plan's rate, or from
    `ASSUMED_RATE_PER_S` where the server sets the pace.
    """
    model, operations = plan.model, plan.phases.measure_operations
    if isinstance(model, Closed) and model.operations_per_user is not None:
        operations = model.users * model.operations_per_user
    measure_s = max(plan.phases.measure_s, (operations or 0) / _rate_per_s(model))
    return min(measure_s, _longest_measure_s(plan))


def expected_overhead_s(plan: Plan) -> float:
    """Seconds that a trial is taken to cost beside its measure phase: ramp-up, warm-up, and what surrounds the load."""
    return plan.phases.ramp_up_s + plan.phases.warm_up_s + TRIAL_OVERHEAD_S


def _rate_per_s(model: Closed | Open) -> float:
    if isinstance(model, Open):
        return model.rate_per_s
    if model.think_time_ms > 0:
        return min(ASSUMED_RATE_PER_S, model.users * 1000 / model.think_time_ms)
    return ASSUMED_RATE_PER_S


def _longest_measure_s(plan: Plan) -> float:
    return max(plan.phases.measure_s, plan.phases.measure_max_s or 0.0)
