"""What reads found, how many keys there are, and how many rows an application stored."""

from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from loadstone.text.sentences import render_message

ResultOf = Callable[..., Any]
Line = dict[str, Any]


@pytest.mark.parametrize(("missed", "verdict"), [(0.0, "valid"), (0.009, "valid"), (0.03, "suspect"), (0.1, "invalid")])
def test_reads_must_find_what_was_stored(
    result_of: ResultOf, injectors: ModuleType, missed: float, verdict: str
) -> None:
    found = result_of("hit_rate", injectors.misses(missed))
    assert found.verdict == verdict
    assert found.measured == pytest.approx(100 * missed, abs=0.05)


def test_without_a_read_there_is_no_hit_rate(result_of: ResultOf) -> None:
    assert result_of("hit_rate") is None


def test_reads_of_keys_that_were_not_all_stored_are_suspect(result_of: ResultOf, injectors: ModuleType) -> None:
    found = result_of("hit_rate", injectors.misses(0.5), injectors.setting("facts.plan.keys.loaded", False))
    assert found.verdict == "suspect"
    assert found.measured == pytest.approx(50)
    assert "50.0 % of the reads missed" in render_message(found.reason)
    assert "add workload.load" in render_message(found.reason)


def test_reads_that_all_find_nothing_are_invalid(result_of: ResultOf, injectors: ModuleType) -> None:
    nothing = injectors.setting("facts.plan.keys.loaded", False)
    found = result_of("hit_rate", injectors.misses(1.0), nothing)
    assert found.verdict == "invalid"
    assert found.measured == 100
    assert render_message(found.reason).startswith("100 % of the reads missed (nothing was loaded: add workload.load")
    theirs = injectors.setting("facts.placement", None)
    assert result_of("hit_rate", injectors.misses(1.0), nothing, theirs).verdict == "invalid", "whoever read, too"


@pytest.mark.parametrize(
    ("designed", "missed", "verdict"),
    [("any", 1.0, "valid"), (1.0, 1.0, "valid"), (0.2, 0.2, "valid"), (0.2, 0.23, "suspect"), (0.2, 0.4, "invalid")],
)
def test_reads_may_find_nothing_where_the_experiment_says_so(
    result_of: ResultOf, injectors: ModuleType, designed: float | str, missed: float, verdict: str
) -> None:
    for loaded in (True, False):
        as_designed = [
            injectors.setting("facts.misses", designed),
            injectors.setting("facts.plan.keys.loaded", loaded),
        ]
        found = result_of("hit_rate", injectors.misses(missed), *as_designed)
        assert (found.verdict, found.measured) == (verdict, pytest.approx(100 * missed, abs=0.05))


def test_others_who_read_from_the_users_server_hide_the_hit_rate(result_of: ResultOf, injectors: ModuleType) -> None:
    theirs = injectors.setting("facts.placement", None)
    assert result_of("hit_rate", injectors.misses(0.03), theirs).verdict == "suspect"

    def others_read(line: Line) -> None:
        injectors.of_redis(line, "after")["counters"]["keyspace_misses"] += 5000

    found = result_of("hit_rate", injectors.becomes_reads, others_read, theirs)
    assert found.verdict == "unknown"
    assert "Other clients read from this server" in render_message(found.reason)


def test_a_server_that_counts_no_lookups_is_unknown(result_of: ResultOf, injectors: ModuleType) -> None:
    def uncounted(line: Line) -> None:
        injectors.becomes_reads(line)
        for side in ("before", "after"):
            del injectors.of_redis(line, side)["counters"]["keyspace_hits"]

    assert result_of("hit_rate", uncounted).verdict == "unknown"
    silent = injectors.setting("facts.servers.redis.after.counters.keyspace_hits", 0.0)
    assert result_of("hit_rate", injectors.becomes_reads, silent).verdict == "unknown"


def grows_by(injectors: ModuleType, keys: int) -> Callable[[Line], None]:
    return injectors.setting("facts.servers.redis.after.counters.keys", 1000.0 + keys)


@pytest.mark.parametrize("change", [1, -1])
def test_a_loaded_key_space_keeps_its_keys(result_of: ResultOf, injectors: ModuleType, change: int) -> None:
    found = result_of("key_count", grows_by(injectors, change))
    assert found.verdict == "invalid"
    assert f"changed by {change:+}" in render_message(found.reason)
    theirs = injectors.setting("facts.placement", None)
    assert result_of("key_count", grows_by(injectors, change), theirs).verdict == "unknown"
    assert result_of("key_count", theirs).verdict == "valid"


def empty(distribution: str, count: int, stored: int) -> Callable[[Line], None]:
    """The key space held nothing before, and so many operations stored a key."""

    def change(line: Line) -> None:
        line["facts"]["plan"]["keys"] |= {"loaded": False, "distribution": distribution, "count": count}
        line["facts"]["drive"]["total"] |= {"offered": stored, "sent": stored, "ok": stored}

    return change


