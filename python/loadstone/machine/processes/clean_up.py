"""Ends and removes what is left of a temporary folder: processes, control groups, files.

Standard library only: the guard runs with nothing else. Nothing is believed that another user can have written.
"""

import contextlib
import json
import os
import signal
import time
from functools import partial

from loadstone.machine.process_identity import ProcessIdentity, end_identified, identify, signal_if
from loadstone.machine.processes.own_folder import (
    FOLDER_FLAGS,
    empty_folder,
    open_own_file,
    open_own_folder,
    read_own_file,
)

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
    """Kill what runs in a control group, and remove it; nothing if `path` is not one of ours named `name`."""
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
    """Raises OSError if it is gone, or another user's."""
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
    devices = set()
    with contextlib.suppress(OSError), open(MOUNTS) as table:  # noqa: PTH123
        for line in table:
            place, _, rest = line.partition(" - ")
            if rest.split(" ", 1)[0] in CONTROL_GROUPS:
                major, minor = place.split(" ")[2].split(":")
                devices.add(os.makedev(int(major), int(minor)))
    return devices


MARK = "loadstone.lock"
"""A folder is removed only if it holds this file."""
GROUPS = "loadstone.groups"
"""A file of the folder that names the control groups made for the server, one a line."""
PROCESS = "loadstone.process"
"""A file of the folder that says which process was started in it last."""


def note_group(folder: str, path: str) -> None:
    """Write down a control group before it is made, so that it ends with the folder. Raises OSError."""
    opened = open_own_folder(folder)
    try:
        with os.fdopen(open_own_file(GROUPS, opened, os.O_WRONLY | os.O_CREAT | os.O_APPEND), "w") as file:
            file.write(f"{path}\n")
    finally:
        os.close(opened)


def noted_groups(folder: int, owner: int | None = None) -> list[str]:
    """The control groups that are written down in an open folder."""
    return read_own_file(GROUPS, folder, owner).splitlines()


def remove_noted_groups(folder: str) -> None:
    """Empty and remove the control groups that are written down in a folder of ours."""
    with contextlib.suppress(OSError):
        opened = open_own_folder(folder)
        try:
            for path in noted_groups(opened):
                remove_group(path, group_name(os.path.basename(folder)))  # noqa: PTH119
        finally:
            os.close(opened)


def note_process(folder: str, pid: int) -> None:
    """Write down which process was started, so that it can be ended and no other."""
    identity = identify(pid)
    with contextlib.suppress(OSError):
        opened = open_own_folder(folder)
        try:
            flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
            with os.fdopen(open_own_file(PROCESS, opened, flags), "w") as file:
                file.write("" if identity is None else json.dumps(identity))
        finally:
            os.close(opened)


def clear(folder: str, *, without_mark: bool = False) -> None:
    """End what runs in a folder of ours and remove it; nothing if it is not ours."""
    parent_path, name = os.path.split(folder)
    with contextlib.suppress(OSError):
        opened = open_own_folder(folder)
        try:
            end_what_runs(opened, name)
            if not without_mark and MARK not in os.listdir(opened):  # noqa: PTH208 (of a file descriptor)
                return
            empty_folder(opened)
        finally:
            os.close(opened)
        os.rmdir(os.path.join(parent_path, name))  # noqa: PTH106, PTH118


def end_what_runs(folder: int, name: str, owner: int | None = None) -> None:
    """End the process and empty the control groups that are written down in an open folder called `name`."""
    noted = _noted_process(read_own_file(PROCESS, folder, owner))
    if noted is not None:
        end_identified(noted)
    for path in noted_groups(folder, owner):
        remove_group(path, group_name(name))


def _noted_process(text: str) -> ProcessIdentity | None:
    """The process that is written down; None if there is none."""
    try:
        pid, started_ticks, boot, command = json.loads(text)
    except (ValueError, TypeError, RecursionError):
        return None
    if type(pid) is not int or type(started_ticks) is not int or not isinstance(boot, str):
        return None
    return ProcessIdentity(pid, started_ticks, boot, str(command))
