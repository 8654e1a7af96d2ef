"""What a gate measures first: the rate decides, and a P99 that is many times worse shows at a glance."""

from tests.measure.goals.scripted_loop import BLOCK_S, Bench, compared

from loadstone.addons.gate.spec import Gate


def gate(bench: Bench, budget_s: float = 1e6) -> list[tuple[str, int, str]]:
    bench.parts = {"gate": Gate()}
    bench.run(bench.plan(compared("rate"), compared("p99"), budget_s=budget_s))
    return bench.looks()


def test_after_the_first_look_a_glance_and_the_rest_of_the_time_is_for_what_decides(bench: Bench) -> None:
    bench.judge.decides = {"rate": 18, "p99": 8}
    assert gate(bench) == [
        ("rate", 8, "go on"),
        ("p99", 5, "go on"),
        ("rate", 12, "go on"),
        ("rate", 18, "decided"),
        ("p99", 8, "decided"),
    ]


def test_what_looks_like_a_loss_at_a_glance_is_measured_until_it_is_known(bench: Bench) -> None:
    bench.judge.decides, bench.judge.suspects_loss = {"p99": 12}, frozenset({"p99"})
    looks = gate(bench, budget_s=24 * BLOCK_S)
    assert looks[:4] == [("rate", 8, "go on"), ("p99", 5, "go on"), ("p99", 8, "go on"), ("p99", 12, "decided")]


def test_a_glance_ends_no_comparison(bench: Bench) -> None:
    bench.judge.decides = {"rate": 12, "p99": 5}
    assert gate(bench) == [
        ("rate", 8, "go on"),
        ("p99", 5, "go on"),
        ("rate", 12, "decided"),
        ("p99", 8, "decided"),
    ]


def test_a_known_rate_leaves_all_the_time_to_the_others(bench: Bench) -> None:
    bench.judge.decides = {"rate": 8, "p99": 12}
    assert gate(bench) == [("rate", 8, "decided"), ("p99", 8, "go on"), ("p99", 12, "decided")]


def test_once_it_has_its_answer_what_is_open_ends(bench: Bench) -> None:
    bench.judge.decides, bench.judge.is_final = {"rate": 8}, frozenset({"rate"})
    assert gate(bench) == [("rate", 8, "decided"), ("p99", 0, "not needed")]
    assert bench.looks() == gate(bench), "gone on with"


def test_what_was_glanced_at_ends_with_the_blocks_that_it_has(bench: Bench) -> None:
    bench.judge.decides, bench.judge.is_final = {"rate": 12}, frozenset({"rate"})
    looks = gate(bench)
    assert looks[1:] == [("p99", 5, "go on"), ("rate", 12, "decided"), ("p99", 5, "not needed")]


def test_time_that_is_left_after_the_others_is_for_what_is_decided_and_not_known(bench: Bench) -> None:
    bench.judge.decides, bench.judge.exact = {"rate": 8, "p99": 8}, {"rate": 18}
    assert gate(bench) == [
        ("rate", 8, "go on"),
        ("p99", 8, "decided"),
        ("rate", 12, "go on"),
        ("rate", 18, "decided"),
    ]
