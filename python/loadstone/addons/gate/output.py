"""What `loadstone gate` writes for CI, beside what every run prints."""

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from loadstone.cli.options import RESULTS, Option, OutputOptions, one_of, require_place
from loadstone.safety import terminal
from loadstone.safety.bounds.folder_files import open_file
from loadstone.safety.errors import LoadstoneError, UserError

if TYPE_CHECKING:
    from loadstone.addons.gate.result import GateResult
    from loadstone.judge.analysis.analysis import Analysis

GITHUB = "github"


@dataclass(frozen=True)
class GateOutput(OutputOptions):
    """Options of a gate's output, with files for CI."""

    summary: Annotated[
        Path | None,
        Option(
            "--summary",
            metavar="FILE",
            help="Add a short Markdown for a pull request to it, e.g. $GITHUB_STEP_SUMMARY.",
            panel=RESULTS,
        ),
    ] = None
    junit: Annotated[
        Path | None, Option("--junit", metavar="FILE", help="Write a test report in JUnit's XML.", panel=RESULTS)
    ] = None
    result: Annotated[
        Path | None,
        Option("--result", metavar="FILE", help="Write the outcome as JSON (docs/gate.schema.json).", panel=RESULTS),
    ] = None
    bencher: Annotated[
        Path | None, Option("--bencher", metavar="FILE", help="Write Bencher's own JSON (BMF).", panel=RESULTS)
    ] = None
    annotations: Annotated[
        str | None,
        Option(
            "--annotations",
            metavar=GITHUB,
            help="Print the verdict as an annotation of GitHub's.",
            panel=RESULTS,
            read=one_of((GITHUB, "none")),
        ),
    ] = None
    sizes: dict[Path, int | None] = field(default_factory=dict, init=False, repr=False, compare=False)
    """Bytes of each file before anything was built or started; None: it was not there."""

    def check(self) -> None:
        """Before anything is started. Raises UserError."""
        super().check()
        for option, file in self._files():
            require_place(option, file)
        if self.summary is not None and self.summary.is_symlink():
            raise UserError(
                "--summary {path}: is a link, which is not followed; name the file itself", path=self.summary
            )

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Within it builds and services run. What they write to these files does not count, and does not stay."""
        for _, file in self._files():
            self.sizes[file] = file.stat().st_size if file.exists() else None
        try:
            yield
        except (LoadstoneError, KeyboardInterrupt):  # nothing of loadstone's is in them
            self._take_back()
            raise

    def _take_back(self) -> None:
        """Remove what a build or service added: files that were not there, and what stands behind a summary's end."""
        for file, size in self.sizes.items():
            with suppress(OSError):
                if size is None:
                    file.unlink()
                elif file == self.summary:
                    _shorten(file, size)

    def lines(self, analysis: "Analysis") -> Iterable[str] | None:
        """See `OutputOptions`: the verdict, and a line a figure."""
        from loadstone.addons.gate.result import GateResult
        from loadstone.addons.gate.terminal import gate_lines

        result = analysis.part(GateResult)
        return None if result is None else gate_lines(result)

    def write(self, analysis: "Analysis") -> None:
        """See `OutputOptions`: the files for CI that were asked for."""
        from loadstone.addons.gate.result import GateResult

        if (result := analysis.part(GateResult)) is not None:
            self.write_gate(result)

    def write_gate(self, result: "GateResult") -> None:
        """Write what was asked for. Raises LoadstoneError where it cannot be written."""
        from loadstone.addons.gate.ci.formats import bencher, github, junit
        from loadstone.addons.gate.ci.summary import summary
        from loadstone.run_folder.lines import add_to_file, dump_document, write_file
        from loadstone.safety.secrets.known import redact

        self._take_back()
        if self.summary is not None:
            add_to_file(self.summary, redact(summary(result)).encode())
        if self.junit is not None:
            write_file(self.junit, redact(junit(result)).encode())
        if self.result is not None:
            write_file(self.result, dump_document(result.model_dump(mode="json")))
        if self.bencher is not None:
            write_file(self.bencher, redact(bencher(result)).encode())
        if self.annotations == GITHUB:
            terminal.result(github(result))

    def _files(self) -> list[tuple[str, Path]]:
        named = (
            ("--summary", self.summary),
            ("--junit", self.junit),
            ("--result", self.result),
            ("--bencher", self.bencher),
        )
        return [(option, file) for option, file in named if file is not None]


def _shorten(file: Path, size: int) -> None:
    """Cut a file to a length that it had before. Raises OSError."""
    number = open_file(file, os.O_WRONLY)
    try:
        os.ftruncate(number, min(os.fstat(number).st_size, size))
    finally:
        os.close(number)
