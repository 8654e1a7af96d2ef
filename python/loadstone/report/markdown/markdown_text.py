"""Text that Markdown takes as text, and links within the document."""

import re

from loadstone.message import Message
from loadstone.report import format as fmt

_MARKUP = re.compile(r"([\\`*_{}\[\]|~#])")


def text(raw: str) -> str:
    """`raw` as plain text: no markup, no HTML."""
    escaped = _MARKUP.sub(r"\\\1", fmt.plain(raw))
    return escaped.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def sentence(message: Message | None) -> str:
    """The sentence of a message as plain text; empty for none."""
    return text(fmt.sentence(message))


def link(anchor: str | None, raw: str) -> str:
    """Text that leads to an anchor of the document; without one, the text."""
    return f"[{text(raw)}](#{anchor})" if anchor else text(raw)


def target(anchor: str) -> str:
    """The place that links to `anchor` lead to."""
    return f'<a id="{anchor}"></a>'
