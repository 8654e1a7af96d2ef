"""Objectives: what `--fail-if` understands, what misses them, and what cannot be determined."""

import math
from typing import Any

import pytest

from loadstone.drivers.outcome import Quantiles
from loadstone.judge.analysis.analysis import Analysis, AtRate, Comparison, ResultTable, Row, Stalls
from loadstone.judge.analysis.objectives import FailIfObjective, metric_of, missed, missed_ratios, parse_objective
from loadstone.judge.verdict import CpuCost, Side, Verdict
from loadstone.run_folder.trial import CheckResult
from loadstone.safety.errors import UserError
from loadstone.text.message import verbatim
from loadstone.text.sentences import render_message

MS = 1_000_000
CONDITION = {"operation": "set", "payload": "1 kB", "pipelined": False}


@pytest.mark.parametrize(
    ("text", "metric", "operator", "value"),
    [
        ("p99 > 5ms", "response_ns.p99", ">", 5 * MS),
        ("p99.9>=1.5 s", "response_ns.p999", ">=", 1.5e9),
        ("P50 > 300us", "response_ns.p50", ">", 300_000),
        ("p50 > 300 µs", "response_ns.p50", ">", 300_000),
        ("p50 > 5 sec", "response_ns.p50", ">", 5e9),
        ("mean > 800ns", "response_ns.mean", ">", 800),
        ("service p99 > 4ms", "service_ns.p99", ">", 4 * MS),
        ("service_max > 4ms", "service_ns.max", ">", 4 * MS),
        ("goodput < 50k", "goodput_per_s", "<", 50_000),
        ("goodput <= 50 k/s", "goodput_per_s", "<=", 50_000),
        ("tps < 1200/s", "throughput_per_s", "<", 1200),
        ("peak < 1200", "peak_per_s", "<", 1200),
        ("errors > 0.1%", "errors", ">", 0.001),
        ("  p95  >  2 ms ", "response_ns.p95", ">", 2 * MS),
    ],
)
def test_figures_with_their_units(text: str, metric: str, operator: str, value: float) -> None:
    found = parse_objective(text)
    assert (found.metric, found.operator, found.relative) == (metric, operator, False)
    assert found.value == pytest.approx(value)
    assert found.text == " ".join(text.split())


@pytest.mark.parametrize(
    ("text", "value"), [("goodput < -5%", -0.05), ("p99 > +10 %", 0.10), ("p99 > 10%", 0.10), ("tps < - 2.5%", -0.025)]
)
def test_ratios_are_relative(text: str, value: float) -> None:
    found = parse_objective(text)
    assert found.relative
    assert found.value == pytest.approx(value)


def test_where_names_conditions() -> None:
    found = parse_objective("p99 > 5ms where operation=set, payload=1000 B")
    assert found.where == (("operation", "set"), ("payload", "1000 B"))
    assert found.is_about(CONDITION)
    assert not found.is_about(CONDITION | {"payload": "100 B"})
    assert not found.is_about({"payload": "1 kB"})
    assert parse_objective("p99 > 5ms where pipelined=false").is_about(CONDITION)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "METRIC OP VALUE"),
        ("p99", "METRIC OP VALUE"),
        ("p99 = 5ms", "METRIC OP VALUE"),
        ("p99 > fast", "METRIC OP VALUE"),
        ("p99 > 5ms where", "METRIC OP VALUE"),
        ("p98 > 5ms", "no metric 'p98'"),
        ("latency > 5ms", "no metric 'latency'"),
        ("p99 > 5", "has no unit"),
        ("p99 > 5k", "the unit 'k'"),
        ("p99 > 5 h", "units here are ns, us, ms, s"),
        ("goodput < 5ms", "the unit 'ms'"),
        ("errors > 1", "has no unit"),
        ("errors < -1%", "errors have no ratio"),
        ("p99 > -5ms", "a value with a sign"),
        ("p99 > 5ms where operation", "no condition"),
        ("p99 > 5ms where operation=set,,", "no condition"),
    ],
)
def test_what_is_wrong_is_quoted_with_an_example(text: str, said: str) -> None:
    with pytest.raises(UserError) as error:
        parse_objective(text)
    assert said in str(error.value)
    assert f"--fail-if '{text}'" in str(error.value)
    assert "\n" not in str(error.value)


