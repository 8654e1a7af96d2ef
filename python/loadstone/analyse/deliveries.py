"""What receivers got of the load, over several trials."""

from collections.abc import Sequence

from loadstone.analyse.model import Deliveries
from loadstone.errors import DriveFailed
from loadstone.record.histogram import decode, merge, quantiles_ns
from loadstone.record.trial import TrialRecord


def deliveries(trials: Sequence[TrialRecord]) -> Deliveries | None:
    """Over these trials; None where one of them had no receivers."""
    drives = [trial.facts.drive for trial in trials if trial.facts.drive is not None]
    found = [drive.receivers for drive in drives if drive.receivers is not None]
    measured_s = sum(drive.measure_s for drive in drives)
    if not found or len(found) < len(trials) or measured_s <= 0:
        return None
    summaries = [one.delivery_ns for one in found if one.delivery_ns.count]
    count = sum(one.count for one in summaries)
    try:
        merged = merge(decode(one.delivery_histogram) for one in found)
    except DriveFailed:
        return None
    return Deliveries(
        per_s=sum(one.window_delivered for one in found) / measured_s,
        expected=sum(one.expected for one in found),
        delivered=sum(one.delivered for one in found),
        missing=sum(one.missing for one in found),
        disconnected=sum(one.disconnected for one in found),
        delivery_ns=quantiles_ns(
            merged,
            sum(max(one.expected, one.delivered) for one in found),
            least=min((one.min for one in summaries), default=None),
            mean=sum(one.mean * one.count for one in summaries) / count if count else None,
            greatest=max((one.max for one in summaries), default=None),
        ),
    )
