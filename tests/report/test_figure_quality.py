"""How many figures are known within 10 %, and why the others are not."""

import pytest

from loadstone.judge.analysis.analysis import Analysis, Bottleneck, PartName, Row
from loadstone.judge.verdict import UNBOUNDED, GeneratorBound
from loadstone.report import figure_format as fmt
from loadstone.report.figure_quality import figure_quality, half_width, trust_text
from loadstone.run_folder.trial import CheckResult
from loadstone.text.message import verbatim

PACED = Bottleneck(part="paced", message=verbatim(""), evidence={})
FREE = GeneratorBound(generator=0.0, taken=0.0)


def with_rows(analysis: Analysis, *changes: dict[str, object]) -> Analysis:
    """The analysis with as many rows as changes, each a valid one of its first table with these changes."""
    usable = [row for row in analysis.tables[0].rows if row.verdict == "valid"]
    rows = [row.model_copy(update={"bound": FREE} | change) for row, change in zip(usable, changes, strict=False)]
    return analysis.model_copy(update={"tables": [analysis.tables[0].model_copy(update={"rows": rows})]})


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({}, ""),
        ({"bound": GeneratorBound(generator=0.05, taken=0.04)}, ""),
        ({"bound": GeneratorBound(generator=0.07, taken=0.06)}, "the generator and other programs together"),
        ({"bound": GeneratorBound(generator=0.11, taken=0.0)}, "the generator may have been the limit"),
        ({"bound": GeneratorBound(generator=0.11, taken=0.5)}, "other programs took CPU time"),
        ({"bound": GeneratorBound(generator=3.0, taken=0.02, round_trip=True)}, ""),
        ({"bound": GeneratorBound(generator=None, taken=0.3, round_trip=True)}, "other programs took CPU time"),
        ({"bound": GeneratorBound(generator=None, taken=None)}, "what limited them could not be observed"),
        ({"bound": GeneratorBound(generator=None, taken=0.0), "bottleneck": PACED}, ""),
        ({"bound": None}, "what limited them could not be observed"),
        ({"goodput_interval": (91.0, 109.0)}, ""),
        ({"goodput_interval": (85.0, 115.0)}, "the interval is wider"),
        ({"verdict": "missing", "goodput_per_s": None, "trials": []}, "not measured"),
    ],
)
def test_a_figure_is_good_where_bound_and_interval_are_narrow(
    analysis: Analysis, change: dict[str, object], why: str
) -> None:
    found = figure_quality(with_rows(analysis, change))
    assert (found.good, found.of) == (0 if why else 1, 1)
    assert found.others == (((why, 1),) if why else ())


def test_a_check_that_refused_a_far_bound_is_reported_as_the_bound(analysis: Analysis) -> None:
    refused = CheckResult(name="taken", verdict="invalid", measured=63.0, limit=50.0, unit="%", reason=None)
    run = with_rows(analysis, {"verdict": "invalid", "goodput_per_s": None})
    [name] = run.tables[0].rows[0].trials
    view = next(view for view in run.trials if view.trial == name)
    spoiled = view.model_copy(update={"verdict": "invalid", "checks": [*view.checks, refused]})
    found = figure_quality(run.model_copy(update={"trials": [spoiled]}))
    assert found.others == (("other programs took CPU time", 1),)


def test_half_of_the_width_counts() -> None:
    assert half_width((90.0, 110.0)) == pytest.approx(0.1)


def test_the_sentence_has_the_main_reasons(analysis: Analysis) -> None:
    wide = {"goodput_interval": (50.0, 150.0)}
    limited = {"bound": GeneratorBound(generator=0.5, taken=0.0)}
    lost = {"bound": None}
    reported = trust_text(
        with_rows(analysis, {}, {"goodput_interval": (99.0, 101.0)}, wide, wide, limited, limited, lost)
    )
    assert reported == (
        "1 of 7 figures are within ±10 %; 1 had too few trials for an interval, though no check failed (✓) and "
        "its bounds are small; 2 are wider; 2 are not: the generator may have been the limit; 1 "
        "is not: other reasons"
    )
    assert trust_text(analysis.model_copy(update={"tables": []})) == "No table was measured"


@pytest.mark.parametrize(
    ("bound", "cell", "phrase"),
    [
        (None, "", ""),
        (GeneratorBound(generator=0.004, taken=0.005), "", ""),
        (GeneratorBound(generator=0.031, taken=0.004), "+4 %", "up to +4 %"),
        (GeneratorBound(generator=4.0, taken=0.0), "+400 %", "up to +400 %"),
        (GeneratorBound(generator=UNBOUNDED, taken=0.0), "no upper bound", "no upper bound"),
        (GeneratorBound(generator=0.0, taken=UNBOUNDED), "no upper bound", "no upper bound"),
        (GeneratorBound(generator=UNBOUNDED, taken=0.02, round_trip=True), "+2 %", "up to +2 %"),
    ],
)
def test_a_bound_stands_behind_its_figure(bound: GeneratorBound | None, cell: str, phrase: str) -> None:
    assert (fmt.bound(bound), fmt.bound_phrase(bound)) == (cell, phrase)


def test_the_round_trip_of_one_user_is_called_so(analysis: Analysis) -> None:
    from loadstone.report.tables.columns import bottleneck_text

    row: Row = (
        with_rows(analysis, {"bound": GeneratorBound(generator=None, taken=0.0, round_trip=True)}).tables[0].rows[0]
    )
    assert bottleneck_text(row) == "round trip of this client"


def test_a_bottleneck_has_its_share(analysis: Analysis) -> None:
    from loadstone.report.tables.columns import bottleneck_text

    limit = Bottleneck(part="disk", message=verbatim("disk-bound"), evidence={}, share=0.604)
    row: Row = with_rows(analysis, {"bottleneck": limit}).tables[0].rows[0]
    assert bottleneck_text(row) == "disk 60 %"
    for part, share, said in (("latency", None, "round trips"), ("unknown", 0.99, "?")):
        assert bottleneck_text(_with(row, part, share)) == said


def _with(row: Row, part: PartName, share: float | None) -> Row:
    limit = Bottleneck(part=part, message=verbatim(""), evidence={}, share=share)
    return row.model_copy(update={"bottleneck": limit})
