"""Where conditions saturate, measured: condition by condition, first as much as an interval needs, then more of it.

What comes next follows from the trials in the folder alone, so that a run goes on where it ended. The end of a
condition is a line in `looks.jsonl`.
"""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from hdrh.histogram import HdrHistogram

from loadstone.conduct.campaign import TrialRunner
from loadstone.conduct.display import CampaignProgress
from loadstone.conduct.saturation.closed_levels import measure_search, measure_sweeps
from loadstone.conduct.saturation.condition_trials import ConditionTrials
from loadstone.conduct.saturation.open_rates import measure_rate
from loadstone.conduct.saturation.ramp_trial import ramp_text, ramp_trial
from loadstone.goals.budget import Budget
from loadstone.goals.saturate_closed import Done, SearchStep, SweepStep, next_step, search_so_far
from loadstone.goals.saturate_open import RateSearch, length_s, rate_search
from loadstone.judge.saturation.closed_answer import closed_answer
from loadstone.judge.statistics.saturation_open import BLOCK_STEPS, BLOCKS, LOCATE_STEPS
from loadstone.judge.statistics.saturation_range import SWEEPS_MIN
from loadstone.machine import steady_clock
from loadstone.message import message
from loadstone.plan.labels import label_of
from loadstone.plan.run_plan import PlannedTrial, RunPlan, SaturationPlan, expected_overhead_s
from loadstone.plan.saturation.saturation_settings import SaturationSettings
from loadstone.plan.saturation.sweep_rounds import SweepPlan
from loadstone.record.folder import RunFolder
from loadstone.record.look import Look, Reason
from loadstone.record.reading import read_histogram
from loadstone.spec.experiment import Experiment


