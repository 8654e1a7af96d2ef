"""A subject given by URL: it is the user's, and never started or stopped."""

import http.client
import ssl
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from urllib.parse import unquote, urlsplit

from loadstone.experiment.plan.endpoints import Endpoint, Tls
from loadstone.machine.limits_in_force import LimitInForce, LimitName
from loadstone.machine.listening_process import listening_here
from loadstone.machine.processes.resource_limits import Throttling
from loadstone.machine.start_context import silent
from loadstone.programs.subjects.replica import Worker
from loadstone.safety.bounds.deadlines import ReplyTooLarge
from loadstone.safety.bounds.http_exchange import NotHttp, exchange
from loadstone.safety.errors import ServerGone, UserError
from loadstone.safety.secrets.in_texts import hide_url
from loadstone.servers.server import DeployContext
from loadstone.servers.transport import error_text, remark_on_exposure, tls_context
from loadstone.servers.urls import host_of, port_of, register_password
from loadstone.servers.users_server import answering_again, listening_pid
from loadstone.text.language import _
from loadstone.text.message import AnyText, said

ASK_S = 5.0
RETURN_S, POLL_S = 30.0, 0.5
"""How long one that is gone may take to come back, and how often it is queried."""


class _Slow(UserError):
    """It does not answer in time. One that is overloaded does not, either."""


def parse_subject_url(url: str) -> Endpoint:
    """`http://host:port/base` or https:// as an endpoint.

    Raises:
        UserError: it is no such URL; the message never holds the password.
    """
    shown = hide_url(url)
    try:
        parts = urlsplit(url)
        host, port = host_of(parts), port_of(parts)
    except ValueError as error:
        raise UserError("subject '{shown}': {error}; write http://HOST:PORT", shown=shown, error=error) from None
    if parts.scheme not in ("http", "https") or not host or parts.query or parts.fragment:
        raise UserError("subject '{shown}': write http://HOST:PORT or https://HOST:PORT", shown=shown)
    secure = parts.scheme == "https"
    try:
        return Endpoint(
            host=host,
            port=port or (443 if secure else 80),
            tls=Tls(server_name=host) if secure else None,
            username=unquote(parts.username) if parts.username else None,
            password=register_password(unquote(parts.password)) if parts.password else None,
            base_path=parts.path.rstrip("/"),
        )
    except ValueError:
        raise UserError(
            "subject '{shown}': the path may not hold such characters; write http://HOST:PORT/PATH", shown=shown
        ) from None


class UrlSubject:
    """One or more replicas that the user runs; see `subject.Subject`."""

    ours = False
    warm_up_s = 0.0

    def __init__(self, name: str, urls: Sequence[str]) -> None:
        self.name = name
        self.pids: Mapping[str, int] = {}
        self.metrics: Mapping[str, str] = {}
        self.runtime = ""
        self.workers: Mapping[str, tuple[Worker, ...]] = {}
        self.limits: Mapping[LimitName, LimitInForce] = {}
        self.details: Mapping[str, str] = {"url": ", ".join(hide_url(url) for url in urls)}
        self._context = DeployContext()
        self._endpoints = tuple(parse_subject_url(url) for url in urls)

    def start(self, context: DeployContext) -> tuple[Endpoint, ...]:
        """Ask each whether it answers HTTP, whatever its status; see `subject.Subject.start`."""
        self._context = context
        return self._reach(context)

    def _reach(self, context: DeployContext) -> tuple[Endpoint, ...]:
        for endpoint in self._endpoints:
            context.raise_if_stopped()
            context.progress(_("connecting to {name} ({address})", name=self.name, address=endpoint.label))
            remark_on_exposure(context, self.name, endpoint)
            _ask(self.name, endpoint)
        pids = [_process_at(endpoint) for endpoint in self._endpoints]
        several = len(pids) > 1
        self.pids = {
            f"{self.name}-{number}" if several else self.name: pid
            for number, pid in enumerate(pids, 1)
            if pid is not None
        }
        return self._endpoints

    def restart(self) -> tuple[Endpoint, ...]:
        """Go on if it answers again within `RETURN_S`.

        Raises:
            ServerGone: it does not.
            Interrupted: the user requested a stop.
        """
        quiet = replace(self._context, progress=silent)
        deadline, waits = time.monotonic() + RETURN_S, False
        while True:
            self._context.raise_if_stopped()
            try:
                return answering_again(lambda _: self._reach(quiet))
            except ServerGone as error:
                if time.monotonic() > deadline:
                    raise
                if not waits:
                    self._context.progress(
                        _(
                            "waiting for {name} for up to {seconds:.0f} s: {why}",
                            name=self.name,
                            seconds=RETURN_S,
                            why=error,
                        )
                    )
                waits = True
            time.sleep(POLL_S)

    def alive(self) -> bool:
        """Whether every replica takes connections; one that answers late is alive."""
        return not self.last_output()

    def last_output(self) -> AnyText:
        """Why one does not take connections; see `subject.Subject.last_output`."""
        for endpoint in self._endpoints:
            try:
                _ask(self.name, endpoint)
            except _Slow:
                continue
            except UserError as error:
                return error.message
        return ""

    def throttling(self) -> Mapping[str, Throttling]:
        """Nothing: its limits are the user's."""
        return {}

    def stop(self) -> None:
        """Nothing: it is the user's."""


def _process_at(endpoint: Endpoint) -> int | None:
    """The process of this machine that serves an endpoint; of workers of one parent that parent, which stands for all.

    None: it is another machine's, or may not be looked at.
    """
    return listening_here(endpoint.host, endpoint.port) or listening_pid(endpoint)


def _ask(name: str, endpoint: Endpoint) -> None:
    where = f"subject {name} ({endpoint.label})"
    context = None if endpoint.tls is None else tls_context(endpoint.tls)
    try:
        exchange(
            endpoint.host, endpoint.port, endpoint.base_path or "/", method="HEAD", within_s=ASK_S, context=context
        )
    except ReplyTooLarge:
        raise UserError("{where}: the head of its answer has no end; correct its URL", where=where) from None
    except OSError as error:
        if isinstance(error, ssl.SSLError) and error.reason == "WRONG_VERSION_NUMBER":
            raise UserError("{where}: it speaks no TLS; write http:// in place of https://", where=where) from None
        kind = _Slow if isinstance(error, TimeoutError) else UserError
        raise kind.of(
            said("{where}: {error}; start it, or correct its URL", where=where, error=error_text(error))
        ) from None
    except NotHttp as error:
        raise UserError(
            "{where}: it does not answer with HTTP ({error}); correct its URL", where=where, error=error
        ) from None
    except (ValueError, http.client.HTTPException) as error:  # a host or a path that cannot be sent
        raise UserError("{where}: {error}; correct its URL", where=where, error=error) from None
