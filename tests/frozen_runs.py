"""Run folders with what is made of each, as they are kept: the net below changes that must not change a result.

A folder of `examples/frozen/` holds a run as it was measured (`run.tar.xz`) and what the stages after `record` made of
it: what people read as it is (`report.md`, `tables.csv`, `terminal.txt`), and the rest in `results.tar.xz`.
`scripts/freeze` writes both, and what is made without measuring: by `addons/made_runs.py` and `addons/frozen_texts.py`,
for it is the work of the core and of all add-ons together.
"""

import difflib
import io
import lzma
import tarfile
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path

from loadstone.text.language import ENGLISH

from .core_reports import to_nine_digits
from .plan_text import PLAN, differing

FROZEN = Path(__file__).parent / "examples" / "frozen"
RUN, RESULTS = "run.tar.xz", "results.tar.xz"
READ_AS_IT_IS = ("report.md", "tables.csv", "terminal.txt", "terminal.ko.txt", "report.ko.md")
"""Beside the archive, so that a change of them is seen where changes are reviewed."""
ARITHMETIC = "arithmetic"
"""How the machine rounds the last digit of exponentials, logarithms and products of matrices, as a digest."""
DIFF_LINES = 40

Files = dict[str, bytes]
"""Name -> content, in the order of their names."""


def names() -> list[str]:
    """Those that are frozen, sorted."""
    return sorted(path.parent.name for path in FROZEN.glob(f"*/{RUN}"))


def unpacked(name: str, folder: Path) -> Path:
    """The run `name` as a folder of that name in `folder`."""
    run = folder / name
    for path, content in _archived(FROZEN / name / RUN).items():
        (run / path).parent.mkdir(parents=True, exist_ok=True)
        (run / path).write_bytes(content)
    return run


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
