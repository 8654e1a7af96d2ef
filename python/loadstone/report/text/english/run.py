"""The run as a whole: the answer that opens a report, how far to trust it, what to know of it, what to do next."""

from collections.abc import Callable, Sequence

from loadstone.figures import digits
from loadstone.report.text.english.figures import cost_figure, listed, metric_text, part_text, several, whole_percent


def _figures(place: str, figures: Sequence[str], metric: str, suspect: bool, quick: bool) -> str:
    at = f"At {place}: " if place else ""
    return f"{at}{listed(figures)} {metric_text(metric)}{_remarks(quick, suspect=suspect)}."


def _without_interval(
    conditions: int,
    times: int,
    rates_have_interval: bool,
    quick: bool,
    in_rounds: int = 0,
    times_min: int = 0,
    compared_by: str | None = None,
) -> str:
    were = "The one condition was" if conditions == 1 else f"{conditions} conditions were"
    if compared_by is not None:
        by = metric_text(compared_by)
        return f"{were} measured and compared by the {by}; the table has each one's own{_remarks(quick)}."
    if rates_have_interval:
        return f"{were} measured; the tables show how often, with the intervals of the rates{_remarks(quick)}."
    most = "once" if times <= 1 else f"{times} times" if times == times_min else f"up to {times} times"
    often = most
    if in_rounds:
        often = "in rounds of slices"
        if in_rounds < conditions:
            often = f"{most}, and {in_rounds} of them in rounds of slices"
    return f"{were} measured {often}: the tables describe this run, and no figure has an interval{_remarks(quick)}."


def _others_took_cpu(quick: bool) -> str:
    why = "without them every rate could be 50 % higher or more; comparisons remain valid"
    return f"No rate is printed, because other programs took CPU time: {why}{_remarks(quick)}."


def _cost(name: str, ns: Sequence[float], parts: Sequence[str]) -> str:
    figures = [cost_figure(one) for one in ns]
    each = [f"{part_text(part)} {figure}" for part, figure in zip(parts, figures, strict=False)]
    if len(each) == 1:
        return f"{name} {figures[0]} ({part_text(parts[0])})"
    parts_of_it = f" ({' + '.join(each)})" if each else ""
    return f"{name} {cost_figure(sum(ns))}{parts_of_it}"


def _costs(place: str, sides: Sequence[str], part: str) -> str:
    of = f" of {part_text(part)}" if part else ""
    return f"CPU a request{of}{f' at {place}' if place else ''}: {listed(sides)}."


def _remarks(quick: bool, *, suspect: bool = False) -> str:
    remarks = [*(["suspect"] if suspect else []), *(["quick run"] if quick else [])]
    return f" ({'; '.join(remarks)})" if remarks else ""


def _compared(verdicts: Sequence[str], more: int) -> str:
    rest = f"; and {several(more, 'more comparison')}" if more > 0 else ""
    return f"Compared: {'; '.join(verdicts)}{rest}."


def _verdict(a: str, b: str, place: str, verdict: str, more_pairs: int) -> str:
    more = f" (and {several(more_pairs, 'more pair')})" if more_pairs else ""
    return f"{b} against {a}{f' at {place}' if place else ''}: {verdict}{more}"


def _comparisons(total: int, decided: int, undecided: int, not_decidable: int, invalid: int) -> str:
    parts = {"decided": decided, "undecided": undecided, "not decidable here": not_decidable, "invalid": invalid}
    counted = ", ".join(f"{number} {name}" for name, number in parts.items() if number)
    return f"{several(total, 'comparison')}: {counted}"


def _budget_too_short(budget_s: float, needed_s: float, quick: bool) -> str:
    return (
        f"Nothing was measured: the budget of {budget_s:.0f} s ended before the first block; about {needed_s:.0f} s "
        f"are needed{_remarks(quick)}."
    )


HEADLINE: dict[str, str | Callable[..., str]] = {
    "headline_budget_too_short": _budget_too_short,
    "headline_nothing_measured": lambda quick: f"Nothing was measured{_remarks(quick)}.",
    "headline_others_took_cpu": _others_took_cpu,
    "headline_no_figure": lambda quick: f"No trial gave a usable figure; the checks give the reasons{_remarks(quick)}.",
    "headline_figures": _figures,
    "headline_level": "{level} {figure}",
    "headline_cost": _cost,
    "headline_costs": _costs,
    "headline_without_interval": _without_interval,
    "headline_compared": _compared,
    "headline_verdict": _verdict,
    "comparisons_counted": _comparisons,
    "no_comparison_one_block": "no comparison: one block",
    "no_comparison_declared": "no comparison was declared",
}


def _trust(good: int, once: int, of: int, within_share: float, others: Sequence[str]) -> str:
    said = f"{good} of {of} {'figure' if of == 1 else 'figures'} good within {whole_percent(within_share)}"
    its = "its bounds are" if once == 1 else "their bounds are"
    few = [f"{once} had too few trials for an interval, though no check failed (✓) and {its} small"] if once else []
    return "; ".join([said, *few, *others])


