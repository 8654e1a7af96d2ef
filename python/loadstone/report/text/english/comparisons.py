"""What is to be known beside the verdicts of a comparison: how it ended, what was left out, what has no verdict."""

from collections.abc import Callable, Sequence

from loadstone.figures import slice_text
from loadstone.report.text.english.figures import metric_text
from loadstone.report.text.english.verdicts import blocks_text


def _left_out(left_out: int, of: int, reasons: str) -> str:
    return f"{left_out} of {of} blocks left out, by the checks of their trials: {reasons}."


def _invalid_in(check: str, trials: int) -> str:
    return f"{check} invalid in {trials} trial{'' if trials == 1 else 's'}"


def _after_last_look(blocks: int) -> str:
    were = f"{blocks_text(blocks)} {'was' if blocks == 1 else 'were'}"
    return f"{were} measured after the last look and not used: the level allows for no further look."


def _lengthened(slice_s: float | None, why: str) -> str:
    longer = "" if slice_s is None else f"Slices were lengthened to {slice_text(slice_s)}"
    to = longer or "Whole trials took the place of slices"
    return f"{to}: {why}."


def _goes_on_longer(slice_s: float | None, why: str) -> str:
    what = "whole trials" if slice_s is None else f"slices of {slice_text(slice_s)}"
    return f"{what} from now on: {why}"


def _metrics(metrics: Sequence[str]) -> str:
    return ", ".join(map(metric_text, metrics))


def _apart_in_time(a: str, b: str, groups_a: Sequence[str], groups_b: Sequence[str]) -> str:
    measured = f"{a} with '{', '.join(groups_a)}' and {b} with '{', '.join(groups_b)}'"
    return f"Not compared: {a} and {b} were measured at different times, {measured}; {_DECLARE}"


_DECLARE = "declare a comparison of them, and blocks will hold both."

COMPARISONS: dict[str, str | Callable[..., str]] = {
    "ended_decided": "It stopped because every pair was settled: more blocks would change no verdict.",
    "ended_last_look": "It stopped at the last look: as many blocks as were planned at most.",
    "ended_out_of_budget": "It stopped because the time budget was spent.",
    "ended_spoiled": (
        "It stopped because something outside disturbed too many blocks, including those that were measured again."
    ),
    "ended_carry_over": (
        "It stopped because something reached from one slice into the next, and there was no time for longer ones."
    ),
    "slices_lengthened": _lengthened,
    "goes_on_longer": _goes_on_longer,
    "ended_interrupted": "It stopped because the run was interrupted.",
    "ended_going_on": "It was still going on when the run ended.",
    "ended_two_runs": "two separate runs",
    "block_trials_invalid": lambda trials: "; ".join(trials),
    "trial_invalid": "{trial}: {checks:list} invalid",
    "block_after_last_look": "measured after the last look",
    "block_without_figure": "a trial gives no such figure",
    "block_left_out": "block {block} ({why})",
    "blocks_left_out": lambda left_out, of, blocks: _left_out(left_out, of, "; ".join(blocks)),
    "blocks_left_out_by": lambda left_out, of, checks: _left_out(left_out, of, ", ".join(checks)),
    "check_invalid_in": _invalid_in,
    "blocks_after_last_look": _after_last_look,
    "bound_by_shared_cpu": (
        "the processes of a condition share CPUs that are full: their placement decides, and nothing is said of "
        "instances on CPUs of their own."
    ),
    "both_latency_bound": "both conditions were latency-bound: this ranks round trips, not capacity.",
    "both_generator_bound": (
        "both conditions were generator-bound: this ranks what the generator can send, not the server."
    ),
    "both_pool_bound": "both conditions were pool-bound: this ranks the waiting for connections, not the server.",
    "both_paced": "both conditions were paced: their rates were set from outside, and only latencies can differ.",
    "not_listed": lambda metrics, like: f"Not listed: {_metrics(metrics)}. The same ratios as {metric_text(like)}.",
    "metrics_not_compared": lambda metrics, reason: f"Not compared: {_metrics(metrics)}. {reason.rstrip('.')}.",
    "latencies_not_compared": lambda reason: f"Not compared: latencies. {reason.rstrip('.')}.",
    "pair_not_measured": "Not compared: {name} was not measured.",
    "pair_apart_in_time": _apart_in_time,
    "pair_without_block": f"Not compared: {{a}} and {{b}} have no finished block in common; {_DECLARE}",
    "pairs_apart": "{pairs} more pairs were chosen by that and cannot be compared, for example: {first}",
    "conditions_in_one_run": lambda conditions: (
        f"{'1 condition was' if conditions == 1 else f'{conditions} conditions were'} "
        "not measured in both runs and not compared."
    ),
    "trials_left_out": "{trials} of {of} trials in {run} invalid and left out: {check}.",
    "trials_suspect": "{trials} of {of} trials in {run} suspect and used: {check}.",
    "note_of_run": "{run}: {note}",
}
