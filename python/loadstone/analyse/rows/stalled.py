"""What a server that stood still did to operations beside those that were measured."""

from loadstone.judge.validity.standing_still import server_stalls
from loadstone.record.trial import TrialRecord


def timeouts_beside(trial: TrialRecord) -> int:
    """Operations of warm-up, settling and drain that timed out, of a trial in which the server stood still; else 0."""
    facts = trial.facts
    if facts.drive is None or not server_stalls(facts, trial.response_ns.p50):
        return 0
    return max(0, facts.drive.total.timeouts - trial.counts.timeouts)
