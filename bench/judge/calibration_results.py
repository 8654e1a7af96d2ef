"""Measured calibration as data: `bench/results/calibration/PART.json`, which `docs/proofs.md` links to.

    python -m bench.judge.calibration_results [--date 2026-11-22] FILE...

A file is what a part of `make calibrate` left in `runs/calibration/`: `replay.json`, `rounds.txt`, `starts.txt`,
`effects.txt`, `carry-over.txt`, `lengthening.txt`, `carried.txt`, `quantiles.json`, `row-quantiles.json`,
`saturation.json`, `saturation-live.txt`, `limits-live.txt`, `stalls.txt`, `aa/aa.md` or `ab/ab.md`.
"""

import argparse
import json
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from loadstone.machine.hardware import kernel, machine

RESULTS = Path(__file__).parents[1] / "results" / "calibration"
Row = Mapping[str, Any]
Table = dict[str, Any]
"""With `columns` and `rows`, or with the lines that a bench `printed`; and a `title` where a part has several."""


def table(head: Sequence[str], rows: Iterable[Sequence[str]], title: str = "") -> Table:
    return {"title": title, "columns": list(head), "rows": [list(row) for row in rows]}


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


def replay(text: str) -> list[Table]:
    """False verdicts, coverage and power of the judge on simulated runs."""
    given = json.loads(text)
    named = [{**row, "design": f"K = {row['conditions']}, {_design(row['design'])}"} for row in given["outcomes"]]
    null = ordered([row for row in named if row["effect"] == 0], "design", "scenario")
    scenarios = list(next(iter(null.values())))
    runs = f"{given['runs']:,} runs a cell, per cent with 95 % ranges"
    wrong = 100 * max(row["wrong"]["share"] for row in named)
    return [
        _cells(null, scenarios, lambda row: percent(row["false_verdict"]), f"false verdicts (limit 5.5); {runs}"),
        _cells(
            null,
            scenarios,
            lambda row: percent(row["coverage"]),
            f"every interval holds the truth (limit 94.5); {runs}",
        ),
        _power(
            [row for row in named if row["conditions"] == 2 and "sequential" in row["design"]],
            scenarios,
            "faster / equivalent within 5 % / undecided; mean number of blocks, of two conditions, sequential "
            f"(direction wrong in at most {wrong:.2f} % of any cell)",
        ),
        table(["limits missed"], [[missed] for missed in given["missed"]]),
    ]


def _design(name: str) -> str:
    return f"{name.removeprefix('fixed ')} blocks" if name.startswith("fixed") else name


def _cells(
    rows: Mapping[str, Mapping[str, Row]], columns: Sequence[str], cell: Callable[[Row], str], title: str
) -> Table:
    lines = [[name, *(cell(found[column]) for column in columns)] for name, found in rows.items()]
    return table(["", *columns], lines, title)


def _power(rows: Sequence[Row], scenarios: Sequence[str], title: str) -> Table:
    by_effect = ordered([{**row, "effect": f"{row['effect']:+.0%}"} for row in rows], "effect", "scenario")

    def cell(row: Row) -> str:
        shares = (100 * row[key]["share"] for key in ("faster", "equivalent", "undecided"))
        return f"{' / '.join(f'{share:.0f}' for share in shares)}; {row['mean_blocks']:.0f} blocks"

    return _cells(by_effect, scenarios, cell, title)


def quantiles(text: str) -> list[Table]:
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
    return [table(head, rows, f"{given['runs']:,} runs a row; per cent with 95 % ranges")]


def row_quantiles(text: str) -> list[Table]:
    """Coverage of what is claimed of one row's quantiles and of stalls, and how often stalls are told apart."""
    given = json.loads(text)
    keys = ("held", "share_held", "told_apart", "of_all_held", "binomial_held")
    rows = [
        [
            row["scenario"],
            f"P{100 * row['quantile']:g}",
            str(row["units"]),
            *(percent(row[key]) for key in keys),
            f"{row['width']:.2f}",
            percent(row["one_named"]),
            percent(row["falsely_named"]),
        ]
        for row in given["outcomes"]
    ]
    head = ["units", "quantile", "number", "holds the truth", "the share of stalled units, too", "stalls told apart"]
    head += ["over all units", "over single operations", "upper end over lower"]
    head += ["a single stall is told apart", "seen where none stalled"]
    return [table(head, rows, f"{given['runs']:,} runs a row; per cent with 95 % ranges")]


def saturation(text: str) -> list[Table]:
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
    title = f"{given['runs']:,} runs a row of the closed model, {given['open_runs']:,} of the open one; per cent"
    return [table(head, rows, title)]


def _accuracy(found: Row | None) -> tuple[str, str]:
    if found is None:
        return "", ""
    return f"{100 * found['bias']:+.1f}, {100 * found['width']:.1f}", percent(found["coverage"])


def printed(text: str) -> list[Table]:
    """What a bench printed, or the section that it wrote."""
    return [{"printed": text.rstrip().splitlines()}]


PARTS: dict[str, tuple[str, Callable[[str], list[Table]]]] = {
    "replay": ("The judge on simulated runs", replay),
    "row-quantiles": ("P50, P95 and P99 of one row, over simulated slices of 1,500 operations", row_quantiles),
    "quantiles": ("P95, P99 and P99.9 on simulated latencies", quantiles),
    "saturation": ("Saturation of simulated servers", saturation),
    "rounds": ("Rounds of slices, simulated", printed),
    "starts": ("Servers that are started again for each block, simulated", printed),
    "effects": ("Effects of several factors, simulated", printed),
    "carry-over": ("What carries over from slice to slice", printed),
    "lengthening": ("Slices that get longer by themselves", printed),
    "carried": ("A relay that carries something over", printed),
    "saturation-live": ("Saturation of queues behind a TCP port", printed),
    "limits-live": ("The limiting part, where it was put there", printed),
    "stalls": ("A server that freezes", printed),
    "aa": ("Equal conditions on a real Redis", printed),
    "ab": ("A server that is slower by a known time", printed),
}
"""By the stem of the file: its title, and what makes the tables."""


def written(results: Mapping[str, Any]) -> str:
    """JSON with a line a row."""
    *head, (_, tables) = results.items()
    lines = ["{", *(f" {json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}," for key, value in head)]
    lines.append(' "tables": [')
    for number, one in enumerate(tables):
        *about, (key, rows) = one.items()
        lines += ["  {", *(f"   {json.dumps(name)}: {json.dumps(value, ensure_ascii=False)}," for name, value in about)]
        lines += [f"   {json.dumps(key)}: ["]
        lines += [",\n".join(f"    {json.dumps(row, ensure_ascii=False)}" for row in rows), "   ]"]
        lines.append("  }," if number < len(tables) - 1 else "  }")
    return "\n".join([*lines, " ]", "}", ""])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--date", help="of the measurement; that of the file if not given")
    options = parser.parse_args()
    here = machine()
    place = f"{here['cpu_count']} CPUs ({here['cpu_model'] or here['architecture']}), Linux {kernel()['release']}"
    for file in options.files:
        if file.stem not in PARTS:
            sys.exit(f"{file}: no part of the calibration; known are {', '.join(PARTS)}")
        date = options.date or datetime.fromtimestamp(file.stat().st_mtime, UTC).date().isoformat()
        title, tables = PARTS[file.stem]
        results = {"format": 1, "title": title, "date": date, "machine": place, "tables": tables(file.read_text())}
        RESULTS.mkdir(parents=True, exist_ok=True)
        (RESULTS / f"{file.stem}.json").write_text(written(results))


if __name__ == "__main__":
    main()
