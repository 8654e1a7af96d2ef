"""Measured calibration as sections of `docs/calibration.md`.

    python bench/calibration_page.py [--into docs/calibration.md] [--date 2026-11-22] FILE...

A file is what a part of `make calibrate` left in `runs/calibration/`: `replay.json`, `rounds.txt`, `starts.txt`,
`effects.txt`, `carry-over.txt`, `lengthening.txt`, `carried.txt`, `quantiles.json`, `saturation.json`,
`saturation-live.txt`, `limits-live.txt`, `stalls.txt`, `aa/aa.md` or `ab/ab.md`. Prints the section of each; with
`--into` it replaces what stands there between the section's two comments, or is added at the end.
"""

import argparse
import json
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

Row = Mapping[str, Any]


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Markdown."""
    return "\n".join(f"| {' | '.join(line)} |" for line in (head, ["---"] * len(head), *rows))


def percent(share: Row | None) -> str:
    """`4.7 [4.3, 5.1]`."""
    if share is None:
        return ""
    return f"{100 * share['share']:.1f} [{100 * share['low']:.1f}, {100 * share['high']:.1f}]"


def ordered(rows: Iterable[Row], *keys: str) -> dict[str, dict[str, Row]]:
    """Rows by what the keys before the last say, then by the last; in their own order."""
    found: dict[str, dict[str, Row]] = {}
    for row in rows:
        name = ", ".join(str(row[key]) for key in keys[:-1])
        found.setdefault(name, {})[str(row[keys[-1]])] = row
    return found


def replay(text: str, date: str) -> str:
    """False verdicts, coverage and power of the judge on simulated runs."""
    given = json.loads(text)
    named = [{**row, "design": f"K = {row['conditions']}, {_design(row['design'])}"} for row in given["outcomes"]]
    null = ordered([row for row in named if row["effect"] == 0], "design", "scenario")
    scenarios = list(next(iter(null.values())))
    parts = [
        f"{given['runs']:,} runs a cell, {date}; per cent with 95 % ranges. "
        + ("Every limit is kept." if not given["missed"] else "Missed: " + "; ".join(given["missed"]) + "."),
        "Runs that claim a difference where there is none, on any of their pairs (limit 5.5):",
        _cells(null, scenarios, lambda row: percent(row["false_verdict"])),
        "Runs in which every interval holds the truth (limit 94.5):",
        _cells(null, scenarios, lambda row: percent(row["coverage"])),
        "How often a true difference is called faster, or equivalent within 5 %, or left undecided; K = 2, sequential, "
        "with the mean number of blocks (direction wrong in at most "
        f"{100 * max(row['wrong']['share'] for row in named):.2f} % of any cell):",
        _power([row for row in named if row["conditions"] == 2 and "sequential" in row["design"]], scenarios),
    ]
    return "\n\n".join(parts)


def _design(name: str) -> str:
    return f"{name.removeprefix('fixed ')} blocks" if name.startswith("fixed") else name


def _cells(rows: Mapping[str, Mapping[str, Row]], columns: Sequence[str], cell: Callable[[Row], str]) -> str:
    return table(["", *columns], [[name, *(cell(found[column]) for column in columns)] for name, found in rows.items()])


def _power(rows: Sequence[Row], scenarios: Sequence[str]) -> str:
    by_effect = ordered([{**row, "effect": f"{row['effect']:+.0%}"} for row in rows], "effect", "scenario")

    def cell(row: Row) -> str:
        shares = (100 * row[key]["share"] for key in ("faster", "equivalent", "undecided"))
        return f"{' / '.join(f'{share:.0f}' for share in shares)}; {row['mean_blocks']:.0f} blocks"

    return _cells(by_effect, scenarios, cell)


def quantiles(text: str, date: str) -> str:
    """The same of P95, P99 and P99.9."""
    given = json.loads(text)
    rows = [
        [
            row["scenario"],
            f"P{100 * row['quantile']:g}",
            _design(row["design"]),
            *(percent(row[key]) for key in ("false", "seen_10", "seen_20", "wrong")),
        ]
        for row in given["outcomes"]
    ]
    head = ["latencies", "quantile", "design", "false verdict", "+10 % seen", "+20 % seen", "wrong direction"]
    return f"{given['runs']:,} runs a row, {date}; per cent with 95 % ranges.\n\n{table(head, rows)}"


def saturation(text: str, date: str) -> str:
    """Bias and coverage of saturation points."""
    given = json.loads(text)
    rows = [
        [
            row["server"],
            row["scenario"],
            percent(row["answered"]),
            *_accuracy(row["users"]),
            *_accuracy(row["rate"]),
            percent(row["rate_over_weeks"] and row["rate_over_weeks"]["coverage"]),
            f"{row['chart'][0]:.2g} to {row['chart'][1]:.2g}" if row["chart"] else "",
        ]
        for row in given["outcomes"]
    ]
    head = ["server", "noise", "found", "users: bias, half-width", "holds the truth", "rate: bias, half-width"]
    head += ["holds the truth", "holds that of weeks", "top of one chart / truth"]
    return (
        f"{given['runs']:,} runs a row of the closed model, {given['open_runs']:,} of the open one, {date}; per cent, "
        f"with 95 % ranges in brackets.\n\n{table(head, rows)}"
    )


def _accuracy(found: Row | None) -> tuple[str, str]:
    if found is None:
        return "", ""
    return f"{100 * found['bias']:+.1f}, {100 * found['width']:.1f}", percent(found["coverage"])


def printed(text: str, date: str) -> str:
    """What a bench printed."""
    return f"{date}.\n\n```\n{text.rstrip()}\n```"


def ready(text: str, _: str) -> str:
    """A section that its bench wrote itself, with its date."""
    return text.rstrip()


SECTIONS: dict[str, tuple[str, Callable[[str, str], str]]] = {
    "replay": ("", replay),
    "quantiles": ("## P95, P99 and P99.9 on simulated latencies", quantiles),
    "saturation": ("", saturation),
    "rounds": ("## Rounds of slices, simulated", printed),
    "starts": ("## Servers that are started again for each block, simulated", printed),
    "effects": ("## Effects of several factors, simulated", printed),
    "carry-over": ("## What carries over from slice to slice", printed),
    "lengthening": ("## Slices that get longer by themselves", printed),
    "carried": ("", printed),
    "saturation-live": ("## Saturation of queues behind a TCP port", printed),
    "limits-live": ("## The limiting part, where it was put there", printed),
    "stalls": ("", printed),
    "aa": ("## Equal conditions on a real Redis", ready),
    "ab": ("## A server that is slower by a known time", ready),
}
"""By the stem of the file: the heading where the page has none yet, and what makes the section."""


def put(page: str, name: str, body: str) -> str:
    """The page with a section's body in its place."""
    begin, end = f"<!-- {name}: by bench/calibration_page.py -->", f"<!-- end of {name} -->"
    section = f"{begin}\n\n{body}\n\n{end}"
    if begin in page:
        before, rest = page.split(begin, 1)
        return before + section + rest.split(end, 1)[1]
    heading = SECTIONS[name][0]
    return f"{page.rstrip()}\n\n{heading}\n\n{section}\n" if heading else f"{page.rstrip()}\n\n{section}\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--into", type=Path)
    parser.add_argument("--date", help="of the measurement; that of the file if not given")
    options = parser.parse_args()
    for file in options.files:
        if file.stem not in SECTIONS:
            sys.exit(f"{file}: no part of the calibration; known are {', '.join(SECTIONS)}")
        date = options.date or datetime.fromtimestamp(file.stat().st_mtime, UTC).date().isoformat()
        body = SECTIONS[file.stem][1](file.read_text(), date)
        if options.into is None:
            print(body)
        else:
            options.into.write_text(put(options.into.read_text(), file.stem, body))


if __name__ == "__main__":
    main()
