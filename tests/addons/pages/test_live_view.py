import json
import math
import re
from pathlib import Path
from typing import Any

import pytest

from loadstone.addons.pages.following import Following
from loadstone.addons.pages.interval_history import narrowing, share
from loadstone.addons.pages.live import figures
from loadstone.addons.pages.live_view import LOG_MAX, POINTS_MAX, LiveView, bounded_number, bounded_text
from loadstone.addons.pages.page import templates
from loadstone.addons.pages.search_curve import search_curves
from loadstone.report.live.known import LiveState

GROUP = {
    "name": "storage", "question": "Faster?", "pairs": ["b against a"], "unit": "round", "looks": [12, 20, 32],
    "margin": 0.05,
}  # fmt: skip
HOSTILE: list[Any] = [
    None,
    "text",
    -1,
    1e400,
    float("nan"),
    True,
    [],
    {},
    [[[]]],
    {"a": {"b": {}}},
    "<script>",
    10**400,
]


def began(**more: Any) -> dict[str, Any]:
    return {"format": 1, "unix_s": 1.0, "what": "began", "pid": 1, "experiment": "e", "groups": [GROUP], **more}


def now(unix_s: float, tps: float, **more: Any) -> dict[str, Any]:
    conditions = {"set": {"phase": "measure", "tps": tps, "p99_ns": 1e6, "errors": {"timeout": 2}}}
    parts = {"redis": {"cpus": 0.5, "rss_bytes": 1e6, "connections": 9}}
    return {"what": "now", "unix_s": unix_s, "state": "running", "conditions": conditions, "parts": parts, **more}


def look(count: int, low: float, high: float, kind: str = "undecided", **more: Any) -> dict[str, Any]:
    pair = {"name": "b against a", "kind": kind, "margin": 0.05, "estimate": (low + high) / 2, "low": low, "high": high}
    said = {"kind": "as_written", "figures": {"text": f"{kind} after {count}"}}
    return {"what": "look", "group": "storage", "count": count, "pairs": [{**pair, "said": said}], **more}


def told(*lines: dict[str, Any]) -> LiveView:
    found = LiveView()
    for line in lines:
        found.take(line)
    return found


def test_what_a_run_told_is_its_state() -> None:
    run = told(
        began(),
        now(2, 100, group="storage", left_s=30, decided=0, of=1),
        look(12, -0.2, 0.4),
        look(20, 0.1, 0.3, "faster"),
    )
    assert (run.state, run.began["experiment"], run.now["left_s"]) == ("running", "e", 30)
    assert run.conditions["set"]["errors"] == {"timeout": 2}
    group = run.groups["storage"]
    assert [(one.count, one.kind) for one in group.looks["b against a"]] == [(12, "undecided"), (20, "faster")]
    assert run.said == "b against a: faster after 20"
    run.take({"what": "ended", "status": 130, "why": "interrupted"})
    assert (run.state, run.ended) == ("ended", {"status": 130.0, "why": "interrupted"})
    run.take(began())  # it goes on: what was found stands
    assert (run.state, len(group.looks["b against a"])) == ("preparing", 2)


def test_a_cost_that_alone_answers_leads(tmp_path: Path) -> None:
    """On the page, and to who does not see it."""
    line = look(72, -0.2, 0.4)
    line["pairs"][0]["cost"] = {"kind": "faster", "said": {"kind": "as_written", "figures": {"text": "b uses less"}}}
    run = Following(tmp_path)
    for one in (began(), look(48, -0.3, 0.5), line):
        run.told.take(one)
    assert run.told.said == "b against a: b uses less"
    shown = str(templates().get_template("live_pieces.html").module.answers(**figures(run, "answers")))
    assert 'class="pair faster"' in shown
    assert shown.index("b uses less") < shown.index("undecided after 72")


def shown(folder: Path, *lines: dict[str, Any], piece: str = "head") -> str:
    """A piece of the page of a run that told these lines."""
    run = Following(folder, told(*lines))
    return str(getattr(templates().get_template("live_pieces.html").module, piece)(**figures(run, piece)))


def condition(tps: float, p99_ns: float, users: int, **errors: int) -> dict[str, Any]:
    return {"tps": tps, "p99_ns": p99_ns, "users": users, "errors": errors}


