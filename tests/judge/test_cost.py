"""What a request costs: figures, intervals, and verdicts beside noise that moves rates and not costs."""

import math
from typing import Any

import numpy as np
import pytest
from tests.changed_facts import with_drive, with_facts

from loadstone.judge.compare.pairs import Pair, PairBlock
from loadstone.judge.cost import RATIO_SD, RATIO_Z, compare_costs, costs_of, parts_with_cost, whole_cost
from loadstone.judge.statistics.rounds.interference_adjustment import SLOPE_SDS
from loadstone.judge.statistics.settings import Settings
from loadstone.judge.verdict import Verdict
from loadstone.run_folder.trial import CheckResult, TrialRecord
from loadstone.text.sentences import render_message

REDIS = {"redis": "redis", "generator": "driver", "host": "host"}
ROUNDS = 48
SLICE_S = 0.1
DRIVER_S = 0.01


def in_slices(synthetic: Any, spent: list[dict[str, float | None]], replies: list[int], **changes: Any) -> TrialRecord:
    """A trial of slices: seconds of CPU of each part, and correct replies."""
    made: TrialRecord = synthetic.make_trial()
    others = changes.get("others", [None] * len(replies))
    slices = [
        {"round": number, "position": 0, "begin_s": float(number), "end_s": number + SLICE_S, "ok": ok,
         "completed": ok, "drained_s": number + SLICE_S, "offered": ok, "failed": 0, "cpu_s": DRIVER_S,
         "cpus_busy_s": None if share is None else 2 * SLICE_S * share + DRIVER_S + sum(of_slice.values()),
         "parts": {part: {"cpu_s": seconds} for part, seconds in of_slice.items()}}
        for number, (of_slice, ok, share) in enumerate(zip(spent, replies, others, strict=True))
    ]  # fmt: skip
    parts = dict.fromkeys(spent[0], 1.0) | changes.get("cpu_s", {})
    made = with_facts(made, kinds=changes.get("kinds", REDIS))
    cpus = {str(cpu): {"busy_s": 1.0, "idle_s": 1.0, "steal_s": 0.0} for cpu in range(2)}
    return with_drive(made, slices=slices, cpus=cpus).model_copy(update={"cpu_s": parts})


def noisy(synthetic: Any, cost_us: float, seed: int, spread: float = 0.03, **changes: Any) -> TrialRecord:
    """Slices that a neighbour leaves a tenth to all of their time: rates vary tenfold, the cost by 3 %."""
    rng = np.random.default_rng(seed)
    replies = rng.integers(500, 5_000, ROUNDS).tolist()
    spent = [ok * cost_us * 1e-6 * math.exp(rng.normal(0, spread)) for ok in replies]
    return in_slices(synthetic, [{"redis": seconds} for seconds in spent], replies, **changes)


def pair(a: TrialRecord, b: TrialRecord, **settings: Any) -> Pair:
    judged_by = Settings(metric="goodput_per_s", names=("json", "hash"), unit="round", **settings)
    return Pair({"a": a.condition, "b": b.condition}, (PairBlock(1, a, b),), judged_by)  # type: ignore[arg-type]


def judged(a: TrialRecord, b: TrialRecord, **settings: Any) -> list[Verdict]:
    return compare_costs(pair(a, b, **settings))


def test_a_cost_is_cpu_over_correct_replies(synthetic: Any) -> None:
    trial = in_slices(synthetic, [{"redis": 0.01}] * 10, [1_000, 3_000] * 5)
    cost = costs_of([trial])["redis"]
    assert cost.ns == pytest.approx(5_000)
    assert cost.low_ns is not None
    assert cost.high_ns is not None
    assert cost.low_ns < 5_000 < cost.high_ns


