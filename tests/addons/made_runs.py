"""What the core and all add-ons make of a run's folder, in every form that is frozen (`tests/frozen_runs.py`)."""

import io
import json
import re
from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path

import numpy as np
from pydantic_core import to_jsonable_python
from ruamel.yaml import YAML
from tests.core_reports import nothing_drawn
from tests.frozen_runs import ARITHMETIC, Files, unpacked
from tests.korean_terms import english_in, names_in

from loadstone.addons.history.compare_command import compare
from loadstone.addons.history.compare_options import CompareOptions
from loadstone.judge.analysis.analyse import analyse
from loadstone.judge.analysis.analysis import Analysis
from loadstone.judge.analysis.objectives import missed, parse_objective
from loadstone.report.charts.chart_list import charts_of
from loadstone.report.terminal.outcome import show
from loadstone.report.write import FORMATS, REPORTERS
from loadstone.safety.console import SafeConsole
from loadstone.safety.errors import UserError
from loadstone.text.language import use_language

IN_KOREAN = (
    "aof-modes-crash",
    "gate-twin",
    "jedis-vs-lettuce",
    "json-documents",
    "redis-against",
    "saturate-closed",
)
"""These are made in Korean, too."""
OTHER = {"redis-rate-again": "redis-rate", "resumed": "json-documents"}
"""Run -> another of the same study, with which `loadstone compare` compares it."""
OBJECTIVES = (
    "p99 > 5ms",
    "service p50 > 50us",
    "goodput < 20k/s",
    "errors > 0.1%",
    "saturation < 20",
    "capacity < 50k/s",
)
RATIOS = ("goodput < -5%", "p99 > +10%")
TERMINAL_COLUMNS = 120


def made_of(name: str, folder: Path) -> Files:
    """What is made of the frozen run `name`, which is unpacked into `folder`."""
    other = OTHER.get(name)
    return made(unpacked(name, folder), unpacked(other, folder) if other else None)


def made(run: Path, other: Path | None = None) -> Files:
    """What the stages after `record` make of a run's folder, wherever it stands."""
    analysis = analyse(run)
    files = {
        ARITHMETIC: _arithmetic(),
        "terminal.txt": _on_terminal(analysis, run),
        "charts.json": _charts(analysis),
        "objectives.json": _as_json(
            [
                {**to_jsonable_python(one), "text": str(one)}
                for one in missed([*map(parse_objective, OBJECTIVES)], analysis)
            ]
        ),
        "compared.txt": _compared(CompareOptions((run,), fail_if=RATIOS)),
        "compared-p99.txt": _compared(CompareOptions((run,), metric="p99", margin="20 %")),
    }
    if other is not None:
        files["compared-runs.txt"] = _compared(CompareOptions((other, run), across=True, fail_if=RATIOS))
    with use_language("ko"), nothing_drawn():
        korean = {
            "terminal.ko.txt": _on_terminal(analysis, run),
            "report.ko.md": REPORTERS["md"](analysis)["report.md"],
        }
        if run.name in IN_KOREAN:
            files |= korean | {"report.ko.html": REPORTERS["html"](analysis)["report.html"]}
    left = _english_left(run, korean.values())
    assert not left, f"{run.name}: English words in what is made in Korean: {left}"
    with nothing_drawn():
        for name in (name for name in FORMATS if name not in ("svg", "png")):
            files |= REPORTERS[name](analysis)
    return dict(sorted((name, content) for name, content in files.items() if not name.startswith("charts/")))


def _arithmetic() -> bytes:
    """A digest of results that numpy, by the machine's CPU, has rounded in one way or in another."""
    values = np.random.default_rng(1).random(10_000)
    square = values.reshape(100, 100)
    found = (np.exp(values), np.log(values), square @ values[:100], np.array([values @ values]))
    return sha256(b"".join(one.tobytes() for one in found)).hexdigest().encode() + b"\n"


def _english_left(run: Path, texts: Iterable[bytes]) -> list[str]:
    """Words that are neither names nor terms."""
    names = names_in(YAML(typ="safe").load(run / "experiment.yaml")) | set(re.findall(r"[a-z]{3,}", run.name))
    return english_in(b"\n".join(texts).decode(), frozenset(names))


def _on_terminal(analysis: Analysis, run: Path) -> bytes:
    """The end of the run, and below it what `--verbose` prints; both without colours."""
    printed = io.StringIO()
    console = _console(printed)
    for verbose in (False, True):
        show(analysis, None, console, folder=Path("runs", run.name), verbose=verbose)
    return printed.getvalue().encode()


def _console(printed: io.StringIO) -> SafeConsole:
    return SafeConsole(file=printed, width=TERMINAL_COLUMNS, highlight=False, color_system=None, legacy_windows=False)


def _charts(analysis: Analysis) -> bytes:
    """The pictures as they are specified: how they are drawn depends on the fonts of the machine."""
    with nothing_drawn():
        specified = {chart.name: {"wide": chart.spec, "narrow": chart.narrow} for chart in charts_of(analysis)}
    return _as_json(specified)


def _as_json(data: object) -> bytes:
    return (json.dumps(data, indent=1, ensure_ascii=False) + "\n").encode()


def _compared(options: CompareOptions) -> bytes:
    """What `loadstone compare` prints, and below it what it says to programs; or why it compares nothing."""
    printed = io.StringIO()
    try:
        outcome = compare(options, _console(printed))
    except UserError as error:
        return f"{error}\n".replace(f"{options.runs[0].parent}/", "").encode()
    return f"{printed.getvalue()}status {outcome.status}\n{outcome.json_text}".encode()
