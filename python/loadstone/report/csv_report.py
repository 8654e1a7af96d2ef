"""The report for spreadsheets: plain numbers, units in the header; ratios are factors, 1.12 is +12 %."""

import csv
import io
import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence

from loadstone.drivers.histogram import PER_MILLE
from loadstone.drivers.outcome import Quantiles
from loadstone.experiment.spec.levels import Level
from loadstone.judge.analysis.analysis import Analysis, AtRate, Comparison, ResultTable, Row
from loadstone.judge.verdict import CpuCost, Verdict
from loadstone.monitors import catalogue
from loadstone.report import figure_format as fmt
from loadstone.report import verdicts
from loadstone.report.tables.column import CsvValue
from loadstone.report.tables.columns import COLUMNS, is_at_rate
from loadstone.run_folder.facts import HOST
from loadstone.slot import Slot
from loadstone.text.language import use_language

_LATENCIES = ("response", "service", "pool_wait")
_STALLS = {
    "without_stalls_ns": "without_ns",
    "stalled_units": "units",
    "stalled_low_share": "share_low",
    "stalled_high_share": "share_high",
    "longest_stall_ns": "longest_ns",
}
"""Columns behind the quantiles of `tables.csv`, and the fields of `Stalls` that they hold. An interval is of the figure
without stalls where there is one."""
BEFORE_LATENCIES = (
    *("operations", "elapsed_s", "tps", "goodput_per_s", "goodput_interval", "bound", "blocks", "slices", "peak_tps"),
    "published",
)
"""Columns of `tables.csv`, by the keys of `report.tables.columns.COLUMNS`, which say their headers and values."""
AFTER_LATENCIES = ("errors",)
AFTER_PARTS = ("held_back",)
SOMETIMES = ("stored", "users")
"""Columns that only some runs have."""
MACHINE = {
    metric.name: f"{metric.name}{metric.csv_unit}" for metric in catalogue.METRICS.values() if metric.part == HOST
}
"""The metrics of the machine, and what they are called in `host.csv`, before `_avg` and `_max`."""
COMPARED = (
    "comparison", "question", "place", "between", "a", "b", "condition_a", "condition_b", "metric", "role", "kind",
    "verdict", "winner", "materially", "negligible", "typical_a", "typical_b", "ratio", "ratio_low", "ratio_high",
    "level", "p_value", "margin", "total_ratio", "detectable_ratio", "noise_floor_ratio", "more_minutes", "stalls_a",
    "stalls_b", "blocks_used", "blocks_done", "blocks_repeated", "pairs", "sequential", "ended", "trials_a",
    "trials_b", "checks_not_valid", "warnings",
)  # fmt: skip
"""The columns of `comparisons.csv`. A metric's unit is the end of its name."""
EFFECTS = (
    "effects", "question", "metric", "kind", "name", "factors", "levels", "references", "over", "verdict", "ratio",
    "ratio_low", "ratio_high", "level", "p_value", "margin", "unit", "used", "said",
)  # fmt: skip
"""The columns of `effects.csv`. Of an interaction the ratio is one of ratios."""
COMBINATIONS = ("effects", "metric", "condition", "label", "figure", "low", "high", "check")
"""The columns of `combinations.csv`."""


CsvRows = Callable[[Analysis], Iterator[dict[str, CsvValue]]]
"""The lines of a file, all with the same columns; no line: there is no such file."""
OWN_FILES = ("tables.csv", "comparisons.csv", "effects.csv", "combinations.csv", "host.csv", "parts.csv")
CSV_FILES: Slot[CsvRows] = Slot("csv_files", lambda: OWN_FILES)
"""Those of add-ons, by the names of their files."""


