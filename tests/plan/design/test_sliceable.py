"""Conditions with servers or applications of their own take turns where they can be up together, and nothing leaks."""

import pytest

from loadstone.message import Message
from loadstone.plan.design.run_design import make_run_plan
from loadstone.plan.looks import LOOKS, ROUND_LOOKS
from loadstone.plan.rounds import APPLICATION_SETTLE_S, APPLICATION_SLICE_S, ROUNDS_A_START, WARM_ROUNDS_MIN
from loadstone.plan.run_plan import Group
from loadstone.spec.load_settings import find, load_experiment

GB = 2**30
EXPERIMENT = """\
format: 1
name: servers
question: Which one?
factors:
  kind: {levels: [a, b], title: Kind, values: {a: {threads: 1, save: "", on: "no"}, b: {threads: 2, save: B, on: ON}}}
tables: [{name: all, title: All, vary: {kind: [a, b]}}]
comparisons:
  - {name: kinds, question: Which?, between: kind, levels: [a, b]}
servers:
  redis: {kind: embedded, settings: {io-threads: "${kind.threads}", save: "${kind.save}", appendonly: "${kind.on}"}}
workload:
  model: {kind: closed, users: 8}
  pool: {connections: 8}
  phases: {measure_s: 2 s}
  keys: {count: 100}
  operations:
    - {name: set, commands: [{args: "SET {key} {value}"}]}
design: {budget: 10 min}
"""
REDIS = EXPERIMENT[EXPERIMENT.index("  redis:") : EXPERIMENT.index("workload:")]


def experiment(save: str = '""', on: str = '"no"', redis: str = REDIS) -> str:
    return EXPERIMENT.replace("save: B", f"save: {save}").replace("on: ON", f"on: {on}").replace(REDIS, redis)


def kinds(text: str, memory_bytes: int | None = None) -> Group:
    plan = make_run_plan(load_experiment(text), memory_bytes=memory_bytes)
    return next(one for one in plan.groups if one.name == "kinds")


def reason(group: Group) -> str:
    assert (group.rounds is None) == (group.whole_trials is not None)
    return group.whole_trials.kind if group.whole_trials else ""


def test_servers_that_differ_are_started_again_for_blocks_which_are_what_counts() -> None:
    found = kinds(experiment())
    assert found.rounds is not None
    assert (found.rounds.processes, found.unit, found.looks) == ("restarted", "block", LOOKS)
    assert {found.rounds.of(block) for block in range(1, LOOKS[-1] + 1)} == {ROUNDS_A_START}
    assert found.replicates(LOOKS[0]) == LOOKS[0]
    assert found.blocks_min == LOOKS[0]


def test_a_fixed_number_of_blocks_is_one_look() -> None:
    plan = make_run_plan(load_experiment(experiment()), blocks=9)
    found = next(one for one in plan.groups if one.name == "kinds")
    assert (found.looks, found.sequential, found.unit) == ((9,), False, "block")


@pytest.mark.parametrize(("save", "on"), [("60 1", '"no"'), ('""', "yes"), ('""', "true"), ('""', '"YES"')])
def test_one_that_writes_to_the_disk_goes_on_with_it_in_the_slices_of_others(save: str, on: str) -> None:
    found = kinds(experiment(save, on))
    assert reason(found) == "whole_trials.writes_on"
    assert found.whole_trials is not None
    assert found.whole_trials.figures == {"server": "redis"}


def test_one_that_all_share_may_write() -> None:
    shared = "  redis: {kind: embedded, settings: {appendonly: yes}}\n"
    text = experiment(redis=shared).replace("users: 8", 'users: "${kind.threads}"')
    found = kinds(text)
    assert found.rounds is not None
    assert found.rounds.processes == "shared"
    assert found.unit == "round"


def test_servers_of_the_users_are_never_started_again() -> None:
    text = experiment(redis='  redis: {kind: url, url: "redis://127.0.0.1:700${kind.threads}"}\n')
    found = kinds(text, memory_bytes=GB)
    assert found.rounds is not None
    assert (found.rounds.processes, found.unit) == ("once", "round")
    assert tuple(found.rounds.upto(look) for look in found.looks) == ROUND_LOOKS


def test_what_does_not_start_at_once_is_started_once() -> None:
    found = kinds(experiment(redis=REDIS.replace("kind: embedded", "kind: replicated")))
    assert found.rounds is not None
    assert found.rounds.processes == "once"


def test_what_does_not_fit_into_the_memory_together_is_measured_by_whole_trials() -> None:
    assert reason(kinds(experiment(), memory_bytes=GB // 8)) == "whole_trials.memory"
    assert reason(kinds(experiment(), memory_bytes=GB)) == ""


def jedis_vs_lettuce(memory_bytes: int | None) -> Group:
    plan = make_run_plan(find("jedis-vs-lettuce"), memory_bytes=memory_bytes)
    return next(one for one in plan.groups if one.pairs)


def test_applications_have_longer_slices_and_are_started_once() -> None:
    rounds = jedis_vs_lettuce(16 * GB).rounds
    assert rounds is not None
    assert (rounds.slice_s, rounds.settle_s, rounds.processes) == (APPLICATION_SLICE_S, APPLICATION_SETTLE_S, "once")
    assert rounds.of(0) == WARM_ROUNDS_MIN


def test_applications_that_cannot_all_be_up_are_measured_by_whole_trials() -> None:
    assert reason(jedis_vs_lettuce(2 * GB)) == "whole_trials.memory"


def reasons(study: str) -> dict[str, Message | None]:
    return {one.name: one.whole_trials for one in make_run_plan(find(study)).groups if one.pairs}


def test_databases_and_files_keep_their_studies_to_whole_trials() -> None:
    found = [*reasons("memory-vs-disk").values(), *reasons("aof-modes").values()]
    kinds = {one.kind for one in found if one is not None}
    assert kinds <= {"whole_trials.writes_on", "whole_trials.counted"}
    assert "whole_trials.writes_on" in kinds
