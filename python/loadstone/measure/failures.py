"""Why a drive failed, or does not count: a part died, or memory or ports ran out."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from loadstone.drivers.outcome import DriveRecord
from loadstone.machine.ports import ports_running_out
from loadstone.machine.processes.endings import HasExitStatus, oom_kills_of_machine
from loadstone.programs.ready import RunningParts


@dataclass(frozen=True)
class OomKillCounts:
    """What the OOM killer had ended at one moment."""

    parts: Mapping[str, int]
    """`server NAME` or `subject NAME` -> processes of it; without those that no one counts."""
    machine: int | None
    """On the whole machine; None where it is not counted."""


def count_oom_kills(ready: RunningParts) -> OomKillCounts:
    """The counts now."""
    counted = {label: part.oom_kills() for label, part in _parts(ready).items()}
    return OomKillCounts(
        {label: count for label, count in counted.items() if count is not None}, oom_kills_of_machine()
    )


def killed_for_memory(ready: RunningParts, before: OomKillCounts) -> str | None:
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


def how_it_ended(ready: RunningParts, label: str, before: OomKillCounts) -> str:
    """What is known of the end of a part, to follow `died during the trial`; empty if nothing is."""
    part = _parts(ready).get(label)
    ending = part.how_it_ended() if part is not None else ""
    now = oom_kills_of_machine()
    if ending and now is not None and before.machine is not None and now > before.machine:
        ending += f"; the kernel's OOM killer ended {now - before.machine} on this machine meanwhile: memory ran out"
    return f": {ending}" if ending else ""


def _parts(ready: RunningParts) -> dict[str, HasExitStatus]:
    parts: dict[str, object] = {f"server {name}": deployed.server for name, deployed in ready.servers.items()}
    parts |= {f"subject {name}": deployed.subject for name, deployed in ready.subjects.items()}
    return {label: part for label, part in parts.items() if isinstance(part, HasExitStatus)}


def explained(error: str, parts: Iterable[tuple[RunningParts, OomKillCounts]]) -> str:
    """The driver's message, and after it what explains it in the parts of one of these, if something does.

    Each with the OOM kills before the drive.
    """
    explanations = (_explanation(ready, before) for ready, before in parts)
    why = next((text for text in explanations if text), "")
    return f"{error}; {why}" if why else error


def _explanation(ready: RunningParts, before: OomKillCounts) -> str:
    if why := killed_for_memory(ready, before) or ports_running_out():
        return why
    for name, server in ready.servers.items():
        if server.server.ours and not server.server.alive():
            return f"server {name} died{how_it_ended(ready, f'server {name}', before)}"
        if server.line is not None and not server.line.alive():
            return f"the link of {name} has ended: {server.line.how_it_ended()}"
    for name, deployed in ready.subjects.items():
        if deployed.subject.ours and not deployed.subject.alive():
            return f"subject {name} has ended, and its last lines are: {deployed.subject.last_output() or 'none'}"
    return ""


def failure(drive: DriveRecord, ready: RunningParts, before: OomKillCounts) -> str | None:
    """Why the trial does not count although it was driven; `before`: what the OOM killer had ended by then."""
    because = f" ({drive.stopped})" if drive.stopped else ""
    if out_of_memory := killed_for_memory(ready, before):
        return f"{out_of_memory}{because}"
    dead = [name for name, deployed in ready.servers.items() if not deployed.server.alive()]
    if dead:
        reported = how_it_ended(ready, f"server {dead[0]}", before)
        return f"server {', '.join(dead)} died during the trial{reported}{because}"
    for name, deployed in ready.servers.items():
        if deployed.line is not None and not deployed.line.alive():
            return f"the link of {name} ended during the trial: {deployed.line.how_it_ended()}{because}"
    for name, subject in ready.subjects.items():
        if not subject.subject.alive():
            output = subject.subject.last_output()
            said = f"; its last lines are: {output}" if output else ""
            reported = how_it_ended(ready, f"subject {name}", before)
            return f"subject {name} died during the trial{reported}{because}{said}"
    return drive.stopped
