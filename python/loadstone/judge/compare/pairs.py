"""The trials of a pair, block by block: which may be used, what forbids a verdict, and what the analysis keeps of one.

A block is left out because of the checks of its trials only, never because of its result.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from loadstone.experiment.plan.group import PairDesign
from loadstone.experiment.spec.levels import Condition, identity
from loadstone.judge.checks import accounting, data, parts
from loadstone.judge.checks.checks import BOUNDS, OF_MEANING, counted_reasons, forbidding
from loadstone.judge.compare.blocks import GroupBlocks
from loadstone.judge.metrics import figure, tail_of
from loadstone.judge.statistics.settings import Settings
from loadstone.judge.verdict import BlockPoint, Side, Verdict
from loadstone.run_folder.trial import CheckResult, TrialRecord
from loadstone.text.message import Message, message

EXACT = tuple(
    check.name
    for check in (
        parts.settings,
        accounting.conservation,
        accounting.server_counter,
        data.stored_rows,
        accounting.replies,
    )
)
"""Checks that hold exactly or not at all: one trial that fails one makes every figure of the pair doubtful."""
SPOILED_MAX = 0.20
"""J: if more of the blocks are left out, what remains is no longer a fair sample."""
ONE_SIDED = 2
"""J: so many more blocks lost to failures of its own on one side are a difference between the two, not an accident."""
NAMED_MAX = 3
"""Number of blocks left out that are named in the warning; of more the checks are counted."""


@dataclass(frozen=True)
class PairBlock:
    """Both trials of one block."""

    block: int
    a: TrialRecord
    b: TrialRecord
    why: Message | None = None
    """Why it is not used; None when it is."""

    @property
    def a_first(self) -> bool:
        return self.a.started_unix_ns < self.b.started_unix_ns


@dataclass(frozen=True)
class Pair:
    """Two conditions of a design and what they are judged by: their blocks, and what forbids a verdict."""

    design: PairDesign
    blocks: tuple[PairBlock, ...]
    settings: Settings
    """How the primary metric is judged."""
    warnings: tuple[Message, ...] = ()
    checks: tuple[CheckResult, ...] = ()
    """Those of the pair as a whole, whatever the metric."""
    refusal: CheckResult | None = None
    """The check that forbids a verdict on any metric."""

    @property
    def used(self) -> tuple[PairBlock, ...]:
        """The blocks whose trials are both usable."""
        return tuple(block for block in self.blocks if block.why is None)


def pair_of(design: PairDesign, group: GroupBlocks, judged: Sequence[int], settings: Settings) -> Pair:
    """The pair's trials in the group's complete blocks, of which those in `judged` count."""
    a, b = identity(design.a), identity(design.b)
    blocks = tuple(_block(number, group.trials[number][a], group.trials[number][b]) for number in judged)
    later = tuple(
        PairBlock(number, group.trials[number][a], group.trials[number][b], why=message("block_after_last_look"))
        for number in group.complete
        if number not in set(judged)
    )
    refusal = _refusal(blocks)
    warnings = (*_one_process(blocks), *_left_out(blocks, refusal), *_suspect(blocks), *_later(later))
    return Pair(design, (*blocks, *later), settings, warnings, refusal=refusal)


def _block(number: int, a: TrialRecord, b: TrialRecord) -> PairBlock:
    failed = {trial.trial: [check.name for check in forbidding(trial)] for trial in (a, b)}
    trials = [message("trial_invalid", trial=trial, checks=checks) for trial, checks in failed.items() if checks]
    return PairBlock(number, a, b, message("block_trials_invalid", trials=trials) if trials else None)


def _refusal(blocks: Sequence[PairBlock]) -> CheckResult | None:
    """An exact check that failed once, or the most frequent one of the others where they spoil too many blocks.

    What one side brings on itself (errors, a server that dies) is no accident: leaving those blocks out would
    judge that side by its better ones.
    """
    invalid = [check for block in blocks for trial in (block.a, block.b) for check in forbidding(trial)]
    if (exact := exact_failure(invalid)) is not None:
        return exact
    own = [[check for block in blocks for check in forbidding(side(block))] for side in _SIDES]
    lost = [sum(1 for block in blocks if forbidding(side(block))) for side in _SIDES]
    if abs(lost[0] - lost[1]) >= ONE_SIDED:
        invalid = own[0] if lost[0] > lost[1] else own[1]
    elif sum(1 for block in blocks if block.why is not None) <= SPOILED_MAX * len(blocks):
        return None
    return usual_failure(invalid)


_SIDES: tuple[Callable[[PairBlock], TrialRecord], ...] = (lambda block: block.a, lambda block: block.b)


def refusal_of(trials: Sequence[TrialRecord]) -> CheckResult | None:
    """The check that forbids a figure: an exact one that failed once, or the most frequent of too many others."""
    failed = [check for trial in trials for check in forbidding(trial)]
    if (exact := exact_failure(failed)) is not None:
        return exact
    invalid = sum(1 for trial in trials if forbidding(trial))
    return usual_failure(failed) if invalid > SPOILED_MAX * len(trials) else None


def exact_failure(failed: Iterable[CheckResult]) -> CheckResult | None:
    """Return the first of the failed exact checks in the order of `EXACT`, where it failed by most; None if none
    failed."""
    exact = [check for check in failed if check.name in EXACT]
    return max(exact, key=lambda check: (-EXACT.index(check.name), check.measured or 0.0), default=None)


def usual_failure(failed: Sequence[CheckResult]) -> CheckResult:
    """The check that failed most often, where its figure is the median; of several the one that
    says what figures mean, or the first in the alphabet.

    At least one must be given.
    """
    counted = Counter(check.name for check in failed)
    name = min(counted, key=lambda name: (-counted[name], name not in OF_MEANING, name))
    ranked = sorted((check for check in failed if check.name == name), key=lambda check: check.measured or 0.0)
    return ranked[len(ranked) // 2]


def _one_process(blocks: Sequence[PairBlock]) -> list[Message]:
    """That the parts of both sides are the same processes under two names, with the same requests."""
    both = [(block.a, block.b) for block in blocks]
    return [message("one_process")] if any(is_one_process(a, b) for a, b in both) else []


def is_one_process(a: TrialRecord, b: TrialRecord) -> bool:
    """Whether the parts of both trials are the same processes under two names."""
    return any(name in a.facts.kinds for name in b.facts.one_process_with)


def _left_out(blocks: Sequence[PairBlock], refusal: CheckResult | None) -> list[Message]:
    left_out = [block for block in blocks if block.why is not None]
    if not left_out or (refusal is not None and refusal.name in EXACT):
        return []
    numbers = {"left_out": len(left_out), "of": len(blocks)}
    if len(left_out) <= NAMED_MAX:
        named = [message("block_left_out", block=block.block, why=block.why) for block in left_out]
        return [message("blocks_left_out", **numbers, blocks=named)]
    counted = Counter(check.name for block in left_out for trial in (block.a, block.b) for check in forbidding(trial))
    checks = [message("check_invalid_in", check=name, trials=times) for name, times in counted.most_common()]
    return [message("blocks_left_out_by", **numbers, checks=checks)]


def _suspect(blocks: Sequence[PairBlock]) -> list[Message]:
    """Suspect trials are used: how many, by which check, and the reason of the first. What bounds them is no doubt."""
    trials = [trial for block in blocks if block.why is None for trial in (block.a, block.b)]
    return counted_reasons(trials, ("suspect",), without=BOUNDS)


def _later(later: Sequence[PairBlock]) -> list[Message]:
    return [message("blocks_after_last_look", blocks=len(later))] if later else []


def published(verdict: Verdict, pair: PairDesign, points: Sequence[BlockPoint] = ()) -> Verdict:
    """The verdict on a pair's primary metric, as the analysis holds it."""
    sides = {"a": _side(verdict.a, pair.a), "b": _side(verdict.b, pair.b)}
    return verdict.model_copy(update={**sides, "points": list(points)})


