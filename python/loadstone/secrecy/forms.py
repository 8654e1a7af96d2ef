"""The forms in which a secret may stand in a text: as it is, escaped, or encoded."""

import base64
import html
import json
from collections.abc import Iterator
from urllib.parse import quote, quote_plus

SHORTEST_LINE = 16
"""A shorter line of a secret of several lines may be anybody's."""
SHORTEST_BASE64 = 8
"""A shorter piece of Base64 might stand in any text by chance."""


def forms_of(value: str) -> list[str]:
    """Every form of a value that is searched for, the value itself first, each once."""
    return list(dict.fromkeys([value, *_escaped(value), *_lines(value), *_base64(value), *_hexadecimal(value)]))


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


def _lines(value: str) -> Iterator[str]:
    """Each line of a key in PEM: a log has them one by one, a time before each. Its first and last tell nothing."""
    lines = [line.strip() for line in value.splitlines()]
    for line in lines if len(lines) > 1 else ():
        if len(line) >= SHORTEST_LINE and not line.startswith("-----") and len(line.split()) == 1:
            yield line


def _hexadecimal(value: str) -> Iterator[str]:
    digits = value.encode(errors="surrogateescape").hex()
    yield from (digits, digits.upper())


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
