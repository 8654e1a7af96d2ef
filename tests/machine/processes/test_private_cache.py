"""What is built in the cache is run later: no one else may have put it there."""

import os
from pathlib import Path
from types import SimpleNamespace

import pytest

from loadstone.machine.processes import cache_folder as cache
from loadstone.machine.processes.cache_folder import cache_folder
from loadstone.safety.errors import UserError
from loadstone.servers.containers import container_engine

NOBODY = 65534
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a folder another user's")


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path


def planted(root: Path) -> Path:
    jar = root / "loadstone" / "subjects" / "app-0123" / "app.jar"
    jar.parent.mkdir(parents=True)
    jar.write_text("planted")
    return jar


def test_it_is_for_this_user_alone(root: Path) -> None:
    assert cache_folder() == root / "loadstone"
    assert (root / "loadstone").stat().st_mode & 0o777 == 0o700


def test_what_stands_in_a_private_one_is_kept(root: Path) -> None:
    cache_folder()
    jar = root / "loadstone" / "app.jar"
    jar.touch()
    cache_folder()
    assert jar.exists()


@pytest.mark.parametrize("mode", [0o770, 0o707, 0o777])
def test_what_others_could_have_planted_is_made_again(root: Path, mode: int) -> None:
    jar = planted(root)
    (root / "loadstone").chmod(mode)
    folder = cache_folder()
    assert not jar.exists()
    assert folder.stat().st_mode & 0o077 == 0


def test_another_users_is_refused(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    planted(root)
    for path in (root, *root.parents):
        if path.stat().st_uid == os.getuid():
            break
    monkeypatch.setattr(
        "loadstone.machine.processes.own_folder._trusted", lambda _: {path.stat().st_uid, 0, os.getuid()}
    )
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    with pytest.raises(UserError, match=r"belongs to another user, \d+, who could .* set XDG_CACHE_HOME"):
        cache_folder()


@pytest.mark.fault("another user plants the cache", "refused with the remedy", area="users")
@as_root
def test_one_that_no_one_made_is_refused_by_root(root: Path) -> None:
    jar = planted(root)
    os.chown(root / "loadstone", NOBODY, NOBODY)
    with pytest.raises(UserError, match="another user, 65534"):
        cache_folder()
    os.chown(root / "loadstone", 0, 0)
    os.chown(root, NOBODY, NOBODY)  # who could put another one in its place
    with pytest.raises(UserError, match="another user, 65534"):
        cache_folder()
    os.chown(root, 0, 0)
    assert cache_folder() / "subjects" / "app-0123" / "app.jar" == jar


def test_a_folder_in_which_everybody_may_replace_it_is_refused(root: Path) -> None:
    root.chmod(0o777)
    with pytest.raises(UserError, match="every user may replace what is in it"):
        cache_folder()


def test_a_link_to_another_disk_of_the_user_is_followed(root: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    disk = tmp_path_factory.mktemp("disk")
    (root / "loadstone").symlink_to(disk)
    assert cache_folder().resolve() == disk


def test_after_sudo_the_home_of_root_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    theirs, own = tmp_path / "theirs", tmp_path / "own"
    theirs.mkdir()
    own.mkdir()
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("HOME", str(theirs))
    assert cache_folder() == theirs / ".cache" / "loadstone"
    monkeypatch.setattr(cache.pwd, "getpwuid", lambda _: SimpleNamespace(pw_dir=str(own)))
    monkeypatch.setattr(Path, "stat", lambda *_, **__: SimpleNamespace(st_uid=os.geteuid() + 1, st_mode=0o700))
    assert cache._home() == own


def test_a_user_without_a_home_is_no_defect(monkeypatch: pytest.MonkeyPatch) -> None:
    def nobodys() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(Path, "home", nobodys)
    with pytest.raises(FileNotFoundError, match="your user has no home folder here"):
        cache_folder()
    for name in container_engine.ENGINE_VARIABLES:
        monkeypatch.delenv(name, raising=False)
    assert "/var/run/docker.sock" in container_engine.places()


def test_an_engine_of_another_user_is_not_spoken_to_unasked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in container_engine.ENGINE_VARIABLES:
        monkeypatch.delenv(name, raising=False)
    path = tmp_path / "docker.sock"
    path.touch()
    monkeypatch.setattr(container_engine, "places", lambda: [str(path)])
    monkeypatch.setattr(container_engine, "is_socket", lambda _: True)
    monkeypatch.setattr(os, "geteuid", lambda: path.stat().st_uid + 1)
    if path.stat().st_uid == 0:
        monkeypatch.setattr(Path, "stat", lambda _: SimpleNamespace(st_uid=NOBODY))
        monkeypatch.setattr(os, "geteuid", lambda: 0)
    with pytest.raises(UserError, match="it belongs to another user"):
        container_engine.find_engine()
