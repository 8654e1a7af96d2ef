"""What a run needs of this machine, whether it is there or not, and the one line that gets what is missing."""

import shlex
import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from loadstone.machine.extras import Extra, command_for, is_published
from loadstone.machine.fetched_programs import ON_PATH, FetchedProgram, put_on_path
from loadstone.machine.installed_programs import (
    Packages,
    Requiring,
    install_line,
    packages_of,
    page_of,
    problem_with,
    versions,
)
from loadstone.text.message import AnyText, said


@dataclass(frozen=True)
class Need:
    """A program or a package that a part of a run needs."""

    name: str
    """As a person knows it: `mariadbd`, `javac 17`."""
    needed_by: str
    """The part: `server mariadb`, `subject spring`."""
    problem: AnyText
    """Why it does not serve; empty: it is there."""
    found: str = ""
    """What is there: a version, a path."""
    packages: Packages = ("", "", "")
    """What installs it by the systems' own installers; empty where those have none that would do."""
    page: str = ""
    """Where its maker offers it; empty: nobody."""
    fetched: FetchedProgram | None = None
    """What `loadstone setup` gets of it."""
    extra: Extra | None = None
    """The extra of loadstone's own that brings it."""

    @property
    def is_for_setup(self) -> bool:
        """Whether `loadstone setup` can get it here."""
        if self.extra is not None:
            return is_published(self.extra)
        return self.fetched is not None and self.fetched.can_be_fetched()


def program_need(
    program: str, needed_by: str, found: Path | None, packages: Packages, fetched: FetchedProgram | None = None
) -> Need:
    """A program that is there or not, whatever its version."""
    problem = "" if found is not None else said("not installed")
    return Need(program, needed_by, problem, str(found or ""), packages, fetched=fetched)


def programs_needed(called: str, manifest: Requiring, *, trusted: bool) -> list[Need]:
    """Each program of a manifest's `requires`; `called`: `subject shop`, `driver jedis`.

    Not `trusted`: of a manifest that may be a stranger's no program is asked for its version but those known here.
    """
    put_on_path()
    needs = []
    for program, oldest in manifest.requires.items():
        is_here = shutil.which(program) is not None
        asked = trusted or not is_here or bool(page_of(program))
        problem = problem_with(program, oldest) if asked else ""
        needs.append(
            Need(
                f"{program} {oldest}",
                called,
                problem,
                versions([program])[program] if asked else "",
                ("", "", "") if is_here else packages_of(program),  # what systems have is too old
                page_of(program),
                ON_PATH.get(program),
            )
        )
    return needs


def each_once(needs: Iterable[Need]) -> list[Need]:
    """Each program once, with all parts that need it."""
    found: dict[str, Need] = {}
    for need in needs:
        other = found.get(need.name)
        parts = [] if other is None else other.needed_by.split(", ")
        found[need.name] = replace(need, needed_by=", ".join(dict.fromkeys([*parts, need.needed_by])))
    return list(found.values())


def missing(needs: Iterable[Need]) -> list[Need]:
    """Those that are not there."""
    return [need for need in needs if need.problem]


def line_for(lacking: Sequence[Need], setup: Sequence[str]) -> str:
    """One command line that gets what is missing; empty where nothing here does.

    `setup`: the words of `loadstone setup STUDY`; empty where the run has no name by which that could plan it.
    """
    fetched = [need for need in lacking if setup and need.is_for_setup]
    extras = dict.fromkeys(need.extra for need in lacking if need.extra and need.is_for_setup and not setup)
    columns = zip(*(need.packages for need in lacking if need not in fetched), strict=True)
    apt, dnf, brew = [" ".join(dict.fromkeys(" ".join(column).split())) for column in columns] or ("", "", "")
    steps = (
        install_line(apt, dnf, brew),
        shlex.join(command_for(*extras)) if extras else "",
        shlex.join(setup) if fetched else "",
    )
    return " && ".join(step for step in steps if step)


def left_to_pages(lacking: Sequence[Need]) -> Mapping[str, str]:
    """Need -> its maker's page, of those that neither the system's installer nor `loadstone setup` has."""
    return {
        need.name: need.page
        for need in lacking
        if need.page and not need.is_for_setup and not install_line(*need.packages)
    }
