"""Programs installed on this machine: whether they are new enough, how to get them, and a row of
`loadstone doctor`."""

import functools
import platform
import re
import shutil
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal, Protocol

from loadstone.machine.fetched_programs import put_on_path
from loadstone.safety.errors import UserError
from loadstone.text.language import _, in_language, translated
from loadstone.text.message import AnyText, said

OS_RELEASE = Path("/etc/os-release")
APT, DNF, BREW = "apt-get install", "dnf install", "brew install"
_DEBIAN, _FEDORA = {"debian", "ubuntu"}, {"fedora", "rhel", "centos", "suse"}
_JDK = ("default-jdk-headless", "java-21-openjdk-devel", "openjdk")
"""Packages with a compiler; for Fedora and RHEL `devel`: what they call headless runs programs and compiles none."""
Packages = tuple[str, str, str]
"""What apt, dnf and brew call it; empty where one has none that would do."""
_PACKAGES: dict[str, Packages] = {
    "go": ("", "", "go"),
    "java": _JDK,
    "javac": _JDK,
    "mvn": ("maven", "maven", "maven"),
    "node": ("nodejs npm", "nodejs npm", "node"),
    "npm": ("npm", "npm", "node"),
    "python3": ("python3 python3-venv", "python3", "python"),
}
"""Program -> its package for each of the three; empty where that is too old."""
_OF_ITS_OWN = {
    "go": "https://go.dev/dl",
    "java": "https://adoptium.net",
    "javac": "https://adoptium.net",
    "mvn": "https://maven.apache.org/download.cgi",
    "node": "https://nodejs.org",
    "npm": "https://nodejs.org",
    "python3": "https://www.python.org/downloads",
}
"""Where there are newer ones than systems have."""
_OFTEN_OLD = {"go", "node"}
"""What systems have is often too old."""


@cache
def installers() -> tuple[str, ...]:
    """The command of this system; all three where it is not known."""
    if platform.system() == "Darwin":
        return (BREW,)
    try:
        text = OS_RELEASE.read_text()
    except OSError:
        return (APT, DNF, BREW)
    names = set(re.findall(r"[a-z]+", " ".join(re.findall(r"^ID(?:_LIKE)?=(.*)$", text, re.MULTILINE))))
    if names & _DEBIAN:
        return (APT,)
    return (DNF,) if names & _FEDORA else (APT, DNF, BREW)


def packages_of(program: str) -> Packages:
    """The packages of a program; all empty for one that is not known."""
    return _PACKAGES.get(program, ("", "", ""))


def page_of(program: str) -> str:
    """Where there is a newer one than systems have; empty for a program that is not known."""
    return _OF_ITS_OWN.get(program, "")


def how_to_get(program: str, *others: str, newer: bool = False) -> str:
    """The command line that installs a program here, with its maker's page if systems often have an old one.

    `others`: what is to be installed, too. `newer`: than the one that is here. Empty for a program that is not known.
    """
    page = _OF_ITS_OWN.get(program, "")
    if program not in _PACKAGES or newer:
        return page
    columns = zip(*(_PACKAGES[one] for one in (program, *others) if one in _PACKAGES), strict=True)
    line = install_line(*(" ".join(dict.fromkeys(" ".join(column).split())) for column in columns))
    if program not in _OFTEN_OLD:
        return line
    return f"{line} ({page})" if line else page


def install_line(apt: str, dnf: str, brew: str) -> str:
    """The command line that installs one of these packages here; all of them where the system is not known.

    Empty where the system has none.
    """
    named = {APT: apt, DNF: dnf, BREW: brew}
    return " / ".join(f"{command} {named[command]}" for command in installers() if named[command])


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
    value: AnyText
    verdict: Literal["ok", "warn"]
    remedy: AnyText = ""

    @property
    def spoken(self) -> "Fact":
        """Return the fact in the language of who reads now."""
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
    put_on_path()
    missing = [program for program in manifest.requires if shutil.which(program) is None]
    for program, oldest in manifest.requires.items():
        if problem := problem_with(program, oldest):
            problem = said("it is not installed, or not on PATH") if program in missing else problem
            how = how_to_get(program, *missing, newer=program not in missing)
            raise UserError.of(_to_install(f"{called}: requires.{program}", problem, program, oldest, how))


def problem_with(program: str, oldest: str) -> AnyText:
    """Why a program does not serve here; empty where it is at least as new as `oldest`."""
    if shutil.which(program) is None:
        return said("not installed")
    if not (version := _version(program)):
        return said("`{program} {argument}` prints no version", program=program, argument=_argument(program))
    return said("{version} is too old", version=version) if _numbers(version) < _numbers(oldest) else ""


def _to_install(where: str, problem: AnyText, program: str, oldest: str, how: str) -> AnyText:
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
