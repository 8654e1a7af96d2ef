"""What a run will do, before it starts."""

import shlex
from collections.abc import Callable, Sequence

from loadstone.text.english.figures import blocks_text, listed, units_text
from loadstone.text.figures import digits, slice_text
from loadstone.text.language import _, plural

Levels = Sequence[tuple[str, Sequence[str]]]
"""Factor and the texts of its levels."""


def duration(seconds: float) -> str:
    """A time that is known roughly: `45 s`, `15 min` or `2.5 h`."""
    if seconds < 100:
        return _("{n} s", n=max(1, round(seconds)))
    if seconds < 100 * 60:
        return _("{n} min", n=round(seconds / 60))
    return _("{n} h", n=f"{seconds / 3600:.1f}")


def count_text(count: int) -> str:
    """`40 M`, or the number itself where it is below a million."""
    return f"{count:,}" if count < 1_000_000 else f"{digits(count / 1e6, 3)} M"


def _off_by_default(factor: str, levels: Sequence[str], off: Sequence[str]) -> str:
    """`off by default: postgresql; to measure every level: --only store=mariadb,redis,postgresql`."""
    every = shlex.quote(f"{factor}={','.join(levels)}")
    return _("off by default: {off}; to measure every level: --only {every}", off=listed(off), every=every)


def _table(
    name: str, title: str, rows: int, of: int, varied: Sequence[tuple[str, int]], fixed: Sequence[tuple[str, str]]
) -> str:
    """`by-size: By size: 18 rows (operation 3 x payload 6, workers 1)`: how many levels of what, and what is fixed."""
    parts = [" x ".join(f"{factor} {levels}" for factor, levels in varied), *(f"{one} {level}" for one, level in fixed)]
    return _(
        "{name}: {title}: {part} rows ({parts})",
        name=name,
        title=title,
        part=_part(rows, of),
        parts=", ".join(part for part in parts if part),
    )


def _part(number: int, of: int) -> str:
    return _("{number} of {of}", number=number, of=of) if number < of else f"{number}"


def _nothing_there(operations: Sequence[str]) -> str:
    return plural(
        len(operations),
        "! Nothing writes the keys that {operations} reads: every read will miss; add workload.load (or --load 'SET "
        "{{key}} {{value}}').",
        "! Nothing writes the keys that {operations} read: every read will miss; add workload.load (or --load 'SET "
        "{{key}} {{value}}').",
        operations=listed(operations),
    )


def by_units(name: str, unit: str, each: Sequence[tuple[str, int]]) -> str:
    """`way is compared by keys: 10 an operation mget, 1 an operation get`."""
    counted = ", ".join(f"{operation} {count}" for operation, count in each)
    return _(
        "{name} is compared by {unit}s, not by operations ({unit}s an operation: {counted}).",
        name=name,
        unit=unit,
        counted=counted,
    )


def _pairs(pairs: int, between: str, sides: Sequence[tuple[str, str]], places: Levels) -> str:
    """`3 pairs: operation set against update, at payload 100 B, 1 kB, 10 kB; workers 8`."""
    compared = ", ".join(_("{a} against {b}", a=a, b=b) for a, b in sides)
    at = _(", at {levels}", levels=_levels(places)) if places else ""
    return f"{plural(pairs, '{n} pair', '{n} pairs')}: {between} {compared}{at}"


