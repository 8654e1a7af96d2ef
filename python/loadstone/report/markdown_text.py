"""Words that Markdown takes as words, and links within the document."""

import re

from loadstone.message import Message
from loadstone.report import format as fmt

_MARKUP = re.compile(r"([\\`*_{}\[\]|~#])")


def text(words: str) -> str:
    """`words` as plain text: no markup, no HTML."""
    escaped = _MARKUP.sub(r"\\\1", fmt.plain(words))
    return escaped.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def sentence(message: Message | None) -> str:
    """The sentence of a message as plain text; empty for none."""
    return text(fmt.sentence(message))


def link(anchor: str | None, words: str) -> str:
    """Words that lead to an anchor of the document; without one, the words."""
    return f"[{text(words)}](#{anchor})" if anchor else text(words)


def target(anchor: str) -> str:
    """The place that links to `anchor` lead to."""
    return f'<a id="{anchor}"></a>'
