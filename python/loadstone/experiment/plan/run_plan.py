"""The design of a run: conditions, blocks in random order, and the plan of each trial."""

import math
import random
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Self

from loadstone.experiment.plan.drive_plan import Closed, Open, Plan
from loadstone.experiment.plan.fixed_rate import FixedRate
from loadstone.experiment.plan.group import Group
from loadstone.experiment.plan.key_time import keys_s
from loadstone.experiment.plan.required import PlannedCrash, RequiredData, RequiredSubject, StoredCount
from loadstone.experiment.plan.rounds import TRIAL_OVERHEAD_S, Rounds
from loadstone.experiment.spec.driver_names import NATIVE
from loadstone.experiment.spec.levels import Condition
from loadstone.text.message import Message

FULL_SERVERS = "full-servers"
"""The group of trials under more users than their condition has, which fill a server. No comparison is called so."""


StudiedPart = Literal["driver", "pool"]
"""What makes the load, and differs between the conditions that stand together: it is part of what is measured."""

ASSUMED_RATE_PER_S = 10_000
"""What a closed model is taken to reach as long as nothing has been measured."""
TABLE_GROUP = "table"
"""The group of the conditions that no comparison needs; those that cannot be up together are in several groups, and
each but the first has a number in addition."""
_OF_TABLES = re.compile(rf"{TABLE_GROUP}(-\d+)?")
START_S, USUAL_WARM_UP_S = 12.0, 20.0
"""What starting a subject is taken to cost (its build is not in it), and its warm-up where only its manifest tells."""
WARM_UP_TIMES = 2.4
"""How many times as long as planned a warm-up is taken to last: a JVM with one CPU goes on getting faster. The mean of
ten of `aof-modes` on two CPUs, 1.5 to 3 (2026-11-22)."""
ROWS_PER_S = 20_000
"""How fast rows are taken to be written before the first trial."""
CRASH_S = 4.0
"""What a crash is taken to cost in addition to the load until the kill: the server's restart, and counting."""
REPORT_S, REPORT_TRIAL_S = 5.0, 0.04
"""What judging a run and writing its report is taken to cost, and what each trial adds: 4.5 s for 20 trials, 9 s for
119, on two CPUs that others use, too (2026-11-22)."""
ENDING_SHARE = 1 / 3
"""The largest share of a budget that is kept for what comes after the trials."""
TABLE_SHARE = 0.2
"""The share of what is left that the first block of a table may take from the comparisons' first looks."""
AT_RATE_ROW_S = 0.5
"""What a row is taken to need at a fixed rate, its opening included: for a P99 at 25,000 operations a second."""
AT_RATE_WHOLE_S = 4.0
"""Length of a row at a fixed rate that is measured in a trial of its own."""
SEARCH_SHARE = 0.6
"""The largest share of a budget that is kept for a search for loads, where other things are measured, too."""
AT_RATE_SHARE, AT_RATE_MOST = 1 / 6, 0.3
"""The share of a budget that is spent at fixed rates, and the largest where there are many rows."""
WARM_BLOCK = 0
"""Warms the machine up; its trials are recorded and never used."""


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
    subjects: Mapping[str, RequiredSubject] = field(default_factory=dict)
    """Applications that must run, by name."""
    data: tuple[RequiredData, ...] = ()
    """Rows that must be there before the first trial on a server."""
    stored: tuple[StoredCount, ...] = ()
    target: str | None = None
    """The server or subject that gets the load; None: every server."""
    driver: str = NATIVE
    """What makes the load, as `experiment.spec.driver_names.resolved` has it."""
    studied: tuple[StudiedPart, ...] = ()
    """What of that the tables and comparisons of its condition vary."""
    in_rounds: bool = False
    """Whether it is measured in rounds, with all trials of its block: then they all hold their keys at one time."""
    rate_share: float | None = None
    """For a trial at a fixed rate, the share of its condition's own capacity that the rate is."""
    stage: int = 0
    """Stage of its group, see `Stage`."""
    search: Mapping[str, Any] | None = None
    """What the add-on that searches for loads notes of this one, `users` or `rate_per_s` among it; None: it is none."""

    def loads(self, server: str) -> bool:
        """Whether a server gets the load itself, and not by way of an application."""
        return self.target == server or (self.target is None and not self.subjects)


