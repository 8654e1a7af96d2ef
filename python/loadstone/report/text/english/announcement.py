"""What a run will do, before it starts."""

import shlex
from collections.abc import Callable, Sequence

from loadstone.figures import digits, slice_text
from loadstone.report.text.english.figures import listed, several

Levels = Sequence[tuple[str, Sequence[str]]]
"""Factor and the texts of its levels."""


def duration(seconds: float) -> str:
    """A time that is known roughly: `45 s`, `15 min` or `2.5 h`."""
    if seconds < 100:
        return f"{max(1, round(seconds))} s"
    return f"{round(seconds / 60)} min" if seconds < 100 * 60 else f"{seconds / 3600:.1f} h"


def _off_by_default(factor: str, levels: Sequence[str], off: Sequence[str]) -> str:
    """`off by default: postgresql; to measure every level: --only store=mariadb,redis,postgresql`."""
    every = shlex.quote(f"{factor}={','.join(levels)}")
    return f"off by default: {listed(off)}; to measure every level: --only {every}"


def _table(
    name: str, title: str, rows: int, of: int, varied: Sequence[tuple[str, int]], fixed: Sequence[tuple[str, str]]
) -> str:
    """`by-size: By size: 18 rows (operation 3 x payload 6, workers 1)`: how many levels of what, and what is fixed."""
    parts = [" x ".join(f"{factor} {levels}" for factor, levels in varied), *(f"{one} {level}" for one, level in fixed)]
    return f"{name}: {title}: {_part(rows, of)} rows ({', '.join(part for part in parts if part)})"


def _part(number: int, of: int) -> str:
    return f"{number} of {of}" if number < of else f"{number}"


def _same_key(operation: str, command: str, key: str, times: int) -> str:
    """`mget: MGET names {key} 10 times, the same key: use {key2} for another, or {keys:10}`."""
    return (
        f"! {operation}: {command} names {key} {times} times, which is the same key each time; use {{key2}} for "
        f"another, or {{keys:{times}}} for {times} different ones."
    )


def _nothing_there(operations: Sequence[str]) -> str:
    return (
        f"! Nothing writes the keys that {listed(operations)} {'reads' if len(operations) == 1 else 'read'}: every "
        "read will miss; add workload.load (or --load 'SET {key} {value}')."
    )


def by_units(name: str, unit: str, each: Sequence[tuple[str, int]]) -> str:
    """`way is compared by keys: 10 an operation mget, 1 an operation get`."""
    counted = ", ".join(f"{operation} {count}" for operation, count in each)
    return f"{name} is compared by {unit}s, not by operations ({unit}s an operation: {counted})."


def _pairs(pairs: int, between: str, sides: Sequence[tuple[str, str]], places: Levels) -> str:
    """`3 pairs: operation set against update, at payload 100 B, 1 kB, 10 kB; workers 8`."""
    compared = ", ".join(f"{a} against {b}" for a, b in sides)
    return f"{several(pairs, 'pair')}: {between} {compared}{f', at {_levels(places)}' if places else ''}"


def _effects(levels: Levels, conditions: int, mains: int, interactions: int, pairs: int) -> str:
    """`6 combinations of redis local, remote x processes one, two: 2 main effects, 1 interaction, and 4 pairs`."""
    combined = " x ".join(f"{factor} {', '.join(texts)}" for factor, texts in levels)
    found = [several(mains, "main effect"), several(interactions, "interaction")] if mains else []
    return f"{several(conditions, 'combination')} of {combined}: {', '.join([*found, several(pairs, 'pair')])}"


def _levels(levels: Levels) -> str:
    return "; ".join(f"{factor} {', '.join(texts)}" for factor, texts in levels)


