"""Run folders with what is made of each: the net below changes that must not change a result.

A folder of `examples/frozen/` holds a run as it was measured (`run.tar.xz`) and what the stages after `record` made of
it: what people read as it is (`report.md`, `tables.csv`, `terminal.txt`), and the rest in `results.tar.xz`.
`scripts/freeze` writes both, and what is made without measuring (`frozen_texts.py`).
"""

import difflib
import io
import json
import lzma
import re
import tarfile
from collections.abc import Iterable, Iterator, Mapping
from hashlib import sha256
from itertools import islice
from pathlib import Path

import numpy as np
from ruamel.yaml import YAML

from loadstone.addons.history.compare_command import compare
from loadstone.addons.history.compare_options import CompareOptions
from loadstone.judge.analysis.analyse import analyse
from loadstone.judge.analysis.analysis import Analysis
from loadstone.judge.analysis.objectives import missed, parse_objective
from loadstone.report.charts.chart_list import charts_of
from loadstone.report.json_report import with_texts
from loadstone.report.terminal.outcome import show
from loadstone.report.write import FORMATS, REPORTERS
from loadstone.safety.console import SafeConsole
from loadstone.safety.errors import UserError
from loadstone.text.language import ENGLISH, use_language

from .core_reports import nothing_drawn, to_nine_digits
from .korean_terms import english_in, names_in
from .plan_text import PLAN, differing

IN_KOREAN = (
    "aof-modes-crash",
    "gate-twin",
    "jedis-vs-lettuce",
    "json-documents",
    "redis-against",
    "saturate-closed",
)
"""These are made in Korean, too."""
FROZEN = Path(__file__).parent / "examples" / "frozen"
RUN, RESULTS = "run.tar.xz", "results.tar.xz"
READ_AS_IT_IS = ("report.md", "tables.csv", "terminal.txt", "terminal.ko.txt", "report.ko.md")
"""Beside the archive, so that a change of them is seen where changes are reviewed."""
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
ARITHMETIC = "arithmetic"
"""How the machine rounds the last digit of exponentials, logarithms and products of matrices, as a digest."""
TERMINAL_COLUMNS = 120
DIFF_LINES = 40

Files = dict[str, bytes]
"""Name -> content, in the order of their names."""


def names() -> list[str]:
    """Those that are frozen, sorted."""
    return sorted(path.parent.name for path in FROZEN.glob(f"*/{RUN}"))


def made_of(name: str, folder: Path) -> Files:
    """What is made of the frozen run `name`, which is unpacked into `folder`."""
    other = OTHER.get(name)
    return made(unpacked(name, folder), unpacked(other, folder) if other else None)


def unpacked(name: str, folder: Path) -> Path:
    """The run `name` as a folder of that name in `folder`."""
    run = folder / name
    for path, content in _archived(FROZEN / name / RUN).items():
        (run / path).parent.mkdir(parents=True, exist_ok=True)
        (run / path).write_bytes(content)
    return run


def made(run: Path, other: Path | None = None) -> Files:
    """What the stages after `record` make of a run's folder, wherever it stands."""
    analysis = analyse(run)
    files = {
        ARITHMETIC: _arithmetic(),
        "terminal.txt": _on_terminal(analysis, run),
        "charts.json": _charts(analysis),
        "objectives.json": _as_json([with_texts(one) for one in missed([*map(parse_objective, OBJECTIVES)], analysis)]),
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


def frozen(name: str) -> Files:
    """What was made of it when it was frozen; empty if it never was."""
    folder = FROZEN / name
    read = {path.name: path.read_bytes() for path in folder.glob("*") if _read_as_it_is(name, path.name)}
    archive = folder / RESULTS
    return dict(sorted({**(_archived(archive) if archive.exists() else {}), **read}.items()))


def freeze(name: str, files: Files) -> None:
    """Keep these as what is made of it."""
    folder = FROZEN / name
    folder.mkdir(exist_ok=True)
    for path in folder.glob("*"):
        if _read_as_it_is(name, path.name):
            path.unlink()
    packed = {one: content for one, content in files.items() if not _read_as_it_is(name, one)}
    for one in {*files} - {*packed}:
        (folder / one).write_bytes(files[one])
    if packed:
        archive(folder / RESULTS, packed)


def _read_as_it_is(name: str, file: str) -> bool:
    """Of what is no run, all texts for people."""
    return file in READ_AS_IT_IS if name in names() else file.endswith(".txt")


def in_language(name: str, language: str) -> str:
    """What a file is called where it is in this language: `report.ko.md`; in English it has its own name."""
    return name if language == ENGLISH else f".{language}.".join(name.rsplit(".", 1))


def archive(path: Path, files: Mapping[str, bytes]) -> None:
    """Write an archive that depends on names and contents alone."""
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for name, content in sorted(files.items()):
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            tar.addfile(entry, io.BytesIO(content))
    path.write_bytes(lzma.compress(data.getvalue(), preset=9 | lzma.PRESET_EXTREME))


def difference(before: Files, after: Files, lines_max: int | None = DIFF_LINES) -> str:
    """A unified diff of all files, at most so many lines of it; empty if they are the same, byte for byte.

    Where they were made by machines of unlike arithmetic, figures are compared to nine digits.
    """
    if before.get(ARITHMETIC) != after.get(ARITHMETIC):
        before, after = ({name: to_nine_digits(text) for name, text in files.items()} for files in (before, after))
    before, after = ({**files, ARITHMETIC: b""} for files in (before, after))
    lines = (line for name in sorted({*before, *after}) for line in _of_file(name, before, after))
    shown = [*islice(lines, lines_max)]
    if left := sum(1 for _ in lines):
        shown.append(f"... {left} more lines differ")
    return "\n".join(shown)


def _of_file(name: str, before: Files, after: Files) -> Iterator[str]:
    old, new = before.get(name), after.get(name)
    if old == new:
        return
    title, title_now = (
        f"{where}/{name}{'' if content is not None else ' (missing)'}"
        for where, content in (("frozen", old), ("now", new))
    )
    if name.endswith(PLAN):
        yield from (f"--- {title}", f"+++ {title_now}")
        yield from () if old is None or new is None else differing(old, new)
        return
    lines, lines_now = ((content or b"").decode().splitlines() for content in (old, new))
    yield from difflib.unified_diff(lines, lines_now, title, title_now, lineterm="", n=1)


def _archived(path: Path) -> Files:
    with tarfile.open(path, "r:xz") as tar:
        return {entry.name: tar.extractfile(entry).read() for entry in tar if entry.isfile()}  # type: ignore[union-attr]


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
