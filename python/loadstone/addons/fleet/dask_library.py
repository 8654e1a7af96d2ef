"""Dask distributed, as a fleet uses it; the only file that knows of Dask.

Dask gives membership, TLS, and the ways between command, scheduler and members. Of it nothing else is used: no task
graphs, so that nothing is retried, stolen or moved. A call is one message to one address (Dask's `run`), and what
members say comes by its events. What would take the generator's CPU is off: profiler, stealing, memory manager,
dashboards, all of its web servers.

Whoever has a certificate of the fleet may run code on each member: Dask unpickles what it gets.
"""

import contextlib
import logging
import ssl
from collections.abc import Iterator
from pathlib import Path

from loadstone.addons.fleet.certificates import Credential
from loadstone.machine.extras import how_to_add
from loadstone.safety.errors import UserError
from loadstone.text.message import AnyText, text_of

try:
    import dask.config
    from distributed import Client, Scheduler, Worker
    from distributed.security import Security
except ImportError as error:
    raise UserError(
        "--fleet: Dask is not installed ({error}); type {how}",
        error=error,
        how=how_to_add("fleet"),
    ) from None

__all__ = ["CONNECT_S", "KEY", "Client", "FleetScheduler", "FleetWorker", "bracketed", "reason", "security", "set_up"]
CONNECT_S = 10.0
"""How long the scheduler may take to answer."""
KEY = "loadstone"
"""Under which a member's identity stands in Dask's information about it, and before our topics."""

_SETTINGS: dict[str, object] = {
    "distributed.worker.profile.enabled": False,
    "distributed.worker.memory.target": False,
    "distributed.worker.memory.spill": False,
    "distributed.worker.memory.pause": False,
    "distributed.worker.memory.terminate": False,
    "distributed.worker.http.routes": [],
    "distributed.worker.preload": [],
    "distributed.scheduler.http.routes": [],
    "distributed.scheduler.preload": [],
    "distributed.scheduler.work-stealing": False,
    "distributed.scheduler.active-memory-manager.start": False,
    "distributed.scheduler.allowed-failures": 0,
    "distributed.scheduler.blocked-handlers": ["run_function", "feed", "dump_cluster_state_to_url", "upload_file"],
    "distributed.client.preload": [],
    "distributed.client.security-loader": None,
    "distributed.admin.system-monitor.gil.enabled": False,
    "distributed.admin.system-monitor.disk": False,
    "distributed.admin.system-monitor.interval": "10s",
    "distributed.admin.system-monitor.log-length": 10,
    "distributed.admin.tick.interval": "1s",
    "distributed.admin.tick.limit": "1h",
    "distributed.admin.low-level-log-length": 20,  # it keeps so many of what members say, too
    "distributed.admin.log-length": 100,
    "distributed.diagnostics.nvml": False,
    "distributed.comm.retry.count": 0,
    "distributed.comm.timeouts.connect": "10s",
    "distributed.comm.timeouts.tcp": "12s",
}
"""Settings of Dask, which override what a user's files of settings and variables for it say."""


class _Mute:
    """A part of Dask without its web server, which would listen on a port of its own."""

    def start_http_server(self, *_: object, **__: object) -> None:
        """Nothing is served."""


class FleetScheduler(_Mute, Scheduler):
    """The scheduler, speaking to those with a certificate alone."""


class FleetWorker(_Mute, Worker):
    """A member's worker."""


def bracketed(host: str | None) -> str | None:
    """As Dask takes it: an address of IPv6 in brackets."""
    return f"[{host}]" if host is not None and ":" in host else host


def security(credential: Credential, role: str) -> Security:
    return Security(
        require_encryption=True,
        tls_ca_file=credential.authority,
        tls_min_version=ssl.TLSVersion.TLSv1_3,
        **{f"tls_{role}_cert": credential.own},
    )


@contextlib.contextmanager
def set_up(folder: Path | None = None) -> Iterator[None]:
    """Dask as it is to be in this process: its settings, and silent, since what it logs is no remark of ours.

    `folder`: for its files; None: it is given one elsewhere, or needs none.
    """
    for name in ("distributed", "tornado", *logging.root.manager.loggerDict):
        if name.split(".")[0] in ("distributed", "tornado"):
            logging.getLogger(name).disabled = True
    with dask.config.set(_SETTINGS | ({} if folder is None else {"temporary-directory": str(folder)})):
        yield


def reason(error: BaseException) -> AnyText:
    """The innermost error's words, on one line."""
    while (cause := error.__cause__ or error.__context__) is not None:
        error = cause
    text = text_of(error)
    return " ".join((text or type(error).__name__).split())[:300] if isinstance(text, str) else text
