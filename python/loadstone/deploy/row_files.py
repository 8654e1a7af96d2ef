"""Rows of an experiment's data as they lie in files, ready to be written to servers; `deploy.rows` makes them."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

Tell = Callable[[int], None]
"""Called with how many rows are done, as often as one likes. It may raise, which ends the work."""


@dataclass(frozen=True)
class Rows:
    """Lines in files. A row is a line of texts with tabs between; no text holds a tab or an end of line."""

    columns: tuple[str, ...]
    numeric: frozenset[str]
    """Columns whose every value is a whole number."""
    count: int
    crc32_sum: int
    """The CRC32 of each line, without its end, added up: some servers can compute it of a table."""
    parts: tuple[Path, ...]

    def lines(self) -> Iterator[list[bytes]]:
        """The lines of one part after another, without their ends."""
        for part in self.parts:
            yield part.read_bytes().split(b"\n")[:-1]
