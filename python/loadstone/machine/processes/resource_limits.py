"""CPU and memory limits as Kubernetes gives them: control groups of Linux, version 1 or 2.

A limited process enters its groups before its program runs. They lie below loadstone's own groups
where that is possible, so a limit of loadstone's own holds for them too, and are removed with the
process's workspace.
"""

import contextlib
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from loadstone.machine.limits_in_force import LimitInForce, LimitName, limit_in_force
from loadstone.machine.processes.clean_up import group_name, note_group, remove_noted_groups
from loadstone.machine.processes.endings import oom_kills_of_group
from loadstone.machine.processes.workspace import Workspace
from loadstone.text.message import AnyText, said
from loadstone.text.problem import SaidError
from loadstone.text.units import BYTES, parse

PERIOD_US = 100_000
REMEDY = said("run as root, or in a group that is delegated to you (systemd-run --user --scope -p Delegate=yes)")
MOUNTS, OWN = Path("/proc/self/mountinfo"), Path("/proc/self/cgroup")


def _bytes(value: object) -> object:
    return parse(value, BYTES) if isinstance(value, str) else value


class Limits(BaseModel):
    """What a process and all that it starts may take together: `cpu: 0.5`, `memory: 512 MB`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    cpu: float | None = Field(default=None, ge=0.01)
    """CPUs' worth of time, in every period of 100 ms."""
    memory: Annotated[int | None, BeforeValidator(_bytes)] = Field(default=None, ge=4 * 1024**2)
    """Bytes; beyond them the kernel ends the process."""

    def __bool__(self) -> bool:
        return self.cpu is not None or self.memory is not None


class LimitUnavailable(SaidError):
    """This machine cannot limit a process for us; the text says why."""


@dataclass(frozen=True)
class Throttling:
    """Counts of how often the CPU limit throttled the group, since it was made."""

    periods: int
    """Periods of 100 ms in which something of the group was ready to run."""
    throttled: int
    """Those in which it had to wait for the next one."""
    throttled_s: float
    """How long it waited, summed over its CPUs."""


@dataclass(frozen=True)
class Limited:
    """Limits in force, or the reason why they are not."""

    groups: tuple[Path, ...] = ()
    """Groups to enter; empty without limits."""
    unavailable: AnyText | None = None
    """Why the limits that were requested are not in force."""
    in_force: Mapping[LimitName, LimitInForce] = field(default_factory=dict)
    """As the kernel reports them."""
    _cpu_stat: Path | None = field(default=None, repr=False)
    _memory_group: Path | None = field(default=None, repr=False)

    def throttling(self) -> Throttling | None:
        """The kernel's own figures; None without a CPU limit, and after the group's end."""
        try:
            lines = self._cpu_stat.read_text().split("\n") if self._cpu_stat is not None else []
        except OSError:
            return None
        figures = {name: int(value) for name, _, value in (line.partition(" ") for line in lines if line)}
        if "nr_periods" not in figures:
            return None
        waited_ns = figures.get("throttled_time", 1000 * figures.get("throttled_usec", 0))
        return Throttling(figures["nr_periods"], figures["nr_throttled"], waited_ns / 1e9)

    def oom_kills(self) -> int | None:
        """Processes of the group that the kernel's OOM killer ended; None without a memory limit."""
        return oom_kills_of_group(self._memory_group)


def limit(limits: Limits, workspace: Workspace) -> Limited:
    """Groups with these limits, that end with `workspace`; or the reason why there are none."""
    if not limits:
        return Limited()
    try:
        return _limited(limits, workspace)
    except LimitUnavailable as reason:
        return Limited(unavailable=reason.message)


def _limited(limits: Limits, workspace: Workspace) -> Limited:
    if not MOUNTS.exists():
        raise LimitUnavailable("this system has no control groups (they are Linux's)")
    controllers = [name for name, value in (("cpu", limits.cpu), ("memory", limits.memory)) if value is not None]
    mounts = _mounts()
    try:
        if all(controller in mounts for controller in controllers):
            groups = [_make(_own(mounts[controller], controller), workspace) for controller in controllers]
        elif "" in mounts:
            groups = [_make(_parent(mounts[""], controllers), workspace)]
        else:
            raise LimitUnavailable(
                "no control group is mounted for {controllers}", controllers=" and ".join(controllers)
            )
        if limits.cpu is not None:
            _write_cpu(groups[0], round(limits.cpu * PERIOD_US))
        if limits.memory is not None:
            _write_memory(groups[-1], limits.memory)
        in_force = _read_back(limits, groups)
    except OSError as error:
        remove_noted_groups(str(workspace.path))
        raise LimitUnavailable(
            "a control group cannot be made or set ({strerror}: {filename}); {remedy}",
            strerror=error.strerror,
            filename=error.filename,
            remedy=REMEDY,
        ) from None
    stat = groups[0] / "cpu.stat" if limits.cpu is not None else None
    memory = groups[-1] if limits.memory is not None else None
    return Limited(tuple(groups), in_force=in_force, _cpu_stat=stat, _memory_group=memory)