def _rules(
    metric: str,
    margin: float,
    looks: Sequence[int],
    stops: bool,
    conditions: int,
    trial_s: float,
    overhead_s: float,
    slice_s: float | None = None,
    why_whole: str | None = None,
    rounds_a_start: int | None = None,
    rate_per_s: float | None = None,
    rate_share: float | None = None,
) -> str:
    small = f"less than {100 * margin:g} % does not matter"
    unit = "block" if slice_s is None or rounds_a_start is not None else "round"
    after = f"judged after {listed([str(look) for look in looks])} {unit if list(looks) == [1] else f'{unit}s'}"
    stop = ", until every pair is decided" if stops else ""
    decides = f"{metric} decides, {small}; {after}{stop}{_at_rate(rate_per_s, rate_share)}"
    measures = f"measures each of {several(conditions, 'condition')} once, for"
    if slice_s is not None:
        start = f"a block is {rounds_a_start} rounds on servers that are started for it; " if rounds_a_start else ""
        return f"{decides}; {start}a round {measures} {slice_text(slice_s)} (a slice)"
    why = f"; no rounds of slices: {why_whole}" if why_whole else ""
    return (
        f"{decides}; a block {measures} {trial_s:g} s (a whole trial) plus {digits(overhead_s, 2)} s of overhead{why}"
    )


def _at_rate(rate_per_s: float | None, share: float | None) -> str:
    """All at one rate, since at full speed a latency is users over throughput."""
    if share is not None:
        return f"; all are driven at one rate, {100 * share:g} % of what the slowest can do"
    return "" if rate_per_s is None else f"; all are driven at {rate_per_s:,.0f} a second"


def _too_slow(response_s: float, pause_s: float) -> str:
    pause = f" and users pause {digits(pause_s, 2)} s" if pause_s else ""
    return f"responses take {digits(response_s, 2)} s{pause}, too long for slices"


_WHOLE_TRIALS: dict[str, str | Callable[..., str]] = {
    "whole_trials.as_written": "the experiment says so (design.rounds: never)",
    "whole_trials.as_published": "the original gives its numbers of operations for whole trials",
    "whole_trials.alone": "no other row has the same servers and the same warm-up",
    "whole_trials.metric": "{metric} needs whole trials",
    "whole_trials.subject": "garbage collections and compilations of an application last longer than a slice",
    "whole_trials.counted": "stored rows are counted, so each condition needs the server for itself",
    "whole_trials.driver": "{driver} is a program of its own, which cannot be paused",
    "whole_trials.writes_on": (
        "server {server} goes on writing to the disk after it answered, and that would fall into the slices of others"
    ),
    "whole_trials.memory": "they take about {needed_gb:.1f} GB of memory, and this machine has {memory_gb:.1f}",
    "whole_trials.ramp_up": "a ramp-up must run as a whole",
    "whole_trials.warm_up": "the conditions differ in their warm-up",
    "whole_trials.exactly_once": "each key is used once, so none would be left for later slices",
    "whole_trials.schedule": "the rate changes by a schedule",
    "whole_trials.recording": "a recording is sent again as a whole",
    "whole_trials.receivers": "what was sent in one slice may be received in another",
    "whole_trials.slow": _too_slow,
    "whole_trials.connections": "{connections:,} connections would be open at once",
    "whole_trials.data": "{levels} levels, each with keys of its own, take too much memory together",
    "whole_trials.carry_over": "what a condition does reaches into the next slice, however long that is",
}


def _rows_at_rate(rows: int, time_s: float, rate_per_s: float | None, share: float | None) -> str:
    rate = f"{rate_per_s:,.0f}/s" if share is None else f"{share:.0%} of what each can do"
    measured = "1 row is" if rows == 1 else f"{rows} rows are"
    return f"{measured} measured at a fixed rate, too ({rate}): at most {duration(time_s)} of that"


def _table_rounds(decks: int, rows: int, rounds: int, slice_s: float, time_s: float) -> str:
    """`16 of the tables' rows take turns: each of 36 rounds measures every row once, for 100 ms (a slice); ...`."""
    several_times = f"{decks} times " if decks > 1 else ""
    each = f"each of {rounds} rounds measures every row once, for {slice_text(slice_s)} (a slice)"
    return f"{several_times}{rows} of the tables' rows take turns: {each}; about {duration(time_s)} in all"


def _table_trials(rows: int, blocks: int, trial_s: float, why: str | None = None) -> str:
    measured = f"once, for {trial_s:g} s" if blocks == 1 else f"{blocks} times for {trial_s:g} s each"
    reason = f": {why}" if why else ""
    return f"{rows} of the tables' rows by whole trials, {measured}{reason}"


