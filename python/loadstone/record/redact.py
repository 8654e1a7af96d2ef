"""Secrets are replaced before anything is written."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

HIDDEN = "***"
"""What stands where a secret was."""

_SECRET_KEY = re.compile(
    r"password|passwd|passphrase|secret|requirepass|masterauth|api_?key|auth_?token|(?:^|[-_])pass$", re.IGNORECASE
)
_USER_INFO = re.compile(r"(?P<scheme>[a-z][a-z0-9+.-]*://)[^/?#\s]*@", re.IGNORECASE)
_QUERY = re.compile(r"(?P<key>[?&](?:password|passwd|secret|token|auth)=)[^&#\s]*", re.IGNORECASE)
_SHORTEST = 4
"""Shorter known secrets are not looked for inside other text: they would eat words."""


def redact(value: Any, secrets: Iterable[str] = ()) -> Any:
    """A copy of `value` (mappings, sequences, texts) without secrets.

    Replaced are: values under a key that names a secret, `user:password@` and `?password=` in URLs,
    and every occurrence of one of `secrets`.
    """
    known = sorted((text for text in secrets if len(text) >= _SHORTEST), key=len, reverse=True)
    return _redacted(value, known)


def _redacted(value: Any, known: list[str]) -> Any:
    if isinstance(value, Mapping):
        return {
            key: HIDDEN if _names_secret(key) and _is_secret(item) else _redacted(item, known)
            for key, item in value.items()
        }
    if isinstance(value, list | tuple):
        return [_redacted(item, known) for item in value]
    if isinstance(value, str):
        return _redacted_text(value, known)
    return value


def _names_secret(key: object) -> bool:
    return isinstance(key, str) and _SECRET_KEY.search(key) is not None


def _is_secret(item: object) -> bool:
    """Whether there is something to hide: nothing, an empty text or a switch is no secret."""
    return item is not None and item != "" and not isinstance(item, bool)


def _redacted_text(text: str, known: list[str]) -> str:
    for secret in known:
        text = text.replace(secret, HIDDEN)
    text = _USER_INFO.sub(rf"\g<scheme>{HIDDEN}@", text)
    return _QUERY.sub(rf"\g<key>{HIDDEN}", text)