def exploratory(verdict: Verdict, pair: PairDesign) -> Verdict:
    """The verdict on another metric of a pair: labelled, and without the blocks that the primary one shows."""
    return published(verdict, pair).model_copy(update={"role": "exploratory"})


def by_cost(found: Verdict, pair: PairDesign) -> Verdict:
    """The verdict on what a request costs a part."""
    return published(found, pair).model_copy(update={"role": "cost"})


def _side(side: Side, condition: Condition) -> Side:
    return side.model_copy(update={"condition": condition})


def block_points(blocks: Sequence[PairBlock], metric: str, *, ratios: bool) -> list[BlockPoint]:
    """Every block with the figures of the metric; an invalid trial has none. Without `ratios` no ratio is given.

    A quantile of merged histograms uses blocks that are too short to have it by themselves.
    """
    return [_point(block, metric, ratios=ratios) for block in sorted(blocks, key=lambda block: block.block)]


def _point(block: PairBlock, metric: str, *, ratios: bool) -> BlockPoint:
    a, b = (_usable_figure(trial, metric) for trial in (block.a, block.b))
    known = bool(a and b)
    why = block.why if block.why or known or tail_of(metric) else message("block_without_figure")
    return BlockPoint(
        block=block.block,
        trial_a=block.a.trial,
        trial_b=block.b.trial,
        a=a,
        b=b,
        log_ratio=math.log(b / a) if ratios and a and b else None,
        used=why is None,
        why=why,
    )


def _usable_figure(trial: TrialRecord, metric: str) -> float | None:
    return None if forbidding(trial) else figure(trial, metric)
