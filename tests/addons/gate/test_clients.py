"""`loadstone gate`: two versions of a client library, or two libraries."""

from collections.abc import Callable

import pytest
from tests.said import Said

from loadstone.addons.gate import clients
from loadstone.addons.gate.command import kind_of
from loadstone.addons.gate.spec import Gate
from loadstone.safety.errors import UserError

BOTH = ("--base", "jedis=7.1.0", "--head", "jedis=7.3.0")
BUILD = clients.build


@pytest.fixture(autouse=True)
def _nothing_is_built(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clients, "build", lambda _: None)


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("jedis", "jedis"),
        ("jedis=7.1.0", "jedis:version=7.1.0"),
        ("redis-py=8.1.0,mode=asyncio", "redis-py:version=8.1.0,mode=asyncio"),
        ("ioredis, pool=exclusive", "ioredis:pool=exclusive"),
    ],
)
def test_a_version_is_a_driver(text: str, word: str) -> None:
    assert clients.is_client(text)
    assert str(clients.client_of(text, "--base").word) == word
    assert kind_of(["--base", text]) == "redis"


def test_a_server_is_no_client() -> None:
    assert not any(map(clients.is_client, ("redis", "redis=7.0", "appendonly=yes", "redis://jedis:1")))


def test_both_load_one_server_in_whole_trials(said: Callable[..., Said]) -> None:
    found = said("gate", *BOTH, "--ratio", "1:1", "--twin")
    assert {trial.driver for trial in found.run_plan.trials} == {"jedis:version=7.1.0", "jedis:version=7.3.0"}
    assert {tuple(trial.servers) for trial in found.run_plan.trials} == {("redis",)}
    assert {group.whole_trials.kind for group in found.run_plan.groups if group.whole_trials} == {"whole_trials.driver"}
    assert [group.looks[0] for group in found.run_plan.groups] == [16, 16], "two pairs share the level"
    assert found.run_plan.budget_s == 300
    assert found.experiment.part(Gate).restarts
    assert found.experiment.part(Gate).starts_differ == 0, "each trial starts both programs"


def test_the_server_may_be_yours(said: Callable[..., Said]) -> None:
    found = said("gate", *BOTH, "--server", "redis://a:1", "--budget", "2m")
    assert found.experiment.servers == {"redis": {"kind": "url", "url": "redis://a:1"}}
    assert found.run_plan.budget_s == 120


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (("--base", "jedis", "--head", "jedis"), "--base, --head: both are 'jedis'; name two versions"),
        (("--base", "jedis", "--head", "redis"), "--base, --head: jedis is a client library, and redis is not; name"),
        (("--base", "jedis=", "--head", "jedis"), "--base jedis=: which version? Write for example jedis=1.2.3"),
        (("--base", "jedis", "--head", "redis-py,asyncio"), "--head: 'asyncio' is no option; write NAME=VALUE"),
        ((*BOTH, "--server", "http://x"), "--server http://x: no Redis; write redis"),
        (("--base", "redis", "--head", "valkey", "--server", "redis"), "--server: is for client libraries; leave it"),
    ],
)
def test_one_clear_line_says_what_is_wrong(said: Callable[..., Said], arguments: tuple[str, ...], line: str) -> None:
    with pytest.raises(UserError) as error:
        said("gate", *arguments)
    assert str(error.value).startswith(line)


@pytest.mark.parametrize(
    ("base", "line"),
    [
        ("jedis=latest", "--base jedis=latest: no version; write it in full, as "),
        ("redis-py=8.0.0,mode=fibers", "--base redis-py=8.0.0: mode: 'fibers' is not known; write one of: "),
        ("ioredis,pol=shared", "--base ioredis: 'pol' is no option; did you mean 'pool'? it has: "),
        ("go-redis=9.7.0", "--base go-redis=9.7.0: requires.go: it is not installed, or not on PATH; install go "),
    ],
)
def test_what_is_wrong_with_a_driver_is_said_of_its_option(
    said: Callable[..., Said], base: str, line: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    ad_hoc = said("gate", "--base", base, "--head", "jedis=7.3.0").ad_hoc
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(UserError) as error:
        BUILD(ad_hoc)
    assert str(error.value).startswith(line)
