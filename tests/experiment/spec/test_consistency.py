"""What must fit together within one experiment; each misfit is one exact line."""

import json
from pathlib import Path

import pytest
from tests.experiments import find_experiment
from tests.readable import is_readable, names
from tests.tiny_experiment import TINY

from loadstone.experiment.spec.loading import load_experiment
from loadstone.safety.errors import UserError


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (
            "default: 1 kB",
            "default: 2 kB",
            "7: factors.payload.default: '2 kB' is no level of payload; did you mean '1 kB'? levels are: 100 B, 1 kB",
        ),
        (
            "levels: [1, 8]\n",
            "levels: [1, 8, 1]\n",
            "9: factors.workers.levels.2: '1' is given twice; remove it",
        ),
        (
            "levels: [1, 8]\n",
            "levels: [1, '']\n",
            "9: factors.workers.levels.1: '' is empty; remove it",
        ),
        (
            "  workers:\n    levels",
            "  'wor kers':\n    levels",
            "8: factors.wor kers: 'wor kers' is not a factor's name; "
            "use letters, digits and underscores, a letter first",
        ),
        (
            "few: {least: 1, most: 2}",
            "new: {least: 1, most: 2}",
            "13: factors.idle.values.new: 'new' is no level of idle; did you mean 'few'? levels are: few, many",
        ),
        (
            "few: {least: 1, most: 2}",
            "few: {least: 1}",
            "13: factors.idle.values.few: 'most' is missing, which other levels have; write it",
        ),
        (
            "      many: {least: 8, most: 8}\n",
            "",
            "12: factors.idle.values: the level 'many' has no values; write them",
        ),
        (
            "levels: [1, 8]\n",
            "levels: [1, 8]\n    off_by_default: [16]\n",
            "10: factors.workers.off_by_default: '16' is no level of workers; levels are: 1, 8",
        ),
        (
            "levels: [1, 8]\n",
            "levels: [1, 8]\n    off_by_default: ['8']\n",
            "10: factors.workers.off_by_default: '8' is no level of workers; write it without quotes; levels are: 1, 8",
        ),
        (
            "levels: [1, 8]\n",
            "levels: [1, 8]\n    off_by_default: [8, 8]\n",
            "10: factors.workers.off_by_default.1: '8' is given twice; remove it",
        ),
        (
            "levels: [1, 8]\n",
            "levels: [1, 8]\n    off_by_default: [1, 8]\n",
            "10: factors.workers.off_by_default: turns off every level of workers; leave at least one out of it",
        ),
        (
            "levels: [1, 8]\n",
            "levels: [1, 8]\n    off_by_default: [1]\n",
            "10: factors.workers.off_by_default: '1' is the level where a table or a comparison names none, "
            "and must be on; leave it out, or name another level as 'default: 8'",
        ),
        (
            "name: by-users",
            "name: by-size",
            "21: tables.1.name: 'by-size' is used twice; give each table its own name",
        ),
        (
            "      workers: [1, 8]\n",
            "      worker: [1, 8]\n",
            "25: tables.1.vary.worker: 'worker' is no factor; did you mean 'workers'? "
            "factors are: operation, payload, workers, idle",
        ),
        (
            "      workers: [1, 8]\n",
            "      workers: [1, 16]\n",
            "25: tables.1.vary.workers: '16' is no level of workers; levels are: 1, 8",
        ),
        (
            "      workers: [1, 8]\n",
            "      workers: [1, '8']\n",
            "25: tables.1.vary.workers: '8' is no level of workers; write it without quotes; levels are: 1, 8",
        ),
        (
            "      workers: [1, 8]\n",
            "      workers: [8, 8]\n",
            "25: tables.1.vary.workers.1: '8' is given twice; remove it",
        ),
        (
            "      workers: [1, 8]\n",
            "      workers: []\n",
            "25: tables.1.vary.workers: has no level; write the levels to vary, or remove the factor",
        ),
        (
            "users: ${workers}",
            "users: ${wrokers}",
            "33: workload.model.users: '${wrokers}' names no factor; did you mean 'workers'? "
            "factors are: operation, payload, workers, idle",
        ),
        (
            "users: ${workers}",
            "users: ${}",
            "33: workload.model.users: '${}' names no factor; factors are: operation, payload, workers, idle",
        ),
        (
            "${idle.least}",
            "${idle.last}",
            "36: workload.pool.min_idle: '${idle.last}' names no value of idle; did you mean 'least'? "
            "values are: least, most",
        ),
        (
            "${idle.least}",
            "${workers.least}",
            "36: workload.pool.min_idle: '${workers.least}' names no value of workers; values are: none",
        ),
        (
            "redis: {kind: embedded}",
            "redis: {kind: embedded, config: {appendonly: '${aof}'}}",
            "29: servers.redis.config.appendonly: '${aof}' names no factor; "
            "factors are: operation, payload, workers, idle",
        ),
        (
            "phases: {measure_s: 100 ms}",
            "phases: {measure_s: '${short}'}",
            "72: quick.phases.measure_s: '${short}' names no factor; factors are: operation, payload, workers, idle",
        ),
        (
            "      when: {operation: get}\n      commands",
            "      when: {operation: gte}\n      commands",
            "49: workload.operations.1.when.operation: 'gte' is no level of operation; did you mean 'get'? "
            "levels are: set, get",
        ),
        (
            "      when: {operation: get}\n      commands",
            "      when: {what: get}\n      commands",
            "49: workload.operations.1.when.what: 'what' is no factor; factors are: operation, payload, workers, idle",
        ),
        (
            "    - operation: set\n",
            "    - operation: put\n",
            "53: workload.load.0.operation: 'put' is no operation; operations: set, get",
        ),
        (
            "        along: payload\n",
            "        along: size\n",
            "59: published.0.rows.0.along: 'size' is no factor; factors are: operation, payload, workers, idle",
        ),
        (
            "        levels: [100 B, 1 kB]\n",
            "        levels: [100 B, 1 MB]\n",
            "60: published.0.rows.0.levels: '1 MB' is no level of payload; did you mean '1 kB'? "
            "levels are: 100 B, 1 kB",
        ),
        (
            "        values: [10, 20]\n",
            "        values: [10]\n",
            "61: published.0.rows.0.values: has 1 values for 2 levels; write one value for each level",
        ),
        (
            "      - where: {operation: set}\n",
            "      - where: {operation: sat}\n",
            "58: published.0.rows.0.where.operation: 'sat' is no level of operation; did you mean 'set'? "
            "levels are: set, get",
        ),
        (
            "    where: {idle: many}\n",
            "    where: {idle: most}\n",
            "69: conclusions.1.where.idle: 'most' is no level of idle; levels are: few, many",
        ),
        (
            "    against: {idle: few}\n",
            "",
            "67: conclusions.1.against: is missing; a conclusion of kind ratio needs it",
        ),
        (
            "    value: 6000\n",
            "",
            "63: conclusions.0.value: is missing; a conclusion of kind at_least needs it",
        ),
        (
            "  tables: [by-size]\n",
            "  tables: [by-sise]\n",
            "74: as_published.tables.0: 'by-sise' is no table; did you mean 'by-size'? tables are: by-size, by-users",
        ),
    ],
)
def test_a_misfit_is_one_line(small: str, old: str, new: str, expected: str) -> None:
    assert small.count(old) == 1, f"{old!r} stands {small.count(old)} times in the example"
    with pytest.raises(UserError) as caught:
        load_experiment(small.replace(old, new), label="small.yaml")
    assert str(caught.value) == f"small.yaml:{expected}"


