"""Where the load goes: servers and services by URL, as options give them. No password is shown."""

import os
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

from loadstone.cli.operations import YamlMapping
from loadstone.cli.options import given
from loadstone.cli.redis_options import PRIMARY, AddressOptions, Login
from loadstone.experiment.software import SOFTWARE
from loadstone.safety.errors import UserError
from loadstone.safety.secrets.in_texts import REFERENCE
from loadstone.safety.secrets.known import learn
from loadstone.safety.secrets.references import learn_options
from loadstone.servers.urls import TRUTH, host_of
from loadstone.text.language import author_text

READ_FROM = "read_from"
"""The option of a URL that says who is read from."""
SERVER, SUBJECT = "redis", "service"
"""What the target is called in reports, and in `--set`."""
OTHER = "against"
"""What `--against` names is called so."""
_TLS_FILES = {"ca_file": "--cacert", "cert_file": "--cert", "key_file": "--key"}


@dataclass(frozen=True)
class _Url:
    """The URL of a Redis, read once."""

    scheme: str
    """Empty: the whole URL is a reference to a secret, and cannot be read here."""
    rest: str

    @classmethod
    def read(cls, url: str, option: str) -> "_Url":
        """Raises UserError, which begins with the option."""
        software = SOFTWARE[SERVER]
        scheme, is_url, rest = url.partition("://")
        if is_url and scheme not in software.schemes:
            raise UserError(
                "{option}: '{scheme}://' is no Redis; write {url_form}",
                option=option,
                scheme=scheme,
                url_form=software.url_form,
            )
        if not is_url and not REFERENCE.search(url):
            shown = "HOST:PORT" if "@" in url else url
            raise UserError(
                "{option} '{shown}': it begins with no scheme; write {schemes}://{shown}",
                option=option,
                shown=shown,
                schemes=software.schemes[0],
            )
        return cls(scheme, rest) if is_url else cls("", url)

    def __str__(self) -> str:
        return f"{self.scheme}://{self.rest}" if self.scheme else self.rest

    def adding(self, options: str) -> "_Url":
        """Return the URL with further options behind its `?`."""
        return replace(self, rest=f"{self.rest}{'&' if '?' in self.rest else '?'}{options}")


def redis_server(
    url: str, login: Login = Login(), address: AddressOptions = AddressOptions(), option: str = "URL"
) -> YamlMapping:
    """The settings of a server by URL, with what options say beside it. Raises UserError, which names the option."""
    learn_options((url,))
    read = _with_login(_Url.read(url, option), login)
    if address.cluster:
        read = _with_cluster(read)
    if address.read_from != PRIMARY:
        read = _with_read_from(read, address.read_from)
    return {"kind": SOFTWARE[SERVER].url_kind, "url": str(read)}


def _with_login(url: _Url, login: Login) -> _Url:
    """With the login and the TLS. Raises UserError where URL and options both say it."""
    options = given(login)
    if not options:
        return url
    learn(login.password or "")
    if not url.scheme:
        raise UserError(
            "{options}: needs a URL that can be read here, and this one is a reference; write it into it",
            options=options[0],
        )
    if login.user is not None and login.password is None:
        raise UserError("--user: a user logs in by a password; add -a PASSWORD, or write both into the URL")
    if login.password is not None:
        if "@" in url.rest:
            raise UserError("-a: the URL has a login already; leave one of them out")
        url = replace(url, rest=f"{quote(login.user or '', safe='')}:{_escaped(login.password)}@{url.rest}")
    tls = _tls_options(login)
    if tls and not login.tls and url.scheme not in SOFTWARE[SERVER].tls_schemes:
        first = next(option for option in options if option not in ("--user", "-a"))
        raise UserError("{first}: is for TLS alone; add --tls, or write rediss://", first=first)
    for name, option in _TLS_FILES.items():
        if name in tls and not (Path(tls[name]).is_file() and os.access(tls[name], os.R_OK)):
            raise UserError(
                "{option} {tls}: cannot be read; name a PEM file that you may read", option=option, tls=tls[name]
            )
    if login.tls and url.scheme == "unix":
        raise UserError("--tls: a Unix socket has no TLS; leave it out")
    if login.tls:
        url = replace(url, scheme="rediss+sentinel" if url.scheme.endswith("+sentinel") else "rediss")
    return url.adding(urlencode(tls)) if tls else url


