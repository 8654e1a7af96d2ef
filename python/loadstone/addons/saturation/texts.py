"""Where a system saturates: the verdict in fixed terms or why there is none, and what a report says beside it."""

from collections.abc import Callable, Sequence

from loadstone.text.english.announcement import duration as rough_duration
from loadstone.text.english.figures import figure, interval, parts_text, whole_percent
from loadstone.text.figures import digits, duration, rounded
from loadstone.text.language import _, plural


def _plateau(users: Sequence[float], per_s: Sequence[float], from_users: int | None = None) -> str:
    figures = {"rate": interval(per_s), "users": interval(users)}
    if from_users is None:
        return _("MAXIMUM: {rate} a second; the knee (where waiting begins): {users} users", **figures)
    return _(
        "MAXIMUM: {rate} a second, within 5 % of it from {reached} on; the knee (where waiting begins): {users} users",
        reached=plural(from_users, "{n} user", "{n} users"),
        **figures,
    )


def _peak(users: Sequence[float], per_s: Sequence[float], end_per_s: float, end_users: int) -> str:
    falls = _(
        "beyond it throughput falls, to {figure} a second at {end_users} users",
        figure=figure(end_per_s),
        end_users=end_users,
    )
    return _(
        "PEAK at {users} users: {rate} a second; {falls}",
        users=interval(users),
        rate=interval(per_s),
        falls=falls,
    )


def _failed(share: float, limit_share: float, users: int | None = None) -> str:
    at = "" if users is None else _(" at {users}", users=plural(users, "{n} user", "{n} users"))
    return _(
        "{share:.1%} of the replies failed{at} (limit {limit_share:.0%})", share=share, at=at, limit_share=limit_share
    )


def _too_few_sweeps(sweeps: int, of: int, sweeps_min: int) -> str:
    whole = (
        _("only {sweeps} of {of} sweeps hold every level", sweeps=sweeps, of=of)
        if sweeps < of
        else plural(sweeps, "{n} sweep", "{n} sweeps")
    )
    return _("{whole}; an interval needs at least {sweeps_min}", whole=whole, sweeps_min=sweeps_min)


def _too_few_bisections(blocks: int, blocks_min: int) -> str:
    return plural(
        blocks,
        "{n} block of bisections; at least {blocks_min} are needed",
        "{n} blocks of bisections; at least {blocks_min} are needed",
        blocks_min=blocks_min,
    )


def _latency_missed(quantile: float, latency_s: float | None, objective_s: float) -> str:
    measured = _("too long to measure") if latency_s is None else f"{digits(1e3 * latency_s)} ms"
    return _(
        "P{quantile:g} {measured}, objective {objective_s} ms",
        quantile=100 * quantile,
        measured=measured,
        objective_s=digits(1e3 * objective_s),
    )


def _objective_limit(objective: str, most_users: int, users: Sequence[float], per_s: Sequence[float]) -> str:
    return _(
        "{objective}: met up to {users} users, {rate} a second (of {most_users} measured)",
        objective=objective,
        users=interval(users),
        rate=interval(per_s),
        most_users=most_users,
    )


