"""`loadstone history --confirm`: both versions beside a hint are measured again, now, in turns."""

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from loadstone.addons.history.changes import History, hint_between
from loadstone.addons.history.trends import AT_RATE, GATE_KEY, RATIO
from loadstone.cli.options import Results
from loadstone.experiment.spec.experiment import COST
from loadstone.run.request import RunRequest
from loadstone.run_folder.files import EXPERIMENT
from loadstone.safety.errors import UserError

if TYPE_CHECKING:
    from rich.console import Console

    from loadstone.addons.history.changes import Hint
    from loadstone.judge.analysis.analysis import Analysis
    from loadstone.judge.verdict import Verdict
    from loadstone.run_folder.reading import Run

BUDGET = "60 s"
Kind = Literal["confirmed", "other way", "machine", "undecided", "invalid"]
STATUS: Mapping[Kind, int] = {"confirmed": 0, "other way": 0, "machine": 0, "invalid": 3, "undecided": 4}
SLOWER_STATUS = 1
"""Of what is confirmed to be slower, or to cost more."""
LARGEST_SHARE = 0.5
"""Both do the same where the interval holds no difference, nor so much of the one that was suspected."""


@dataclass(frozen=True)
class Asked:
    """The hint in question, and the two runs beside it."""

    history: History
    hint: "Hint"
    condition: str
    metric: str
    key: str
    before: Path
    after: Path


@dataclass(frozen=True)
class Confirmed:
    """What became of a hint."""

    kind: Kind
    asked: Asked
    verdict: "Verdict | None"
    folder: Path

    @property
    def status(self) -> int:
        """1 where it is slower, 0 where it is not, 4 where that stays open, 3 where it could not be measured."""
        if self.kind != "confirmed" or self.verdict is None or self.verdict.estimate is None:
            return STATUS[self.kind]
        faster = (self.verdict.estimate > 0) == self.verdict.larger_is_faster
        return STATUS[self.kind] if faster else SLOWER_STATUS


def asked_of(history: History, runs: Path, between: tuple[int, int] | None, beside: Sequence[str] = ()) -> Asked:
    """The newest hint, the greatest of several; or what two runs differ by, whether that is suspected or not.

    `beside`: the other options that are given. Raises UserError.
    """
    found = [(hint, one) for one in history.figures for hint in one.hints]
    if between is not None:
        found = [(hint, one) for one in history.figures if (hint := hint_between(history, one, *between)) is not None]
    if not found:
        raise _nothing_to_confirm(history, between, beside)
    newest = max(hint.after.number for hint, _ in found)
    hint, figure = max(
        ((hint, one) for hint, one in found if hint.after.number == newest), key=lambda one: abs(math.log(one[0].ratio))
    )
    return Asked(
        history=history,
        hint=hint,
        condition=figure.over.label,
        metric=figure.over.metric,
        key=figure.key,
        before=runs / hint.before.run,
        after=runs / hint.after.run,
    )


def _nothing_to_confirm(history: History, between: tuple[int, int] | None, beside: Sequence[str]) -> UserError:
    if between is not None:
        return UserError(
            "--between {before},{after}: {experiment} has no two such runs with a figure; `loadstone history "
            "{experiment}` numbers them",
            before=between[0],
            after=between[1],
            experiment=history.experiment,
        )
    return UserError(
        "{options}: no change of {experiment} is suspected; name two runs by their numbers: --between NO,NO",
        options=", ".join(("--confirm", *beside)),
        experiment=history.experiment,
    )


def confirm(asked: Asked, options: RunRequest, servers: tuple[Sequence[str], Sequence[str]]) -> Confirmed:
    """Measure both versions in turns. `servers`: `NAME=URL` of those before and after that the user started.

    Raises LoadstoneError.
    """
    from loadstone.cli.carry_out import carried_out
    from loadstone.experiment.spec.loading import resolve
    from loadstone.experiment.spec.problems import Source

    data, quick = _experiment(asked, servers)
    digest = hashlib.sha256(json.dumps(data, sort_keys=True, default=str).encode()).hexdigest()
    built = resolve(Source(label=str(asked.after / EXPERIMENT), data=data, digest=digest))
    budget = options.budget or BUDGET
    options = replace(options, experiment=built.name, built=built, budget=budget, quick=quick, of_folder=True)
    outcome = carried_out(options, (), Results(), show_result=_nothing)
    verdict = _verdict(outcome.analysis, asked.metric)
    return Confirmed(_kind(verdict, asked.hint), asked, verdict, outcome.folder)


def _nothing(_analysis: "Analysis", _report: Path | None, _folder: Path, _console: "Console") -> None:
    """What is said of it stands in one line."""


