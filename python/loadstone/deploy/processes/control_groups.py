"""Emptying and removing the control groups that were made for a server.

Standard library only: the guard runs with nothing else.
"""

import contextlib
import os
import signal
import time
from functools import partial

from loadstone.deploy.processes.own_folder import FOLDER_FLAGS
from loadstone.machine.process_identity import signal_if

GROUP_PREFIX = "loadstone-"
"""How the name of each control group of ours begins."""
PATIENCE_S = 2.0
"""How long the processes of a group may take to end after SIGKILL."""
MOUNTS = "/proc/self/mountinfo"
CONTROL_GROUPS = ("cgroup", "cgroup2")


def group_name(folder_name: str) -> str:
    """The name of a control group that is made for the temporary folder of this name."""
    return GROUP_PREFIX + folder_name.removeprefix(GROUP_PREFIX)


def remove_group(path: str, name: str) -> None:
    """Kill what runs in a control group, and remove it; nothing if `path` is none of ours named `name`."""
    parent_path, base = os.path.split(path)
    if base != name or base == GROUP_PREFIX:
        return
    with contextlib.suppress(OSError):
        parent = os.open(parent_path, FOLDER_FLAGS)
        try:
            if is_control_group(parent):
                _remove(parent, base)
        finally:
            os.close(parent)


def _remove(parent: int, name: str) -> None:
    """Raises OSError if there is none, or it is another user's."""
    group = os.open(name, FOLDER_FLAGS, dir_fd=parent)
    try:
        if not is_control_group(group) or os.fstat(group).st_uid != os.geteuid():
            return
        deadline = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline:
            for pid in members(group):
                signal_if(pid, signal.SIGKILL, partial(_is_member, pid, group))
            try:
                os.rmdir(name, dir_fd=parent)
            except FileNotFoundError:
                return
            except OSError:  # its processes have not ended yet
                time.sleep(0.01)
            else:
                return
    finally:
        os.close(group)


def is_control_group(folder: int) -> bool:
    """Whether an open folder is one of the kernel's control groups, and not one that somebody named so."""
    return os.fstat(folder).st_dev in _devices()


def members(group: int) -> list[int]:
    """The processes of an open control group; none once it is removed."""
    with contextlib.suppress(OSError, ValueError):
        procs = os.open("cgroup.procs", os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=group)
        with os.fdopen(procs) as file:
            return [int(line) for line in file.read().split()]
    return []


def _is_member(pid: int, group: int) -> bool:
    return pid in members(group)


def _devices() -> set[int]:
    """The devices that the mounted control groups are on."""
    found = set()
    with contextlib.suppress(OSError), open(MOUNTS) as table:  # noqa: PTH123
        for line in table:
            place, _, rest = line.partition(" - ")
            if rest.split(" ", 1)[0] in CONTROL_GROUPS:
                major, minor = place.split(" ")[2].split(":")
                found.add(os.makedev(int(major), int(minor)))
    return found