def test_short_names_of_metrics() -> None:
    assert metric_of("Service P99.9") == "service_ns.p999"
    assert metric_of("goodput") == "goodput_per_s"
    assert metric_of("pool p99") is None
    assert metric_of("response_ns.p99") is None


def quantiles(**changes: Any) -> Quantiles:
    given: dict[str, Any] = {"min": MS, "mean": 2.0 * MS, "p50": 2 * MS, "p90": 3 * MS, "p95": 4 * MS}
    return Quantiles(**(given | {"p99": 6 * MS, "p999": None, "max": 9 * MS} | changes))


def make_row(**changes: Any) -> Row:
    given: dict[str, Any] = {
        "condition": CONDITION,
        "label": "set, 1 kB",
        "trials": ["b01-001"],
        "verdict": "valid",
        "reasons": [],
        "operations": 10_000,
        "elapsed_s": 10.0,
        "throughput_per_s": 1000.0,
        "goodput_per_s": 990.0,
        "peak_per_s": 1100.0,
        "response_ns": quantiles(),
        "service_ns": quantiles(p99=5 * MS),
        "pool_wait_ns": None,
        "errors": {"timeout": 100},
        "cpu_share": {},
        "published": None,
        "unmeasurable": {"p999": verbatim("P99.9 needs 100,000 operations, 10,000 were measured")},
    }
    return Row(**(given | changes))


def analysis(*rows: Row) -> Analysis:
    tables = [ResultTable(name=name, title="", note="", vary={}, rows=list(rows)) for name in ("one", "again")]
    given: dict[str, Any] = {"experiment": "small", "run": "r", "question": "", "answer": verbatim("")}
    given |= dict.fromkeys(("quick", "as_published", "complete"), False)
    given |= dict.fromkeys(
        ("trials_planned", "trials_done", "trials_valid", "trials_suspect", "trials_invalid"), len(rows)
    )
    given |= {"published_source": None, "notes": [], "checks": [], "timeline": [], "environment": {}}
    return Analysis(**given, tables=tables)


def lines(objective: str, *rows: Row) -> list[str]:
    return [render_message(line) for line in missed([parse_objective(objective)], analysis(*rows))]


def test_a_kept_objective_says_nothing() -> None:
    assert lines("p99 > 6ms", make_row()) == []
    assert lines("p99 >= 6.001ms", make_row()) == []
    assert lines("goodput < 990", make_row()) == []
    assert lines("errors > 1%", make_row()) == []


def test_a_missed_one_names_condition_figure_and_objective_once() -> None:
    assert lines("p99 > 5ms", make_row()) == ["set, 1 kB: 'p99 > 5ms': missed: 6.00 ms"]
    assert lines("service p99 >= 5ms", make_row()) == ["set, 1 kB: 'service p99 >= 5ms': missed: 5.00 ms"]
    assert lines("errors > 0.9%", make_row()) == ["set, 1 kB: 'errors > 0.9%': missed: 1 %"]


def test_the_interval_stands_beside_the_figure() -> None:
    (line,) = lines("goodput < 1k", make_row(goodput_interval=(970.0, 1010.0)))
    assert line.endswith("missed: 990/s [970, 1,010]")