def _tls_options(login: Login) -> dict[str, str]:
    """As our URLs have them."""
    named = {name: getattr(login, name) for name in (*_TLS_FILES, "server_name")}
    options = {name: value for name, value in named.items() if value is not None}
    return options | {"verify": "no"} if login.insecure else options


def _escaped(password: str) -> str:
    """As it stands in a URL; a reference to a secret stays one."""
    return password if REFERENCE.fullmatch(password) else quote(password, safe="")


def _with_cluster(url: _Url) -> _Url:
    """As that of the whole cluster that its server is a node of. Raises UserError."""
    if not url.scheme:
        raise UserError("--cluster: needs a URL that can be read here; write cluster=yes into the one referred to")
    if url.scheme.endswith("+sentinel"):
        raise UserError("--cluster: a cluster has no Sentinels; leave it out, or write redis://HOST:PORT of a node")
    if url.scheme == "unix":
        raise UserError("--cluster: its nodes are reached by TCP; write redis://HOST:PORT of one of them")
    return url.adding("cluster=yes")


def names_cluster(url: str) -> bool:
    """Whether a URL stands for the whole cluster of its server; of one that is a reference this is not known here."""
    return TRUTH.get(dict(parse_qsl(url.partition("?")[2])).get("cluster", ""), False)


def _with_read_from(url: _Url, chosen: str) -> _Url:
    """With who is read from. Raises UserError."""
    if not url.scheme:
        raise UserError(
            "--read-from: needs a URL that can be read here; write {read_from}={chosen} into the one referred to",
            read_from=READ_FROM,
            chosen=chosen,
        )
    if f"{READ_FROM}=" in url.rest.partition("?")[2]:
        raise UserError("--read-from: the URL says {read_from} already; leave one of them out", read_from=READ_FROM)
    if url.scheme == "unix":
        raise UserError("--read-from: replicas are reached by TCP; write redis://HOST:PORT of their primary")
    return url.adding(f"{READ_FROM}={chosen}")


@dataclass(frozen=True)
class HttpTarget:
    """Where a service listens, and the path that is requested of it."""

    base: str
    """Scheme, login, host and port; with the path below which the requested ones stand."""
    path: str
    """The URL's own; empty where others stand below it."""


def http_target(url: str, option: str = "URL", *, below: bool = False) -> HttpTarget:
    """The URL taken apart. Raises UserError; shows no password.

    `option`: where the URL stands; `below`: whether other paths are requested, which stand below its own.
    """
    if "://" not in url:
        shown = "HOST:PORT" if "@" in url else url
        raise UserError(
            "{option} '{shown}': it begins with no scheme; write http://{shown}", option=option, shown=shown
        )
    scheme = url.partition("://")[0]
    if scheme.lower() not in ("http", "https"):
        raise UserError(
            "{option}: '{scheme}://' is not HTTP; write http://HOST:PORT or https://HOST:PORT",
            option=option,
            scheme=scheme,
        )
    try:
        parts = urlsplit(url)
        host_of(parts)
    except ValueError as error:
        raise UserError("{option}: {error}; write http://HOST:PORT/PATH", option=option, error=error) from None
    if not parts.netloc:
        raise UserError("{option}: it names no host; write http://HOST:PORT/PATH", option=option)
    if parts.fragment:
        raise UserError(
            "{option}: '#{fragment}' is not sent to a server; leave it out", option=option, fragment=parts.fragment
        )
    base = f"{scheme}://{parts.netloc}"
    if not below:
        return HttpTarget(base, f"{parts.path or '/'}{f'?{parts.query}' if parts.query else ''}")
    if parts.query:
        raise UserError(
            "{option}: '?{query}' has no meaning before other paths; write it into these",
            option=option,
            query=parts.query,
        )
    return HttpTarget(f"{base}{parts.path.rstrip('/')}", "")


_UNREAD = author_text("the URL given")
"""What a target is called whose URL, or a part of it beyond the login, is a reference to a secret."""


def distinct_label(label: str, other: str) -> str:
    """What the second of two is called: as itself, and a `(B)` where the first is called the same."""
    return f"{label} (B)" if label == other else label


def address(url: str) -> str:
    """`HOST:PORT` and a path that is not empty, without a login and options."""
    scheme, is_url, rest = url.partition("://")
    shown = f"{scheme}{is_url}{rest.rpartition('@')[2]}" if is_url else url
    if REFERENCE.search(shown):
        return _UNREAD
    try:
        parts = urlsplit(shown)
    except ValueError:
        return _UNREAD
    return f"{parts.netloc.rpartition('@')[2]}{parts.path.rstrip('/')}"