@dataclass(frozen=True)
class Stage:
    """Way in which a comparison goes on where a look shows that something reaches from one slice into the next.

    A group of the same conditions with longer slices, and after the longest ones with whole trials. It begins with
    block 0, and what was measured in the stages before does not count any more. Stage 0 is the group of the run plan.
    """

    group: Group
    trials: tuple[PlannedTrial, ...]


@dataclass(frozen=True)
class CrashTrial:
    """A trial that ends with the death of a server."""

    trial: PlannedTrial
    crash: PlannedCrash


@dataclass(frozen=True)
class AtRatePlan:
    """What is measured at a fixed rate: the conditions of tables whose own load is at full speed, each once."""

    fixed: FixedRate
    trials: tuple[PlannedTrial, ...]
    """Trials of the group `AT_RATE_GROUP`. Those of a block that are measured in rounds can be up together; their
    rates, and for how long they are measured, are known once their conditions were measured at full speed."""
    most_s: float = 10.0
    """For how long a row is measured at most."""

    def expected_s(self, budget_s: float) -> float:
        """Seconds that they take of a budget, where comparisons are still to take further looks; 0: there is no end."""
        least_s = sum(AT_RATE_ROW_S if trial.in_rounds else AT_RATE_WHOLE_S for trial in self.trials)
        most_s = least_s + self.most_s * len(self.trials)
        if budget_s <= 0:
            return most_s
        return min(most_s, AT_RATE_MOST * budget_s, max(least_s, AT_RATE_SHARE * budget_s))


@dataclass(frozen=True)
class SearchPlan:
    """The conditions of which an add-on searches for loads that the experiment does not name."""

    settings: Mapping[str, Any]
    """As the add-on reads them."""
    trials: tuple[PlannedTrial, ...]
    """One a condition, under the workload's own load: at which others it is measured follows from its answers."""
    expected_s: float = field(default=0.0, compare=False)
    """A guess at the seconds that all of them take."""
    least_s: float = field(default=0.0, compare=False)
    """In less time nothing is found; what lies between both it makes its steps shorter for."""
    announced: Message | None = field(default=None, compare=False)
    """What is told of it before the run; its `time_s` becomes what the budget has room for, and where that is less than
    usual it has `shortened`."""


@dataclass(frozen=True)
class GoalPlan:
    """A goal that the experiment declares (`experiment.spec.experiment.GoalSpec`)."""

    name: str
    """The group of its trials, too."""
    kind: str
    settings: Mapping[str, Any]
    time_s: float
    """How much of the budget is kept for it."""
    trials: tuple[PlannedTrial, ...]
    """One a condition, under the workload's own load: what it measures is made from them."""


