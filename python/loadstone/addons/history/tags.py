"""What people wrote about a run: tags and a note, in a small file of its folder. No figure rests on it."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from loadstone.run_folder.files import PLAN, TAGS, require_run
from loadstone.run_folder.lines import FORMAT, dump_document, read_small, write_file
from loadstone.safety.bounds.files import exists
from loadstone.safety.errors import UserError

TAGS_MAX = 20
NOTE_MAX = 2_000
"""Letters of a note."""
_BYTES = 64 * 1024
_TAG = re.compile(r"[\w][\w.:/+-]{0,39}")


def _one_word(tag: str) -> str:
    if not _TAG.fullmatch(tag):
        raise ValueError("not a tag")
    return tag


class Tags(BaseModel):
    """The content of `tags.json`."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    format: int = FORMAT
    tags: tuple[Annotated[str, AfterValidator(_one_word)], ...] = Field(default=(), max_length=TAGS_MAX)
    """Each once, in the order of the alphabet; letters, digits and `. : / + - _`, at most 40 of them."""
    note: str = Field(default="", max_length=NOTE_MAX)
    """A few lines of plain text."""


def read_tags(folder: Path) -> Tags:
    """The tags and the note of a run; none where there is no such file. Raises UserError if it is damaged."""
    found = read_small(folder / TAGS, Tags, _BYTES)
    return Tags() if found is None else found


def write_tags(folder: Path, tags: Sequence[str], note: str, root: Path | None = None) -> Tags:
    """Write both, whole or not at all; returns what is there now. May be done while the run goes on.

    `root`: what the run's folder lies in, from which on nothing may be a link; None: the folder itself may be one.

    Raises:
        UserError: this is no run's folder; a tag or the note is not one; or it cannot be written.
    """
    require_run(folder, "", [PLAN])
    for tag in tags:
        if not _TAG.fullmatch(tag):
            raise UserError(
                "tag '{tag}': a tag is one word of at most 40 letters, digits and . : / + - _; write more into "
                "the note",
                tag=tag[:60],
            )
    kept = tuple(sorted(set(tags)))
    note = "\n".join(line.rstrip() for line in note.replace("\r\n", "\n").strip().split("\n"))
    if len(kept) > TAGS_MAX:
        raise UserError(
            "{folder}: {kept_count} tags; a run has at most {tags_max}, remove some",
            folder=folder,
            kept_count=len(kept),
            tags_max=TAGS_MAX,
        )
    if len(note) > NOTE_MAX:
        raise UserError(
            "{folder}: a note of {note_count:,} letters; it has at most {note_max:,}, shorten it",
            folder=folder,
            note_count=len(note),
            note_max=NOTE_MAX,
        )
    found = Tags(tags=kept, note=note)
    if kept or note or exists(folder / TAGS):
        write_file(folder / TAGS, dump_document(found.model_dump(mode="json")), root)
    return found
