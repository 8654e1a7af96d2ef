"""`loadstone redis --documents`: values of the user's own in the place of generated ones."""

import errno
import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO

from loadstone.cli.operations import LoadRow, YamlMapping
from loadstone.safety.bounds.files import load_json, why
from loadstone.safety.errors import UserError
from loadstone.text.message import said

OPTION = "--documents"
DOCUMENT_MAX_BYTES = 16_000_000
FILE_MAX_BYTES = 512_000_000
"""The generator keeps all of them in memory."""
_FORM = {"key", "value"}
_WHOLE = ("value", "document")
"""What a read expects that returns what was stored."""


@dataclass(frozen=True)
class OwnDocuments:
    """What stands in the file."""

    path: Path
    count: int
    mean_bytes: int
    named: bool
    """Whether each has the name of its key beside it."""
    text_at: int | None = None
    """The first line whose value is a text, and so stored as its characters: no JSON."""

    @property
    def data(self) -> YamlMapping:
        """The file as a workload has it: each key has a document of its own."""
        return {"path": str(self.path.absolute()), "format": "documents", "order": "key"}


def own_documents(path: Path) -> OwnDocuments:
    """Reads the file once. Raises UserError that names the line."""
    try:
        if not path.is_file():
            if path.exists():
                what = said("is no regular file")
            else:
                what = said("cannot be read ({why})", why=os.strerror(errno.ENOENT))
            raise UserError(
                "{option} {path}: {what}; name a file with a JSON document a line", option=OPTION, path=path, what=what
            )
        if path.stat().st_size > FILE_MAX_BYTES:
            most = f"{FILE_MAX_BYTES / 1e6:,.0f} MB"
            raise UserError(
                "{option} {path}: larger than {most}; take a sample: shuf -n 10000 {path}",
                option=OPTION,
                path=path,
                most=most,
            )
        with path.open("rb") as file:
            return _read(path, file)
    except OSError as error:
        raise UserError(
            "{option} {path}: cannot be read ({why}); name a file with a JSON document a line",
            option=OPTION,
            path=path,
            why=error.strerror,
        ) from None


def _read(path: Path, file: BinaryIO) -> OwnDocuments:
    count, total, named = 0, 0, False
    text_at: int | None = None
    for number, line in _lines(path, file):
        try:
            value = load_json(line)
        except ValueError as error:
            raise UserError(
                "{option} {path}, line {number}: is no JSON ({error}); correct or remove it",
                option=OPTION,
                path=path,
                number=number,
                error=why(error),
            ) from None
        if b"\\u" in line:
            _require_whole_letters(path, number, line)
        is_named = isinstance(value, dict) and set(value) == _FORM and isinstance(value["key"], str)
        if not count:
            named = is_named
        if named and not is_named:
            form = '{"key": "...", "value": ...}'
            raise UserError(
                "{option} {path}, line {number}: is not of the form {form} that the first line has",
                option=OPTION,
                path=path,
                number=number,
                form=form,
            )
        if named and isinstance(value["value"], str) and text_at is None:
            text_at = number
        total += len(line)
        count += 1
    if not count:
        raise UserError("{option} {path}: holds no document; write a JSON document a line", option=OPTION, path=path)
    return OwnDocuments(path, count, max(2, round(total / count)), named, text_at)


def _require_whole_letters(path: Path, number: int, line: bytes) -> None:
    """Raises UserError for half a character, such as `\\ud800`: JSON can write one, and no text in UTF-8 holds it."""
    try:
        json.dumps(json.loads(line), ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        half = f"\\u{ord(error.object[error.start]):04x}"
        raise UserError(
            "{option} {path}, line {number}: {half} is half a character; write the whole one",
            option=OPTION,
            path=path,
            number=number,
            half=half,
        ) from None
    except RecursionError:
        return  # the reader's own limit has been kept


def _lines(path: Path, file: BinaryIO) -> Iterator[tuple[int, bytes]]:
    """The lines that are not empty, without spaces around them. Raises UserError for one that is too long."""
    number = 0
    while line := file.readline(DOCUMENT_MAX_BYTES + 1):
        number += 1
        if len(line) > DOCUMENT_MAX_BYTES:
            most = f"{DOCUMENT_MAX_BYTES / 1e6:,.0f} MB"
            raise UserError(
                "{option} {path}, line {number}: a document of more than {most}; remove it",
                option=OPTION,
                path=path,
                number=number,
                most=most,
            )
        if text := line.strip():
            yield number, text


def with_documents(rows: Sequence[LoadRow], documents: OwnDocuments, *, verify: bool) -> tuple[LoadRow, ...]:
    """Return the rows with these values; with `verify` each reply that returns one is held to it. Raises UserError."""
    return tuple(_with_documents(row, documents, verify=verify) for row in rows)


def _with_documents(row: LoadRow, documents: OwnDocuments, *, verify: bool) -> LoadRow:
    operations = tuple(_own(fields, documents, verify=verify) for fields in row.operations)
    used = [command for fields in operations for command in fields["commands"]]
    if verify and not any("{data.document}" in command["args"] or command["expect"] == "row" for command in used):
        raise UserError(
            "--verify: '{row}' has no value that could be verified; write -t get,set or --ratio", row=row.name
        )
    if "json" in row.modules and documents.text_at is not None:
        raise UserError(
            "{option}: '{row}' stores JSON, and the value in line {line} of {path} is a text; write -t get,set",
            option=OPTION,
            row=row.name,
            line=documents.text_at,
            path=documents.path,
        )
    load = None if row.load is None else _own(row.load, documents, verify=verify)
    return replace(row, operations=operations, load=load)


def _own(fields: YamlMapping, documents: OwnDocuments, *, verify: bool) -> YamlMapping:
    """An operation with the file's values, and with the names of its keys behind ours."""
    kept = {name: value for name, value in fields.items() if name not in ("writes", "read_back")}
    commands = []
    for command in fields["commands"]:
        args = command["args"].replace("{value}", "{data.document}").replace("{document}", "{data.document}")
        if documents.named:
            args = args.replace("{key}", "{key}:{data.key}")
        expect = command["expect"]
        if expect in _WHOLE:
            expect = "row" if verify else "any"
        commands.append({**command, "args": args, "expect": expect})
    return {**kept, "commands": commands}
