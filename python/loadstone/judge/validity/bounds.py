"""How wrong the rate may be at most: by the generator, and by what others took of the CPUs."""

from collections.abc import Mapping
from math import inf

from loadstone.judge.validity.check import Finding, Limit, Measured, Unknown, check
from loadstone.judge.validity.cpus import server_cpus
from loadstone.judge.validity.evidence import TrialEvidence
from loadstone.judge.validity.gain import AT_THE_DISK, limits_of
from loadstone.judge.verdict import up_to
from loadstone.message import message
from loadstone.plan.at_rate import AT_RATE_GROUP
from loadstone.record.facts import OTHERS
from loadstone.software.metric import PROGRAM

GAIN = Limit(10, inf, "%", "J: the figure is printed with its bound, and a comparison's interval is widened by it")
TAKEN = Limit(10, inf, "%", "J: the figure is printed with its bound")
FAR = 50.0
"""J: in per cent. With a bound beyond that a comparison is as wide as a rate that could be half as high again."""

TAKEN_AT_RATE = "check.taken.at_rate"

NAMED = 0.02
"""A program that took less of a CPU is not named."""
NAMES_SHOWN = 3
"""So many of the other programs are named, those that took most."""


@check(GAIN, about="rate", formerly=("generator_cpu", "generator_ceiling"))
def gain(evidence: TrialEvidence) -> Finding | None:
    """How much more the same system would do at most with a generator that costs nothing.

    A client library that makes the load is part of what is measured, and so is any driver that is compared with another
    one: its cost is no error of the figure.
    """
    if evidence.open is not None:
        return None
    found = limits_of(evidence)
    if found.round_trip:
        return None
    if evidence.client is not None:
        why = message("check.gain.client", library=evidence.client, generator=found.generator)
        return Unknown(why, None if found.gain is None else round(100 * found.gain, 6))
    if found.gain is None:
        return Unknown(message("check.gain.not_observed"))
    disk = {"disk": found.disk} if found.disk >= AT_THE_DISK else {}
    reason = message(
        "check.gain.bound", generator=found.generator, server=found.server, bound=up_to(found.gain), **disk
    )
    return Measured(100 * found.gain, reason)


@check(TAKEN, about="rate", formerly=("generator_wait", "server_wait", "steal"))
def taken(evidence: TrialEvidence) -> Finding | None:
    """How much more the same system would do at most had neighbours and other programs taken nothing.

    At a fixed rate that was kept it would do no more: the rate was set. What others took is in the latencies then, and
    doubts them alone.
    """
    if evidence.trial.group == AT_RATE_GROUP:
        return None
    found, cpus = limits_of(evidence), server_cpus(evidence)
    if found.taken is None or cpus is None:
        return Unknown(message("check.taken.not_observed"))
    beside = {name: figure.avg for name, figure in evidence.facts.seen.get(OTHERS, {}).items() if figure.avg >= NAMED}
    named = {name: cores for name, cores in beside.items() if not name.startswith(PROGRAM)}
    single = _most(beside)
    stolen = cpus.stolen if cpus.stolen >= NAMED else 0.0
    if evidence.kept_rate:
        reason = message("check.taken.at_rate", programs=named, single=single, stolen=stolen)
        return Measured(min(100 * found.taken, TAKEN.invalid), reason)
    reason = message("check.taken.bound", programs=named, single=single, stolen=stolen, bound=up_to(found.taken))
    return Measured(100 * found.taken, reason)


def _most(beside: Mapping[str, float]) -> dict[str, float]:
    """The other programs that took most, by their names; empty in a folder of before, which has none."""
    found = {name.removeprefix(PROGRAM): cores for name, cores in beside.items() if name.startswith(PROGRAM)}
    return dict(sorted(found.items(), key=lambda one: -one[1])[:NAMES_SHOWN])
