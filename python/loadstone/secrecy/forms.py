"""The forms in which a secret may stand in a text: as it is, escaped, or encoded."""

import base64
import html
import json
from collections.abc import Iterator
from urllib.parse import quote, quote_plus

SHORTEST_BASE64 = 8
"""A shorter piece of Base64 might stand in any text by chance."""


def forms_of(value: str) -> list[str]:
    """Every form of a value that is searched for, the value itself first, each once."""
    return list(dict.fromkeys([value, *_escaped(value), *_base64(value)]))


def _escaped(value: str) -> Iterator[str]:
    """In URLs, JSON, shells, SQL, HTML and Python; where nothing needs it, that is the value itself."""
    yield quote(value, safe="")
    yield quote(value)
    yield quote_plus(value)
    yield quote(value, safe="").lower() if "%" in quote(value, safe="") else value
    for ascii_only in (True, False):
        yield json.dumps(value, ensure_ascii=ascii_only)[1:-1]
    yield value.replace("'", "'\"'\"'")
    yield value.replace("'", "''")
    yield html.escape(value)
    yield html.escape(value, quote=False)
    yield repr(value)[1:-1]


def _base64(value: str) -> Iterator[str]:
    """The part of any Base64 text that the value alone decides, at each of the three places where it may begin.

    `user:password` of a basic authentication is found by it whoever the user is.
    """
    raw = value.encode(errors="surrogateescape")
    for before in range(3):
        whole = base64.b64encode(b"\0" * before + raw).decode().rstrip("=")
        first = -(-before * 8 // 6)  # the characters that hold bits of what stands before
        piece = whole[first : (before + len(raw)) * 8 // 6]
        if len(piece) >= SHORTEST_BASE64:
            yield piece
            yield piece.translate(str.maketrans("+/", "-_"))