def test_a_suspect_figure_is_held_to_it_and_called_so() -> None:
    (line,) = lines("p99 > 5ms", make_row(verdict="suspect"))
    assert line.endswith("missed: 6.00 ms (suspect)")


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (
            {"verdict": "invalid", "goodput_per_s": None, "reasons": [verbatim("The driver was busy.")]},
            "no valid trial: The driver",
        ),
        ({"verdict": "missing", "goodput_per_s": None}, "it was not measured"),
    ],
)
def test_what_has_no_figure_never_passes(changes: dict[str, Any], said: str) -> None:
    (line,) = lines("goodput < 1", make_row(**changes))
    assert "cannot be decided: " in line
    assert said in line


def test_a_quantile_that_the_data_cannot_tell_never_passes() -> None:
    (line,) = lines("p999 > 10s", make_row())
    assert "cannot be decided: P99.9 needs 100,000 operations" in line
    (line,) = lines("p99 > 10s", make_row(response_ns=None))
    assert "cannot be decided" in line


def test_only_the_conditions_requested_count() -> None:
    get = make_row(condition=CONDITION | {"operation": "get"}, label="get, 1 kB")
    assert lines("p99 > 5ms where operation=get", make_row(), get) == [
        "get, 1 kB: 'p99 > 5ms where operation=get': missed: 6.00 ms"
    ]
    (line,) = lines("p99 > 5ms where operation=del", make_row(), get)
    assert line.endswith("cannot be decided: there is no condition where operation=del")


def test_a_ratio_needs_a_comparison() -> None:
    with pytest.raises(UserError, match="loadstone compare"):
        lines("goodput < -5%", make_row())


def comparison(low: float | None, high: float | None, kind: str = "undecided", **changes: Any) -> Comparison:
    """B against A with an interval given in per cent."""
    ends = [None if end is None else math.log1p(end / 100) for end in (low, high)]
    estimate = None if ends[0] is None or ends[1] is None else sum(ends) / 2  # type: ignore[arg-type]
    sides = [Side(condition=CONDITION | {"payload": p}, name=p, typical=1.0) for p in ("1 kB", "100 B")]
    given: dict[str, Any] = dict.fromkeys(("p_value", "total", "detectable", "more_minutes", "noise_floor"))
    given |= {"metric": "goodput_per_s", "larger_is_faster": True, "role": "primary"}
    given |= {"margin": 0.05, "kind": kind, "winner": None, "materially": False}
    given |= {
        "negligible": False,
        "blocks": 18,
        "blocks_min": 8,
        "estimate": estimate,
        "low": ends[0],
        "high": ends[1],
        "level": 0.95,
    }
    given |= {"stalls_a": 0, "stalls_b": 0, "a": sides[0], "b": sides[1], "points": []}
    return Comparison(
        name="x", question="", place="set", between="payload", primary=Verdict(**(given | changes)), exploratory=[],
        pairs=1, sequential=False, blocks_done=18, blocks_repeated=0, ended="decided", checks=[], warnings=[],
    )  # fmt: skip


GOODPUT = parse_objective("goodput < -5%")


@pytest.mark.parametrize(
    ("low", "high", "said"),
    [
        (-4.9, 3, None),
        (1, 9, None),
        (-12, -6, "missed: -9 % [-12, -6]"),
        (-12, -4, "cannot be decided: -8 % [-12, -4] lies on both sides of it"),
        (-30, 30, "cannot be decided"),
    ],
)
def test_a_ratio_is_missed_only_with_its_whole_interval(low: float, high: float, said: str | None) -> None:
    found = missed_ratios([GOODPUT], [comparison(low, high)])
    if said is None:
        assert found == []
    else:
        assert render_message(found[0]).startswith("set, 100 B against 1 kB: 'goodput < -5%': ")
        assert said in render_message(found[0])


def refusal() -> CheckResult:
    return CheckResult(name="errors", verdict="invalid", measured=4.0, limit=1.0, unit="%", reason=verbatim("So."))


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"kind": "invalid", "refusal": refusal()}, "INVALID: errors, measured 4 %, limit 1 %"),
        ({"blocks": 5}, "UNDECIDED: no interval from 5 blocks, at least 8 are needed"),
    ],
)
def test_a_ratio_without_an_interval_cannot_be_determined(changes: dict[str, Any], said: str) -> None:
    (line,) = missed_ratios([GOODPUT], [comparison(None, None, **changes)])
    assert f"cannot be decided: {said}" in render_message(line)


