"""Two runs by what tells one from the other: the time of day, the day, or the whole name of the folder."""

import re
from pathlib import Path

_FOLDER = re.compile(r"(\d{4})(\d{2})(\d{2})T(\d{2})(\d{2})(\d{2})Z-(.+)")
"""`20261121T230227Z-documents`."""


def run_names(a: Path, b: Path) -> tuple[str, str]:
    """What the two runs are called: `run 14:30`, `run 2026-11-21`, or the folders' names where they tell more."""
    folders = a.resolve(), b.resolve()
    one, other = (_FOLDER.fullmatch(folder.name) for folder in folders)
    if one and other and one[7] == other[7] and one.groups() != other.groups():
        times = _times(one), _times(other)
        for form in range(len(times[0])):
            if times[0][form] != times[1][form]:
                return f"run {times[0][form]}", f"run {times[1][form]}"
    if folders[0].name != folders[1].name:
        return folders[0].name, folders[1].name
    parents = folders[0].parent.name, folders[1].parent.name
    return parents if parents[0] != parents[1] else (str(folders[0]), str(folders[1]))


def _times(match: re.Match[str]) -> tuple[str, str, str]:
    """The start of a run: its day, or on one day its time, as exact as it must be."""
    year, month, day, hour, minute, second, _ = match.groups()
    return f"{year}-{month}-{day}", f"{hour}:{minute}", f"{hour}:{minute}:{second}"