ROOT = Path(__file__).parents[3]
UNUSED = TINY.replace("factors:\n", "factors:\n  operation: {levels: [get, mget]}\n")


def _written(folder: Path, text: str) -> str:
    path = folder / "mine.yaml"
    path.write_text(text)
    return str(path)


def test_a_factor_that_nothing_uses_is_refused(tmp_path: Path) -> None:
    file = _written(tmp_path, UNUSED)
    with pytest.raises(UserError) as caught:
        find_experiment(file)
    assert str(caught.value) == (
        f"{file}:5: factors.operation: nothing uses it: its levels would be measured alike; write ${{operation}} "
        "or when: {operation: [get]}, or alike: true if that is meant"
    )


@pytest.mark.parametrize("level", ["1", "true", "null", "1e3", "2026-01-01", "it's", "a, b", 7, True, "redis 8"])
def test_what_it_says_to_write_is_that_level(tmp_path: Path, level: str | int | bool) -> None:
    """A text that reads as a number, as true or as a date is another level than the one that is meant."""
    unused = UNUSED.replace("[get, mget]", json.dumps([level, "other"]))
    with pytest.raises(UserError) as caught:
        find_experiment(_written(tmp_path, unused))
    when = str(caught.value).partition(" or when: ")[2].partition(", or alike")[0]
    used = find_experiment(_written(tmp_path, unused.replace("{name: set,", f"{{name: set, when: {when},")))
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
    assert "operation" in find_experiment(_written(tmp_path, UNUSED.replace(old, new))).factors


def test_what_only_quick_replaces_is_no_use(tmp_path: Path) -> None:
    text = UNUSED + "quick: {phases: {warm_up_s: '${operation}'}}\n"
    with pytest.raises(UserError, match="nothing uses it"):
        find_experiment(_written(tmp_path, text))


def test_no_experiment_of_ours_has_one() -> None:
    files = [*ROOT.glob("bench/experiments/*.yaml"), *ROOT.glob("tests/examples/experiment/*.yaml")]
    files += [*ROOT.glob("experiments/*.yaml"), ROOT / "python/loadstone/cli/first_experiment.yaml"]
    assert len(files) > len(names())
    for file in filter(is_readable, files):
        find_experiment(str(file))


def test_the_newest_run_is_no_experiment() -> None:
    with pytest.raises(UserError, match="'latest' is a run, and this takes an experiment; `loadstone report latest`"):
        find_experiment("latest")
