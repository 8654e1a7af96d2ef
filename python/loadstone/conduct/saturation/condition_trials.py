"""The trials of conditions whose saturation points are looked for: run, kept in their order, and shown."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from loadstone.conduct.campaign import TrialRunner
from loadstone.conduct.display import CampaignProgress
from loadstone.conduct.shown_interval import show_interval
from loadstone.drive.outcome import Interval
from loadstone.judge.validity.reasons import failed_checks
from loadstone.plan.block import Block
from loadstone.plan.design.order import derived_seed
from loadstone.plan.run_plan import PlannedTrial
from loadstone.record.trial import TrialRecord
from loadstone.spec.levels import identity


def users_text(users: int) -> str:
    """`1 user`, `1,024 users`."""
    return f"{users:,} {'user' if users == 1 else 'users'}"


@dataclass
class ConditionTrials:
    """Of each condition all attempts, in the order in which they ended."""

    conductor: TrialRunner
    progress: CampaignProgress
    run_seed: int
    left_s: Callable[[float], float]
    """How long the run still takes, in seconds; it takes what the condition that is measured now does."""
    _trials: dict[str, list[TrialRecord]] = field(init=False, default_factory=dict)

    def of(self, template: PlannedTrial) -> Sequence[TrialRecord]:
        """The trials of a condition so far."""
        return self._trials.get(identity(template.condition), [])

    def add(self, record: TrialRecord) -> None:
        """Keep a trial that ended."""
        self._trials.setdefault(identity(record.condition), []).append(record)

    def seed(self, template: PlannedTrial, *what: object) -> int:
        """Follows from the run's seed, the condition and `what`."""
        return derived_seed(self.run_seed, template.name, *what)

    def run(self, trial: PlannedTrial, label: str, place: str, own_s: float) -> None:
        """One trial; `place` says where in the run it stands, and its condition takes `own_s` from now on."""
        self.progress.left(self.left_s(own_s), False)
        self.progress.trial(trial.name, label, place)
        for record in self.conductor.run(
            Block.alone(trial), lambda _, interval: show_interval(self.progress, interval)
        ):
            self._took(record, in_block=False)

    def run_rounds(self, template: PlannedTrial, block: Block, label: str, place: str, own_s: float) -> None:
        """Levels that take turns; the figures that are shown are those of one of them at a time."""
        self.progress.left(self.left_s(own_s), False)
        self.progress.trial(template.name, label, place)

        def show(_: int, interval: Interval) -> None:
            if interval.last_round is not None:
                done = f"round {interval.last_round + 1} of {len(block.orders)}"
                self.progress.place(f"{place}, {done}, {users_text(interval.users)}")
            show_interval(self.progress, interval)

        for record in self.conductor.run(block, show):
            self._took(record, in_block=True)
        self.progress.block(place)

    def _took(self, record: TrialRecord, *, in_block: bool) -> None:
        self.add(record)
        step = record.saturation
        if step is not None and step.phase == "search" and step.users is not None:
            self.progress.searched(step.users, record.goodput_per_s)
        reasons = [check.reason for check in failed_checks(record) if check.reason is not None]
        self.progress.finished(record.verdict, reasons, in_block=in_block)
