"""What is made of a run's folder stays as it is, byte for byte: `scripts/freeze` renews it on purpose."""

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.frozen_runs import ARITHMETIC, difference, frozen, names, unpacked

from .made_runs import made_of

ROOTS = (b"/home/", b"/root/", b"/tmp/", b"/Users/", b"%s/" % os.fsencode(Path(__file__).parents[-2]))
"""Where people and programs keep their files, and the folder below which this tree stands."""


@pytest.fixture
def _elsewhere(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Another time zone and another terminal than where they were frozen."""
    with monkeypatch.context() as patch:
        for name, value in {"TZ": "Asia/Seoul", "COLUMNS": "60", "LINES": "10", "FORCE_COLOR": "1"}.items():
            patch.setenv(name, value)
        time.tzset()
        yield
    time.tzset()


@pytest.mark.usefixtures("_elsewhere")
@pytest.mark.parametrize("name", names())
def test_it_is_made_as_before(name: str, tmp_path: Path) -> None:
    changed = difference(frozen(name), made_of(name, tmp_path))
    if changed:
        pytest.fail(f"{changed}\nif that is meant: scripts/freeze {name}, and review the difference", pytrace=False)


@pytest.mark.parametrize("name", names())
def test_it_names_no_machine(name: str, tmp_path: Path) -> None:
    run = unpacked(name, tmp_path)
    assert set(json.loads((run / "environment.json").read_bytes())["machine"]["machine_id"]) == {"0"}
    for path in run.rglob("*"):
        content = path.read_bytes() if path.is_file() else b""
        for root in ROOTS:
            assert root not in content, path


def test_a_difference_is_shown() -> None:
    name = names()[0]
    before = frozen(name)
    after = {**before, "tables.csv": before["tables.csv"].replace(b",", b";", 1)}
    shown = difference(before, after).splitlines()
    assert shown[:2] == ["--- frozen/tables.csv", "+++ now/tables.csv"]
    assert difference(before, before) == ""
    del after["analysis.json"]
    assert "+++ now/analysis.json (missing)" in difference(before, after)
    assert "more lines differ" in difference(before, after)


def test_only_the_last_digits_may_differ_where_the_arithmetic_does() -> None:
    before = {"analysis.json": b'{"p_value": 0.0016263210327624776}', ARITHMETIC: b"a"}
    rounded = {"analysis.json": b'{"p_value": 0.0016263210327624848}'}
    other = {"analysis.json": b'{"p_value": 0.0016263310327624776}'}
    assert difference(before, {**rounded, ARITHMETIC: b"b"}) == ""
    assert "0.00162633" in difference(before, {**other, ARITHMETIC: b"b"})
    assert "0.0016263210327624848" in difference(before, {**rounded, ARITHMETIC: b"a"})
