"""Conditions with servers or applications of their own take turns where they can be up together, and nothing leaks."""

import pytest
from tests.experiments import find_experiment

from loadstone.experiment.plan.design import interleaving
from loadstone.experiment.plan.design.run_design import make_run_plan
from loadstone.experiment.plan.group import Group
from loadstone.experiment.plan.look_schedule import LOOKS, ROUND_LOOKS
from loadstone.experiment.plan.rounds import (
    APPLICATION_SETTLE_S,
    APPLICATION_SLICE_S,
    LONE_SLICE_S,
    ROUNDS_A_START,
    TABLE_ROUNDS,
    TABLE_WARM_UP_S,
    WARM_ROUNDS_MIN,
    table_rounds,
)
from loadstone.experiment.plan.run_plan import RunPlan, in_tables
from loadstone.experiment.spec.loading import load_experiment
from loadstone.text.message import Message

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
    plan = make_run_plan(find_experiment("jedis-vs-lettuce"), memory_bytes=memory_bytes)
    return next(one for one in plan.groups if one.pairs)


def test_applications_have_longer_slices_and_are_started_once() -> None:
    rounds = jedis_vs_lettuce(16 * GB).rounds
    assert rounds is not None
    assert (rounds.slice_s, rounds.settle_s, rounds.processes) == (APPLICATION_SLICE_S, APPLICATION_SETTLE_S, "once")
    assert rounds.of(0) == WARM_ROUNDS_MIN


def test_applications_that_cannot_all_be_up_are_measured_by_whole_trials() -> None:
    assert reason(jedis_vs_lettuce(2 * GB)) == "whole_trials.memory"


def reasons(study: str) -> dict[str, Message | None]:
    return {one.name: one.whole_trials for one in make_run_plan(find_experiment(study)).groups if one.pairs}


def test_databases_and_files_keep_their_studies_to_whole_trials() -> None:
    found = [*reasons("memory-vs-disk").values(), *reasons("aof-modes").values()]
    kinds = {one.kind for one in found if one is not None}
    assert kinds <= {"whole_trials.writes_on", "whole_trials.counted"}
    assert "whole_trials.writes_on" in kinds


def tables(run_plan: RunPlan) -> list[Group]:
    return [group for group in run_plan.groups if in_tables(group.name)]


def test_rows_of_one_server_take_turns(small: str) -> None:
    run_plan = make_run_plan(load_experiment(small), blocks=2)
    (table,) = tables(run_plan)
    assert table.rounds is not None
    assert (table.name, table.looks, table.whole_trials, table.warm_block) == ("table", (2,), None, False)
    for trial in run_plan.trials:
        phases = trial.plan.phases
        assert trial.in_rounds
        assert (phases.warm_up_s, phases.measure_operations) == (TABLE_WARM_UP_S, None)
        assert phases.measure_s == pytest.approx(table.rounds.of(trial.block) * table.rounds.slice_s)


def test_a_row_is_measured_for_about_as_long_as_by_whole_trials(small: str) -> None:
    (sliced,) = tables(make_run_plan(load_experiment(small)))
    (whole,) = tables(make_run_plan(load_experiment(small + "\ndesign: {rounds: never}\n")))
    assert sliced.trial_s == pytest.approx(whole.trial_s, rel=0.1)
    assert whole.whole_trials is not None
    assert whole.whole_trials.kind == "whole_trials.as_written"


def test_counts_of_the_original_are_those_of_whole_trials(small: str) -> None:
    (table,) = tables(make_run_plan(load_experiment(small), as_published=True))
    assert table.rounds is None
    assert table.whole_trials is not None
    assert table.whole_trials.kind == "whole_trials.as_published"


def test_rows_that_cannot_take_turns_say_why() -> None:
    found = tables(make_run_plan(find_experiment("aof-modes")))
    assert sum(len(group.conditions) for group in found if group.rounds is None) >= 40
    reasons = {group.whole_trials.kind for group in found if group.whole_trials is not None}
    assert reasons == {"whole_trials.subject"}
    assert all((group.rounds is None) == (group.whole_trials is not None) for group in found)
    names = [trial.name for trial in make_run_plan(find_experiment("aof-modes")).trials]
    assert len(set(names)) == len(names)


