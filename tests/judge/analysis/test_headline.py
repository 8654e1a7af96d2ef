"""The headline names figures that have an interval, and never the best of many."""

from types import ModuleType
from typing import Any

import pytest
from tests.verdicts import verdict

from loadstone.drivers.outcome import Quantiles
from loadstone.judge.analysis.analysis import Answer, Comparison, Family, HeadlineOfLevels, ResultTable, Row
from loadstone.judge.analysis.comparisons import _contrary_warning
from loadstone.judge.analysis.headline import cost_sentence, headline, opening
from loadstone.judge.verdict import COST, UNBOUNDED, CpuCost, GeneratorBound, Side
from loadstone.text.message import Message, verbatim
from loadstone.text.sentences import render_message

NOTHING = dict.fromkeys(("min", "mean", "p50", "p90", "p95", "p99", "p999", "max"))
VARY: dict[str, list[Any]] = {"operation": ["set", "get"], "payload": ["100 B", "1 kB"], "workers": [32]}


def row(goodput: float, width: float | None = 0.02, verdict: str = "valid", **changes: Any) -> Row:
    """A row whose interval reaches `width` to both sides; None: it has none."""
    fields = {name: changes.pop(name) for name in ("bound", "blocks") if name in changes}
    condition = {"operation": "set", "payload": "1 kB", "workers": 32, "idle": "few"} | changes
    usable = verdict in ("valid", "suspect")
    return Row(
        condition=condition, label=", ".join(map(str, condition.values())), trials=["b01-001"], verdict=verdict,
        reasons=[], operations=1, elapsed_s=1.0, throughput_per_s=goodput if usable else None,
        goodput_per_s=goodput if usable else None, peak_per_s=None,
        response_ns=Quantiles(**NOTHING | {"p99": 5000}), service_ns=None, pool_wait_ns=None, errors={}, cpu_share={},
        published=None, unmeasurable={}, goodput_interval=width and (goodput * (1 - width), goodput * (1 + width)),
        **{"blocks": 1 if width is None else 12} | fields,
    )  # fmt: skip


def table(*rows: Row, **vary: Any) -> ResultTable:
    return ResultTable(name="by-size", title="", note="", vary=VARY | vary, rows=list(rows))


def of(synthetic: ModuleType, *tables: ResultTable, quick: bool = False, **changes: Any) -> str:
    return render_message(headline(synthetic.make_experiment(**changes), tables, quick=quick))


def test_it_names_the_rows_that_have_an_interval(synthetic: ModuleType) -> None:
    found = of(synthetic, table(row(200.0), row(400.0, operation="get")))
    assert found == "At 1 kB, 32 workers: set 200 [196, 204] and get 400 [392, 408] correct replies a second."


def test_a_table_that_varies_nothing_has_one_figure(synthetic: ModuleType) -> None:
    one = ResultTable(name="all", title="", note="", vary={}, rows=[row(200.0)])
    assert of(synthetic, one) == "200 [196, 204] correct replies a second."


def test_a_single_trial_is_never_named_however_good(synthetic: ModuleType) -> None:
    best = row(97_200.0, None, payload="100 B")
    found = of(synthetic, table(row(200.0), row(400.0, operation="get"), best), quick=True)
    assert "97" not in found
    assert found.endswith("correct replies a second (quick run).")


@pytest.mark.parametrize("better", ["100 B", "1 kB"])
def test_which_place_is_named_does_not_depend_on_the_figures(synthetic: ModuleType, better: str) -> None:
    rows = [row(900.0 if payload == better else 300.0, payload=payload) for payload in ("100 B", "1 kB")]
    assert of(synthetic, table(*rows)).startswith("At 100 B, 32 workers: set ")


def test_the_place_with_the_most_levels_is_named(synthetic: ModuleType) -> None:
    rows = [row(900.0, payload="100 B"), row(200.0), row(300.0, operation="get")]
    assert of(synthetic, table(*rows)).startswith("At 1 kB, 32 workers: set 200 [196, 204] and get 300 ")


