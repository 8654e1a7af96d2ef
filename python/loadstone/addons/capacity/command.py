"""`loadstone capacity RUN`: where the capacity goes, and what other users, CPUs, instances or costs would give."""

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from loadstone.cli.options import EXPERIMENT, LOAD, PARTS, RESULTS, Option, amount, require_place, seconds
from loadstone.safety.bounds.describe_only import forbid_connections
from loadstone.safety.errors import UserError

if TYPE_CHECKING:
    from loadstone.addons.capacity.capacities import ConditionCapacity
    from loadstone.addons.capacity.model.answer import Capacity
    from loadstone.addons.capacity.model.model import WhatIfChange

USERS_MAX = 100_000
FACTOR_MIN, FACTOR_MAX = 0.001, 10_000.0
CANNOT_SAY = 3
"""Exit status where a prediction was asked for, and the run does not allow one."""
_NONE = re.compile(r"0+(\.0+)? ?(ms|s)?")
_PART = "NAME=NUMBER"


@dataclass(frozen=True)
class Users:
    """Numbers of users that are asked for."""

    numbers: tuple[int, ...]


def read_users(option: str, text: str) -> Users:
    """`64`, `1,8,64`, or `1..2000`: doubled from the one to the other."""
    wrong = UserError(
        "{option} {text}: not numbers of users; write 64, 1,8,64 or 1..2000, each from 1 to {users_max}",
        option=option,
        text=text[:40],
        users_max=USERS_MAX,
    )
    first, is_range, last = text.partition("..")
    read = [amount(word) for word in ((first, last) if is_range else text.split(","))]
    written = [int(number) for number in read if number is not None and number == int(number)]
    numbers = sorted(set(written))
    if len(written) < len(read) or not 1 <= numbers[0] <= numbers[-1] <= USERS_MAX:
        raise wrong
    if is_range and written[0] > written[1]:
        raise wrong
    if not is_range:
        return Users(tuple(numbers))
    doubled = [numbers[0] * 2**power for power in range(math.ceil(math.log2(numbers[-1] / numbers[0])) + 1)]
    return Users(tuple(sorted({*(users for users in doubled if users < numbers[-1]), numbers[-1]})))


def read_pause(option: str, text: str) -> float:
    """Seconds; a run with pauses may be asked for none."""
    return 0.0 if _NONE.fullmatch(text) else seconds(option, text)


