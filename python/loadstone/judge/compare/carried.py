"""Whether something reaches from one slice of a group into the next; then its blocks give no verdict.

Where nothing does, a difference of processes that were started once must be steady, too (`steadiness.py`).

Three things are looked at: the slices after another condition's against those after their own, over all conditions; the
same for a pair that is about to be called different, since that may be claimed long before the first is sure; and what
a condition's own parts do while it is paused: what strikes all conditions alike in the long run, such as an fsync every
second or a checkpoint, leaves no trace in the order of the slices, but it uses CPU, and the driver reads it.

What that does to the level of the verdicts: a look that warns takes verdicts away and gives none, so in equal
conditions false ones become no more often where nothing carries over. The check warns by chance in `CARRY_ALPHA` of the
runs, that of the pairs in as many of the claims; both go on with longer slices, from fresh rounds and with looks of
their own. So of 100 runs whose stages each mislead at most 5 times, at most 5 + .01 x 5 + .01^2 x 5 + ... = 5.06 do
(`bench/judge/lengthening.py` simulates it).
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from loadstone.drivers.slices import Slice
from loadstone.experiment.spec.levels import identity
from loadstone.judge.checks.accounting import errors
from loadstone.judge.compare import pair_checks
from loadstone.judge.compare.blocks import GroupBlocks
from loadstone.judge.compare.cases import GroupCase, JudgedPair
from loadstone.judge.compare.contrasts import JudgedContrast
from loadstone.judge.compare.pairs import EXACT
from loadstone.judge.compare.round_figures import SlicesInTime, slices_in_time, slices_of
from loadstone.judge.compare.steadiness import unsteady
from loadstone.judge.statistics.decision import doubted, not_steady, without_verdict
from loadstone.judge.statistics.rounds.carry_over import (
    CARRY_ALPHA,
    Bias,
    CarryOver,
    carry_over,
    may_be_carried,
    weighted_bias,
)
from loadstone.judge.statistics.settings import Settings
from loadstone.judge.verdict import Verdict
from loadstone.run_folder.trial import CheckResult, TrialRecord
from loadstone.text.message import Message, message

PAUSED_MAX = 0.05
"""J: of the CPU time a second that a condition's own parts use in their slices. An idle Redis uses .002 of it."""
NOT_OF_SLICES = (*EXACT, errors.name)
"""Checks that fail however long slices are. What others find may be due to what reaches over, such as operations that
wait for its end."""


class JudgedGroup(NamedTuple):
    """The pairs and effects of a group with their verdicts, and what was found of its slices."""

    judged: list[JudgedPair]
    contrasts: list[JudgedContrast]
    check: CheckResult | None = None
    """None of a group in whole trials."""
    carried: Message | None = None
    """What reached from one slice into the next, and by how much; None where nothing did."""


class _Claim(NamedTuple):
    """A verdict, and how much each condition counts for it."""

    verdict: Verdict
    settings: Settings
    weights: Mapping[str, float]
    """Identity of a condition -> its weight."""


def apply_carry_over_check(
    case: GroupCase, judged: Sequence[JudgedPair], contrasts: Sequence[JudgedContrast] = ()
) -> JudgedGroup:
    """Pairs and effects as judged; where something carries over, none has a verdict but INVALID by `NOT_OF_SLICES`."""
    if case.design.rounds is None:
        return JudgedGroup(list(judged), list(contrasts))
    claims = [
        *map(_of_pair, judged),
        *(_Claim(contrast.verdict, contrast.settings, contrast.weights) for contrast in contrasts),
    ]
    verdicts, check, why = _verdicts(case, claims)
    return JudgedGroup(
        [(pair, evidence, found) for (pair, evidence, _), found in zip(judged, verdicts, strict=False)],
        [replace(one, verdict=found) for one, found in zip(contrasts, verdicts[len(judged) :], strict=True)],
        check,
        why,
    )


def _of_pair(judged: JudgedPair) -> _Claim:
    pair, _, verdict = judged
    return _Claim(verdict, pair.settings, {identity(pair.design.a): -1.0, identity(pair.design.b): 1.0})