TRUST: dict[str, str | Callable[..., str]] = {
    "trust": _trust,
    "trust_saturation": "{good} of {of} saturation points found",
    "trust_no_table": "No table was measured",
    "trust_others": "{figures} not: {why}",
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


def _cut_short(done: int, needed: int, at_most: bool, folder: str) -> str:
    number = f"at most {needed}" if at_most else f"{needed}"
    return (
        f"{done} of {number} trials are finished: the run was cut short; `loadstone run --resume {folder}` resumes it."
    )


def _judged_otherwise(trials: int) -> str:
    return f"{several(trials, 'trial is', 'trials are')} judged differently by this version than when the run was made."


def _scaled(scale: float) -> str:
    share = f"{digits(100 * scale)} %"
    return f"Scaled: users (where the experiment scales them) and rows are {share} of what the experiment says."


def _measured_again(trials: int, blocks: int) -> str:
    return f"{several(trials, 'trial')} of {several(blocks, 'block')} measured again: only the last counts."


def _speed_varied(cpus: Sequence[str]) -> str:
    return f"The machine's own speed varied between trials (slowest tenth against fastest tenth): {', '.join(cpus)}."


def _left_out(tables: Sequence[str]) -> str:
    return f"Left out of a quick run: {'; '.join(tables)}."


def _sources(study: str, others: Sequence[str]) -> str:
    """The study, and what else of it is printed, as one list."""
    if not others:
        return study
    *init, last = others
    listed = f"{', '.join(init)}, and {last}" if init else last
    return f"{study}; also {listed}"


def _link(
    server: str,
    requested_ns: int,
    added_ns: Sequence[float],
    cpu_share: float | None,
    in_drives_ns: Sequence[float] = (),
) -> str:
    added = "what it added was not measured"
    if added_ns:
        added = f"it added {_milliseconds(added_ns)} to a round trip before the trials"
    if added_ns and in_drives_ns:
        added = f"{added} and {_milliseconds(in_drives_ns)} during them"
    cpu = "" if cpu_share is None else f"; it used {cpu_share:.0%} of a core on the generator's CPUs"
    return f"Link of {server}: {requested_ns / 1e6:.2f} ms were required, {added}{cpu}."


def _milliseconds(interval_ns: Sequence[float]) -> str:
    middle, low, high = (f"{ns / 1e6:.2f}" for ns in interval_ns)
    return f"{middle} [{low}, {high}] ms"


_WHY_NOT = {
    "missing": "this system has none",
    "disabled": "it is switched off here (kernel.io_uring_disabled)",
    "forbidden": "this process may not use it (seccomp, as in containers)",
    "too_old": "this kernel's is too old, it takes Linux 6.1",
    "no_room": "the system had no memory or files left for it",
    "unsuitable": "this system's does not do what is required",
}
NOTES: dict[str, str | Callable[..., str]] = {
    "note_cut_short": _cut_short,
    "note_beyond_budget": (
        "{left} of {conditions} conditions of the tables were not measured: budget. "
        "`loadstone run --resume {folder} --budget TIME` measures them."
    ),
    "note_measured_again": _measured_again,
    "note_speed_varied": _speed_varied,
    "note_link": _link,
    "note_speed_of_cpu": lambda cpu, spread_share: f"{cpu} by {spread_share:.0%}",
    "note_judged_otherwise": _judged_otherwise,
    "note_scaled": _scaled,
    "note_left_out_of_quick": _left_out,
    "note_engine_build": "The engine is a {profile} build, so the figures show its own cost: run `make setup`.",
    "note_back_end": lambda reason: f"The generator used epoll in place of io_uring: {_WHY_NOT[reason]}.",
    "note_huge_pages": (
        "Transparent huge pages are `always`: a server that forks then stalls longer; Redis advises `madvise`."
    ),
    "note_overcommit": ("Memory overcommit is 0: a background save of a large data set can fail; Redis advises 1."),
    "note_cpu_limit": "loadstone runs under a limit of {cpus:g} CPUs.",
    "note_frequency_governor": "The CPU's frequency governor is `{governor}`: its clock changes with the load.",
    "note_shared_cpus": "Generator and servers share CPUs on this machine: each takes time from the other.",
    "note_other_runs": (
        "Another run measured on this machine at the same time ({runs:list}): each took time from the other."
    ),
    "published_sources": _sources,
}


def _full(undecided: int) -> str:
    why = f"what is undecided ({several(undecided, 'comparison')})" if undecided else "longer trials and every table"
    return f"the full study, for {why}"


NEXT_STEP: dict[str, str | Callable[..., str]] = {
    "next_step": "Next, {why}:",
    "next_longer_budget": "with a budget that is long enough to measure something",
    "next_doctor": "what this machine lacks for measuring",
    "next_resume": "the run was cut short; resume it",
    "next_more_time": lambda undecided: f"more time may decide what is undecided ({several(undecided, 'comparison')})",
    "next_full": _full,
    "next_tables": "the figures for other programs and for a repository",
}
