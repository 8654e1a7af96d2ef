"""Sentences about a whole analysis that several reporters share."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from loadstone.judge.analysis.analysis import Analysis, CheckSummary, ResultTable, Row, TrialView
from loadstone.judge.checks.checks import CHECKS
from loadstone.report import figure_format as fmt
from loadstone.report.tables.column import Column
from loadstone.report.tables.columns import (
    columns_for,
    fixed_rate_lines,
    suspect_lines,
    told_apart_lines,
    without_interval_lines,
)
from loadstone.run_folder.trial import CheckResult
from loadstone.text.english.figures import listed
from loadstone.text.language import _, plural, translatable, translated

LESS_IS_WORSE = frozenset(check.name for check in CHECKS if check.less_is_worse)
"""Checks whose limit is the least that is asked for."""
_STALL_CHECKS = ("stalls", "own_stalls")
_STALLS_SHOWN_MAX = 5
ERRORS_FAILED = "check.errors.failed"


def trials(analysis: Analysis) -> str:
    """What the checks say of the trials, in one sentence: `58 valid, 1 suspect and 2 invalid of 61 trials`."""
    left = max(0, analysis.trials_planned - analysis.trials_done)
    said = [_("{n} valid", n=fmt.count(analysis.trials_valid))]
    said += [_("{n} suspect", n=fmt.count(analysis.trials_suspect))] if analysis.trials_suspect else []
    said += [_("{n} invalid", n=fmt.count(analysis.trials_invalid))] if analysis.trials_invalid else []
    said += [_("{n} not run", n=fmt.count(left))] if left else []
    planned = analysis.trials_planned
    return plural(
        planned, "{listed} of {planned} trial", "{listed} of {planned} trials", listed=listed(said),
        planned=fmt.count(planned),
    )  # fmt: skip


def status_marks(analysis: Analysis) -> list[tuple[str, str]]:
    """Short labels for what kind of run this was, each with its explanation."""
    found = []
    compares = bool(analysis.tables) or not analysis.is_answered_beside_tables
    comparison = analysis.comparison
    if compares and comparison is not None and comparison.kind != "no_comparison_declared":
        found.append((fmt.sentence(comparison), _("What this run can show about differences between conditions.")))
    if analysis.quick:
        found.append((_("quick"), _("Shorter trials than the full study.")))
    if analysis.as_published:
        found.append((_("as published"), _("Uses the original study's request counts.")))
    if not analysis.complete:
        left = analysis.trials_planned - analysis.trials_done
        found.append(
            (
                _("incomplete"),
                _(
                    "{missing} of {planned} trials were not run.",
                    missing=fmt.count(left),
                    planned=fmt.count(analysis.trials_planned),
                ),
            )
        )
    return found


def time_used(analysis: Analysis) -> str:
    """`Took 12 min 3 s of a budget of 45 min 0 s.`; empty where nothing ran."""
    if not analysis.elapsed_s:
        return ""
    budget = (
        _(" of a budget of {rough_time}", rough_time=fmt.rough_time(analysis.budget_s)) if analysis.budget_s else ""
    )
    return _("Took {seconds}{budget}.", seconds=fmt.seconds(analysis.elapsed_s), budget=budget)


def scaled(analysis: Analysis) -> str:
    """Return by how much the run was made smaller than the experiment; empty where it was not."""
    if analysis.scale == 1:
        return ""
    share = fmt.percent(analysis.scale)
    return _(
        "Scaled down: rows, and users where the experiment scales them, are {share} of the full experiment.",
        share=share,
    )


_TITLES = {"hit_rate": translatable("reads that missed"), "key_count": translatable("keys too many or too few")}
"""Titles of checks whose figure is not what their name says."""


def check_title(name: str) -> str:
    """A check's name as people read it: what its figure is."""
    return fmt.plain(translated(_TITLES.get(name, name.replace("_", " "))))


def failing_first(checks: list[CheckSummary]) -> list[CheckSummary]:
    """Invalid before suspect before unknown before valid; otherwise in their own order."""
    return sorted(checks, key=lambda check: (-bool(check.invalid), -bool(check.suspect), -bool(check.unknown)))


def figure(check: CheckResult) -> str:
    """What a check measured and where its limit is: `93.4 % (limit 85 %)`."""
    measured = fmt.quantity(check.measured, check.unit)
    if check.limit is None:
        return measured
    quantity = fmt.quantity(check.limit, "" if check.unit not in fmt.SCALED_UNITS else check.unit)
    kept = check.measured is None or check.measured >= check.limit
    if check.name in LESS_IS_WORSE and (check.verdict == "unknown" or kept == (check.verdict == "valid")):
        return _("{measured} (at least {quantity})", measured=measured, quantity=quantity)
    return _("{measured} (limit {quantity})", measured=measured, quantity=quantity)


def unmeasurable_lines(columns: Sequence[Column], rows: Sequence[Row]) -> Iterator[str]:
    """A line for each quantile that cannot be measured for some condition, with the first reason as an example."""
    for column in columns:
        found = [(row, why) for row in rows if (why := column.unmeasurable(row))]
        if found:
            first, why = found[0]
            where = (
                _("any condition")
                if len(found) == len(rows)
                else _("{found} of {rows} conditions", found=len(found), rows=len(rows))
            )
            example = f"{fmt.plain(first.label)}: {why}"
            if len(found) > 1:
                example = _("e.g. {example}", example=example)
            yield _(
                "{header} cannot be measured for {where} ({example}).",
                header=column.title,
                where=where,
                example=example,
            )