@dataclass(frozen=True)
class RunPlan:
    """All trials of a run, as many as it may need at most, group by group and block by block."""

    experiment: str
    seed: int
    quick: bool
    as_published: bool
    budget_s: float
    """Longest time of the run; 0: there is no end."""
    conditions: tuple[Condition, ...]
    groups: tuple[Group, ...]
    """The table's group first, if there is one; then a group for each comparison."""
    trials: tuple[PlannedTrial, ...]
    crashes: tuple[CrashTrial, ...] = ()
    """Measured after all trials, outside of every table and comparison."""
    longer: tuple[Stage, ...] = ()
    """The later stages of the comparisons in rounds, group by group; few runs need one."""
    scale: float = 1.0
    """Users and rows are so many times those that the experiment writes."""
    at_rate: AtRatePlan | None = None
    """Measured after the comparisons' first looks, outside of every table and comparison."""
    shortened_for_s: float = 0.0
    """The budget for which compared slices and trials were made shorter than usual; 0: they were not. A resumed run
    keeps them, whatever its budget."""
    search: SearchPlan | None = None
    """Measured after all trials and before the crashes, outside of every table and comparison."""
    goals: tuple[GoalPlan, ...] = ()
    """Measured after all trials, before the search for loads."""

    @property
    def every_trial(self) -> tuple[PlannedTrial, ...]:
        """All trials, those at a fixed rate and of crashes among them, and one of each condition of other goals."""
        at_rate = () if self.at_rate is None else self.at_rate.trials
        searched = () if self.search is None else self.search.trials
        asked = (trial for goal in self.goals for trial in goal.trials)
        return (*self.trials, *at_rate, *searched, *asked, *(crash.trial for crash in self.crashes))

    def at_rate_s(self) -> float:
        """Seconds that are kept for what is measured at a fixed rate."""
        return 0.0 if self.at_rate is None else self.at_rate.expected_s(self.budget_s)

    def stages(self, name: str) -> tuple[Stage, ...]:
        """A group as planned, and its later stages."""
        first = (group for group in self.groups if group.name == name)
        planned = tuple(trial for trial in self.trials if trial.group == name)
        return (*(Stage(group, planned) for group in first), *(one for one in self.longer if one.group.name == name))

    def expected_s(self) -> float:
        """A guess at the seconds until the tables are measured and every comparison had its first look.

        What starts before the first trials is in it, and the crashes after the last ones.
        """
        first = {group.name: group.looks[0] for group in self.groups}
        needed = [trial for trial in self.trials if trial.block <= first.get(trial.group, trial.block)]
        alone = [trial.plan for trial in needed if not trial.in_rounds]
        measured_s = sum(expected_measure_s(plan) + expected_overhead_s(plan) for plan in alone)
        measured_s += sum(group.seconds(_from_start(group, group.looks[0])) for group in self.groups if group.rounds)
        ending_s = self.goals_s() + self.search_s() + self.crashes_s()
        return self.preparation_s() + measured_s + self.keys_s() + ending_s

    def keys_s(self) -> float:
        """A guess at the seconds that storing and removing the keys of large key spaces takes until then."""
        first = {group.name: group.looks[0] for group in self.groups}
        needed = [trial for trial in self.trials if trial.block <= first.get(trial.group, trial.block)]
        needed += [] if self.at_rate is None else self.at_rate.trials
        return sum(keys_s(trial.plan, trial.load) for trial in needed)

    def preparation_s(self) -> float:
        """A guess at the seconds that the subjects' starts and warm-ups take, and writing the rows: each once."""
        costs: dict[str, float] = {}
        for trial in self._one_of_each_condition():
            costs |= preparation(trial)
        return sum(costs.values())

    def crashes_s(self) -> float:
        """A guess at the seconds that all crashes take."""
        return sum(crash.crash.after_s + CRASH_S for crash in self.crashes)

    def goals_s(self) -> float:
        """The seconds that are kept for goals."""
        asked_s = sum(goal.time_s for goal in self.goals)
        return min(asked_s, ENDING_SHARE * self.budget_s) if self.budget_s > 0 else asked_s

    def search_s(self) -> float:
        """A guess at the seconds until the search for loads has ended, as far as a budget has room for it."""
        if self.search is None:
            return 0.0
        expected_s = self.search.expected_s
        if self.budget_s <= 0:
            return expected_s
        if self.groups:
            return min(expected_s, SEARCH_SHARE * self.budget_s)
        return min(expected_s, max(self.search.least_s, self.budget_s - self.report_s()))

    def ending_s(self) -> float:
        """Seconds of the budget that are kept for what comes after the trials of tables and comparisons."""
        return self.report_s() + (self.goals_s() + self.search_s() if self.groups and self.budget_s > 0 else 0.0)

    def report_s(self) -> float:
        """Seconds of the budget that are kept for crashes and the report."""
        if self.budget_s <= 0:
            return 0.0
        conditions = sum(len(group.conditions) for group in self.groups)
        trial_s = sum(group.block_s for group in self.groups) / max(1, conditions)
        trials = min(len(self.trials), self.budget_s / max(0.1, trial_s))
        return min(self.crashes_s() + REPORT_S + REPORT_TRIAL_S * trials, ENDING_SHARE * self.budget_s)

    def _one_of_each_condition(self) -> Iterable[PlannedTrial]:
        return {str(trial.condition): trial for trial in self.every_trial}.values()

    def length_share(self) -> float:
        """Return the share to which compared slices and trials must be shortened so that each first look fits into the
        budget; 1: not at all.

        By guesses; what starts and what opens takes as long as it takes, so the share may be 0.
        """
        if self.budget_s <= 0:
            return 1.0
        opening_s = length_s = 0.0
        for group in (group for group in self.groups if group.pairs):
            blocks, conditions = _from_start(group, group.looks[0]), len(group.conditions)
            if group.rounds is None:
                opening_s += len(blocks) * conditions * group.overhead_s
                length_s += len(blocks) * conditions * group.trial_s
            else:
                opening_s += len(blocks) * group.rounds.opening_s(conditions)
                length_s += sum(group.rounds.slices_s(group.rounds.of(block), conditions) for block in blocks)
        room_s = (1 - TABLE_SHARE) * (self.budget_s - self.preparation_s() - self.ending_s()) - opening_s
        return 1.0 if length_s <= 0 else min(1.0, max(0.0, room_s / length_s))

    def longest_s(self) -> float:
        """A guess at the most seconds: of all trials that may be needed, each at its longest, or the budget if less."""
        everything = sum(
            trial.plan.phases.longest_measure_s + expected_overhead_s(trial.plan) + keys_s(trial.plan, trial.load)
            for trial in self.trials
        )
        ending_s = self.goals_s() + self.search_s() + self.crashes_s()
        return min(self._budget_s, self.preparation_s() + everything + self.at_rate_s() + ending_s)

    def looks_within_budget(self) -> dict[str, int | None]:
        """Group -> blocks that the budget is expected to allow; of a comparison: of its last look, None if of none.

        The first block of a table comes first, as far as there is time beside the first looks, then the groups take
        their looks in turns, none of them decided before its last; fixed rates and the rest of a table come after their
        first ones.
        """
        spent_s = self.preparation_s() + self.ending_s()
        reached = dict.fromkeys((group.name for group in self.groups), 0)
        tables = [group for group in self.groups if not group.pairs]
        looks_s = [group.seconds(_from_start(group, group.looks[0])) for group in self.groups if group.pairs]
        for table in tables:
            left_s = max(0.0, self._budget_s - spent_s)
            room_s = left_s - first_looks_s(looks_s, left_s)
            reached[table.name] = int(table.block_s <= room_s)
            spent_s += min(table.block_s, room_s)
        for number in range(max((len(group.looks) for group in self.groups), default=0)):
            for group in (group for group in self.groups if group.pairs and number < len(group.looks)):
                done = reached[group.name]
                blocks = range(done + 1, group.looks[number] + 1) if done else _from_start(group, group.looks[number])
                cost_s = group.seconds(blocks)
                if spent_s + cost_s <= self._budget_s:
                    spent_s, reached[group.name] = spent_s + cost_s, group.looks[number]
            spent_s += max(0.0, min(self.at_rate_s(), self._budget_s - spent_s)) if number == 0 else 0.0
            for table in tables if number == 0 else ():
                most = table.looks[-1] - reached[table.name]
                rest = (n for n in range(1, most + 1) if spent_s + n * table.block_s <= self._budget_s)
                more = max(rest, default=0)
                spent_s, reached[table.name] = spent_s + more * table.block_s, reached[table.name] + more
        return {name: blocks or None for name, blocks in reached.items()}

    @property
    def _budget_s(self) -> float:
        return self.budget_s if self.budget_s > 0 else math.inf


