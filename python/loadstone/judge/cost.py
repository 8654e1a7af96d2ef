"""What a request costs: the CPU time that each part takes for one correct reply, called service demand.

A rate is a property of the server, the client and the round trip together. What a server pays for a request is its own:
D = U / X, the utilisation law (Denning & Buzen, The operational analysis of queueing network models, 1978). So two
conditions may be told apart by what they cost where the generator, the round trip or a neighbour hides which is faster.

A cost depends on the load, since busy servers answer several requests for one waking up: both conditions of a pair have
the same. Its interval is that of the next run: see `RATIO_SD`. Limits: docs/cost.md; figures: docs/proofs.md.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from statistics import NormalDist, median
from typing import TypeGuard

import numpy as np

from loadstone.drivers.slices import Slice
from loadstone.judge.compare.pairs import Pair, PairBlock
from loadstone.judge.compare.round_figures import slices_of
from loadstone.judge.compare.steadiness import RISE_MIN, SHIFT_MIN, lead_of, may_explain
from loadstone.judge.statistics.decision import not_steady, verdict_of
from loadstone.judge.statistics.pair_evidence import Evidence, block_evidence, reaching
from loadstone.judge.statistics.rounds.interference_adjustment import dearer_by_others
from loadstone.judge.statistics.rounds.round_evidence import round_evidence, start_evidence
from loadstone.judge.statistics.rounds.row_rate import are_measured, row_rate
from loadstone.judge.statistics.rounds.slices import PairSlices, log_rates
from loadstone.judge.statistics.settings import Settings
from loadstone.judge.statistics.signed_rank import Floats, typical_interval
from loadstone.judge.statistics.trend import trend
from loadstone.judge.verdict import COST, CpuCost, Verdict
from loadstone.run_folder.facts import DRIVER, HOST, LINK, owner_of
from loadstone.run_folder.part_kinds import SUBJECT, stores_of
from loadstone.run_folder.trial import TrialRecord
from loadstone.text.message import Message, message

RATIO_SD = 0.0135
"""Standard deviation of ln(cost of B / cost of A) from one run to the next: over six pairs of five runs of
json-documents, without what their slices explain. New starts alone do not show it. See docs/proofs.md."""
RATIO_Z = 1.96
"""Standard errors by which the interval reaches beyond that of the slices, in quadrature. Equal conditions have no such
difference: their level is that of the slices."""
LEAST_SHARE = 0.02
"""What takes less of the CPU that a condition used is no part of its cost: a server that stands beside it idle."""
TICKS_FROM_S = 1.0
"""User and system time are told apart by ticks of 10 ms: from so many CPU seconds on that is good to some per cent."""
_NS = 1e9
_DRIVER_KIND = "driver"
_LONGEST_S = 1e12


PartNames = tuple[str, ...]
"""Parts of a record whose CPU is added up: in their order, so that the last digit of the sum is always the same."""


def parts_with_cost(trial: TrialRecord) -> dict[str, PartNames]:
    """Server, application or driver -> the parts of the record whose CPU is its own; see `common_parts`."""
    return {name: parts for name, (parts,) in common_parts([trial]).items()}


def common_parts(trials: Sequence[TrialRecord]) -> dict[str, list[PartNames]]:
    """Server, application or driver -> the parts of the record whose CPU is its own, in each trial.

    Of those that all trials have, and that used a part worth the name of what all used together: one trial in which a
    server was hardly asked does not take its cost from the others. In the order in which a request meets them: client
    library, application, servers.
    """
    each = [_owned(trial) for trial in trials]
    common = [name for name in (each[0] if each else {}) if all(name in parts for parts in each)]
    used_s = {
        name: sum(trial.cpu_s[part] for trial, parts in zip(trials, each, strict=True) for part in parts[name])
        for name in common
    }
    kinds = trials[0].facts.kinds if trials else {}
    common.sort(key=lambda name: (name != DRIVER, kinds.get(name) != SUBJECT))
    least_s = LEAST_SHARE * sum(used_s.values())
    return {name: [parts[name] for parts in each] for name in common if used_s[name] >= least_s}


def _owned(trial: TrialRecord) -> dict[str, PartNames]:
    """Those of the machine, of lines, of loadstone itself and of servers that stand beside it idle are none. The
    generator is one where it is a program with a client library: that is measured then. Of a cluster the nodes count.
    None where the parts are those of another condition under other names: then no CPU is one side's.
    """
    names = {name for name, kind in trial.facts.kinds.items() if kind not in (HOST, LINK, _DRIVER_KIND)}
    names = set() if trial.facts.one_process_with else names
    found: dict[str, set[str]] = {}
    for part in trial.cpu_s:
        if (owner := owner_of(part, names)) is not None:
            found.setdefault(owner, set()).add(part)
    costs = {owner: _processes(owner, parts) for owner, parts in sorted(found.items())}
    if trial.facts.drive is not None and trial.facts.drive.program is not None and DRIVER in trial.cpu_s:
        costs[DRIVER] = (DRIVER,)
    return costs


def _processes(owner: str, parts: set[str]) -> PartNames:
    """The parts of an owner whose CPU is added up, each process once: of a cluster its nodes, without what they report
    together under its name; a primary and its replicas; of an application without its workers, who are in its tree."""
    alone = {part for part in parts if "-worker-" not in part.removeprefix(owner)} or parts
    nodes = {part for part in alone if part.removeprefix(f"{owner}-").isdecimal()}
    return tuple(sorted(alone - {owner} if nodes else alone))


def costs_of(trials: Sequence[TrialRecord]) -> dict[str, CpuCost]:
    """What a correct reply of a condition cost each part, over its trials; parts that one of them lacks are left out.

    From slices where all trials were measured in turns, else from whole trials. What the driver did not observe in
    slices has no cost: its CPU is known for all conditions together that take turns. In the order of `common_parts`.
    """
    costs = {name: _cost(trials, [parts]) for name, parts in common_parts(trials).items()}
    return {name: cost for name, cost in costs.items() if cost is not None}


def whole_cost(trials: Sequence[TrialRecord], costs: Mapping[str, CpuCost]) -> CpuCost | None:
    """What a correct reply cost all parts of `costs_of` together, with the interval of their sum; None for no part."""
    if len(costs) <= 1:
        return next(iter(costs.values()), None)
    parts = common_parts(trials)
    return _cost(trials, [parts[name] for name in costs])


def _cost(trials: Sequence[TrialRecord], owners: Sequence[Sequence[PartNames]]) -> CpuCost | None:
    """The cost of owners together, each given by its parts in each trial; None where they were not observed."""
    in_turns = all(map(slices_of, trials))
    each = list(zip(trials, zip(*owners, strict=True), strict=True))
    of_slices = [figures for trial, parts in each if (figures := _of_slices(trial, parts)) is not None]
    if len(of_slices) < len(trials):
        return None
    figures = list(chain(*of_slices)) if in_turns else [_together(trial, parts) for trial, parts in each]
    spent_ns, replies = (np.array(values, dtype=np.float64) for values in zip(*figures, strict=True))
    if not are_measured(spent_ns, replies) or not (in_turns or spent_ns.all()):  # it may not have run in a slice
        return None
    whose = {
        name: _NS * float(sum(seconds)) / float(replies.sum()) if _is_known(seconds) else None
        for name, seconds in _apart(each).items()
    }
    if spent_ns.sum() < _NS * TICKS_FROM_S:
        whose["system_ns"] = None
    return CpuCost(ns=float(spent_ns.sum() / replies.sum()), **_ends(spent_ns, replies, in_turns), **whose)


def _is_known(seconds: Sequence[float | None]) -> TypeGuard[Sequence[float]]:
    return None not in seconds and 0 <= sum(s for s in seconds if s is not None) <= _LONGEST_S


def _apart(each: Sequence[tuple[TrialRecord, Sequence[PartNames]]]) -> dict[str, list[float | None]]:
    """CPU seconds of the main thread, in the kernel, and of children, of every trial and part; None: not known."""
    found = [(trial, trial.facts.parts.get(part)) for trial, owners in each for parts in owners for part in parts]
    of = {
        name: [None if one is None or (share := getattr(one, field)) is None else share * trial.duration_s
               for trial, one in found]
        for name, field in (("main_ns", "main_thread_share"), ("system_ns", "system_share"))
    }  # fmt: skip
    return {**of, "children_ns": [None if one is None else one.children_s for _, one in found]}


def _of_slices(trial: TrialRecord, owners: Sequence[PartNames]) -> list[tuple[float, float]] | None:
    """CPU nanoseconds and correct replies of each slice; None where one of them was not observed."""
    found = []
    for one in slices_of(trial).values():
        spent = [_spent_ns(one, parts) for parts in owners]
        if None in spent:
            return None
        found.append((sum(ns for ns in spent if ns is not None), float(one.ok)))
    return found


def _together(trial: TrialRecord, owners: Sequence[PartNames]) -> tuple[float, float]:
    """CPU nanoseconds of owners together, and correct replies. Raises KeyError where a part was not observed."""
    figures = [_of_trial(trial, parts) for parts in owners]
    return sum(spent for spent, _ in figures), figures[0][1]


def _ends(spent_ns: Floats, replies: Floats, in_turns: bool) -> dict[str, float | None]:
    """The interval of a row that was measured in turns, or of the typical whole trial."""
    if in_turns:
        row = row_rate(spent_ns, replies)
        low, high = row.low, row.high
    else:
        low, high = typical_interval(spent_ns / np.maximum(replies, 1)) or (None, None)
    return {"low_ns": low, "high_ns": high}


def _of_trial(trial: TrialRecord, parts: PartNames) -> tuple[float, float]:
    """CPU nanoseconds, of what the parts started, too, and correct replies. Raises KeyError where a part was not
    observed."""
    spent_s = sum(trial.cpu_s[part] + _children_s(trial, part) for part in parts)
    return _NS * spent_s, trial.replies


def _children_s(trial: TrialRecord, part: str) -> float:
    observed = trial.facts.parts.get(part)
    return 0.0 if observed is None else observed.children_s or 0.0


def _spent_ns(one: Slice, parts: PartNames) -> float | None:
    """CPU nanoseconds of these parts for the replies in a slice's window; None where one of them was not observed.

    That of the whole turn by the share of its replies, where that was read: see `PartSlice.turn_cpu_s`.
    """
    if parts == (DRIVER,):
        return _NS * one.cpu_s
    observed = [one.parts[part] for part in parts if part in one.parts]
    turns, windows = [part.turn_cpu_s for part in observed], [part.cpu_s for part in observed]
    share = one.ok / one.turn_ok if one.turn_ok and None not in turns else 0.0
    spent = [seconds for seconds in (turns if share else windows) if seconds is not None]
    return _NS * (share or 1.0) * sum(spent) if len(spent) == len(parts) else None


def compare_costs(pair: Pair) -> list[Verdict]:
    """Which condition of a pair costs each part less, of the parts that both have, the dearest first; none where a
    check forbids it.

    Where the two are meant as they are here and now, in turns beside whoever else is on the machine, their slices stay
    as they are; else what others added is taken off, and the interval is that of the next run.
    """
    if pair.refusal is not None or not pair.used:
        return []
    in_turns = all(slices_of(trial) for block in pair.used for trial in (block.a, block.b))
    costs = []
    compared = list(_common(pair.used[0]))
    for name, of_a, of_b in compared:
        settings = _settings(name, pair.settings, len(compared))
        others = NO_OTHERS
        try:
            turns = [_in_turns(block, of_a, of_b) for block in pair.used] if in_turns else []
            slices = [turn.slices for turn in turns]
            if in_turns and settings.compares_runs:
                slices, others = without_others(turns)
            evidence = _of_turns(slices, settings) if in_turns else _of_trials(pair.used, of_a, of_b, settings)
        except (KeyError, ValueError, ZeroDivisionError):  # a part was not observed, or did not work
            continue
        if evidence.estimate is not None:
            reach = reach_of(others, settings, runs=settings.compares_runs)
            verdict = verdict_of(wider(evidence, reach), settings)
            why = _doubt(verdict, slices)
            costs.append(verdict if why is None else not_steady(verdict, why))
    return sorted(costs, key=lambda verdict: -(verdict.a.typical or 0.0))


def _of_turns(turns: Sequence[PairSlices], settings: Settings) -> Evidence:
    if settings.unit == "block":
        return start_evidence(turns, settings)
    return round_evidence(PairSlices.joined(turns), settings)


def _of_trials(blocks: Sequence[PairBlock], of_a: PartNames, of_b: PartNames, settings: Settings) -> Evidence:
    pairs = [(_of_trial(block.a, of_a), _of_trial(block.b, of_b)) for block in blocks]
    if not all(are_measured(*np.array(side).reshape(2, 1)) for sides in pairs for side in sides):
        raise ValueError("a part did not work, or nothing was answered")
    a, b = ([spent / replies for spent, replies in side] for side in zip(*pairs, strict=True))
    return replace(block_evidence(a, b, settings), typical=(median(a), median(b)))


def _doubt(verdict: Verdict, turns: Sequence[PairSlices]) -> Message | None:
    """Why a difference is none yet: all slices together do not agree; or processes that were started once still got
    cheaper from round to round, or their ratio moved, by so much that this may be all of it (see `steadiness`)."""
    if verdict.kind == "mixed":
        return message("cost_mixed")
    if not turns or not verdict.started_once or verdict.low is None or verdict.high is None:
        return None
    slices, lead = PairSlices.joined(turns), lead_of(verdict)
    sides = (log_rates(slices.done_a, slices.seconds_a), log_rates(slices.done_b, slices.seconds_b))
    fall, shift = max(-(trend(side) or 0.0) for side in sides), abs(trend(slices.log_ratios) or 0.0)
    moves = may_explain(fall, RISE_MIN, lead) or may_explain(shift, SHIFT_MIN, lead)
    return message("cost_moving", moved=max(fall, shift)) if moves else None


def _settings(part: str, settings: Settings, parts: int) -> Settings:
    """Return the settings by which the cost of one of so many parts is judged: together they have the level of the
    rate.

    Both misled together in 1.7 of 100 families at most, on recorded slices (`scripts/bench cost-level`).
    """
    return replace(
        settings,
        metric=f"{COST}{part}",
        larger_is_faster=False,
        margin=settings.cost_margin,
        alpha=settings.alpha / parts,
        rate_per_s=None,
    )


def _common(block: PairBlock) -> Iterator[tuple[str, PartNames, PartNames]]:
    """The parts that both conditions have, by name; and of what is left the one store of each, and the one
    application."""
    a, b = parts_with_cost(block.a), parts_with_cost(block.b)
    for name in sorted(a.keys() & b.keys()):
        yield name, a.pop(name), b.pop(name)
    kinds = (("store", _stores), ("application", _applications))
    for role, named in kinds:
        of_a, of_b = (sorted(parts.keys() & named(trial)) for parts, trial in ((a, block.a), (b, block.b)))
        if len(of_a) == len(of_b) == 1:
            yield role, a[of_a[0]], b[of_b[0]]


def _stores(trial: TrialRecord) -> set[str]:
    return set(stores_of(trial.facts))


def _applications(trial: TrialRecord) -> set[str]:
    return {name for name, kind in trial.facts.kinds.items() if kind == SUBJECT}


@dataclass(frozen=True)
class Turns:
    """A pair's slices in a block: what was spent for how many replies, and what others used meanwhile."""

    slices: PairSlices
    others_a: Floats
    """Share of the machine's CPUs that others used in each slice of A; NaN where that was not recorded."""
    others_b: Floats


