"""A factor that nothing uses is refused: its levels would be measured alike."""

import json
from pathlib import Path

import pytest
from tests.tiny_experiment import TINY

from loadstone.errors import UserError
from loadstone.spec.built_in import names
from loadstone.spec.load_settings import find

ROOT = Path(__file__).parents[2]
UNUSED = TINY.replace("factors:\n", "factors:\n  operation: {levels: [get, mget]}\n")


def _written(folder: Path, text: str) -> str:
    path = folder / "mine.yaml"
    path.write_text(text)
    return str(path)


def test_a_factor_that_nothing_uses_is_refused(tmp_path: Path) -> None:
    file = _written(tmp_path, UNUSED)
    with pytest.raises(UserError) as caught:
        find(file)
    assert str(caught.value) == (
        f"{file}:5: factors.operation: nothing uses it: its levels would be measured alike; write ${{operation}} "
        "or when: {operation: [get]}, or alike: true if that is meant"
    )


@pytest.mark.parametrize("level", ["1", "true", "null", "1e3", "2026-01-01", "it's", "a, b", 7, True, "redis 8"])
def test_what_it_says_to_write_is_that_level(tmp_path: Path, level: str | int | bool) -> None:
    """A text that reads as a number, as true or as a date is another level than the one that is meant."""
    unused = UNUSED.replace("[get, mget]", json.dumps([level, "other"]))
    with pytest.raises(UserError) as caught:
        find(_written(tmp_path, unused))
    when = str(caught.value).partition(" or when: ")[2].partition(", or alike")[0]
    used = find(_written(tmp_path, unused.replace("{name: set,", f"{{name: set, when: {when},")))
    assert used.workload.operations[0].when == {"operation": (level,)}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("SET {key} x", "SET {key} ${operation}"),
        ("{name: set,", "{name: set, when: {operation: [get, mget]},"),
        ("{kind: embedded}", "{kind: embedded, settings: {maxmemory-policy: '${operation}'}}"),
        ("levels: [get, mget]", "levels: [get, mget], alike: true"),
        ("levels: [get, mget]", "levels: [get]"),
    ],
)
def test_one_that_is_used_or_meant_is_not(tmp_path: Path, old: str, new: str) -> None:
    assert old in UNUSED
    assert "operation" in find(_written(tmp_path, UNUSED.replace(old, new))).factors


def test_what_only_quick_replaces_is_no_use(tmp_path: Path) -> None:
    text = UNUSED + "quick: {phases: {warm_up_s: '${operation}'}}\n"
    with pytest.raises(UserError, match="nothing uses it"):
        find(_written(tmp_path, text))


def test_no_experiment_of_ours_has_one() -> None:
    files = [*ROOT.glob("bench/experiments/*.yaml"), *ROOT.glob("tests/examples/experiment/*.yaml")]
    files += [*ROOT.glob("experiments/*.yaml"), ROOT / "python/loadstone/first_experiment.yaml"]
    assert len(files) > len(names())
    for file in files:
        find(str(file))


def test_the_newest_run_is_no_experiment() -> None:
    with pytest.raises(UserError, match="'latest' is a run, and this takes an experiment; `loadstone report latest`"):
        find("latest")
