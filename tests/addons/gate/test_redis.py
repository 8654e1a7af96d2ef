"""`loadstone gate`: two Redis by version, program, image, settings or URL."""

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.said import Said

from loadstone.addons.gate import redis
from loadstone.addons.gate.command import kind_of
from loadstone.addons.gate.rule import starts_differ_in
from loadstone.addons.gate.spec import Gate
from loadstone.safety.errors import UserError
from loadstone.safety.secrets.known import redact


@pytest.mark.parametrize(
    ("text", "settings"),
    [
        ("redis", {"kind": "embedded"}),
        ("valkey,maxmemory=1gb", {"kind": "valkey", "settings": {"maxmemory": "1gb"}}),
        ("io-threads=2,appendonly=yes", {"kind": "embedded", "settings": {"io-threads": "2", "appendonly": "yes"}}),
        ("redis:7.2", {"kind": "container", "image": "redis:7.2"}),
        ("redis=1.0", {"kind": "container", "image": "redis:1.0"}),
        ("sh", {"kind": "process", "binary": "sh"}),
        ("redis://a:1", {"kind": "url", "url": "redis://a:1"}),
    ],
)
def test_a_version_is_a_server(text: str, settings: dict[str, object]) -> None:
    assert redis.server_of(text, "--base").settings == settings


def test_a_version_is_the_installed_one_where_that_is_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "redis-server"
    program.write_text("#!/bin/sh\necho 'Redis server v=6.55.3 sha=0'")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    assert redis.server_of("redis=6.55", "--base").settings == {"kind": "process", "binary": str(program)}
    assert redis.server_of("redis=6.5", "--base").settings["kind"] == "container"


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (("--base", "redis", "--head", "redis"), "--base, --head: both are 'redis'; name two versions"),
        (("--base", "redis"), "--base, --head: which two? Write for example --base redis=7.0 --head redis=8.2"),
        (("--base", "redis", "--head", "valkey,x"), "--head: 'x' is no setting; write NAME=VALUE"),
        (("--base", "redis", "--head", "/no/such"), "--head /no/such: no Redis"),
        (("--base", "redis", "--head", "valkey", "-t", "get,set"), "-t get, set: a gate compares one kind of request"),
    ],
)
def test_one_clear_line_says_what_is_wrong(said: Callable[..., Said], arguments: tuple[str, ...], line: str) -> None:
    with pytest.raises(UserError) as error:
        said("gate", *arguments)
    assert str(error.value).startswith(line)


def test_both_are_started_again_for_each_block(said: Callable[..., Said]) -> None:
    found = said("gate", "--base", "redis", "--head", "maxmemory=1gb")
    assert {group.unit for group in found.run_plan.groups} == {"block"}
    assert found.experiment.part(Gate).restarts
    assert {starts_differ_in(found.experiment.part(Gate), group) for group in found.run_plan.groups} == {0}, (
        "it is measured"
    )
    disk = said("gate", "--base", "appendonly=yes,appendfsync=everysec", "--head", "appendonly=yes,appendfsync=always")
    assert {starts_differ_in(disk.experiment.part(Gate), group) for group in disk.run_plan.groups} == {0.02}, (
        "whole trials"
    )
    running = said("gate", "--base", "redis://a:1", "--head", "redis://a:2")
    assert not running.experiment.part(Gate).restarts
    assert running.experiment.part(Gate).starts_differ == 0.02
    with pytest.raises(UserError, match=r"^--starts-differ: both start again for each block"):
        said("gate", "--base", "redis", "--head", "maxmemory=1gb", "--starts-differ", "1 %")


def test_requests_may_be_a_file_of_commands_or_a_recording(said: Callable[..., Said], tmp_path: Path) -> None:
    both = ("gate", "--base", "redis", "--head", "maxmemory=1gb")
    mix, log = tmp_path / "mix.txt", tmp_path / "monitor.log"
    mix.write_text("3 GET {key}\n1 SET {key} {value}\n")
    log.write_text("".join(f'{1700000000 + at}.000000 [0 1.1.1.1:{at}] "SET" "a{at}" "1"\n' for at in range(5)))
    assert {one[0] for one in said(*both, "--commands", str(mix)).sent().values()} == {3.0, 1.0}
    own = said(*both, "--replay", str(log))
    assert [one.metric for one in own.experiment.comparisons] == ["response_ns.p99"]
    assert {group.whole_trials.kind for group in own.run_plan.groups if group.whole_trials} == {
        "whole_trials.recording"
    }
    fastest = said(*both, "--replay", str(log), "--speed", "max")
    assert [one.metric for one in fastest.experiment.comparisons] == ["goodput_per_s"]
    assert own.run_plan.budget_s == 300


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        (["--base", "redis=7.0", "--head", "x"], "redis"),
        (["--head", "x", "--base=valkey"], "redis"),
        (["--base", "rediss://a"], "redis"),
        (["--base", "appendonly=yes,appendfsync=everysec", "--head", "appendonly=yes,appendfsync=always"], "redis"),
        (["--base", "io-threads=1", "--head", "io-threads=2"], "redis"),
        (["--base", "redis=2", "--head", "HEAD", "--start", "./serve {port}"], "http"),
        (["--base", "NAME=value ./serve {port}"], "http"),
        (["--base", "./redis-app {port}"], "http"),
        (["--base-url", "http://redis:1"], "http"),
        (["--base", "redis-cli --port {port}"], "http"),
    ],
)
def test_what_two_versions_are_of_they_say_themselves(words: list[str], kind: str) -> None:
    assert kind_of(words) == kind


def test_no_error_shows_the_password_of_a_url_that_is_there_twice() -> None:
    url = 'redis://u:pa"ss wo@h:1'
    with pytest.raises(UserError) as error:
        redis.base_and_head(url, url)
    assert redact(str(error.value)) == "--base, --head: both are 'redis://u:***@h:1'; name two versions"
