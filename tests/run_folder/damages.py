"""Damages a run's folder in every way that disks, copies and editors do, and asks whether its report tells.

`python -m tests.run_folder.damages RUN --number 2000 --seed 1` damages copies of a run's folder (or of a frozen run, by
its name) and prints each damage that changed the report without a word of the file.
"""

import argparse
import json
import random
import re
import shutil
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from loadstone.judge.analysis.analyse import analyse
from loadstone.report.json_report import with_texts
from loadstone.run_folder.digests import AttemptHashes, DigestFile, digest
from loadstone.run_folder.files import (
    CRASHES,
    DIGESTS,
    ENVIRONMENT,
    EXPERIMENT,
    INTERVALS,
    LATENCY,
    LOOKS,
    PLAN,
    SAMPLES,
    TRIALS,
)
from loadstone.run_folder.lines import LineFile
from loadstone.safety.errors import LoadstoneError

Damage = Callable[[random.Random, bytes], bytes]
_BLOCK_BYTES = 512
_NUMBER = re.compile(rb"(?<=[:\[, ])-?\d+(?:\.\d+)?(?=[,\]}\n])")


def with_digests(run: Path) -> Path:
    """The folder with the digests that the run itself would have written, of a run of before."""
    (run / DIGESTS).unlink(missing_ok=True)
    with closing(DigestFile(run)) as digests:
        digests._lines = dict.fromkeys(digests._lines, 0)
        for name in (EXPERIMENT, ENVIRONMENT, PLAN):
            digests.document(name, (run / name).read_bytes())
        for name in (TRIALS, LOOKS, CRASHES):
            with closing(LineFile(run / name)) as file:
                for line in (run / name).read_bytes().splitlines(keepends=True):
                    if name == TRIALS:
                        _note_attempt(run, digests, json.loads(line))
                    digests.line(file, line)
    return run


def _note_attempt(run: Path, digests: DigestFile, trial: dict[str, Any]) -> None:
    name, attempt = trial["trial"], trial["facts"]["attempt"]
    log = run / LATENCY / f"{name}.hlog"
    if log.exists():
        digests.of_attempt(LATENCY, (name, attempt), digest(log.read_bytes()))
    for file in (INTERVALS, SAMPLES):
        hashes = AttemptHashes()
        for line in (run / file).read_bytes().splitlines(keepends=True):
            if f'"trial":"{name}","attempt":{attempt},'.encode() in line:
                hashes.add(name, line)
        digests.of_attempt(file, (name, attempt), hashes.of(name))


def _flip_a_bit(rng: random.Random, data: bytes) -> bytes:
    place = rng.randrange(len(data))
    return data[:place] + bytes([data[place] ^ 1 << rng.randrange(8)]) + data[place + 1 :]


def _change_a_digit(rng: random.Random, data: bytes) -> bytes:
    places = [found.start() for found in re.finditer(rb"\d", data)]
    if not places:
        return data
    place = rng.choice(places)
    return data[:place] + str((data[place] - 48 + rng.randrange(1, 10)) % 10).encode() + data[place + 1 :]


def _change_a_number(rng: random.Random, data: bytes) -> bytes:
    """A value is another one, and the text as well formed as before."""
    found = [*_NUMBER.finditer(data)]
    if not found:
        return data
    one = rng.choice(found)
    value = float(one[0]) * rng.choice((0.5, 0.9, 1.1, 2.0)) + rng.choice((0, 1))
    text = f"{value:.6f}" if b"." in one[0] else str(int(value))
    return data[: one.start()] + text.encode() + data[one.end() :]


def _cut_off(rng: random.Random, data: bytes) -> bytes:
    return data[: rng.randrange(len(data))]


def _cut_out(rng: random.Random, data: bytes) -> bytes:
    start = rng.randrange(len(data))
    return data[:start] + data[start + rng.randrange(1, 1000) :]


def _zero_a_block(rng: random.Random, data: bytes) -> bytes:
    start = rng.randrange(len(data)) // _BLOCK_BYTES * _BLOCK_BYTES
    length = min(_BLOCK_BYTES, len(data) - start)
    return data[:start] + bytes(length) + data[start + length :]


def _of_lines(change: Callable[[random.Random, list[bytes]], None]) -> Damage:
    def damage(rng: random.Random, data: bytes) -> bytes:
        lines = data.splitlines(keepends=True)
        change(rng, lines)
        return b"".join(lines)

    damage.__name__ = change.__name__
    return damage


