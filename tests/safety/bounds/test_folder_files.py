"""Nothing outside of a folder is opened, whatever stands in it; and nothing is waited for."""

import os
import socket
import stat
import threading
from pathlib import Path

import pytest

from loadstone.safety.bounds import folder_files
from loadstone.safety.bounds.folder_files import NotOfFolder, is_file, make_folder, names, open_file, replace_file

APPEND = os.O_WRONLY | os.O_CREAT | os.O_APPEND


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "theirs" / "below").mkdir(parents=True)
    (tmp_path / "theirs" / "file").write_text("theirs")
    (tmp_path / "theirs" / "below" / "file").write_text("theirs")
    (tmp_path / "run" / "logs").mkdir(parents=True)
    (tmp_path / "run" / "logs" / "own").write_text("own")
    return tmp_path / "run"


def inside(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def opened(path: Path, flags: int, folder: Path | None = None) -> str:
    number = open_file(path, flags, folder)
    with os.fdopen(number, "rb" if flags == os.O_RDONLY else "ab") as file:
        return file.read().decode() if flags == os.O_RDONLY else str(file.write(b"added"))


def test_its_own_files_are_opened_also_by_a_link_to_the_folder(folder: Path) -> None:
    (folder.parent / "link").symlink_to("run")
    for start in (folder, folder.parent / "link"):
        assert opened(start / "logs" / "own", os.O_RDONLY, start) == "own"
        assert is_file(start / "logs" / "own", start)
        assert names(start / "logs", start) == ["own"]


@pytest.mark.parametrize("flags", [os.O_RDONLY, APPEND])
@pytest.mark.parametrize("target", ["../theirs/file", "../theirs/made", "/proc/self/environ", "link"])
def test_a_link_to_a_file_is_refused_with_what_helps(folder: Path, target: str, flags: int) -> None:
    (folder / "link").symlink_to(target)
    with pytest.raises(NotOfFolder, match=r"run/link: it is a link, .* put the file itself there"):
        opened(folder / "link", flags, folder)
    assert not is_file(folder / "link", folder)
    assert inside(folder.parent / "theirs") == ["below", "file"]


@pytest.mark.fault("links, hard links, pipes and devices in a run's folder")
@pytest.mark.parametrize("flags", [os.O_RDONLY, APPEND])
def test_a_link_on_the_way_is_refused(folder: Path, flags: int) -> None:
    (folder / "latency").symlink_to("../theirs")
    for path in (folder / "latency" / "file", folder / "latency" / "below" / "file"):
        with pytest.raises(NotOfFolder, match=r"run/latency: it is a link, .* put the folder itself there"):
            opened(path, flags, folder)
        with pytest.raises(NotOfFolder, match="it is a link"):
            replace_file(path, b"ours", folder)
        assert not is_file(path, folder)
        assert path.read_text() == "theirs"
    for refused in (lambda: make_folder(folder / "latency" / "new", folder), lambda: names(folder / "latency", folder)):
        with pytest.raises(NotOfFolder, match="it is a link"):
            refused()
    assert inside(folder.parent / "theirs") == ["below", "file"]


@pytest.mark.parametrize("path", ["../theirs/file", "logs/../../theirs/file", "."])
def test_a_name_that_leads_out_is_refused(folder: Path, path: str) -> None:
    with pytest.raises((NotOfFolder, IsADirectoryError)):
        opened(folder / path, os.O_RDONLY, folder)


@pytest.mark.parametrize("flags", [os.O_RDONLY, APPEND])
@pytest.mark.parametrize("kind", ["pipe", "socket"])
def test_what_is_no_file_is_refused_at_once(
    folder: Path, kind: str, flags: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    if kind == "pipe":
        os.mkfifo("odd")
    else:
        with socket.socket(socket.AF_UNIX) as server:
            server.bind("odd")
    said: list[str] = []

    def attempt() -> None:
        try:
            opened(folder / "odd", flags)
        except NotOfFolder as error:
            said.append(str(error))

    thread = threading.Thread(target=attempt, daemon=True)
    thread.start()
    thread.join(20)
    assert said
    assert said[0].endswith("odd: it is not a regular file; remove it")


def test_a_folder_where_a_file_was_expected(folder: Path) -> None:
    with pytest.raises(IsADirectoryError):
        opened(folder / "logs", os.O_RDONLY)
    with pytest.raises(IsADirectoryError):
        replace_file(folder / "logs", b"")
    assert inside(folder) == ["logs"]


@pytest.mark.fault("links, hard links, pipes and devices in a run's folder")
def test_a_file_with_a_second_name_is_not_written_to(folder: Path) -> None:
    os.link(folder.parent / "theirs" / "file", folder / "both")
    with pytest.raises(NotOfFolder, match=r"a second name elsewhere .* put a copy of it there"):
        opened(folder / "both", APPEND)
    assert opened(folder / "both", os.O_RDONLY) == "theirs"  # a copy of a folder may be of hard links
    replace_file(folder / "both", b"ours")
    assert (folder.parent / "theirs" / "file").read_text() == "theirs"


@pytest.mark.fault("links, hard links, pipes and devices in a run's folder")
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_a_second_name_of_anothers_file_is_not_read(folder: Path) -> None:
    os.link(folder.parent / "theirs" / "file", folder / "both")
    os.chown(folder, 4711, 4711)
    with pytest.raises(NotOfFolder, match="a second name"):
        opened(folder / "both", os.O_RDONLY)


def test_a_file_is_replaced_whole_for_its_owner_alone(folder: Path) -> None:
    (folder / "page").symlink_to("../theirs/file")
    replace_file(folder / "page", b"ours", folder)
    assert not (folder / "page").is_symlink()
    assert (folder / "page").read_text() == "ours"
    assert stat.S_IMODE((folder / "page").stat().st_mode) == 0o600
    assert (folder.parent / "theirs" / "file").read_text() == "theirs"
    assert inside(folder) == ["logs", "page"]


@pytest.mark.fault("links, hard links, pipes and devices in a run's folder")
def test_a_folder_that_becomes_a_link_meanwhile_leads_nowhere(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another one puts a link in the folder's place after it was opened, and before the file in it is."""
    step = folder_files._step

    def swapped(*given: object, **named: bool) -> int:
        number = step(*given, **named)  # type: ignore[arg-type]
        (folder / "logs").rename(folder / "before")
        (folder / "logs").symlink_to("../theirs")
        return number

    monkeypatch.setattr(folder_files, "_step", swapped)
    replace_file(folder / "logs" / "file", b"ours", folder)
    assert (folder.parent / "theirs" / "file").read_text() == "theirs"
    assert (folder / "before" / "file").read_text() == "ours"


def test_no_file_descriptor_stays_open(folder: Path) -> None:
    before = len(list(Path("/dev/fd").iterdir()))
    (folder / "latency").symlink_to("../theirs")
    for path in (folder / "latency" / "file", folder / "logs" / "own", folder / "none" / "x"):
        for use in (lambda p: os.close(open_file(p, folder=folder)), lambda p: is_file(p, folder)):
            try:
                use(path)
            except OSError:
                continue
    assert len(list(Path("/dev/fd").iterdir())) == before


def test_a_folder_in_the_place_of_a_file_is_named_with_what_helps(folder: Path) -> None:
    says = "logs: it is a folder, and a file is expected there; move it away"
    for attempt in (lambda: opened(folder / "logs", os.O_RDONLY), lambda: replace_file(folder / "logs", b"")):
        with pytest.raises(IsADirectoryError) as caught:
            attempt()
        assert str(caught.value).endswith(says)
    with pytest.raises(IsADirectoryError):
        opened(folder / "logs", APPEND)
