"""Where conditions saturate: condition by condition, first as much as an interval needs, then more of it.

What comes next follows from the history alone, so that a run goes on where it ended. The end of a condition is a look.
"""

import math
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from loadstone.addons.saturation.bisection import BLOCK_STEPS, BLOCKS, LOCATE_STEPS
from loadstone.addons.saturation.closed_estimate import SWEEPS_MIN
from loadstone.addons.saturation.closed_steps import (
    SearchEnded,
    SearchStep,
    SweepStep,
    measure_search,
    measure_sweeps,
    next_step,
    search_so_far,
)
from loadstone.addons.saturation.closed_trials import closed_answer
from loadstone.addons.saturation.levels import SweepPlan, step_trial, with_ramp, within_budget
from loadstone.addons.saturation.open_steps import RateSearch, length_s, measure_rate, rate_search
from loadstone.addons.saturation.planning import searches_s, share_of_time
from loadstone.addons.saturation.recorded_steps import phase_of, rate_of, settings_in
from loadstone.addons.saturation.spec import Ramp, SaturationSettings, SaturationStep
from loadstone.experiment.plan.design.randomisation import derived_seed
from loadstone.experiment.plan.labels import label_of
from loadstone.experiment.plan.run_plan import Block, PlannedTrial, expected_overhead_s
from loadstone.experiment.spec.levels import identity
from loadstone.measure.goals.goal import (
    Goal,
    GoalContext,
    GoalPhase,
    LabelledBlock,
    MeasureBlocks,
    NothingMore,
    RecordLook,
    RemainingTime,
    RunClock,
    RunHistory,
    Step,
)
from loadstone.measure.listener import Notice, ProgressListener
from loadstone.run_folder.trial import TrialRecord
from loadstone.text.language import _
from loadstone.text.message import message


@dataclass(frozen=True)
class _Planned:
    """The conditions of which it is found where they saturate."""

    settings: SaturationSettings
    trials: tuple[PlannedTrial, ...]

    @property
    def each_s(self) -> float:
        """A guess at the seconds that a condition takes, without its ramp."""
        return searches_s(self.settings, self.trials) / len(self.trials)