def test_a_cost_is_that_of_whole_turns_where_they_were_read(synthetic: Any) -> None:
    """The ends of a window lie in the midst of a server's work, where the kernel's count is up to 4 ms behind."""
    windows = noisy(synthetic, 5.0, seed=1, spread=0.05)
    made = in_slices(synthetic, [{"redis": 0.01}] * ROUNDS, [2_000] * ROUNDS)
    slices = [
        {**one, "turn_ok": 2_500, "parts": {"redis": {**one["parts"]["redis"], "turn_cpu_s": 0.0150}}}
        for one in made.model_dump()["facts"]["drive"]["slices"]
    ]
    turns = with_drive(made, slices=slices)
    assert costs_of([made])["redis"].ns == pytest.approx(5_000)
    cost = costs_of([turns])["redis"]
    assert (cost.ns, cost.low_ns, cost.high_ns) == pytest.approx((6_000, 6_000, 6_000))
    (verdict,) = judged(windows, turns)
    assert verdict.b.typical == pytest.approx(6_000)
    # A part of a condition whose turns were not read, as in runs of before: all of its slice is that of the window.
    slices[0]["parts"]["redis"]["turn_cpu_s"] = None
    old = costs_of([with_drive(made, slices=slices)])["redis"]
    assert old.ns == pytest.approx((47 * 6_000 + 5_000) / 48)


def test_a_slice_without_a_reply_costs_too(synthetic: Any) -> None:
    trial = in_slices(synthetic, [{"redis": 0.01}] * 10, [1_000] * 9 + [0])
    cost = costs_of([trial])["redis"]
    assert cost.ns == pytest.approx(1e8 / 9_000)
    assert cost.low_ns is not None
    assert cost.high_ns is not None
    assert cost.low_ns < cost.ns < cost.high_ns


def test_a_slice_in_which_a_part_did_not_run_leaves_the_cost_of_the_others(synthetic: Any) -> None:
    """It had stood still, or had no CPU."""
    trial = in_slices(synthetic, [{"redis": 0.01}] * 9 + [{"redis": 0.0}], [1_000] * 9 + [0])
    cost = costs_of([trial])["redis"]
    assert cost.ns == pytest.approx(10_000)
    assert cost.low_ns is not None
    assert costs_of([in_slices(synthetic, [{"redis": 0.0}] * 10, [1_000] * 10)]) == {}


def test_whole_trials_have_a_cost_and_no_interval(synthetic: Any) -> None:
    made: TrialRecord = with_facts(synthetic.make_trial(), kinds=REDIS).model_copy(update={"cpu_s": {"redis": 2.0}})
    cost = costs_of([made])["redis"]
    assert cost.ns == pytest.approx(2e9 / (made.goodput_per_s * made.duration_s))
    assert cost.low_ns is None


def test_all_parts_together_have_an_interval_of_their_sum_and_stand_in_the_order_of_the_way(synthetic: Any) -> None:
    """Where one part takes what the other saves, the sum is steadier than its parts."""
    rng = np.random.default_rng(7)
    moved = rng.uniform(-0.004, 0.004, ROUNDS)
    spent: list[dict[str, float | None]] = [{"redis": 0.01 + one, "spring": 0.05 - one} for one in moved]
    kinds = {**REDIS, "spring": "subject"}
    trials = [in_slices(synthetic, spent, [1_000] * ROUNDS, kinds=kinds)]
    costs = costs_of(trials)
    assert list(costs) == ["spring", "redis"]
    whole = whole_cost(trials, costs)
    assert whole is not None
    assert whole.ns == pytest.approx(60_000)
    assert whole.ns == pytest.approx(sum(cost.ns for cost in costs.values()))
    assert whole.low_ns is not None
    assert whole.high_ns is not None
    widest = max((cost.high_ns or 0) - (cost.low_ns or 0) for cost in costs.values())
    assert whole.low_ns <= whole.ns <= whole.high_ns
    assert whole.high_ns - whole.low_ns < widest / 10
    assert whole_cost([], {}) is None


def with_parts(trial: TrialRecord, **figures: float) -> TrialRecord:
    own = trial.cpu_s["redis"] / trial.duration_s
    return with_facts(trial, parts={"redis": {"mean_share": own, **figures}})


