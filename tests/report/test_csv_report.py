import csv
import io
import math

import pytest

from loadstone.judge.analysis.analysis import Analysis
from loadstone.report import csv_report
from loadstone.report import figure_format as fmt
from loadstone.report.csv_report import COMPARED
from loadstone.report.verdicts import verdict_text


def rows_of(analysis: Analysis, file: str = "tables.csv") -> list[dict[str, str]]:
    text = csv_report.render(analysis)[file].decode()
    return list(csv.DictReader(io.StringIO(text)))


def test_a_row_a_condition_a_table_with_units_in_the_header(analysis: Analysis) -> None:
    rows = rows_of(analysis)
    assert len(rows) == 54 + 27 + 2
    assert list(rows[0]) == [
        "table", "condition", "factor_operation", "factor_payload", "factor_workers", "factor_storage",
        "verdict", "trials", "operations", "elapsed_s", "throughput_per_s", "goodput_per_s",
        "goodput_low_per_s", "goodput_high_per_s", "bound_generator", "bound_taken", "blocks", "slices", "peak_per_s",
        "published",
        *(
            f"{kind}_{name}_ns"
            for kind in ("response", "service", "pool_wait")
            for name in ("min", "mean", "p50", "p90", "p95", "p99", "p999", "max")
        ),
        "errors_total", "errors", "cpu_generator_share_of_core", "cpu_redis_share_of_core",
        "bottleneck", "bottleneck_evidence", "unmeasurable", "reasons",
    ]  # fmt: skip


def test_figures_are_plain_numbers_as_they_are(analysis: Analysis) -> None:
    row, written = analysis.tables[0].rows[0], rows_of(analysis)[0]
    assert float(written["goodput_per_s"]) == row.goodput_per_s
    assert row.response_ns is not None
    assert int(written["response_p99_ns"]) == row.response_ns.p99
    assert (written["factor_payload"], written["factor_workers"], written["published"]) == ("10 B", "1", "1089.0")


def test_what_is_not_known_is_empty(analysis: Analysis) -> None:
    missing = [row for row in rows_of(analysis) if row["verdict"] in ("missing", "invalid")]
    assert len(missing) == 4
    for row in missing:
        assert row["goodput_per_s"] == row["response_p50_ns"] == row["errors_total"] == ""
    cannot = rows_of(analysis)[0]
    assert cannot["response_p999_ns"] == ""
    assert cannot["unmeasurable"].startswith("p999: ")


def test_figures_at_a_fixed_rate_have_columns_of_their_own(paced: Analysis, judged: Analysis) -> None:
    assert not any(name.startswith("at_rate") for name in rows_of(judged)[0])
    rows = {row["condition"]: row for row in rows_of(paced) if row["table"] == "by-concurrency"}
    written = rows["set, 100 B, 4 workers"]
    row = paced.tables[1].rows[0]
    assert row.at_rate is not None
    assert row.at_rate.response_ns is not None
    assert row.response_ns is not None
    assert float(written["at_rate_per_s"]) == row.at_rate.rate_per_s
    assert (written["at_rate_share_of_capacity"], written["saturated"]) == ("0.5", "yes")
    assert int(written["at_rate_response_p99_ns"]) == row.at_rate.response_ns.p99
    assert int(written["response_p99_ns"]) == row.response_ns.p99
    refused = rows["set, 1 kB, 8 workers"]
    assert refused["at_rate_response_p99_ns"] == ""
    assert refused["at_rate_verdict"] == "invalid"
    assert refused["at_rate_reasons"].startswith("The generator sent requests up to 3.4 ms late")


def test_no_cell_is_a_formula(analysis: Analysis) -> None:
    table = analysis.tables[3]
    rows = [table.rows[0].model_copy(update={"label": "=HYPERLINK(1)\n-1", "condition": {"@x": "+1"}})]
    hostile = analysis.model_copy(update={"tables": [table.model_copy(update={"rows": rows})]})
    [row] = rows_of(hostile)
    assert (row["condition"], row["factor_@x"]) == ("'=HYPERLINK(1) -1", "'+1")


@pytest.mark.parametrize(
    "text", ["=1", "+1", "-1", "@x", "|cmd", "%x", "!x", "\uff1d1", ";=1", ",=1", "&x", "\u2795 1"]
)
def test_a_text_that_begins_with_a_sign_that_may_be_a_formulas_is_one_of_letters(text: str) -> None:
    assert fmt.without_formula(text) == f"'{text}"


@pytest.mark.parametrize("text", ["", "set, 1 kB", "1.5", "가", "(none)", "—", "`x`"])
def test_any_other_text_stays(text: str) -> None:
    assert fmt.without_formula(text) == text


def test_without_rows_there_is_a_header(analysis: Analysis) -> None:
    text = csv_report.render(analysis.model_copy(update={"tables": []}))["tables.csv"].decode()
    assert text.startswith("table,condition,verdict,trials,operations,elapsed_s,")
    assert text.count("\n") == 1


def test_a_line_a_pair_and_metric(judged: Analysis) -> None:
    rows = rows_of(judged, "comparisons.csv")
    assert list(rows[0]) == list(COMPARED)
    assert len(rows) == 2 * 9
    assert [row["role"] for row in rows[:4]] == ["primary", "exploratory"] * 2
    first, primary = rows[0], judged.families[0].comparisons[0].primary
    assert primary.estimate is not None
    assert primary.low is not None
    assert float(first["ratio"]) == math.exp(primary.estimate)
    assert float(first["ratio_low"]) == math.exp(primary.low)
    assert first["verdict"] == verdict_text(primary)
    assert first["trials_a"].split() == [point.trial_a for point in primary.points]


def test_an_invalid_comparison_has_no_figure(judged: Analysis) -> None:
    [row] = [row for row in rows_of(judged, "comparisons.csv") if row["kind"] == "invalid"]
    for name in ("ratio", "ratio_low", "ratio_high", "typical_a", "typical_b", "p_value", "total_ratio"):
        assert row[name] == ""
    assert row["verdict"] == "INVALID: errors, measured 3.4 %, limit 1 %"
    assert (row["blocks_done"], row["blocks_repeated"], row["blocks_used"]) == ("18", "2", "17")
    assert row["checks_not_valid"] == "errors: invalid"


def test_without_comparisons_there_is_a_header(analysis: Analysis) -> None:
    assert csv_report.render(analysis)["comparisons.csv"].decode() == ",".join(COMPARED) + "\n"
