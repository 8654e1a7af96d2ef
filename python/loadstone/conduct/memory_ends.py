"""Whether the kernel's OOM killer ended something of a trial's parts, and how a part ended that is gone."""

from collections.abc import Mapping
from dataclasses import dataclass

from loadstone.deploy.deployed import Ready
from loadstone.deploy.processes.endings import Examinable, oom_kills_of_machine


@dataclass(frozen=True)
class OomKills:
    """What the OOM killer had ended at one moment."""

    parts: Mapping[str, int]
    """`server NAME` or `subject NAME` -> processes of it; without those that no one counts."""
    machine: int | None
    """On the whole machine; None where it is not counted."""


def count_oom_kills(ready: Ready) -> OomKills:
    """The counts now."""
    counted = {label: part.oom_kills() for label, part in _parts(ready).items()}
    return OomKills({label: count for label, count in counted.items() if count is not None}, oom_kills_of_machine())


def killed_for_memory(ready: Ready, before: OomKills) -> str | None:
    """The part of which the OOM killer ended a process since; None if it ended none, or no one counts."""
    for label, count in count_oom_kills(ready).parts.items():
        ended = count - before.parts.get(label, 0)
        if ended > 0:
            processes = "a process" if ended == 1 else f"{ended} processes"
            return (
                f"{label}: the kernel's OOM killer ended {processes} of it, which needed more memory than its limit "
                "allows (oom_kill of its control group); raise limits.memory, or give it less data"
            )
    return None


def how_it_ended(ready: Ready, label: str, before: OomKills) -> str:
    """What is known of the end of a part, to follow `died during the trial`; empty if nothing is."""
    part = _parts(ready).get(label)
    ending = part.how_it_ended() if part is not None else ""
    now = oom_kills_of_machine()
    if ending and now is not None and before.machine is not None and now > before.machine:
        ending += f"; the kernel's OOM killer ended {now - before.machine} on this machine meanwhile: memory ran out"
    return f": {ending}" if ending else ""


def _parts(ready: Ready) -> dict[str, Examinable]:
    parts: dict[str, object] = {f"server {name}": one.server for name, one in ready.servers.items()}
    parts |= {f"subject {name}": one.subject for name, one in ready.subjects.items()}
    return {label: part for label, part in parts.items() if isinstance(part, Examinable)}