def _make(parent: Path, workspace: Workspace) -> Path:
    """A group below `parent`, noted before it is made so that it ends with the workspace, come what may."""
    group = parent / group_name(workspace.path.name)
    note_group(str(workspace.path), str(group))
    group.mkdir()
    return group


def _mounts() -> Mapping[str, Path]:
    """Controller -> mount point of version 1; the empty name -> that of version 2."""
    mounts: dict[str, Path] = {}
    for line in MOUNTS.read_text().splitlines():
        place, _, rest = line.partition(" - ")
        kind, _, options = rest.split(" ", 2)
        mount = Path(re.sub(r"\\([0-7]{3})", lambda m: chr(int(m[1], 8)), place.split(" ")[4]))
        if kind == "cgroup":
            mounts |= {name: mount for name in options.split(" ")[-1].split(",") if name in ("cpu", "memory")}
        elif kind == "cgroup2":
            mounts[""] = mount
    return mounts


def _own(mount: Path, controller: str) -> Path:
    """Our own group of a controller; the mount point where a container hides the way to it."""
    for line in OWN.read_text().splitlines():
        _, names, path = line.split(":", 2)
        if controller in names.split(",") and (mount / path.lstrip("/")).is_dir():
            return mount / path.lstrip("/")
    return mount


def _parent(mount: Path, controllers: list[str]) -> Path:
    """The nearest group of version 2, from our own upwards, that can have groups with these controllers."""
    missing = [name for name in controllers if name not in (mount / "cgroup.controllers").read_text().split()]
    if missing:
        raise LimitUnavailable(
            "the kernel gives no control over {missing} in {mount}", missing=" and ".join(missing), mount=mount
        )
    own = _own(mount, "")
    for parent in (own, *own.parents):
        with contextlib.suppress(OSError):
            control = parent / "cgroup.subtree_control"
            if not set(controllers) <= set(control.read_text().split()):
                control.write_text(" ".join(f"+{controller}" for controller in controllers))
            if os.access(parent / "cgroup.procs", os.W_OK) and os.access(parent, os.W_OK):
                return parent
        if parent == mount:
            break
    raise LimitUnavailable("no control group that we may write to; {remedy}", remedy=REMEDY)


def _write_cpu(group: Path, quota_us: int) -> None:
    if (group / "cpu.max").exists():
        (group / "cpu.max").write_text(f"{quota_us} {PERIOD_US}")
    else:
        (group / "cpu.cfs_period_us").write_text(str(PERIOD_US))
        (group / "cpu.cfs_quota_us").write_text(str(quota_us))


def _write_memory(group: Path, limit_bytes: int) -> None:
    _memory_file(group).write_text(str(limit_bytes))


def _memory_file(group: Path) -> Path:
    return group / ("memory.max" if (group / "memory.max").exists() else "memory.limit_in_bytes")


def _read_back(limits: Limits, groups: Sequence[Path]) -> dict[LimitName, LimitInForce]:
    """The limits that the kernel holds."""
    found: dict[LimitName, LimitInForce] = {}
    if limits.cpu is not None:
        found["cpu"] = limit_in_force(_quota_us(groups[0]) / PERIOD_US)
    if limits.memory is not None:
        held = _memory_file(groups[-1]).read_text().strip()
        found["memory"] = limit_in_force(float("inf") if held == "max" else int(held))
    return found


def _quota_us(group: Path) -> float:
    """Return the CPU time, in microseconds, in a period of `PERIOD_US`; infinite where there is no limit."""
    if (group / "cpu.max").exists():
        quota, period = (group / "cpu.max").read_text().split()
    else:
        quota, period = ((group / name).read_text() for name in ("cpu.cfs_quota_us", "cpu.cfs_period_us"))
    return float("inf") if quota == "max" or int(quota) < 0 else int(quota) * PERIOD_US / int(period)


def limits_in_force(limits: Limits, limited: Limited) -> dict[LimitName, LimitInForce]:
    """The limits for the record: as they are in force, or why they are not."""
    if limited.unavailable is None:
        return dict(limited.in_force)
    requested: dict[LimitName, float | None] = {"cpu": limits.cpu, "memory": limits.memory}
    refused = LimitInForce(status="unavailable", why=str(limited.unavailable))
    return {name: refused for name, value in requested.items() if value is not None}