@use_language("en")
def render(analysis: Analysis) -> dict[str, bytes]:
    """`tables.csv` and `comparisons.csv` in UTF-8, and `effects.csv`, `combinations.csv`, `host.csv`,
    `parts.csv` and those of add-ons where there is something of the kind.

    A figure that is not known is an empty cell.
    """
    rows = [row for table in analysis.tables for row in table.rows]
    parts = list(dict.fromkeys(part for row in rows for part in row.cpu_share))
    original = list(dict.fromkeys(key for row in rows for key in row.published_columns))
    costed = list(dict.fromkeys(part for row in rows for part in row.costs))
    known = _factors(analysis)
    lines = [
        {**_cells(table, row, known, parts), **cost_cells(row.costs, costed), **_of_study(analysis, row, original)}
        for table in analysis.tables
        for row in table.rows
    ]
    header = lines[0] if lines else _cells(_NO_TABLE, _NO_ROW, [], [])
    files = {
        "tables.csv": _written(list(header), lines),
        "comparisons.csv": _written(list(COMPARED), list(_comparison_rows(analysis))),
    }
    if analysis.effects:
        files["effects.csv"] = _written(list(EFFECTS), list(_effect_rows(analysis)))
        files["combinations.csv"] = _written(list(COMBINATIONS), list(_combination_rows(analysis)))
    further = {
        "host.csv": _host_rows,
        "parts.csv": _part_rows,
        **dict(CSV_FILES.items()),
    }
    for name, observed in ((name, list(rows_of(analysis))) for name, rows_of in further.items()):
        if observed:
            files[name] = _written(list(observed[0]), observed)
    return files


def _of_study(analysis: Analysis, row: Row, original: list[str]) -> dict[str, CsvValue]:
    """What only some runs have: figures at a fixed rate, what of latencies may be the generator's own, rows stored, the
    original's figures by column, the scale.
    """
    found: dict[str, CsvValue] = {f"published_{key}": row.published_columns.get(key) for key in original}
    if any(is_at_rate(table.rows) for table in analysis.tables):
        found |= fixed_rate_cells(row)
    if any(one.least_ns is not None or one.latencies_doubted for table in analysis.tables for one in table.rows):
        least = {f"least_{name}_ns": getattr(row.least_ns, name, None) for name in Quantiles.model_fields}
        found |= {**least, "latencies_doubted": "yes" if row.latencies_doubted else "no"}
    if any(one.interval_units for table in analysis.tables for one in table.rows):
        found |= _interval_cells(row)
    if any(one.stored is not None for table in analysis.tables for one in table.rows):
        found |= _of_columns(row, ("stored",))
    return found if analysis.scale == 1 else {**found, **_of_columns(row, ("users",)), "scale": analysis.scale}


def _written(header: list[str], lines: list[dict[str, CsvValue]]) -> bytes:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([_safe(name) for name in header])
    writer.writerows([_safe(line[name]) for name in header] for line in lines)
    return out.getvalue().encode()


def _cells(table: ResultTable, row: Row, factors: list[str], parts: list[str]) -> dict[str, CsvValue]:
    """One line, by the names of its columns."""
    return {
        "table": table.name,
        "condition": row.label,
        **{f"factor_{name}": row.condition.get(name) for name in factors},
        "verdict": row.verdict,
        "trials": " ".join(row.trials),
        **_of_columns(row, BEFORE_LATENCIES),
        **{
            f"{kind}_{name}_ns": getattr(getattr(row, f"{kind}_ns"), name, None)
            for kind in _LATENCIES
            for name in Quantiles.model_fields
        },
        **_of_columns(row, AFTER_LATENCIES),
        **{f"cpu_{part}_share_of_core": row.cpu_share.get(part) for part in parts},
        **_of_columns(row, AFTER_PARTS),
        "unmeasurable": "; ".join(f"{name}: {fmt.sentence(why)}" for name, why in row.unmeasurable.items()),
        "reasons": " ".join(map(fmt.sentence, row.reasons)),
    }


def _of_columns(row: Row, keys: Sequence[str]) -> dict[str, CsvValue]:
    """What columns have in a spreadsheet."""
    return {header: value(row) for key in keys for header, value in COLUMNS[key].csv.items()}


def cost_cells(costs: Mapping[str, CpuCost], parts: Sequence[str]) -> dict[str, CsvValue]:
    """What a request costs each part, with both ends of the interval, and whose it is within the part."""
    return {
        f"cpu_{part}_a_request{end}_ns": getattr(costs.get(part), f"{end}_ns".strip("_"), None)
        for part in parts
        for end in ("", "_low", "_high", "_main", "_system", "_children")
    }


def _safe(cell: CsvValue) -> CsvValue:
    """Text on one line, and never a formula to a spreadsheet."""
    if not isinstance(cell, str):
        return cell
    return fmt.without_formula(fmt.plain(cell))


