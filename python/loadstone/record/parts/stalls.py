"""What the processes of servers and applications did while nothing was answered, from what the monitors saw."""

from collections.abc import Mapping, Sequence
from typing import Literal

from loadstone.drive.outcome import DriveRecord, Stall
from loadstone.observe.sample import Sample
from loadstone.record.facts import DRIVER, HOST, LINK, OWN, StallFacts, owner_of
from loadstone.record.window import Window

State = Literal["stopped", "busy", "idle"]
_BUSY = 0.7
"""J: a process that used so much of a CPU while it answered nothing was at work: a slow command, a fork."""
_IDLE = 0.3
"""J: and one that used less waited. The monitors look once a second, so both ends of a short stall are blurred."""
_NO_SERVER = (DRIVER, OWN, HOST)


def stalls_of(
    drive: DriveRecord, samples: Sequence[Sample], kinds: Mapping[str, str], target: str | None
) -> tuple[StallFacts, ...]:
    """Each time that servers answered nothing.

    Args:
        drive: what the driver brought back.
        samples: what the monitors observed, from before the load to after it.
        kinds: what each part is.
        target: the server or application that got the load; None: every server.
    """
    return tuple(_seen(drive, stall, samples, kinds, target) for stall in drive.stalls if stall.of == "server")


def _seen(
    drive: DriveRecord, stall: Stall, samples: Sequence[Sample], kinds: Mapping[str, str], target: str | None
) -> StallFacts:
    begin_s = drive.started_unix_ns / 1e9 + stall.begin_s
    window = Window(samples, begin_s, begin_s + stall.length_s)
    states = {part: state for part in _processes(window, kinds) if (state := _state(window, part, samples))}
    part = _to_blame(states, kinds, target)
    return StallFacts(
        begin_s=round(stall.begin_s, 6),
        length_s=round(stall.length_s, 6),
        waiting=stall.waiting,
        part=part,
        state=None if part is None else states[part],
    )


def _processes(window: Window, kinds: Mapping[str, str]) -> list[str]:
    """Parts with a process that are a server or an application."""
    owners = ((part, owner_of(part, kinds)) for part in window.parts("cpu_s") if part not in _NO_SERVER)
    return [part for part, owner in owners if owner is not None and kinds[owner] not in (LINK, "host", "driver")]


def _state(window: Window, part: str, samples: Sequence[Sample]) -> State | None:
    if any(
        sample.part == part and sample.metric == "stopped" and sample.value > 0
        for sample in samples
        if window.start_s <= sample.unix_s <= window.end_s
    ):
        return "stopped"
    used_s = window.increase(part, "cpu_s")
    if used_s is None or window.length_s <= 0:
        return None
    share = used_s / window.length_s
    return "busy" if share >= _BUSY else "idle" if share <= _IDLE else None


def _to_blame(states: Mapping[str, State], kinds: Mapping[str, str], target: str | None) -> str | None:
    """One that was stopped, else one that was busy all the while, else the one that was asked."""
    for state in ("stopped", "busy"):
        found = next((part for part in sorted(states) if states[part] == state), None)
        if found is not None:
            return found
    asked = [part for part in sorted(states) if target in (None, owner_of(part, kinds))]
    return asked[0] if asked else None
