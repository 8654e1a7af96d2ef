"""What a server answered where operations failed: a reply for each kind of error, over several trials."""

from collections.abc import Sequence

from loadstone.bounds.replies import example_of
from loadstone.record.trial import TrialRecord


def error_examples(trials: Sequence[TrialRecord]) -> dict[str, str]:
    """Kind -> the first reply, of those kinds that were counted: a drive in turns may have another in another block.

    They are made printable again: a folder may be anybody's.
    """
    found: dict[str, str] = {}
    for trial in trials:
        for one in () if trial.facts.drive is None else trial.facts.drive.examples:
            if trial.counts.errors.get(one.kind):
                found.setdefault(one.kind, example_of(one.reply))
    return found
