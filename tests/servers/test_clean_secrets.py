"""`loadstone clean` takes a secret as `run` does, and says none."""

from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from tests.real_servers import UserRedis

from loadstone.cli.clean_command import clean
from loadstone.run_folder.ledger import CreatedObject, ServerIdentity
from loadstone.run_folder.ledger_file import RunLedger
from loadstone.safety.errors import UserError
from loadstone.safety.secrets.known import redact

PASSWORD = "Hunter2/with@odd:signs"


@pytest.fixture
def theirs(user_redis: Callable[..., UserRedis]) -> UserRedis:
    return user_redis("--requirepass", PASSWORD)


@pytest.fixture
def folder(theirs: UserRedis, tmp_path: Path) -> Path:
    """A run's folder that names a key on a server that requires a password."""
    folder = tmp_path / "20261122T101112Z-shop"
    folder.mkdir()
    place = ServerIdentity("redis", f"redis://127.0.0.1:{theirs.port}/0", login=True)
    with closing(RunLedger(folder)) as ledger, theirs.client(password=PASSWORD) as client:
        ledger.makes(place, [CreatedObject("key", "loadstone:x")])
        client.set("loadstone:x", "1")
    return folder


@pytest.mark.parametrize("reference", ["${env:CLEAN_IT}", "${secret:CLEAN_IT}"])
def test_a_secret_is_given_as_a_reference(
    reference: str, theirs: UserRedis, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url, lines, files = f"redis=redis://:{reference}@127.0.0.1:{theirs.port}", list[str](), list[str]()
    if "env" in reference:
        monkeypatch.setenv("CLEAN_IT", PASSWORD)
    else:
        (folder / "secret").write_text(f"{PASSWORD}\n")
        files.append(f"CLEAN_IT={folder / 'secret'}")
    assert clean(str(folder), [url], lines.append, secret_files=files) == 0, lines
    with theirs.client(password=PASSWORD) as client:
        assert not client.exists("loadstone:x")
    assert PASSWORD not in "".join(lines)
    assert redact(f"login {PASSWORD}") == f"login {reference}"


def test_a_reference_that_leads_nowhere_is_one_clear_line(folder: Path) -> None:
    with pytest.raises(UserError, match=r"--server redis=\.\.\.: '\$\{env:NOT_THERE\}': the variable NOT_THERE"):
        clean(str(folder), ["redis=redis://:${env:NOT_THERE}@127.0.0.1"], print)


def test_a_password_that_is_given_as_it_is_counts_as_one(theirs: UserRedis, folder: Path) -> None:
    url = f"redis=redis://:Hunter2wrong@127.0.0.1:{theirs.port}"
    assert clean(str(folder), [url], lambda _: None) == 3
    assert redact("echo of Hunter2wrong") == "echo of ***"