SATURATION: dict[str, str | Callable[..., str]] = {
    "saturation_plateau": _plateau,
    "saturation_peak": _peak,
    "saturation_limit": lambda objective, per_s: _(
        "KEEPS {objective} up to {interval} a second", objective=objective, interval=interval(per_s)
    ),
    "saturation_at_least": lambda per_s, why: _("CAPACITY >= {figure} a second: {why}", figure=figure(per_s), why=why),
    "saturation_none": "NO POINT: {why}",
    "users_only_rose": (
        "the users only rose, so the effects of time and load cannot be separated (caches warm up, disks fill); "
        "measure {sweeps_min} sweeps in random order, each level kept for a whole trial"
    ),
    "too_few_sweeps": _too_few_sweeps,
    "sweeps_in_one_order": (
        "every sweep ran in the same order, so time and load cannot be separated; order them randomly"
    ),
    "unloaded_time_unknown": "the unloaded response time R_0 is not known; measure 1 user in every sweep",
    "from_users_on": "from {users} users on {why}",
    "generator_gave_out": "the generator was saturated: {limit}",
    "generator_gave_out_at": "the generator was saturated at {users} users: {limit}",
    "replies_failed": _failed,
    "replies_failed_at": _failed,
    "no_correct_reply": "there was no correct reply",
    "not_levelled_off": "it had not levelled off at {users} users",
    "not_levelled_off_at_most": "it had not levelled off at {users} users, the most that were allowed",
    "still_rising": "it still rose at {users} users",
    "no_longer_exceeded": lambda per_s: _("{figure} a second is no longer exceeded", figure=figure(per_s)),
    "peak_not_located": (
        "throughput falls again before {users} users, but where it is highest is not known; measure more levels there"
    ),
    "saturations": lambda answers: ". ".join(answers),
    "saturation_of": lambda label, said: f"{label}: {said}" if label else said,
    "saturation_not_measured": "there was no time for it; give the run a larger budget",
    "search_not_ended": "the search ended early, at {users} users; go on with --resume",
    "search_of_rate_not_ended": "the search ended early, after {steps} of {of} rates; go on with --resume",
    "sweeps_not_measured": "no sweep was measured whole; go on with --resume",
    "generator_full": "{busy_share:.0%} of its thread's time; without it up to {gain:.0%} more",
    "still_warming": lambda users, before_per_s, after_per_s: _(
        "it did more with time, not only with users: {users} users {earlier} a second, and later "
        "{later}; warm it up for longer",
        users=users,
        earlier=figure(before_per_s),
        later=figure(after_per_s),
    ),
    "others_took": "other programs took CPU time: without them {bound}",
    "generator_late": "it could not keep its own schedule",
    "objective_limit_by_users": _objective_limit,
    "objective_met_always_by_users": "{objective}: met up to {most_users} users, the most that were measured",
    "objective_never_by_users": "{objective}: not met with a single user",
    "objective_unknown_by_users": "{objective}: too few sweeps say where it is met",
    "latency_objective": lambda quantile, latency_s: f"P{100 * quantile:g} <= {digits(1e3 * latency_s)} ms",
    "latency_missed": _latency_missed,
    "goodput_missed": "{share:.1%} answered correctly, objective {objective_share:.1%}",
    "backlog_grew": "the backlog grew by {arrivals:,.0f} arrivals",
    "too_few_bisections": _too_few_bisections,
    "kept_at_every_rate": ("most blocks kept {objective} at every rate they tried; locate it again from higher rates"),
    "missed_at_every_rate": (
        "most blocks missed {objective} at every rate they tried; locate it again from lower rates"
    ),
}


def _out_of_time(needed_s: float, left_s: float) -> str:
    left = _("{text} s of the budget are left for it", text=digits(max(0.0, left_s), 2))
    return _(
        "the next step takes about {needed_s} s, and {left}; go on with --resume and a larger --budget",
        needed_s=digits(needed_s, 2),
        left=left,
    )


def _curve(users: Sequence[int], rates: Sequence[float]) -> str:
    """`▁▂▅▇▇▇▇▇▇█ with 1, 2, 3, 4, 6, 8, 11, 16, 23, 32 users`."""
    most = max(rates)
    bars = "".join(_BARS[min(len(_BARS) - 1, int(len(_BARS) * rate / most))] for rate in rates)
    return _("{bars} with {users} users", bars=bars, users=", ".join(f"{one:,}" for one in users))


_BARS = "▁▂▃▄▅▆▇█"
"""Eighths of the highest."""


def _limit(why: str, runner_up: str | None, share: float | None, users: int | None, rate_per_s: float | None) -> str:
    at = (
        _("from {users} on", users=plural(users, "{n} user", "{n} users"))
        if users
        else _("at {rate_per_s} a second", rate_per_s=rounded(rate_per_s))
        if rate_per_s
        else ""
    )
    rest = (
        ""
        if runner_up is None or share is None
        else _(
            "; the next fullest part is {runner_up}, {share}",
            runner_up=parts_text(runner_up),
            share=whole_percent(share),
        )
    )
    return f"{why}{f' ({at})' if at else ''}{rest}"


