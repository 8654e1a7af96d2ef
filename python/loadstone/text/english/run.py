"""The run as a whole: the answer that opens a report, how far to trust it, what to know of it, what to do next."""

from collections.abc import Callable, Sequence

from loadstone.text.english.figures import cost_figure, figure, listed, metric_text, part_text, whole_percent
from loadstone.text.figures import rounded
from loadstone.text.language import _, plural, translatable, translated


def _figures(place: str, figures: Sequence[str], metric: str, suspect: bool, quick: bool) -> str:
    said = {
        "figures": listed(figures),
        "metric": metric_text(metric),
        "remarks": _remarks(quick, suspect=suspect),
    }
    if place:
        return _("At {place}: {figures} {metric}{remarks}.", place=place, **said)
    return _("{figures} {metric}{remarks}.", **said)


def _without_interval(
    conditions: int,
    times: int,
    rates_have_interval: bool,
    quick: bool,
    in_rounds: int = 0,
    times_min: int = 0,
    compared_by: str | None = None,
) -> str:
    remarks = _remarks(quick)
    if compared_by is not None:
        return plural(
            conditions,
            "The one condition was measured and compared by the {metric}; the table has each one's own{remarks}.",
            "{n} conditions were measured and compared by the {metric}; the table has each one's own{remarks}.",
            metric=metric_text(compared_by),
            remarks=remarks,
        )
    if rates_have_interval:
        return plural(
            conditions,
            "The one condition was measured; the tables show how often, with the intervals of the rates{remarks}.",
            "{n} conditions were measured; the tables show how often, with the intervals of the rates{remarks}.",
            remarks=remarks,
        )
    if times <= 1:
        often = _("once")
    elif times == times_min:
        often = _("{times} times", times=times)
    else:
        often = _("up to {times} times", times=times)
    if in_rounds and in_rounds < conditions:
        often = _("{often}, and {in_rounds} of them in rounds of slices", often=often, in_rounds=in_rounds)
    elif in_rounds:
        often = _("in rounds of slices")
    return plural(
        conditions,
        "The one condition was measured {often}: the tables describe this run, and no figure has an interval{remarks}.",
        "{n} conditions were measured {often}: the tables describe this run, and no figure has an interval{remarks}.",
        often=often,
        remarks=remarks,
    )


def _others_took_cpu(quick: bool) -> str:
    why = _("without them every rate could be 50 % higher or more; comparisons remain valid")
    return _(
        "Rates are withheld, because other programs used the CPU during the trials: {why}{remarks}.",
        why=why,
        remarks=_remarks(quick),
    )


def _cost(name: str, ns: Sequence[float], parts: Sequence[str]) -> str:
    figures = [cost_figure(one) for one in ns]
    each = [f"{part_text(part)} {figure}" for part, figure in zip(parts, figures, strict=False)]
    if len(each) == 1:
        return f"{name} {figures[0]} ({part_text(parts[0])})"
    parts_of_it = f" ({' + '.join(each)})" if each else ""
    return f"{name} {cost_figure(sum(ns))}{parts_of_it}"


def _costs(place: str, sides: Sequence[str], part: str) -> str:
    of = _(" of {part_text}", part_text=part_text(part)) if part else ""
    return _(
        "CPU per request{of}{rest}: {sides}.",
        of=of,
        rest=_(" at {place}", place=place) if place else "",
        sides=listed(sides),
    )


def _remarks(quick: bool, *, suspect: bool = False) -> str:
    remarks = [*([_("suspect")] if suspect else []), *([_("quick run")] if quick else [])]
    return f" ({'; '.join(remarks)})" if remarks else ""


def _compared(verdicts: Sequence[str], more: int) -> str:
    rest = _("; and {more}", more=plural(more, "{n} more comparison", "{n} more comparisons")) if more > 0 else ""
    return _("Compared: {verdicts}{rest}.", verdicts="; ".join(verdicts), rest=rest)


def _verdict(a: str, b: str, place: str, verdict: str, more_pairs: int) -> str:
    more = (
        _(" (and {more_pairs})", more_pairs=plural(more_pairs, "{n} more pair", "{n} more pairs")) if more_pairs else ""
    )
    return _(
        "{b} against {a}{rest}: {verdict}{more}",
        b=b,
        a=a,
        rest=_(" at {place}", place=place) if place else "",
        verdict=verdict,
        more=more,
    )


