"""What a request costs in two runs. No round holds both, so what the machine did in between is in the interval.

Four things widen the interval of both runs: each has servers of its own start (`RUN_SD`), the machine was slower or
faster by its own probe, other programs had its CPUs (`NEIGHBOURS`), and a part was idle (`IDLE`). The probe widens it
on the side to which it pushes alone. The others widen it on both: equal shares cost more or less by what they do.
"""

import math
from collections.abc import Sequence
from statistics import NormalDist, median

from loadstone.experiment.spec.experiment import COST_MARGIN
from loadstone.judge.cost import costs_of
from loadstone.judge.statistics.decision import not_steady, verdict_of
from loadstone.judge.statistics.pair_evidence import Evidence
from loadstone.judge.statistics.settings import Settings
from loadstone.judge.verdict import COST, CpuCost, Verdict
from loadstone.run_folder.facts import OTHERS
from loadstone.run_folder.trial import TrialRecord
from loadstone.text.message import message

RUN_SD = 0.04
"""Standard deviation of ln(cost) from run to run of one condition on one machine: .026 and .032 over eight runs beside
the same programs. With .04 five of 404 pairs of equal conditions, each judged alone, were called different (with .03
twelve), in four further runs beside unlike programs. More than `RATIO_SD`: what moves both conditions of a run alike
leaves their ratio."""
NEIGHBOURS = 0.3
"""Most that other programs raise ln(cost), for each share of the machine's CPUs that they took: beside programs that
took 76 % and 14 % of two CPUs, costs were 10 % apart in the median of 48 conditions. And of one Redis with two users,
beside programs that took 70 % in both runs, 26 %; of one at a rate 40 %."""
IDLE = 1.5
"""Difference of runs in ln(cost), for the square of the share of a CPU that a part left idle: each request wakes it,
and what that costs is the machine's. Of three equal runs on one virtual machine within an hour, 18 conditions with one
worker (busy .39) were .44 apart in the median, at most .76; busy .65 .13 to .19, .77 .09, .8 to .86 .02 to .04."""
_95 = NormalDist().inv_cdf(0.975)
_PROGRAMS = "other programs"
"""As the monitor of what runs beside a condition calls all of them together."""


def compare_costs_of_runs(
    a: Sequence[TrialRecord], b: Sequence[TrialRecord], cpus: int, settings: Settings
) -> list[Verdict]:
    """Which run's requests of one condition cost each part less, the dearest part first; of parts with an interval.

    Args:
        a: the usable trials of the first run.
        b: those of the second.
        cpus: how many the machine has.
        settings: of the primary metric; its level, its pairs and its names count.
    """
    of_a, of_b = costs_of(a) if a else {}, costs_of(b) if b else {}
    blocks, pushes = min(len(a), len(b)), (_slower(a, b), NEIGHBOURS * max(_others(a), _others(b)) / max(1, cpus))
    found = [
        _verdict(
            name, (of_a[name], of_b[name]), (*pushes, max(_idle(a, of_a[name]), _idle(b, of_b[name]))), blocks, settings
        )
        for name in of_a.keys() & of_b.keys()
        if _half(of_a[name]) is not None and _half(of_b[name]) is not None
    ]
    return sorted(found, key=lambda verdict: -(verdict.a.typical or 0.0))


def _verdict(
    part: str, costs: tuple[CpuCost, CpuCost], pushes: tuple[float, float, float], blocks: int, settings: Settings
) -> Verdict:
    by = Settings(
        metric=f"{COST}{part}",
        larger_is_faster=False,
        margin=COST_MARGIN,
        alpha=settings.alpha,
        pairs=settings.pairs,
        names=settings.names,
        quick=settings.quick,
    )
    z = NormalDist().inv_cdf(1 - by.interval_alpha / 2)
    halves = [(_half(cost) or 0.0) / _95 for cost in costs]
    reach = z * math.hypot(*halves, RUN_SD, RUN_SD)
    estimate = math.log(costs[1].ns / costs[0].ns)
    slower, others, idle = pushes
    either = others + IDLE * idle**2
    down, up = max(0.0, slower) + either, max(0.0, -slower) + either
    evidence = Evidence(
        blocks=blocks,
        estimate=estimate,
        low=estimate - reach - down,
        high=estimate + reach + up,
        p_value=2 * (1 - NormalDist().cdf(abs(estimate) * z / reach)),
        spread=None,
        outliers=False,
        stalls_a=0,
        stalls_b=0,
        total=estimate,
        guard=True,
        typical=(costs[0].ns, costs[1].ns),
    )
    found = verdict_of(evidence, by).model_copy(update={"more_minutes": None})
    if found.kind == "undecided" and abs(estimate) > reach:
        return not_steady(found, message("cost_of_runs_apart", slower=slower, others=others / NEIGHBOURS, idle=idle))
    return found


def _half(cost: CpuCost) -> float | None:
    """Half of its 95 % interval, as a logarithm."""
    if cost.low_ns is None or cost.high_ns is None or cost.low_ns <= 0:
        return None
    return math.log(cost.high_ns / cost.low_ns) / 2


def _idle(trials: Sequence[TrialRecord], cost: CpuCost) -> float:
    """Return the share of the time in which one CPU did nothing for the part; 0 if the part has more than one."""
    return max(0.0, 1 - cost.ns * 1e-9 * median(trial.goodput_per_s for trial in trials))


def _slower(a: Sequence[TrialRecord], b: Sequence[TrialRecord]) -> float:
    """Return by how much the machine was slower in the second run, as a logarithm: the piece of work that is timed on
    each CPU around every trial."""
    times_a, times_b = _times(a), _times(b)
    ratios = [math.log(median(times_b[cpu]) / median(times_a[cpu])) for cpu in times_a.keys() & times_b.keys()]
    return median(ratios) if ratios else 0.0


def _times(trials: Sequence[TrialRecord]) -> dict[str, list[float]]:
    times: dict[str, list[float]] = {}
    for trial in trials:
        for cpu, both in trial.facts.speed.items():
            times.setdefault(cpu, []).extend(time for time in both if time > 0)
    return {cpu: found for cpu, found in times.items() if found}


def _others(trials: Sequence[TrialRecord]) -> float:
    """CPUs that other programs took, on average over the trials."""
    seen = [trial.facts.seen.get(OTHERS, {}).get(_PROGRAMS) for trial in trials]
    return sum(one.avg for one in seen if one is not None) / max(1, len(seen))