def _unloaded(unloaded_ns: float, think_ns: float, users: int = 1) -> str:
    pause = _(", and users pause for {think_ns}", think_ns=duration(think_ns)) if think_ns else ""
    return _(
        "Shortest mean response time (R): {unloaded_ns} with {users}{pause}.",
        unloaded_ns=duration(unloaded_ns),
        users=plural(users, "{n} user", "{n} users"),
        pause=pause,
    )


def _measured(model: str, sweeps: int, levels: int, rounds: int, seconds: float) -> str:
    if model != "closed":
        what = plural(sweeps, "{n} bisection", "{n} bisections")
        over = plural(levels, "{n} rate", "{n} rates")
        figures = {"bisections": what, "rates": over, "time": _time(seconds)}
        return _("Measured: {bisections} over {rates}; {time} in all.", **figures)
    figures = {
        "sweeps": plural(sweeps, "{n} sweep", "{n} sweeps"),
        "levels": plural(levels, "{n} level", "{n} levels"),
        "time": _time(seconds),
    }
    if not rounds:
        return _("Measured: {sweeps} over {levels}, in random order; {time} in all.", **figures)
    each = plural(rounds, "{n} round", "{n} rounds")
    return _(
        "Measured: {sweeps} over {levels}, each {rounds} of slices in random order; {time} in all.",
        rounds=each,
        **figures,
    )


def _time(seconds: float) -> str:
    if seconds < 90:
        return _("{n} s", n=f"{seconds:.0f}")
    return _("{n} min", n=f"{seconds / 60:.1f}")


def _step(users: int | None, rate_per_s: float | None, per_s: float, kept: bool | None) -> str:
    if users is not None:
        return f"{users} -> {rounded(per_s)}"
    return f"{rounded(rate_per_s or 0)} {_('kept') if kept else _('missed')}"


def _search(steps: Sequence[str], of_users: bool, why: str | None) -> str:
    head = _("Users were doubled (users -> replies a second)") if of_users else _("The rate was located by bisection")
    ended = _("; it ended: {why}", why=why) if why else _("; it did not come to its end")
    return f"{head}: {', '.join(steps)}{ended}."


def _eye(users: int | None, per_s: float | None) -> str:
    if users is None:
        return _("The eye finds no flat part in its chart.")
    return _(
        "Reading the ramp's chart by eye gives {users:,} users and {figure} a second.",
        users=users,
        figure=figure(per_s or 0),
    )


def _kneedle(users: int | None, per_s: float | None) -> str:
    if users is None:
        return _("Kneedle (Satopaa et al. 2011) finds no knee in it.")
    return _(
        "By Kneedle (Satopaa et al. 2011): {users:,} users, {figure} a second.", users=users, figure=figure(per_s or 0)
    )


def _differs(users: Sequence[float] | None, eye_users: int | None) -> str:
    why = _(
        "a ramp is one sweep in rising order, so it cannot separate time from load and has no interval; the eye picks "
        "the beginning of the flat part or a peak of the noise, beyond the point where waiting begins"
    )
    if users is None or eye_users is None:
        return _("A ramp does not measure the saturation point: {why}.", why=why)
    times = eye_users / users[0]
    inside = users[1] <= eye_users <= users[2]
    how = (
        _("inside of the measured interval, by chance")
        if inside
        else _("{times} times the measured point", times=digits(times, 2))
    )
    return _("That is {how} ({interval} users): {why}.", how=how, interval=interval(users), why=why)


