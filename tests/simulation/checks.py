"""What must be true after a session, and after a day, whatever happened."""

import json
import shutil
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

from loadstone.judge.analysis.analyse import analyse
from loadstone.report.json_report import with_texts
from loadstone.run_folder.files import ANALYSIS, DIGESTS, INTERVALS, LATENCY, PLAN, SAMPLES, TRIALS
from loadstone.run_folder.ledger import CreatedObject
from loadstone.run_folder.ledger_file import RunLedger, read_ledger
from loadstone.run_folder.reading import read_run, read_trials
from loadstone.run_folder.trial import TrialRecord
from loadstone.safety import defect
from loadstone.safety.errors import Interrupted, LoadstoneError
from loadstone.servers.leftovers import remove_left

from ..fake_redis import numbered
from .day import KEPT_KEY, Day

OURS = "loadstone:"
_OF_INTERRUPTIONS = ("notes", "elapsed_s", "blocks_repeated")
"""What an analysis says of interruptions themselves."""


def after_session(day: Day, *, refusal: str, undisturbed: bool) -> Iterator[str]:
    """What is wrong as soon as the command ended. `refusal`: what it is to be refused with; empty: it is not."""
    ended, folder, happened = day.ends[-1], day.folder, day.world.happened
    if ended.status == defect.STATUS:
        yield ended.line
    if ended.status is None and undisturbed:
        yield "killed, and nobody did"
    if "\n" in ended.line:
        yield f"more than a line: {ended.line!r}"
    if ended.status == Interrupted.exit_status and not any("SIG" in fault for fault in happened):
        yield "interrupted, and nobody did"
    if ended.result is not None and ended.result.folder != folder:
        yield f"the result is of {ended.result.folder}"
    if refusal:
        if undisturbed and not (ended.status == 2 and refusal in ended.line):
            yield f"not refused ({refusal}): {ended.line}"
    elif undisturbed and ended.result is None and not (happened["server replaced"] and "version was" in ended.line):
        yield f"an undisturbed session ended by: {ended.line}"
    if undisturbed and not happened and not refusal and ended.status != 0:
        yield f"a day without faults has the status {ended.status}"
    _, advised, command = ended.line.partition("; continue with: loadstone run --resume ")
    if advised and not (Path(command.split()[0]) / PLAN).exists():
        yield f"there is no folder to go on with: {ended.line}"
    yield from _named(day)
    yield from _kept(day)


def _kept(day: Day) -> Iterator[str]:
    """What was finished is in the folder."""
    try:
        found = 0 if day.folder is None else len(read_trials(day.folder)[0])
    except LoadstoneError as error:
        found = 0
        yield f"the trials cannot be read: {error}"
    if found < day.truth.recorded:
        yield f"{day.truth.recorded} trials were finished, and {found} are there"
    day.truth.goes_on_from(found)


def _named(day: Day) -> Iterator[str]:
    """All of ours on the user's server is in the ledger, and all of theirs is there."""
    keys = day.theirs.store.keys
    if KEPT_KEY not in keys:
        yield "a key of the user's is gone"
    ours = {key for key in keys if key.startswith(OURS)}
    if not ours:
        return
    things = set[CreatedObject]()
    for ledger in day.runs.glob("*/ledger.jsonl"):
        entries = read_ledger(ledger.parent)
        things |= {thing for _, thing in entries.open} if entries else set()
    named = {numbered(thing.name, n) for thing in things for n in range(thing.count)}
    named |= {thing.name for thing in things if thing.kind == "key"}
    beginnings = tuple(thing.name for thing in things if thing.kind == "keys_beginning")
    left = sorted(key for key in ours - named if not key.startswith(beginnings))
    if left:
        yield f"no ledger names {len(left)} keys: {left[0]} ..."


def after_day(day: Day) -> Iterator[str]:
    """What is wrong with the folder that the day leaves, and with what `clean` leaves of it."""
    folder = day.folder
    if folder is not None:
        try:
            analysis = with_texts(analyse(folder))
        except LoadstoneError as error:
            yield f"the folder does not open: {error}"
            return
        trials, notes = read_trials(folder)
        if notes and not day.world.happened["power cut"]:
            yield f"damage without a power cut: {notes}"
        yield from _counts(day, trials)
        yield from _each_once(folder, trials, analysis)
        if (result := day.ends[-1].result) is not None:
            written = json.loads((folder / ANALYSIS).read_text())
            for one, what in ((with_texts(result.analysis), "shown"), (written, "written")):
                if one != analysis:
                    yield f"the analysis that was {what} is another one: {_difference(one, analysis)}"
        if len(day.ends) > 1 and (difference := _differs_unbroken(day, folder, analysis)):
            yield f"the same records unbroken give another analysis: {difference}"
    yield from _cleaned(day)