def test_a_row_alone_is_measured_in_slices_with_its_own_warm_up(small: str) -> None:
    """Loadstone's own work falls between them; nothing else has its turn meanwhile, so they may be longer."""
    every = make_run_plan(load_experiment(small)).trials[0].condition
    one = {name: (level,) for name, level in every.items()}
    (sliced,) = tables(make_run_plan(load_experiment(small), only=one))
    run_plan = make_run_plan(load_experiment(small + "\ndesign: {rounds: never}\n"), only=one)
    assert tables(run_plan)[0].rounds is None
    assert len(sliced.conditions) == 1
    assert sliced.rounds is not None
    assert sliced.rounds.measured_s <= LONE_SLICE_S
    assert sliced.rounds.upto(sliced.looks[-1]) >= TABLE_ROUNDS
    assert sliced.rounds.warm_up_s == run_plan.trials[0].plan.phases.warm_up_s


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("{args: 'SET {key} {value}', expect: ok}", "{args: 'BLPOP {key} 1'}"),
        ("kind: embedded", "kind: url, url: 'redis://db.example:6379'"),
    ],
    ids=["command", "far away"],
)
def test_a_row_alone_whose_requests_may_be_long_is_measured_by_whole_trials(small: str, old: str, new: str) -> None:
    """In a slice nothing is begun that would end far beyond it: what is slower than slices would never be seen."""
    assert old in small
    every = make_run_plan(load_experiment(small)).trials[0].condition
    changed = load_experiment(small.replace(old, new))
    (table,) = tables(make_run_plan(changed, only={name: (level,) for name, level in every.items()}))
    assert table.rounds is None
    assert table.whole_trials is not None
    assert table.whole_trials.kind == "whole_trials.unknown_times"


def test_rows_of_different_servers_are_not_together() -> None:
    run_plan = make_run_plan(find_experiment("aof-modes"), quick=True)
    for group in (one for one in tables(run_plan) if one.rounds is not None):
        trials = [trial for trial in run_plan.trials if trial.group == group.name]
        assert len(trials) > 1
        assert len({repr(trial.servers) for trial in trials}) == 1


def test_the_quick_json_study_has_one_deck_in_less_than_a_minute() -> None:
    (table,) = tables(make_run_plan(find_experiment("json-documents"), quick=True))
    assert len(table.conditions) == 50
    assert table.rounds is not None
    assert table.rounds.upto(1) >= TABLE_ROUNDS
    assert table.block_s < 45


@pytest.mark.parametrize("limit", ["CONNECTIONS_MAX", "CONDITIONS_MAX", "TOGETHER_BYTES_MAX"])
def test_what_does_not_fit_is_in_another_deck_and_curves_stay_whole(
    monkeypatch: pytest.MonkeyPatch, limit: str
) -> None:
    monkeypatch.setattr(
        interleaving, limit, {"CONNECTIONS_MAX": 640, "CONDITIONS_MAX": 10, "TOGETHER_BYTES_MAX": 60_000_000}[limit]
    )
    found = tables(make_run_plan(find_experiment("json-documents"), quick=True, only={"payload": ("100 B", "1 kB")}))
    assert len(found) > 1
    by_users = [[one["workers"] for one in group.conditions if one["workers"] != 1] for group in found]
    assert all(workers[:1] in ([], [4]) for workers in by_users), "a curve begins a deck, or is within one"


def test_a_slice_is_short_where_there_is_little_time() -> None:
    short, usual = table_rounds(1, 0.35, None), table_rounds(6, 1.7, None)
    assert short.slice_s < usual.slice_s == 0.1
    assert short.upto(1) >= TABLE_ROUNDS
    assert short.mean_measured_s == pytest.approx(0.35, abs=0.03)
    assert table_rounds(1, 4.0, 0.4).slice_s == 0.4
    assert table_rounds(6, 1.0, 10.0).upto(6) >= TABLE_ROUNDS


def test_a_block_may_have_fewer_rounds() -> None:
    rounds = table_rounds(2, 1.7, None)
    assert rounds.within(rounds.block_s(1, 7) + 0.01, 1, 7) == rounds.of(1)
    assert rounds.within(0.0, 1, 7) == 0
    half = rounds.within(rounds.opening_s(7) + 7 * 4.5 * rounds.slice_s, 1, 7)
    assert half == 4
    shorter = rounds.shortened(1, half)
    assert (shorter.of(1), shorter.of(2)) == (4, rounds.of(2))
