"""A saturation in every report: the answer first, with its limit, and nothing drawn that was not measured."""

import csv
import io
import json
from pathlib import Path

import altair as alt
import pytest
from rich.console import Console
from tests.addons.saturation.saturations import KINDS, plateau

from loadstone.addons.saturation import section as view
from loadstone.addons.saturation.chart import ramp_chart, saturation_chart, values_of
from loadstone.addons.saturation.results import SaturationAnswer, SaturationAnswers
from loadstone.judge.analysis.analysis import Analysis
from loadstone.judge.verdict import CpuCost
from loadstone.report.charts.chart import draw
from loadstone.report.charts.chart_list import charts_of
from loadstone.report.terminal.outcome import show
from loadstone.report.write import write_report
from loadstone.text.sentences import render_message


@pytest.fixture(params=list(KINDS))
def answer(request: pytest.FixtureRequest) -> SaturationAnswer:
    return KINDS[request.param]()


@pytest.fixture(scope="module")
def saturated(analysis: Analysis) -> Analysis:
    """A run that did nothing but look for saturation points, of all kinds."""
    answers = [make() for make in KINDS.values()]
    return analysis.model_copy(
        update={"parts": {"saturations": SaturationAnswers(answers)}, "tables": [], "families": [], "timeline": []}
    )


def test_every_kind_says_what_was_asked(answer: SaturationAnswer) -> None:
    said = dict(view.facts(answer))
    assert "[" not in "".join(name for name in said), "no message without its sentence"
    assert not any(value.startswith("[") for value in said.values()), said
    assert (
        said["The limit"] == "not known" if answer.limiting is None else "the next fullest part is" in said["The limit"]
    )
    assert ("Replies a second" in said) == (answer.model == "closed" and len(answer.points) > 1)
    verdict = {
        "plateau": "MAXIMUM: 98,200 ",
        "peak": "PEAK at 17.6 [16.2, 19] users: ",
        "limit": "KEEPS ",
        "at_least": "CAPACITY >= ",
        "none": "NO POINT: ",
    }
    assert render_message(answer.message).startswith(verdict[answer.kind])


def test_every_kind_is_drawn_or_left_out(answer: SaturationAnswer) -> None:
    chart = saturation_chart(answer)
    if not answer.points:
        assert chart is None
        return
    assert chart is not None
    for spec in (chart.spec, chart.narrow or {}):
        alt.Chart.from_dict({**spec, "datasets": {}, "config": {}})
        drawing = draw(spec)
        assert '"></clipPath>' not in drawing
        assert "NaN" not in drawing
    values = values_of(answer)
    assert values is not None
    assert bool(values.datasets["knee"]) == (answer.kind in ("plateau", "peak", "limit"))
    assert [one["per_s"] for one in values.datasets["points"]] == [point.per_s for point in answer.points]
    low, high = values.domain
    assert all(low <= one["x"] <= high for name in ("points", "ideal", "ideal_ns") for one in values.datasets[name])


def test_a_narrow_picture_fits_a_telephone() -> None:
    for chart in (saturation_chart(plateau()), ramp_chart(plateau())):
        assert chart is not None
        assert chart.narrow is not None
        assert float(draw(chart.narrow).split('width="')[1].split('"')[0]) < 350


def test_the_ideal_line_meets_the_highest_throughput_at_the_point() -> None:
    answer = plateau()
    values = values_of(answer)
    assert values is not None
    assert answer.per_s is not None
    assert answer.users is not None
    above = min(one["x"] for one in values.datasets["ideal"] if one["per_s"] >= answer.per_s.value)
    assert above == pytest.approx(answer.users.value, rel=0.1)


def test_the_ramp_stands_beside_the_point() -> None:
    answer = plateau()
    lines = " ".join(view.ramp_lines(answer))
    assert "Reading the ramp's chart by eye gives " in lines
    assert "Kneedle (Satopaa et al. 2011)" in lines
    assert "it cannot separate time from load" in lines
    assert ramp_chart(answer.model_copy(update={"ramp": None})) is None