Errors = tuple[float, float]
"""Standard errors of a ratio (ln) by what others on the machine added: by noise, and by what slices cannot tell."""
NO_OTHERS: Errors = (0.0, 0.0)


def without_others(turns: Sequence[Turns]) -> tuple[list[PairSlices], Errors]:
    """The slices of each block, extrapolated to what they would cost without others on the machine, and the errors
    that this gives the ratio. As they are where that was not recorded."""
    a, b = (np.concatenate([getattr(turn, side) for turn in turns]) for side in ("others_a", "others_b"))
    if not (np.isfinite(a).all() and np.isfinite(b).all()):
        return [turn.slices for turn in turns], NO_OTHERS
    every = PairSlices.joined([turn.slices for turn in turns])
    found = dearer_by_others(every.log_ratios, a, b)
    freed, begin = [], 0
    for one in (turn.slices for turn in turns):
        here = slice(begin, begin := begin + one.rounds)
        spent = (one.done_a * np.exp(-found.a[here]), one.done_b * np.exp(-found.b[here]))
        freed.append(PairSlices(spent[0], one.seconds_a, spent[1], one.seconds_b))
    return freed, (found.noise, found.unknown)


def _others(trial: TrialRecord, slices: Sequence[Slice]) -> Floats:
    """Share of the machine's CPUs that neither the parts nor the driver used in each slice; NaN where it is unknown."""
    cpus = len(trial.facts.drive.cpus) if trial.facts.drive is not None else 0

    def share(one: Slice) -> float:
        own = [one.cpu_s, *(part.cpu_s for part in one.parts.values())]
        if one.cpus_busy_s is None or not cpus or None in own:
            return math.nan
        used_s = sum(spent for spent in own if spent is not None)
        return min(1.0, max(0.0, (one.cpus_busy_s - used_s) / (cpus * (one.end_s - one.begin_s))))

    return np.array([share(one) for one in slices], dtype=np.float64)