def test_what_a_part_started_is_in_the_cost_of_whole_trials(synthetic: Any) -> None:
    made: TrialRecord = with_facts(synthetic.make_trial(), kinds=REDIS).model_copy(update={"cpu_s": {"redis": 2.0}})
    replies, length_s = made.goodput_per_s * made.duration_s, made.duration_s
    trial = with_parts(made, main_thread_share=1.5 / length_s, system_share=0.8 / length_s, children_s=0.5)
    cost = costs_of([trial])["redis"]
    assert cost.ns == pytest.approx(2.5e9 / replies)
    found = (cost.main_ns, cost.system_ns, cost.children_ns)
    assert found == pytest.approx((1.5e9 / replies, 0.8e9 / replies, 0.5e9 / replies))
    older = costs_of([made])["redis"]
    assert (older.ns, older.system_ns, older.children_ns) == (pytest.approx(2e9 / replies), None, None)
    blocks = [PairBlock(number, made, trial) for number in range(1, 14)]
    settings = Settings(metric="goodput_per_s", names=("json", "hash"))
    compared = Pair({"a": made.condition, "b": made.condition}, tuple(blocks), settings)  # type: ignore[arg-type]
    (verdict,) = compare_costs(compared)
    assert verdict.estimate == pytest.approx(math.log(1.25)), "the condition that causes a save pays for it"


def test_ticks_of_a_short_time_tell_nothing_of_the_kernel(synthetic: Any) -> None:
    made: TrialRecord = with_facts(synthetic.make_trial(), kinds=REDIS).model_copy(update={"cpu_s": {"redis": 0.9}})
    assert costs_of([with_parts(made, system_share=0.1)])["redis"].system_ns is None
    assert costs_of([with_parts(made, system_share=0.1)] * 2)["redis"].system_ns is not None


def test_what_a_part_started_beside_slices_is_named_and_not_in_their_cost(synthetic: Any) -> None:
    trial = in_slices(synthetic, [{"redis": 0.01}] * 10, [1_000, 3_000] * 5)
    beside = with_parts(trial, children_s=0.02)
    cost = costs_of([beside])["redis"]
    assert cost.ns == pytest.approx(5_000)
    assert cost.children_ns == pytest.approx(1_000)


@pytest.mark.parametrize("last", [{"redis": None}, {}])
def test_a_part_that_slices_did_not_observe_has_no_cost(synthetic: Any, last: dict[str, float | None]) -> None:
    """A server elsewhere reports its CPU itself, but for all conditions that take turns on it together."""
    trial = in_slices(synthetic, [{"redis": 0.01}] * 9 + [last], [1_000] * 10)
    assert costs_of([trial]) == {}
    whole: TrialRecord = with_facts(synthetic.make_trial(), kinds=REDIS).model_copy(update={"cpu_s": {"redis": 2.0}})
    assert costs_of([whole, trial]) == {}


def test_which_parts_have_a_cost(synthetic: Any) -> None:
    kinds = {**REDIS, "app": "subject", "redis.link": "link"}
    observed = dict.fromkeys(["redis-1", "redis-2", "redis", "app-1", "redis.link", "loadstone", "generator"], 0.1)
    made = with_facts(synthetic.make_trial(), kinds=kinds).model_copy(update={"cpu_s": observed})
    assert parts_with_cost(made) == {"redis": ("redis-1", "redis-2"), "app": ("app-1",)}


@pytest.mark.parametrize(
    ("observed", "counted"),
    [
        (["redis", "redis-replica-1", "redis-replica-2"], {"redis": ("redis", "redis-replica-1", "redis-replica-2")}),
        (["redis", "redis-1", "redis-replica-1"], {"redis": ("redis-1", "redis-replica-1")}),
        (["app", "app-worker-1", "app-worker-2"], {"app": ("app",)}),
        (["app-1", "app-1-worker-1", "app-2", "app-2-worker-1"], {"app": ("app-1", "app-2")}),
        (["app-worker-1", "app-worker-2"], {"app": ("app-worker-1", "app-worker-2")}),
    ],
)
def test_each_process_counts_once(synthetic: Any, observed: list[str], counted: dict[str, tuple[str, ...]]) -> None:
    made = with_facts(synthetic.make_trial(), kinds={**REDIS, "app": "subject"})
    assert parts_with_cost(made.model_copy(update={"cpu_s": dict.fromkeys(observed, 0.1)})) == counted


