"""The files that a build is made from, and their hash."""

import hashlib
import os
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from loadstone.safety.bounds import pinned_files
from loadstone.safety.errors import UserError

SOURCES_MAX = 10_000


class FromSources(Protocol):
    """A build, as a manifest has it."""

    @property
    def commands(self) -> Sequence[str]: ...
    @property
    def inputs(self) -> Sequence[str]: ...
    @property
    def output(self) -> str: ...


def source_files(build: FromSources, folder: Path) -> list[Path]:
    """The files that the inputs name, in order.

    Raises:
        UserError: a pattern names none.
    """
    files: set[Path] = set()
    for pattern in build.inputs:
        try:
            matching = [path for path in folder.glob(pattern) if path.is_file()]
        except (ValueError, IndexError) as error:
            raise UserError(
                "{folder}: build.inputs: '{pattern}' is no pattern ({error}); correct it",
                folder=folder,
                pattern=pattern,
                error=error,
            ) from None
        if not matching:
            raise UserError(
                "{folder}: build.inputs: '{pattern}' matches no file; correct it or leave it out",
                folder=folder,
                pattern=pattern,
            )
        files.update(matching)
        if len(files) > SOURCES_MAX:
            too_many = f"build.inputs: '{pattern}' names more than {SOURCES_MAX:,} files"
            raise UserError(
                "{folder}: {too_many}; name the sources alone, not what is made of them",
                folder=folder,
                too_many=too_many,
            )
    return sorted(files)


def pinned_as(root: Path) -> str:
    """Under which name the sources of a build are pinned (`safety.bounds.pinned_files`): the hash of those alone."""
    return f"sources of {root}"


def source_hash(build: FromSources, folder: Path, tools: Mapping[str, str] | None = None) -> str:
    """16 hexadecimal digits that change with the sources, the commands, the tools and the kind of machine.

    `tools`: program -> its version, of those that the build takes.
    """
    made_by = (build.commands, build.output, sorted((tools or {}).items()), platform.system(), platform.machine())
    digest = hashlib.sha256(repr(made_by).encode())
    for path in source_files(build, folder):
        content = hashlib.sha256(path.read_bytes()).hexdigest()
        of_file = f"\0{content}\0{os.access(path, os.X_OK)}\n".encode()
        digest.update(os.fsencode(path.relative_to(folder)) + of_file)
    return digest.hexdigest()[:16]


@dataclass(frozen=True)
class SourcesPin:
    """What pins the sources of a build (`safety.bounds.pinned_files`)."""

    build: FromSources
    root: Path

    def __call__(self) -> str:
        """Raises UserError where they cannot be read."""
        try:
            return pinned_files.pin_digest(pinned_as(self.root), source_hash(self.build, self.root))
        except OSError as error:
            raise UserError(
                "{root}: its sources cannot be read ({error}); allow it", root=self.root, error=error
            ) from None