@dataclass(frozen=True)
class CapacityOptions:
    """What the command line says of it."""

    only: Annotated[
        tuple[str, ...],
        Option(
            "--only",
            metavar="FACTOR=LEVEL[,LEVEL]",
            help="Only conditions with these levels. Repeatable.",
            panel=EXPERIMENT,
        ),
    ] = ()
    cpus: Annotated[
        tuple[str, ...],
        Option("--cpus", metavar=_PART, help="What if a part had so many CPUs for itself? Repeatable.", panel=PARTS),
    ] = ()
    instances: Annotated[
        tuple[str, ...],
        Option(
            "--instances",
            metavar=_PART,
            help="What if there were so many times the processes of a part, each with as many CPUs? Repeatable.",
            panel=PARTS,
        ),
    ] = ()
    cost: Annotated[
        tuple[str, ...],
        Option(
            "--cost",
            metavar="NAME=PERCENT",
            help="What if a request cost a part so much more or less, e.g. redis=-20%? Repeatable.",
            panel=PARTS,
        ),
    ] = ()
    users: Annotated[
        Users | None,
        Option(
            "--users",
            metavar="USERS",
            help="For so many users: 64, 1,8,64 or 1..2000; without it those of the run.",
            panel=LOAD,
            read=read_users,
        ),
    ] = None
    think_s: Annotated[
        float | None,
        Option(
            "--think", metavar="TIME", help="What if users paused between two requests?", panel=LOAD, read=read_pause
        ),
    ] = None
    round_trip_s: Annotated[
        float | None,
        Option(
            "--round-trip",
            metavar="TIME",
            help="What if each response took so much longer on its way?",
            panel=LOAD,
            read=read_pause,
        ),
    ] = None
    json: Annotated[bool, Option("--json", help="Print the outcome as JSON alone to stdout.", panel=RESULTS)] = False
    json_file: Annotated[
        Path | None,
        Option("--json-out-file", metavar="FILE", help="Write the outcome as JSON there, too.", panel=RESULTS),
    ] = None
    svg: Annotated[
        Path | None,
        Option(
            "--svg",
            metavar="FILE",
            help="Draw the rate over the users there; of several conditions the first.",
            panel=RESULTS,
        ),
    ] = None
    quiet: Annotated[bool, Option("--quiet", ("-q",), help="A line a prediction, and nothing else.", panel=RESULTS)] = (
        False
    )

    @property
    def asks(self) -> bool:
        """Whether it asks what would be."""
        return bool(self.cpus or self.instances or self.cost or self.users or self.svg) or (
            self.think_s is not None or self.round_trip_s is not None
        )

    @property
    def files(self) -> list[tuple[str, Path]]:
        """Those that are written, with their options."""
        named = (("--json-out-file", self.json_file), ("--svg", self.svg))
        return [(option, path) for option, path in named if path is not None]

    def check(self) -> None:
        """Raises UserError before anything is read."""
        for option, path in self.files:
            require_place(option, path)
        if len({path.absolute() for _, path in self.files}) < len(self.files):
            raise UserError("--json-out-file, --svg {svg}: name two files", svg=self.svg)

    def check_beside(self, folder: Path) -> None:
        """Raises UserError where a file of the run itself would be replaced."""
        from loadstone.run_folder.files import is_of_run

        for option, path in self.files:
            if is_of_run(path.name) and path.absolute().parent.samefile(folder):
                raise UserError(
                    "{option} {path}: is a file of the run itself; name another one", option=option, path=path
                )


@forbid_connections()
def capacity_command(
    *, run: Annotated[Path, typer.Argument(metavar="RUN", help="A run's folder.")], options: CapacityOptions
) -> None:
    """Where the capacity of a run goes, and what if.

    A table of its parts: what a request costs each, and how many it could do. With several numbers of users a queueing
    model is held to those that it was not fitted on; only where it holds there are predictions.
    """
    options.check()
    from loadstone.run_folder.earlier_runs import run_folder
    from loadstone.run_folder.files import require_run

    folder = run_folder(run)
    require_run(folder)
    options.check_beside(folder)
    from loadstone.addons.capacity import report
    from loadstone.run_folder.lines import write_file
    from loadstone.safety import console, terminal

    found = report.CapacityReport(run=folder.name, capacities=_capacities(folder, options), asked=options.asks)
    report.show(found, console.results(beside_json=options.json), short=options.quiet)
    if options.json:
        terminal.result_json(report.to_json(found))
    picture = report.svg(found) if options.svg is not None else None
    for path, content in ((options.json_file, report.to_json(found).encode()), (options.svg, picture)):
        if path is not None and content is not None:
            write_file(path, content)
    if any(_cannot_say(capacity, options) for capacity in found.capacities):
        raise typer.Exit(CANNOT_SAY)


def _cannot_say(capacity: "Capacity", options: CapacityOptions) -> bool:
    """Whether nothing is predicted though it was asked for, or though the run has the levels for it."""
    if not capacity.predictions:
        return options.asks or (capacity.refusal is not None and capacity.refusal.kind != "capacity_few_levels")
    return False


def _capacities(folder: Path, options: CapacityOptions) -> "list[Capacity]":
    from loadstone.addons.capacity.capacities import find_capacities
    from loadstone.experiment.spec.levels import matches
    from loadstone.experiment.spec.overrides import parse_only
    from loadstone.judge.checks.checks import judge_trial
    from loadstone.run_folder.reading import read_run

    run = read_run(folder)
    only = parse_only(run.experiment, options.only)
    trials = [
        trial
        for trial in map(judge_trial, run.trials)
        if matches(trial.condition, only, only.keys() - trial.condition.keys())
    ]
    found = find_capacities(run, trials)
    if not found:
        raise UserError(
            "{folder}: no condition has users who wait for their replies and parts whose CPU was observed; "
            "measure one with loadstone redis, http, saturate or run, on this machine",
            folder=folder,
        )
    change = _change(options, {part.name: part.one_thread for one in found for part in one.capacity.parts})
    return [_with_predictions(one, change, options) for one in found]


