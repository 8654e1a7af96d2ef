"""A memcached of ours: guarded, on loopback, with its settings, and one line where it cannot be."""

import stat
from pathlib import Path

import psutil
import pytest
from pydantic import ValidationError

from loadstone.safety.errors import UserError
from loadstone.servers import registry
from loadstone.servers.memcached import local
from loadstone.servers.memcached.local import LocalMemcached, MemcachedSettings
from loadstone.servers.server import DeployContext


def refusal(settings: MemcachedSettings, context: DeployContext) -> str:
    server = settings.server("cache")
    with pytest.raises(UserError) as refused:
        server.start(context)
    assert not server.alive()
    assert "\n" not in str(refused.value)
    return str(refused.value)


def test_it_listens_on_loopback_alone_with_the_settings_of_the_experiment(memcached: LocalMemcached) -> None:
    assert memcached.facts.software == "memcached"
    assert memcached.facts.version.startswith("1.")
    assert memcached.facts.process_id == memcached.pids["cache"]
    assert memcached.settings_read_back["memory-limit"] == "32"
    assert memcached.settings_read_back["threads"] == "2"
    listening = [
        c.laddr for c in psutil.Process(memcached.pids["cache"]).net_connections("inet") if c.status == "LISTEN"
    ]
    assert {address.ip for address in listening} == {"127.0.0.1"}


def test_the_password_stands_in_no_command_line_and_is_for_our_eyes_only(memcached: LocalMemcached) -> None:
    password = memcached._endpoint.password
    assert password is not None
    process = psutil.Process(memcached.pids["cache"])
    assert password not in " ".join(process.cmdline())
    assert password not in " ".join(process.environ().values())
    assert memcached._process is not None
    assert stat.S_IMODE((memcached._process.workspace.path / "passwords").stat().st_mode) == 0o600


def test_without_a_program_the_error_says_how_to_get_it(
    context: DeployContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "binary '/no/such/memcached' is not an executable file" in refusal(
        MemcachedSettings(binary="/no/such/memcached"), context
    )
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setattr(local, "OTHER_PLACES", ())
    text = refusal(MemcachedSettings(), context)
    assert "no memcached on PATH" in text
    assert "apt-get install memcached" in text
    assert local.installed().verdict == "warn"


def test_a_program_that_is_too_old_is_refused(context: DeployContext, tmp_path: Path) -> None:
    old = tmp_path / "memcached"
    old.write_text("#!/bin/sh\necho memcached 1.5.22\n")
    old.chmod(0o755)
    text = refusal(MemcachedSettings(binary=str(old)), context)
    assert "is version 1.5.22" in text
    assert "install 1.6.12 or newer" in text


@pytest.mark.parametrize(
    ("settings", "part"),
    [
        ({"port": 1}, "'port' is no setting of memcached that is handed on"),
        ({"threads": "four"}, "'threads: four' must be a whole number"),
        ({"memory-limit": "1 GB"}, "must be a whole number of MiB"),
        ({"max-item-size": "1; rm"}, "must be a size as 2m or 512k"),
        ({"disable-evictions": 2}, "must be yes or no"),
        ({"slab-growth-factor": "big"}, "must be a number as 1.25"),
    ],
)
def test_a_setting_that_cannot_be_handed_on_is_refused(settings: dict[str, object], part: str) -> None:
    with pytest.raises(ValidationError, match="settings") as refused:
        MemcachedSettings.model_validate({"settings": settings})
    assert part in str(refused.value)


def test_a_setting_that_memcached_refuses_is_shown_with_what_it_said(memcached: LocalMemcached) -> None:
    context = memcached._context
    text = refusal(MemcachedSettings(settings={"threads": 0}), context)
    assert "threads must be greater than 0" in text.lower()
    assert "max-item-size" not in text
    too_small = refusal(MemcachedSettings(settings={"max-item-size": "2m", "memory-limit": 1}), context)
    assert "it ended while it started" in too_small


def test_every_setting_is_read_back_as_it_was_requested(memcached: LocalMemcached) -> None:
    requested = {"memory-limit": 64, "threads": 3, "conn-limit": 512, "max-item-size": "2m", "disable-evictions": True}
    server = MemcachedSettings(settings=requested).server("other")
    remarks: list[str] = []
    try:
        server.start(DeployContext(work_root=memcached._context.work_root, progress=remarks.append))
        assert server.settings_read_back["disable-evictions"] == "yes"
        assert not [line for line in remarks if " as requested" in line]
        with server.control() as control:
            assert control.evicting_policy() == ""
            assert list(control.settings(["Max_Item_Size", "none"])) == ["Max_Item_Size"]
    finally:
        server.stop()
    with memcached.control() as control:
        assert control.evicting_policy() == "LRU"


def test_modules_are_refused() -> None:
    for settings in ({"kind": "memcached"}, {"kind": "memcached-url", "url": "memcached://127.0.0.1"}):
        with pytest.raises(UserError, match=r"^servers\.cache\.modules: "):
            registry.make_server("cache", settings | {"modules": ["json"]})
