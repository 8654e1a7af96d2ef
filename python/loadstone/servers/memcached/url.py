"""Kind `memcached-url`: a server of the user's. Never started or stopped; only keys under our prefix change."""

from typing import Annotated, Literal
from urllib.parse import unquote, urlsplit

from pydantic import ConfigDict, Field, ValidationError

from loadstone.experiment.plan.endpoints import Endpoint
from loadstone.experiment.software import MEMCACHED
from loadstone.safety.errors import UserError
from loadstone.safety.secrets.in_texts import hide_url
from loadstone.servers.memcached.control import MemcachedControl
from loadstone.servers.memcached.settings import READ_BACK
from loadstone.servers.server import DeployContext, ServerFacts
from loadstone.servers.transport import remark_on_exposure
from loadstone.servers.urls import host_of, options_of, password_of, port_of, unfit, valid_by
from loadstone.servers.users_server import UsersServer, UsersServerSettings, listening_pid
from loadstone.text.language import _

OPTIONS = ("password_env",)
PORT = 11211


def parse_memcached_url(url: str) -> Endpoint:
    """`memcached://user:password@host:port` as an endpoint; option `password_env`.

    Raises:
        UserError: the URL is not of this form; the message never holds the password.
    """
    shown = hide_url(url)
    try:
        parts = urlsplit(url)
        host, port = host_of(parts), port_of(parts)
    except ValueError as error:
        raise UserError(
            "url '{shown}': {error}; write {url_form}", shown=shown, error=error, url_form=MEMCACHED.url_form
        ) from None
    if parts.scheme not in MEMCACHED.schemes or parts.path.strip("/") or parts.fragment:
        raise UserError("url '{shown}': write {url_form}", shown=shown, url_form=MEMCACHED.url_form)
    options = options_of(parts, OPTIONS, shown)
    try:
        return Endpoint(
            host=host or "127.0.0.1",
            port=PORT if port is None else port,
            username=unquote(parts.username) if parts.username else None,
            password=password_of(parts, options, shown),
        )
    except ValidationError as error:
        raise unfit(shown, error) from None


class MemcachedUrlSettings(UsersServerSettings):
    """`url` as `parse_memcached_url` takes it."""

    model_config = ConfigDict(hide_input_in_errors=True)

    kind: Literal["memcached-url"] = "memcached-url"
    url: Annotated[str, valid_by(parse_memcached_url), Field(repr=False)]

    def server(self, name: str) -> "MemcachedUrlServer":
        """The server, not queried yet."""
        if self.modules:
            raise UserError("servers.{name}.modules: a memcached has none; leave the key out", name=name)
        return MemcachedUrlServer(name, self)


class MemcachedUrlServer(UsersServer):
    """A server of the user's."""

    def __init__(self, name: str, settings: MemcachedUrlSettings) -> None:
        super().__init__(name, ServerFacts(software=MEMCACHED.name, version="", mode="", role=""))
        self._endpoint = parse_memcached_url(settings.url)

    def control(self, timeout_s: float = 5.0) -> MemcachedControl:
        """See `provider.Server.control`."""
        return MemcachedControl(self._endpoint, timeout_s)

    def _inspect(self, context: DeployContext) -> Endpoint:
        context.progress(_("connecting to {name} ({address})", name=self.name, address=self._endpoint.label))
        remark_on_exposure(context, self.name, self._endpoint)
        with self.control() as control:
            self.facts = control.facts()
            self.settings_read_back = control.settings(READ_BACK)
        pid = listening_pid(self._endpoint)
        self.pids = {} if pid is None else {self.name: pid}
        return self._endpoint