def _levels(
    why: str,
    levels: int,
    most_users: int,
    sweeps: int,
    at_most: int,
    trial_s: float,
    whole: str | None,
    usual: int | None = None,
) -> str:
    if at_most > sweeps:
        often = _("at least {sweeps} times (sweeps)", sweeps=sweeps)
    else:
        often = _("{sweeps} times (sweeps)", sweeps=sweeps)
    how = "" if whole is None else _(", by whole trials of {trial} s: {whole}", trial=digits(trial_s, 2), whole=whole)
    if usual is not None:
        how += _("; the budget has no room for all {usual}", usual=usual)
    return _(
        "{why}; now {levels} levels from 1 to {most_users} users are measured in random order, {often}{how}",
        why=why,
        levels=levels,
        most_users=most_users,
        often=often,
        how=how,
    )


def _planned(
    conditions: int, time_s: float, objective: str | None, sweeps: int, ramp_s: float | None, shortened: bool = False
) -> str:
    """What is going to happen, for who has not used it before."""
    if objective:
        then = _("then rates are bisected for the highest that keeps {objective}", objective=objective)
    else:
        then = _("then all levels are measured at least {sweeps} times in random order", sweeps=sweeps)
    ramp = ""
    if ramp_s is not None:
        ramp = plural(
            conditions, "; {ramp} of that for the ramp", "; {ramp} of that for each ramp", ramp=rough_duration(ramp_s)
        )
    if shortened:
        ramp += _("; to stay within the budget, with shorter steps and fewer levels")
    return plural(
        conditions,
        "Saturation point: users are doubled until they bring no more, {then}; about {time} in all{ramp}",
        "Saturation points of {n} conditions: users are doubled until they bring no more, {then}; about {time} in "
        "all{ramp}",
        then=then,
        time=rough_duration(time_s),
        ramp=ramp,
    )


def _too_slow(response_s: float, pause_s: float) -> str:
    pause = _(" and users pause {pause_s} s", pause_s=digits(pause_s, 2)) if pause_s else ""
    return _("responses take {response_s} s{pause}, too long for slices", response_s=digits(response_s, 2), pause=pause)


PLAN: dict[str, str | Callable[..., str]] = {
    "plan_saturation": _planned,
    "whole_trials.slow": _too_slow,
    "whole_trials.connections": "{connections:,} connections would be open at once",
    "whole_trials.data": "{levels} levels, each with keys of its own, take too much memory together",
}
SATURATION_REPORT: dict[str, str | Callable[..., str]] = {
    "objective_of_users_at_rates": "rates were offered, not users; name the capacity instead",
    "trust_saturation": "{good} of {of} saturation points found",
    "saturation_basis": "Every level that was measured, and how full each part was",
    "progress_levels": _levels,
    "progress_rates": "{why}; now the highest rate that keeps {objective} is located in {steps} steps",
    "progress_located": lambda rate_per_s, blocks: _(
        "the rate lies near {figure} a second; now {blocks} around it",
        figure=figure(rate_per_s),
        blocks=plural(blocks, "{n} bisection", "{n} bisections"),
    ),
    "progress_sweeps_missing": lambda missing: _(
        "no interval yet; {missing} will give one", missing=plural(missing, "{n} more sweep", "{n} more sweeps")
    ),
    "progress_out_of_time": _out_of_time,
    "saturation_heading": "Saturation",
    "saturation_title": "The saturation point",
    "saturation_fact_curve": "Replies a second",
    "saturation_curve": _curve,
    "saturation_fact_objective": "Objective",
    "saturation_fact_limit": "The limit",
    "saturation_not_known": "not known",
    "saturation_limit_named": _limit,
    "saturation_unloaded": _unloaded,
    "saturation_measured": _measured,
    "saturation_share_part": "part",
    "saturation_share_unloaded": "least load",
    "saturation_share_knee": "at the point",
    "saturation_share_beyond": "beyond it",
    "saturation_search": _search,
    "saturation_search_step": _step,
    "ramp_driven": lambda users, seconds, steps: _(
        "A classical ramp, beside it: 1 to {users:,} users in {steps} steps over {time}.",
        users=users,
        steps=steps,
        time=_time(seconds),
    ),
    "ramp_eye": _eye,
    "ramp_kneedle": _kneedle,
    "ramp_differs": _differs,
}