def _size(
    conditions: int,
    of_tables: int,
    comparisons: int,
    seed: int,
    trials_min: int,
    trials_max: int,
) -> str:
    """`83 conditions; 67 of them for tables; 4 comparisons; in random order (seed 1); 16 to 80 whole trials`."""
    parts = [several(conditions, "condition")]
    parts += [f"{of_tables} of them for tables"] if of_tables and comparisons else []
    parts += [several(comparisons, "comparison")] if comparisons else []
    parts.append(f"in random order (seed {seed})")
    if trials_max:
        few = trials_min == trials_max
        parts.append(several(trials_max, "whole trial") if few else f"{trials_min} to {trials_max} whole trials")
    return "; ".join(parts)


def _time_too_short(budget_s: float, expected_s: float, builds: Sequence[str]) -> str:
    return (
        f"Time: {duration(budget_s)}, the budget; about {duration(expected_s)} would be needed: what the "
        f"budget does not reach stays undecided, or is not measured{_built_within(builds)}"
    )


def _time_of_budget(expected_s: float, budget_s: float, sequential: bool, builds: Sequence[str]) -> str:
    ends = f"the budget ends it after {duration(budget_s)}, with starts and report{_built_within(builds)}"
    return f"Time: about {duration(expected_s)}{_to_first_look(sequential)}; {ends}"


def _time(expected_s: float, at_most_s: float | None, sequential: bool, builds: Sequence[str]) -> str:
    at_most = "" if at_most_s is None else f", at most {duration(at_most_s)}"
    on_top = "starting the servers comes on top"
    if builds:
        on_top = f"starting the servers and a first build of {listed(builds)} come on top"
    return f"Time: about {duration(expected_s)}{_to_first_look(sequential)}{at_most}; {on_top}"


def _to_first_look(sequential: bool) -> str:
    return " to the first look at every comparison" if sequential else ""


def _built_within(builds: Sequence[str]) -> str:
    return f"; a first build of {listed(builds)} is included" if builds else ""


def _preparation(time_s: float, subjects: Sequence[str], data: Sequence[str]) -> str:
    steps = [f"starting and warming up {listed(subjects)}"] if subjects else []
    steps += [f"writing {listed(data)}"] if data else []
    return f"Of that about {duration(time_s)} for {' and '.join(steps)}"


def _goal(name: str, conditions: int, time_s: float) -> str:
    return f"{name}: of {several(conditions, 'condition')}, about {duration(time_s)} of that"


def _crashes(crashes: int, time_s: float) -> str:
    return f"{several(crashes, 'crash', 'crashes')} at the end, about {duration(time_s)} of that"


def _scale(scale: float, shorter: bool) -> str:
    share = f"{digits(100 * scale)} %"
    phases = ", and phases as much shorter" if shorter else ""
    return f"Scale {share}: users and rows are {share} of those written{phases}"


def _server(name: str, kind: str | None, when: Levels) -> str:
    return f"Server {name}: {'of no kind' if kind is None else kind}{_only(when)}"


def _subject(name: str, manifest: str, when: Levels, factors: Sequence[str]) -> str:
    restarted = f"; restarted for each {listed(factors)}" if factors else ""
    return f"Subject {name}: {manifest}{_only(when)}{restarted}"


def _subject_of_user(
    name: str, urls: int, when: Levels, varied: Sequence[str], fixed: Sequence[str], unknown: Sequence[str]
) -> str:
    started_with = [*varied, *([f"{listed(fixed)} as the experiment has it"] if fixed else [])]
    must = f"; it must run with {' '.join(started_with)}" if started_with else ""
    given = f"; its {listed(unknown)} is unknown: give it by --server" if unknown else ""
    return f"Subject {name}: yours, {several(urls, 'URL')}{_only(when)}{must}{given}"


def _data(name: str, rows: Sequence[int], servers: Sequence[str]) -> str:
    return f"Data {name}: {listed([f'{number:,}' for number in rows])} rows into {listed(servers)}"