def latency_lines(table: ResultTable) -> list[str]:
    """What is to be known of the latencies of a table: quantiles that it does not have, and rates that were refused."""
    columns = columns_for(table)
    return [
        *unmeasurable_lines(columns, table.rows),
        *fixed_rate_lines(table),
        *told_apart_lines(table.rows, columns),
        *suspect_lines(table.rows, columns),
        *without_interval_lines(table.rows),
    ]


def reproduce(analysis: Analysis) -> list[str]:
    """The commands that make this run again, and its report."""
    given = analysis.environment.get("command")
    switches = [name for name, on in (("--quick", analysis.quick), ("--as-published", analysis.as_published)) if on]
    composed = " ".join(["loadstone run", analysis.experiment, *switches])
    return [
        fmt.plain(given) if isinstance(given, str) and given else composed,
        fmt.plain(f"loadstone report {analysis.run}"),
    ]


def trials_by_condition(analysis: Analysis) -> dict[str, list[TrialView]]:
    """The trials of each condition, by its label, as the conditions stand in the tables; others after them."""
    rows = [row for table in analysis.tables for row in table.rows]
    place = {trial: index for index, row in reversed(list(enumerate(rows))) for trial in row.trials}
    grouped: dict[str, list[TrialView]] = {}
    for view in sorted(analysis.trials, key=lambda view: place.get(view.trial, len(rows))):
        grouped.setdefault(view.label, []).append(view)
    return grouped


def stall_lines(analysis: Analysis, most: int = _STALLS_SHOWN_MAX) -> list[str]:
    """`set (b04-001): Nothing was answered for 2.01 s ...`, a line a trial and check; of more than `most` the first."""
    found = list(_stalls(analysis))
    more = len(found) - most
    return (
        [*found[:most], _("{more} more trials in which something stood still: see the report", more=more)]
        if more > 0
        else found
    )


def _stalls(analysis: Analysis) -> Iterator[str]:
    labels = {name: row.label for table in analysis.tables for row in table.rows for name in row.trials}
    for trial in analysis.trials:
        for check in trial.checks:
            if check.name in _STALL_CHECKS and check.verdict in ("suspect", "invalid") and check.reason is not None:
                label = labels.get(trial.trial, "")
                where = f"{fmt.plain(label)} ({trial.trial})" if label else trial.trial
                yield f"{where}: {fmt.sentence(check.reason)}"


def failures_of(row: Row) -> dict[str, int]:
    """Kind -> number, the most frequent first: of the row's figures, or else of what they were refused for."""
    found = Counter({kind: count for kind, count in row.errors.items() if count})
    if not found:
        for reason in row.reasons:
            kinds = reason.figures.get("kinds") if reason.kind == ERRORS_FAILED else None
            found.update(kinds if isinstance(kinds, dict) else {})
    return dict(found.most_common())


def failure_lines(rows: Sequence[Row], most: int | None = None) -> list[str]:
    """`errors of get: server_wrongtype 9,802`, of each row that has any; in at most `most` lines."""
    named = ((row, failures_of(row)) for row in rows)
    lines = [
        _(
            "errors of {plain}: {kinds}",
            plain=fmt.plain(row.label),
            kinds=", ".join(f"{fmt.plain(kind)} {fmt.count(count)}" for kind, count in kinds.items()),
        )
        for row, kinds in named
        if kinds
    ]
    if most is None or len(lines) <= most:
        return lines
    return [*lines[: most - 1], _("... errors of {len} more rows in the report", len=len(lines) - most + 1)]


def example_lines(rows: Sequence[Row]) -> Iterator[str]:
    """`server_oom, for example: OOM command not allowed...`, each reply once, however many rows have it."""
    replies = dict.fromkeys((kind, reply) for row in rows for kind, reply in row.error_examples.items())
    for kind, reply in replies:
        yield _("{what}, for example: {example}", what=fmt.plain(kind), example=fmt.plain(reply))


class Anchors:
    """Names of anchors; None where the analysis holds no such trial."""

    def __init__(self, analysis: Analysis) -> None:
        self.conditions: list[tuple[str, str, list[TrialView]]] = []
        """Anchor, label and trials of each condition, in the order of the tables."""
        self._of_view: dict[int, str] = {}
        self._of_trial: dict[str, str] = {}
        self._condition_of: dict[str, str] = {}
        taken: set[str] = set()
        for number, (label, views) in enumerate(trials_by_condition(analysis).items(), 1):
            anchor = f"condition-{number}"
            self.conditions.append((anchor, label, views))
            for view in views:
                own = _free("trial-" + re.sub(r"[^A-Za-z0-9_-]+", "-", view.trial), taken)
                self._of_view[id(view)] = own
                self._of_trial[view.trial] = own
                self._condition_of[view.trial] = anchor

    def view(self, view: TrialView) -> str:
        """The anchor at which this trial stands."""
        return self._of_view[id(view)]

    def trial(self, name: str | None) -> str | None:
        """The anchor of a trial by its name; of several attempts, that of the last."""
        return self._of_trial.get(name or "")

    def condition(self, trials: list[str]) -> str | None:
        """The anchor of the condition that these trials belong to."""
        return next((self._condition_of[name] for name in trials if name in self._condition_of), None)


_anchored: tuple[Analysis, Anchors] | None = None
"""The analysis whose anchors were made last: the sections of one report lead to the same places."""


def anchors_of(analysis: Analysis) -> Anchors:
    """Where the trials of an analysis and their conditions stand."""
    global _anchored
    latest = _anchored
    if latest is None or latest[0] is not analysis:
        latest = _anchored = (analysis, Anchors(analysis))
    return latest[1]


def _free(anchor: str, taken: set[str]) -> str:
    """`anchor`, with a number behind it where it is taken."""
    number, found = 1, anchor
    while found in taken:
        number += 1
        found = f"{anchor}--{number}"
    taken.add(found)
    return found