def _with_predictions(found: "ConditionCapacity", change: "WhatIfChange", options: CapacityOptions) -> "Capacity":
    """Return the capacity with predictions if a model holds for the condition, else without."""
    from loadstone.text.message import message

    capacity, checked = found.capacity, found.checked
    if checked is None:
        return capacity
    levels = [level.users for level in checked.whole.model.levels]
    asked = levels if options.users is None else options.users.numbers
    predictions = [(users, checked.predict(users, change)) for users in asked]
    remarks = []
    left = [users for users, one in predictions if one is None]
    if left:
        remarks.append(message("capacity_out_of_range", users=left, least=levels[0], most=levels[-1]))
    if any(one is not None and one.low_per_s > capacity.per_s for _, one in predictions):
        remarks.append(message("capacity_beyond", per_s=capacity.per_s))
    made = [one for _, one in predictions if one is not None]
    return capacity.model_copy(update={"predictions": made, "remarks": remarks})


def _change(options: CapacityOptions, parts: dict[str, bool]) -> "WhatIfChange":
    """What would be different. `parts`: of the run, and whether each works in one thread. Raises UserError."""
    from loadstone.addons.capacity.model.model import WhatIfChange

    cpus = _of_parts("--cpus", options.cpus, parts, _number)
    for name, number in cpus.items():
        if parts[name] and number > 1:
            raise UserError(
                "--cpus {name}={number:g}: {name} works in one thread, which more CPUs do not help; write "
                "--instances {name}={number:g} for more processes of it",
                name=name,
                number=number,
            )
    return WhatIfChange(
        cpus=cpus,
        instances=_of_parts("--instances", options.instances, parts, _number),
        cost=_of_parts("--cost", options.cost, parts, _cost),
        think_s=options.think_s,
        round_trip_s=options.round_trip_s or 0.0,
    )


def _of_parts(
    option: str, texts: tuple[str, ...], parts: dict[str, bool], read: Callable[[str, str, str], float]
) -> dict[str, float]:
    from loadstone.text.wording import listed, nearest

    values: dict[str, float] = {}
    for text in texts:
        name, equals, figure = text.partition("=")
        name = name.strip()
        if not equals or name in values:
            raise UserError(
                "{option} {text}: write NAME=..., each part once; parts are: {parts}",
                option=option,
                text=text[:60],
                parts=listed(parts),
            )
        if name not in parts:
            raise UserError(
                "{option} {text}: '{name}' is no part; {hint}parts are: {parts}",
                option=option,
                text=text[:60],
                name=name,
                hint=nearest(name, parts),
                parts=listed(parts),
            )
        values[name] = read(option, text, figure.strip())
    return values


def _number(option: str, text: str, figure: str) -> float:
    try:
        number = float(figure)
    except ValueError:
        number = 0.0
    if not FACTOR_MIN <= number <= FACTOR_MAX:
        raise UserError(
            "{option} {text}: write a number above 0, from {factor_min:g} to {factor_max:g}",
            option=option,
            text=text[:60],
            factor_min=FACTOR_MIN,
            factor_max=FACTOR_MAX,
        )
    return number


def _cost(option: str, text: str, figure: str) -> float:
    """`-20%` is a factor of 0.8."""
    try:
        percent = float(figure.removesuffix("%"))
    except ValueError:
        percent = math.nan
    if not figure.endswith("%") or not FACTOR_MIN <= 1 + percent / 100 <= FACTOR_MAX:
        raise UserError(
            "{option} {text}: write how much more or less in per cent, e.g. redis=-20% or redis=+50%",
            option=option,
            text=text[:60],
        )
    return 1 + percent / 100