def test_tiles_say_what_is_looked_for_first(tmp_path: Path) -> None:
    two = {"set": condition(1000, 1e6, 8, timeout=2), "get": condition(3000, 4e6, 32)}
    text = shown(tmp_path, began(), now(61, 1), now(62, 1, conditions=two, left_s=60, group="g"))
    tiles = dict(re.findall(r"<dt>([^<]*)</dt><dd>([^<]*)", text))
    assert tiles == {
        "TPS": "1,000 – 3,000",
        "P99": "1.00 ms – 4.00 ms",
        "Errors": "4",
        "vUsers": "8 – 32",
        "Time left": "about 60 s left",
    }
    assert "2 conditions take turns" in text
    assert 'max="100" value="50"' in text, "61 s of 121 are over"


def test_errors_over_time_are_those_of_each_moment() -> None:
    """In the lines they are summed up, of each group from 0 on; a session that goes on counts anew."""
    lines = [now(at, 1, group=group, conditions={"set": condition(1, 1, 1, **{kind: n})}) for at, group, kind, n in (
        (10, "a", "timeout", 2), (12, "a", "timeout", 8), (13, "b", "refused", 1),
    )]  # fmt: skip
    run = told(began(), *lines)
    assert [point.figures["errors"]["set"] for point in run.points] == [2, 3, 1]
    assert run.errors == {"timeout": 8, "refused": 1}
    run.take(began())
    run.take(lines[0])
    assert run.errors == {"timeout": 10, "refused": 1}


def test_a_noisy_machine_is_said(tmp_path: Path) -> None:
    noisy = {"parts": {"redis": {"cpus": 0.9}, "others": {"cpus": 0.4}}}
    quiet = {"parts": {"redis": {"cpus": 0.9}, "others": {"cpus": 0.04}}}
    assert "other programs take 40 % of one CPU" in shown(tmp_path, began(), now(2, 1, **noisy))
    assert "noisy" not in shown(tmp_path, began(), now(2, 1, **quiet))


def test_an_ended_page_says_so_and_goes_on_where_something_is_undecided(tmp_path: Path) -> None:
    ended = {"what": "ended", "status": 0, "why": ""}
    begun = began(budget_s=60)
    text = shown(tmp_path, begun, now(2, 1), ended)
    assert "This run has ended" in text
    assert "<dt>TPS</dt>" not in text
    for verdict, reason, offered in (
        ("undecided", "out of budget", True), ("faster", "out of budget", False), ("undecided", "decided", False),
    ):  # fmt: skip
        last = look(12, -0.2, 0.4, verdict, reason=reason)
        run = Following(tmp_path, told(begun, last, ended), fate="ended")
        text = str(templates().get_template("live_pieces.html").module.actions(**figures(run, "actions")))
        assert ("go on for 5 minutes" in text) == offered


def test_a_search_is_drawn_while_it_goes_on(tmp_path: Path) -> None:
    steps = [{"what": "search", "label": "get", "users": n, "per_s": 1000.0 * min(n, 4)} for n in (1, 2, 4, 8)]
    text = shown(tmp_path, began(), *steps, piece="answers")
    assert text.count("<circle") == 4
    assert "8: 4,000" in text
    (curve,) = search_curves(told(*steps).steps)
    assert [up for _, up in curve.up][-1] == "4,000"
    heights = [y for _, y, _ in curve.points]
    assert heights == sorted(heights, reverse=True)
    for wrong in ({"users": 0}, {"users": 3, "per_s": -1}, {"per_s": 5}):
        assert search_curves(told(*[{"what": "search", **wrong}] * 3).steps) == []
    assert search_curves(
        told({"what": "search", "users": 1, "per_s": 0}, {"what": "search", "users": 2, "per_s": 0}).steps
    )


def test_a_time_that_nobody_can_know_is_not_guessed(tmp_path: Path) -> None:
    """A search that takes longer than was guessed: what was said fell to 2 s, rose to 10, and so on."""
    known = LiveState()
    known.leave(7.0, False, 0.0)
    assert known.left_s(2.0) == 5.0
    known.leave(math.inf, True, 2.0)
    assert known.left_s(2.0) is None
    assert not known.is_left
    step = {"what": "search", "label": "get", "users": 1, "per_s": 9.0}
    assert "known once the range of loads is found" in shown(tmp_path, began(), step, now(2, 1, left_s=None))
    assert "known once" not in shown(tmp_path, began(), step, now(2, 1, left_s=9))


def test_longer_slices_begin_the_looks_again() -> None:
    run = told(began(), look(12, -0.2, 0.4), look(12, -0.1, 0.2, longer=1))
    assert [one.low for one in run.groups["storage"].looks["b against a"]] == [-0.1]


def test_a_cost_is_the_mean_of_its_trials_and_a_point_in_time() -> None:
    run = LiveView()
    for at, ns in ((1, 100), (2, 300)):
        run.take({"what": "cost", "unix_s": at, "condition": "set", "parts": {"redis": {"ns": ns}}})
    assert run.costs["set"]["redis"].mean_ns == 200
    assert [point.figures["cost"] for point in run.points] == [{"set · redis": 100}, {"set · redis": 300}]


