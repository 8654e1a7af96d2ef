"""What people wrote about a run: tags and a note, in a small file of its folder. No figure rests on it."""

import re
from collections.abc import Sequence
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from loadstone.bounds.files import is_there, read_json, why
from loadstone.errors import UserError
from loadstone.record.lines import FORMAT, dump_document, require_format, write_file
from loadstone.record.run_files import PLAN, TAGS, require_run

TAGS_MAX = 20
NOTE_MAX = 2_000
"""Letters of a note."""
_BYTES = 64 * 1024
_TAG = re.compile(r"[\w][\w.:/+-]{0,39}")


class Tags(BaseModel):
    """The content of `tags.json`."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    format: int = FORMAT
    tags: tuple[str, ...] = ()
    """Each once, in the order of the alphabet; letters, digits and `. : / + - _`, at most 40 of them."""
    note: str = ""
    """A few lines of plain text."""


def read_tags(folder: Path) -> Tags:
    """The tags and the note of a run; none where there is no such file. Raises UserError if it is damaged."""
    file = folder / TAGS
    try:
        record = read_json(file, _BYTES)
        document = record if isinstance(record, dict) else {}
        require_format(document, str(file))
        found = Tags.model_validate(document)
    except FileNotFoundError:
        return Tags()
    except ValidationError:
        raise UserError(f"{file}: cannot be read: it holds no tags and note; remove it") from None
    except (OSError, ValueError) as error:
        raise UserError(f"{file}: cannot be read: {why(error)}") from None
    if len(found.tags) > TAGS_MAX or len(found.note) > NOTE_MAX or not all(map(_TAG.fullmatch, found.tags)):
        raise UserError(f"{file}: cannot be read: it holds more, or other tags, than loadstone writes; remove it")
    return found


def write_tags(folder: Path, tags: Sequence[str], note: str) -> Tags:
    """Write both, whole or not at all; returns what is there now. May be done while the run goes on.

    Raises:
        UserError: this is no run's folder; a tag or the note is not one; or it cannot be written.
    """
    require_run(folder, "", [PLAN])
    for tag in tags:
        if not _TAG.fullmatch(tag):
            raise UserError(
                f"tag '{tag[:60]}': a tag is one word of at most 40 letters, digits and . : / + - _; "
                "write more into the note"
            )
    kept = tuple(sorted(set(tags)))
    note = "\n".join(line.rstrip() for line in note.replace("\r\n", "\n").strip().split("\n"))
    if len(kept) > TAGS_MAX:
        raise UserError(f"{folder}: {len(kept)} tags; a run has at most {TAGS_MAX}, remove some")
    if len(note) > NOTE_MAX:
        raise UserError(f"{folder}: a note of {len(note):,} letters; it has at most {NOTE_MAX:,}, shorten it")
    found = Tags(tags=kept, note=note)
    if kept or note or is_there(folder / TAGS):
        write_file(folder / TAGS, dump_document(found.model_dump(mode="json")))
    return found
