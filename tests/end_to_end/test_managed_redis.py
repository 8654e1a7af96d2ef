"""A managed Redis by `${env:NAME}`: its user and its password are in no file and no output, behind a line too."""

import contextlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote, urlsplit

import psutil
import pytest
import redis

from loadstone.servers.redis.local import LocalRedis
from tests.end_to_end.conftest import CALM, Command, Done, Lab

pytestmark = pytest.mark.timeout(600)
MEASURED = (0, 3)
"""The run went through: on a crowded machine trials may be invalid."""
ONLY = ("--only", "workers=1", "--only", "operation=set")
USER, PASSWORD = "tenant-Qz71x", "Vf8'k@/wL2#pX9"


@dataclass(frozen=True)
class Managed:
    """A Redis of the user's, and the URL that only the environment holds."""

    port: int
    admin: str

    def url(self, password: str = PASSWORD, port: int | None = None) -> str:
        return f"redis://{USER}:{quote(password, safe='')}@127.0.0.1:{port or self.port}/0"


@pytest.fixture
def managed(users_redis: tuple[LocalRedis, str]) -> Iterator[Managed]:
    _, url = users_redis
    with contextlib.closing(redis.Redis.from_url(url)) as client:
        client.acl_setuser(USER, enabled=True, passwords=[f"+{PASSWORD}"], keys=["*"], categories=["+@all"])
        yield Managed(urlsplit(url).port or 0, url)


def experiment(lab: Lab, link: str) -> Path:
    """The tiny experiment on that server, with the URL as a reference alone."""
    kind = 'kind: url, modules: [json], url: "${env:MANAGED_REDIS}"'
    return lab.experiment(
        at=f"redis: {{kind: embedded, modules: [json]}} => redis: {{{kind}, link: {link}}}", calm=CALM
    )


def forms(secret: str) -> set[bytes]:
    """As it is, in a URL, and in JSON."""
    return {form.encode() for form in (secret, quote(secret, safe=""), quote(secret), json.dumps(secret)[1:-1])}


SECRETS = forms(USER) | forms(PASSWORD)


def left(lab: Lab, done: Done) -> list[str]:
    """Where a secret stands in what a command leaves: its files, their names, its output."""
    data = {"stdout": done.out.encode(), "stderr": done.err.encode()}
    for root in ("runs", "tmp"):
        for file in (lab.folder / root).rglob("*"):
            data[f"name of {file.name}"] = str(file.relative_to(lab.folder)).encode()
            if file.is_file():
                data[str(file.relative_to(lab.folder))] = file.read_bytes()
    data["experiment"] = (lab.folder / "tiny.yaml").read_bytes()
    return [name for name, text in data.items() if any(secret in text for secret in SECRETS)]


def arguments(command: Command) -> bytes:
    """The command lines of all that a command started, and its own."""
    found: list[str] = []
    with contextlib.suppress(psutil.Error):
        own = psutil.Process(command.process.pid)
        for process in (own, *own.children(recursive=True)):
            with contextlib.suppress(psutil.Error):
                found += process.cmdline()
    return "\n".join(found).encode()


@pytest.mark.fault(
    "managed Redis with `${env:NAME}`", "neither user nor password is in a file, output or argument", area="secrets"
)
@pytest.mark.parametrize("link", ["none", "1 ms"])
def test_neither_user_nor_password_is_in_what_a_run_leaves(lab: Lab, managed: Managed, link: str) -> None:
    command = lab.begin("run", "--trust", experiment(lab, link), *ONLY, "--verbose", MANAGED_REDIS=managed.url())
    observed: set[bytes] = set()

    def ended() -> bool:
        observed.add(arguments(command))
        return command.process.poll() is not None

    lab.until(ended)
    done = command.wait()
    assert done.status in MEASURED, done.err
    assert all(trial["counts"]["ok"] > 0 for trial in lab.trials())
    assert left(lab, done) == []
    assert not [text for text in observed if any(secret in text for secret in SECRETS)]
    assert "${env:MANAGED_REDIS}" in (lab.run() / "experiment.yaml").read_text()
    line = {"redis"} if link != "none" else set()
    assert {name for trial in lab.trials() for name in trial["facts"]["links"]} == line
    reported = lab.loadstone("report", lab.run(), "--format", "md,json,csv,html")
    assert reported.status == 0, reported.err
    assert left(lab, reported) == []


@pytest.mark.fault("managed Redis with `${env:NAME}`")
@pytest.mark.parametrize("link", ["none", "1 ms"])
def test_nor_in_what_it_says_where_the_server_refuses(lab: Lab, managed: Managed, link: str) -> None:
    path = experiment(lab, link)
    for url in (managed.url("another-Kp4w"), managed.url(port=1)):
        done = lab.loadstone("run", "--trust", path, MANAGED_REDIS=url)
        assert done.status in (2, 3)
        assert done.error_line
        assert left(lab, done) == []
        assert "another-Kp4w" not in done.err
    with contextlib.closing(redis.Redis.from_url(managed.admin)) as client:
        client.acl_setuser(USER, enabled=True, commands=["-json.set"])
    done = lab.loadstone("run", "--trust", path, MANAGED_REDIS=managed.url())
    assert done.status in (2, 3)
    assert left(lab, done) == []


def test_a_name_and_a_password_in_variables_of_their_own(lab: Lab, managed: Managed) -> None:
    kind = f'kind: url, modules: [json], url: "redis://${{env:R_USER}}:${{env:R_PASSWORD}}@127.0.0.1:{managed.port}/0"'
    path = lab.experiment(at=f"redis: {{kind: embedded, modules: [json]}} => redis: {{{kind}, link: 0 ms}}", calm=CALM)
    done = lab.loadstone("run", "--trust", path, *ONLY, R_USER=USER, R_PASSWORD=PASSWORD)
    assert done.status in MEASURED, done.err
    assert left(lab, done) == []
