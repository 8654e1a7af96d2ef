"""Secrets that a text itself shows as such, and names that say so: logins in URLs, `password=...`, `Bearer ...`."""

import re
import shlex
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import NamedTuple
from urllib.parse import unquote, unquote_plus

_PARTS = re.compile(
    r"password|passwd|passphrase|secret|requirepass|masterauth|credential|api_?key|private_?key|auth_?token", re.I
)
"""Anywhere in a name: `tls-key-file-pass` has none of them, see `_LAST`."""
_LAST = frozenset({"pass", "pwd", "pw", "token", "jwt", "signature", "authorization"})
"""As the last word of a name. `tokens` is not among them: a factor may well be called so."""
_KEYS = frozenset(
    {
        *("api", "private", "secret", "session", "access", "signing", "encryption"),
        *("encrypt", "master", "shared", "account", "auth", "license", "csrf"),
    }
)
"""What stands before `key` in the name of a secret one."""
_NO_SECRETS = frozenset({"env", "file", "path", "set"})
"""A name that ends so holds where the secret is, or whether there is one."""
_VARIABLE = re.compile(
    r"token|pwd|pass|secret|credential|api_?key|private_?key|(?:^|_)(?:key|keys|auth|pw|salt|pepper|jwt|cookie)(?:$|_)",
    re.I,
)
_HEADER = frozenset(
    {
        *("authorization", "auth", "cookie", "token", "key", "apikey", "secret"),
        *("password", "signature", "session", "jwt", "csrf", "xsrf"),
    }
)
_PARAMETER = frozenset({"key", "sig", "auth", "sas", "hmac", "sid", "code"})


def is_secret(name: object) -> bool:
    """Whether a setting of this name holds a secret: `password`, `requirepass`, `api_key`, `DB_PASSWORD`."""
    if not isinstance(name, str):
        return False
    words = _words(name)
    if not words or words[-1] in _NO_SECRETS:
        return False
    keyed = words[-1] == "key" and len(words) > 1 and words[-2] in _KEYS
    return keyed or words[-1] in _LAST or _PARTS.search(name) is not None


def is_surely_secret(name: object) -> bool:
    """Whether the name leaves no doubt: its last word says so. `PASSWORD_HASHER` may hold `bcrypt`."""
    words = _words(name) if isinstance(name, str) else []
    keyed = words[-1:] == ["key"] and len(words) > 1 and words[-2] in _KEYS
    return keyed or (bool(words) and (words[-1] in _LAST or _PARTS.search(words[-1]) is not None))


def is_secret_variable(name: object) -> bool:
    """Whether a variable of the environment may hold one. Its words are anybody's: every `*_KEY` counts, too."""
    return isinstance(name, str) and (is_secret(name) or _VARIABLE.search(name) is not None)


def is_secret_header(name: object) -> bool:
    """Whether a header of a request carries a secret: `Authorization`, `Cookie`, `X-Api-Key`, `X-Session`."""
    return isinstance(name, str) and (is_secret(name) or not _HEADER.isdisjoint(_words(name)))


def is_secret_parameter(name: str) -> bool:
    """Whether a parameter of a URL's query carries a secret: `token`, `api_key`, `key`, `sig`, `X-Amz-Signature`."""
    words = _words(name)
    return is_secret(name) or (len(words) == 1 and words[0] in _PARAMETER)


def _words(name: str) -> list[str]:
    """The words of `X-Api-Key`, `api_key`, `apiKey` or `spring.datasource.password`, in small letters."""
    apart = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name)
    return [word for word in re.split(r"[^a-z0-9]+", apart.lower()) if word]


REDACTED = "***"
"""What stands where a secret was."""
PROBE = "x7Probe9kQ"
"""Put in the place of stars it tells whether they stand for a secret: it would be hidden there. It looks random."""
REFERENCE = re.compile(r"\$\{(?P<where>env|secret):(?P<name>[^{}]*)\}")
"""`${env:NAME}` and `${secret:NAME}`."""
_OPEN = re.compile(r"\$\{[^{}]*\}|\{[^{}]*\}|\*\*\*")
"""Names a value that stands elsewhere, or did: references, factors, placeholders."""
_SCHEMES = r"Bearer|Basic|Digest|Token|ApiKey|Negotiate"
_NOTHING = re.compile(rf"(?:(?:{_SCHEMES})\b)?[\s;,:=&]*", re.I)
_PLACEHOLDERS = re.compile(r"(?:USER|NAME)?:?(?:PASSWORD|SECRET|VALUE|PATH)")
"""As messages write them: `redis://:PASSWORD@HOST`, `--secret-file PW=PATH`."""

