"""Add-ons of other packages, as they are installed: a distribution with an entry point."""

from functools import cache
from pathlib import Path

import pytest

from loadstone import slot
from loadstone.text import sentences


def distribution(folder: Path, **places: str) -> Path:
    """A folder for `sys.path` with a distribution that brings these add-ons: name -> `module:attribute`."""
    info = folder / "others-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: others\nVersion: 1.0\n")
    lines = [f"{name} = {place}" for name, place in places.items()]
    (info / "entry_points.txt").write_text("\n".join(["[loadstone.addons]", *lines, ""]))
    return folder


def install(monkeypatch: pytest.MonkeyPatch, site: Path) -> None:
    """What is in `site` is installed in this process, until the test ends."""
    monkeypatch.syspath_prepend(site)
    monkeypatch.setattr(slot, "_add_ons", cache(slot._add_ons.__wrapped__))
    monkeypatch.setattr(sentences, "_of_add_ons", cache(sentences._of_add_ons.__wrapped__))