def _in_turns(block: PairBlock, of_a: PartNames, of_b: PartNames) -> Turns:
    """CPU nanoseconds over correct replies in the rounds of a block in which both had some. Raises ValueError."""
    a, b = slices_of(block.a), slices_of(block.b)
    both = [(a[number], b[number]) for number in sorted(a.keys() & b.keys()) if a[number].ok and b[number].ok]
    spent_a, spent_b = [_spent_ns(one, of_a) for one, _ in both], [_spent_ns(one, of_b) for _, one in both]
    if None in spent_a or None in spent_b:
        raise ValueError("a part was not observed in every slice")
    replies = ([one.ok for one, _ in both], [one.ok for _, one in both])
    columns = (spent_a, replies[0], spent_b, replies[1])
    slices = PairSlices(*(np.array(values, dtype=np.float64) for values in columns))
    return Turns(slices, _others(block.a, [one for one, _ in both]), _others(block.b, [one for _, one in both]))


def reach_of(others: Errors, settings: Settings, *, runs: bool = True) -> float:
    """Return how far (ln) the interval reaches beyond that of the slices: by noise at their level, and 95 times in 100
    by what slices cannot tell and, with `runs`, by what runs differ by: not of processes that were started once, which
    alone are compared."""
    noise, unknown = others
    runs = runs and not settings.started_once
    level = NormalDist().inv_cdf(1 - settings.interval_alpha / 2)
    return math.hypot(level * noise, RATIO_Z * unknown, RATIO_Z * RATIO_SD if runs else 0.0)


def wider(evidence: Evidence, reach: float) -> Evidence:
    """With an interval that reaches further by so much (ln): what slices do not show."""
    estimate, low, high = evidence.estimate, evidence.low, evidence.high
    if estimate is None or low is None or high is None or not all(map(math.isfinite, (estimate, low, high))):
        return evidence
    low, high = reaching(estimate, low, high, reach)
    return replace(evidence, low=low, high=high)


def cost_of(costs: Sequence[Verdict]) -> Verdict | None:
    """What a request costs that which is compared: the program with a client library, or the dearest part."""
    client = next((one for one in costs if one.metric == f"{COST}{DRIVER}"), None)
    return client or next(iter(costs), None)
