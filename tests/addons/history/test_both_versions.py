"""Two runs' experiments as one, whose versions take turns."""

import copy
from typing import Any

import pytest
from tests.tiny_experiment import TINY

from loadstone.addons.history.both_versions import AFTER, BEFORE, both_versions
from loadstone.experiment.spec.loading import load_experiment, resolve
from loadstone.experiment.spec.problems import Source
from loadstone.safety.errors import UserError

CONDITION = {"users": 2}
METRIC = "goodput_per_s"


def tiny(**redis: Any) -> dict[str, Any]:
    data = load_experiment(TINY).source.data
    data["servers"]["redis"] |= redis
    return resolve(Source("tiny.yaml", data)).model_dump(mode="json")


def both(before: dict[str, Any], after: dict[str, Any], in_force: dict[str, Any] | None = None) -> dict[str, Any]:
    data = both_versions(before, copy.deepcopy(after), CONDITION, METRIC, ({"redis": in_force or {}}, {}))
    resolve(Source("both.yaml", copy.deepcopy(data)))  # it holds to all rules of an experiment
    return data


def test_a_setting_becomes_a_factor() -> None:
    data = both(tiny(settings={"appendonly": "no"}), tiny(settings={"appendonly": "yes"}))
    assert data["factors"]["version"]["values"] == {
        BEFORE: {"redis_settings_appendonly": "no"},
        AFTER: {"redis_settings_appendonly": "yes"},
    }
    assert data["servers"]["redis"]["settings"] == {"appendonly": "${version.redis_settings_appendonly}"}
    (comparison,) = data["comparisons"]
    assert (comparison["levels"], comparison["baseline"]) == ([BEFORE, AFTER], BEFORE)
    assert comparison["at"] == {"users": [2]}
    assert data["name"] == "tiny-confirm"


def test_a_setting_that_was_left_to_the_server_is_as_it_was_read_back() -> None:
    data = both(tiny(), tiny(settings={"io-threads": 2}), {"io-threads": "1"})
    assert data["factors"]["version"]["values"][BEFORE] == {"redis_settings_io_threads": "1"}
    with pytest.raises(UserError, match=r"servers.redis.settings.io-threads: only one .* --before redis=URL"):
        both(tiny(), tiny(settings={"io-threads": 2}))


def test_another_kind_of_server_stands_beside_the_first() -> None:
    url = {"kind": "url", "url": "redis://127.0.0.1:7802"}
    data = both(tiny(), tiny(**url))
    assert data["servers"]["redis"]["when"] == {"version": AFTER}
    assert data["servers"]["redis-before"] == {**tiny()["servers"]["redis"], "when": {"version": BEFORE}}


def test_what_is_alike_has_no_two_versions() -> None:
    with pytest.raises(UserError, match="nothing that both experiments say"):
        both(tiny(), tiny())
