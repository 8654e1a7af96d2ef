"""Where an experiment was written, so that every error names file, line and key."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path as FilePath
from typing import Any

from pydantic import BaseModel, ValidationError

from loadstone.errors import UserError
from loadstone.spec.problems import first_problem
from loadstone.spec.yaml_text import Path


@dataclass(frozen=True, eq=False)
class Source:
    """The text of an experiment as data, with the line of every key and item.

    `given` names the paths that came from the command line, with the option that gave them.
    """

    label: str
    """The file's name as the user wrote it."""
    data: dict[str, Any]
    lines: Mapping[Path, int] = field(default_factory=dict)
    given: Mapping[Path, str] = field(default_factory=dict)
    digest: str = ""
    """Of the text that `data` was read from; empty: the command line itself describes the experiment."""

    def __eq__(self, other: object) -> bool:
        """Where an experiment was written makes no difference to what it says."""
        return isinstance(other, Source)

    @property
    def folder(self) -> FilePath:
        """The folder of the file: paths inside of it count from there."""
        return FilePath(self.label).absolute().parent

    def place(self, path: Path) -> str:
        """`file.yaml:12` for a key, or the command-line option that gave it."""
        for length in range(len(path), -1, -1):
            if path[:length] in self.given:
                return self.given[path[:length]]
            if path[:length] in self.lines:
                return f"{self.label}:{self.lines[path[:length]]}"
        return f"{self.label}:1"

    def error(self, path: Path, problem: str) -> UserError:
        """One line: place, dotted path, what is wrong and what helps."""
        dotted = ".".join(str(part) for part in path)
        place = self.place(path)
        said = not dotted or place.endswith(f" {dotted}")  # by the option: `--set workload.pool.connections`
        where = f"{place}: " if said else f"{place}: {dotted}: "
        return UserError(where + " ".join(problem.split()))

    def first_problem(self, error: ValidationError, model: type[BaseModel], data: Any = None) -> tuple[Path, str]:
        """The first problem that pydantic found in `data` (the whole text if None), read as `model`: path and words."""
        return first_problem(error, model, self.data if data is None else data)