def _experiment(asked: Asked, servers: tuple[Sequence[str], Sequence[str]]) -> tuple[dict[str, Any], bool]:
    """The experiment that holds both versions, and whether the runs were quick. Raises UserError."""
    from loadstone.addons.history.both_versions import both_versions
    from loadstone.experiment.spec.overrides import override
    from loadstone.run_folder.earlier_runs import folder_to_resume
    from loadstone.run_folder.reading import read_run

    if asked.key.startswith(GATE_KEY):
        raise UserError(
            "--confirm: a gate measures both versions in turns; compare the heads of runs {before} and {after}: "
            "`loadstone gate --base EARLIER --head LATER`",
            before=asked.hint.before.number,
            after=asked.hint.after.number,
        )
    if asked.metric == RATIO:
        raise UserError(
            "--confirm: {condition} is a ratio of two conditions, measured in turns already; name one of them by "
            "--condition",
            condition=asked.condition,
        )
    runs = [read_run(folder_to_resume(folder, option="--confirm")) for folder in (asked.before, asked.after)]
    data = [override(run.experiment, servers=of).source.data for run, of in zip(runs, servers, strict=True)]
    condition = next((one.condition for one in runs[1].trials if _key(one.condition) == asked.key), None)
    if condition is None:
        raise UserError("--confirm: {run} has no trial of {condition}", run=asked.after, condition=asked.condition)
    metric, rate = _measured_by(asked, runs[1])
    try:
        both = both_versions(
            data[0], data[1], condition, metric, (_in_force(runs[0]), _in_force(runs[1])), rate_per_s=rate
        )
    except UserError as error:
        raise _cannot(asked, runs, error) from None
    return both, runs[1].plan.quick


def _key(condition: Mapping[str, Any]) -> str:
    from loadstone.experiment.spec.levels import identity

    return f"condition {identity(dict(condition))}"


def _in_force(run: "Run") -> dict[str, Mapping[str, Any]]:
    servers = run.environment.get("servers")
    found = servers if isinstance(servers, dict) else {}
    return {name: one["settings"] for name, one in found.items() if isinstance(one.get("settings"), dict)}


def _measured_by(asked: Asked, run: "Run") -> tuple[str, float | None]:
    """The metric that decides, and the rate at which it is measured; None: full speed, or as the experiment says."""
    if asked.metric.startswith(COST):
        return "goodput_per_s", None
    if not asked.metric.startswith(AT_RATE):
        return asked.metric, None
    from loadstone.judge.analysis.analyse import analyse_run
    from loadstone.judge.analysis.analysis import AtRate

    rows = (row for table in analyse_run(run).tables for row in table.rows)
    held = next((row.at_fixed_rate for row in rows if _key(row.condition) == asked.key), None)
    return asked.metric, held.rate_per_s if isinstance(held, AtRate) else None


def _cannot(asked: Asked, runs: Sequence["Run"], error: UserError) -> UserError:
    """Why both versions cannot be measured: of equal experiments what was recorded of the servers may still differ."""
    from loadstone.addons.history.run_differences import servers_unlike, surroundings_of
    from loadstone.report import figure_format as fmt

    names = (f"run {asked.hint.before.number}", f"run {asked.hint.after.number}")
    differs = servers_unlike(surroundings_of(runs[0]), surroundings_of(runs[1]), names)
    if not differs:
        return UserError(
            "--confirm: runs {before} and {after} are of the same versions, settings and load, by all that is "
            "recorded: not the program, but the machine, or what is not recorded. If a service of yours changed, "
            "start both versions and name them: --before NAME=URL --after NAME=URL, or use `loadstone gate`",
            before=asked.hint.before.number,
            after=asked.hint.after.number,
        )
    servers = ", ".join((runs[1].environment.get("servers") or {}).keys())
    return UserError(
        "--confirm: {error} ({differs}); start both versions and name them: --before NAME=URL --after NAME=URL "
        "(NAME: {servers}), or: `loadstone gate --base redis=VERSION --head redis=VERSION`",
        error=str(error),
        differs="; ".join(map(fmt.sentence, differs)),
        servers=servers,
    )


def _verdict(analysis: "Analysis", metric: str) -> "Verdict | None":
    """That of the figure in question; of a cost that of the part, whatever it is called in both."""
    comparisons = [one for family in analysis.families for one in family.comparisons]
    if not comparisons:
        return None
    if not metric.startswith(COST):
        return comparisons[0].primary
    costs = comparisons[0].costs
    return next((one for one in costs if one.metric in (metric, f"{COST}store")), next(iter(costs), None))


def _kind(verdict: "Verdict | None", hint: "Hint") -> Kind:
    """What a verdict says of a hint: its interval, held against no difference and against the suspected one."""
    if verdict is None or verdict.kind == "invalid":
        return "invalid"
    if verdict.low is None or verdict.high is None:
        return "undecided"
    suspected = math.log(hint.ratio)
    if verdict.low > 0 or verdict.high < 0:
        return "confirmed" if (verdict.low > 0) == (suspected > 0) else "other way"
    reaches = verdict.high if suspected > 0 else -verdict.low
    return "machine" if reaches < LARGEST_SHARE * abs(suspected) else "undecided"
