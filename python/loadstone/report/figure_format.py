"""Figures as people read them. What is not known prints as a dash, never as zero."""

import re

from loadstone.judge.verdict import UNBOUNDED, GeneratorBound
from loadstone.safety.terminal import plain as printable
from loadstone.text.figures import (
    bound_suffix,
    decimal,
    decimals_of_one,
    difference_text,
    digits,
    is_times,
    log_percent,
    three_digits,
    times_text,
)
from loadstone.text.figures import duration as exact_duration
from loadstone.text.language import _, of_author, translatable, translated
from loadstone.text.message import AnyText, Message
from loadstone.text.sentences import render_message

NONE = "—"
NO_BOUND = translatable("no upper bound")
SMALL = "<1 %"


SCALED_UNITS = ("ns", "s", "bytes", "B", "per_s", "/s", "%")
"""Units that must stand beside each figure; all others count things."""


def plain(raw: AnyText) -> str:
    """What is not ours (a name, a label, what an author wrote) as it may be printed, in the reader's language."""
    return printable(raw.spoken() if isinstance(raw, Message) else of_author(raw))


_PARTS = {"generator": translatable("generator")}


def part_name(name: str) -> str:
    """A part of a run as it is called: a server by its name."""
    return translated(_PARTS[name]) if name in _PARTS else plain(name)


def sentence(message: Message | None) -> str:
    """The sentence of a message, as it may be printed; empty for none."""
    return printable(render_message(message))


_PLAIN_SIGNS = "([{<>#*._`'\"/$€~—–−±≤≥…✓"
"""What a cell may begin with beside a letter or a digit: no spreadsheet begins a formula with it."""
OWN_SHOWN_FROM = 0.05
"""From this share of a latency what may be the generator's own stands beside it."""


def duration(nanoseconds: float | None) -> str:
    """Write a latency given in ns: `840 ns`, `84 µs`, `1.20 ms`, `12.3 s`."""
    return NONE if nanoseconds is None else exact_duration(nanoseconds, whole=True)


def around(figure_ns: float, ends: tuple[float, float | None] | None) -> str:
    """What stands behind a latency that has an interval: ` [24, 27]` in the figure's unit, else ` [61 µs, 3.90 ms]`."""
    if ends is None:
        return ""
    low_ns, high_ns = min(ends[0], figure_ns), None if ends[1] is None else max(ends[1], figure_ns)
    unit = duration(figure_ns).rsplit(" ", 1)[1]
    said = [duration(low_ns), "∞" if high_ns is None else duration(high_ns)]
    if all(one == "∞" or one.endswith(f" {unit}") for one in said):
        said = [one.removesuffix(f" {unit}") for one in said]
    return f" [{', '.join(said)}]"


def generator_share(figure_ns: float, own_ns: float | None) -> str:
    """Return ` (≤ 42 µs generator)` if more than a twentieth of a latency may be the generator's own, else nothing."""
    if own_ns is None or own_ns <= OWN_SHOWN_FROM * figure_ns:
        return ""
    return _(" (≤ {own_ns} generator)", own_ns=duration(own_ns))


def without_formula(text: str) -> str:
    """Return the text in a form that no spreadsheet takes for a formula."""
    return text if not text or text[0].isalnum() or text[0] in _PLAIN_SIGNS else f"'{text}"


