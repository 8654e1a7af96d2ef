#!/usr/bin/env python3
"""Writes the table of docs/checks.md from the declarations of the checks; `--check` only compares."""

import sys
from collections.abc import Iterator
from math import isinf
from pathlib import Path

from generated import keep

from loadstone.judge.checks.check import Check
from loadstone.judge.checks.checks import CHECKS
from loadstone.text.sentences import render_message

FILE = Path(__file__).parents[1] / "docs" / "checks.md"
BEGIN, END = "<!-- checks: by make docs -->", "<!-- end of checks -->"


def page(written: str) -> str:
    """The page with the table in its place."""
    before, _, rest = written.partition(BEGIN)
    _, _, after = rest.partition(END)
    return "\n".join([f"{before}{BEGIN}", "", *_table(), "", f"{END}{after}"])


def _table() -> Iterator[str]:
    yield "| check | question, and why | limit |"
    yield "|---|---|---|"
    for check in CHECKS:
        question = render_message(check.explanation).removeprefix("For information: ")
        question = question[0].upper() + question[1:]
        letter, _, why = ("X", "", "") if check.limit is None else check.limit.source.partition(": ")
        # That it is exact is reason enough.
        explained = question if letter == "X" else f"{question} {why[0].upper()}{why[1:]}."
        about = "information" if check.information else check.about
        of = "" if about == "all" else f" ({about})"
        yield f"| `{check.name}`{of} | {explained} | {_limit(check)} ({letter}) |"


def _limit(check: Check) -> str:
    """`1 %, else suspect; invalid beyond 5 %`."""
    limit = check.limit
    if limit is None:
        return "else invalid"
    least = "at least " if check.less_is_worse else ""
    valid = f"{least}{limit.valid:g} {limit.unit}".rstrip()
    if check.information:
        return valid
    if limit.beyond:
        return f"{valid}, else {limit.beyond}"
    if limit.valid == limit.invalid:
        return f"{valid}, else invalid"
    if isinf(limit.invalid):
        return f"{valid}, else suspect"
    return f"{valid}, else suspect; invalid {'below' if check.less_is_worse else 'beyond'} {limit.invalid:g}"


def main() -> int:
    return keep({FILE: page(FILE.read_text(encoding="utf-8"))})


if __name__ == "__main__":
    sys.exit(main())
