"""The built-in subjects, and the manifest that a word of an experiment means."""

from pathlib import Path

from loadstone.text.message import said
from loadstone.text.problem import Problem
from loadstone.text.wording import listed, nearest

MANIFEST = "subject.yaml"
FOLDER = Path(__file__).parents[2] / "subjects"
"""Package data; in a checkout a link to the repository's `subjects/`."""


def names() -> list[str]:
    """The names of the built-in subjects, sorted."""
    return sorted(path.parent.name for path in FOLDER.glob(f"*/{MANIFEST}"))


def is_built_in(manifest: Path) -> bool:
    """Return whether the path of a manifest's folder is that of a built-in subject."""
    return manifest.parent.resolve() == FOLDER.resolve()


def manifest_path(word: str, folder: Path) -> Path:
    """The built-in subject of this name, or the file or folder at this path, which counts from `folder`.

    Raises:
        ValueError: there is none; with the nearest name.
    """
    if word in names():
        return FOLDER / word
    path = folder / word
    if path.is_file() or (path / MANIFEST).is_file():
        return path
    no_manifest = said("folder '{path}' has no {manifest}", path=path, manifest=MANIFEST)
    problem = no_manifest if path.is_dir() else said("'{word}' is no subject", word=word)
    raise Problem(
        "{problem}; {word}built-in subjects: {names}; or give the path of a {manifest}, which counts "
        "from the experiment's file",
        problem=problem,
        word=nearest(word, names()),
        names=listed(names()),
        manifest=MANIFEST,
    )
