"""The options of `loadstone compare`."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from loadstone.cli.options import EXPERIMENT, LEVELS, RESULTS, Option


@dataclass(frozen=True)
class CompareOptions:
    """What the command line says of a comparison."""

    runs: tuple[Path, ...] = ()
    a: Annotated[str | None, Option("--a", metavar=LEVELS, help="One run: the conditions A.", panel=EXPERIMENT)] = None
    """None: the declared comparisons, or two runs."""
    b: Annotated[str | None, Option("--b", metavar=LEVELS, help="One run: the conditions B.", panel=EXPERIMENT)] = None
    metric: Annotated[
        str | None, Option("--metric", metavar="METRIC", help="What decides, e.g. goodput or p99.", panel=EXPERIMENT)
    ] = None
    margin: Annotated[
        str | None, Option("--margin", metavar="SHARE", help="A difference below it does not matter.", panel=EXPERIMENT)
    ] = None
    across: Annotated[
        bool, Option("--across", help="Two runs, though machine, versions, placement or load differ.", panel=EXPERIMENT)
    ] = False
    fail_if: Annotated[
        tuple[str, ...],
        Option(
            "--fail-if",
            metavar="OBJECTIVE",
            help="Status 1 if it holds or cannot be decided, e.g. 'goodput < -5%' (B against A). Repeatable.",
            panel=RESULTS,
        ),
    ] = ()