_SCHEME_END = re.compile(r"[a-z][a-z0-9+.-]{0,30}\Z", re.IGNORECASE)
_LOGIN = re.compile(r"(?P<login>[^/?#\s\"'<>]{0,300}|[^/?#\s\"'<>:@]{0,99}:(?!\d{1,5}(?:[/,?#]|$))[^\s\"'<>]{0,300})@")
"""Behind `://`. Bounded, so that a long text costs no more than its length. An unescaped password may hold `/`, `@`."""
_LONGEST_LOGIN = 99 + 1 + 300
_ONE_SLASH = re.compile(
    r"(?P<head>\b(?:rediss?(?:\+sentinel)?|valkeys?|mariadb|mysql|postgres(?:ql)?|memcached|https?):/)"
    r"(?P<value>[^/@\s\"'<>]{0,99}:[^\s\"'<>]{0,300})(?=@)",
    re.IGNORECASE,
)
"""A URL where the path of a file was expected: of two slashes one is left."""
_QUERY = re.compile(r"(?P<head>[?&;](?P<name>[\w.\[\]-]+)=)(?P<value>[^&#;\s\"'<>]*)")
_SETTING = re.compile(
    r"(?P<head>(?<![\w.?&;-])-{0,2}(?P<name>[A-Za-z][\w.-]*)\s?=\s?(?P<quote>[\"']?))"
    r"(?P<value>(?<=\")[^\"]*|(?<=')[^']*|(?:\$\{[^{}]*\}|[^\s\"'&;,<>)}\]])+)"
)
_FIELD = re.compile(
    r"(?P<head>(?P<mark>\\?[\"'])(?P<name>[\w.-]+)(?P=mark)\s*:\s*(?P<open>\\?[\"']))(?P<value>(?:(?!(?P=open)).)*)"
)
_NUMBER_FIELD = re.compile(r"(?P<head>(?P<mark>\\?[\"'])(?P<name>[\w.-]+)(?P=mark)\s*:\s*)(?P<value>-?\d[\w.+-]*)")
"""A PIN, or a password of digits, that JSON needs no quotes for; it gets them, so that the text stays JSON."""
_SCHEME = re.compile(rf"(?P<head>\b(?:{_SCHEMES})\s+)(?P<value>(?=[^\s\"']*[0-9=_.+/-])[A-Za-z0-9._~+/=-]{{6,}})")
_SQL = re.compile(
    r"(?P<head>\bIDENTIFIED\s+(?:BY|VIA\s+\w+\s+USING)\s+(?:PASSWORD\s*\()?(?P<q>['\"]))(?P<value>[^'\"]*)", re.I
)

_WORD = re.compile(r"[;&|()<>]|(?:\\.|'[^']*'|\"(?:\\.|[^\"\\])*\"|[^\s;&|()<>])+", re.DOTALL)
"""A word of a command as it is written, with its quotes; or what parts commands."""
_OPTION = re.compile(r"--?[A-Za-z][\w.-]*")


class SecretSpan(NamedTuple):
    """A secret in a text."""

    value: str
    sure: bool
    """Whether its place leaves no doubt; a parameter `key=` may hold anything."""


def is_open(text: str) -> bool:
    """Whether a value holds references and placeholders alone, perhaps behind `Bearer`: nothing is to be hidden."""
    return _NOTHING.fullmatch(_OPEN.sub("", text)) is not None


def hide_shown(text: str) -> str:
    """The text with `***` for what it shows to be a secret. What was hidden stays as it is."""
    if "://" in text:
        text = _with_logins(text, _login_hidden)
    if ":/" in text:
        text = _ONE_SLASH.sub(lambda match: _hide(match, secret=True), text)
    if "=" in text:
        text = _QUERY.sub(lambda match: _hide(match, is_secret_parameter(match["name"])), text)
        text = _SETTING.sub(lambda match: _hide(match, is_secret(match["name"])), text)
    if ":" in text:
        text = _FIELD.sub(lambda match: _hide(match, is_secret(match["name"])), text)
        text = _NUMBER_FIELD.sub(_number_hidden, text)
    if " " in text:
        text = _SCHEME.sub(lambda match: _hide(match, secret=True), text)
        text = _SQL.sub(lambda match: _hide(match, secret=True), text)
    return text


def logins_in(text: str) -> list[tuple[int, int]]:
    """Where in a text the logins of URLs stand: from, and up to their `@`."""
    return list(_logins(text))


def without_login(url: str) -> str:
    """A URL, or several behind commas, with `***` for user and password, wherever they came from."""
    return _with_logins(url, lambda _: REDACTED)