def _verdicts(case: GroupCase, claims: Sequence[_Claim]) -> tuple[list[Verdict], CheckResult, Message | None]:
    """The verdicts that hold beside what carries over, the check on that, and what it is."""
    slices = slices_in_time(case.blocks, case.judged, case.design.metric)
    carried = _of_all(case, slices)
    biases = [_of_claim(slices, claim) for claim in claims]
    sure = [bias for bias in biases if bias is not None and bias.p_value < CARRY_ALPHA]
    share = _busiest_while_paused(case.blocks, case.judged)
    if carried is not None and carried.warn:
        check, shift = pair_checks.carry_over(carried.p_value, carried.alpha, carried.largest), carried.largest
    elif sure:
        likeliest = min(sure, key=lambda bias: bias.p_value)
        check, shift = pair_checks.carry_over(likeliest.p_value, CARRY_ALPHA, likeliest.log_ratio), likeliest.log_ratio
    elif share is not None and share > PAUSED_MAX:
        check, shift = pair_checks.paused_parts(share, PAUSED_MAX), None
    else:
        check = pair_checks.no_carry_over(*(None, CARRY_ALPHA) if carried is None else (carried.p_value, carried.alpha))
        waiting = [_waiting(case, slices, *both) for both in zip(claims, biases, strict=True)]
        return [_steady(case, *both) for both in zip(claims, waiting, strict=True)], check, None
    why = message("carried_into_slices", shift=shift) if shift is not None else message("carried_by_cpu", share=share)
    return [_without(claim, why, case.design.longer_s) for claim in claims], check, why


def _of_all(case: GroupCase, slices: SlicesInTime) -> CarryOver | None:
    """Return the carry-over of all conditions, by the rates of slices and, where the driver counted those, by how they
    change within slices.

    Both share the level, over all looks.
    """
    looks = len(case.design.looks) if case.design.sequential else 1
    if slices.log_halves is None:
        return carry_over(slices.conditions, slices.log_rates, checks=looks)
    rates = carry_over(slices.conditions, slices.log_rates, checks=2 * looks)
    halves = carry_over(slices.conditions, slices.log_halves, checks=2 * looks, drifting=False)
    return halves if rates is None or (halves is not None and halves.warn and not rates.warn) else rates


def _of_claim(slices: SlicesInTime, one: _Claim) -> Bias | None:
    """What carries over for what is called different, in the direction of its claim; or for what is INVALID, which may
    be due to that."""
    verdict = one.verdict
    if verdict.kind not in ("faster", "mixed", "invalid") or not one.weights or _is_not_of_slices(verdict):
        return None
    weights = {slices.names.index(condition): weight for condition, weight in one.weights.items()}
    statistics = [slices.log_rates, *([] if slices.log_halves is None else [slices.log_halves])]
    return weighted_bias(slices.conditions, statistics, weights, claim=verdict.estimate)


def _waiting(case: GroupCase, slices: SlicesInTime, one: _Claim, bias: Bias | None) -> Verdict:
    """The verdict, undecided where its difference would not stand without what may carry over."""
    verdict, low, high = one.verdict, one.verdict.low, one.verdict.high
    if verdict.kind not in ("faster", "mixed") or low is None or high is None:
        return verdict
    pairs = sum(map(abs, one.weights.values())) / 2
    still = max(low, -high) < pairs * case.carried_before
    explained = still or (bool(one.weights) and may_be_carried(bias, low, high, len(slices.names)))
    return doubted(verdict, one.settings) if explained else verdict


def _steady(case: GroupCase, one: _Claim, verdict: Verdict) -> Verdict:
    """The verdict, undecided where processes that were started once were not steady yet, or had too little CPU."""
    why = unsteady(case, verdict, one.weights)
    return verdict if why is None else not_steady(verdict, why)


def _is_not_of_slices(verdict: Verdict) -> bool:
    return verdict.refusal is not None and verdict.refusal.name in NOT_OF_SLICES


def _without(one: _Claim, why: Message, longer_s: float | None) -> Verdict:
    if _is_not_of_slices(one.verdict):
        return one.verdict
    minutes = None if longer_s is None else longer_s / 60
    return without_verdict(why, one.verdict.blocks, one.settings, minutes)


def _busiest_while_paused(group: GroupBlocks, judged: Sequence[int]) -> float | None:
    """The largest share, over the conditions; None where no condition has parts of its own, as where one process is on
    both sides."""
    by_condition: dict[str, list[TrialRecord]] = {}
    for block in judged:
        for condition, trial in group.trials[block].items():
            if not trial.facts.one_process_with:
                by_condition.setdefault(condition, []).append(trial)
    slices = [[turn for trial in trials for turn in slices_of(trial).values()] for trials in by_condition.values()]
    shares = [_paused_share(of_condition) for of_condition in slices]
    return max((share for share in shares if share is not None), default=None)


def _paused_share(slices: Sequence[Slice]) -> float | None:
    """CPU a second while paused over that within the windows."""
    paused_s = paused_cpu_s = window_s = window_cpu_s = 0.0
    for one in slices:
        own = [part for part in one.parts.values() if part.paused_cpu_s is not None]
        if own and one.paused_s:
            paused_s += one.paused_s
            paused_cpu_s += sum(part.paused_cpu_s or 0.0 for part in own)
            window_s += one.end_s - one.begin_s
            window_cpu_s += sum(part.cpu_s or 0.0 for part in own)
    if not paused_s or not window_s or not window_cpu_s:
        return None
    return (paused_cpu_s / paused_s) / (window_cpu_s / window_s)
