"""What draws on the page is put together once, and never taken from a file that is not whole."""

from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import pytest
import vl_convert

from loadstone.errors import UserError
from loadstone.report.html import vega

MADE = "draw('é');\r\n"


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """How often it was put together; what is kept in memory is forgotten before and after."""
    calls: list[str] = []

    def bundle(snippet: str) -> str:
        calls.append(snippet)
        return MADE

    monkeypatch.setattr(vl_convert, "javascript_bundle", bundle)
    monkeypatch.setattr(vega, "_folder", None)
    vega.script.cache_clear()
    yield calls
    vega.script.cache_clear()


def again() -> str:
    """As another process does it."""
    vega.script.cache_clear()
    return vega.script()


def test_it_is_put_together_once_for_all_runs(made: list[str], tmp_path: Path) -> None:
    vega.keep_in(lambda: tmp_path)
    assert again() == again() == MADE
    assert len(made) == 1
    (file,) = tmp_path.iterdir()
    assert metadata.version("vl-convert-python") in file.name, "another version draws in another way"


@pytest.mark.parametrize("content", [b"", b"draw('x');", b"\xff\n\xff"])
def test_a_file_that_is_not_whole_is_made_again(made: list[str], tmp_path: Path, content: bytes) -> None:
    vega.keep_in(lambda: tmp_path)
    again()
    (file,) = tmp_path.iterdir()
    for damaged in (content, file.read_bytes()[:-1]):
        file.write_bytes(damaged)
        assert again() == MADE
    assert len(made) == 3
    assert list(tmp_path.iterdir()) == [file]


def test_where_nothing_can_be_kept_it_is_put_together_each_time(made: list[str], tmp_path: Path) -> None:
    def refused() -> Path:
        raise UserError("cache folder: it is another user's")

    for folder in (None, refused, lambda: tmp_path / "absent"):
        vega._folder = folder
        assert again() == again() == MADE
    assert len(made) == 6
