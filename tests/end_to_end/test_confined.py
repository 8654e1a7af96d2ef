"""A server of the user's gets commands on loadstone's own keys alone, however an experiment requests others."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import redis

from loadstone.servers.redis.local import LocalRedis

from .conftest import Lab, redis_in

SET = '"JSON.SET {key} $ {document}", expect: ok'
READ_BACK = 'read_back: {args: "JSON.GET {key}"'


@pytest.fixture(scope="module")
def one_redis(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of a server of the user's, which no test changes."""
    with redis_in(tmp_path_factory.mktemp("theirs"), "users", "json") as (_, url):
        yield url


@pytest.fixture
def theirs(one_redis: str) -> Iterator[tuple[redis.Redis, str]]:
    """A server of the user's that holds a key of theirs; it must be as it was afterwards."""
    url = one_redis
    client = redis.Redis.from_url(url, decode_responses=True)
    client.set("other", "theirs")
    client.config_resetstat()
    client.info()  # by which it is looked at what was sent
    settings = client.config_get("*")
    yield client, url
    assert client.keys("*") == ["other"]
    assert client.get("other") == "theirs"
    assert client.config_get("*") == settings
    client.close()


def sent(client: redis.Redis) -> set[str]:
    """The commands that the server ran so far, in small letters; `config|set` as such."""
    return {name.removeprefix("cmdstat_") for name in client.info("commandstats")}


@pytest.mark.fault(
    "`FLUSHALL`, `CONFIG SET`, `EVAL` or a foreign key in a workload or `--set`", "refused, status 2", area="commands"
)
@pytest.mark.parametrize(
    ("change", "operation", "why"),
    [
        (f"{SET} => FLUSHALL", "set", "'FLUSHALL' is not sent to redis (127.0.0.1:"),
        (f'{SET} => "CONFIG SET appendonly yes"', "set", "it acts on the whole server"),
        (f'{SET} => "JSON.SET other $ 1"', "set", "its key 'other' is not loadstone's"),
        (f"{SET} => \"EVAL 'return 1' 1 {{key}}\"", "set", "a script may reach any key"),
        (
            f'{READ_BACK}, expect => read_back: {{args: "GETDEL other", expect',
            "set",
            "its key 'other' is not loadstone's",
        ),
    ],
)
def test_a_command_that_is_not_on_our_keys_is_refused(
    lab: Lab, theirs: tuple[redis.Redis, str], change: str, operation: str, why: str
) -> None:
    client, url = theirs
    before = sent(client)
    done = lab.loadstone("run", lab.experiment(change=change), "--server", f"redis={url}")
    assert done.status == 2, done.err
    assert f"operation '{operation}': " in done.error_line
    assert why in done.error_line
    assert "--allow-any-command" in done.error_line
    assert sent(client) == before, "nothing was sent"
    assert lab.runs() == []


def test_show_refuses_it_too(lab: Lab, theirs: tuple[redis.Redis, str]) -> None:
    _, url = theirs
    path = lab.experiment(change=f"{SET} => FLUSHALL")
    done = lab.loadstone("show", path, "--server", f"redis={url}")
    assert (done.status, done.out) == (2, "")
    assert "'FLUSHALL' is not sent" in done.error_line
    done = lab.loadstone("show", path, "--server", f"redis={url}", "--allow-any-command")
    assert done.status == 0
    assert "--allow-any-command: operation 'set' sends 'FLUSHALL' to redis" in done.out


@pytest.mark.fault("`FLUSHALL`, `CONFIG SET`, `EVAL` or a foreign key in a workload or `--set`")
@pytest.mark.parametrize("value", ["FLUSHALL", "SET other x"])
def test_what_set_changes_passes_the_same_gate(lab: Lab, theirs: tuple[redis.Redis, str], value: str) -> None:
    _, url = theirs
    change = f"workload.operations.0.commands.0.args={value}"
    done = lab.loadstone("run", lab.experiment(), "--server", f"redis={url}", "--set", change)
    assert done.status == 2
    assert f"'{value}' is not sent to redis" in done.error_line


def test_the_prefix_of_keys_cannot_be_set(lab: Lab, theirs: tuple[redis.Redis, str]) -> None:
    _, url = theirs
    done = lab.loadstone("run", lab.experiment(), "--server", f"redis={url}", "--set", "workload.keys.prefix=other")
    assert done.status == 2
    assert "is set by loadstone, which touches only keys of its own" in done.error_line


def test_what_only_the_server_knows_is_refused_before_anything_is_sent(
    lab: Lab, theirs: tuple[redis.Redis, str]
) -> None:
    client, url = theirs
    done = lab.loadstone("run", lab.experiment(change=f'{SET} => "MY.WIPE {{key}}"'), "--server", f"redis={url}")
    assert done.status == 2
    assert "operation 'set': 'MY.WIPE {key}' is not sent to redis" in done.error_line
    assert "the server does not know it" in done.error_line
    assert "my.wipe" not in sent(client)
    assert lab.runs() == []


@pytest.mark.fault("a workload makes keys other than `{key}`", "they are removed at the end", area="commands")
def test_keys_beside_the_plans_are_removed_at_the_end(lab: Lab, theirs: tuple[redis.Redis, str]) -> None:
    client, url = theirs
    commands = f'{SET} => "SADD loadstone:tags {{value}}"}}, {{args: "SET {{key}}:other x"'
    path = lab.experiment(change=commands, other="      writes: document\n => ",
                          back='      read_back: {args: "JSON.GET {key}", expect: document}\n => ')  # fmt: skip
    options = ("--only", "operation=set", "--only", "workers=1", "--server", f"redis={url}")
    done = lab.loadstone("run", path, *options)
    assert done.status in (0, 3), done.err
    assert "sadd" in sent(client)


@pytest.mark.fault("a run's folder contains `--allow-any-command`", "`--resume` ignores it", area="commands")
def test_whoever_means_it_may_and_says_so_each_time(lab: Lab, users_redis: tuple[LocalRedis, str]) -> None:
    _, url = users_redis
    with redis.Redis.from_url(url, decode_responses=True) as client:
        client.set("other", "theirs")
        options = ("--only", "operation=set", "--only", "workers=1", "--server", f"redis={url}")
        done = lab.loadstone("run", loose(lab, "APPEND other x"), *options, "--allow-any-command")
        assert done.status in (0, 3), done.err
        assert "--allow-any-command: operation 'set' sends 'APPEND other x' to redis" in done.err
        stored = client.get("other")
        assert str(stored).startswith("theirsx")

        resumed = ("run", "--resume", lab.run(), "--server", f"redis={url}")
        done = lab.loadstone(*resumed)  # the folder may be another's: it allows nothing
        assert done.status == 2, done.err
        assert "operation 'set': 'APPEND other x' is not sent to redis" in done.error_line
        assert client.get("other") == stored
        assert lab.loadstone(*resumed, "--allow-any-command").status in (0, 3)


def loose(lab: Lab, command: str) -> Path:
    """The experiment with a command that is on no key of ours."""
    return lab.experiment(
        change=f'{SET} => "{command}"',
        other="      writes: document\n => ",
        back='      read_back: {args: "JSON.GET {key}", expect: document}\n => ',
    )


def test_our_own_server_takes_what_an_experiment_sends(lab: Lab) -> None:
    done = lab.loadstone("run", loose(lab, "SET any x"), "--only", "operation=set", "--only", "workers=1")
    assert done.status in (0, 3), done.err
    assert "--allow-any-command" not in done.err
