"""What a run gives to every process that it starts, and the lines of progress that come back."""

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

from loadstone.machine.processes.lease import Lease
from loadstone.safety.bounds.folder_files import NotOfFolder, make_folder, open_file
from loadstone.safety.errors import Interrupted, UserError

LOOPBACK = "127.0.0.1"


def silent(_: str) -> None:
    """A progress callback that says nothing."""


def never() -> bool:
    """No one requests a stop."""
    return False


class Step(str):
    """A line of progress. Of lines with the same `step_subject` the later ones say the same with newer figures."""

    about: str

    def __new__(cls, text: str, about: str = "") -> Self:
        """`step_subject`: what the line is about; without it the line itself."""
        line = super().__new__(cls, text)
        line.about = about or text
        return line


class LastingStep(Step):
    """A line of progress that the user must know: it stays, where others show only what is done just now."""


class Stays(LastingStep):
    """A line on what of loadstone's stays somewhere, for the user to remove: it is printed under --quiet, too."""


def step_subject(text: str) -> str:
    """What a line of progress is about."""
    return text.about if isinstance(text, Step) else text


@dataclass(frozen=True)
class StartContext:
    """What a run gives to every process that it starts."""

    cpus: tuple[int, ...] = ()
    """CPUs that the processes run on; empty: not pinned."""
    work_root: Path | None = None
    """Where temporary folders are made; None: the system's own place."""
    log_folder: Path | None = None
    """Where `<name>.log` of each part is kept; None: the log goes with the temporary folder."""
    run_folder: Path | None = None
    """What `log_folder` lies in: a run's folder, from which on no link is followed; None: `log_folder` itself."""
    progress: Callable[[str], None] = silent
    """Called with what is being done, one short line each."""
    stopped: Callable[[], bool] = never
    """Whether the user requested a stop."""
    lease: Lease | None = None
    """Without its renewal what was started ends; None: it ends with this process."""

    def log_of(self, what: str, name: str, otherwise: Path) -> tuple[Path, Path]:
        """The log `name` of a part, there and open to be appended to, and the folder from which on no link leads to it.

        `what` names the part in an error; `otherwise` is the folder where the context has none.

        Raises:
            UserError: the log, or a folder on the way to it, is a link or no file.
            OSError: it cannot be made.
        """
        folder = (self.log_folder or otherwise).absolute()
        within = folder if self.log_folder is None or self.run_folder is None else self.run_folder.absolute()
        within.mkdir(mode=0o700, parents=True, exist_ok=True)
        try:
            make_folder(folder, within)
            os.close(open_file(folder / name, os.O_WRONLY | os.O_CREAT | os.O_APPEND, within))
        except NotOfFolder as error:
            raise UserError("{what}: its log cannot be written: {error}", what=what, error=error) from None
        return folder / name, within

    def with_own_log(self, number: int) -> Self:
        """Return the context of the `number`-th part of one name: its log lies in a folder of its own from the second
        on."""
        if self.log_folder is None or number == 1:
            return self
        return replace(self, log_folder=self.log_folder / str(number))

    def raise_if_stopped(self) -> None:
        """Called by all that waits for long.

        Raises:
            Interrupted: the user requested a stop.
        """
        if self.stopped():
            raise Interrupted("interrupted; what was finished is kept")
