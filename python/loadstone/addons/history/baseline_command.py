"""`loadstone baseline`: which run others are compared with (`loadstone compare --baseline`)."""

import os
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from loadstone.cli.command import command
from loadstone.cli.options import Option
from loadstone.run_folder.earlier_runs import LATEST, RUNS, require_folder_of_runs, run_folder
from loadstone.run_folder.files import ARCHIVE, MAIN
from loadstone.safety import terminal
from loadstone.safety.bounds.describe_only import forbid_connections
from loadstone.safety.errors import UserError
from loadstone.text.language import _

if TYPE_CHECKING:
    from loadstone.addons.history.baselines import Baseline
    from loadstone.addons.history.run_row import RunRow

baseline_app = typer.Typer(help="Which run others are compared with.", no_args_is_help=True, rich_markup_mode=None)
Branch = Annotated[str, Option("--branch", metavar="NAME", help="A branch has a baseline of its own.")]
Runs = Annotated[Path, Option("--runs", metavar="DIR", help="The folder of the runs.")]


@baseline_app.callback()
def _baseline() -> None:
    """Which run others are compared with."""


@command(baseline_app, "set")
@forbid_connections()
def set_command(
    *, run: Annotated[Path, typer.Argument(metavar="RUN", show_default=False)], branch: Branch = MAIN
) -> None:
    """Make a run the baseline of its experiment.

    It stands in baselines.json beside the run; a run of which only the newest are kept is kept from now on.
    """
    if not branch or len(branch) > 200 or not branch.isprintable():
        raise UserError("--branch {branch} is not a branch name; use at most 200 characters", branch=branch)
    folder = _named(run)
    row = _row(folder)
    if row.why or row.running:
        why = row.why or _("it goes on")
        raise UserError("{folder}: cannot be a baseline: {why}", folder=folder, why=why)
    from loadstone.addons.history.baselines import named, set_baseline
    from loadstone.run_folder.newest_runs import unmark

    new = named(branch, row.experiment, folder, time.time())
    set_baseline(_root_of(folder), new)
    kept = unmark(folder)
    terminal.result(
        _("{run} is the baseline of {experiment} on {branch}", run=row.name, experiment=row.experiment, branch=branch)
        + "\n"
        + (_("it is kept from now on") + "\n" if kept else "")
    )


@command(baseline_app, "show")
@forbid_connections()
def show_command(*, runs: Runs = RUNS) -> None:
    """List the baselines."""
    from loadstone.addons.history.baselines import read_baselines

    require_folder_of_runs(runs, "--runs ")
    found = read_baselines(runs)
    if not found:
        terminal.remark(_("there is no baseline in {runs}; make a run one: loadstone baseline set RUN", runs=runs))
    terminal.result("".join(f"{line}\n" for line in _lines(runs, found)))


@command(baseline_app, "remove")
@forbid_connections()
def remove_command(
    *,
    experiment: Annotated[str, typer.Argument(metavar="EXPERIMENT", show_default=False)],
    branch: Branch = MAIN,
    runs: Runs = RUNS,
) -> None:
    """Forget a baseline; its run stays."""
    from loadstone.addons.history.baselines import remove_baseline

    require_folder_of_runs(runs, "--runs ")
    gone = remove_baseline(runs, branch, experiment)
    terminal.result(
        _(
            "{run} is no baseline of {experiment} on {branch} any more",
            run=gone.run,
            experiment=experiment,
            branch=branch,
        )
        + "\n"
    )


def runs_to_compare(given: list[Path] | None, branch: str, *, across: bool) -> list[Path]:
    """The baseline and the run that is compared with it: the newest one where none is given. Raises UserError."""
    from loadstone.addons.history.baselines import baseline_of, folder_of

    if given and len(given) != 1:
        raise UserError("--baseline: is compared with one run; {number} are given", number=len(given))
    folder = _named(given[0] if given else LATEST)
    row = _row(folder)
    root = _root_of(folder)
    found = baseline_of(root, branch, row.experiment)
    place = folder_of(root, found)
    if place is None:
        raise UserError(
            "--baseline: {run}, the baseline of {experiment} on {branch}, is no longer in {root}; make another run "
            "one: loadstone baseline set RUN",
            run=found.run,
            experiment=found.experiment,
            branch=branch,
            root=root,
        )
    if place.resolve() == folder.resolve():
        raise UserError("--baseline: {run} is the baseline itself; measure again, or name another run", run=folder.name)
    of_baseline = _row(place)
    if of_baseline.machine_id != row.machine_id and not across:
        raise UserError(
            "--baseline: {run} was measured on another machine ({machine}; here: {here}); make a run of this one "
            "the baseline: loadstone baseline set RUN --branch NAME, or compare all the same with --across",
            run=found.run,
            machine=of_baseline.machine or "?",
            here=row.machine or "?",
        )
    return [place, folder]


def _named(word: str | Path) -> Path:
    """The folder of a run by its own name, which `runs/x/latency/..` is not. Raises UserError."""
    return Path(os.path.abspath(run_folder(word)))  # noqa: PTH100 (resolve() would follow links)


def _row(folder: Path) -> "RunRow":
    from loadstone.addons.history.run_row import read_row
    from loadstone.run_folder.files import require_run

    require_run(folder)
    return read_row(folder)


def _root_of(folder: Path) -> Path:
    """The folder of the runs, of one in its archive, too."""
    return folder.parent.parent if folder.parent.name == ARCHIVE else folder.parent


def _lines(runs: Path, found: "tuple[Baseline, ...]") -> list[str]:
    from loadstone.addons.history.aligned import aligned
    from loadstone.addons.history.baselines import folder_of

    cells = []
    for one in found:
        place = folder_of(runs, one)
        state = _("removed") if place is None else _("archived") if place.parent.name == ARCHIVE else ""
        day = datetime.fromtimestamp(one.set_unix_s, UTC).strftime("%Y-%m-%d")
        machine = "" if place is None else _row(place).machine
        cells.append((one.experiment, one.branch, one.run, day, state, machine))
    return [line.rstrip() for line in aligned(cells)]