@dataclass
class Saturating:
    """All conditions of which it is to be found where they saturate."""

    conductor: TrialRunner
    folder: RunFolder
    experiment: Experiment
    run_plan: RunPlan
    progress: CampaignProgress
    clock: Callable[[], float] = time.monotonic
    began_s: float | None = None

    def __post_init__(self) -> None:
        earlier = self.folder.earlier_trials
        ending_s = self.run_plan.report_s()
        self._budget = Budget(self.run_plan.budget_s, earlier, self.clock, began_s=self.began_s, ending_s=ending_s)
        self._ended = {look.group: look for look in self.folder.earlier_looks}
        self._out_of_time: set[str] = set()
        """Conditions for which this session has no time."""
        self._trials = ConditionTrials(self.conductor, self.progress, self.run_plan.seed, self._left_s)
        for trial in earlier:
            if trial.saturation is not None:
                self._trials.add(trial)

    def run(self) -> None:
        """Measure what is not measured yet.

        Raises:
            LoadstoneError: the run cannot go on; what was finished is kept.
        """
        planned = self.run_plan.saturation
        if planned is None:
            return
        self.progress.start()
        try:
            templates = [one for one in planned.trials if self._goes_on(one)]
            for refine in (False, True):
                for template in templates:
                    self._condition(planned, template, refine=refine)
            for template in planned.trials:
                self._ramp(planned, template)
        finally:
            self.progress.stop()

    def _goes_on(self, template: PlannedTrial) -> bool:
        look = self._ended.get(template.name)
        return look is None or not look.stop or look.reason == "out of budget"

    def _condition(self, planned: SaturationPlan, template: PlannedTrial, *, refine: bool) -> None:
        """One condition, as far as it goes in this pass; the second pass ends it."""
        if template.name in self._out_of_time or not self._goes_on(template):
            return
        settings, label, began_s = planned.settings, label_of(self.experiment, template.condition), self.clock()
        while True:
            trials = self._trials.of(template)
            step = next_step(template, settings, trials, refine=refine and settings.model == "closed")
            if isinstance(step, Done) or (isinstance(step, SweepStep) and settings.model == "open"):
                break
            needed_s = step.plan.block_s if isinstance(step, SweepStep) else _search_s(template, step)
            if needed_s > self._budget.left_s():
                self._out_of_budget(template, len(trials), label)
                return
            if isinstance(step, SearchStep):
                expected_s = planned.searches_s() / len(planned.trials) - (self.clock() - began_s)
                measure_search(self._trials, template, step, label, max(needed_s, expected_s))
            else:
                self._announce_sweeps(template, settings, step.plan, label)
                blocks = math.ceil((settings.sweeps - step.first + 1) / step.plan.sweeps_a_block)
                own_s = max(1, blocks) * needed_s
                measure_sweeps(self._trials, template, step, label, _of_sweeps(step, settings), own_s)
                self._estimate(template, planned, label)
        if settings.model == "open":
            if not self._rates(planned, template, label):
                return
            self._end(template, len(self._trials.of(template)), "decided")
        elif isinstance(step, Done) and (refine or step.reason == "decided"):
            if not step.sweeps:
                self._estimate(template, planned, label)
            self._end(template, step.sweeps, step.reason)

    def _announce_sweeps(
        self, template: PlannedTrial, settings: SaturationSettings, plan: SweepPlan, label: str
    ) -> None:
        """Report how the search ended, and what is measured now."""
        _, found = search_so_far(template, settings, self._trials.of(template))
        said = message(
            "progress_levels",
            why=found.why,
            levels=len(plan.levels),
            most_users=plan.levels[-1],
            sweeps=settings.sweeps,
            at_most=settings.sweeps_max,
            trial_s=plan.trial_s,
            whole=plan.why_whole,
        )
        self.progress.announced(label, said)

    def _estimate(self, template: PlannedTrial, planned: SaturationPlan, label: str) -> None:
        """Report what the sweeps so far say."""
        found = closed_answer(list(self._trials.of(template)), planned.settings)
        said, sweeps = found.saturation.message, len(found.sweeps)
        if getattr(said.figures.get("why"), "kind", "") == "too_few_sweeps" and sweeps < SWEEPS_MIN:
            said = message("progress_sweeps_missing", missing=SWEEPS_MIN - sweeps)
        self.progress.estimated(label, sweeps, said)

    def _rates(self, planned: SaturationPlan, template: PlannedTrial, label: str) -> bool:
        """All bisections of the open model; False where the budget ended before."""
        settings = planned.settings
        probes, searched = search_so_far(template, settings, self._trials.of(template))
        capacity_per_s = max((probe.goodput_per_s for probe in probes), default=0.0)
        if capacity_per_s <= 0:
            self._estimate(template, planned, label)
            return True
        histogram = partial(_histogram, self.folder)
        users = 4 * max(probe.users for probe in probes)
        seed = self._trials.seed(template, "rates")
        rates = message("progress_rates", why=searched.why, objective=settings.objective, steps=LOCATE_STEPS)
        self.progress.announced(label, rates)
        while True:
            found = rate_search(settings, capacity_per_s, self._trials.of(template), histogram, seed)
            self._report_rates(found, label)
            if found.next is None:
                return True
            measure_s = length_s(settings, capacity_per_s, found.next.rate_per_s)
            trial_s = measure_s + expected_overhead_s(template.plan)
            if trial_s > self._budget.left_s():
                self._out_of_budget(template, len(found.blocks), label)
                return False
            own_s = (LOCATE_STEPS + BLOCKS * BLOCK_STEPS - len(found.steps)) * trial_s
            measure_rate(self._trials, template, found.next, measure_s, users, label, own_s)

    def _report_rates(self, found: RateSearch, label: str) -> None:
        """What the newest trial of a rate showed, and where the rate lies once that is known."""
        if found.steps and (step := found.steps[-1]).trial.saturation is not None:
            self.progress.rated(step.trial.saturation.rate_per_s or 0.0, kept=step.why is None)
        if found.located_per_s is not None:
            near = message("progress_located", rate_per_s=found.located_per_s, blocks=BLOCKS)
            self.progress.announced(label, near)

    def _ramp(self, planned: SaturationPlan, template: PlannedTrial) -> None:
        """The classical ramp of a condition, where one is required, not driven yet, and there is time."""
        ramp = planned.settings.classical
        if ramp is None or self._has_ramp(template):
            return
        if ramp.seconds + expected_overhead_s(template.plan) > self._budget.left_s():
            self.progress.detail("no time is left for the classical ramp")
            return
        trial = ramp_trial(template, ramp, self._trials.seed(template, "ramp"))
        self._trials.run(trial, label_of(self.experiment, template.condition), ramp_text(ramp), 0.0)

    def _out_of_budget(self, template: PlannedTrial, blocks: int, label: str) -> None:
        self.progress.announced(label, message("progress_out_of_time"))
        self._out_of_time.add(template.name)
        self._end(template, blocks, "out of budget")

    def _end(self, template: PlannedTrial, blocks: int, reason: Reason) -> None:
        """Nothing more is measured of it."""
        look = Look(
            group=template.name,
            blocks=blocks,
            unix_s=round(steady_clock.unix_s(), 3),
            elapsed_s=round(self._budget.elapsed_s(), 3),
            verdicts=[],
            stop=True,
            reason=reason,
        )
        self.folder.add_look(look)
        self._ended[template.name] = look

    def _left_s(self, own_s: float) -> float:
        """What is left of the condition that is measured now, of those that are not begun, and of the ramps."""
        planned = self.run_plan.saturation
        if planned is None:
            return 0.0
        waiting = [one for one in planned.trials if not self._trials.of(one) and one.name not in self._ended]
        others = len(waiting) - (len(waiting) == len(planned.trials))
        each_s = planned.searches_s() / len(planned.trials)
        ramp = planned.settings.classical
        ramps_s = 0.0 if ramp is None else ramp.seconds * sum(not self._has_ramp(one) for one in planned.trials)
        return min(own_s + others * each_s + ramps_s, self._budget.left_s())

    def _has_ramp(self, template: PlannedTrial) -> bool:
        return any(one.saturation and one.saturation.phase == "ramp" for one in self._trials.of(template))


def _of_sweeps(step: SweepStep, settings: SaturationSettings) -> str:
    """How many sweeps there will be."""
    if step.first > settings.sweeps:
        return f"of at most {settings.sweeps_max}"
    return f"of {'at least ' if settings.sweeps_max > settings.sweeps else ''}{settings.sweeps}"


def _search_s(template: PlannedTrial, step: SearchStep) -> float:
    return step.measure_s + expected_overhead_s(template.plan)


def _histogram(folder: RunFolder, trial: str) -> HdrHistogram:
    return read_histogram(folder.path, trial, "response")