def _counts(day: Day, trials: list[TrialRecord]) -> Iterator[str]:
    """What is recorded of each trial is what was driven."""
    run = read_run(day.folder or Path())
    newest = {trial.trial: trial for trial in trials}
    sums = Counter[str]()
    for name, intervals in run.intervals.items():
        sums[name] = sum(line.ok for line in intervals)
    for trial in trials:
        if not trial.drive:
            continue
        driven = [ok for counts, ok in day.truth.counts[trial.started_unix_ns] if counts == trial.counts]
        if not driven:
            yield f"{trial.trial}: nothing was driven as recorded: {trial.counts}"
        elif newest[trial.trial] is trial and not run.notes and sums[trial.trial] not in driven:
            yield f"{trial.trial}: its intervals have {sums[trial.trial]} correct replies, and it had {driven}"


def _each_once(folder: Path, trials: list[TrialRecord], analysis: Any) -> Iterator[str]:
    """No block is measured again once it is whole, and none counts twice."""
    planned: dict[tuple[str, int, int], set[str]] = {}
    plan = json.loads((folder / PLAN).read_text())
    for line in (*plan["trials"], *(trial for stage in plan.get("longer", ()) for trial in stage["trials"])):
        planned.setdefault((line["group"], line.get("stage", 0), line["block"]), set()).add(line["trial"])
    done: dict[tuple[str, int, int], set[str]] = {}
    order: dict[tuple[str, int, int], int] = {}
    for trial in trials:
        block = (trial.group, trial.stage, trial.block)
        if trial.block and done.get(block) == planned.get(block):
            yield f"{trial.trial}: block {block} was measured already"
        if block not in order or trial.order <= order[block]:
            done[block] = set()
        done[block].add(trial.trial)
        order[block] = trial.order
    for row in (row for table in analysis["tables"] for row in table["rows"]):
        if len(row["trials"]) != len(set(row["trials"])):
            yield f"a row counts a trial twice: {row['trials']}"


def _differs_unbroken(day: Day, folder: Path, analysis: Any) -> str:
    """The same records as a run would have written them that nothing interrupted; where their analysis differs."""
    into = day.root / "unbroken" / folder.name
    shutil.copytree(folder, into)
    (into / DIGESTS).unlink(missing_ok=True)
    newest = {trial.trial: trial.facts.attempt for trial in read_trials(folder)[0]}
    for name in (TRIALS, INTERVALS, SAMPLES):
        kept = []
        for line in (into / name).read_bytes().splitlines(keepends=True):
            try:
                record = json.loads(line)
            except ValueError:
                continue
            attempt = record["facts"]["attempt"] if name == TRIALS else record["attempt"]
            if newest.get(record["trial"]) == attempt:
                kept.append(line)
        (into / name).write_bytes(b"".join(kept))
    for log in (into / LATENCY).iterdir():
        if log.stem not in newest:
            log.unlink()
    return _difference(with_texts(analyse(into)), analysis)


def _difference(one: Any, other: Any, path: str = "") -> str:
    """Where two analyses differ first; their notes and the folders' names aside."""
    if isinstance(one, dict) and isinstance(other, dict):
        keys = [key for key in {**one, **other} if key not in _OF_INTERRUPTIONS]
        return next(filter(None, (_difference(one.get(key), other.get(key), f"{path}.{key}") for key in keys)), "")
    if isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        pairs = enumerate(zip(one, other, strict=True))
        return next(filter(None, (_difference(a, b, f"{path}[{n}]") for n, (a, b) in pairs)), "")
    return "" if one == other else f"{path}: {str(one)[:150]} / {str(other)[:150]}"


def _cleaned(day: Day) -> Iterator[str]:
    """`loadstone clean` removes all of ours, and no more."""
    for file in day.runs.glob("*/ledger.jsonl"):
        with closing(RunLedger(file.parent)) as ledger:
            for place, things in ledger.left().items():
                for result in remove_left(day.theirs.control(), ledger.run_id, things):
                    if not result.left:
                        ledger.removed(place, result.thing)
    keys = day.theirs.store.keys
    if set(keys) != {KEPT_KEY}:
        yield f"after cleaning: {len(keys)} keys, as {sorted(keys)[0]}"