def hide_url(url: str) -> str:
    """One URL as it may be shown. Up to the last `@` it is the login: an unescaped password may hold any character."""
    scheme, separator, rest = url.partition("://")
    login, at, address = rest.rpartition("@")
    return hide_shown(f"{scheme}{separator}{_login_hidden(login)}@{address}" if at and separator else url)


def secrets_in(text: str) -> Iterator[SecretSpan]:
    """The secrets that a text shows, each as it stands there and with its %-escapes resolved."""
    for start, end in _logins(text):
        user, colon, password = text[start:end].partition(":")
        yield from _both(password if colon else user, sure=bool(colon))
    for match in _QUERY.finditer(text):
        if is_secret_parameter(match["name"]):
            yield from _both(match["value"], sure=is_surely_secret(match["name"]))
    for pattern in (_SETTING, _FIELD, _NUMBER_FIELD):
        for match in pattern.finditer(text):
            if is_secret(match["name"]):
                yield from _both(match["value"], sure=is_surely_secret(match["name"]))
    for pattern in (_SCHEME, _SQL):
        yield from (SecretSpan(match["value"], sure=True) for match in pattern.finditer(text))


def secrets_in_command(command: str) -> Iterator[SecretSpan]:
    """What stands behind `--password` in a command line, and in the words of it that are command lines: `sh -c '...'`.

    Each as it is written, and without its quotes.
    """
    written = _WORD.findall(command)
    words = [_unquoted(word) for word in written]
    pairs = [*pairwise(words), *zip(words, written[1:], strict=False), *pairwise(_split(command) or ())]
    for name, value in pairs:
        if _OPTION.fullmatch(name) and is_secret(name) and not value.startswith("-"):
            yield SecretSpan(value, sure=True)
    for word in words:
        if len(word) < len(command) and any(map(str.isspace, word)):
            yield from secrets_in_command(word)


def _unquoted(written: str) -> str:
    """A word without its quotes; without those at its ends where they are no pairs."""
    return "".join(_split(written) or (written.strip("'\""),))


def _split(command: str) -> list[str] | None:
    """The words of a command line; None where it is none."""
    try:
        return shlex.split(command)
    except ValueError:
        return None


def secret_of_url(url: str) -> Iterator[SecretSpan]:
    """The password of a text that is one URL, even where it is written without escapes, and what its query shows.

    Where the scheme was forgotten or misspelt, too: an error will show the text.
    """
    _, separator, rest = url.partition("://")
    login, at, _ = (rest if separator else url).rpartition("@")
    user, colon, password = login.partition(":")
    if at and (separator or colon):
        yield from _both(password if colon else user, sure=bool(colon))
        if not separator:  # `redis:/user:password@host`
            yield from _both(password.rpartition(":")[2], sure=True)
    yield from secrets_in(url)


def _both(value: str, *, sure: bool) -> Iterator[SecretSpan]:
    for form in dict.fromkeys((value, unquote(value), unquote_plus(value))):
        yield SecretSpan(form, sure)


def _hide(match: re.Match[str], secret: bool) -> str:
    if not secret or is_open(match["value"]) or _PLACEHOLDERS.fullmatch(match["value"]):
        return match[0]
    return f"{match['head']}{REDACTED}"


def _number_hidden(match: re.Match[str]) -> str:
    return f"{match['head']}{match['mark']}{REDACTED}{match['mark']}" if is_secret(match["name"]) else match[0]


def _logins(text: str) -> Iterator[tuple[int, int]]:
    """As `logins_in`. What has no `@` within reach costs a search: a text of `a://` alone must not hold a run up."""
    behind = at = -1
    place = text.find("://")
    while place >= 0:
        start = place + 3
        at = max(at, text.find("@", start)) if at < start else at
        if at < start:
            return
        if at - start > _LONGEST_LOGIN:
            place = text.find("://", at - _LONGEST_LOGIN - 3)
            continue
        match = _LOGIN.match(text, start) if _SCHEME_END.search(text, max(behind, place - 31, 0), place) else None
        if match is not None:
            yield match.span("login")
            behind = start = match.end()
        place = text.find("://", start)


def _with_logins(text: str, shown: Callable[[str], str]) -> str:
    """The text with something else for the login of each URL."""
    out, done = [], 0
    for start, end in _logins(text):
        out += [text[done:start], shown(text[start:end])]
        done = end
    return "".join([*out, text[done:]])


def _login_hidden(login: str) -> str:
    user, colon, password = login.partition(":")
    stays = is_open(password) if colon else is_open(user)
    return login if (stays and login) or _PLACEHOLDERS.fullmatch(login) else REDACTED
