"""The sample with every row measured at half of its capacity, too; some of these figures are refused."""

from typing import Any

from loadstone.drivers.outcome import Quantiles
from loadstone.judge.analysis.analysis import Analysis, AtRate, Row
from loadstone.text.message import message, verbatim

LATE = "The generator sent requests up to 3.4 ms late: its limit is 5 % of P50."
REFUSED = {
    "set, 100 B, 8 workers": ("suspect", LATE),
    "set, 1 kB, 8 workers": ("invalid", LATE),
    "set, 10 kB, 8 workers": ("invalid", LATE.replace("3.4", "4.5")),
}


def with_fixed_rates(analysis: Analysis, share: float | None = 0.5) -> Analysis:
    """Every row saturated, and with what it did at `share` of its goodput, or all at 5,000 a second."""
    tables = [
        table.model_copy(update={"rows": [_with_rate(row, share) for row in table.rows]}) for table in analysis.tables
    ]
    return analysis.model_copy(update={"tables": tables})


def _with_rate(row: Row, share: float | None) -> Row:
    return row.model_copy(update={"saturated": True, "at_rate": at_rate(row, share)})


def at_rate(row: Row, share: float | None = 0.5) -> AtRate:
    """What the row did at its rate: half as slow as under full load, and never as slow at the end."""
    verdict, why = REFUSED.get(row.label, ("valid", ""))
    common: dict[str, Any] = {"share": share, "service_ns": None}
    if row.goodput_per_s is None or row.response_ns is None:
        reasons = [message("at_rate.no_capacity")]
        return _empty(common, "missing", reasons, None)
    rate = 5_000.0 if share is None else share * row.goodput_per_s
    if verdict == "invalid":
        return _empty(common, "invalid", [verbatim(why)], rate)
    return AtRate(
        **common,
        verdict=verdict,
        reasons=[verbatim(why)] if why else [],
        trials=[f"r{name}" for name in row.trials],
        rate_per_s=rate,
        achieved_per_s=0.999 * rate,
        response_ns=_calmer(row.response_ns),
        unmeasurable={} if row.response_ns.p999 else {"p999": verbatim("P99.9 needs 100,000 operations")},
    )


def _empty(common: dict[str, Any], verdict: Any, reasons: Any, rate: float | None) -> AtRate:
    return AtRate(
        **common, verdict=verdict, reasons=reasons, trials=[], rate_per_s=rate, achieved_per_s=None, response_ns=None,
        unmeasurable={},
    )  # fmt: skip


def _calmer(full: Quantiles) -> Quantiles:
    p50 = int(0.45 * (full.p50 or 1))
    return full.model_copy(update={"p50": p50, "p95": 2 * p50, "p99": 3 * p50, "p999": full.p999 and 8 * p50})