def seconds(value: float | None) -> str:
    """A stretch of time given in s: `0.05 s`, `15.0 s`, `2 min 5 s`, `1 h 12 min`."""
    if value is None:
        return NONE
    if value < 119.5:
        return _("{n} s", n=f"{value:.2f}" if value < 9.95 else f"{value:.1f}" if value < 99.95 else f"{value:.0f}")
    whole = round(value)
    if whole < 3600:
        return _("{minutes} min {seconds} s", minutes=whole // 60, seconds=whole % 60)
    return _("{hours} h {minutes} min", hours=whole // 3600, minutes=whole % 3600 // 60)


def rough_time(value: float) -> str:
    """A length given in s and known roughly, such as the time left: `12 s`, `4 min`, `1 h 5 min`."""
    if value < 90:
        return _("{n} s", n=max(0, round(value)))
    minutes = round(value / 60)
    if minutes < 60:
        return _("{n} min", n=minutes)
    if minutes % 60 == 0:
        return _("{hours} h", hours=minutes // 60)
    return _("{hours} h {minutes} min", hours=minutes // 60, minutes=minutes % 60)


def rate(per_second: float | None) -> str:
    """A rate per second, three digits at least: `18,432`, `84.3`, `0.42`."""
    return NONE if per_second is None else three_digits(per_second) if per_second else "0"


def count(value: float | None) -> str:
    """A whole number with separators: `1,234,567`."""
    return NONE if value is None else f"{value:,.0f}"


def number(value: float | None) -> str:
    """A plain figure without needless digits: `0.95`, `12.5`, `1,234`, `<0.001`."""
    if value is None:
        return NONE
    if value == int(value) or abs(value) >= 1000:
        return f"{value:,.0f}"
    return digits(value) if abs(value) >= 0.001 else "<0.001"


def size(byte_count: float | None) -> str:
    """Bytes in the studies' decimal units: `132 B`, `1 kB`, `10.1 kB`."""
    if byte_count is None:
        return NONE
    for unit_size, unit in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if abs(byte_count) >= unit_size:
            return f"{digits(byte_count / unit_size)} {unit}"
    return f"{byte_count:.0f} B"


def percent(share: float | None) -> str:
    """A share of one as a percentage: 0.934 is `93.4 %`, 1.5 is `150 %`."""
    if share is None:
        return NONE
    value = 100 * share
    return f"{value:.0f} %" if value == 0 or abs(value) >= 99.95 else f"{digits(value)} %"


def millicores(cores: float | None) -> str:
    """CPU as Kubernetes has it, given in cores: 0.38 is `380m`."""
    return NONE if cores is None else f"{1000 * cores:,.0f}m"


def ratio(
    estimate: float | None, low: float | None = None, high: float | None = None, *, excludes_none: bool = False
) -> str:
    """Log ratios as a difference with its interval, `+12 % [9, 15]`: as verdicts say it (`difference_text`)."""
    return NONE if estimate is None else difference_text(estimate, low, high, excludes_none=excludes_none)


def bound(found: GeneratorBound | None) -> str:
    """Return how much more a condition would do at most, for a cell: `+4 %`, `no upper bound`; empty where it is
    small."""
    if found is None:
        return ""
    return translated(NO_BOUND) if found.printed >= UNBOUNDED else bound_suffix(found.printed)


def bound_phrase(found: GeneratorBound | None) -> str:
    """Return how much more a condition would do at most, within a sentence: `up to +4 %`, `no upper bound`; empty where
    it is small."""
    said = bound(found)
    return _("up to {said}", said=said) if said and said != translated(NO_BOUND) else said


def bound_cell(found: GeneratorBound | None) -> str:
    """As `bound`, where a bound that is too small to matter must not look like one that is not known: `<1 %`."""
    return "" if found is None or _is_unknown(found) else bound(found) or SMALL


def _is_unknown(found: GeneratorBound) -> bool:
    return found.taken is None and (found.generator is None or found.round_trip)


def plus_minus(log_ratio: float | None) -> str:
    """A size of a difference, either way, from a log ratio: `±5 %`, `±1.6 %`; beyond a half a factor, `2.5 times`."""
    if log_ratio is None:
        return NONE
    if is_times(abs(log_ratio)):
        return times_text(abs(log_ratio))
    value = log_percent(abs(log_ratio))
    return f"±{decimal(value, decimals_of_one(value))} %"


def quantity(value: float | None, unit: str) -> str:
    """A check's figure in its own unit, as found in `CheckResult.unit`."""
    if value is None:
        return NONE
    match unit:
        case "ns":
            return duration(value)
        case "s":
            return seconds(value)
        case "bytes" | "B":
            return size(value)
        case "per_s" | "/s":
            return f"{rate(value)} /s"
        case "us":
            return f"{number(value)} µs"
        case "":
            return number(value)
    return str(of_author(f"{number(value)} {singular(unit) if value == 1 else unit}"))


def singular(unit: str) -> str:
    """What one of what a unit counts is called: `operations`, `replies`; of other units themselves."""
    if len(unit) < 4 or not unit.endswith("s") or "/" in unit:
        return unit
    return f"{unit[:-3]}y" if unit.endswith("ies") else unit[:-1]


def has_unit(text: str, unit: str) -> bool:
    """Whether a text of `quantity` says this unit."""
    number = re.search(r"[\d,.]+", text)
    return unit in text or (number is not None and text == of_author(f"{number[0]} {unit}"))
