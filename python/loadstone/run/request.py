"""What a run is asked for: which experiment, what is changed in it, where it runs and what is kept."""

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from loadstone.run.command_line import are_of_folder, without_password
from loadstone.safety.errors import UserError
from loadstone.slot import Slot

if TYPE_CHECKING:
    from loadstone.experiment.spec.problems import ExperimentSource

LostAgent = Literal["go-on", "wait", "end"]
"""What becomes of a run when an agent was lost. go-on: it is measured without that one from then on. wait: it goes on
when that one answers again. end: it ends. The trial in which it was lost is invalid always."""


OF_ADD_ONS: Slot[Callable[..., Any]] = Slot("run_options")
"""Option -> what carries it out: `fleet` reads its text (to a `run.load_source.NamedSource`); `watch` is called with
the run's folder and a way to tell the user a line, once the run has begun."""
_BY_ADD_ONS = ("fleet", "watch")


@dataclass(frozen=True)
class RunRequest:
    """What is asked of a run: by the command line (`cli.options.OF_RUN`), or by a command itself."""

    experiment: str = ""
    only: tuple[str, ...] = ()
    set: tuple[str, ...] = ()
    servers: tuple[str, ...] = ()
    subjects: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    parts: tuple[str, ...] = ()
    """Parts behind a service that are watched: `NAME=PROCESS`; `none`: none are looked for."""
    asked: tuple[str, ...] = ()
    """Those of them that are asked for their figures: `NAME=URL`."""
    driver: str | None = None
    secret_files: tuple[str, ...] = ()
    quick: bool = False
    as_published: bool = False
    scale: str | None = None
    budget: str | None = None
    blocks: int | None = None
    """Number of blocks of every group; None: the looks and the design decide."""
    at_rate: str | None = None
    twin: bool = False
    seed: int | None = None
    """None: a fresh one, or on `resume` the folder's."""
    out: Path = Path("runs")
    resume: Path | None = None
    prometheus: int | None = None
    fleet: str | None = None
    lost_agent: LostAgent = "go-on"
    trust: bool = False
    allow_any_command: bool = False
    share_machine: bool = False
    wait: bool = False
    watch: bool = False
    quiet: bool = False
    verbose: bool = False
    described: "ExperimentSource | None" = None
    """What the command line itself describes (`loadstone saturate`); None: the experiment of this name."""
    typed: bool = False
    """Whether all that is started was typed, for this one time: nothing is asked of it, and no answer is kept."""
    newest_kept: bool = False
    """Whether the run is one of those of which the newest alone are kept, see `run_folder.newest_runs`."""
    of_folder: bool = field(default_factory=are_of_folder)
    began_s: float = field(default_factory=time.monotonic)
    """When the command began: the budget counts from there."""
    command: tuple[str, ...] = field(default_factory=lambda: without_password(sys.argv[1:]))

    @staticmethod
    def carried_out_by(option: str) -> Callable[..., Any]:
        """What an add-on brings for an option; `require_add_ons` has found that it does."""
        found = OF_ADD_ONS.get(option)
        assert found is not None, option
        return found

    def require_add_ons(self) -> None:
        """Raises UserError for an option whose add-on is not there."""
        for option in _BY_ADD_ONS:
            if getattr(self, option) not in (None, False) and option not in OF_ADD_ONS.names():
                raise UserError("--{option}: the add-on that does it is not installed; leave it out", option=option)

    def check(self) -> None:
        """Raises UserError where options contradict each other."""
        if self.quiet and self.verbose:
            raise UserError("--quiet, --verbose: leave one of them out")
        if self.fleet is None and self.lost_agent != "go-on":
            raise UserError(
                "--lost-agent {lost_agent}: there is no fleet; add --fleet, or leave it out", lost_agent=self.lost_agent
            )
