"""What to do after a run, as a command that can be pasted."""

import math
import shlex
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from loadstone.analyse.model import Analysis, Comparison
from loadstone.message import Message, message
from loadstone.report import format as fmt
from loadstone.report.trust import different_rows
from loadstone.report.verdicts import all_comparisons
from loadstone.runs import NEVER_TAKEN, OF_ONE_START, hides_secret, options_given

_WITH_VALUE = {"--resume", "--budget", "--out", "--prometheus"}
"""Options of the run that the next one has otherwise, or not."""


class NextStep(NamedTuple):
    """Why, in short, and the command."""

    why: str
    command: str


def next_step(analysis: Analysis, folder: Path | None) -> NextStep | None:
    """The command that helps most after this run; None where none is known that would work as it stands."""
    given = _given(analysis)
    if given is None:
        return _tables(folder)
    if analysis.needed_budget_s:
        why = _why(message("next_longer_budget"))
        return NextStep(why, _command(given, budget=_time(analysis.needed_budget_s)))
    figures = analysis.saturations or any(row.goodput_per_s for row in different_rows(analysis))
    if analysis.complete and not figures:
        return NextStep(_why(message("next_doctor")), "loadstone doctor")
    open_ones = [one for one in all_comparisons(analysis) if one.primary.kind == "undecided"]
    if folder is not None and not analysis.complete:
        return NextStep(_why(message("next_resume")), _command(given, resume=folder))
    if folder is not None and (minutes := _more_minutes(analysis, open_ones)) is not None:
        why = _why(message("next_more_time", undecided=len(open_ones)))
        return NextStep(why, _command(given, resume=folder, budget=f"{minutes}m"))
    if analysis.quick:
        why = _why(message("next_full", undecided=len(open_ones)))
        return NextStep(why, _command(argument for argument in given if argument != "--quick"))
    return _tables(folder)


def _tables(folder: Path | None) -> NextStep | None:
    if folder is None:
        return None
    arguments = ["loadstone", "report", str(folder), "--format", "html,csv,md"]
    return NextStep(_why(message("next_tables")), fmt.plain(shlex.join(arguments)))


def _more_minutes(analysis: Analysis, undecided: Sequence[Comparison]) -> int | None:
    """The whole budget with which what the time left undecided may be decided; None if no time would help."""
    waiting = [one for one in undecided if one.ended == "out of budget" and one.primary.more_minutes is not None]
    if not waiting:
        return None
    each: dict[str, float] = {}
    for one in waiting:
        each[one.name] = max(each.get(one.name, 0.0), one.primary.more_minutes or 0.0)
    return math.ceil(max(analysis.elapsed_s, analysis.budget_s) / 60 + sum(each.values()))


def _time(seconds: float) -> str:
    """As `--budget` takes it: `35s`, `5m`."""
    return f"{seconds:.0f}s" if seconds < 120 else f"{math.ceil(seconds / 60)}m"


def _why(reason: Message) -> str:
    return fmt.sentence(message("next_step", why=reason))


def _given(analysis: Analysis) -> list[str] | None:
    """The command that made the run, without options that the next one has otherwise; None if it cannot be given again.

    A secret in it was replaced when it was recorded: then it does not work as it stands.
    """
    arguments = options_given(analysis.environment.get("command"))
    return None if not arguments or hides_secret(arguments) else ["loadstone", *_kept(arguments)]


def _kept(arguments: Sequence[str]) -> Iterator[str]:
    passed_over = False
    for argument in arguments:
        if passed_over or argument in OF_ONE_START | NEVER_TAKEN or argument.partition("=")[0] in _WITH_VALUE:
            passed_over = not passed_over and argument in _WITH_VALUE
        else:
            yield argument


def _command(arguments: Iterable[str], resume: Path | None = None, budget: str = "") -> str:
    added = [*(["--budget", budget] if budget else []), *(["--resume", str(resume)] if resume is not None else [])]
    return fmt.plain(shlex.join([*arguments, *added]))