class SaturationGoal(Goal):
    """All conditions of which it is to be found where they saturate, after the tables and comparisons."""

    turns = (GoalPhase.AFTER,)
    takes_all_time = True

    def __init__(self, asked: GoalContext) -> None:
        self._asked = asked
        self._seed = asked.run_plan.seed
        search = asked.run_plan.search
        self._planned = None if search is None else _Planned(settings_in(search), search.trials)
        self._trials: dict[str, list[TrialRecord]] = {}
        """Every attempt of each condition, by its identity, in the order in which they ended."""
        self._followed = 0
        self._passes: deque[tuple[PlannedTrial, bool]] | None = None
        """The conditions that are before us, each with whether its interval is made narrow; None: not asked yet."""
        self._ramps: deque[PlannedTrial] = deque()
        self._entered_s: float | None = None
        """When the first of them became the one that is measured."""
        self._own_s, self._own_at_s = 0.0, 0.0
        """How long the condition that is measured now still takes, and as of when."""
        self._overdue = False
        """Whether the search for its range of loads takes longer than was guessed: nobody knows how many steps more."""

    def next(self, history: RunHistory, time: RunClock) -> Step:
        """The next step of the first condition that is not through; the classical ramps follow."""
        planned = self._planned
        if planned is None:
            return NothingMore()
        if self._passes is None:
            open_ = [trial for trial in planned.trials if _goes_on(trial, history)]
            self._passes = deque((one, refine) for refine in (False, True) for one in open_)
            self._ramps = deque(planned.trials)
        while self._passes:
            template, refine = self._passes[0]
            step = self._of_condition(planned, template, history, time, refine=refine)
            if isinstance(step, MeasureBlocks):
                return step
            self._entered_s = None
            self._passes.popleft()
            if step is not None:
                if step.look.reason == "out of budget":
                    self._passes = deque(one for one in self._passes if one[0] is not template)
                return step
        return self._ramp(planned, history, time)

    def expected(self, history: RunHistory, time: RunClock) -> RemainingTime:
        """What is left of the condition that is measured now, of those that are not begun, and of the ramps."""
        planned = self._planned
        if planned is None:
            return RemainingTime()
        own_s = max(0.0, self._own_s - (time.budget.elapsed_s() - self._own_at_s))
        trials = {trial.name: self._trials_of(trial, history) for trial in planned.trials}
        waiting = sum(not own and history.look(name) is None for name, own in trials.items())
        others = waiting - (waiting == len(planned.trials))
        each_s = planned.each_s
        ramp = planned.settings.classical
        ramps_s = 0.0 if ramp is None else ramp.seconds * sum(not _has_ramp(own) for own in trials.values())
        left_s = min(own_s + others * each_s + ramps_s, time.left_s)
        return RemainingTime(left_s, math.inf if self._overdue else left_s)

    def _of_condition(
        self, planned: _Planned, template: PlannedTrial, history: RunHistory, time: RunClock, *, refine: bool
    ) -> MeasureBlocks | RecordLook | None:
        """One condition, as far as it goes in this pass; the second pass ends it."""
        if self._entered_s is None:
            if not _goes_on(template, history):
                return None
            self._entered_s = time.budget.elapsed_s()
        share = share_of_time(self._asked.run_plan, planned.settings)
        settings = within_budget(planned.settings, share, application=bool(template.subjects))
        label = label_of(self._asked.experiment, template.condition)
        trials = self._trials_of(template, history)
        step = next_step(template, settings, trials, refine=refine and settings.model == "closed", left_s=time.left_s)
        if settings.model == "open" and not isinstance(step, SearchStep):
            return self._rate(planned, template, history, time, label)
        if isinstance(step, SearchEnded):
            if not refine and step.reason != "decided":
                return None
            told = None if step.sweeps else self._estimate(template, planned, history, label)
            return RecordLook(time.look(template.name, step.sweeps, step.reason), told)
        needed_s = step.plan.block_s if isinstance(step, SweepStep) else _search_s(template, step)
        if needed_s > time.left_s:
            return _out_of_budget(template, len(trials), label, time, needed_s)
        if isinstance(step, SearchStep):
            expected_s = planned.each_s - (time.budget.elapsed_s() - self._entered_s)
            self._takes(max(needed_s, expected_s), time, overdue=expected_s < needed_s)
            return measure_search(template, step, label, self._seed)
        blocks = math.ceil((settings.sweeps - step.first + 1) / step.plan.sweeps_a_block)
        self._takes(max(1, blocks) * needed_s, time)
        found = measure_sweeps(template, step, label, _of_sweeps(step, settings), self._seed, trials)
        announced = _sweeps_announced(template, settings, step.plan, trials, label)
        estimate = self._estimate(template, planned, history, label)
        return replace(found, notice=announced, then=lambda told, _: estimate(told))

    def _trials_of(self, template: PlannedTrial, history: RunHistory) -> Sequence[TrialRecord]:
        """The trials of a condition's search so far, every attempt."""
        for one in history.trials[self._followed :]:
            if one.search is not None:
                self._trials.setdefault(identity(one.condition), []).append(one)
        self._followed = len(history.trials)
        return self._trials.get(identity(template.condition), ())

    def _takes(self, own_s: float, time: RunClock, *, overdue: bool = False) -> None:
        self._own_s, self._own_at_s, self._overdue = own_s, time.budget.elapsed_s(), overdue

    def _estimate(self, template: PlannedTrial, planned: _Planned, history: RunHistory, label: str) -> Notice:
        """What the sweeps that are there by then say."""

        def tell(told: ProgressListener) -> None:
            found = closed_answer(self._trials_of(template, history), planned.settings)
            said, sweeps = found.saturation.message, len(found.sweeps)
            if getattr(said.figures.get("why"), "kind", "") == "too_few_sweeps" and sweeps < SWEEPS_MIN:
                said = message("progress_sweeps_missing", missing=SWEEPS_MIN - sweeps)
            told.estimated(label, sweeps, said)

        return tell

    def _rate(
        self, planned: _Planned, template: PlannedTrial, history: RunHistory, time: RunClock, label: str
    ) -> MeasureBlocks | RecordLook:
        """The next step of the open model's bisections, or the end of the condition."""
        settings, trials = planned.settings, self._trials_of(template, history)
        probes, searched = search_so_far(template, settings, trials)
        capacity_per_s = max((probe.goodput_per_s for probe in probes), default=0.0)
        ended = time.look(template.name, len(trials), "decided")
        if capacity_per_s <= 0:
            return RecordLook(ended, self._estimate(template, planned, history, label))
        seed = derived_seed(self._seed, template.name, "rates")
        found = rate_search(settings, capacity_per_s, trials, self._asked.histogram, seed)
        rates = message("progress_rates", why=searched.why, objective=settings.objective, steps=LOCATE_STEPS)

        def tell(told: ProgressListener) -> None:
            told.announced(label, rates)
            _tell_rates(told, found, label)

        if found.next is None:
            return RecordLook(ended, tell)
        measure_s = length_s(settings, capacity_per_s, found.next.rate_per_s)
        trial_s = measure_s + expected_overhead_s(template.plan)
        if trial_s > time.left_s:
            return _out_of_budget(template, len(found.blocks), label, time, trial_s, tell)
        self._takes((LOCATE_STEPS + BLOCKS * BLOCK_STEPS - len(found.steps)) * trial_s, time)
        users = 4 * max(probe.users for probe in probes)
        return replace(measure_rate(template, found.next, measure_s, users, label, self._seed), notice=tell)

    def _ramp(self, planned: _Planned, history: RunHistory, time: RunClock) -> MeasureBlocks | NothingMore:
        """The classical ramps of the conditions, where they are required, not driven yet, and there is time."""
        ramp = planned.settings.classical
        left_out = 0
        while ramp is not None and self._ramps:
            template = self._ramps.popleft()
            if _has_ramp(self._trials_of(template, history)):
                continue
            if ramp.seconds + expected_overhead_s(template.plan) > time.left_s:
                left_out += 1
                continue
            self._takes(0.0, time)
            return _measure_ramp(template, ramp, label_of(self._asked.experiment, template.condition), self._seed)
        return NothingMore(_no_time_for_ramps if left_out else None)