def _swap_lines(rng: random.Random, lines: list[bytes]) -> None:
    a, b = rng.randrange(len(lines)), rng.randrange(len(lines))
    lines[a], lines[b] = lines[b], lines[a]


def _repeat_a_line(rng: random.Random, lines: list[bytes]) -> None:
    lines.insert(rng.randrange(len(lines) + 1), rng.choice(lines))


def _remove_a_line(rng: random.Random, lines: list[bytes]) -> None:
    del lines[rng.randrange(len(lines))]


def _remove_last_lines(rng: random.Random, lines: list[bytes]) -> None:
    del lines[-rng.randrange(1, min(len(lines), 5) + 1) :]


def _move_a_line(rng: random.Random, lines: list[bytes]) -> None:
    lines.insert(rng.randrange(len(lines)), lines.pop(rng.randrange(len(lines))))


DEFECT = "DEFECT"
WELL = {"unchanged", "noted", "refused"}
DAMAGES: tuple[Damage, ...] = (
    *(_flip_a_bit, _change_a_digit, _change_a_number, _cut_off, _cut_out, _zero_a_block),
    *map(_of_lines, (_swap_lines, _repeat_a_line, _remove_a_line, _remove_last_lines, _move_a_line)),
)


@dataclass(frozen=True)
class Told:
    """What is told of a folder: its report without notes, and the notes; or why there is none."""

    report: str
    notes: frozenset[str]
    refused: str = ""


@dataclass(frozen=True)
class Damaged:
    """A damage, and what came of it."""

    file: str
    how: str
    outcome: str
    """unchanged, noted, refused; SILENT: the report changed, and no note or refusal names the file; or DEFECT."""


def told(run: Path) -> Told:
    """What is told of this folder."""
    try:
        report: dict[str, Any] = with_texts(analyse(run))
    except LoadstoneError as error:
        return Told("", frozenset(), str(error))
    except Exception as error:  # a defect: what it is has to be seen beside the damage
        return Told("", frozenset(), f"{DEFECT} {type(error).__name__}: {error}")
    notes = report.pop("notes")
    return Told(json.dumps(report, sort_keys=True), frozenset(json.dumps(note) for note in notes))


def damaged(run: Path, number: int, seed: int) -> Iterator[Damaged]:
    """Damage a file of the folder so many times, one at a time; every file is as likely, logs of latencies together."""
    rng = random.Random(seed)
    before = told(run)
    assert not before.refused, before.refused
    files = sorted(path for path in run.rglob("*") if path.is_file() and path.stat().st_size)
    groups: dict[str, list[Path]] = {}
    for path in files:
        within = path.relative_to(run)
        groups.setdefault(within.parts[0], []).append(path)
    made = 0
    while made < number:
        path = rng.choice(groups[rng.choice(sorted(groups))])
        damage = rng.choice(DAMAGES)
        whole = path.read_bytes()
        changed = damage(rng, whole)
        if changed == whole:
            continue
        made += 1
        path.write_bytes(changed)
        try:
            after = told(run)
        finally:
            path.write_bytes(whole)
        yield Damaged(str(path.relative_to(run)), damage.__name__, _outcome(before, after, path.name))


def _outcome(before: Told, after: Told, name: str) -> str:
    if after.refused:
        defect = after.refused.startswith(DEFECT)
        return after.refused if defect else "refused" if name in after.refused else f"SILENT: {after.refused}"
    if any(name in note for note in after.notes - before.notes):
        return "noted"
    return "unchanged" if (after.report, after.notes) == (before.report, before.notes) else "SILENT"


def main() -> int:
    """1 if a damage changed a report and nothing told of it."""
    from ..frozen_runs import names, unpacked

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run", metavar="RUN", help=f"a run's folder, or one of {', '.join(names())}")
    parser.add_argument("--number", type=int, default=220)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--as-it-is", action="store_true", help="without digests where it has none")
    asked = parser.parse_args()
    with TemporaryDirectory() as folder:
        source = Path(asked.run)
        run = unpacked(asked.run, Path(folder)) if asked.run in names() else Path(folder, source.name)
        if not run.exists():
            shutil.copytree(source, run)
        if not asked.as_it_is and not (run / DIGESTS).exists():
            with_digests(run)
        outcomes: Counter[str] = Counter()
        for one in damaged(run, asked.number, asked.seed):
            outcomes[one.outcome.split()[0].rstrip(":")] += 1
            if one.outcome.partition(":")[0] not in WELL:
                print(one.file, one.how, one.outcome, sep="\t", flush=True)
    print(dict(outcomes))
    return int(not {*outcomes} <= WELL)


if __name__ == "__main__":
    sys.exit(main())
