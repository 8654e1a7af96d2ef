"""The end of a run: at most 25 lines, of a whole run at most 60."""

import io
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest
from rich.cells import cell_len
from rich.console import Console
from tests.verdicts import verdict

from loadstone.judge.analysis.analysis import Analysis, EffectsAnswer, EffectTerm, Row
from loadstone.judge.analysis.crashes import CrashRow, CrashTable
from loadstone.judge.verdict import GeneratorBound
from loadstone.report import csv_report as csv
from loadstone.report import markdown_report as markdown
from loadstone.report.html import page as html
from loadstone.report.live.live_panel import LiveFigures
from loadstone.report.live.progress import RunProgress
from loadstone.report.tables.columns import most_telling
from loadstone.report.terminal import outcome as terminal
from loadstone.report.terminal.ending import LINES_MAX, next_step
from loadstone.run.describe import print_announcement
from loadstone.run.prepare import requested_experiment, requested_plan
from loadstone.run.request import RunRequest
from loadstone.text.message import message, verbatim

FOLDER = Path("runs/20261114T091502Z-json-documents")
COMMAND = "loadstone run json-documents --quick --seed 7"
NEXT_FOLDER = Path("runs/my run")


def change_rows(analysis: Analysis, change: Callable[[int, Row], dict[str, object]]) -> Analysis:
    """The same with changes to each row that has figures, by its number."""
    tables = [
        table.model_copy(
            update={
                "rows": [
                    row.model_copy(update=change(place, row)) if row.goodput_per_s is not None else row
                    for place, row in enumerate(table.rows)
                ]
            }
        )
        for table in analysis.tables
    ]
    return analysis.model_copy(update={"tables": tables})


@pytest.fixture
def bounded(judged: Analysis) -> Analysis:
    """The judged analysis with a bound on every figure, and with the command that made it."""
    bounds = (
        GeneratorBound(generator=0.03, taken=0.004),
        GeneratorBound(generator=0.31, taken=0.0),
        GeneratorBound(generator=0.0, taken=0.002),
    )
    reported = judged.model_copy(
        update={
            "environment": {**judged.environment, "command": COMMAND},
            "headline": verbatim("set 1,000 [900, 1,100]."),
        }
    )
    return change_rows(reported, lambda place, _: {"bound": bounds[place % 3]})


def printed(analysis: Analysis, width: int) -> str:
    out = io.StringIO()
    console = Console(file=out, width=width, highlight=False, color_system=None)
    terminal.show(analysis, FOLDER / "report.html", console, folder=FOLDER)
    return out.getvalue()


