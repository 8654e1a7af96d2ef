"""The judging of a group: every pair on the primary metric, the same during a run and after it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from loadstone.experiment.plan.group import GroupDesign, PairDesign
from loadstone.experiment.plan.look_schedule import schedule_of
from loadstone.experiment.plan.rounds import BETWEEN_S, unit_of
from loadstone.experiment.spec.experiment import Experiment
from loadstone.judge.checks.generator_bounds import gain_over
from loadstone.judge.compare import pair_checks, round_figures
from loadstone.judge.compare.blocks import GroupBlocks
from loadstone.judge.compare.decision_rule import DecisionRule, rule_of
from loadstone.judge.compare.latencies import HistogramCache
from loadstone.judge.compare.metric_of_pair import evaluate_metric
from loadstone.judge.compare.pairs import Pair, PairBlock, pair_of
from loadstone.judge.compare.sides import Declared, declared_as, side_names
from loadstone.judge.metrics import less_is_better
from loadstone.judge.statistics.decision import refused, verdicts_of_pairs
from loadstone.judge.statistics.pair_evidence import NO_BLOCKS, Evidence
from loadstone.judge.statistics.settings import Settings
from loadstone.judge.verdict import Verdict
from loadstone.run_folder.trial import CheckResult

JudgedPair = tuple[Pair, Evidence, Verdict]
"""A pair, what there is on its primary metric, and what may be said of it."""


@dataclass(frozen=True)
class GroupCase:
    """A group of conditions, and all that it is judged by."""

    design: GroupDesign
    experiment: Experiment
    blocks: GroupBlocks
    judged: tuple[int, ...]
    """The blocks that count."""
    latencies: HistogramCache
    quick: bool = False
    budget_minutes: float | None = None
    """None: no limit."""
    carried_before: float = 0.0
    """For lengthened slices, ln of what may still reach into them, by what shorter ones showed."""

    @property
    def declared(self) -> Declared | None:
        """What the experiment declares under the group's name."""
        return declared_as(self.experiment, self.design.name)

    @property
    def rule(self) -> DecisionRule:
        """The rule by which it ends."""
        return rule_of(self.experiment)

    def settings(self, pair: PairDesign) -> Settings:
        """Return the settings by which the primary metric of a pair is judged."""
        design = self.design
        trial_s, overhead_s, unit = design.trial_s, design.overhead_s, unit_of(design.rounds)
        if design.rounds is not None and unit == "round":
            trial_s, overhead_s = design.rounds.slice_s, BETWEEN_S
        rule = self.rule
        return Settings(
            metric=self.design.metric,
            larger_is_faster=not less_is_better(self.design.metric),
            margin=self.design.margin,
            alpha=schedule_of(self.experiment).level(sequential=design.sequential, in_rounds=unit == "round"),
            compares_runs=rule.compares_runs,
            cost_margin=rule.cost_margin,
            pairs=len(self.design.pairs),
            conditions=self.blocks.conditions,
            unit=unit,
            trial_s=trial_s,
            overhead_s=overhead_s,
            budget_minutes=self.budget_minutes,
            names=side_names(self.experiment, pair),
            quick=self.quick,
            started_once=design.rounds is not None and design.rounds.processes == "once",
        )


def judge_group(case: GroupCase) -> list[JudgedPair]:
    """Every pair of a group on its primary metric, together by Holm's procedure; in the order of the design.

    A pair that a check forbids to judge takes part without evidence: the others are held to the same level.
    """
    pairs = [_pair(case, design) for design in case.design.pairs]
    evidence = [_evidence(case, pair) for pair in pairs]
    both = list(zip(pairs, evidence, strict=True))
    verdicts = verdicts_of_pairs({number: (one, pair.settings) for number, (pair, one) in enumerate(both)})
    return [(pair, one, _verdict(pair, one, verdicts[number])) for number, (pair, one) in enumerate(both)]


def _pair(case: GroupCase, design: PairDesign) -> Pair:
    pair = pair_of(design, case.blocks, case.judged, case.settings(design))
    used = pair.used
    gains = (gain_over([block.a for block in used]), gain_over([block.b for block in used]))
    rate_per_s = None if case.design.fixed_rate is None else pair_checks.equal_rate_per_s(used)
    settings = replace(pair.settings, gains=gains, rate_per_s=rate_per_s)
    counted = set(case.judged)
    checks = (
        _replication(used, settings),
        pair_checks.error_difference([block for block in pair.blocks if block.block in counted]),
        pair_checks.gain(settings.widening),
        pair_checks.warm_up(used),
    )
    return replace(pair, settings=settings, checks=checks, refusal=pair.refusal or _refusal(checks))


def _replication(used: Sequence[PairBlock], settings: Settings) -> CheckResult:
    if settings.unit == "round":
        return pair_checks.replication(round_figures.firsts(used), settings.unit)
    firsts = [next(iter(round_figures.firsts([block])), block.a_first) for block in used]
    return pair_checks.replication(firsts, settings.unit)


def _evidence(case: GroupCase, pair: Pair) -> Evidence:
    return NO_BLOCKS if pair.refusal else evaluate_metric(case.design.metric, pair.used, pair.settings, case.latencies)


def _refusal(checks: Sequence[CheckResult]) -> CheckResult | None:
    """What forbids a verdict."""
    failed = next((check for check in checks if check.verdict == "invalid"), None)
    return None if failed is None else pair_checks.named_as_failures(failed)


def _verdict(pair: Pair, evidence: Evidence, verdict: Verdict) -> Verdict:
    """INVALID comes first; else what the statistics say."""
    refusal = pair.refusal or evidence.refusal
    return verdict if refusal is None else refused(refusal, len(pair.used), pair.settings)
