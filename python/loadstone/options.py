"""What the command line says of a run, and what it means: the experiment and its plan."""

import secrets
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

from loadstone.plan.design.run_design import make_run_plan
from loadstone.plan.run_plan import RunPlan
from loadstone.secrecy.references import give_files, learn_environment
from loadstone.spec.experiment import Experiment
from loadstone.spec.overrides import override, parse_only
from loadstone.spec.study_catalogue import find
from loadstone.spec.units import parse_duration_s, parse_scale


@dataclass(frozen=True)
class RunOptions:
    """What the command line says of a run."""

    experiment: str
    only: tuple[str, ...] = ()
    set: tuple[str, ...] = ()
    servers: tuple[str, ...] = ()
    subjects: tuple[str, ...] = ()
    secret_files: tuple[str, ...] = ()
    """`NAME=PATH`: what `${secret:NAME}` stands for."""
    quick: bool = False
    as_published: bool = False
    blocks: int | None = None
    """Of every group; None: the looks and the design decide."""
    budget: str | None = None
    """How long the run may last, e.g. `20m`; None: as the experiment says."""
    seed: int | None = None
    """None: a fresh one, or on `resume` the folder's."""
    out: Path = Path("runs")
    resume: Path | None = None
    scale: str | None = None
    """By how much users and rows are made smaller, e.g. `0.1`; None: as the experiment says."""
    allow_any_command: bool = False
    """Servers of the user's get commands and statements that are not confined to what is ours."""
    prometheus: int | None = None
    """The port on which live figures are offered; None: they are not."""
    share_machine: bool = False
    """Measure although another run measures on this machine."""
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
    return override(find(options.experiment), sets=options.set, servers=options.servers, subjects=options.subjects)


def requested_plan(
    experiment: Experiment, options: RunOptions, cpus: tuple[int, ...] = (), cpu_count: int = 1
) -> RunPlan:
    """The design of the run; `cpus` are those that the driver may have, of `cpu_count` in all. Raises UserError."""
    return make_run_plan(
        experiment,
        only=parse_only(experiment, options.only),
        quick=options.quick,
        as_published=options.as_published,
        seed=_seed(options),
        blocks=options.blocks,
        budget_s=None if options.budget is None else parse_duration_s(options.budget, "--budget"),
        cpus=cpus,
        cpu_count=cpu_count,
        scale=None if options.scale is None else parse_scale(options.scale),
    )


def _seed(options: RunOptions) -> int:
    """The run's seed. A fresh one keeps the keys of two runs on one server apart."""
    if options.seed is not None:
        return options.seed
    if options.resume is None:
        return secrets.randbelow(2**32)
    from loadstone.record.reading import read_plan  # only now: it takes time to load

    return read_plan(options.resume).seed