def in_tables(group: str) -> bool:
    """Whether a group of this name is of conditions that no comparison needs."""
    return _OF_TABLES.fullmatch(group) is not None


def _from_start(group: Group, last: int) -> range:
    """The blocks up to this one, with the warm one."""
    return range(WARM_BLOCK if group.warm_block else WARM_BLOCK + 1, last + 1)


def preparation(trial: PlannedTrial) -> dict[str, float]:
    """What must be started, warmed up and written before a trial, each once in a run, and a guess at its seconds."""
    costs: dict[str, float] = {}
    operations = [operation.name for operation in trial.plan.operations]
    for name, subject in trial.subjects.items():
        place = f"{name} {subject} {trial.servers}"
        if not subject.urls:
            costs[f"start {place}"] = START_S
        usual_s = 0.0 if subject.urls else USUAL_WARM_UP_S
        costs[f"warm-up {place} {operations}"] = WARM_UP_TIMES * (
            usual_s if subject.warm_up_s is None else subject.warm_up_s
        )
    for data in trial.data:
        costs[f"rows {data} {trial.servers[data.server]}"] = data.rows / ROWS_PER_S
    return costs


def first_looks_s(looks_s: Iterable[float], left_s: float) -> float:
    """Seconds that are kept for the comparisons' first looks where `left_s` are left, while a table begins.

    Of `looks_s`, in their order, as many as there is time for; a table may take `TABLE_SHARE` from them.
    """
    kept_s = 0.0
    for look_s in looks_s:
        if kept_s + look_s > (1 - TABLE_SHARE) * left_s:
            break
        kept_s += look_s
    return kept_s


