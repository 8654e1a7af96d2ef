"""Peak throughput of one server: where no level of a study fills it, it is measured with more users.

That is for this question alone: those trials stand in no table, and no comparison rests on them. They take turns in
rounds of slices, in time that the tables and comparisons left, and end where the server is full or the generator is.
"""

from collections.abc import Sequence
from dataclasses import replace

from loadstone.addons.capacity.full_server import (
    TAKEN_MAX,
    ServerLoadLevel,
    level_of,
    servers_of,
    when_full,
)
from loadstone.experiment.plan.design.randomisation import derived_seed
from loadstone.experiment.plan.drive_plan import Closed
from loadstone.experiment.plan.labels import label_of
from loadstone.experiment.plan.rounds import SETTLE_S, SLICE_S, TABLE_WARM_UP_S, Rounds
from loadstone.experiment.plan.run_plan import FULL_SERVERS, WARM_BLOCK, Block, PlannedTrial, in_tables
from loadstone.experiment.plan.trial_plans import in_slices
from loadstone.experiment.spec.driver_names import NATIVE
from loadstone.experiment.spec.experiment import Experiment
from loadstone.experiment.spec.levels import drop_factors, factors_in, identity
from loadstone.judge.checks.checks import forbidding
from loadstone.measure.goals.goal import (
    Goal,
    GoalContext,
    GoalPhase,
    LabelledBlock,
    MeasureBlocks,
    NothingMore,
    RemainingTime,
    RunClock,
    RunHistory,
    Step,
)
from loadstone.run_folder.trial import TrialRecord
from loadstone.text.language import _

USERS_FIRST, USERS_MOST = 16, 128
"""More users than its levels have: twice as many, and at least and at most so many."""
ROUNDS = Rounds((8,), SLICE_S, SETTLE_S, TABLE_WARM_UP_S)
OPENING_S = 0.2
"""What storing a trial's data and opening its connections is taken to cost."""
TRIALS_MOST = 16
"""About a second each: so many in a run."""
GENERATOR_FULL = 0.97
"""A generator that is so busy has no more users to offer."""
UserLevels = list[PlannedTrial]
"""Planned trials whose conditions differ in nothing but their users."""


class FullServerGoal(Goal):
    """All places of the tables of a study whose users are varied, and whose generator is ours."""

    turns = (GoalPhase.AFTER,)

    def __init__(self, asked: GoalContext) -> None:
        self._asked = asked
        load = load_factors(asked.experiment)
        decks: dict[str, dict[str, UserLevels]] = {}
        for trial in asked.run_plan.trials if load and not asked.run_plan.as_published else ():
            if in_tables(trial.group) and _is_of_our_engine(trial):
                place = identity(drop_factors(trial.condition, load))
                decks.setdefault(trial.group, {}).setdefault(place, []).append(trial)
        self._decks = [list(places.values()) for places in decks.values()]
        """Those of a deck can be up together."""
        self._opened = [_connections([one for place in deck for one in place]) for deck in self._decks]
        """Connections of each deck, as the study itself opens them."""

    def next(self, history: RunHistory, time: RunClock) -> Step:
        """The places of one deck that are not full yet, with more users, as many as there is time for."""
        trials = [one for one in history.trials if one.block != WARM_BLOCK and one.search is None]
        room = TRIALS_MOST - sum(one.group == FULL_SERVERS for one in trials)
        room = int(min(room, time.left_s / _each_s()))
        for deck, opened in zip(self._decks, self._opened, strict=True):
            planned = [more for place in deck if (more := self._more(place, trials)) is not None][: max(0, room)]
            if any("url" in settings for one in planned for settings in one.servers.values()):
                planned = _within(planned, opened)
            if planned and time.fits(len(planned) * _each_s(), planned):
                return MeasureBlocks((self._shown(planned),), whole=FULL_SERVERS)
        return NothingMore()

    def expected(self, history: RunHistory, time: RunClock) -> RemainingTime:
        """All that it may measure; most runs need little of it."""
        return (
            RemainingTime(0.0, min(time.left_s, TRIALS_MOST * _each_s()))
            if self._decks and history.trials
            else RemainingTime()
        )

    def _more(self, place: UserLevels, trials: Sequence[TrialRecord]) -> PlannedTrial | None:
        """The place with more users; None: it is full, cannot get any fuller, or its server's CPU is not seen."""
        template = max(place, key=_users)
        levels = levels_of([one for one in trials if identity(one.condition) in {identity(t.condition) for t in place}])
        fullest = [max(each, key=lambda level: level.busy) for each in levels.values() if each]
        found = [when_full(each) for each in levels.values()]
        if not found or any(one is not None and one.how == "measured" for one in found):
            return None
        if any(level.taken > TAKEN_MAX or level.generator >= GENERATOR_FULL for level in fullest):
            return None
        users = max(USERS_FIRST, 2 * max(level.users for each in levels.values() for level in each))
        more = _with_users(template, users)
        return None if users > USERS_MOST or any(one.trial == more.name for one in trials) else more

    def _shown(self, planned: Sequence[PlannedTrial]) -> LabelledBlock:
        seed = derived_seed(self._asked.run_plan.seed, planned[0].name)
        labels = tuple(label_of(self._asked.experiment, one.condition) for one in planned)
        return LabelledBlock(
            Block.shuffled(planned, ROUNDS, seed),
            _("{n} conditions", n=len(planned)),
            _("{name}: more users", name=FULL_SERVERS),
            name=f"{FULL_SERVERS} {planned[0].name}",
            labels=labels,
        )