def _comparisons(total: int, decided: int, undecided: int, not_decidable: int, invalid: int) -> str:
    counted = [
        *([_("{n} decided", n=decided)] if decided else []),
        *([_("{n} undecided", n=undecided)] if undecided else []),
        *([_("{n} not decidable here", n=not_decidable)] if not_decidable else []),
        *([_("{n} invalid", n=invalid)] if invalid else []),
    ]
    return f"{plural(total, '{n} comparison', '{n} comparisons')}: {', '.join(counted)}"


def _budget_too_short(budget_s: float, needed_s: float, quick: bool) -> str:
    return _(
        "Nothing was measured: the budget of {budget_s:.0f} s ended before the first block; "
        "about {needed_s:.0f} s are needed{remarks}.",
        budget_s=budget_s,
        needed_s=needed_s,
        remarks=_remarks(quick),
    )


HEADLINE: dict[str, str | Callable[..., str]] = {
    "headline_budget_too_short": _budget_too_short,
    "headline_nothing_measured": lambda quick: _("Nothing was measured{remarks}.", remarks=_remarks(quick)),
    "headline_others_took_cpu": _others_took_cpu,
    "headline_no_figure": lambda quick: _(
        "No trial gave a usable figure; the checks give the reasons{remarks}.", remarks=_remarks(quick)
    ),
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
    said = plural(
        of,
        "{good} of {n} figures is within ±{within}",
        "{good} of {n} figures are within ±{within}",
        good=good,
        within=whole_percent(within_share),
    )
    few = plural(
        once,
        "{n} had too few trials for an interval, though no check failed (✓) and its bounds are small",
        "{n} had too few trials for an interval, though no check failed (✓) and their bounds are small",
    )
    return "; ".join([said, *([few] if once else []), *others])


_WIDER = translatable("the interval is wider")


def _others(figures: int, why: str) -> str:
    if why == translated(_WIDER):
        return plural(figures, "{n} is wider", "{n} are wider")
    return plural(figures, "{n} is not: {why}", "{n} are not: {why}", why=why)


TRUST: dict[str, str | Callable[..., str]] = {
    "trust": _trust,
    "trust_no_table": "No table was measured",
    "trust_others": _others,
    "trust_other_reasons": "other reasons",
    "trust_generator": "the generator may have been the limit",
    "trust_taken": "other programs took CPU time",
    "trust_both": "the generator and other programs together",
    "trust_unknown": "what limited them could not be observed",
    "trust_interval": _WIDER,
    "trust_suspect": "a check is suspect",
    "trust_missing": "not measured",
    "trust_failed": "failed the check '{check}'",
    "trust_invalid": "invalid",
}


def _cut_short(done: int, needed: int, at_most: bool, folder: str) -> str:
    number = _("at most {needed}", needed=needed) if at_most else f"{needed}"
    return _(
        "{done} of {number} trials are finished: the run was cut short; `loadstone run --resume {folder}` resumes it.",
        done=done,
        number=number,
        folder=folder,
    )


def _judged_otherwise(trials: int) -> str:
    return _(
        "{trials} judged differently by this version than when the run was made.",
        trials=plural(trials, "{n} trial is", "{n} trials are"),
    )


def _measured_again(trials: int, blocks: int) -> str:
    return _(
        "{trials} of {blocks} measured again: only the last counts.",
        trials=plural(trials, "{n} trial", "{n} trials"),
        blocks=plural(blocks, "{n} block", "{n} blocks"),
    )


def _speed_varied(cpus: Sequence[str]) -> str:
    return _(
        "The machine's own speed varied between trials (slowest tenth against fastest tenth): {cpus}.",
        cpus=", ".join(cpus),
    )


def _left_out(tables: Sequence[str]) -> str:
    return _("Left out of a quick run: {tables}.", tables="; ".join(tables))


def _sources(study: str, others: Sequence[str]) -> str:
    """The study, and what else of it is printed, as one list."""
    if not others:
        return study
    *init, last = others
    further = _("{first}, and {last}", first=", ".join(init), last=last) if init else last
    return _("{study}; also {others}", study=study, others=further)


def _link(
    server: str,
    requested_ns: int,
    added_ns: Sequence[float],
    cpu_share: float | None,
    in_drives_ns: Sequence[float] = (),
) -> str:
    added = _("what it added was not measured")
    if added_ns:
        added = _("it added {milliseconds} to a round trip before the trials", milliseconds=_milliseconds(added_ns))
    if added_ns and in_drives_ns:
        added = _("{added} and {milliseconds} during them", added=added, milliseconds=_milliseconds(in_drives_ns))
    cpu = (
        ""
        if cpu_share is None
        else _("; it used {cpu_share:.0%} of a core on the generator's CPUs", cpu_share=cpu_share)
    )
    return _(
        "Link of {server}: {requested_ns:.2f} ms were required, {added}{cpu}.",
        server=server,
        requested_ns=requested_ns / 1e6,
        added=added,
        cpu=cpu,
    )


def _milliseconds(interval_ns: Sequence[float]) -> str:
    middle, low, high = (f"{ns / 1e6:.2f}" for ns in interval_ns)
    return f"{middle} [{low}, {high}] ms"


_WHY_NOT = {
    "missing": translatable("this system has none"),
    "disabled": translatable("it is switched off here (kernel.io_uring_disabled)"),
    "forbidden": translatable("this process may not use it (seccomp, as in containers)"),
    "too_old": translatable("this kernel's is too old, it takes Linux 6.1"),
    "no_room": translatable("the system had no memory or files left for it"),
    "unsuitable": translatable("this system's does not do what is required"),
}


def why_not_io_uring(reason: str | None) -> str:
    """Why io_uring is not used, for a person; a reason that is no fault of the system as it is recorded."""
    return translated(_WHY_NOT.get(reason or "", reason or "epoll"))


NOTES: dict[str, str | Callable[..., str]] = {
    "note_cut_short": _cut_short,
    "note_beyond_budget": (
        "{left} of {conditions} conditions of the tables were not measured: budget. "
        "`loadstone run --resume {folder} --budget TIME` measures them."
    ),
    "note_measured_again": _measured_again,
    "note_speed_varied": _speed_varied,
    "note_link": _link,
    "note_speed_of_cpu": "{cpu} by {spread_share:.0%}",
    "note_judged_otherwise": _judged_otherwise,
    "note_left_out_of_quick": _left_out,
    "note_engine_build": "The engine is a {profile} build, so the figures show its own cost: run `make setup`.",
    "note_back_end": lambda reason: _(
        "The generator used epoll in place of io_uring: {why_not}.", why_not=translated(_WHY_NOT[reason])
    ),
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
    if not undecided:
        return _("the full study, for longer trials and every table")
    return plural(
        undecided,
        "the full study, for what is undecided ({n} comparison)",
        "the full study, for what is undecided ({n} comparisons)",
    )


NEXT_STEP: dict[str, str | Callable[..., str]] = {
    "next_step": "Next, {why}:",
    "next_longer_budget": "with a budget that is long enough to measure something",
    "next_doctor": "what this machine lacks for measuring",
    "next_resume": "the run was cut short; resume it",
    "next_more_time": lambda undecided: _(
        "more time may decide what is undecided ({undecided})",
        undecided=plural(undecided, "{n} comparison", "{n} comparisons"),
    ),
    "next_full": _full,
}


def _estimate(label: str, sweeps: int, said: str) -> str:
    """What is known of a condition so far, or what happens next to it."""
    where = [label] if label else []
    where += [_("after {sweeps}", sweeps=plural(sweeps, "{n} sweep", "{n} sweeps"))] if sweeps else []
    return f"{', '.join(where)}: {said}" if where else said


def _rate(rate_per_s: float, kept: bool) -> str:
    return f"{rounded(rate_per_s)} {_('kept') if kept else _('missed')}"


PROGRESS: dict[str, str | Callable[..., str]] = {
    "progress_step": lambda users, per_s: f"{users} -> {figure(per_s)}",
    "progress_search": lambda steps: _("users -> replies a second: {steps}", steps=", ".join(steps)),
    "progress_rate": _rate,
    "progress_rates_tried": lambda steps: _("rates a second: {steps}", steps=", ".join(steps)),
    "progress_estimate": _estimate,
}
"""What a person reads while loads are searched for."""
