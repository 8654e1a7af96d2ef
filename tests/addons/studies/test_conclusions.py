"""Conclusions are answered with figures, and nothing is ranked from one block."""

from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from loadstone.addons.studies.answers import ConclusionAnswers
from loadstone.addons.studies.conclusions import answer_conclusions
from loadstone.drivers.outcome import Quantiles
from loadstone.judge.analysis.analyse import analyse
from loadstone.judge.analysis.analysis import ResultTable, Row
from loadstone.judge.checks.checks import judge_trial
from loadstone.text.sentences import render_message

NOTHING = dict.fromkeys(("min", "mean", "p50", "p90", "p95", "p99", "p999", "max"))


def row(verdict: str = "valid", goodput: float | None = 1000.0, wait: float = 100.0, **levels: Any) -> Row:
    condition = {"operation": "set", "payload": "1 kB", "workers": 32, "idle": "few"} | levels
    usable = verdict in ("valid", "suspect")
    return Row(
        condition=condition,
        label=", ".join(str(level) for level in condition.values()),
        trials=["b01-001"],
        verdict=verdict,
        reasons=[],
        operations=1,
        elapsed_s=1.0,
        throughput_per_s=goodput if usable else None,
        goodput_per_s=goodput if usable else None,
        peak_per_s=goodput if usable else None,
        response_ns=Quantiles(**NOTHING | {"mean": 1000.0, "p99": 5000}) if usable else None,
        service_ns=None,
        pool_wait_ns=Quantiles(**NOTHING | {"mean": wait}) if usable else None,
        errors={},
        cpu_share={},
        published=None,
        unmeasurable={},
    )


def tables(*rows: Row) -> list[ResultTable]:
    vary: dict[str, list[Any]] = {"operation": ["set", "get"], "payload": ["100 B", "1 kB"], "workers": [32]}
    return [ResultTable(name="by-size", title="", note="", vary=vary, rows=list(rows))]


def answers(synthetic: ModuleType, *rows: Row) -> list[Any]:
    return answer_conclusions(synthetic.make_experiment(), tables(*rows), [])


@pytest.mark.parametrize(
    ("goodput", "verdict"),
    [(1000.0, "holds"), (251.0, "holds"), (249.0, "undecided"), (151.0, "undecided"),
     (149.0, "does_not_hold")],
)  # fmt: skip
def test_a_claimed_figure_is_decided_only_from_afar(synthetic: ModuleType, goodput: float, verdict: str) -> None:
    found = answers(synthetic, row(goodput=goodput))[0]
    assert found.verdict == verdict
    assert f"{goodput:,.0f}" in render_message(found.answer)
    assert "b01-001" in render_message(found.evidence[0])


def test_the_best_valid_row_answers(synthetic: ModuleType) -> None:
    found = answers(
        synthetic, row(goodput=500.0), row(goodput=900.0, payload="100 B"), row("suspect", 5000.0, idle="many")
    )
    assert "900" in render_message(found[0].answer)


def test_a_suspect_row_alone_decides_nothing(synthetic: ModuleType) -> None:
    found = answers(synthetic, row("suspect", 5000.0))[0]
    assert found.verdict == "undecided"
    assert "suspect" in render_message(found.answer)


def test_invalid_rows_answer_nothing(synthetic: ModuleType) -> None:
    found = answers(synthetic, row("invalid", 5000.0), row("missing", None, operation="get"))
    assert [answer.verdict for answer in found] == [
        "no_valid_data",
        "no_valid_data",
        "not_answered_here",
        "no_valid_data",
    ]
    assert not any("5,000" in render_message(answer.answer) for answer in found)


def test_figures_of_matched_conditions_stand_side_by_side(synthetic: ModuleType) -> None:
    found = answers(
        synthetic, row(goodput=1840.0), row(goodput=1990.0, operation="get"), row(operation="get", payload="100 B")
    )[1]
    assert found.verdict == "one_block"
    assert len(found.evidence) == 1
    assert "get, 1 kB, 32, few: 1,990" in render_message(found.evidence[0])
    assert "against set, 1 kB, 32, few: 1,840" in render_message(found.evidence[0])
    for word in ("faster", "slower", "%", "better"):
        assert word not in render_message(found.answer) + render_message(found.evidence[0])


def test_what_one_server_cannot_answer_is_said(synthetic: ModuleType) -> None:
    found = answers(synthetic)[2]
    assert (found.verdict, render_message(found.answer)) == ("not_answered_here", "One server cannot tell.")


def test_waiting_for_a_connection_is_shown_as_shares(synthetic: ModuleType) -> None:
    found = answers(synthetic, row(wait=600.0), row(wait=10.0, idle="many"))[3]
    assert found.verdict == "one_block"
    assert render_message(found.answer) == "Waiting for a connection took 60% of the response time, against 1%."


def test_those_of_a_run_stand_in_its_analysis(synthetic: ModuleType, tmp_path: Path) -> None:
    found = analyse(synthetic.write_run(tmp_path, finish=judge_trial)).part(ConclusionAnswers)
    assert found is not None
    assert [answer.verdict for answer in found.root] == ["undecided", "one_block", "not_answered_here", "one_block"]
