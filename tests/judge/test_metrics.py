"""Labels of conditions and figures of metrics, as text."""

from types import ModuleType
from typing import Any

import pytest

from loadstone.experiment.plan.labels import label_of, level_label
from loadstone.experiment.spec.experiment import Factor
from loadstone.experiment.spec.levels import identity
from loadstone.judge.analysis.notes import published_sources
from loadstone.judge.metrics import figure, less_is_better
from loadstone.safety.errors import UserError
from loadstone.text.english.figures import figure_text, metric_text
from loadstone.text.figures import duration, rounded
from loadstone.text.sentences import render_message


@pytest.mark.parametrize(
    ("factor", "level", "words"),
    [
        ({"levels": [1, 8], "unit": "workers"}, 8, "8 workers"),
        ({"levels": [1, 8], "unit": "workers"}, 1, "1 worker"),
        ({"levels": [10_122], "unit": "B"}, 10_122, "10.1 kB"),
        ({"levels": [132], "unit": "bytes"}, 132, "132 B"),
        ({"levels": ["1 kB"]}, "1 kB", "1 kB"),
        ({"levels": ["json"]}, "json", "json"),
        ({"levels": [True]}, True, "warm-up on"),
        ({"levels": ["off"], "values": {"off": {"s": 0}}}, "off", "warm-up off"),
        ({"levels": ["0.5"], "values": {"0.5": {"s": 0}}}, "0.5", "warm-up 0.5"),
        ({"levels": ["db"], "values": {"db": {"s": 0}}}, "db", "warm-up db"),
        ({"levels": ["jedis-8"], "values": {"jedis-8": {"s": 0}}}, "jedis-8", "jedis-8"),
        ({"levels": [16]}, 16, "warm-up 16"),
        ({"levels": [1000], "unit": "/s"}, 1000, "1,000 /s"),
    ],
)
def test_levels_as_text(factor: dict[str, Any], level: Any, words: str) -> None:
    assert level_label("warm_up", level, Factor.model_validate(factor)) == words


def test_a_condition_is_called_as_in_its_first_table(synthetic: ModuleType) -> None:
    experiment = synthetic.make_experiment()
    usual = {"operation": "set", "payload": "1 kB", "workers": 32, "idle": "few"}
    assert label_of(experiment, usual) == "set, 1 kB, 32 workers"
    assert label_of(experiment, usual | {"idle": "many"}) == "many"
    assert label_of(experiment, usual | {"workers": 1}) == "set, 1 kB, 1 worker"


def test_levels_of_another_kind_are_other_conditions() -> None:
    assert identity({"a": 1, "b": 2}) == identity({"b": 2, "a": 1})
    assert len({identity({"a": level}) for level in (1, "1", True, "true")}) == 4


@pytest.mark.parametrize(
    ("value", "words"), [(0, "0"), (18_432, "18,400"), (1_234_567, "1,230,000"), (84.27, "84.3"), (0.4212, "0.421")]
)
def test_rates_have_three_digits(value: float, words: str) -> None:
    assert rounded(value) == words


@pytest.mark.parametrize(
    ("value", "words"),
    [(840, "840 ns"), (84_100, "84.1 µs"), (1_200_000, "1.20 ms"), (999_600, "1.00 ms"), (2_500_000_000, "2.50 s")],
)
def test_times_have_three_digits(value: float, words: str) -> None:
    assert duration(value) == words


def test_metrics_as_text() -> None:
    assert metric_text("goodput_per_s") == "correct replies a second"
    assert metric_text("response_ns.p999") == "P99.9 of the response time"
    assert figure_text(18_432, "goodput_per_s") == "18,400"
    assert figure_text(1_200_000, "response_ns.p99") == "1.20 ms"
    assert less_is_better("service_ns.mean")
    assert not less_is_better("peak_per_s")


def test_an_unknown_metric_is_one_clear_line() -> None:
    with pytest.raises(UserError, match=r"metric 'tps': there is no such metric; use one of goodput_per_s, "):
        figure(None, "tps")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("sources", "words"),
    [
        ([], ""),
        (["The study:\n one run"], "The study: one run"),
        (["The study", "its times", "its times"], "The study; also its times"),
        (["The study", "its times", "its CPU", "its rows"], "The study; also its times, its CPU, and its rows"),
    ],
)
def test_sources_are_one_sentence(sources: list[str], words: str) -> None:
    assert render_message(published_sources(sources)) == words
