"""What figures mean, before how exact they are: reads that found nothing, and what is compared by keys."""

from collections.abc import Iterator, Mapping, Sequence

from loadstone.analyse.model import ResultTable, Row
from loadstone.judge.validity.keys import hit_rate
from loadstone.message import Message, message
from loadstone.plan.units import each_of, unit_of
from loadstone.record.reading import Run
from loadstone.record.trial import CheckResult, TrialRecord
from loadstone.spec.levels import identity


def meanings_of(run: Run, judged: Sequence[TrialRecord], tables: Sequence[ResultTable]) -> list[Message]:
    """A sentence each."""
    by_name = {trial.trial: trial for trial in judged}
    rows = {identity(row.condition): row for table in tables for row in table.rows}
    found = [(row, [by_name[name] for name in row.trials if name in by_name]) for row in rows.values()]
    return [*_by_units(run, judged), *_misses(found), *_appends(run)]


def _appends(run: Run) -> Iterator[Message]:
    """Of servers of the user's that take turns in slices, some of which have an append-only file.

    With servers of ours such pairs are compared by whole trials; settings of others are known only when it runs.
    """
    if not any(group.pairs and group.rounds is not None for group in run.plan.groups):
        return
    servers = run.environment.get("servers")
    found = {
        name: str(one["settings"].get("appendonly", "no")) == "yes"
        for name, one in (servers.items() if isinstance(servers, Mapping) else ())
        if isinstance(one, Mapping) and one.get("ours") is False and isinstance(one.get("settings"), Mapping)
    }
    if any(found.values()) and not all(found.values()):
        yield message("meaning.appends", servers=[name for name, appends in found.items() if appends])


def misses_percent(trials: Sequence[TrialRecord]) -> float | None:
    """Reads that found nothing, in the worst of the trials, by the server's own count; None where not known."""
    worst = _worst(trials)
    return None if worst is None else worst.measured


def _worst(trials: Sequence[TrialRecord]) -> CheckResult | None:
    checks = [check for trial in trials for check in trial.checks if check.name == hit_rate.name]
    return max((one for one in checks if one.measured is not None), key=lambda one: one.measured or 0, default=None)


def _misses(rows: Sequence[tuple[Row, Sequence[TrialRecord]]]) -> Iterator[Message]:
    """Of conditions whose reads found less than they should, or of which that is not known; alike ones together."""
    alike: dict[tuple[str, str], list[str]] = {}
    for row, trials in rows:
        worst = _worst(trials)
        if worst is None or not worst.measured or worst.verdict == "valid":
            continue
        nothing_there = worst.reason is not None and worst.reason.kind == "check.hit_rate.not_loaded"
        alike.setdefault((f"{worst.measured:.3g}", "not_loaded" if nothing_there else ""), []).append(row.label)
    for (percent, why), labels in alike.items():
        yield message("meaning.misses", labels=labels, percent=float(percent), not_loaded=bool(why))


def _by_units(run: Run, judged: Sequence[TrialRecord]) -> Iterator[Message]:
    for group in run.plan.groups:
        units = [one.units for one in judged if one.group == group.name and one.units is not None]
        if group.metric != "units_per_s" or not group.pairs or not units:
            continue
        each = each_of(one.each for one in units)
        yield message("remark.by_units", name=group.name, unit=unit_of([one.unit for one in units]), each=each)
