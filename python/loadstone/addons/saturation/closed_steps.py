"""Where a condition saturates, in the closed model: a search by numbers of users, then blocks of sweeps over them.

Which step comes next follows from the trials so far alone; how it is measured, from the step.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

from loadstone.addons.saturation.closed_estimate import (
    Estimate,
    Probe,
    RangeSearch,
    Saturation,
    closed_saturation,
    search_range,
    sweep_orders,
)
from loadstone.addons.saturation.closed_trials import measured_again, search_probes, sweep_blocks, sweeps_of
from loadstone.addons.saturation.levels import (
    APPLICATION_SEARCH_S,
    SEARCH_S,
    TAIL_LEVELS,
    SweepPlan,
    fewer_levels,
    in_one_stretch,
    plan_sweeps,
    step_trial,
    think_s,
    with_users,
)
from loadstone.addons.saturation.recorded_steps import number_of, phase_of, users_of
from loadstone.addons.saturation.spec import SaturationSettings, SaturationStep
from loadstone.experiment.plan.design.randomisation import derived_seed
from loadstone.experiment.plan.drive_plan import Plan
from loadstone.experiment.plan.run_plan import Block, PlannedTrial
from loadstone.experiment.plan.trial_plans import in_slices
from loadstone.measure.goals.goal import LabelledBlock, MeasureBlocks
from loadstone.run_folder.trial import TrialRecord
from loadstone.text.language import _, plural

FAILURES = 2
"""After so many blocks in a row that gave no sweep nothing more is tried."""
SEARCH_MAX_S = 10.0
PROBES_AGAIN = 3
"""Fewest probes of which the middle one is measured again: fewer have no middle."""
RESPONSES = 40
"""A probe lasts so many responses of the one before it."""


@dataclass(frozen=True)
class SearchStep:
    """Measure so many users next."""

    users: int
    number: int
    measure_s: float
    response_s: float
    """Response time of the probe before; 0 for the first."""


@dataclass(frozen=True)
class SweepStep:
    """Measure a block of sweeps next."""

    plan: SweepPlan
    first: int
    """Its first sweep, from 1."""


@dataclass(frozen=True)
class SearchEnded:
    """Nothing more is to be measured."""

    reason: Literal["decided", "last look"]
    sweeps: int


def next_step(
    template: PlannedTrial,
    settings: SaturationSettings,
    trials: Sequence[TrialRecord],
    *,
    refine: bool,
    left_s: float = math.inf,
) -> SearchStep | SweepStep | SearchEnded:
    """What comes next for a condition.

    Args:
        template: the condition, under the workload's own load.
        settings: the run's.
        trials: of the condition, all attempts in the order in which they ended.
        refine: whether sweeps beyond the fewest are made until the interval is narrow.
        left_s: seconds that the budget has left: before the first sweep, levels are left out that it has no room for.
    """
    probes, found = search_so_far(template, settings, trials)
    if found.next_users is not None:
        return _search(template, settings, probes, found.next_users)
    if (again := _again(template, settings, trials, probes, found)) is not None:
        return again
    if not found.levels:
        return SearchEnded("decided", 0)
    sweeps = sweeps_of(trials)
    if _failed_in_a_row(trials) >= FAILURES:
        return SearchEnded("last look", len(sweeps))
    plan = _fitting(template, settings, probes, found.levels, trials, left_s)
    following = SweepStep(plan, _first(plan, trials))
    if len(sweeps) < settings.sweeps or _half_done(plan, trials):
        return following
    answer = closed_saturation(sweeps)
    if is_precise(answer, settings.precision) or settings.sweeps_max <= settings.sweeps:
        return SearchEnded("decided", len(sweeps))
    if len(sweeps) >= settings.sweeps_max:
        return SearchEnded("last look", len(sweeps))
    return following if refine else SearchEnded("last look", len(sweeps))


def _again(
    template: PlannedTrial,
    settings: SaturationSettings,
    trials: Sequence[TrialRecord],
    probes: Sequence[Probe],
    found: RangeSearch,
) -> SearchStep | None:
    """Where an application did more and more up to the most users, a level in the middle once more.

    One that still warms up does more with time, too. The later figure counts, and may end the search.
    """
    unended = found.answer is not None and 2 * probes[-1].users > settings.users_max
    if not template.subjects or not unended or len(probes) < PROBES_AGAIN or measured_again(trials) is not None:
        return None
    users = probes[len(probes) // 2].users
    return _search(template, settings, probes, users)


def _first(plan: SweepPlan, trials: Sequence[TrialRecord]) -> int:
    """The number of the next sweep, or of the one of whole trials that is half done."""
    blocks = sweep_blocks(trials)
    if _half_done(plan, trials):
        return _number(blocks[-1])
    return _number(blocks[-1]) + plan.sweeps_a_block if blocks else 1


def _half_done(plan: SweepPlan, trials: Sequence[TrialRecord]) -> bool:
    """Whether levels of the last sweep of whole trials are missing."""
    blocks = sweep_blocks(trials)
    return plan.rounds is None and bool(blocks) and not set(plan.levels) <= set(blocks[-1])


def _number(block: Mapping[int, TrialRecord]) -> int:
    return max(number_of(one) for one in block.values())


def search_so_far(
    template: PlannedTrial, settings: SaturationSettings, trials: Sequence[TrialRecord]
) -> tuple[list[Probe], RangeSearch]:
    """The probes of the search, and what they say."""
    probes = search_probes(trials)
    search = partial(search_range, think_s=think_s(template.plan), users_max=settings.users_max)
    found = search(probes)
    if settings.quick and found.levels:
        found = RangeSearch(None, _quick_levels(found.levels), found.answer, found.why)
    return probes, found


def _quick_levels(levels: Sequence[int]) -> tuple[int, ...]:
    """Every second level, and the last three: X_max rests on them, though the search put the point too low."""
    return tuple(users for users in levels if users & (users - 1) == 0 or users in levels[-TAIL_LEVELS:])


def _fitting(
    template: PlannedTrial,
    settings: SaturationSettings,
    probes: Sequence[Probe],
    levels: Sequence[int],
    trials: Sequence[TrialRecord],
    left_s: float,
) -> SweepPlan:
    """The sweeps of as many levels as there is time for. Once a sweep in rounds was measured, of its levels."""
    plan = _sweeps_planned(template, settings, probes, levels)
    if plan.rounds is None:
        return plan
    if measured := sweep_blocks(trials):
        return _sweeps_planned(template, settings, probes, sorted({users for block in measured for users in block}))
    for fewer in fewer_levels(levels):
        plan = _sweeps_planned(template, settings, probes, fewer)
        if math.ceil(settings.sweeps / plan.sweeps_a_block) * plan.block_s <= left_s:
            break
    return plan


def _sweeps_planned(
    template: PlannedTrial, settings: SaturationSettings, probes: Sequence[Probe], levels: Sequence[int]
) -> SweepPlan:
    """The sweeps of these levels, by what the search brought."""
    pause_s = think_s(template.plan)
    best = max((probe.goodput_per_s for probe in probes), default=0.0)
    slowest_s = max(0.0, levels[-1] / best - pause_s) if best > 0 else 0.0
    worst_s = max((probe.response_s for probe in probes), default=0.0)
    return plan_sweeps(template, settings, levels, unloaded_s=probes[0].response_s, slowest_s=max(slowest_s, worst_s))


def is_precise(answer: Saturation, precision: float) -> bool:
    """Whether more sweeps would not help: the interval of the users is narrow, or it is no question of that.

    The rate's own interval is the machine's slow noise, which the users' is free of: sweeps would go on for it in vain.
    """
    if answer.kind not in ("plateau", "peak"):
        return answer.kind == "at_least"
    return answer.users is not None and _is_narrow(answer.users, precision)


def _is_narrow(one: Estimate, precision: float) -> bool:
    return max(one.high / one.value, one.value / one.low) <= 1 + precision


def _search(template: PlannedTrial, settings: SaturationSettings, probes: Sequence[Probe], users: int) -> SearchStep:
    usual_s = settings.trial_s or (APPLICATION_SEARCH_S if template.subjects else SEARCH_S)
    response_s = probes[-1].response_s if probes else 0.0
    cycle_s = response_s + (think_s(template.plan) if probes else 0.0)
    measure_s = min(SEARCH_MAX_S, max(usual_s, RESPONSES * response_s, 4 * cycle_s))
    return SearchStep(users, len(probes) + 1, measure_s, response_s)


def _failed_in_a_row(trials: Sequence[TrialRecord]) -> int:
    """Blocks at the end of which no sweep is whole."""
    count = 0
    for block in reversed(sweep_blocks(trials)):
        if sweeps_of(block.values()):
            break
        count += 1
    return count


def measure_search(template: PlannedTrial, step: SearchStep, label: str, run_seed: int) -> MeasureBlocks:
    """One step of the search."""
    plan = in_one_stretch(
        with_users(template.plan, step.users),
        step.measure_s,
        application=bool(template.subjects),
        response_s=step.response_s,
    )
    trial = step_trial(
        template,
        plan,
        SaturationStep(phase="search", users=step.users, number=step.number),
        name=f"{template.name}-search-u{step.users}{'' if step.users == 2 ** (step.number - 1) else '-again'}",
        block=step.number,
        order=1,
        seed=derived_seed(run_seed, template.name, "search", step.users),
    )
    place = _("search for the range: {users}", users=_users_text(step.users))
    return MeasureBlocks(
        (LabelledBlock(Block.alone(trial), label, place),),
        then=lambda told, records: told.searched(step.users, records[0].goodput_per_s),
    )


def measure_sweeps(
    template: PlannedTrial, step: SweepStep, label: str, of: str, run_seed: int, trials: Sequence[TrialRecord]
) -> MeasureBlocks:
    """A block of sweeps in rounds, or what is left of one sweep of whole trials, a trial a level.

    `of`: how many sweeps there will be, e.g. `of at least 6`; `trials`: of the condition so far.
    """
    plan, rounds = step.plan, step.plan.rounds
    if rounds is None:
        return MeasureBlocks(tuple(_whole_sweep(template, step, label, of, run_seed, trials)))
    interval_s = round((plan.rounds_a_sweep - 0.5) * rounds.measured_s, 6)
    levels = []
    for place, users in enumerate(_order(template, step, run_seed), start=1):
        level = in_slices(with_users(template.plan, users), rounds, 1, interval_s)
        levels.append(_level(template, step, run_seed, place, users, level))
    block = Block.shuffled(levels, rounds, derived_seed(run_seed, template.name, "rounds", step.first))
    last = step.first + plan.sweeps_a_block - 1
    where = _("sweep {first} {of}", first=step.first, of=of)
    if last > step.first:
        where = _("sweeps {first} to {last} {of}", first=step.first, last=last, of=of)
    shown = LabelledBlock(
        block,
        label,
        where,
        name=template.name,
        in_round=lambda number, users: _(
            "{where}, round {number} of {rounds}, {users}",
            where=where,
            number=number,
            rounds=len(block.orders),
            users=_users_text(users),
        ),
    )
    return MeasureBlocks((shown,), whole=where)


def _whole_sweep(
    template: PlannedTrial, step: SweepStep, label: str, of: str, run_seed: int, trials: Sequence[TrialRecord]
) -> Iterator[LabelledBlock]:
    done = {users_of(one) for one in trials if phase_of(one) == "sweep" and number_of(one) == step.first}
    order = _order(template, step, run_seed)
    for place, users in enumerate(order, start=1):
        if users in done:
            continue
        level = in_one_stretch(with_users(template.plan, users), step.plan.trial_s, application=bool(template.subjects))
        trial = _level(template, step, run_seed, place, users, level)
        where = _(
            "sweep {first} {of}, level {place} of {levels}: {users}",
            first=step.first,
            of=of,
            place=place,
            levels=len(order),
            users=_users_text(users),
        )
        yield LabelledBlock(Block.alone(trial), label, where)


def _order(template: PlannedTrial, step: SweepStep, run_seed: int) -> tuple[int, ...]:
    return sweep_orders(step.plan.levels, 1, derived_seed(run_seed, template.name, "sweep", step.first))[0]


def _level(template: PlannedTrial, step: SweepStep, run_seed: int, place: int, users: int, plan: Plan) -> PlannedTrial:
    """The trial of so many users in a block of sweeps, which has this place in the block's order."""
    return step_trial(
        template,
        plan,
        SaturationStep(phase="sweep", users=users, number=step.first, rounds_a_sweep=step.plan.rounds_a_sweep),
        name=f"{template.name}-sweep{step.first:02d}-u{users}",
        block=step.first,
        order=place,
        seed=derived_seed(run_seed, template.name, "sweep", step.first, users),
        in_rounds=step.plan.rounds is not None,
    )


def _users_text(users: int) -> str:
    """`1 user`, `1,024 users`."""
    return plural(users, "{n:,} user", "{n:,} users")
