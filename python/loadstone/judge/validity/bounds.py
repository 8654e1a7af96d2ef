"""How wrong the rate may be at most: by the generator, and by what others took of the CPUs."""

from loadstone.judge.validity import limits
from loadstone.judge.validity.cpus import server_cpus
from loadstone.judge.validity.evidence import TrialEvidence
from loadstone.judge.validity.gain import limits_of
from loadstone.judge.validity.result import unknown, within
from loadstone.judge.verdict import UNBOUNDED
from loadstone.record.facts import OTHERS
from loadstone.record.trial import CheckResult

NAMED = 0.02
"""A program that took less of a CPU is not named."""


def gain(evidence: TrialEvidence) -> CheckResult | None:
    """How much more the same system would do at most with a generator that costs nothing."""
    if evidence.open is not None:
        return None
    found = limits_of(evidence)
    if found.round_trip:
        return None
    if found.gain is None:
        return unknown("gain", limits.GAIN, "Neither the generator's CPU nor the server's could be observed.")
    generator = "an unknown share" if found.generator is None else f"{found.generator:.0%}"
    server = "an unknown share" if found.server is None else f"{found.server:.0%}"
    reason = (
        f"The generator used {generator} of its time and the server's side {server}: with a generator that costs "
        f"nothing {_up_to(found.gain)}."
    )
    return within("gain", 100 * found.gain, limits.GAIN, reason)


def taken(evidence: TrialEvidence) -> CheckResult:
    """How much more the same system would do at most had neighbours and other programs taken nothing."""
    found, cpus = limits_of(evidence), server_cpus(evidence)
    if found.taken is None or cpus is None:
        return unknown("taken", limits.TAKEN, "What others took of the CPUs could not be observed.")
    reason = f"{_who(evidence, cpus.stolen)} used the CPUs of this condition: without them {_up_to(found.taken)}."
    return within("taken", 100 * found.taken, limits.TAKEN, reason)


def _up_to(share: float) -> str:
    return (
        "no upper limit of the rate is known" if share >= UNBOUNDED else f"the rate could be up to {share:.0%} higher"
    )


def _who(evidence: TrialEvidence, stolen: float) -> str:
    """Who took it, the largest first; `stolen`: by other machines."""
    named = evidence.facts.seen.get(OTHERS, {})
    found = [(figure.avg, f"{name} {figure.avg:.2f} CPU") for name, figure in named.items() if figure.avg >= NAMED]
    if stolen >= NAMED:
        found.append((stolen, f"other machines on this host {stolen:.2f}"))
    return ", ".join(text for _, text in sorted(found, reverse=True)) or "Other programs"