def test_two_conditions_have_pictures_of_their_own(saturated: Analysis) -> None:
    pair = saturated.with_part("saturations", SaturationAnswers([plateau("get"), plateau("set")]))
    names = [chart.name for chart in charts_of(pair) if chart.kind in ("saturation", "ramp")]
    assert names == ["get-saturation", "get-ramp", "set-saturation", "set-ramp"]


def test_every_format_has_it(saturated: Analysis, tmp_path: Path) -> None:
    write_report(saturated, tmp_path, ("html", "md", "csv", "json", "svg"))
    page = (tmp_path / "report.html").read_text()
    assert page.index('id="saturation"') < page.index('id="details"')
    assert "MAXIMUM: 98,200 [97,100, 99,300] a second, within 5 % of it from 16 users on" in page
    assert "the knee (where waiting begins): 10.8 [10.4, 11.1] users" in page
    text = (tmp_path / "report.md").read_text()
    assert "## Saturation" in text
    assert "charts/get-saturation.svg" in text
    rows = list(csv.DictReader(io.StringIO((tmp_path / "saturation.csv").read_text())))
    assert {row["kind"] for row in rows} == set(KINDS)
    first = rows[0]
    assert (first["users"], first["point_users"], first["limit"]) == ("1", "10.8", "server")
    assert len(list(csv.DictReader(io.StringIO((tmp_path / "ramp.csv").read_text())))) == 64
    found = json.loads((tmp_path / "analysis.json").read_text())["saturations"]
    assert found[0]["message"]["text"].startswith("MAXIMUM: 98,200")
    assert (tmp_path / "charts" / "get-saturation.svg").is_file()


def test_each_level_has_what_a_request_costs(saturated: Analysis, tmp_path: Path) -> None:
    answer = plateau()
    first, *others = answer.points
    costs = {"redis": CpuCost(ns=30_000, low_ns=29_000, high_ns=31_000), "app": CpuCost(ns=90_000)}
    points = [first.model_copy(update={"costs": costs}), *others]
    told = saturated.with_part("saturations", SaturationAnswers([answer.model_copy(update={"points": points})]))
    write_report(told, tmp_path, ("html", "md", "csv"))
    for name in ("report.html", "report.md"):
        assert "redis 30 µs + app 90 µs" in (tmp_path / name).read_text()
    rows = list(csv.DictReader(io.StringIO((tmp_path / "saturation.csv").read_text())))
    ends = [rows[0][f"cpu_redis_a_request{end}_ns"] for end in ("", "_low", "_high")]
    assert ends == ["30000.0", "29000.0", "31000.0"]
    assert (rows[0]["cpu_app_a_request_low_ns"], rows[1]["cpu_redis_a_request_ns"]) == ("", "")


@pytest.mark.parametrize("verbose", [False, True])
@pytest.mark.parametrize("width", [60, 100])
def test_a_terminal_has_the_answer_first(saturated: Analysis, width: int, *, verbose: bool) -> None:
    console = Console(width=width, record=True, file=io.StringIO())
    show(saturated.with_part("saturations", SaturationAnswers([plateau()])), console=console, verbose=verbose)
    said = console.export_text()
    assert "MAXIMUM: 98,200" in said
    assert "▇█" in said, "the curve"
    assert "The limit" in said
    assert verbose or len(said.splitlines()) <= 26


def test_a_typed_command_gets_eight_lines_without_its_question(saturated: Analysis, answer: SaturationAnswer) -> None:
    console = Console(width=120, record=True, file=io.StringIO())
    without_ramp = answer.model_copy(update={"ramp": None})  # asked for by an option of its own
    one = saturated.with_part("saturations", SaturationAnswers([without_ramp]))
    show(one, Path("runs/20261201T120000Z-saturate/report.html"), console=console, typed=True)
    said = console.export_text()
    assert saturated.question not in said
    assert render_message(answer.message)[:20] in said
    assert sum(bool(line.strip()) for line in said.splitlines()) <= 8
