"""Trials of a search for a saturation point, as a system of known truth gives them: X(N) = min(N / R0, C)."""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

from hdrh.histogram import HdrHistogram
from tests.changed_facts import with_facts, written
from tests.experiments import described
from tests.run_folder.synthetic import as_ours

from loadstone.addons.saturation.closed_steps import SearchEnded, SearchStep, SweepStep, next_step
from loadstone.addons.saturation.experiment import redis_source
from loadstone.addons.saturation.levels import SweepPlan
from loadstone.addons.saturation.options import OneCommand, SearchOptions
from loadstone.addons.saturation.recorded_steps import settings_in
from loadstone.addons.saturation.spec import SaturationSettings, SaturationStep
from loadstone.drivers.histogram import Histogram
from loadstone.experiment.plan.run_plan import PlannedTrial, RunPlan
from loadstone.experiment.spec.experiment import Experiment
from loadstone.run.prepare import requested_plan
from loadstone.run.request import RunRequest
from loadstone.run_folder.facts import TrialFacts
from loadstone.run_folder.trial import CheckResult, TrialRecord

STARTED_NS = 1_790_000_000_000_000_000
Facts = Callable[[dict[str, Any], int], None]
"""Changes the facts of a trial with so many users."""


def saturated(search: SearchOptions = SearchOptions()) -> Experiment:
    """What `loadstone saturate redis` measures."""
    return described(redis_source(None, OneCommand(size="100"), search))


def run_plan_of(experiment: Experiment, *, quick: bool = False) -> RunPlan:
    return requested_plan(experiment, RunRequest(seed=1, quick=quick))


def planned(
    search: SearchOptions = SearchOptions(), *, quick: bool = False, **changes: Any
) -> tuple[PlannedTrial, SaturationSettings]:
    """The one condition of `loadstone saturate redis`, and the settings of the run; `changes`: fields of these."""
    found = run_plan_of(saturated(search), quick=quick).search
    assert found is not None
    return found.trials[0], settings_in(found).model_copy(update=changes)