def expected_measure_s(plan: Plan) -> float:
    """A guess at the length of a trial's measure phase in seconds.

    One that goes on until enough operations were done is guessed from the plan's rate, or from
    `ASSUMED_RATE_PER_S` where the server sets the pace.
    """
    model, operations = plan.model, plan.phases.measure_operations
    if isinstance(model, Closed) and model.operations is not None:
        operations = model.operations
    measure_s = max(plan.phases.measure_s, (operations or 0) / _rate_per_s(model))
    return min(measure_s, plan.phases.longest_measure_s)


def expected_overhead_s(plan: Plan) -> float:
    """Seconds that a trial is taken to cost beside its measure phase: ramp-up, warm-up, and what surrounds the load."""
    return plan.phases.before_s + TRIAL_OVERHEAD_S


def _rate_per_s(model: Closed | Open) -> float:
    if isinstance(model, Open):
        return model.rate_per_s
    if model.think_time_ms > 0:
        return min(ASSUMED_RATE_PER_S, model.users * 1000 / model.think_time_ms)
    return ASSUMED_RATE_PER_S


@dataclass(frozen=True)
class Block:
    """Its trials; in rounds also their places in the order of each round."""

    trials: tuple[PlannedTrial, ...]
    orders: tuple[tuple[int, ...], ...] = ()
    rounds: Rounds | None = None
    """None: a whole trial of one condition."""

    @classmethod
    def alone(cls, planned: PlannedTrial) -> Self:
        """One condition, in a whole trial."""
        return cls((planned,))

    @classmethod
    def shuffled(cls, trials: Sequence[PlannedTrial], rounds: Rounds, seed: int) -> Self:
        """Conditions in the rounds of one block, in an order of its own in each of them."""
        chance, places = random.Random(seed), range(len(trials))
        orders = tuple(tuple(chance.sample(places, len(places))) for _ in range(rounds.of(1)))
        return cls(tuple(trials), orders, rounds)
