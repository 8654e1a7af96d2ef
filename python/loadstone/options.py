"""What the command line says of a run, and what it means: the experiment and its plan."""

import secrets
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from loadstone.errors import UserError
from loadstone.machine.memory import installed_bytes
from loadstone.plan.design.run_design import make_run_plan
from loadstone.plan.run_plan import RunPlan
from loadstone.secrecy.references import give_files, learn_environment
from loadstone.spec.drivers import resolved
from loadstone.spec.experiment import Experiment
from loadstone.spec.load_settings import find
from loadstone.spec.overrides import override, parse_only
from loadstone.spec.units import NEVER, check_at_rate, parse_duration_s, parse_scale

if TYPE_CHECKING:
    from loadstone.record.plan_summary import PlanSummary


@dataclass(frozen=True)
class _OfFolder:
    """What there is to know of a command line that a run's folder keeps."""

    trusted: bool
    files_sent: tuple[str, ...]


_OF_FOLDER: list[_OfFolder] = []
"""Of the run's folder that is resumed; empty: the user typed the command line."""


def words_are_of_folder(*, trusted: bool, files_sent: Sequence[str] = ()) -> None:
    """From now on the command line is one that a run's folder keeps.

    Args:
        trusted: the user says that it may be run.
        files_sent: files whose text its options put into the load.

    Raises:
        UserError: it is one already, and so leads to itself.
    """
    if _OF_FOLDER:
        raise UserError("--resume: the command in the folder's environment.json names no experiment; name it, too")
    _OF_FOLDER.append(_OfFolder(trusted, tuple(files_sent)))


def folder_is_trusted() -> bool:
    """Whether the user says of a folder's words that they may be run."""
    return any(one.trusted for one in _OF_FOLDER)


def files_of_folder() -> tuple[str, ...]:
    """Files whose text a folder's words put into the load."""
    return tuple(file for one in _OF_FOLDER for file in one.files_sent)


@dataclass(frozen=True)
class RunOptions:
    """What the command line says of a run."""

    experiment: str
    only: tuple[str, ...] = ()
    set: tuple[str, ...] = ()
    servers: tuple[str, ...] = ()
    subjects: tuple[str, ...] = ()
    driver: str | None = None
    """What makes the load, as `--driver` has it; None: as the experiment says."""
    secret_files: tuple[str, ...] = ()
    """`NAME=PATH`: what `${secret:NAME}` stands for."""
    quick: bool = False
    as_published: bool = False
    blocks: int | None = None
    """Of every group; None: the looks and the design decide."""
    budget: str | None = None
    """How long the run may last, e.g. `20m`; None: as the experiment says."""
    at_rate: str | None = None
    """At which rate rows of tables are measured in addition, e.g. `50%`; None: as the experiment says."""
    built: Experiment | None = None
    """What the command line itself describes (`loadstone saturate`); None: the experiment of this name."""
    seed: int | None = None
    """None: a fresh one, or on `resume` the folder's."""
    out: Path = Path("runs")
    newest_kept: bool = False
    """Whether the run is one of those of which the newest alone are kept, see `record.newest_runs`."""
    resume: Path | None = None
    scale: str | None = None
    """By how much users and rows are made smaller, e.g. `0.1`; None: as the experiment says."""
    trust: bool = False
    """What the experiment would start, connect to and send was read, and may be done."""
    of_folder: bool = field(default_factory=lambda: bool(_OF_FOLDER))
    """Whether these are the words of a run's folder that is resumed, and so nobody's."""
    allow_any_command: bool = False
    """Servers of the user's get commands and statements that are not confined to what is ours."""
    prometheus: int | None = None
    """The port on which live figures are offered; None: they are not."""
    share_machine: bool = False
    """Measure although another run measures on this machine."""
    wait: bool = False
    """Wait until no other run measures on this machine."""
    quiet: bool = False
    """No progress and no remarks."""
    verbose: bool = False
    """More is said of each trial while it runs."""
    began_s: float = field(default_factory=time.monotonic)
    """When the command began: the budget counts from there."""
    command: tuple[str, ...] = field(default_factory=lambda: tuple(sys.argv[1:]))


def requested_experiment(options: RunOptions) -> Experiment:
    """The experiment with what the command line changes in it. Raises UserError."""
    learn_environment()
    give_files(options.secret_files)
    sets = (*options.set, *_driver(options), *_at_rate(options))
    return override(
        options.built or find(options.experiment), sets=sets, servers=options.servers, subjects=options.subjects
    )


def _driver(options: RunOptions) -> tuple[str, ...]:
    """The setting that `--driver` stands for; a path counts from the current folder. Raises UserError."""
    if options.driver is None:
        return ()
    try:
        return (f"workload.driver={resolved(options.driver, Path())}",)
    except ValueError as problem:
        raise UserError(f"--driver {options.driver}: {problem}") from None


def _at_rate(options: RunOptions) -> tuple[str, ...]:
    """The settings that `--at-rate` stands for. Raises UserError."""
    if options.at_rate is None:
        return ()
    text = check_at_rate(options.at_rate)
    return tuple(f"{part}.at_rate={text}" for part in ("design", "quick.design"))


def requested_plan(
    experiment: Experiment, options: RunOptions, cpus: tuple[int, ...] = (), cpu_count: int = 1
) -> RunPlan:
    """The design of the run; `cpus` are those that the driver may have, of `cpu_count` in all. Raises UserError."""
    kept = _kept_plan(options)
    run_plan = make_run_plan(
        experiment,
        only=parse_only(experiment, options.only),
        quick=options.quick,
        as_published=options.as_published,
        seed=_seed(options, kept),
        blocks=options.blocks,
        budget_s=None if options.budget is None else parse_duration_s(options.budget, "--budget"),
        cpus=cpus,
        cpu_count=cpu_count,
        scale=None if options.scale is None else parse_scale(options.scale),
        memory_bytes=installed_bytes(),
        shortened_for_s=None if kept is None else kept.shortened_for_s,
    )
    _check_rows_at_rate(run_plan, options)
    return run_plan if kept is None or options.budget is not None else replace(run_plan, budget_s=kept.budget_s)


def _check_rows_at_rate(run_plan: RunPlan, options: RunOptions) -> None:
    """Raises UserError where a rate is given that no row can have."""
    if run_plan.at_rate is not None or options.at_rate in (None, NEVER) or options.resume is not None:
        return
    if options.as_published:
        raise UserError(f"--at-rate {options.at_rate}: --as-published measures at no fixed rate; leave one of them out")
    why = "every load has a rate or pauses of its own, or stands in no table"
    raise UserError(f"--at-rate {options.at_rate}: no row of {run_plan.experiment} can have it: {why}; leave it out")


def _kept_plan(options: RunOptions) -> "PlanSummary | None":
    """The plan of the run that is resumed: its seed, its budget and what its slices were made short for are kept.

    Raises UserError.
    """
    if options.resume is None:
        return None
    from loadstone.record.reading import read_plan  # only now: it takes time to load

    return read_plan(options.resume)


def _seed(options: RunOptions, kept: "PlanSummary | None") -> int:
    """The run's seed. A fresh one keeps the keys of two runs on one server apart."""
    if options.seed is not None:
        return options.seed
    return secrets.randbelow(2**32) if kept is None else kept.seed