def test_long_runs_are_thinned_and_keep_their_peaks() -> None:
    run = told(*(now(at, 100 + at % 2) for at in range(5000)))
    assert POINTS_MAX / 2 <= len(run.points) <= POINTS_MAX
    times = [point.unix_s for point in run.points]
    assert times == sorted(times)
    assert (times[0], round(times[-1])) == (pytest.approx(3.5), pytest.approx(4995, abs=16))
    assert all(100 < point.figures["tps"]["set"] < 101 for point in run.points)
    assert {point.figures["p99"]["set"] for point in run.points} == {1e6}
    run.take({**now(6000, 100), "conditions": {"set": {"p99_ns": 9e9}}})
    for at in range(6001, 6032):
        run.take(now(at, 100))
    assert max(point.figures["p99"]["set"] for point in run.points) == 9e9


@pytest.mark.parametrize("value", HOSTILE, ids=repr)
def test_a_strangers_lines_end_nothing(value: Any) -> None:
    run = told(began())
    known = [began(), now(1, 1), look(1, 0, 1), {"what": "cost", "condition": "a", "parts": {"r": {"ns": 1}}}]
    known += [{"what": what} for what in ("search", "log", "ended")]
    for line in known:
        for key in {*line, "agents", "text", "status", "why"}:
            run.take({**line, key: value})
        for inner in ("pairs", "conditions", "parts", "groups"):
            run.take({**line, inner: [value]})
            run.take({**line, inner: {"a": value}})
            for key in ("name", "kind", "low", "said", "margin", "count", "looks", "tps", "errors", "pairs", "ns"):
                run.take({**line, inner: [{"name": "p", key: value}]})
                run.take({**line, inner: {"a": {key: value}}})
    for group in run.groups.values():
        for looks in group.looks.values():
            assert all(isinstance(one.sentence, str) for one in looks)
            drawn = narrowing(group, looks)
            assert all(math.isfinite(bar.low) and math.isfinite(bar.high) for bar in drawn.bars)
    json.dumps([point.figures for point in run.points], allow_nan=False)


def test_nothing_grows_without_end() -> None:
    run = told(began())
    for n in range(2000):
        run.take({"what": "log", "text": "x" * 10_000})
        run.take({"what": "cost", "condition": f"c{n}", "parts": {f"p{n}": {"ns": 1}}})
        run.take({"what": "look", "group": f"g{n}", "count": n, "pairs": [{"name": "p"}]})
        run.take({**now(n, 1), "conditions": {f"{n}-{m}": {} for m in range(9)}})
    assert (len(run.log), len(run.costs), len(run.groups), len(run.conditions)) == (LOG_MAX, 128, 64, 128)
    assert len(run.log[0][1]) == 2000


def test_numbers_and_texts_are_what_they_are() -> None:
    assert [bounded_number(value) for value in HOSTILE] == [None, None, -1.0, *[None] * 9]
    assert bounded_text("a\x1b[31m\nb‮c") == "a [31m b c"


def test_the_picture_has_each_interval_where_it_belongs() -> None:
    run = told(began(), look(12, -0.6, 2.0), look(20, -0.1, 0.25), look(32, 0.05, 0.2, "faster"))
    group = run.groups["storage"]
    drawn = narrowing(group, group.looks["b against a"])
    assert share(drawn.reach) == "+30 %"
    first, second, last = drawn.bars
    assert (first.cut_low, first.cut_high, second.cut_low, last.newest) == (True, True, False, True)
    assert first.x < second.x < last.x
    assert first.low == drawn.frame.bottom and first.high == drawn.frame.top  # noqa: PT018
    pixels = (drawn.zero - drawn.frame.top) / drawn.reach
    assert drawn.zero - last.low == pytest.approx(0.05 * pixels, abs=0.1)
    assert drawn.zero - last.high == pytest.approx(0.2 * pixels, abs=0.1)
    assert drawn.zero - drawn.margin_top == pytest.approx(math.log(1.05) * pixels, abs=0.1)
    assert [count for _, count, roomy in drawn.looks if roomy] == [12, 20, 32]


def test_the_picture_of_nothing_yet_has_margin_and_looks() -> None:
    drawn = narrowing(told(began()).groups["storage"], [])
    assert (drawn.bars, drawn.band, len(drawn.looks)) == ([], "", 3)
    assert drawn.margin_top < drawn.zero < drawn.margin_bottom