def test_a_trial_that_hardly_asked_a_server_leaves_the_row_its_cost(synthetic: Any) -> None:
    kinds = {**REDIS, "app": "subject"}
    made: TrialRecord = with_facts(synthetic.make_trial(), kinds=kinds)
    asked, hardly, never = (made.model_copy(update={"cpu_s": {"app": 2.0, "redis": s}}) for s in (1.0, 0.03, 0.0))
    assert set(costs_of([asked, hardly])) == {"app", "redis"}
    assert set(costs_of([hardly, hardly])) == {"app"}
    assert set(costs_of([never, hardly])) == {"app"}


def test_a_node_that_one_trial_did_not_observe_leaves_no_verdict(synthetic: Any) -> None:
    whole: TrialRecord = with_facts(synthetic.make_trial(), kinds=REDIS)
    both, one = (
        whole.model_copy(update={"cpu_s": dict.fromkeys(nodes, 1.0)}) for nodes in (["redis-1", "redis-2"], ["redis-1"])
    )
    blocks = [PairBlock(1, both, both), *(PairBlock(number, both, one) for number in range(2, 14))]
    settings = Settings(metric="goodput_per_s", names=("json", "hash"))
    compared = Pair({"a": both.condition, "b": both.condition}, tuple(blocks), settings)  # type: ignore[arg-type]
    assert compare_costs(compared) == []


def test_a_difference_in_cost_is_found_where_rates_say_nothing(synthetic: Any) -> None:
    (verdict,) = judged(noisy(synthetic, 10.0, seed=1), noisy(synthetic, 7.6, seed=2))
    assert (verdict.kind, verdict.winner, verdict.metric) == ("faster", "b", "cpu_ns.redis")
    assert verdict.low is not None
    assert verdict.high is not None
    assert verdict.low < math.log(0.76) < verdict.high
    assert render_message(verdict.said).startswith("hash uses 24 % [2")
    assert render_message(verdict.said).endswith("less redis CPU per request")
    assert render_message(verdict.brief) == render_message(verdict.said)


def test_the_dearer_side_may_be_the_second(synthetic: Any) -> None:
    (verdict,) = judged(noisy(synthetic, 7.6, seed=1), noisy(synthetic, 10.0, seed=2))
    assert render_message(verdict.said).startswith("hash uses 32 % [2")


def test_equal_costs_are_called_the_same(synthetic: Any) -> None:
    (verdict,) = judged(noisy(synthetic, 10.0, seed=1, spread=0.01), noisy(synthetic, 10.0, seed=2, spread=0.01))
    assert verdict.kind == "equivalent"
    assert render_message(verdict.said) == "both use the same redis CPU per request within 5 %"


