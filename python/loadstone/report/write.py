"""All formats of the report, and how they reach the disk."""

import difflib
import importlib
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from loadstone.machine.extras import how_to_add, lacks
from loadstone.report.charts import renderer_process
from loadstone.safety.bounds.folder_files import NotOfFolder, make_folder, replace_file
from loadstone.safety.errors import UserError
from loadstone.safety.secrets.known import hide_known
from loadstone.text.message import AnyText, said

if TYPE_CHECKING:  # what a command line offers is known before anything is loaded
    from loadstone.judge.analysis.analysis import Analysis


FORMATS: Mapping[str, str] = {
    "html": "html.page.render",
    "md": "markdown_report.render",
    "csv": "csv_report.render",
    "json": "json_report.render",
    "svg": "charts.chart_list.render_svg",
    "png": "charts.chart_list.render_png",
}
"""Format -> the function in `report/` that makes its files."""
DRAWN_FORMATS = frozenset(("html", "md", "svg", "png"))
"""Those with pictures."""
PICTURE_FORMATS = frozenset(("svg", "png"))
"""Those that are pictures alone."""
DEFAULT_FORMATS = ("html", "md", "csv")
"""What a run writes by itself; its `analysis.json` is there already."""
AGAIN_FORMATS = tuple(name for name in FORMATS if name != "png")
"""What `loadstone report` writes: a picture of points takes a second each, and SVG has the same."""


Reporter = Callable[["Analysis"], dict[str, bytes]]
"""Files of one format: path below the run's folder, and content."""


def _reporter(place: str) -> Reporter:
    """The function at `place`, whose file is imported when it is first called: drawing takes a second to load."""
    module, _, function = place.rpartition(".")

    def render(analysis: "Analysis") -> dict[str, bytes]:
        reporter: Reporter = getattr(importlib.import_module(f"loadstone.report.{module}"), function)
        return reporter(analysis)

    return render


REPORTERS: dict[str, Reporter] = {name: _reporter(place) for name, place in FORMATS.items()}


def begin_report(formats: Iterable[str] = DEFAULT_FORMATS) -> None:
    """Start what draws, if a format has pictures, beside what is still to be read and judged; returns at once.

    It takes CPU: nothing may be measured any more.
    """
    if DRAWN_FORMATS.intersection(formats) and not lacks("charts"):
        renderer_process.warm_up()


def write_report(analysis: "Analysis", folder: Path, formats: Iterable[str] = DEFAULT_FORMATS) -> list[Path]:
    """Write the report in each of `formats` into `folder`; the files written, in that order.

    A file appears whole or not at all. Raises UserError for a format that does not exist, before anything is
    written, and for a folder that cannot be written to. Pictures that cannot be drawn are left out, see `undrawn`.
    """
    chosen = list(dict.fromkeys(formats))
    require_formats(chosen)
    written: dict[Path, None] = {}
    for name in chosen:
        for relative, content in REPORTERS[name](analysis).items():
            written[_write(folder, relative, _hidden(relative, content))] = None
    return list(written)


def writable_formats(formats: Iterable[str]) -> tuple[str, ...]:
    """`formats`; where what draws is not installed, `AGAIN_FORMATS` without pictures.

    Raises UserError for a format that does not exist, or whose pictures are asked for by name and cannot be drawn.
    """
    chosen = tuple(formats)
    require_formats(chosen)
    asked = [name for name in chosen if name in PICTURE_FORMATS]
    if asked and lacks("charts") and chosen != AGAIN_FORMATS:
        raise UserError(
            "--format {name}: what draws is not installed; type {how}", name=asked[0], how=how_to_add("charts")
        )
    return tuple(name for name in chosen if name not in asked) if lacks("charts") else chosen


def undrawn() -> str:
    """Why pictures are missing in the report that was written last; empty if none is."""
    return renderer_process.failure()


def require_formats(formats: Iterable[str]) -> None:
    """Returns if each format exists. Raises UserError."""
    for name in formats:
        if name not in REPORTERS:
            raise UserError.of(_unknown(name))


def _hidden(relative: str, content: bytes) -> bytes:
    """A file without the secrets that are known; a picture is drawn from an analysis that holds none."""
    return content if relative.endswith(".png") else hide_known(content.decode()).encode()


def _unknown(name: str) -> AnyText:
    near = difflib.get_close_matches(name, REPORTERS, n=1)
    hint = said("did you mean {name}? ", name=near[0]) if near else ""
    return said(
        "--format {name}: no such format; {hint}there are {known}", name=name, hint=hint, known=", ".join(REPORTERS)
    )


def _write(folder: Path, relative: str, content: bytes) -> Path:
    path = folder / relative
    try:
        make_folder(path.parent, folder)
        replace_file(path, content, folder)
    except NotOfFolder as error:
        raise UserError("cannot write {path}: {error}", path=path, error=error) from error
    except OSError as error:
        raise UserError(
            "cannot write {path}: {strerror}; free some space or choose another --out",
            path=path,
            strerror=error.strerror,
        ) from error
    return path
