"""The file of a benchmark's results: a line a measurement, written at once."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any


def read_lines(file: Path) -> list[dict[str, Any]]:
    """What was measured before."""
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


def add_line(file: Path, line: Mapping[str, Any]) -> None:
    """Append what was measured."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("a") as lines:
        lines.write(json.dumps(line) + "\n")
