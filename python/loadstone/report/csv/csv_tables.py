"""Tables and comparisons for a spreadsheet: plain numbers, units in the header."""

import csv
import io

from loadstone.analyse.model import Analysis, ResultTable, Row
from loadstone.record.trial import Quantiles
from loadstone.report import format as fmt
from loadstone.report.csv.csv_comparisons import COMPARED, Cell, comparison_rows
from loadstone.report.csv.csv_effects import COMBINATIONS, EFFECTS, combination_rows, effect_rows
from loadstone.report.csv.csv_fixed_rates import fixed_rate_cells
from loadstone.report.csv.csv_observed import factors, host_rows, part_rows
from loadstone.report.csv.csv_saturation import ramp_rows, saturation_rows
from loadstone.report.tables.column import errors
from loadstone.report.tables.fixed_rate_columns import is_at_rate

_LATENCIES = ("response", "service", "pool_wait")
_FORMULA = ("=", "+", "-", "@")


def render(analysis: Analysis) -> dict[str, bytes]:
    """`tables.csv` and `comparisons.csv` in UTF-8, and `effects.csv`, `combinations.csv`, `host.csv`, `parts.csv`,
    `saturation.csv` and `ramp.csv` where there is something of the kind.

    A figure that is not known is an empty cell.
    """
    rows = [row for table in analysis.tables for row in table.rows]
    parts = list(dict.fromkeys(part for row in rows for part in row.cpu_share))
    original = list(dict.fromkeys(key for row in rows for key in row.published_columns))
    known = factors(analysis)
    lines = [
        {**_cells(table, row, known, parts), **_of_study(analysis, row, original)}
        for table in analysis.tables
        for row in table.rows
    ]
    header = lines[0] if lines else _cells(_NO_TABLE, _NO_ROW, [], [])
    files = {
        "tables.csv": _written(list(header), lines),
        "comparisons.csv": _written(list(COMPARED), list(comparison_rows(analysis))),
    }
    if analysis.effects:
        files["effects.csv"] = _written(list(EFFECTS), list(effect_rows(analysis)))
        files["combinations.csv"] = _written(list(COMBINATIONS), list(combination_rows(analysis)))
    further = {"host.csv": host_rows, "parts.csv": part_rows, "saturation.csv": saturation_rows, "ramp.csv": ramp_rows}
    for name, observed in ((name, list(rows_of(analysis))) for name, rows_of in further.items()):
        if observed:
            files[name] = _written(list(observed[0]), observed)
    return files


def _of_study(analysis: Analysis, row: Row, original: list[str]) -> dict[str, Cell]:
    """What only some runs have: figures at a fixed rate, what of latencies may be the generator's own, rows stored, the
    original's figures by column, the scale.
    """
    found: dict[str, Cell] = {f"published_{key}": row.published_columns.get(key) for key in original}
    if any(is_at_rate(table.rows) for table in analysis.tables):
        found |= fixed_rate_cells(row)
    if any(one.least_ns is not None or one.latencies_doubted for table in analysis.tables for one in table.rows):
        least = {f"least_{name}_ns": getattr(row.least_ns, name, None) for name in Quantiles.model_fields}
        found |= {**least, "latencies_doubted": "yes" if row.latencies_doubted else "no"}
    if any(one.stored is not None for table in analysis.tables for one in table.rows):
        found |= {"stored": row.stored, "answered": row.answered, "stored_keys": row.stored_keys}
    return found if analysis.scale == 1 else {**found, "users": row.users, "scale": analysis.scale}


def _written(header: list[str], lines: list[dict[str, Cell]]) -> bytes:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([_safe(name) for name in header])
    writer.writerows([_safe(line[name]) for name in header] for line in lines)
    return out.getvalue().encode()


def _cells(table: ResultTable, row: Row, factors: list[str], parts: list[str]) -> dict[str, Cell]:
    """One line, by the names of its columns."""
    return {
        "table": table.name,
        "condition": row.label,
        **{f"factor_{name}": row.condition.get(name) for name in factors},
        "verdict": row.verdict,
        "trials": " ".join(row.trials),
        "operations": row.operations,
        "elapsed_s": row.elapsed_s,
        "throughput_per_s": row.throughput_per_s,
        "goodput_per_s": row.goodput_per_s,
        "goodput_low_per_s": row.goodput_interval[0] if row.goodput_interval else None,
        "goodput_high_per_s": row.goodput_interval[1] if row.goodput_interval else None,
        "bound_generator": row.bound.generator if row.bound else None,
        "bound_taken": row.bound.taken if row.bound else None,
        "blocks": row.blocks,
        "slices": row.slices,
        "peak_per_s": row.peak_per_s,
        "published": row.published,
        **{
            f"{kind}_{name}_ns": getattr(getattr(row, f"{kind}_ns"), name, None)
            for kind in _LATENCIES
            for name in Quantiles.model_fields
        },
        "errors_total": errors(row),
        "errors": "; ".join(f"{kind}: {number}" for kind, number in row.errors.items()),
        **{f"cpu_{part}_share_of_core": row.cpu_share.get(part) for part in parts},
        "bottleneck": row.bottleneck.part if row.bottleneck else "",
        "bottleneck_evidence": fmt.sentence(row.bottleneck.message) if row.bottleneck else "",
        "unmeasurable": "; ".join(f"{name}: {fmt.sentence(why)}" for name, why in row.unmeasurable.items()),
        "reasons": " ".join(map(fmt.sentence, row.reasons)),
    }


def _safe(cell: Cell) -> Cell:
    """Text on one line, and never a formula to a spreadsheet."""
    if not isinstance(cell, str):
        return cell
    text = fmt.plain(cell)
    return f"'{text}" if text.startswith(_FORMULA) else text


_NO_TABLE = ResultTable(name="", title="", note="", vary={}, rows=[])
_NO_ROW = Row(
    condition={}, label="", trials=[], verdict="missing", reasons=[], operations=None, elapsed_s=None,
    throughput_per_s=None, goodput_per_s=None, peak_per_s=None, response_ns=None, service_ns=None, pool_wait_ns=None,
    errors={}, cpu_share={}, published=None, unmeasurable={},
)  # fmt: skip
