"""How `loadstone clean` logs in to a server: by a URL that may hold references to secrets, as `run` takes it."""

from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from tests.real_servers import UserRedis

from loadstone.cli.clean_command import clean
from loadstone.run_folder.ledger import CreatedObject, place_of
from loadstone.run_folder.ledger_file import RunLedger
from loadstone.safety.errors import UserError
from loadstone.safety.secrets.known import redact
from loadstone.servers.redis.url import parse_url

PASSWORD = "Zr7-mq-pel-0413"


@pytest.fixture
def left(user_redis: Callable[..., UserRedis], tmp_path: Path) -> tuple[Path, UserRedis]:
    """A run's folder, and a server with a password that holds one key which the run left there."""
    theirs = user_redis("--requirepass", PASSWORD)
    with theirs.client(password=PASSWORD) as client:
        client.set("loadstone:run:000000000000", 1)
    folder = tmp_path / "runs" / "20261122T101112Z-shop"
    folder.mkdir(parents=True)
    with closing(RunLedger(folder)) as ledger:
        place = place_of("redis", parse_url(f"redis://:{PASSWORD}@127.0.0.1:{theirs.port}/0"))
        ledger.makes(place, [CreatedObject("numbered_keys", "loadstone:run:", 1)])
    return folder, theirs


def cleaned(folder: Path, url: str, **options: tuple[str, ...]) -> tuple[int, str]:
    lines: list[str] = []
    status = clean(str(folder), [f"redis={url}"], lines.append, **options)  # type: ignore[arg-type]
    return status, "\n".join(lines)


def test_a_variable_gives_the_password(left: tuple[Path, UserRedis], monkeypatch: pytest.MonkeyPatch) -> None:
    folder, theirs = left
    monkeypatch.setenv("SHOP_LOGIN", PASSWORD)
    status, said = cleaned(folder, f"redis://:${{env:SHOP_LOGIN}}@127.0.0.1:{theirs.port}/0")
    assert (status, "1 removed" in said) == (0, True), said


def test_a_file_gives_the_password(left: tuple[Path, UserRedis], tmp_path: Path) -> None:
    folder, theirs = left
    (tmp_path / "login.txt").write_text(f"{PASSWORD}\n")
    url = f"redis://:${{secret:SHOP}}@127.0.0.1:{theirs.port}/0"
    status, said = cleaned(folder, url, secret_files=(f"SHOP={tmp_path / 'login.txt'}",))
    assert (status, "1 removed" in said) == (0, True), said


def test_a_variable_that_is_missing_is_named(left: tuple[Path, UserRedis]) -> None:
    folder, theirs = left
    with pytest.raises(UserError, match=r"--server redis=.*the variable NO_SUCH_LOGIN does not exist"):
        cleaned(folder, f"redis://:${{env:NO_SUCH_LOGIN}}@127.0.0.1:{theirs.port}/0")


def test_a_password_that_is_written_out_is_hidden_from_then_on(left: tuple[Path, UserRedis]) -> None:
    folder, theirs = left
    cleaned(folder, f"redis://:{PASSWORD}@127.0.0.1:{theirs.port}/0")
    assert PASSWORD not in redact(f"the server said: {PASSWORD}")


def test_a_wrong_password_is_called_so(left: tuple[Path, UserRedis]) -> None:
    folder, theirs = left
    status, said = cleaned(folder, f"redis://:no-{PASSWORD}@127.0.0.1:{theirs.port}/0")
    assert status == 3
    assert "WRONGPASS" in said
    assert "no longer answers" not in said


def test_a_file_that_is_missing_is_one_line(left: tuple[Path, UserRedis]) -> None:
    folder, theirs = left
    with pytest.raises(UserError, match=r"--secret-file PW cannot be read \(No such file"):
        cleaned(folder, f"redis://:${{secret:PW}}@127.0.0.1:{theirs.port}/0", secret_files=("PW=no/such/file",))