def levels_of(trials: Sequence[TrialRecord]) -> dict[str, list[ServerLoadLevel]]:
    """Server -> what it did under each number of users, by the trials of one place that no check forbids.

    A level is of the trials of one group with as many users, whatever condition they were planned for.
    """
    by_users: dict[tuple[str, int], list[TrialRecord]] = {}
    for one in trials:
        if one.facts.closed is not None and not forbidding(one):
            by_users.setdefault((one.group, one.facts.closed.users), []).append(one)
    found: dict[str, list[ServerLoadLevel]] = {}
    for of_one in by_users.values():
        for server in servers_of(of_one[0]):
            if (level := level_of(of_one, server)) is not None:
                found.setdefault(server, []).append(level)
    return found


def load_factors(experiment: Experiment) -> frozenset[str]:
    """The factors that set how many users there are, by the placeholders in the model."""
    workload = experiment.workload
    users = [workload.model.get("users"), *(one.model.get("users") for one in workload.models)]
    return frozenset(name for written in users for name in factors_in(str(written)))


def _users(planned: PlannedTrial) -> int:
    return planned.plan.model.users if isinstance(planned.plan.model, Closed) else 0


def _is_of_our_engine(planned: PlannedTrial) -> bool:
    """Whether more users are a question to the server: they do not pause, no application takes them, our engine drives
    them, and what drives is none of what is studied."""
    model = planned.plan.model
    waits = not isinstance(model, Closed) or model.think_time_ms > 0 or model.operations_per_user is not None
    return planned.in_rounds and not (
        waits or planned.subjects or planned.driver != NATIVE or "driver" in planned.studied
    )


def _connections(planned: Sequence[PlannedTrial]) -> int:
    """Return the connections of these conditions together."""
    return sum({identity(one.condition): one.plan.pool.connections for one in planned}.values())


def _within(planned: Sequence[PlannedTrial], most: int) -> list[PlannedTrial]:
    """Those that open no more than so many connections together: others need theirs to a server that is not ours."""
    kept: list[PlannedTrial] = []
    for one in planned:
        if sum(before.plan.pool.connections for before in kept) + one.plan.pool.connections <= most:
            kept.append(one)
    return kept


def _with_users(template: PlannedTrial, users: int) -> PlannedTrial:
    plan = in_slices(template.plan, ROUNDS, 1, ROUNDS.interval_of_a_slice_s)
    pool = plan.pool.model_copy(update={"connections": max(plan.pool.connections, users)})
    plan = plan.model_copy(update={"model": Closed(users=users), "pool": pool})
    return replace(template, name=f"{FULL_SERVERS}-{users}-{template.name}", group=FULL_SERVERS, block=1, plan=plan)


def _each_s() -> float:
    return ROUNDS.slices_s(ROUNDS.of(1), 1) + OPENING_S