def _effects(levels: Levels, conditions: int, mains: int, interactions: int, pairs: int) -> str:
    """`6 combinations of redis local, remote x processes one, two: 2 main effects, 1 interaction, and 4 pairs`."""
    combined = " x ".join(f"{factor} {', '.join(texts)}" for factor, texts in levels)
    found = (
        [
            plural(mains, "{n} main effect", "{n} main effects"),
            plural(interactions, "{n} interaction", "{n} interactions"),
        ]
        if mains
        else []
    )
    return _(
        "{conditions} of {combined}: {text}",
        conditions=plural(conditions, "{n} combination", "{n} combinations"),
        combined=combined,
        text=", ".join([*found, plural(pairs, "{n} pair", "{n} pairs")]),
    )


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
    numbers = listed([str(look) for look in looks])
    if slice_s is None or rounds_a_start is not None:
        looked = (
            _("judged after {numbers} block", numbers=numbers)
            if list(looks) == [1]
            else _("judged after {numbers} blocks", numbers=numbers)
        )
    else:
        looked = (
            _("judged after {numbers} round", numbers=numbers)
            if list(looks) == [1]
            else _("judged after {numbers} rounds", numbers=numbers)
        )
    decides = _(
        "{metric} decides, less than {margin:g} % does not matter; {looked}",
        metric=metric,
        margin=100 * margin,
        looked=looked,
    )
    decides += (_(", until every pair is decided") if stops else "") + _at_rate(rate_per_s, rate_share)
    if slice_s is not None:
        if rounds_a_start:
            decides += _("; a block is {rounds} rounds on servers that are started for it", rounds=rounds_a_start)
        return plural(
            conditions,
            "{decides}; a round measures each of {n} condition once, for {slice} (a slice)",
            "{decides}; a round measures each of {n} conditions once, for {slice} (a slice)",
            decides=decides,
            slice=slice_text(slice_s),
        )
    said = plural(
        conditions,
        "{decides}; a block measures each of {n} condition once, for {trial:g} s (a whole trial) plus {overhead} s of "
        "overhead",
        "{decides}; a block measures each of {n} conditions once, for {trial:g} s (a whole trial) plus {overhead} s of "
        "overhead",
        decides=decides,
        trial=trial_s,
        overhead=digits(overhead_s, 2),
    )
    return said + (_("; no rounds of slices: {why}", why=why_whole) if why_whole else "")


def _at_rate(rate_per_s: float | None, share: float | None) -> str:
    """All at one rate, since at full speed a latency is users over throughput."""
    if share is not None:
        return _("; all are driven at one rate, {share:g} % of what the slowest can do", share=100 * share)
    return "" if rate_per_s is None else _("; all are driven at {rate_per_s:,.0f} a second", rate_per_s=rate_per_s)


_WHOLE_TRIALS: dict[str, str | Callable[..., str]] = {
    "whole_trials.as_written": "the experiment says so (design.rounds: never)",
    "whole_trials.as_published": "the original gives its numbers of operations for whole trials",
    "whole_trials.unknown_times": "no other row takes turns with it, and its requests may take longer than a slice",
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
    "whole_trials.carry_over": "what a condition does reaches into the next slice, however long that is",
}


def _rows_at_rate(rows: int, time_s: float, rate_per_s: float | None, share: float | None) -> str:
    rate = f"{rate_per_s:,.0f}/s" if share is None else _("{share:.0%} of what each can do", share=share)
    return plural(
        rows,
        "{n} row is measured at a fixed rate, too ({rate}): at most {time} of that",
        "{n} rows are measured at a fixed rate, too ({rate}): at most {time} of that",
        rate=rate,
        time=duration(time_s),
    )


def _table_rounds(decks: int, rows: int, rounds: int, slice_s: float, time_s: float) -> str:
    """`16 of the tables' rows take turns: each of 36 rounds measures every row once, for 100 ms (a slice); ...`."""
    if rows == decks == 1:
        return _(
            "one row, in {rounds} slices of {slice_text}; about {time_s} in all",
            rounds=rounds,
            slice_text=slice_text(slice_s),
            time_s=duration(time_s),
        )
    several_times = _("{decks} times ", decks=decks) if decks > 1 else ""
    each = _(
        "each of {rounds} rounds measures every row once, for {slice_text} (a slice)",
        rounds=rounds,
        slice_text=slice_text(slice_s),
    )
    return _(
        "{several_times}{rows} of the tables' rows take turns: {each}; about {time_s} in all",
        several_times=several_times,
        rows=rows,
        each=each,
        time_s=duration(time_s),
    )


def _table_trials(rows: int, blocks: int, trial_s: float, why: str | None = None) -> str:
    measured = (
        _("once, for {trial_s:g} s", trial_s=trial_s)
        if blocks == 1
        else _("{blocks} times for {trial_s:g} s each", blocks=blocks, trial_s=trial_s)
    )
    reason = f": {why}" if why else ""
    return _(
        "{rows} of the tables' rows by whole trials, {measured}{reason}", rows=rows, measured=measured, reason=reason
    )


