"""How far the figures of a run can be trusted."""

from collections.abc import Callable, Sequence

from loadstone.report.text.english.grammar import whole_percent


def _trust(good: int, once: int, of: int, within_share: float, others: Sequence[str]) -> str:
    said = f"{good} of {of} {'figure' if of == 1 else 'figures'} good within {whole_percent(within_share)}"
    its = "its bounds are" if once == 1 else "their bounds are"
    few = [f"{once} had too few trials for an interval, though no check failed (✓) and {its} small"] if once else []
    return "; ".join([said, *few, *others])


TRUST: dict[str, str | Callable[..., str]] = {
    "trust": _trust,
    "trust_saturation": "{good} of {of} saturation points found",
    "trust_no_table": "No table was measured",
    "trust_others": "{figures}: {why}",
    "trust_other_reasons": "other reasons",
    "trust_generator": "the generator may have been the limit",
    "trust_taken": "other programs took CPU time",
    "trust_both": "the generator and other programs together",
    "trust_unknown": "what limited them could not be observed",
    "trust_interval": "the interval is wider",
    "trust_suspect": "a check is suspect",
    "trust_missing": "not measured",
    "trust_failed": "failed the check '{check}'",
    "trust_invalid": "invalid",
}