def test_a_table_of_one_kind_of_work_is_reported_by_what_it_varies(synthetic: ModuleType) -> None:
    found = of(synthetic, table(row(100.0), row(200.0, payload="100 B"), operation=["set"]))
    assert found.startswith("At set, 32 workers: 1 kB 100 [98, 102] and 100 B 200 [196, 204] correct")


def test_a_figure_carries_its_bound(synthetic: ModuleType) -> None:
    bounds = [
        GeneratorBound(generator=0.03, taken=0.01),
        GeneratorBound(generator=0.004, taken=0.0),
        GeneratorBound(generator=12.0, taken=None),
    ]
    words = [of(synthetic, table(row(200.0, bound=bound))) for bound in bounds]
    assert words[0].startswith("At 1 kB, 32 workers: set 200 [196, 204] (up to +5 %) correct")
    assert words[1].startswith("At 1 kB, 32 workers: set 200 [196, 204] correct")
    assert words[2].startswith("At 1 kB, 32 workers: set 200 [196, 204] (no upper bound) correct")
    assert bounds[2].total >= UNBOUNDED


def test_round_trips_of_one_user_do_not_stand_for_a_capacity(synthetic: ModuleType) -> None:
    alone = GeneratorBound(generator=None, taken=0.0, round_trip=True)
    single = [row(10.0, bound=alone, workers=1), row(11.0, bound=alone, workers=1, operation="get")]
    assert of(synthetic, table(*single, row(200.0), workers=[1, 32])).startswith("At 1 kB, 32 workers: set 200")


def test_without_an_interval_it_says_what_the_run_can_tell(synthetic: ModuleType) -> None:
    once = table(row(200.0, None), row(300.0, None, payload="100 B"))
    assert of(synthetic, once, quick=True) == (
        "2 conditions were measured once: the tables describe this run, and no figure has an interval (quick run)."
    )
    thrice = table(row(200.0, None, blocks=3))
    assert of(synthetic, thrice) == (
        "The one condition was measured 3 times: the tables describe this run, and no figure has an interval."
    )


def test_a_latency_has_no_interval_in_a_row_and_is_left_to_its_verdicts(synthetic: ModuleType) -> None:
    found = of(synthetic, table(row(200.0)), primary_metric="response_ns.p99")
    assert found == "The one condition was measured; the tables show how often, with the intervals of the rates."


def test_a_latency_that_is_compared_is_named(synthetic: ModuleType) -> None:
    """`2 conditions were measured; the tables show how often` said nothing of what decides."""
    metric = "response_ns.p99"
    pair = Comparison.model_construct(primary=verdict("undecided", -10, -20, 3))
    family = Family.model_construct(name="against", metric=metric, comparisons=[pair])
    experiment = synthetic.make_experiment(primary_metric=metric)
    found = render_message(headline(experiment, [table(row(200.0), row(1.0, operation="get"))], [family], quick=False))
    by = "compared by the P99 of the response time; the table has each one's own"
    assert found == f"2 conditions were measured and {by}."


def test_suspect_figures_are_called_so(synthetic: ModuleType) -> None:
    assert of(synthetic, table(row(200.0, verdict="suspect"))).endswith("correct replies a second (suspect).")


def test_without_a_usable_figure_there_is_none(synthetic: ModuleType) -> None:
    found = render_message(
        opening(synthetic.make_experiment(), [table(row(1.0, None, "invalid"))], [], quick=False).answer
    )
    assert found == "No trial gave a usable figure; the checks give the reasons."
    assert of(synthetic).startswith("Nothing was measured")


class Told(Answer):
    """What an add-on has to say."""

    said: Message

    def headline(self) -> Message:
        return self.said