def _size(
    conditions: int,
    of_tables: int,
    comparisons: int,
    seed: int,
    trials_min: int,
    trials_max: int,
) -> str:
    """`83 conditions; 67 of them for tables; 4 comparisons; in random order (seed 1); 16 to 80 whole trials`."""
    parts = [plural(conditions, "{n} condition", "{n} conditions")]
    parts += [_("{of_tables} of them for tables", of_tables=of_tables)] if of_tables and comparisons else []
    parts += [plural(comparisons, "{n} comparison", "{n} comparisons")] if comparisons else []
    parts.append(_("in random order (seed {seed})", seed=seed))
    if trials_max:
        few = trials_min == trials_max
        parts.append(
            plural(trials_max, "{n} whole trial", "{n} whole trials")
            if few
            else _("{trials_min} to {trials_max} whole trials", trials_min=trials_min, trials_max=trials_max)
        )
    return "; ".join(parts)


def _time_too_short(budget_s: float, expected_s: float, builds: Sequence[str]) -> str:
    return _(
        "Time: {budget_s}, the budget; about {expected_s} would be needed: what the budget does "
        "not reach stays undecided, or is not measured{built_within}",
        budget_s=duration(budget_s),
        expected_s=duration(expected_s),
        built_within=_built_within(builds),
    )


def _time_of_budget(expected_s: float, budget_s: float, sequential: bool, builds: Sequence[str]) -> str:
    ends = _(
        "the budget ends it after {budget_s}, with starts and report{built_within}",
        budget_s=duration(budget_s),
        built_within=_built_within(builds),
    )
    return _(
        "Time: about {expected_s}{to_first_look}; {ends}",
        expected_s=duration(expected_s),
        to_first_look=_to_first_look(sequential),
        ends=ends,
    )


def _time(
    expected_s: float, at_most_s: float | None, sequential: bool, builds: Sequence[str], starts: bool = True
) -> str:
    at_most = "" if at_most_s is None else _(", at most {at_most_s}", at_most_s=duration(at_most_s))
    if not starts:
        return _(
            "Time: about {expected_s}{to_first_look}{at_most}",
            expected_s=duration(expected_s),
            to_first_look=_to_first_look(sequential),
            at_most=at_most,
        )
    on_top = _("starting the servers comes on top")
    if builds:
        on_top = _("starting the servers and a first build of {builds} come on top", builds=listed(builds))
    return _(
        "Time: about {expected_s}{to_first_look}{at_most}; {on_top}",
        expected_s=duration(expected_s),
        to_first_look=_to_first_look(sequential),
        at_most=at_most,
        on_top=on_top,
    )


def _to_first_look(sequential: bool) -> str:
    return _(" to the first look at every comparison") if sequential else ""


def _built_within(builds: Sequence[str]) -> str:
    return _("; a first build of {builds} is included", builds=listed(builds)) if builds else ""


def _preparation(time_s: float, subjects: Sequence[str], data: Sequence[str]) -> str:
    steps = [_("starting and warming up {subjects}", subjects=listed(subjects))] if subjects else []
    steps += [_("writing {data}", data=listed(data))] if data else []
    return _("Of that about {time_s} for {steps}", time_s=duration(time_s), steps=listed(steps))


def _keys(keys: int, time_s: float) -> str:
    return _(
        "Of that about {time_s} for storing and removing keys: up to {keys} at a time",
        time_s=duration(time_s),
        keys=count_text(keys),
    )


def _goal(name: str, conditions: int, time_s: float) -> str:
    return _(
        "{name}: of {conditions}, about {time_s} of that",
        name=name,
        conditions=plural(conditions, "{n} condition", "{n} conditions"),
        time_s=duration(time_s),
    )


def _crashes(crashes: int, time_s: float) -> str:
    return _(
        "{crashes} at the end, about {time_s} of that",
        crashes=plural(crashes, "{n} crash", "{n} crashes"),
        time_s=duration(time_s),
    )


def _scale(scale: float, shorter: bool) -> str:
    share = f"{digits(100 * scale)} %"
    if shorter:
        return _("Scale {share}: users and rows are {share} of those written, and phases as much shorter", share=share)
    return _("Scale {share}: users and rows are {share} of those written", share=share)


def _server(name: str, kind: str | None, when: Levels) -> str:
    if kind is None:
        return _("Server {name}: of no kind{only}", name=name, only=_only(when))
    return _("Server {name}: {kind}{only}", name=name, kind=kind, only=_only(when))


