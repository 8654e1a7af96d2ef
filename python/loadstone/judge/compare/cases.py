"""The judging of a group: every pair on the primary metric, the same during a run and after it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from loadstone.judge.compare import pair_checks
from loadstone.judge.compare.blocks import GroupBlocks, GroupDesign, PairDesign
from loadstone.judge.compare.judgements import refused
from loadstone.judge.compare.latencies import Latencies
from loadstone.judge.compare.measure import Measured, measure
from loadstone.judge.compare.pairs import PairBlock, PairTrials, pair_trials
from loadstone.judge.compare.sides import side_names
from loadstone.judge.metrics import less_is_better
from loadstone.judge.statistics.comparison import NO_BLOCKS
from loadstone.judge.statistics.sequential import judge_pairs
from loadstone.judge.statistics.settings import Settings
from loadstone.judge.statistics.verdict import Verdict
from loadstone.judge.validity.gain import gain_over
from loadstone.plan.looks import level
from loadstone.record.trial import CheckResult
from loadstone.spec.experiment import Comparison, Experiment


@dataclass(frozen=True)
class GroupCase:
    """A group of conditions, and all that it is judged by."""

    design: GroupDesign
    experiment: Experiment
    blocks: GroupBlocks
    judged: tuple[int, ...]
    """The blocks that count."""
    latencies: Latencies
    quick: bool = False
    budget_minutes: float | None = None
    """None: no limit."""

    @property
    def declared(self) -> Comparison | None:
        """The comparison that the experiment declares under the group's name."""
        return next((one for one in self.experiment.comparisons if one.name == self.design.name), None)

    def settings(self, pair: PairDesign) -> Settings:
        """How the primary metric of a pair is judged."""
        return Settings(
            larger_is_faster=not less_is_better(self.design.metric),
            margin=self.design.margin,
            alpha=level(self.design.sequential),
            pairs=len(self.design.pairs),
            conditions=self.blocks.conditions,
            trial_s=self.design.trial_s,
            overhead_s=self.design.overhead_s,
            budget_minutes=self.budget_minutes,
            names=side_names(self.experiment, pair),
            quick=self.quick,
        )


@dataclass(frozen=True)
class Evidence:
    """What there is on a pair before its verdict."""

    pair: PairDesign
    trials: PairTrials
    settings: Settings
    checks: tuple[CheckResult, ...]
    """Those of the pair as a whole, whatever the metric."""
    refusal: CheckResult | None
    """What forbids a verdict on any metric."""
    primary: Measured

    @property
    def used(self) -> tuple[PairBlock, ...]:
        return self.trials.used


@dataclass(frozen=True)
class JudgedPair:
    """A pair with the verdict on the primary metric."""

    evidence: Evidence
    verdict: Verdict


def judge_group(case: GroupCase) -> list[JudgedPair]:
    """Every pair of a group on its primary metric, together by Holm's procedure; in the order of the design.

    A pair that a check forbids to judge takes part without evidence: the others are held to the same level.
    """
    found = [_evidence(case, pair) for pair in case.design.pairs]
    verdicts = judge_pairs({number: (one.primary.evidence, one.settings) for number, one in enumerate(found)})
    return [JudgedPair(one, _verdict(one, verdicts[number])) for number, one in enumerate(found)]


def _evidence(case: GroupCase, pair: PairDesign) -> Evidence:
    trials = pair_trials(pair, case.blocks, case.judged)
    used = trials.used
    gains = (gain_over([block.a for block in used]), gain_over([block.b for block in used]))
    settings = replace(case.settings(pair), gains=gains)
    counted = set(case.judged)
    driven = [block for block in trials.blocks if block.block in counted]
    checks = (
        pair_checks.replication(used),
        pair_checks.error_difference(driven),
        pair_checks.gain(settings.widening),
        pair_checks.warm_up(used),
    )
    refusal = trials.refusal or _refusal(checks)
    primary = Measured(NO_BLOCKS)
    if refusal is None:
        primary = measure(case.design.metric, used, settings, case.latencies)
    return Evidence(pair, trials, settings, checks, refusal, primary)


def _refusal(checks: Sequence[CheckResult]) -> CheckResult | None:
    """What forbids a verdict; a difference in failures under the name that it has for failures of either kind."""
    failed = next((check for check in checks if check.verdict == "invalid"), None)
    if failed is None or failed.name != "error_difference":
        return failed
    return failed.model_copy(update={"name": "errors"})


def _verdict(evidence: Evidence, judged: Verdict) -> Verdict:
    """INVALID comes first; else what the statistics say."""
    refusal = evidence.refusal or evidence.primary.refusal
    if refusal is None and judged.hidden:
        refusal = pair_checks.one_gain(evidence.settings.widening)
    return judged if refusal is None else refused(refusal, len(evidence.used), evidence.settings)