def test_what_an_add_on_says_comes_after_the_figures_or_in_their_place(synthetic: ModuleType) -> None:
    said = "local: SATURATES at 4 users."
    points = [Told(said=verbatim(said))]
    refused, measured = table(row(200.0, verdict="invalid")), table(row(200.0), row(400.0, operation="get"))
    of_refused = opening(synthetic.make_experiment(), [refused], [], answers=points, quick=False).answer
    assert render_message(of_refused) == said
    of_measured = render_message(
        opening(synthetic.make_experiment(), [measured], [], answers=points, quick=False).answer
    )
    assert of_measured.startswith("At 1 kB, 32 workers: set 200")
    assert said in of_measured


class Levels(Answer):
    """What an add-on knows of so many levels."""

    of: int

    def headline_of_levels(self, *_: Any, quick: bool) -> HeadlineOfLevels:
        return HeadlineOfLevels(self.of, verbatim(f"It knows {self.of}{' quickly' if quick else ''}."))


@pytest.mark.parametrize(
    ("known", "said"),
    [
        ((), "At 1 kB, 32 workers: set 200 "),
        ((1,), "At 1 kB, 32 workers: set 200 "),
        ((2,), "It knows 2."),
        ((2, 3), "It knows 3."),
    ],
)
def test_what_an_add_on_knows_of_as_many_levels_opens_the_report(
    synthetic: ModuleType, known: tuple[int, ...], said: str
) -> None:
    tables = [table(row(200.0), row(400.0, operation="get"))]
    answers = [Levels(of=number) for number in known]
    found = render_message(headline(synthetic.make_experiment(), tables, answers=answers, quick=False))
    assert found.startswith(said)


def sides(a: str, b: str, place: str = "set", **costs: tuple[float, float]) -> Comparison:
    """A pair of conditions and what a request typically cost either, in ns, by part."""
    condition = dict(zip(("a", "b"), ({"way": name} for name in (a, b)), strict=True))
    both = {end: Side(name=name, condition=condition[end]) for end, name in (("a", a), ("b", b))}
    by_cost = [
        verdict("undecided", 3, -9, 20, metric=f"{COST}{part}", role="cost").model_copy(
            update={end: both[end].model_copy(update={"typical": ns}) for end, ns in zip("ab", typical, strict=True)}
        )
        for part, typical in costs.items()
    ]
    primary = verdict("undecided", -10, -20, 3).model_copy(update=both)
    return Comparison.model_construct(place=place, primary=primary, costs=by_cost)


def costing(*families: list[Comparison], rows: dict[str, dict[str, CpuCost]] | None = None) -> str:
    """What a request costs, by these comparisons, and rows of a table by their way."""
    known = [
        row(1.0).model_copy(update={"condition": {"way": way}, "label": way, "costs": of})
        for way, of in (rows or {}).items()
    ]
    compared = [Family.model_construct(name=str(number), comparisons=one) for number, one in enumerate(families)]
    return render_message(cost_sentence([table(*known)], compared))


def test_the_opening_says_what_a_request_costs_each_side_of_the_widest_comparison() -> None:
    """Also of a side that no table has; and at the first place alone."""
    ways = [sides("json", name, redis=(8_600, ns)) for name, ns in (("hash", 6_900), ("string", 6_000))]
    elsewhere = sides("json", "hash", "get", redis=(1, 1))
    found = costing(
        [sides("set", "update", redis=(9, 9))], [*ways, elsewhere], rows={"json": {"redis": CpuCost(ns=8_500)}}
    )
    assert found == "CPU per request of redis at set: json 8.5 µs, hash 6.9 µs and string 6.0 µs."


