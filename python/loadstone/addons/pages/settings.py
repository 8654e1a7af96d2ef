"""What one server of pages shows: the folders of runs and of experiments, and who may see them."""

import os
import secrets
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from starlette.exceptions import HTTPException
from starlette.requests import Request

from loadstone.addons.pages.command_lines import CommandLine, own_references
from loadstone.addons.pages.experiment_facts import ExperimentFacts
from loadstone.addons.pages.reader_process import Apart
from loadstone.addons.pages.started_runs import Starts
from loadstone.run_folder.earlier_runs import RUNS
from loadstone.run_folder.files import PLAN
from loadstone.safety.bounds.folder_files import is_file
from loadstone.text.language import _

PENDING_MAX = 50
"""Commands that wait for an answer."""


@dataclass
class Memory:
    """What is known until the server ends, and stands nowhere else."""

    starts: Starts = field(default_factory=Starts)
    apart: Apart = field(default_factory=Apart)
    asked_s: float = field(default_factory=time.monotonic)
    """When a page was asked for last."""
    once: str = field(default_factory=lambda: secrets.token_urlsafe(32), repr=False)
    """Opens the pages as the token does, but a single time; empty from then on."""
    variables: dict[str, str] = field(default_factory=dict, repr=False)
    """The passwords that were given in a page, by the names of their variables."""
    started: dict[str, CommandLine] = field(default_factory=dict, repr=False)
    """The commands of the newest starts, by their names: one that did not begin can be started again."""
    given: dict[str, Mapping[str, str]] = field(default_factory=dict, repr=False)
    """The passwords of the runs that were started from here, by the names of their folders."""
    facts: dict[tuple[str, str], ExperimentFacts] = field(default_factory=dict, repr=False)
    """What the forms of built-in experiments are made from, by their word and the language."""
    _pending: dict[str, "Pending"] = field(default_factory=dict, repr=False)

    def with_variables(self, command: CommandLine) -> CommandLine:
        """The command with the passwords that were given for it now, and before at the same places."""
        self.variables.update(command.variables)
        named = {name: self.variables[name] for name in own_references(command.words) if name in self.variables}
        return CommandLine(command.words, {**named, **command.variables})

    def keep(self, pending: "Pending") -> str:
        """Keep a command until it is answered whether it may start; its name."""
        name = secrets.token_urlsafe(16)
        _keep(self._pending, name, pending)
        return name

    def remember(self, start: str, command: CommandLine) -> None:
        """Keep the command of a start."""
        _keep(self.started, start, command)

    def has_folder(self, start: str, folder: str) -> None:
        """A start has this folder now: its passwords are known for it."""
        if start in self.started:
            self.given.pop(folder, None)  # one that went on may have been given others
            _keep(self.given, folder, self.started[start].variables)

    def take(self, name: str) -> "Pending | None":
        """The command of this name, once."""
        return self._pending.pop(name, None)


@dataclass(frozen=True)
class ShownConsent:
    """What a question of consent showed: an answer allows this and nothing else."""

    digest: str
    """The hash of the contents that the acts were read off."""
    acts: tuple[str, ...]


@dataclass(frozen=True)
class Pending:
    """A command whose start waits for an answer. What was asked is known here, and never taken from a form."""

    command: CommandLine
    shown: ShownConsent | None = None
    """None where it was not asked for consent."""
    beside: str = ""
    """What was answered about another run, before it was asked for consent."""


T = TypeVar("T")


def _keep(kept: dict[str, T], name: str, one: T) -> None:
    """Keep one more; the oldest goes."""
    while len(kept) >= PENDING_MAX:
        kept.pop(next(iter(kept)))
    kept[name] = one


@dataclass(frozen=True)
class PageSettings:
    """What the pages show; `place_of(request)` has it."""

    runs: Path = RUNS
    """The folder of all runs."""
    experiments: Path = Path()
    """The folder of the user's own experiments."""
    here: Path = field(default_factory=Path.cwd)
    """Where commands are given: as if they were typed where the server was started."""
    only_run: str | None = None
    """The name of the one run that is shown (`loadstone run --watch`); None: everything."""
    language: str | None = None
    """The one that the command line names, for who chose none by the pages; None: what each browser prefers."""
    secure: bool = False
    """Whether the pages are sent over TLS."""
    token: str = field(default_factory=lambda: secrets.token_urlsafe(32), repr=False)
    """Whoever has it may do what the user of this process may."""
    cookie: str = field(default_factory=lambda: secrets.token_urlsafe(32), repr=False)
    """What a browser that showed the token shows from then on."""
    memory: Memory = field(default_factory=Memory, repr=False)


def place_of(request: Request) -> PageSettings:
    """The place of the server that answers."""
    place = request.app.state.place
    assert isinstance(place, PageSettings)
    return place


def as_typed(path: Path, here: Path) -> str:
    """A path as one types it in the folder `here`."""
    try:
        return str(path.relative_to(here))
    except ValueError:
        return str(path)


def folder_of(request: Request) -> Path:
    """The folder of the run `{name}` in the address. Raises HTTPException 404 where there is none."""
    return folder_named(request, request.path_params["name"])


def folder_named(request: Request, name: str) -> Path:
    """The folder of a run. Raises HTTPException 404 where there is none of this name, or it is not shown here."""
    place = place_of(request)
    if place.only_run in (None, name):
        try:
            with os.scandir(place.runs) as entries:
                found = any(one.name == name and one.is_dir(follow_symlinks=False) for one in entries)
        except OSError:
            found = False
        if found and is_file(place.runs / name / PLAN):
            return place.runs / name
    raise HTTPException(404, _("There is no run of this name here: it was removed, moved or renamed."))
