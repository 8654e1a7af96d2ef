"""Where an ad-hoc load goes: servers and services by URL, as options give them. No password is shown."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

from loadstone import registry
from loadstone.commands.redis_options import Login
from loadstone.deploy.urls import TRUTH
from loadstone.errors import UserError
from loadstone.options import given
from loadstone.plan.drive_plan import PAYLOAD_MAX_BYTES
from loadstone.secrecy.known_secrets import learn
from loadstone.secrecy.references import learn_options
from loadstone.secrecy.text import REFERENCE
from loadstone.spec.units import BYTES, parse

Fields = dict[str, Any]
READ_FROM = "read_from"
"""The option of a URL that says who is read from."""
SERVER, SUBJECT = "redis", "service"
"""What the target is called in reports, and in `--set`."""
OTHER = "against"
"""What `--against` names is called so."""
_TLS_FILES = {"ca_file": "--cacert", "cert_file": "--cert", "key_file": "--key"}


def redis_server(url: str, option: str = "URL") -> Fields:
    """The settings of a server by URL. Raises UserError, which begins with the option."""
    learn_options((url,))
    software = registry.SOFTWARE[SERVER]
    if "://" not in url and not REFERENCE.search(url):
        shown = "HOST:PORT" if "@" in url else url
        raise UserError(f"{option} '{shown}': it begins with no scheme; write {software.schemes[0]}://{shown}")
    if "://" in url and url.partition("://")[0] not in software.schemes:
        raise UserError(f"{option}: '{url.partition('://')[0]}://' is no Redis; write {software.url_form}")
    return {"kind": software.url_kind, "url": url}


def with_login(url: str, login: Login) -> str:
    """The URL with what other options say of the login and TLS. Raises UserError where both say it."""
    options = given(login)
    if not options:
        return url
    learn(login.password or "")
    if "://" not in url:
        raise UserError(
            f"{options[0]}: needs a URL that can be read here, and this one is a reference; write it into it"
        )
    scheme, _, rest = url.partition("://")
    if login.user is not None and login.password is None:
        raise UserError("--user: a user logs in by a password; add -a PASSWORD, or write both into the URL")
    if login.password is not None:
        if "@" in rest:
            raise UserError("-a: the URL has a login already; leave one of them out")
        rest = f"{quote(login.user or '', safe='')}:{_escaped(login.password)}@{rest}"
    of_tls = _tls_options(login)
    if of_tls and not login.tls and not scheme.startswith("rediss"):
        first = next(option for option in options if option not in ("--user", "-a"))
        raise UserError(f"{first}: is for TLS alone; add --tls, or write rediss://")
    for name, option in _TLS_FILES.items():
        if name in of_tls and not (Path(of_tls[name]).is_file() and os.access(of_tls[name], os.R_OK)):
            raise UserError(f"{option} {of_tls[name]}: cannot be read; name a PEM file that you may read")
    if login.tls and scheme == "unix":
        raise UserError("--tls: a Unix socket has no TLS; leave it out")
    if of_tls:
        rest = f"{rest}{'&' if '?' in rest else '?'}{urlencode(of_tls)}"
    if login.tls:
        scheme = "rediss+sentinel" if scheme.endswith("+sentinel") else "rediss"
    return f"{scheme}://{rest}"


def _tls_options(login: Login) -> dict[str, str]:
    """As our URLs have them."""
    named = {name: getattr(login, name) for name in (*_TLS_FILES, "server_name")}
    options = {name: value for name, value in named.items() if value is not None}
    return options | {"verify": "no"} if login.insecure else options


def with_cluster(url: str) -> str:
    """The URL as one of the whole cluster that its server is a node of. Raises UserError."""
    if "://" not in url:
        raise UserError("--cluster: needs a URL that can be read here; write cluster=yes into the one referred to")
    scheme, _, rest = url.partition("://")
    if scheme.endswith("+sentinel"):
        raise UserError("--cluster: a cluster has no Sentinels; leave it out, or write redis://HOST:PORT of a node")
    if scheme == "unix":
        raise UserError("--cluster: its nodes are reached by TCP; write redis://HOST:PORT of one of them")
    return f"{url}{'&' if '?' in rest else '?'}cluster=yes"


def names_cluster(url: str) -> bool:
    """Whether a URL stands for the whole cluster of its server; of one that is a reference this is not known here."""
    return TRUTH.get(dict(parse_qsl(url.partition("?")[2])).get("cluster", ""), False)


def with_read_from(url: str, chosen: str) -> str:
    """The URL with who is read from. Raises UserError."""
    if "://" not in url:
        raise UserError(
            f"--read-from: needs a URL that can be read here; write {READ_FROM}={chosen} into the one referred to"
        )
    if f"{READ_FROM}=" in url.partition("?")[2]:
        raise UserError(f"--read-from: the URL says {READ_FROM} already; leave one of them out")
    if url.startswith("unix:"):
        raise UserError("--read-from: replicas are reached by TCP; write redis://HOST:PORT of their primary")
    return f"{url}{'&' if '?' in url else '?'}{READ_FROM}={chosen}"


def _escaped(password: str) -> str:
    """As it stands in a URL; a reference to a secret stays one."""
    return password if REFERENCE.fullmatch(password) else quote(password, safe="")


def at(url: str) -> str:
    """`at HOST:PORT`, without a login; what is known where the URL is a reference to a secret."""
    return "of the URL given" if REFERENCE.search(url) else f"at {address(url)}"


def address(url: str) -> str:
    """`HOST:PORT` and a path that is not empty, without a login and options."""
    if REFERENCE.search(url):
        return "the URL given"
    try:
        parts = urlsplit(url)
    except ValueError:
        return "the URL given"
    return f"{parts.netloc.rpartition('@')[2]}{parts.path.rstrip('/')}"


def size_bytes(option: str, text: str) -> int:
    """Bytes that a size stands for: `100`, `1 kB`. Raises UserError."""
    try:
        size = int(parse(text if not text.isdecimal() else f"{text} B", BYTES))
    except ValueError as error:
        raise UserError(f"{option} {text}: {error}") from None
    if size > PAYLOAD_MAX_BYTES:
        raise UserError(f"{option} {text}: a value has at most {PAYLOAD_MAX_BYTES >> 20} MiB; write a smaller size")
    return size


@dataclass(frozen=True)
class LoadRow:
    """What is driven and measured as one."""

    name: str
    """As the table calls it: a level of the factor `operation`."""
    operations: tuple[Fields, ...]
    load: Fields | None = None
    """Stores every key once before; None: nothing need be there."""
    modules: tuple[str, ...] = ()


def operation(name: str, args: str, expect: str, **more: object) -> Fields:
    """An operation of one command."""
    return {"name": name, "commands": [{"args": args, "expect": expect}], **more}


def mix(name: str, weighted: Sequence[tuple[int, Fields]], load: Fields | None = None) -> LoadRow:
    """Several operations as one row; those that have one name are numbered."""
    names = [fields["name"] for _, fields in weighted]
    numbered = []
    for place, (weight, fields) in enumerate(weighted):
        number = f"-{names[: place + 1].count(fields['name'])}" if names.count(fields["name"]) > 1 else ""
        numbered.append({**fields, "name": f"{fields['name']}{number}", "weight": weight})
    return LoadRow(name, tuple(numbered), load)
