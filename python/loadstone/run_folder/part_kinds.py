"""What the parts of a trial are: the kind that the record of each carries, and what is declared of it."""

from collections.abc import Collection, Mapping
from types import MappingProxyType

from loadstone.experiment.software import SOFTWARE
from loadstone.monitors import catalogue
from loadstone.monitors.part_kind import UNKNOWN, PartKind
from loadstone.run_folder.facts import DRIVER, HOST, LINK, TrialFacts, owner_of

SUBJECT = "subject"


def kinds_of(
    software: Mapping[str, str],
    subjects: Collection[str],
    lines: Collection[str] = (),
    machines: Collection[str] = (),
    behind: Mapping[str, str] = MappingProxyType({}),
) -> dict[str, str]:
    """Part -> its kind.

    Args:
        software: server -> the software that it is, as its control has it.
        subjects: the names of the subjects.
        lines: the parts that are lines to servers.
        machines: the parts that are machines, beside this one.
        behind: the parts behind subjects that are watched only -> their kinds.
    """
    parts = {**dict.fromkeys(subjects, SUBJECT), **dict.fromkeys(lines, LINK)}
    return {**dict.fromkeys((HOST, *machines), "host"), DRIVER: "driver", **software, **behind, **parts}


def declared(kind: str | None) -> PartKind:
    """What is declared of a kind; of one that is not known nothing is."""
    return catalogue.PART_KINDS.get(kind or "", UNKNOWN)


def declared_of(part: str, kinds: Mapping[str, str]) -> PartKind:
    """What is declared of a part, by these kinds."""
    return declared(kinds.get(owner_of(part, kinds) or ""))


def stores_of(facts: TrialFacts) -> list[str]:
    """The stores of a trial, by their names in the experiment."""
    return [name for name, kind in facts.kinds.items() if declared(kind).store]


def has_counters(server: str, kinds: Mapping[str, str]) -> bool:
    """Whether the record of a trial keeps the server's own counters of before and after the drive."""
    software = SOFTWARE.get(kinds.get(server, ""))
    return software is not None and software.has_counters