def lines_of(text: str, width: int) -> int:
    """Lines on a terminal of this width, which breaks what is longer."""
    return sum(max(1, -(-cell_len(line) // width)) for line in text.splitlines())


@pytest.mark.parametrize("width", [80, 100, 120, 200])
def test_the_end_has_at_most_25_lines(bounded: Analysis, width: int) -> None:
    text = printed(bounded, width)
    assert LINES_MAX - 5 <= lines_of(text, width) <= LINES_MAX
    assert text.splitlines()[1].startswith("How many JSON documents a second")
    assert max(cell_len(line) for line in text.splitlines() if "runs/" not in line) <= width


@pytest.mark.parametrize("width", [80, 120])
def test_so_it_has_with_many_comparisons_and_crashes_and_a_long_answer(bounded: Analysis, width: int) -> None:
    crash = CrashRow(
        condition={}, label="always", times=3, acknowledged=9, lost_min=0, lost_max=0, lost_worst=0, restart_s=0.5
    )
    table = CrashTable(name="x", title="Lost", note="", rows=[crash] * 4)
    full = bounded.model_copy(
        update={
            "families": bounded.families * 5,
            "crashes": [table],
            "headline": verbatim("word " * 40),
            "scale": 0.1,
        }
    )
    text = printed(full, width)
    assert lines_of(text, width) <= LINES_MAX
    assert "more comparisons in the report: " in text
    assert "always" in text


@pytest.mark.parametrize("crashed", range(7))
@pytest.mark.parametrize("groups", [1, 2, 10])
def test_what_is_to_be_known_beside_verdicts_and_figures_has_no_lines_beyond_them(
    bounded: Analysis, groups: int, crashed: int
) -> None:
    """However little room the rest leaves: why a verdict is open, that placement decides, why a P99 is suspect."""
    placed, taken = message("bound_by_shared_cpu"), message("verdict_others_had_cpus", taken=0.4)
    open_one = bounded.families[0].comparisons[0].primary.model_copy(update={"kind": "undecided", "unsteady": taken})
    told = [
        one.model_copy(update={"primary": open_one, "warnings": [placed]}) for one in bounded.families[0].comparisons
    ]
    row = CrashRow(
        condition={}, label="always", times=3, acknowledged=9, lost_min=0, lost_max=0, lost_worst=0, restart_s=0.5
    )
    table = CrashTable(name="x", title="Lost", note="", rows=[row] * crashed)
    update = {
        "families": [bounded.families[0].model_copy(update={"comparisons": told})] * groups,
        "crashes": [table] if crashed else [],
        "headline": verbatim("word " * 40),
    }
    doubt = message("quantile_one_unit", quantile="p99", unit="slice", units=8, share=0.97, without_ns=71_000.0)
    full = change_rows(bounded.model_copy(update=update), lambda *_: {"interval_units": 8, "unsettled": {"p99": doubt}})
    for width in (80, 100, 120):
        text = printed(full, width)
        assert lines_of(text, width) <= LINES_MAX
        assert "their placement decides" in " ".join(text.split()) or crashed


@pytest.mark.parametrize("width", [80, 120])
def test_each_verdict_has_a_line_and_what_is_decided_comes_first(bounded: Analysis, width: int) -> None:
    family = bounded.families[0]
    lines = printed(bounded.model_copy(update={"families": [family]}), width).splitlines()
    marks = [line[0] for line in lines if line[:1] in "▲=~?✕" and " against " in line]
    assert len(marks) == len(family.comparisons)
    assert marks[-1] == "✕"
    assert any(line.startswith("▲ string against json, 1 kB, 8 workers  string FASTER by 13 %") for line in lines)


def test_a_cost_that_contradicts_the_rate_stands_in_its_line_and_below(bounded: Analysis) -> None:
    """`json FASTER by 6 %` was true of the client and wrong of the server, and the reader was not told which."""
    (first, *_) = (one for one in bounded.families[0].comparisons if one.primary.kind == "faster")
    cost = verdict("faster", 20, 10, 30, names=("json", "string"), metric="cpu_ns.redis", role="cost")
    cost = cost.model_copy(update={"winner": "a" if first.primary.winner == "b" else "b"})
    told = message("rate_against_cost", faster="string", cheaper="json", part="redis")
    pair = first.model_copy(update={"costs": [cost], "warnings": [told]})
    families = [bounded.families[0].model_copy(update={"comparisons": [pair]})]
    said = verbatim("CPU per request of redis: json 8.6 µs and string 6.0 µs.")
    shown = printed(bounded.model_copy(update={"families": families, "costs": said}), 200)
    assert "; but string uses 20 % [10, 30] more redis CPU per request" in shown
    assert "string against json: rate and cost differ: string is faster with this client and this load" in shown
    lines = shown.splitlines()
    assert lines.index("CPU per request of redis: json 8.6 µs and string 6.0 µs.") < 6


@pytest.mark.parametrize("width", [80, 120])
def test_effects_stand_in_the_place_of_the_pairs_that_they_rest_on(bounded: Analysis, width: int) -> None:
    name = bounded.families[0].comparisons[0].name
    said = verbatim("remote against local on average: remote FASTER by 10 % [2, 19].")
    term = EffectTerm(
        kind="main",
        factors=["redis"],
        levels={"redis": "remote"},
        references={"redis": "local"},
        name="remote against local",
        message=said,
        verdict=verdict("faster", 10, 2, 19),
        over=[],
        left_out=[],
    )
    answer = EffectsAnswer(
        name=name, question="?", note="", metric="goodput_per_s", factors=["redis"], answer=said, terms=[term], cells=[]
    )
    text = printed(bounded.model_copy(update={"families": bounded.families[:1], "effects": [answer]}), width)
    assert "Remote against local on average: remote FASTER by 10 % [2, 19]." in " ".join(text.split())
    assert " against " not in text.replace("Remote against local", "")
    assert lines_of(text, width) <= LINES_MAX


def test_compared_rows_and_intervals_come_before_single_trials(bounded: Analysis) -> None:
    rows = bounded.tables[0].rows
    for row in most_telling(bounded, 5):
        assert row.goodput_interval is not None
    few = change_rows(bounded, lambda _, row: {"goodput_interval": row.goodput_interval if row is rows[0] else None})
    shown = most_telling(few, 8)
    assert rows[0].label in [row.label for row in shown]
    assert all(row.bound is not None and row.bound.total <= 0.1 for row in shown)
    assert len({row.label for row in shown}) == 8
    order = [row.label for table in few.tables for row in table.rows]
    assert [order.index(row.label) for row in shown] == sorted(order.index(row.label) for row in shown)


def test_the_table_says_how_many_rows_are_left_to_the_report(bounded: Analysis) -> None:
    lines = printed(bounded, 120).splitlines()
    [left] = [line for line in lines if line.endswith("more rows in the report")]
    shown = [line for line in lines if line[:2] in ("✓ ", "! ")]
    conditions = {str(sorted(row.condition.items(), key=str)) for table in bounded.tables for row in table.rows}
    assert left == f"… {len(conditions) - len(shown)} more rows in the report"
    head = next(line for line in lines if line.strip().startswith("condition"))
    assert head.split()[:5] == ["condition", "RPS", "95", "%", "interval"]
    assert "up to" in head


def test_a_run_without_a_figure_points_to_the_doctor(build: Callable[..., Analysis]) -> None:
    nothing = build(all_invalid=True)
    text = printed(nothing.model_copy(update={"environment": {"command": COMMAND}, "complete": True}), 100)
    assert "condition" not in text
    assert "0 of 74 figures are within ±10 %; 74 are not: the generator may have been the limit." in text
    assert "\n  loadstone doctor\n" in text


def test_the_command_and_the_report_are_not_broken(bounded: Analysis) -> None:
    deep = Path("/a/very/long/way") / "to/where/the/runs/of/this/machine/are/kept/for/ever" / FOLDER
    out = io.StringIO()
    terminal.show(bounded, deep / "report.html", Console(file=out, width=80, color_system=None), folder=deep)
    lines = out.getvalue().splitlines()
    assert f"Report: {deep / 'report.html'}" in lines
    assert any(line.startswith("  loadstone run json-documents ") for line in lines)
    assert lines_of(out.getvalue(), 80) <= LINES_MAX


def test_every_report_shows_the_bounds(bounded: Analysis) -> None:
    row = next(row for row in bounded.tables[0].rows if row.bound is not None and row.bound.generator == 0.31)
    text = markdown.render(bounded)["report.md"].decode()
    assert any(row.label in line and "| +31 % |" in line for line in text.splitlines())
    rows = csv.render(bounded)["tables.csv"].decode().splitlines()
    assert any(row.label in line and ",0.31,0.0," in line for line in rows)
    [page] = html.render(bounded).values()
    assert ">+31 %</td>" in page.decode()


@pytest.mark.parametrize("width", [80, 120])
def test_a_whole_run_has_at_most_60_lines_where_there_is_no_terminal(bounded: Analysis, width: int) -> None:
    """The demo: 52 trials of tables and two comparisons within 3 minutes, half of it with remarks."""
    now = [0.0]
    out = io.StringIO()
    console = Console(file=out, width=width, highlight=False, color_system=None)
    options = RunRequest("json-documents", quick=True, seed=1)
    experiment = requested_experiment(options)
    plan = requested_plan(experiment, options, (1,))
    for line in print_announcement(plan, experiment):
        console.print(line, markup=False, soft_wrap=True)
    with RunProgress(console, lambda: now[0]) as progress:
        progress.step("starting redis (redis-server)")
        progress.start()
        trials = [trial for trial in plan.trials if trial.block <= 18]
        for number, trial in enumerate(trials):
            progress.left(180 - now[0], True)
            progress.trial(trial.name, f"set, {number} kB", f"trial {number} of {len(trials)}")
            progress.live(LiveFigures("measure", 100_000.0 + number, 500_000, 1_000_000))
            now[0] += 180 / len(trials)
            reasons = [
                message("check.warm_up.changed", first=number, last=2 * number + 1),
                message("check.swap.moved", megabytes=number),
            ]
            progress.finished(("valid", "suspect", "invalid")[number % 3], reasons, in_block=number > 52)
            if number in (80, 120):
                said = [verdict("faster", 12, 9, 15), verdict("undecided", 3, -1, 7)]
                progress.look("storage", 8, "go on" if number == 80 else "last look", said, ["a against b", "c"])
        progress.step("writing the report")
    terminal.show(bounded, FOLDER / "report.html", console, folder=FOLDER)
    assert lines_of(out.getvalue(), width) <= 60
    remarks = [line for line in out.getvalue().splitlines() if line.startswith("✕ set, ")]
    assert len(remarks) == 1  # the same reason came with every third trial


@pytest.mark.parametrize("width", [60, 80, 160])
def test_what_was_answered_stands_there_as_far_as_there_is_room(analysis: Analysis, width: int) -> None:
    reply = "OOM command not allowed when used memory > 'maxmemory'. " + "x" * 200
    failing = change_rows(
        analysis, lambda *_: {"errors": {"server_oom": 9, "server_err": 1}, "error_examples": {"server_oom": reply}}
    )
    text = printed(failing, width)
    assert text.count("server_oom, for example: OOM command") == 1, "once, of however many rows"
    assert (f"for example: {reply}" in text) == (width > 60), "cut where there is room for a line alone"
    assert lines_of(text, width) <= LINES_MAX
    many = change_rows(analysis, lambda place, _: {"error_examples": {f"server_{place}": f"{place} {reply}"}})
    text = printed(many, width)
    assert 1 <= text.count("for example: ") <= 3
    assert lines_of(text, width) <= LINES_MAX
    assert "for example" not in printed(analysis, width)


def given(analysis: Analysis, command: str, **changes: object) -> Analysis:
    return analysis.model_copy(
        update={"environment": {"command": command}, "complete": True, "quick": False, "families": []} | changes
    )


def undecided(judged: Analysis, ended: str) -> Analysis:
    """One comparison that time left undecided, with 3.2 minutes more to go."""
    family = judged.families[1]
    one = next(pair for pair in family.comparisons if pair.primary.kind == "undecided")
    primary = one.primary.model_copy(update={"more_minutes": 3.2})
    pair = one.model_copy(update={"ended": ended, "primary": primary})
    return judged.model_copy(update={"families": [family.model_copy(update={"comparisons": [pair]})]})


def command_of(analysis: Analysis, folder: Path | None = NEXT_FOLDER) -> list[str]:
    found = next_step(analysis, folder)
    assert found is not None
    return shlex.split(found.command)


def test_a_run_that_was_cut_short_is_gone_on_with(analysis: Analysis) -> None:
    cut = given(analysis, "loadstone run json-documents --quick --only 'payload=1 kB' --out /tmp/x --budget=3m --json")
    words = command_of(cut.model_copy(update={"complete": False}))
    expected = ["run", "json-documents", "--quick", "--only", "payload=1 kB", "--resume", "runs/my run"]
    assert words == ["loadstone", *expected]


def test_what_the_budget_left_undecided_gets_more_of_it(judged: Analysis) -> None:
    run = undecided(judged, "out of budget")
    changes = {"families": run.families, "budget_s": 180.0, "elapsed_s": 171.0}
    found = given(run, "loadstone run json-documents --quick --budget 3m --resume runs/old", **changes)
    expected = ["json-documents", "--quick", "--budget", "7m", "--resume", "runs/my run"]
    assert command_of(found) == ["loadstone", "run", *expected]


@pytest.mark.parametrize(("needed_s", "budget"), [(35.0, "35s"), (130.0, "3m")])
def test_a_budget_in_which_nothing_was_measured_becomes_one_in_which_something_is(
    analysis: Analysis, needed_s: float, budget: str
) -> None:
    found = given(analysis, "loadstone run a.yaml --quick --budget 12s", needed_budget_s=needed_s, tables=[])
    assert command_of(found) == ["loadstone", "run", "a.yaml", "--quick", "--budget", budget]


@pytest.mark.parametrize("ended", ["last look", "decided"])
def test_where_more_of_the_same_cannot_help_the_full_study_does(judged: Analysis, ended: str) -> None:
    run = undecided(judged, ended)
    found = given(run, "loadstone run json-documents --quick --set workload.seed=1", quick=True, families=run.families)
    assert command_of(found) == ["loadstone", "run", "json-documents", "--set", "workload.seed=1"]


def test_a_command_with_a_hidden_secret_is_not_offered(analysis: Analysis) -> None:
    run = given(analysis, "loadstone run json-documents --quick --server redis=redis://***@host", quick=True)
    assert next_step(run, NEXT_FOLDER) is None


def test_a_whole_study_has_nothing_next(analysis: Analysis) -> None:
    assert next_step(given(analysis, "loadstone run json-documents"), NEXT_FOLDER) is None
