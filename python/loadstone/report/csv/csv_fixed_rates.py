"""What rows did at a fixed rate, for a spreadsheet."""

from loadstone.analyse.model import Row
from loadstone.record.trial import Quantiles
from loadstone.report import format as fmt
from loadstone.report.csv.csv_comparisons import Cell


def fixed_rate_cells(row: Row) -> dict[str, Cell]:
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
        "at_rate_trials": " ".join(found.trials) if found else "",
        "at_rate_reasons": " ".join(_reasons(row)),
    }


def _reasons(row: Row) -> list[str]:
    """Why its figures are not valid, and which quantiles the data do not support."""
    if row.at_rate is None:
        return []
    missing = (f"{name}: {fmt.sentence(why)}" for name, why in row.at_rate.unmeasurable.items())
    return [*map(fmt.sentence, row.at_rate.reasons), *missing]