_NO_TABLE = ResultTable(name="", title="", note="", vary={}, rows=[])
_NO_ROW = Row(
    condition={}, label="", trials=[], verdict="missing", reasons=[], operations=None, elapsed_s=None,
    throughput_per_s=None, goodput_per_s=None, peak_per_s=None, response_ns=None, service_ns=None, pool_wait_ns=None,
    errors={}, cpu_share={}, published=None, unmeasurable={},
)  # fmt: skip


def _interval_cells(found: AtRate | Row | None, prefix: str = "") -> dict[str, CsvValue]:
    """Return the cells of quantiles at a fixed rate: both ends of their 95 % intervals, stalls, and what speaks against
    a figure."""
    ends = found.response_interval_ns if found else {}
    return {
        **{
            f"{prefix}response_{name}_{end}_ns": ends[name][place] if name in ends else None
            for name in PER_MILLE
            for place, end in enumerate(("low", "high"))
        },
        **{
            f"{prefix}response_{name}_{key}": getattr(found.stalls.get(name), field, None) if found else None
            for name in PER_MILLE
            for key, field in _STALLS.items()
        },
        f"{prefix}interval_units": found.interval_units if found else None,
        f"{prefix}interval_unit": found.interval_unit if found else None,
        f"{prefix}doubted": " ".join(found.doubted) if found else "",
        f"{prefix}unsettled": " ".join(map(fmt.sentence, found.unsettled.values())) if found else "",
    }


def fixed_rate_cells(row: Row) -> dict[str, CsvValue]:
    """Columns that begin with `at_rate_`, empty where a row has none; and whether its own load was all it can take.

    Of a saturated row `response_..._ns` is users / throughput.
    """
    found = row.at_rate
    return {
        "saturated": "yes" if row.saturated else "no",
        "at_rate_verdict": found.verdict if found else "",
        "at_rate_per_s": found.rate_per_s if found else None,
        "at_rate_share_of_capacity": found.share if found else None,
        "at_rate_achieved_per_s": found.achieved_per_s if found else None,
        **{
            f"at_rate_{kind}_{name}_ns": getattr(getattr(found, f"{kind}_ns", None), name, None)
            for kind in ("response", "service", "least")
            for name in Quantiles.model_fields
        },
        "at_rate_latencies_doubted": (("yes" if found.latencies_doubted else "no") if found else ""),
        **_interval_cells(found, "at_rate_"),
        "at_rate_trials": " ".join(found.trials) if found else "",
        "at_rate_reasons": " ".join(_reasons(row)),
    }


def _reasons(row: Row) -> list[str]:
    """Why its figures are not valid, and which quantiles the data do not support."""
    if row.at_rate is None:
        return []
    missing = (f"{name}: {fmt.sentence(why)}" for name, why in row.at_rate.unmeasurable.items())
    return [*map(fmt.sentence, row.at_rate.reasons), *missing]


def _host_rows(analysis: Analysis) -> Iterator[dict[str, CsvValue]]:
    """A line a condition of which the machine was observed."""
    for table, row in _rows(analysis):
        figures = row.seen.get(HOST)
        if figures:
            line = _condition(analysis, table, row)
            for metric, name in MACHINE.items():
                figure = figures.get(metric)
                line |= {f"{name}_avg": figure.avg if figure else None, f"{name}_max": figure.max if figure else None}
            yield line


def _part_rows(analysis: Analysis) -> Iterator[dict[str, CsvValue]]:
    """A line a condition, part and metric, in the unit that the metric has in `samples.jsonl`."""
    for table, row in _rows(analysis):
        for part, figures in row.seen.items():
            if part != HOST:
                for metric, figure in figures.items():
                    ends: dict[str, CsvValue] = {"avg": figure.avg, "max": figure.max}
                    yield {**_condition(analysis, table, row), "part": part, "metric": metric, **ends}


def _rows(analysis: Analysis) -> Iterator[tuple[ResultTable, Row]]:
    return ((table, row) for table in analysis.tables for row in table.rows)


def _condition(analysis: Analysis, table: ResultTable, row: Row) -> dict[str, CsvValue]:
    levels: dict[str, Level | None] = {name: row.condition.get(name) for name in _factors(analysis)}
    return {"table": table.name, "condition": row.label, **{f"factor_{name}": level for name, level in levels.items()}}


def _factors(analysis: Analysis) -> list[str]:
    """Every factor that some row has a level of, in their order."""
    return list(dict.fromkeys(name for _, row in _rows(analysis) for name in row.condition))