def _subject(name: str, manifest: str, when: Levels, factors: Sequence[str]) -> str:
    restarted = _("; restarted for each {factors}", factors=listed(factors)) if factors else ""
    return _(
        "Subject {name}: {manifest}{only}{restarted}",
        name=name,
        manifest=manifest,
        only=_only(when),
        restarted=restarted,
    )


def _subject_of_user(
    name: str, urls: int, when: Levels, varied: Sequence[str], fixed: Sequence[str], unknown: Sequence[str]
) -> str:
    started_with = [*varied, *([_("{fixed} as the experiment has it", fixed=listed(fixed))] if fixed else [])]
    must = _("; it must run with {started_with}", started_with=" ".join(started_with)) if started_with else ""
    given = _("; its {unknown} is unknown: give it by --server", unknown=listed(unknown)) if unknown else ""
    return _(
        "Subject {name}: yours, {urls}{only}{must}{given}",
        name=name,
        urls=plural(urls, "{n} URL", "{n} URLs"),
        only=_only(when),
        must=must,
        given=given,
    )


def _data(name: str, rows: Sequence[int], servers: Sequence[str]) -> str:
    return _(
        "Data {name}: {rows} rows into {servers}",
        name=name,
        rows=listed([f"{number:,}" for number in rows]),
        servers=listed(servers),
    )


def _only(when: Levels) -> str:
    """` (store redis-hash, redis-json)`; empty for all conditions."""
    return f" ({_levels(when)})" if when else ""


def _crash(name: str, title: str, conditions: int, of: int, times: int, levels: Levels) -> str:
    tried = plural(of, "{part} condition", "{part} conditions", part=_part(conditions, of))
    often = _("once") if times == 1 else _("{times} times", times=times)
    return _(
        "{name}: {title}: {tried}, {often} each ({levels})",
        name=name,
        title=title,
        tried=tried,
        often=often,
        levels=_levels(levels),
    )


def _guess(
    first_blocks: int, first_share: float, last_blocks: int, last_share: float | None, unit: str = "block"
) -> str:
    """What a comparison would show on a quiet machine, at its first look and at the last that the budget allows."""
    further = (
        _(
            ", after {last_blocks} (as the budget allows) one of {share}",
            last_blocks=blocks_text(last_blocks, unit, always_many=True),
            share=_share(last_share),
        )
        if last_share
        else ""
    )
    return _(
        "an estimate for an idle machine: after {first_blocks} a difference of {share} "
        "shows 8 times in 10{further}; the first look measures the spread of {units} on this one",
        first_blocks=blocks_text(first_blocks, unit, always_many=True),
        units=units_text(unit),
        share=_share(first_share),
        further=further,
    )


def _share(share: float) -> str:
    return f"{digits(100 * share, 2)} %"


ANNOUNCEMENT: dict[str, str | Callable[..., str]] = {
    "plan_factors": "Factors (* the default, where a table or a comparison sets no other level)",
    "plan_off_by_default": _off_by_default,
    "plan_tables": "Tables",
    "plan_comparisons": "Comparisons",
    "plan_crash_heading": "Crashes",
    "plan_left_out": "not in this run: {names:list}",
    "plan_as_published": "As published: {note}",
    "plan_table": _table,
    "remark.same_key": (
        "! {operation}: {command} names {key} {times} times, which is the same key each time; "
        "use {{key2}} for another, or {{keys:{times}}} for {times} different ones."
    ),
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
    "plan_keys": _keys,
    "plan_at_rate": _rows_at_rate,
    "plan_goal": _goal,
    "plan_crashes": _crashes,
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
    "prospect_few_blocks": lambda blocks, needed, unit: _(
        "{blocks} are too few for a verdict; at least {needed} are needed",
        blocks=blocks_text(blocks, unit, always_many=True),
        needed=needed,
    ),
    "prospect_late_look": lambda blocks, unit: _(
        "the budget may end before its first look, after {blocks}",
        blocks=blocks_text(blocks, unit, always_many=True),
    ),
    "prospect_many_pairs": lambda blocks, pairs, unit: _(
        "{blocks} are too few for {pairs} pairs",
        blocks=blocks_text(blocks, unit, always_many=True),
        pairs=pairs,
    ),
    "prospect_by_spread": "what it can detect depends on the spread of {metric}, which the first look will show",
    "prospect_guess": _guess,
}