def _goes_on(template: PlannedTrial, history: RunHistory) -> bool:
    look = history.look(template.name)
    return look is None or not look.stop or look.reason == "out of budget"


def _has_ramp(trials: Iterable[TrialRecord]) -> bool:
    return any(phase_of(trial) == "ramp" for trial in trials)


def _out_of_budget(
    template: PlannedTrial, blocks: int, label: str, time: RunClock, needed_s: float, before: Notice | None = None
) -> RecordLook:
    out_of_time = message("progress_out_of_time", needed_s=needed_s, left_s=time.left_s)

    def tell(told: ProgressListener) -> None:
        if before is not None:
            before(told)
        told.announced(label, out_of_time)

    return RecordLook(time.look(template.name, blocks, "out of budget"), tell)


def _sweeps_announced(
    template: PlannedTrial, settings: SaturationSettings, plan: SweepPlan, trials: Sequence[TrialRecord], label: str
) -> Notice:
    """Return the notice that says how the search ended, and what is measured now."""
    _, found = search_so_far(template, settings, trials)
    said = message(
        "progress_levels",
        why=found.why,
        levels=len(plan.levels),
        most_users=plan.levels[-1],
        sweeps=settings.sweeps,
        at_most=settings.sweeps_max,
        trial_s=plan.trial_s,
        whole=plan.why_whole,
        **({"usual": len(found.levels)} if len(plan.levels) < len(found.levels) else {}),
    )
    return lambda told: told.announced(label, said)


def _tell_rates(told: ProgressListener, found: RateSearch, label: str) -> None:
    """What the newest trial of a rate showed, and where the rate lies once that is known."""
    if found.steps and (step := found.steps[-1]).trial.search is not None:
        told.rated(rate_of(step.trial) or 0.0, kept=step.why is None)
    if found.located_per_s is not None:
        told.announced(label, message("progress_located", rate_per_s=found.located_per_s, blocks=BLOCKS))


def _measure_ramp(template: PlannedTrial, ramp: Ramp, label: str, run_seed: int) -> MeasureBlocks:
    """One trial, all of which is measured."""
    step, plan = SaturationStep(phase="ramp", users=ramp.users), with_ramp(template.plan, ramp)
    seed = derived_seed(run_seed, template.name, "ramp")
    trial = step_trial(template, plan, step, name=f"{template.name}-ramp", block=1, order=1, seed=seed)
    place = _("classical ramp: 1 to {users:,} users over {seconds:.0f} s", users=ramp.users, seconds=ramp.seconds)
    return MeasureBlocks((LabelledBlock(Block.alone(trial), label, place),))


def _no_time_for_ramps(told: ProgressListener) -> None:
    told.detail(_("no time is left for the classical ramp"))


def _of_sweeps(step: SweepStep, settings: SaturationSettings) -> str:
    """Return how many sweeps there will be."""
    if step.first > settings.sweeps:
        return _("of at most {sweeps}", sweeps=settings.sweeps_max)
    if settings.sweeps_max > settings.sweeps:
        return _("of at least {sweeps}", sweeps=settings.sweeps)
    return _("of {sweeps}", sweeps=settings.sweeps)


def _search_s(template: PlannedTrial, step: SearchStep) -> float:
    return step.measure_s + expected_overhead_s(template.plan)
