"""What a registry's client leaves is checked by its hash before it is used; the client is a script here."""

import hashlib
import os
import platform
import zipfile
from pathlib import Path

import pytest

from loadstone.machine import fetched_programs
from loadstone.machine.fetched_programs import NODE, MavenArchive
from loadstone.safety.errors import UserError
from loadstone.servers.mariadb.local import FETCHED, find

HERE = frozenset({(platform.system(), platform.machine())})
CLIENT = """#!/bin/sh
echo called >>"{log}"
for word; do case $word in -Dmaven.repo.local=*) place=${{word#*=}} ;; esac; done
mkdir -p "$place/g/tool/1.0" && cp "{archive}" "$place/g/tool/1.0/tool-1.0.jar"
"""


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    path = tmp_path / "tool.jar"
    with zipfile.ZipFile(path, "w") as packed:
        packed.writestr("inside/bin/tool", "#!/bin/sh\necho tool\n")
        packed.writestr("inside/share/text", "text")
        packed.writestr("META-INF/other", "not unpacked")
    return path


@pytest.fixture
def calls(archive: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A client on PATH that brings the archive, and notes that it was called; a cache folder of its own."""
    log, bins = tmp_path / "calls", tmp_path / "bin"
    bins.mkdir()
    (bins / "mvn").write_text(CLIENT.format(log=log, archive=archive))
    (bins / "mvn").chmod(0o755)
    monkeypatch.setenv("PATH", f"{bins}{os.pathsep}/usr/bin{os.pathsep}/bin")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return log


def program(archive: Path, sha256: str = "") -> MavenArchive:
    pinned = sha256 or hashlib.sha256(archive.read_bytes()).hexdigest()
    return MavenArchive("Tool", "1.0", 1, HERE, ("bin",), "g:tool:1.0", pinned, "inside/")


def test_what_was_pinned_is_unpacked_once_and_found(archive: Path, calls: Path) -> None:
    tool, told = program(archive), []
    assert tool.find("tool") is None
    place = tool.fetch(told.append)
    assert tool.fetch(told.append) == place
    assert calls.read_text() == "called\n"
    assert told == ["fetching Tool 1.0, 1 MB, by mvn"]
    assert tool.find("tool") == place / "bin" / "tool"
    assert (place / "share" / "text").read_text() == "text"
    assert not (place / "META-INF").exists()
    assert [path.name for path in place.parent.iterdir() if path.is_dir()] == ["Tool-1.0"]


def test_what_is_not_what_was_pinned_is_not_used(archive: Path, calls: Path) -> None:
    tool = program(archive, "0" * 64)
    with pytest.raises(UserError, match=r"^Tool: what g:tool:1\.0 is here has the SHA-256 [0-9a-f]{64}, and not 0{64}"):
        tool.fetch(lambda _: None)
    assert calls.exists()
    assert tool.folder() is None
    assert tool.find("tool") is None


def test_a_client_that_fails_is_quoted(archive: Path, calls: Path) -> None:
    (calls.parent / "bin" / "mvn").write_text("#!/bin/sh\necho '[ERROR] no route to it'\necho more\nexit 1\n")
    with pytest.raises(UserError, match=r"^Tool: mvn did not fetch it \(\[ERROR\] no route to it\); check"):
        program(archive).fetch(lambda _: None)


def test_a_half_fetched_one_is_none(archive: Path, calls: Path) -> None:
    tool = program(archive)
    (tool.fetch(lambda _: None) / fetched_programs.MARK).unlink()
    assert tool.find("tool") is None
    tool.fetch(lambda _: None)
    assert tool.find("tool") is not None
    assert calls.read_text() == "called\n" * 2


def test_without_its_client_or_for_another_system_it_cannot_be_fetched(
    archive: Path, calls: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert calls.parent.is_dir()
    assert program(archive).can_be_fetched()
    assert not MavenArchive("Tool", "1.0", 1, frozenset(), ("bin",), "g:tool:1.0", "", "").can_be_fetched()
    monkeypatch.setenv("PATH", "/nowhere")
    assert not program(archive).can_be_fetched()


def test_a_fetched_mariadb_is_found_where_the_machine_has_none(calls: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("loadstone.servers.mariadb.local.OTHER_PLACES", ())
    monkeypatch.setenv("PATH", str(calls.parent / "bin"))
    assert find("mariadbd") is None
    place = calls.parent / "cache" / "loadstone" / "programs" / f"MariaDB-{FETCHED.version}"
    for inside, name in (("bin", "mariadbd"), ("scripts", "mariadb-install-db")):
        (place / inside).mkdir(parents=True)
        (place / inside / name).touch(mode=0o755)
    assert find("mariadbd") is None
    (place / fetched_programs.MARK).touch()
    assert find("mariadbd") == place / "bin" / "mariadbd"
    assert find("mariadb-install-db") == place / "scripts" / "mariadb-install-db"
    assert find("mariadbd", calls.parent) is None


def test_a_fetched_node_comes_before_the_machines(calls: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = os.environ["PATH"]
    fetched_programs.put_on_path()
    assert os.environ["PATH"] == before
    place = calls.parent / "cache" / "loadstone" / "programs" / f"Node-{NODE.version}"
    (place / NODE.bins[0]).mkdir(parents=True)
    (place / fetched_programs.MARK).touch()
    monkeypatch.setenv("PATH", before)
    fetched_programs.put_on_path()
    fetched_programs.put_on_path()
    assert os.environ["PATH"] == f"{place / NODE.bins[0]}{os.pathsep}{before}"
