"""Programs installed on this machine: whether they are new enough, and a row of `loadstone doctor`."""

import functools
import re
import shutil
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

from loadstone.deploy.system_packages import how_to_get
from loadstone.errors import UserError
from loadstone.language import _, in_language, said, translated


def output_of(program: str, *arguments: str) -> str | None:
    """What a program prints; None where it is not installed or does not run.

    It runs in the root folder: in the user's, which may hold a stranger's files, `mvn --version` would obey
    `.mvn/jvm.config`.
    """
    place = shutil.which(program)
    if place is None:
        return None
    try:
        done = subprocess.run(
            [Path(place).absolute(), *arguments], cwd="/", capture_output=True, text=True, timeout=30, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout + done.stderr


NAME_CELLS = 24
"""How wide the names of facts are on a terminal."""


@dataclass(frozen=True)
class Fact:
    """One row: `remedy` says what helps, and is empty when `verdict` is ok."""

    name: str
    value: str
    verdict: Literal["ok", "warn"]
    remedy: str = ""

    @property
    def spoken(self) -> "Fact":
        """The same in the language of who reads now."""
        return Fact(translated(self.name), in_language(self.value), self.verdict, in_language(self.remedy))

    @property
    def lines(self) -> list[str]:
        """As a terminal shows it, in the language of who reads now."""
        from rich.cells import set_cell_size  # only now: it takes time to load

        told = self.spoken
        verdict = {"ok": _("ok"), "warn": _("warn")}[self.verdict]
        first = f"{set_cell_size(verdict, 5)} {set_cell_size(told.name, NAME_CELLS)} {told.value}"
        return [first, f"{'':<{NAME_CELLS + 6}} {told.remedy}"] if told.remedy else [first]


_VERSION = re.compile(r"\d+(?:\.\d+)*")
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_ARGUMENTS = {"go": "version"}
"""What has a program print its version, where that is not `--version`."""


class Requiring(Protocol):
    """A manifest of either kind."""

    @property
    def requires(self) -> Mapping[str, str]: ...


def require_programs(called: str, manifest: Requiring) -> None:
    """Look for each program of a manifest's `requires`; messages call it `subject shop`, `driver jedis`.

    Raises:
        UserError: one is not installed, does not run, or is too old; names the version that is there.
    """
    missing = [program for program in manifest.requires if shutil.which(program) is None]
    for program, oldest in manifest.requires.items():
        where = f"{called}: requires.{program}"
        if program in missing:
            problem = said("it is not installed, or not on PATH")
        elif not (version := _version(program)):
            problem = said("`{program} {argument}` prints no version", program=program, argument=_argument(program))
        elif _numbers(version) < _numbers(oldest):
            problem = said("{version} is too old", version=version)
        else:
            continue
        how = how_to_get(program, *missing, newer=program not in missing)
        raise UserError(_to_install(where, problem, program, oldest, how))


def _to_install(where: str, problem: str, program: str, oldest: str, how: str) -> str:
    if not how:
        return said(
            "{where}: {problem}; install {program} {oldest} or newer",
            where=where,
            problem=problem,
            program=program,
            oldest=oldest,
        )
    return said(
        "{where}: {problem}; install {program} {oldest} or newer: {how}",
        where=where,
        problem=problem,
        program=program,
        oldest=oldest,
        how=how,
    )


def versions(programs: Iterable[str]) -> dict[str, str]:
    """The version of each program, as it prints it; empty where there is none."""
    return {program: _version(program) for program in programs}


def _version(program: str) -> str:
    place = shutil.which(program)
    return _version_of(place, _argument(program)) if place is not None else ""


@functools.cache
def _version_of(place: str, argument: str) -> str:
    """Some take half a second to start, and each driver of a run is looked at."""
    version = _VERSION.search(_COLOUR.sub("", output_of(place, argument) or ""))
    return version[0] if version is not None else ""


def _argument(program: str) -> str:
    return _ARGUMENTS.get(program, "--version")


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))
