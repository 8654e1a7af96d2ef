"""What a reader must know of a run: what its figures mean, how far it came, and what of the machine distorts it."""

from collections.abc import Iterator, Mapping, Sequence
from statistics import median
from typing import Any

from loadstone.experiment.plan.operation_units import each_of, unit_of
from loadstone.experiment.spec.levels import identity
from loadstone.judge.analysis.analysis import MachineSpeed, ResultTable, Row
from loadstone.judge.analysis.completion import is_complete, is_finished, needed_trials
from loadstone.judge.checks.data import hit_rate
from loadstone.run_folder.facts import LinkFacts
from loadstone.run_folder.reading import RecordedRun
from loadstone.run_folder.trial import CheckResult, TrialRecord
from loadstone.text.message import Message, message, verbatim

APART_MAX = 0.10
"""J: a condition whose trials met a machine that was slower or faster by more than this is named."""
TRIALS_MIN = 3


def machine_speed(trials: Sequence[TrialRecord]) -> list[MachineSpeed]:
    """Each CPU's time for the piece of work over all trials: the median, and how far 8 of 10 lie from it."""
    times: dict[str, list[float]] = {}
    for trial in trials:
        for cpu, both in trial.facts.speed.items():
            times.setdefault(cpu, []).extend(both)
    return [_of(cpu, found) for cpu, found in sorted(times.items()) if len(found) >= TRIALS_MIN]


def slower_than_usual(trials: Sequence[TrialRecord], usual: Sequence[MachineSpeed]) -> Message | None:
    """What is to be said of a condition whose trials met another machine than the rest; None if they did not."""
    ratios = []
    for one in usual:
        met = [time for trial in trials for time in trial.facts.speed.get(one.cpu, ())]
        if met and one.typical_ns > 0:
            ratios.append((median(met) / one.typical_ns, one.cpu))
    worst, cpu = max(ratios, key=lambda ratio: abs(ratio[0] - 1), default=(1.0, ""))
    if abs(worst - 1) <= APART_MAX:
        return None
    return message("row.other_speed", cpu=cpu, slower=worst - 1)


def _of(cpu: str, times: Sequence[float]) -> MachineSpeed:
    ordered, last = sorted(times), len(times) - 1
    typical = median(ordered)
    low, high = ordered[round(0.1 * last)], ordered[round(0.9 * last)]
    return MachineSpeed(cpu=cpu, typical_ns=typical, spread=round(high / low - 1, 4) if low > 0 else 0.0)


FALLEN_BACK = frozenset({"missing", "disabled", "forbidden", "too_old", "no_room", "unsuitable"})
"""Why io_uring was not used although nobody has decided against it."""


def published_sources(sources: Sequence[str]) -> Message | None:
    """Where the original's figures come from: the study, and what else of it is printed; None without any."""
    first, *others = dict.fromkeys(" ".join(source.split()) for source in sources) or [""]
    return message("published_sources", study=first, others=others) if first or others else None


def notes_of(run: RecordedRun, judged: Sequence[TrialRecord]) -> list[Message]:
    """One sentence each."""
    return [
        *map(verbatim, run.all_notes),
        *_course(run, judged),
        *_surroundings(run.environment, servers=bool(run.experiment.servers)),
    ]


def _course(run: RecordedRun, judged: Sequence[TrialRecord]) -> Iterator[Message]:
    if not is_complete(run):
        yield _cut_short(run)
    yield from _beyond_budget(run)
    yield from _measured_again(run)
    if cpus := [message("note_speed_of_cpu", cpu=one.cpu, spread_share=one.spread) for one in machine_speed(judged)]:
        yield message("note_speed_varied", cpus=cpus)
    yield from _back_end_notes(judged)
    yield from _link_notes(judged)
    otherwise = sum(then.verdict != now.verdict for then, now in zip(run.trials, judged, strict=True))
    if otherwise:
        yield message("note_judged_otherwise", trials=otherwise)
    if run.plan.quick and (left_out := [table.title for table in run.experiment.tables if not table.quick]):
        yield message("note_left_out_of_quick", tables=left_out)
    if run.plan.as_published and run.experiment.as_published is not None and run.experiment.as_published.note:
        yield verbatim(" ".join(run.experiment.as_published.note.split()))


def _cut_short(run: RecordedRun) -> Message:
    """Return the note of a run that was cut short. If a group may stop early, no one knows beforehand how many trials
    it needs: at most so many."""
    open_ended = any(group.sequential and not is_finished(run, group.name) for group in run.plan.groups)
    needed = len(needed_trials(run))
    return message("note_cut_short", done=len(run.trials), needed=needed, at_most=open_ended, folder=str(run.path))


def _beyond_budget(run: RecordedRun) -> Iterator[Message]:
    """Conditions of a table that the budget did not reach."""
    done = {trial.trial for trial in run.trials}
    tables = {group.name for group in run.plan.groups if not group.pairs}
    first = [line for line in run.plan.trials if line.group in tables and line.block == 1]
    left = sum(line.trial not in done for line in first)
    if left and all(is_finished(run, name) for name in tables):
        yield message("note_beyond_budget", left=left, conditions=len(first), folder=str(run.path))