def test_several_parts_stand_behind_their_sum() -> None:
    rows = {
        "jedis": {"spring": CpuCost(ns=94_000), "redis": CpuCost(ns=9_700)},
        "direct": {"generator": CpuCost(ns=25_000), "redis": CpuCost(ns=650)},
        "native": {"redis": CpuCost(ns=5_800)},
    }
    found = costing([sides("jedis", "direct", ""), sides("jedis", "native", "")], rows=rows)
    assert found == (
        "CPU per request: jedis 104 µs (spring 94 µs + redis 9.7 µs), direct 26 µs (client 25 µs + redis 650 ns) and "
        "native 5.8 µs (redis)."
    )


def test_servers_of_several_names_need_none() -> None:
    rows = {name: {name: CpuCost(ns=7_000)} for name in ("redis", "valkey")}
    assert (
        costing([sides("redis", "valkey", "get")], rows=rows)
        == "CPU per request at get: redis 7.0 µs and valkey 7.0 µs."
    )


def test_where_what_is_compared_has_no_cost_rows_of_a_table_have() -> None:
    """A budget ended before the application was warm; the libraries alone had been measured."""
    rows = {"jedis": {"redis": CpuCost(ns=9_700)}, "lettuce": {"redis": CpuCost(ns=4_000)}, "warm": {}}
    found = costing([sides("a", "b")], rows=rows)
    assert found == "CPU per request of redis: jedis 9.7 µs and lettuce 4.0 µs."
    assert cost_sentence([table(row(1.0), row(2.0, operation="get"))], []) is None


def test_without_two_costs_nothing_is_said() -> None:
    assert cost_sentence([table(row(1.0))], []) is None
    compared = Family.model_construct(name="x", comparisons=[sides("json", "hash")])
    assert cost_sentence([table(row(1.0))], [compared]) is None


@pytest.mark.parametrize(
    ("costs", "contrary"),
    [
        ([("generator", "b"), ("redis", "a")], "redis"),
        ([("redis", "b")], None),
        ([("spring", "b"), ("redis", "a")], None),  # the dearest part decides
        ([("redis", None)], None),
        ([("generator", "a")], None),
    ],
)
def test_a_rate_that_the_servers_cost_contradicts_is_said_beside_it(costs: list[Any], contrary: str | None) -> None:
    """The client is full, so JSON is faster although a string costs Redis less: the reader is told which is which."""
    judged = verdict("faster", 6, 2, 9, names=("string", "json"), metric="goodput_per_s")
    by_cost = [
        verdict(*(("faster", 20, 10, 30) if winner else ("undecided", 1, -9, 9)), metric=f"{COST}{part}", role="cost")
        .model_copy(update={"winner": winner, "a": judged.a, "b": judged.b})
        for part, winner in costs
    ]  # fmt: skip
    compared = Comparison.model_construct(place="", primary=judged, costs=by_cost, warnings=[])
    said = [render_message(one) for one in _contrary_warning(compared)]
    assert (compared.contrary.metric if compared.contrary else None) == (contrary and f"{COST}{contrary}")
    assert bool(said) == bool(contrary)
    for one in said:
        assert one == (
            "rate and cost differ: json is faster with this client and this load; string uses less CPU of redis, "
            "which decides once redis is full."
        )


@pytest.mark.parametrize(
    ("part", "said"),
    [
        ("redis", "string uses 20 % [10, 30] less redis CPU per request"),
        ("generator", "string uses 20 % [10, 30] less client CPU per request"),
        ("store", "string uses 20 % [10, 30] less CPU of the store a request"),
    ],
)
def test_a_verdict_by_cost_names_the_part_as_both_sides_call_it(part: str, said: str) -> None:
    judged = verdict("faster", -20, -30, -10, metric=f"{COST}{part}", larger_is_faster=False, winner="b")
    assert render_message(judged.brief) == said
    judged = verdict("equivalent", 1, 0, 2, metric=f"{COST}{part}", larger_is_faster=False)
    assert render_message(judged.brief).startswith("both use the same ")
    of_part = " CPU of the store a request" if part == "store" else " CPU per request"
    assert render_message(judged.brief).endswith(f"{of_part} within 5 %")
