"""Which commands of a recording are sent again: where their keys are, and in which transactions they stand.

Whether the server is ours makes no difference: keys get a prefix of our own, and what has no keys to rewrite, acts on
the whole server, waits for others or listens is left out. Of a cluster's nodes one takes a command, or a transaction,
whose keys are in one slot.
"""

import re
from collections.abc import Sequence

from loadstone.experiment.plan.stored_bytes import RANGES
from loadstone.servers.redis.commands.arguments import Argument
from loadstone.servers.redis.commands.table import (
    BEFORE_STREAMS,
    BLOCKING,
    DATA,
    KEYLESS,
    REFUSED,
    SUBCOMMANDS,
    Unclear,
    placed,
)
from loadstone.text.language import translatable
from loadstone.text.message import AnyText, said
from loadstone.text.problem import SaidError

_NAME = re.compile(rb"[A-Za-z][A-Za-z0-9._-]{0,39}")
NO_NAME = translatable("(no command's name)")
IT_WAITS = said("it may wait, and hold up its connection")
NOT_KNOWN = said("loadstone does not know where its keys are")
_BLOCK = b"BLOCK"
_READS_STREAMS = frozenset({"XREAD", "XREADGROUP"})
_WIDEST, DIGITS_MAX = 64, 15
"""Bits of the widest field of a BITFIELD; digits of a number beyond which no server takes it."""
OPENS, CLOSES = "MULTI", ("EXEC", "DISCARD")
NOT_BEGUN = said("its MULTI was not recorded")
NOTHING_IN_IT = said("nothing of its transaction was recorded")
WITH_ARGUMENTS = said("it has arguments, and takes none")
IN_SEVERAL_SLOTS = said("its keys are in several slots of a cluster")
OF_ANOTHER_SLOT = said("its key is in another slot than its transaction")


class LeftOut(SaidError):
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
        raise LeftOut.of(REFUSED[name])
    if name in BLOCKING or (name in _READS_STREAMS and _waits_for_streams(arguments)):
        raise LeftOut.of(IT_WAITS)
    if name in KEYLESS:
        return ()
    if name in SUBCOMMANDS:
        if not arguments or arguments[0].decode(errors="replace").upper() not in SUBCOMMANDS[name]:
            raise LeftOut("it does not work on a key")
        return (1,) if len(arguments) > 1 else ()
    if name not in DATA:
        raise LeftOut.of(NOT_KNOWN)
    places = _places(name, arguments)
    if not places:
        raise LeftOut("it names no key")
    return places


def _places(name: str, arguments: Sequence[bytes]) -> Sequence[int]:
    fixed = placed(name, len(arguments))
    if fixed is not None:
        return fixed
    literal = [_literal(text) for text in arguments]
    try:
        keys = {id(key) for key in DATA[name](literal)}
    except Unclear:
        raise LeftOut.of(NOT_KNOWN) from None
    return [place for place, argument in enumerate(literal) if id(argument) in keys]


def _literal(text: bytes) -> Argument:
    """An argument without placeholders; a byte is a letter, so that none is lost."""
    written = text.decode("latin-1")
    return Argument(written, written, written, is_certain=True, form=re.escape(written) if len(text) < 20 else "")


def _waits_for_streams(arguments: Sequence[bytes]) -> bool:
    """Whether an option before STREAMS says so."""
    place = 0
    while place < len(arguments) and (option := arguments[place].upper()) != b"STREAMS":
        if option == _BLOCK:
            return True
        place += BEFORE_STREAMS.get(option.decode(errors="replace"), 1)
    return False


def grows_to(name: str, words: Sequence[bytes]) -> int:
    """Bytes that a value may have after a command, its name first, where the length of what is sent does not say it."""
    bits = 0
    if name in RANGES:
        bits = 8 // RANGES[name] * _offset(words[2:3])
    elif name == "BITFIELD":
        for place, word in enumerate(words):
            if word.upper() in (b"SET", b"INCRBY"):
                written = b"".join(words[place + 2 : place + 3])
                bits = max(bits, (_WIDEST if written.startswith(b"#") else 1) * _offset([written.lstrip(b"#")]))
    return bits // 8 + 1


def _offset(written: Sequence[bytes]) -> int:
    return int(written[0]) if written and written[0].isdigit() and len(written[0]) <= DIGITS_MAX else 0


def deciding(key: bytes) -> bytes:
    """What decides on the slot of a key, whatever prefix without braces it gets: its hash tag, or else all of it."""
    begin = key.find(b"{")
    end = key.find(b"}", begin + 1)
    return key[begin : end + 1] if 0 <= begin < end - 1 else key


class _Transaction:
    """State of one client's transaction, from its MULTI to its end."""

    def __init__(self, name: bytes) -> None:
        self.name: bytes | None = name
        """MULTI as it is spelled, until it is sent."""
        self.deciding: int | None = None
        """What decides on its slot, as a hash: that of its first key."""


class Transactions:
    """Those that are open, by their clients.

    A MULTI is sent with the first command of its transaction that has a key: that decides on the node of a cluster.
    `MONITOR` prints the commands of a transaction when it is executed, all at once.
    """

    def __init__(self) -> None:
        self._open: dict[bytes, _Transaction] = {}
        self._nothing_in_them = 0

    def __len__(self) -> int:
        return len(self._open)

    @property
    def nothing_in_them(self) -> int:
        """Return the number of MULTIs that are not sent: nothing came after them."""
        return self._nothing_in_them + sum(transaction.name is not None for transaction in self._open.values())

    def open(self, client: bytes, arguments: Sequence[bytes]) -> None:
        """A MULTI, which is not sent yet. Raises LeftOut where it has arguments."""
        if len(arguments) > 1:
            raise LeftOut.of(WITH_ARGUMENTS)
        before = self._open.get(client)
        self._nothing_in_them += before is not None and before.name is not None
        self._open[client] = _Transaction(arguments[0])

    def require_open(self, client: bytes) -> None:
        """Raises LeftOut where the transaction that ends was begun before the recording."""
        if client not in self._open:
            raise LeftOut.of(NOT_BEGUN)

    def begun(self, client: bytes, keys: Sequence[bytes], *, closes: bool) -> bytes | None:
        """The MULTI that is to be sent before a command of a client with these keys, if one is."""
        transaction = self._open.get(client)
        if transaction is None or not (keys or closes):
            return None
        if keys and transaction.deciding is None:
            transaction.deciding = hash(deciding(keys[0]))
        name, transaction.name = transaction.name, None
        return name

    def close(self, client: bytes) -> None:
        """A transaction ended."""
        del self._open[client]

    def why_not_in_a_cluster(self, client: bytes, keys: Sequence[bytes]) -> AnyText | None:
        """Why no node of a cluster takes a command of a client with these keys; None where one does."""
        transaction = self._open.get(client)
        if not keys or (len(keys) == 1 and transaction is None):
            return None
        slots = {hash(deciding(key)) for key in keys}
        if len(slots) > 1:
            return IN_SEVERAL_SLOTS
        return OF_ANOTHER_SLOT if transaction is not None and {transaction.deciding} != slots else None
