"""Which recorded commands are sent again, and which of their arguments are keys: by the table of what may be sent.

Whether the server is ours makes no difference: keys get a prefix of our own, and what has no keys to rewrite, acts on
the whole server, waits for others or listens is left out.
"""

import re
from collections.abc import Sequence

from loadstone.software.redis.commands.arguments import Argument
from loadstone.software.redis.commands.table import BLOCKING, DATA, KEYLESS, REFUSED, SUBCOMMANDS, Unclear, placed

_NAME = re.compile(rb"[A-Za-z][A-Za-z0-9._-]{0,39}")
NO_NAME = "(no command's name)"
IT_WAITS = "it may wait, and hold up its connection"
NOT_KNOWN = "loadstone does not know where its keys are"
_BLOCK = b"BLOCK"
_READS_STREAMS = frozenset({"XREAD", "XREADGROUP"})


class LeftOut(Exception):
    """Why a recorded command is not sent again."""


def name_of(arguments: Sequence[bytes]) -> str:
    """The command's name in capitals; of what can be none a text that shows nothing of it."""
    name = arguments[0] if arguments else b""
    return name.decode().upper() if _NAME.fullmatch(name) else NO_NAME


def keys_of_command(name: str, arguments: Sequence[bytes]) -> Sequence[int]:
    """The places of the keys among the arguments behind the name.

    Raises:
        LeftOut: the command is not sent again.
    """
    if name in REFUSED:
        raise LeftOut(REFUSED[name])
    if name in BLOCKING or (name in _READS_STREAMS and _waits_for_streams(arguments)):
        raise LeftOut(IT_WAITS)
    if name in KEYLESS:
        return ()
    if name in SUBCOMMANDS:
        if not arguments or arguments[0].decode(errors="replace").upper() not in SUBCOMMANDS[name]:
            raise LeftOut("it does not work on a key")
        return (1,) if len(arguments) > 1 else ()
    if name not in DATA:
        raise LeftOut(NOT_KNOWN)
    found = _places(name, arguments)
    if not found:
        raise LeftOut("it names no key")
    return found


def _places(name: str, arguments: Sequence[bytes]) -> Sequence[int]:
    fixed = placed(name, len(arguments))
    if fixed is not None:
        return fixed
    literal = [_literal(text) for text in arguments]
    try:
        keys = {id(key) for key in DATA[name](literal)}
    except Unclear:
        raise LeftOut(NOT_KNOWN) from None
    return [place for place, one in enumerate(literal) if id(one) in keys]


def _literal(text: bytes) -> Argument:
    """An argument without placeholders; a byte is a letter, so that none is lost."""
    written = text.decode("latin-1")
    return Argument(written, written, written, is_certain=True, form=re.escape(written) if len(text) < 20 else "")


def _waits_for_streams(arguments: Sequence[bytes]) -> bool:
    """Whether an option before STREAMS says so."""
    for text in arguments:
        if text.upper() == b"STREAMS":
            return False
        if text.upper() == _BLOCK:
            return True
    return False