def test_what_others_add_is_no_part_of_the_difference(synthetic: Any) -> None:
    """A program that comes and goes makes the second dearer by a fifth where it uses the machine whole."""
    rng = np.random.default_rng(3)
    others = np.repeat(rng.permutation([0.0, 0.8] * (ROUNDS // 8)), 4)
    spent = [
        [{"redis": cost * math.exp(dearer * share + rng.normal(0, 0.01))} for share in others]
        for cost, dearer in ((0.01, 0.1), (0.008, 0.3))
    ]
    found = []
    for recorded in (others.tolist(), [None] * ROUNDS):
        a, b = (in_slices(synthetic, side, [1_000] * ROUNDS, others=recorded) for side in spent)
        found += judged(a, b)
    ends = [(verdict.low, verdict.high) for verdict in found]
    (low, high), (low_before, high_before) = ends
    assert low is not None
    assert high is not None
    assert low_before is not None
    assert high_before is not None
    assert low <= math.log(0.8) <= high < low + 0.15 < low_before + (high_before - low_before)
    assert found[0].estimate == pytest.approx(math.log(0.8), abs=0.015)
    assert found[1].estimate is not None
    assert found[1].estimate > math.log(0.8) + 0.03


def test_others_that_never_pause_make_the_interval_wider(synthetic: Any) -> None:
    """Nothing tells what they add."""
    rng = np.random.default_rng(5)
    sides = [[{"redis": cost * math.exp(rng.normal(0, 0.01))} for _ in range(ROUNDS)] for cost in (0.01, 0.008)]
    widths = []
    for share in (0.0, 0.5):
        a, b = (in_slices(synthetic, side, [1_000] * ROUNDS, others=[share] * ROUNDS) for side in sides)
        (verdict,) = judged(a, b)
        assert verdict.low is not None
        assert verdict.high is not None
        widths.append(verdict.high - verdict.low)
    assert widths[0] < 0.1
    assert widths[1] > 2 * RATIO_Z * 0.5 * SLOPE_SDS[0] > 1.5 * widths[0]


def test_a_gate_asks_for_the_two_here_and_now(synthetic: Any) -> None:
    """Whatever others add, both have it in turns; and it says nothing of another run."""
    rng = np.random.default_rng(5)
    sides = [[{"redis": cost * math.exp(rng.normal(0, 0.01))} for _ in range(ROUNDS)] for cost in (0.01, 0.008)]
    found = []
    for share in (0.0, 0.5):
        a, b = (in_slices(synthetic, side, [1_000] * ROUNDS, others=[share] * ROUNDS) for side in sides)
        (verdict,) = judged(a, b, compares_runs=False)
        found.append((verdict.estimate, verdict.low, verdict.high))
    assert found[0] == found[1]
    (estimate, low, high), _ = found
    assert estimate is not None
    assert low is not None
    assert high is not None
    assert high - low < 2 * RATIO_Z * RATIO_SD
    assert low < math.log(0.8) < high


def test_an_interval_holds_what_another_run_would_show(synthetic: Any) -> None:
    """However many rounds there are: they are of one run."""
    a, b = ([{"redis": seconds}] * ROUNDS for seconds in (0.01, 0.008))
    (verdict,) = judged(in_slices(synthetic, a, [1_000] * ROUNDS), in_slices(synthetic, b, [1_000] * ROUNDS))
    reach = RATIO_Z * RATIO_SD
    assert verdict.low == pytest.approx(math.log(0.8) - reach, abs=1e-6)
    assert verdict.high == pytest.approx(math.log(0.8) + reach, abs=1e-6)


def test_slices_that_disagree_with_their_sum_leave_it_open(synthetic: Any) -> None:
    """Most slices of the second cost less, and one in eight so much more that all together cost more."""
    spent = [{"redis": 0.2 if number % 8 == 7 else 0.004} for number in range(2 * ROUNDS)]
    usual = in_slices(synthetic, [{"redis": 0.01}] * 2 * ROUNDS, [1_000] * 2 * ROUNDS)
    mixed = in_slices(synthetic, spent, [1_000] * 2 * ROUNDS)
    (verdict,) = judged(usual, mixed)
    assert (verdict.kind, verdict.winner) == ("undecided", None)
    assert render_message(verdict.said).endswith("; most slices say so, and all slices together the opposite")


@pytest.mark.parametrize(("last_s", "kind"), [(0.01, "faster"), (0.004, "undecided")])
def test_what_still_gets_cheaper_has_no_verdict_yet(synthetic: Any, last_s: float, kind: str) -> None:
    """Processes that were started once: a JVM compiles, and asks its server differently, until it is warm."""
    warming = [{"redis": seconds} for seconds in np.linspace(0.01, last_s, ROUNDS)]
    a = in_slices(synthetic, warming, [1_000] * ROUNDS)
    b = in_slices(synthetic, [{"redis": 0.8 * used["redis"]} for used in warming], [1_000] * ROUNDS)
    (verdict,) = judged(a, b, started_once=True)
    assert (verdict.kind, verdict.estimate) == (kind, pytest.approx(math.log(0.8)))
    assert ("; it still moved by 1" in render_message(verdict.said)) is (kind == "undecided")
    (verdict,) = judged(a, b)
    assert verdict.kind == "faster", "a server that both conditions share is no matter of it"


def test_of_processes_that_were_started_once_no_further_run_is_spoken_of(synthetic: Any) -> None:
    a, b = noisy(synthetic, 5.0, seed=1, spread=0.005), noisy(synthetic, 5.1, seed=2, spread=0.005)
    (these,), (next_run,) = judged(a, b, started_once=True), judged(a, b)
    assert (these.negligible, these.low > 0) == (True, True), "2 % are found"
    assert (next_run.kind, next_run.low < 0) == ("equivalent", True)


def test_too_few_rounds_leave_it_open(synthetic: Any) -> None:
    a, b = (in_slices(synthetic, [{"redis": s}] * 6, [1_000] * 6) for s in (0.01, 0.008))
    (verdict,) = judged(a, b)
    assert render_message(verdict.said) == "which uses less CPU of redis is UNDECIDED"


def test_servers_of_different_names_are_compared_as_stores(synthetic: Any) -> None:
    kinds = {"mariadb": "mariadb", "generator": "driver", "app": "subject"}
    redis = in_slices(
        synthetic, [{"redis": 0.01, "app": 0.02}] * ROUNDS, [1_000] * ROUNDS, kinds={**REDIS, "app": "subject"}
    )
    other = in_slices(synthetic, [{"mariadb": 0.03, "app": 0.02}] * ROUNDS, [1_000] * ROUNDS, kinds=kinds)
    found = {verdict.metric: verdict for verdict in judged(redis, other)}
    assert set(found) == {"cpu_ns.store", "cpu_ns.app"}
    assert found["cpu_ns.store"].winner == "a"
    assert found["cpu_ns.app"].kind == "equivalent"


def test_what_a_check_forbids_has_no_cost(synthetic: Any) -> None:
    refusal = CheckResult(name="errors", verdict="invalid", measured=0.5, limit=0.01, unit="")
    refused = pair(noisy(synthetic, 10.0, seed=1), noisy(synthetic, 7.6, seed=2))
    assert compare_costs(Pair(refused.design, refused.blocks, refused.settings, refusal=refusal)) == []


@pytest.mark.prove
@pytest.mark.parametrize("true", [0.0, 0.1])
def test_level_and_coverage(synthetic: Any, true: float) -> None:
    """Of 60 pairs that differ from run to run by as much as is taken for granted."""
    rng = np.random.default_rng(7)
    missed = 0
    for seed in range(60):
        of_run = rng.normal(0, RATIO_SD)
        a, b = (
            noisy(synthetic, 10.0, seed=2 * seed),
            noisy(synthetic, 10.0 * math.exp(true + of_run), seed=2 * seed + 1),
        )
        (verdict,) = judged(a, b)
        assert verdict.low is not None
        assert verdict.high is not None
        missed += not verdict.low <= true <= verdict.high
    assert missed <= 3


ABSURD = [-1e308, -1.0, 5e-324, 1e308, math.inf]


@pytest.mark.parametrize("seconds", ABSURD)
def test_figures_that_nobody_measured_give_no_cost(synthetic: Any, seconds: float) -> None:
    """A run's folder may hold any numbers."""
    made = in_slices(synthetic, [{"redis": seconds}] * 12, [1_000] * 12)
    whole = with_drive(made, slices=[]).model_copy(update={"cpu_s": {"redis": seconds}})
    for trial in (made, whole):
        assert costs_of([trial] * 6).get("redis") is None
        assert all(math.isfinite(one.estimate or 0.0) for one in judged(trial, trial))