@pytest.mark.parametrize("distribution", ["sequential", "exactly_once"])
@pytest.mark.parametrize(
    ("count", "stored", "keys", "verdict"),
    [(5000, 800, 800, "valid"), (5000, 800, 799, "invalid"), (5000, 800, 801, "invalid"), (500, 800, 500, "valid"),
     (500, 800, 499, "invalid")],
)  # fmt: skip
def test_keys_taken_in_order_are_known_exactly(
    result_of: ResultOf, injectors: ModuleType, distribution: str, count: int, stored: int, keys: int, verdict: str
) -> None:
    assert result_of("key_count", empty(distribution, count, stored), grows_by(injectors, keys)).verdict == verdict


@pytest.mark.parametrize(("count", "stored"), [(1, 10), (50, 400), (1000, 1000), (1000, 50), (10_000, 30_000)])
def test_random_draws_store_about_as_many_keys_as_they_must(
    result_of: ResultOf, injectors: ModuleType, count: int, stored: int
) -> None:
    for seed in range(20):
        keys = len(set(np.random.default_rng(seed).integers(0, count, stored).tolist()))
        fits = result_of("key_count", empty("uniform", count, stored), grows_by(injectors, keys))
        assert fits.verdict == "valid", (seed, keys)
    assert result_of("key_count", empty("uniform", count, stored), grows_by(injectors, count + 1)).verdict == "invalid"
    assert result_of("key_count", empty("uniform", count, stored), grows_by(injectors, 0)).verdict == "invalid"


@pytest.mark.parametrize("distribution", ["zipf", "gaussian"])
def test_of_other_draws_only_the_ends_are_known(result_of: ResultOf, injectors: ModuleType, distribution: str) -> None:
    for keys, verdict in ((0, "invalid"), (1, "valid"), (1000, "valid"), (1001, "invalid")):
        found = result_of("key_count", empty(distribution, 1000, 5000), grows_by(injectors, keys))
        assert found.verdict == verdict, keys


@pytest.mark.parametrize(
    "args", [["DEL", "{key}"], ["SET", "{key}", "x", "EX", "10"], ["LPUSH", "mylist", "x"], ["PING"]]
)
def test_commands_that_may_do_anything_to_the_number_of_keys_are_unknown(
    result_of: ResultOf, injectors: ModuleType, args: list[str]
) -> None:
    command = injectors.setting("facts.plan.operations.0.commands", [{"args": args, "expect": "any"}])
    assert result_of("key_count", command, grows_by(injectors, 7)).verdict == "unknown"


def test_reads_store_nothing(result_of: ResultOf, injectors: ModuleType) -> None:
    unloaded = injectors.setting("facts.plan.keys.loaded", False)
    assert result_of("key_count", injectors.becomes_reads, unloaded).verdict == "valid"
    found = result_of("key_count", injectors.becomes_reads, unloaded, grows_by(injectors, 1))
    assert found.verdict == "invalid"


@pytest.mark.parametrize(
    ("answered", "unknown", "grown", "verdict", "measured"),
    [
        (100, 0, 100, "valid", 0),
        (100, 0, 99, "invalid", 1),
        (100, 0, 101, "invalid", 1),
        (100, 5, 105, "valid", 0),
        (100, 5, 100, "valid", 0),
        (100, 5, 106, "invalid", 1),
        (100, 5, 90, "invalid", 10),
        (0, 0, 0, "valid", 0),
    ],
)
def test_rows_are_what_was_answered_and_at_most_what_was_sent(
    result_of: ResultOf, injectors: ModuleType, answered: int, unknown: int, grown: int, verdict: str, measured: int
) -> None:
    counted = injectors.stores(answered=answered, unknown=unknown, before=1000, after=1000 + grown)
    found = result_of("stored_rows", counted)
    assert (found.verdict, found.measured) == (verdict, measured)
    assert bool(found.reason) == (verdict == "invalid")


def test_rows_that_are_missing_and_rows_too_many_are_distinguished(result_of: ResultOf, injectors: ModuleType) -> None:
    missing = result_of("stored_rows", injectors.stores(after=2400))
    assert render_message(missing.reason) == (
        "redis has 1,400 more for 1,464 correct replies of set, too few: writes were lost, or one replaced another."
    )
    assert "too many" in render_message(result_of("stored_rows", injectors.stores(after=3000)).reason)


def test_counting_keys_would_have_said_something_else(result_of: ResultOf, injectors: ModuleType) -> None:
    found = result_of("stored_rows", injectors.stores(keys_before=0, keys_after=4392))
    assert found.verdict == "valid"
    assert render_message(found.reason) == (
        "redis has 1,464 rows more, as answered, and 4,392 keys more: counting keys is not counting rows."
    )
    assert render_message(result_of("stored_rows", injectors.stores(keys_before=0, keys_after=1464)).reason) == ""


def test_what_could_not_be_counted_is_unknown(result_of: ResultOf, injectors: ModuleType) -> None:
    found = result_of("stored_rows", injectors.stores(after=None))
    assert (found.verdict, render_message(found.reason)) == ("unknown", "What redis holds could not be counted.")
    not_ours = injectors.setting("facts.placement", None)
    assert result_of("stored_rows", injectors.stores(after=3000), not_ours).verdict == "unknown"
    assert result_of("stored_rows", injectors.stores(), not_ours).verdict == "valid"