def _measured_again(run: RecordedRun) -> Iterator[Message]:
    """Trials that were measured again after an interruption (`--resume`)."""
    if run.superseded:
        blocks = {(trial.group, trial.block) for trial in run.superseded}
        yield message("note_measured_again", trials=len(run.superseded), blocks=len(blocks))


def _surroundings(environment: Mapping[str, Any], *, servers: bool) -> Iterator[Message]:
    """Settings of the machine that distort figures, where they are so."""
    kernel, machine = _part(environment, "kernel"), _part(environment, "machine")
    engine = _part(_part(environment, "versions"), "engine")
    if engine.get("profile") not in (None, "release"):
        yield message("note_engine_build", profile=engine["profile"])
    if kernel.get("transparent_huge_pages") == "always":
        yield message("note_huge_pages")
    if servers and kernel.get("overcommit_memory") == 0:
        yield message("note_overcommit")
    if isinstance(machine.get("cpu_limit"), (int, float)):
        yield message("note_cpu_limit", cpus=machine["cpu_limit"])
    governor = machine.get("frequency_governor")
    if governor not in (None, "performance"):
        yield message("note_frequency_governor", governor=governor)
    if _part(environment, "placement").get("shared"):
        yield message("note_shared_cpus")
    others = environment.get("other_runs")
    if isinstance(others, list) and others:
        yield message("note_other_runs", runs=[str(one.get("run")) for one in others if isinstance(one, Mapping)])


def _part(record: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    value = record.get(key)
    return value if isinstance(value, Mapping) else {}


def _back_end_notes(trials: Sequence[TrialRecord]) -> Iterator[Message]:
    """The generator fell back to another interface of the system: a sentence for each reason."""
    drives = (trial.facts.drive for trial in trials)
    found = {drive.back_end for drive in drives if drive is not None and drive.back_end is not None}
    reasons = {one.why_not_io_uring for one in found if one.name == "epoll" and one.why_not_io_uring in FALLEN_BACK}
    for reason in sorted(str(one) for one in reasons):
        yield message("note_back_end", reason=reason)


def _link_notes(trials: Sequence[TrialRecord]) -> Iterator[Message]:
    """A sentence for each server and each delay of its line: medians over the trials, and over their CPU."""
    found: dict[tuple[str, int], list[tuple[LinkFacts, float | None]]] = {}
    for trial in trials:
        for server, link, cores in _links(trial):
            found.setdefault((server, link.requested_ns), []).append((link, cores))
    for (server, requested_ns), links in sorted(found.items()):
        added = [link.added_ns for link, _ in links if link.added_ns is not None]
        in_drives = [figures for link, _ in links if (figures := link.added_in_drive_ns) is not None]
        used = [share for _, share in links if share is not None]
        yield message(
            "note_link",
            server=server,
            requested_ns=requested_ns,
            added_ns=[median(figures) for figures in zip(*added, strict=True)],
            in_drives_ns=[median(figures) for figures in zip(*in_drives, strict=True)],
            cpu_share=median(used) if used else None,
        )


def _links(trial: TrialRecord) -> Iterator[tuple[str, LinkFacts, float | None]]:
    for server, link in trial.facts.links.items():
        part = trial.facts.parts.get(link.part)
        yield server, link, None if part is None else part.mean_share


def meanings_of(run: RecordedRun, judged: Sequence[TrialRecord], tables: Sequence[ResultTable]) -> list[Message]:
    """A sentence each."""
    by_name = {trial.trial: trial for trial in judged}
    rows = {identity(row.condition): row for table in tables for row in table.rows}
    found = [(row, [by_name[name] for name in row.trials if name in by_name]) for row in rows.values()]
    return [*_by_units(run, judged), *_misses(found), *_appends(run)]


def _appends(run: RecordedRun) -> Iterator[Message]:
    """Yield notes on the user's servers that take turns in slices if some of them have an append-only file.

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


def _worst(trials: Sequence[TrialRecord]) -> CheckResult | None:
    checks = [check for trial in trials for check in trial.checks if check.name == hit_rate.name]
    return max(
        (check for check in checks if check.measured is not None), key=lambda one: one.measured or 0, default=None
    )


def _misses(rows: Sequence[tuple[Row, Sequence[TrialRecord]]]) -> Iterator[Message]:
    """Yield notes on conditions whose reads found less than they should, or of which that is not known; alike ones
    together."""
    alike: dict[tuple[str, str], list[str]] = {}
    for row, trials in rows:
        worst = _worst(trials)
        if worst is None or not worst.measured or worst.verdict == "valid":
            continue
        nothing_there = worst.reason is not None and worst.reason.kind == "check.hit_rate.not_loaded"
        alike.setdefault((f"{worst.measured:.3g}", "not_loaded" if nothing_there else ""), []).append(row.label)
    for (percent, why), labels in alike.items():
        yield message("meaning.misses", labels=labels, percent=float(percent), not_loaded=bool(why))


def _by_units(run: RecordedRun, judged: Sequence[TrialRecord]) -> Iterator[Message]:
    for group in run.plan.groups:
        units = [one.units for one in judged if one.group == group.name and one.units is not None]
        if group.metric != "units_per_s" or not group.pairs or not units:
            continue
        each = each_of(unit.each for unit in units)
        yield message("remark.by_units", name=group.name, unit=unit_of([unit.unit for unit in units]), each=each)