def test_a_ratio_of_another_metric_or_condition_cannot_be_determined() -> None:
    (line,) = missed_ratios([parse_objective("p99 > +10%")], [comparison(1, 2)])
    assert "cannot be decided: it was not compared" in render_message(line)
    (line,) = missed_ratios([parse_objective("goodput < -5% where operation=get")], [comparison(1, 2)])
    assert "there is no comparison where operation=get" in render_message(line)
    assert missed_ratios([parse_objective("goodput < -5% where payload=100 B")], [comparison(1, 2)]) == []


def test_an_objective_is_compared_as_it_was_written() -> None:
    at_limit = FailIfObjective("", "goodput_per_s", "<", 5.0, relative=False, where=())
    assert [at_limit.broken(value) for value in (4.9, 5.0, 5.1)] == [True, False, False]


def at_rate(**changes: Any) -> AtRate:
    given: dict[str, Any] = {"verdict": "valid", "reasons": [], "trials": ["at-rate-b01-001"], "rate_per_s": 500.0}
    given |= {"share": 0.5, "achieved_per_s": 500.0, "response_ns": quantiles(p99=MS), "unmeasurable": {}}
    return AtRate(**(given | {"service_ns": quantiles(p99=MS // 2)} | changes))


def test_an_objective_on_latency_means_the_fixed_rate_where_there_is_one() -> None:
    row = make_row(at_rate=at_rate(), saturated=True)
    assert lines("p99 > 5ms", row) == [], "at full speed it would be missed"
    assert lines("p99 > 500us", row) == ["set, 1 kB: 'p99 > 500us': missed: 1.00 ms at 500/s"]
    assert lines("service p99 > 500us", row) == []
    assert lines("goodput < 1000", row) != [], "a rate is that of the row"


def test_it_holds_where_only_the_rate_at_full_speed_is_refused() -> None:
    row = make_row(at_rate=at_rate(verdict="suspect"), verdict="invalid", response_ns=None)
    assert lines("p99 > 500us", row) == ["set, 1 kB: 'p99 > 500us': missed: 1.00 ms at 500/s (suspect)"]
    assert lines("p99 > 5ms", row) == []


def test_what_was_not_measured_at_the_rate_cannot_be_decided() -> None:
    missing = at_rate(verdict="missing", response_ns=None, service_ns=None, reasons=[verbatim("No time.")])
    (line,) = lines("p99 > 5ms", make_row(at_rate=missing))
    assert line == "set, 1 kB: 'p99 > 5ms': cannot be decided at a fixed rate: No time"
    (line,) = lines("p99 > 5ms", make_row(at_rate=missing, verdict="missing", reasons=[verbatim("No row.")]))
    assert line == "set, 1 kB: 'p99 > 5ms': cannot be decided: No row"
    few = at_rate(response_ns=quantiles(p99=None), unmeasurable={"p99": verbatim("too few")})
    assert lines("p99 > 5ms", make_row(at_rate=few)) == ["set, 1 kB: 'p99 > 5ms': cannot be decided: too few"]


@pytest.mark.parametrize("of", ["own", "at_rate"])
def test_a_latency_that_misses_by_what_may_be_the_generators_own_is_not_said_to_miss(of: str) -> None:
    figures: dict[str, Any] = {"response_ns": quantiles(p99=MS), "least_ns": quantiles(p99=MS // 2)}
    row = make_row(**figures) if of == "own" else make_row(at_rate=at_rate(**figures))
    (line,) = lines("p99 > 600us", row)
    assert line == "set, 1 kB: 'p99 > 600us': cannot be decided: of 1 ms at most 500 µs is the generator's own"
    assert ": missed: 1.00 ms" in lines("p99 > 400us", row)[0]
    assert lines("p99 > 2ms", row) == []


@pytest.mark.parametrize("of", ["own", "at_rate"])
def test_a_latency_that_does_not_repeat_misses_only_by_its_whole_interval(of: str) -> None:
    why = {"p99": verbatim("one slice made it")}
    figures: dict[str, Any] = {"response_ns": quantiles(p99=6 * MS), "unsettled": why, "doubted": ["p99"]}
    figures |= {"latencies_doubted": True, "response_interval_ns": {"p99": (MS, 40.0 * MS)}}
    row = make_row(**figures) if of == "own" else make_row(at_rate=at_rate(**figures))
    assert lines("p99 > 5ms", row) == ["set, 1 kB: 'p99 > 5ms': cannot be decided: one slice made it"]
    assert "missed: 6.00 ms" in lines("p99 > 500us", row)[0]
    assert lines("p99 > 500us", row)[0].endswith("(suspect)")
    assert lines("p99 > 50ms", row) == []
    assert not lines("p50 > 1ms", row)[0].endswith("(suspect)"), "another quantile may hold"


@pytest.mark.parametrize("of", ["own", "at_rate"])
def test_a_latency_that_misses_by_rare_stalls_alone_is_not_said_to_miss(of: str) -> None:
    said = verbatim("2 of 60 slices held a stall")
    stalls = Stalls(units=2, of=60, share_low=0.004, share_high=0.115, longest_ns=9e6, without_ns=4.0 * MS, said=said)
    figures: dict[str, Any] = {"response_ns": quantiles(p99=6 * MS), "stalls": {"p99": stalls}}
    figures |= {"response_interval_ns": {"p99": (3.0 * MS, 4.5 * MS)}}
    row = make_row(**figures) if of == "own" else make_row(at_rate=at_rate(**figures))
    assert lines("p99 > 5ms", row) == ["set, 1 kB: 'p99 > 5ms': cannot be decided: 2 of 60 slices held a stall"]
    assert "missed: 4.00 ms" in lines("p99 > 3.5ms", row)[0], "without them, too"


@pytest.mark.parametrize(
    ("metric", "kind", "by_cost", "leads"),
    [
        ("goodput_per_s", "undecided", "faster", "cpu_ns.redis"),
        ("goodput_per_s", "faster", "faster", "goodput_per_s"),
        ("goodput_per_s", "undecided", "undecided", "goodput_per_s"),
        ("response_ns.p99", "undecided", "faster", "response_ns.p99"),
    ],
)
def test_a_cost_answers_where_a_rate_is_open(metric: str, kind: str, by_cost: str, leads: str) -> None:
    """Of a latency it says nothing."""
    compared = comparison(-30, 30, kind=kind, metric=metric)
    cost = compared.primary.model_copy(update={"kind": by_cost, "metric": "cpu_ns.redis", "role": "cost"})
    assert compared.model_copy(update={"costs": [cost]}).leading.metric == leads


@pytest.mark.parametrize(
    ("objective", "figure"),
    [
        ("cpu > 20us", "30.0 µs [29.0 µs, 31.0 µs]"),
        ("cpu client > 20us", "25.0 µs"),
        ("cpu generator > 20us", "25.0 µs"),
    ],
)
def test_cpu_is_that_of_all_parts_or_of_one_by_the_name_that_reports_give_it(objective: str, figure: str) -> None:
    costs = {"generator": CpuCost(ns=25_000), "redis": CpuCost(ns=5_000)}
    row = make_row(costs=costs, whole_cost=CpuCost(ns=30_000, low_ns=29_000, high_ns=31_000))
    (line,) = lines(objective, row)
    assert ": missed: " in line, line
    assert figure in line
    assert lines("cpu redis > 20us", row) == []
    assert "cannot be decided" in lines("cpu spring > 20us", row)[0]
