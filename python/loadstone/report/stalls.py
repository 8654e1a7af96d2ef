"""What stood still in trials that are part of the figures: the server, or loadstone itself."""

from collections.abc import Iterator

from loadstone.analyse.model import Analysis
from loadstone.report import format as fmt

CHECKS = ("stalls", "own_stalls")
_MOST = 5


def stall_lines(analysis: Analysis, most: int = _MOST) -> list[str]:
    """`set (b04-001): Nothing was answered for 2.01 s ...`, a line a trial and check; of more than `most` the first."""
    found = list(_lines(analysis))
    more = len(found) - most
    return [*found[:most], f"{more} more trials in which something stood still: see the report"] if more > 0 else found


def _lines(analysis: Analysis) -> Iterator[str]:
    labels = {name: row.label for table in analysis.tables for row in table.rows for name in row.trials}
    for trial in analysis.trials:
        for check in trial.checks:
            if check.name in CHECKS and check.verdict in ("suspect", "invalid") and check.reason is not None:
                label = labels.get(trial.trial, "")
                where = f"{fmt.plain(label)} ({trial.trial})" if label else trial.trial
                yield f"{where}: {fmt.sentence(check.reason)}"
