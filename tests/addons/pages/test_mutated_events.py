"""The events of a real run, changed at random: whatever a stranger's file says, its page is shown."""

import copy
import json
import random
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.calling import called
from tests.tiny_experiment import TINY

from loadstone.addons.pages.following import Following, Tail, series
from loadstone.addons.pages.live import _ended, _pieces
from loadstone.addons.pages.live_view import LiveView
from loadstone.run_folder.files import EVENTS

from .conftest import Pages

MUTATIONS, CHUNK, KEPT = 2000, 250, 2
"""Of the chunks two are kept: the others are proofs."""
COMPARED = TINY.replace(
    "tables:",
    "comparisons: [{name: more, question: Is it faster?, between: users, levels: [1, 2], baseline: 1}]\ntables:",
).replace("measure_s: 1 s", "measure_s: 200 ms")
SEARCH = {"format": 1, "unix_s": 2.0, "what": "search", "users": 8, "rate_per_s": 1e4, "per_s": 9e3}
NUMBERS = (0, -0.0, 1, -1, 2, 5, 9.9, 0.5, -0.5, 1.0000001, 1e-9, 1e-300, 49, -49, 1e9 - 1, 1e17, -1e17, 1e308)
OTHERS: tuple[Any, ...] = (
    *(None, True, False, "", "text", "nan", "<script>", "\u202e\x1b[31m{x}%(y)s{{1}}", "x" * 3000, 10**400),
    *(float("nan"), float("inf"), [], {}, [[]], [None], [0.5], {"a": {}}, {"": ""}),
    *({"kind": "verdict_ratio", "figures": {}}, {"kind": "as_written", "figures": {"text": None}}),
)
KEYS = ("kind", "margin", "low", "count", "longer", "pairs", "looks", "parts", "errors", "left_s", "status", "agents")
BYTES = b'0123456789-.eE{}[],:"\x00\xff\n'


@pytest.fixture(scope="module")
def events(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """What a run of some seconds with a comparison told, and a step of a search."""
    folder = tmp_path_factory.mktemp("run")
    (folder / "tiny.yaml").write_text(COMPARED)
    ran = called("run", "tiny.yaml", "--budget", "8s", "--out", "runs", folder=folder, draws=False)
    assert ran.returncode in (0, 3), ran.stderr
    file = next(folder.glob(f"runs/*/{EVENTS}"))
    lines = [*map(json.loads, file.read_text().splitlines()), SEARCH]
    assert {"began", "now", "look", "cost", "log", "ended"} <= {line["what"] for line in lines}
    return lines


@pytest.mark.fault("a run's events.jsonl says anything", "its live page is shown", area="disk")
@pytest.mark.parametrize(
    "first",
    [
        pytest.param(first, marks=[pytest.mark.prove] if first >= KEPT * CHUNK else [])
        for first in range(0, MUTATIONS, CHUNK)
    ],
)
def test_whatever_a_file_tells_is_shown(events: Sequence[Mapping[str, Any]], tmp_path: Path, first: int) -> None:
    for seed in range(first, first + CHUNK):
        chance = random.Random(seed)
        written = "".join(f"{json.dumps(line)}\n" for line in mutated(events, chance)).encode()
        if chance.random() < 0.2:
            changed = bytearray(written)
            for _ in range(chance.randrange(1, 20)):
                changed[chance.randrange(len(changed))] = chance.choice(BYTES)
            written = bytes(changed)
        try:
            show(written, tmp_path, chance)
        except Exception as error:
            error.add_note(f"by the mutation of seed {seed}")
            raise


def show(written: bytes, folder: Path, chance: random.Random) -> None:
    """All pieces of the page of a run that told this."""
    (folder / EVENTS).write_bytes(written)
    run, tail, more = Following(folder), Tail(folder / EVENTS), True
    while more:
        lines, more = tail.read()
        for line in lines:
            run.told.take(line)
    run.fate = chance.choice(("running", "ended", "killed", "vanished"))
    spoken = chance.choice(("en", "ko"))
    assert _pieces(run, spoken, (-1,) * len(LiveView.PIECES), _ended(run, spoken))
    json.loads(series(run.told.points), parse_constant=pytest.fail)


def mutated(lines: Sequence[Mapping[str, Any]], chance: random.Random) -> list[dict[str, Any]]:
    """The lines with some values changed, left out, added, or said twice: each kind of line and of field alike."""
    found: list[dict[str, Any]] = [copy.deepcopy(dict(line)) for line in lines]
    for _ in range(chance.choice((1, 1, 1, 2, 3, 6))):
        kind = chance.choice(sorted({str(line.get("what")) for line in found}))
        line = chance.choice([one for one in found if str(one.get("what")) == kind])
        fields = list(fields_of(line))
        name = chance.choice(sorted({str(key) for _, key in fields}))
        within, key = chance.choice([field for field in fields if str(field[1]) == name])
        how = chance.randrange(8)
        if how < 5:
            is_number = type(within[key]) in (int, float) and chance.random() < 0.8
            within[key] = copy.deepcopy(chance.choice(NUMBERS if is_number else OTHERS))
        elif how == 5:
            del within[key]
        elif how == 6 and isinstance(within, dict):
            within[chance.choice(KEYS)] = copy.deepcopy(chance.choice((*NUMBERS, *OTHERS)))
        else:
            found.insert(chance.randrange(len(found)), copy.deepcopy(line))
    return found


def fields_of(value: Any) -> Iterator[tuple[Any, Any]]:
    """Each place of a line, at any depth: what it is in, and its key."""
    for key in list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
        yield value, key
        yield from fields_of(value[key])


@pytest.mark.parametrize(
    ("margin", "count"), [(1.0, 12), (5.0, 12), (0.05, 0.5), (0.05, 12.7), (0.05, -3)], ids=repr
)  # fmt: skip
def test_a_margin_of_all_and_looks_that_are_none_have_a_page(pages: Pages, margin: float, count: float) -> None:
    pair = {"name": "b against a", "kind": "undecided", "margin": margin, "estimate": 0.1, "low": -0.2, "high": 0.3}
    group = {"name": "g", "pairs": ["b against a"], "looks": [count, 20], "margin": margin}
    lines = [
        {"what": "began", "experiment": "e", "groups": [group]},
        {"what": "look", "group": "g", "count": 20, "pairs": [pair]},
        {"what": "look", "group": "g", "count": count, "pairs": [pair]},
    ]
    folder = pages.runs / f"20260101T000000Z-{margin}-{count}"
    folder.mkdir()
    (folder / "plan.json").write_text("{}")
    (folder / EVENTS).write_text("".join(json.dumps({"format": 1, "unix_s": 1.0, **line}) + "\n" for line in lines))
    shown = pages.client.get(f"/runs/{folder.name}")
    assert shown.status_code == 200
    assert "b against a" in shown.text
    assert "defect" not in (pages.runs.parent / "serve.err").read_text()
