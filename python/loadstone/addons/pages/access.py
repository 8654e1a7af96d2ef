"""Who may see a page, and what a browser may do with one. Every request passes here first.

A page can start programs with the rights of its user, so it answers only who shows the token of this process: once, in
the address that is printed, and then by a cookie that no other site's page can send and no script can read. The name
that a request is sent to must be one of this server's (else a stranger's name could lead here: DNS rebinding), and
what changes something must come from a page of this server's (else another site's form could send it).
"""

import hmac
import ipaddress
import re
import secrets
import time
from collections.abc import Callable, Iterable, Mapping, MutableMapping
from typing import Any
from urllib.parse import parse_qsl, urlencode

from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from loadstone.addons.pages.settings import PageSettings
from loadstone.safety import defect, terminal
from loadstone.text.language import ENGLISH, LANGUAGES, in_language, of_request, use_language
from loadstone.text.message import AnyText, said, text_of

BODY_BYTES_MAX = 1024 * 1024
"""Limit of a form. An experiment has a few kB."""
TARGET_BYTES_MAX = 8 * 1024
"""Limit of a path with its query."""
TOKEN = "open"
"""The part of the address that holds the token. Called so, the terminal does not hide it as a secret."""
LANGUAGE_COOKIE = "loadstone-language"
SAFE_METHODS = ("GET", "HEAD")
MAY_REPEAT = frozenset(
    {
        *("accept", "accept-encoding", "accept-language", "cache-control", "connection", "cookie", "forwarded"),
        *("pragma", "te", "via", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto"),
    }
)
"""Headers that may stand twice: lists by RFC 9110 and 6265, and what proxies add. Of any other one nobody could tell
which of two counts."""
OWN_ADDRESS = re.compile(
    r"/(?:[A-Za-z0-9._~!$'()*+,;=:@%-][A-Za-z0-9._~!$'()*+,;=:@%/-]*)?(?:\?[A-Za-z0-9._~!$&'()*+,;=:@%/?-]*)?"
)
"""A page of this server: a path of plain characters, which no browser takes for another host."""
_HOST = re.compile(r"(?P<name>\[[0-9a-fA-F:.]+\]|[A-Za-z0-9._-]+)(?::(?P<port>\d{1,5}))?")
POLICY = (
    "default-src 'none'; script-src 'nonce-{nonce}'; style-src 'self'; img-src 'self' data:; font-src 'self'; "
    "connect-src 'self'; frame-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'self'; "
    "require-trusted-types-for 'script'; trusted-types htmx"
)
"""What a page may do: run and show what this server sent. `nonce` names the scripts, and what htmx may obey."""
HEADERS = {
    # Not `no-referrer`: with that a browser says of its own page's form, too, that it comes from `null`.
    "referrer-policy": "same-origin",
    "cache-control": "no-store",
    "x-content-type-options": "nosniff",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
}


class RefusedRequest(Exception):
    """A request that is not answered."""

    def __init__(self, status: int, why: AnyText) -> None:
        super().__init__(why)
        self.status = status


class Access:
    """Lets pass what may; adds the headers of every answer."""

    def __init__(self, app: ASGIApp, place: PageSettings, may_host: Callable[[str], bool]) -> None:
        """`may_host` says of the name in a request, with its port, whether it is one of this server's."""
        self._app = app
        self._place = place
        self._may_host = may_host

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """See ASGI."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            return
        self._place.memory.asked_s = time.monotonic()
        nonce = secrets.token_urlsafe(16)
        scope.setdefault("state", {})["nonce"] = nonce
        scope["state"]["language"] = _language(scope, self._place.language)
        answer = _with_headers(send, nonce)
        try:
            cookie = self._admit(scope)
        except RefusedRequest as refused:
            await say(scope, answer, refused.status, text_of(refused))
            return
        if cookie is not None:
            await _go_on(answer, cookie, scope)
            return
        begun = False

        async def counted(message: Message) -> None:
            nonlocal begun
            begun = True
            await answer(message)

        try:
            with use_language(scope["state"]["language"]):
                await self._app(scope, _BoundedBody(receive), counted)
        except ClientDisconnect:
            pass
        except Exception as error:  # the page failed, the server goes on
            terminal.remark(f"loadstone: {defect.report(error)}")
            if not begun:
                why = said("this page failed; the terminal of `loadstone serve` says what to report")
                await say(scope, answer, 500, why)

    def _admit(self, scope: Scope) -> str | None:
        """The cookie to set, where the token was shown. Raises Refused."""
        headers = _headers(scope)
        if len(scope["raw_path"] or b"") + len(scope["query_string"]) > TARGET_BYTES_MAX:
            raise RefusedRequest(414, said("the address is too long"))
        host = headers.get("host", "")
        if not self._may_host(host):
            raise RefusedRequest(
                403, said("this is not a name of this server; use the address that `loadstone serve` printed")
            )
        self._require_own_page(scope["method"], host, headers)
        if int(headers.get("content-length", "0") or "0") > BODY_BYTES_MAX:
            raise RefusedRequest(413, said("more than {most} kB were sent", most=BODY_BYTES_MAX // 1024))
        name = cookie_name(self._place, host)
        if any(_same(value, self._place.cookie) for value in _cookies(headers, name)):
            shown = _query(scope).get(TOKEN)
            return f"{name}={self._place.cookie}" if shown is not None and scope["method"] == "GET" else None
        shown, memory = _query(scope).get(TOKEN, ""), self._place.memory
        is_once = bool(memory.once) and _same(shown, memory.once)
        if scope["method"] != "GET" or not (is_once or _same(shown, self._place.token)):
            raise RefusedRequest(
                403, said("open the address that `loadstone serve` printed: it holds the token of this server")
            )
        if is_once:
            memory.once = ""
        return f"{name}={self._place.cookie}"

    def _require_own_page(self, method: str, host: str, headers: Mapping[str, str]) -> None:
        """Raises Refused for what another site's page sends."""
        own = f"{'https' if self._place.secure else 'http'}://{host}"
        origin, site = headers.get("origin"), headers.get("sec-fetch-site")
        if origin is not None and origin != own:
            raise RefusedRequest(403, said("a page of another site sent this"))
        if method not in SAFE_METHODS:
            if origin is None and site != "same-origin":
                raise RefusedRequest(
                    403, said("it is not said which page sent this: send it from a page of this server")
                )
            if site not in (None, "same-origin"):
                raise RefusedRequest(403, said("a page of another site sent this"))
        elif site not in (None, "same-origin", "none") and headers.get("sec-fetch-mode") != "navigate":
            raise RefusedRequest(403, said("a page of another site asked for this"))


def own_address(text: str, otherwise: str) -> str:
    """The address if it is one of a page of this server, for a browser to go to; else another one."""
    return text if OWN_ADDRESS.fullmatch(text) else otherwise


def may_host(names: Iterable[str], port: int, *, any_address: bool) -> Callable[[str], bool]:
    """Whether a request's host, `name:port`, is this server.

    `any_address`: it listens at all addresses of the machine, so any address is its own; a name has to be known all
    the same, since only names can be led astray.
    """
    known = {name.lower() for name in names}

    def may(host: str) -> bool:
        read = _HOST.fullmatch(host)
        if read is None or (int(read["port"] or 0) != port and not (read["port"] is None and port in (80, 443))):
            return False
        name = read["name"].lower().strip("[]")
        return name in known or (any_address and _is_address(name))

    return may


def cookie_name(place: PageSettings, host: str) -> str:
    """A name of its own for each port: browsers send a host's cookies to all of its ports."""
    port = host.rpartition(":")[2]
    number = port if port.isdecimal() else ""
    return f"__Host-loadstone{number}" if place.secure else f"loadstone{number}"


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def _headers(scope: Scope) -> dict[str, str]:
    """The headers by name. Raises Refused where one stands twice that may not."""
    found: dict[str, str] = {}
    for raw, value in scope["headers"]:
        name = raw.decode("latin-1").lower()
        if name in found and name not in MAY_REPEAT:
            raise RefusedRequest(400, said("the header {name} stands twice", name=name[:80]))
        found[name] = f"{found[name]}; {value.decode('latin-1')}" if name in found else value.decode("latin-1")
    return found


def _cookies(headers: Mapping[str, str], name: str) -> list[str]:
    """The values of a cookie. Others of this host may be of programs that write them as they like."""
    pairs = (one.strip().partition("=") for one in headers.get("cookie", "").split(";"))
    return [value for key, _, value in pairs if key == name]


def _language(scope: Scope, named: str | None = None) -> str:
    """The language of a page: what was chosen by `/language/...`, else `named`, else what the browser prefers."""
    try:
        headers = _headers(scope)
    except RefusedRequest:
        return named or ENGLISH
    chosen = [name for name in _cookies(headers, LANGUAGE_COOKIE) if name in LANGUAGES]
    return chosen[0] if chosen else named or of_request(headers.get("accept-language", ""))


def _query(scope: Scope) -> dict[str, str]:
    try:
        return dict(parse_qsl(scope["query_string"].decode("latin-1"), max_num_fields=50))
    except ValueError:
        raise RefusedRequest(400, said("the address has too many parts")) from None


def _same(shown: str, kept: str) -> bool:
    return hmac.compare_digest(shown.encode("utf-8", "surrogateescape"), kept.encode())


class _BoundedBody:
    """A body of at most so many bytes, whatever was announced."""

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self._bytes = 0

    async def __call__(self) -> Message:
        message = await self._receive()
        self._bytes += len(message.get("body", b""))
        if self._bytes > BODY_BYTES_MAX:
            raise RefusedRequest(413, said("more than {most} kB were sent", most=BODY_BYTES_MAX // 1024))
        return message


def _with_headers(send: Send, nonce: str) -> Send:
    """Adds the headers of every answer, where it has none of that name."""

    async def sent(message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            there = {name.lower() for name, _ in message.get("headers", ())}
            own = {**HEADERS, "content-security-policy": POLICY.format(nonce=nonce)}
            added = [(name.encode(), value.encode()) for name, value in own.items() if name.encode() not in there]
            message = {**message, "headers": [*message.get("headers", ()), *added]}
        await send(message)

    return sent


async def say(scope: Scope, send: Send, status: int, why: AnyText) -> None:
    """One sentence as plain text; the connection ends, so that nothing more is read of what was refused."""
    with use_language(scope.get("state", {}).get("language") or _language(scope)):
        body = f"loadstone: {in_language(why)}\n".encode()
    headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"content-length", str(len(body)).encode())]
    headers.append((b"connection", b"close"))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


async def _go_on(send: Send, cookie: str, scope: Scope) -> None:
    """Sets the cookie, and leads to the same page without the token in its address."""
    flags = "; Path=/; HttpOnly; SameSite=Strict" + ("; Secure" if cookie.startswith("__Host-") else "")
    rest = urlencode([(name, value) for name, value in _query(scope).items() if name != TOKEN])
    path = own_address(scope["raw_path"].decode("latin-1"), "/")  # `//host` would lead to another host
    headers = [
        (b"location", (path + (f"?{rest}" if rest else "")).encode("latin-1")),
        (b"set-cookie", f"{cookie}{flags}".encode()),
        (b"content-length", b"0"),
    ]
    await send({"type": "http.response.start", "status": 303, "headers": headers})
    await send({"type": "http.response.body", "body": b""})
