"""The list of a folder's runs, and their tags: the commands `runs` and `tag`."""

import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from loadstone.cli.options import Option
from loadstone.run_folder.earlier_runs import RUNS, require_folder_of_runs, run_folder
from loadstone.run_folder.files import began_at
from loadstone.safety import terminal
from loadstone.safety.bounds.describe_only import forbid_connections
from loadstone.safety.errors import UserError
from loadstone.text.message import said

if TYPE_CHECKING:
    from loadstone.addons.history.tags import Tags


@dataclass(frozen=True)
class RunEntry:
    """A line of `loadstone runs`."""

    name: str
    began: datetime | None
    """In UTC; None where the folder was renamed."""
    experiment: str
    state: str
    """`complete`, `running`, or how much of it was measured."""
    headline: str
    tags: tuple[str, ...] = ()


def list_runs(root: Path = RUNS, find: str = "", *, archived: bool = False) -> list[RunEntry]:
    """The runs of a folder, or those in its archive, that a query finds (see `addons.history.index`), the newest
    first."""
    if not root.is_dir():
        return []
    from loadstone.addons.history.index import Index, parse_query  # only now: it takes time to load
    from loadstone.addons.history.run_row import line_of, words_of

    index = Index(root)
    index.renew(words_of=words_of)
    lines = [line_of(row) for row in index.find(parse_query(find, archived=archived), most=-1).rows]
    return [
        RunEntry(row.name, began_at(row.name), row.experiment or "?", line.state, line.headline, row.tags)
        for row, line in lines
    ]


def run_lines(runs: Sequence[RunEntry], width: int | None = None) -> list[str]:
    """A line for each run: name, when it began, experiment, how much of it is there, tags, and what it says."""
    from loadstone.addons.history.aligned import aligned

    cells = [
        (
            run.name,
            run.began.astimezone().strftime("%Y-%m-%d %H:%M") if run.began else "",
            run.experiment,
            run.state,
            " ".join(run.tags),
            run.headline,
        )
        for run in runs
    ]
    lines = [line.rstrip() for line in aligned(cells)]
    return [line if width is None or len(line) <= width else f"{line[: width - 1]}…" for line in lines]


def change_tags(folder: Path, add: Sequence[str], remove: Sequence[str], note: str | None) -> "Tags":
    """Add and remove tags of a run, and replace its note unless that is None. Raises UserError."""
    from loadstone.addons.history.tags import read_tags, write_tags  # with what reads a model: only now

    before = read_tags(folder)
    if gone := [tag for tag in remove if tag not in before.tags]:
        there = ", ".join(before.tags) or "none"
        raise UserError(
            "--remove {gone}: {folder} has no such tag; it has: {there}", gone=gone[0], folder=folder, there=there
        )
    tags = [tag for tag in (*before.tags, *add) if tag not in remove]
    return write_tags(folder, tags, before.note if note is None else note)


@forbid_connections()
def runs_command(
    *,
    folder: Annotated[Path, typer.Argument(metavar="[DIR]", show_default=False)] = RUNS,
    find: Annotated[
        str, Option("--find", metavar="WORDS", help="Those with all of these words, verdict:faster, tag:TAG.")
    ] = "",
    archived: Annotated[bool, Option("--archived", help="Those in the folder's archive.")] = False,
) -> None:
    """List the runs of ./runs, the newest first."""
    require_folder_of_runs(folder)
    runs = list_runs(folder, find, archived=archived)
    if not runs and find:
        terminal.remark(said("no run in {folder} has all of: {find}", folder=folder, find=find))
    elif not runs:
        terminal.remark(said("there is no run in {folder}; `loadstone run EXPERIMENT` makes one", folder=folder))
    terminal.result_lines(run_lines(runs, shutil.get_terminal_size().columns if sys.stdout.isatty() else None))


@forbid_connections()
def tag_command(
    *,
    run: Annotated[Path, typer.Argument(metavar="RUN", show_default=False)],
    tags: Annotated[list[str] | None, typer.Argument(metavar="[TAG]...", show_default=False)] = None,
    remove: Annotated[list[str] | None, Option("--remove", metavar="TAG", help="Take a tag away.")] = None,
    note: Annotated[str | None, Option("--note", metavar="TEXT", help="The run's note; '' removes it.")] = None,
) -> None:
    """Show or change the tags and the note of a run."""
    changed = change_tags(run_folder(run), tags or (), remove or (), note)
    terminal.result_lines(
        [*([" ".join(changed.tags)] if changed.tags else []), *([changed.note] if changed.note else [])]
    )