@dataclass
class System:
    """A service with a queue: `noise` is the spread of each sweep's capacity, `own_noise` of its time for one user."""

    template: TrialRecord
    capacity_per_s: float = 8000.0
    unloaded_s: float = 0.001
    noise: float = 0.0
    own_noise: float = 0.0
    facts: Facts | None = None
    dice: random.Random = field(default_factory=lambda: random.Random(3))
    clock_s: float = 0.0

    @property
    def point(self) -> float:
        """N* = C R0."""
        return self.capacity_per_s * self.unloaded_s

    def per_s(self, users: int) -> float:
        return min(users / self.unloaded_s, self.capacity_per_s)

    def response_s(self, users: int) -> float:
        return max(self.unloaded_s, users / self.capacity_per_s)

    def search(self, users: int, number: int = 1, **changes: Any) -> TrialRecord:
        """One step of the search."""
        step = SaturationStep(phase="search", users=users, number=number)
        return self.trial(step, f"search-u{users}", **changes)

    def whole_sweep(self, levels: Sequence[int], number: int, **changes: Any) -> list[TrialRecord]:
        """A sweep of whole trials, in this order."""
        steps = [(users, SaturationStep(phase="sweep", users=users, number=number)) for users in levels]
        found = [self.trial(step, f"sweep{number:02d}-u{users}", **changes) for users, step in steps]
        return [one.model_copy(update={"order": order}) for order, one in enumerate(found, start=1)]

    def block(self, plan: SweepPlan, first: int, **changes: Any) -> list[TrialRecord]:
        """A block of sweeps, in the way that the plan has it."""
        if plan.rounds is None:
            return self.whole_sweep(self.dice.sample(plan.levels, len(plan.levels)), first, **changes)
        return self.rounds(plan.levels, first, plan.rounds.of(1), plan.rounds_a_sweep, **changes)

    def rounds(
        self, levels: Sequence[int], first: int, rounds: int, rounds_a_sweep: int = 1, **changes: Any
    ) -> list[TrialRecord]:
        """Levels that take turns; the capacity of a round is the same for all of them."""
        orders = [self.dice.sample(list(levels), len(levels)) for _ in range(rounds)]
        capacity = [self.dice.gauss(0, self.noise) for _ in range(rounds)]
        unloaded = [self.dice.gauss(0, self.own_noise) for _ in range(rounds)]
        found = []
        for users in levels:
            slices = [
                self._slice(number, order.index(users), users, 1 + capacity[number], 1 + unloaded[number])
                for number, order in enumerate(orders)
            ]
            step = SaturationStep(phase="sweep", users=users, number=first, rounds_a_sweep=rounds_a_sweep)
            trial = self.trial(step, f"sweep{first:02d}-u{users}", **changes)
            found.append(with_slices(trial, slices))
        return found

    def _slice(self, number: int, position: int, users: int, capacity: float, unloaded: float) -> dict[str, Any]:
        response_s = max(self.unloaded_s * unloaded, users / (self.capacity_per_s * capacity))
        ok, begin_s = round(users / response_s * 0.1), number + position / 100
        return {
            "round": number, "position": position, "begin_s": begin_s, "end_s": begin_s + 0.1,
            "drained_s": begin_s + 0.1, "offered": ok, "completed": ok, "ok": ok, "failed": 0, "cpu_s": 0.01,
            "ended": ok, "response_sum_ns": round(1e9 * response_s * ok),
        }  # fmt: skip

    def trial(self, step: SaturationStep, name: str, **changes: Any) -> TrialRecord:
        """A trial of one step; `changes`: fields of its record."""
        users = step.users or 1
        per_s = self.per_s(users) if step.rate_per_s is None else min(step.rate_per_s, self.capacity_per_s)
        facts = written(self.template)
        facts["plan"]["model"] = {"kind": "closed", "users": users, "think_time_ms": 0.0}
        facts["parts"]["redis"].update(main_thread_share=0.98 * per_s / self.capacity_per_s, wait_share=0.0)
        if self.facts is not None:
            self.facts(facts, users)
        self.clock_s += 2.0
        response_ns = self.template.response_ns.model_copy(update={"mean": 1e9 * self.response_s(users)})
        found = self.template.model_copy(
            update={
                "trial": name,
                "group": "saturation",
                "search": step.model_dump(mode="json"),
                "goodput_per_s": per_s,
                "throughput_per_s": per_s,
                "response_ns": response_ns,
                "started_unix_ns": STARTED_NS + round(1e9 * self.clock_s),
                "facts": TrialFacts.model_validate(facts),
            }
        )
        return found.model_copy(update=changes)

    def carry_on(
        self,
        template: PlannedTrial,
        settings: SaturationSettings,
        trials: list[TrialRecord],
        *,
        refine: bool = True,
    ) -> tuple[list[SearchStep | SweepStep], SearchEnded]:
        """All steps from these trials on, up to the end; their trials are added."""
        steps: list[SearchStep | SweepStep] = []
        while True:
            step = next_step(template, settings, trials, refine=refine)
            if isinstance(step, SearchEnded):
                return steps, step
            steps.append(step)
            assert len(steps) < 100, "it never ends"
            if isinstance(step, SearchStep):
                trials.append(self.search(step.users, step.number))
            else:
                trials += self.block(step.plan, step.first)


def system_of(synthetic: ModuleType, **changes: Any) -> System:
    return System(synthetic.make_trial(), **changes)


def with_slices(trial: TrialRecord, slices: Sequence[dict[str, Any]], **facts: Any) -> TrialRecord:
    return with_facts(trial, drive={**written(trial)["drive"], "slices": list(slices)}, **facts)


def undriven(trial: TrialRecord) -> TrialRecord:
    """The same trial, as it is recorded where it could not be driven."""
    counts = trial.counts.model_copy(update={"offered": 0, "sent": 0, "ok": 0})
    failed = CheckResult(name="finished", verdict="invalid", measured=None, limit=None, unit="", reason=None)
    facts = TrialFacts(failure="connection refused", plan=trial.facts.plan)
    changes = {"goodput_per_s": 0.0, "counts": counts, "phases": {}, "facts": facts, "checks": [failed]}
    return trial.model_copy(update=changes)


def failing(trial: TrialRecord, share: float) -> TrialRecord:
    """The same trial with this share of wrong replies."""
    offered = trial.counts.offered
    wrong = round(share * offered)
    counts = trial.counts.model_copy(update={"ok": offered - wrong, "errors": {"wrong reply": wrong}})
    return trial.model_copy(update={"counts": counts})


def full_generator(share: float = 0.99) -> Facts:
    """The generator has nothing left, and the server has."""

    def change(facts: dict[str, Any], users: int) -> None:  # noqa: ARG001 (every change knows the users)
        facts["drive"]["threads"][0].update(cpu_s=share * 6, wall_s=6.0, waited_s=0.0)
        facts["parts"]["redis"].update(main_thread_share=0.3, mean_share=0.3)

    return change


def latencies_ns(values: Sequence[float]) -> Histogram:
    histogram = HdrHistogram(1, 3_600_000_000_000, 3)
    for value in values:
        histogram.record_value(round(value))
    return as_ours(histogram)