def _only(when: Levels) -> str:
    """` (store redis-hash, redis-json)`; empty for all conditions."""
    return f" ({_levels(when)})" if when else ""


def _crash(name: str, title: str, conditions: int, of: int, times: int, levels: Levels) -> str:
    tried = f"{_part(conditions, of)} {'condition' if of == 1 else 'conditions'}"
    often = "once" if times == 1 else f"{times} times"
    return f"{name}: {title}: {tried}, {often} each ({_levels(levels)})"


def _guess(
    first_blocks: int, first_share: float, last_blocks: int, last_share: float | None, unit: str = "block"
) -> str:
    """What a comparison would show on a quiet machine, at its first look and at the last that the budget allows."""
    further = f", after {last_blocks} (as the budget allows) one of {_share(last_share)}" if last_share else ""
    return (
        f"an estimate for an idle machine: after {first_blocks} {unit}s a difference of {_share(first_share)} shows "
        f"8 times in 10{further}; the first look measures the spread of {unit}s on this one"
    )


def _share(share: float) -> str:
    return f"{digits(100 * share, 2)} %"


def _saturation(conditions: int, time_s: float, objective: str | None, sweeps: int, ramp_s: float | None) -> str:
    """What is going to happen, for who has not used it before."""
    of = "" if conditions == 1 else f"s of {conditions} conditions"
    levels = f"then all levels are measured at least {sweeps} times in random order"
    rates = f"then rates are bisected for the highest that keeps {objective}"
    ramp = "" if ramp_s is None else f"; {duration(ramp_s)} of that for {'the' if conditions == 1 else 'each'} ramp"
    steps = f"users are doubled until they bring no more, {rates if objective else levels}"
    return f"Saturation point{of}: {steps}; about {duration(time_s)} in all{ramp}"


ANNOUNCEMENT: dict[str, str | Callable[..., str]] = {
    "plan_factors": "Factors (* the default, where a table or a comparison sets no other level)",
    "plan_off_by_default": _off_by_default,
    "plan_tables": "Tables",
    "plan_comparisons": "Comparisons",
    "plan_crash_heading": "Crashes",
    "plan_left_out": "not in this run: {names:list}",
    "plan_as_published": "As published: {note}",
    "plan_table": _table,
    "remark.same_key": _same_key,
    "remark.nothing_there": _nothing_there,
    "remark.by_units": by_units,
    "plan_pairs": _pairs,
    "plan_effects": _effects,
    "plan_rules": _rules,
    **_WHOLE_TRIALS,
    "plan_size": _size,
    "plan_time_too_short": _time_too_short,
    "plan_time_of_budget": _time_of_budget,
    "plan_time": _time,
    "plan_preparation": _preparation,
    "plan_at_rate": _rows_at_rate,
    "plan_goal": _goal,
    "plan_crashes": _crashes,
    "plan_saturation": _saturation,
    "plan_scale": _scale,
    "plan_quick": "Quick: slices and trials are short, and what they cannot answer is left out",
    "plan_shortened": "Compared slices and trials are shorter than usual, since the budget has no room for longer ones",
    "plan_nothing_compared": "Nothing is compared: the tables only describe this run",
    "plan_table_rounds": _table_rounds,
    "plan_table_trials": _table_trials,
    "plan_tables_once": "Rows that are in tables only are measured once, without an interval or a verdict",
    "plan_server": _server,
    "plan_subject": _subject,
    "plan_subject_of_user": _subject_of_user,
    "plan_data": _data,
    "plan_crash": _crash,
    "plan_crash_left_out": "{name}: not in this run",
    "plan_crash_of_user": "{name}: not in this run ({server} is yours, and is never killed)",
    "prospect_of": "{name}: {prospect}",
    "prospect_few_blocks": "{blocks} {unit}s are too few for a verdict; at least {needed} are needed",
    "prospect_late_look": "the budget may end before its first look, after {blocks} {unit}s",
    "prospect_many_pairs": "{blocks} {unit}s are too few for {pairs} pairs",
    "prospect_by_spread": "what it can detect depends on the spread of {metric}, which the first look will show",
    "prospect_guess": _guess,
}
