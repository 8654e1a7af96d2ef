"""Secrets are replaced before anything is written."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

HIDDEN = "***"
"""What stands where a secret was."""

_SECRET_KEY = re.compile(
    r"password|passwd|passphrase|secret|requirepass|masterauth|api_?key|private_?key|credential|auth_?token|"
    r"(?:^|[-_])(?:pass|pwd|token)$",
    re.IGNORECASE,
)
_VARIABLES = "environment"
_SECRET_VARIABLE = re.compile(r"token|pwd|pass|secret|credential|private_?key|api_?key", re.IGNORECASE)
"""In names of environment variables, whose words are anybody's; a factor may well be called `tokens`."""
_USER_INFO = re.compile(r"(?P<scheme>[a-z][a-z0-9+.-]*://)[^/?#\s]*@", re.IGNORECASE)
_QUERY = re.compile(r"(?P<key>[?&](?:password|passwd|secret|token|auth)=)[^&#\s]*", re.IGNORECASE)
_SHORTEST = 4
"""Shorter known secrets are not looked for inside other text: they would eat words."""


def redact(value: Any, secrets: Iterable[str] = ()) -> Any:
    """A copy of `value` (mappings, sequences, texts) without secrets.

    Replaced are: values under a key that names a secret (of `environment`, any that looks so),
    `user:password@` and `?password=` in URLs, and every occurrence of one of `secrets`.
    """
    known = sorted((text for text in secrets if len(text) >= _SHORTEST), key=len, reverse=True)
    return _redacted(value, known)


def _redacted(value: Any, known: list[str], under: str = "") -> Any:
    if isinstance(value, Mapping):
        names_secret = _names_secret_variable if under == _VARIABLES else _names_secret
        return {
            key: HIDDEN if names_secret(key) and _is_secret(item) else _redacted(item, known, str(key))
            for key, item in value.items()
        }
    if isinstance(value, list | tuple):
        return [_redacted(item, known) for item in value]
    if isinstance(value, str):
        return _redacted_text(value, known)
    return value


def _names_secret(key: object) -> bool:
    if not isinstance(key, str):
        return False
    section, dot, name = key.partition(".")
    if dot and section == _VARIABLES:
        return _names_secret_variable(name)
    return _SECRET_KEY.search(key) is not None


def _names_secret_variable(name: object) -> bool:
    return _SECRET_VARIABLE.search(str(name)) is not None


def _is_secret(item: object) -> bool:
    """Whether there is something to hide: nothing, an empty text or a switch is no secret."""
    return item is not None and item != "" and not isinstance(item, bool)


def _redacted_text(text: str, known: list[str]) -> str:
    for secret in known:
        text = text.replace(secret, HIDDEN)
    text = _USER_INFO.sub(rf"\g<scheme>{HIDDEN}@", text)
    return _QUERY.sub(rf"\g<key>{HIDDEN}", text)