def _comparison_rows(analysis: Analysis) -> Iterator[dict[str, CsvValue]]:
    """The primary metric of each pair, and after it what a request costs, and the exploratory ones."""
    for comparison in verdicts.all_comparisons(analysis):
        for verdict in (comparison.primary, *comparison.costs, *comparison.exploratory):
            yield {**_pair(comparison), **_judged(verdict)}


def _pair(comparison: Comparison) -> dict[str, CsvValue]:
    primary = comparison.primary
    used = [point for point in primary.points if point.used]
    return {
        "comparison": comparison.name,
        "question": comparison.question,
        "place": comparison.place,
        "between": comparison.between,
        "a": primary.a.name,
        "b": primary.b.name,
        "condition_a": json.dumps(primary.a.condition, ensure_ascii=False),
        "condition_b": json.dumps(primary.b.condition, ensure_ascii=False),
        "blocks_done": comparison.blocks_done,
        "blocks_repeated": comparison.blocks_repeated,
        "pairs": comparison.pairs,
        "sequential": comparison.sequential,
        "ended": comparison.ended,
        "trials_a": " ".join(point.trial_a for point in used),
        "trials_b": " ".join(point.trial_b for point in used),
        "checks_not_valid": "; ".join(f"{c.name}: {c.verdict}" for c in comparison.checks if c.verdict != "valid"),
        "warnings": " ".join(map(fmt.sentence, comparison.warnings)),
    }


def _judged(verdict: Verdict) -> dict[str, CsvValue]:
    """The figures of one metric; none of them where a check forbids figures."""
    allowed = verdict.kind != "invalid"
    ends = verdicts.interval(verdict)
    return {
        "metric": verdict.metric,
        "role": verdict.role,
        "kind": verdict.kind,
        "verdict": verdicts.verdict_text(verdict),
        "winner": verdict.winner,
        "materially": verdict.materially,
        "negligible": verdict.negligible,
        "typical_a": verdict.a.typical if allowed else None,
        "typical_b": verdict.b.typical if allowed else None,
        "ratio": _factor(verdict.estimate) if ends else None,
        "ratio_low": _factor(ends.low) if ends else None,
        "ratio_high": _factor(ends.high) if ends else None,
        "level": verdict.level,
        "p_value": verdict.p_value if allowed else None,
        "margin": verdict.margin,
        "total_ratio": _factor(verdict.total) if allowed else None,
        "detectable_ratio": _factor(verdict.detectable) if allowed else None,
        "noise_floor_ratio": _factor(verdict.noise_floor),
        "more_minutes": verdict.more_minutes,
        "stalls_a": verdict.stalls_a,
        "stalls_b": verdict.stalls_b,
        "blocks_used": verdict.blocks,
    }


def _factor(log_ratio: float | None) -> float | None:
    return None if log_ratio is None else math.exp(log_ratio)


def _effect_rows(analysis: Analysis) -> Iterator[dict[str, CsvValue]]:
    """Every main effect and interaction."""
    for answer in analysis.effects:
        for term in answer.terms:
            judged, ends = term.verdict, verdicts.interval(term.verdict)
            middle = verdicts.estimate(judged) if ends is not None else None
            yield {
                "effects": answer.name,
                "question": answer.question,
                "metric": answer.metric,
                "kind": term.kind,
                "name": term.name,
                "factors": " ".join(term.factors),
                "levels": json.dumps(term.levels, ensure_ascii=False),
                "references": json.dumps(term.references, ensure_ascii=False),
                "over": "; ".join(term.over),
                "verdict": judged.kind,
                "ratio": None if middle is None else math.exp(middle),
                "ratio_low": None if ends is None else math.exp(ends.low),
                "ratio_high": None if ends is None else math.exp(ends.high),
                "level": judged.level,
                "p_value": judged.p_value,
                "margin": judged.margin,
                "unit": judged.unit,
                "used": judged.blocks,
                "said": fmt.sentence(term.message),
            }


def _combination_rows(analysis: Analysis) -> Iterator[dict[str, CsvValue]]:
    """Every combination with its typical figure."""
    for answer in analysis.effects:
        for cell in answer.cells:
            yield {
                "effects": answer.name,
                "metric": answer.metric,
                "condition": json.dumps(cell.condition, ensure_ascii=False),
                "label": cell.label,
                "figure": cell.figure,
                "low": cell.low,
                "high": cell.high,
                "check": cell.refusal.name if cell.refusal is not None else "",
            }
