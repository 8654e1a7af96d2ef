"""Transactions of a recording, and what of it a cluster takes: commands and transactions whose keys are in one slot."""

from collections.abc import Sequence

from loadstone.software.redis.recording.sendable import LeftOut

OPENS, CLOSES = "MULTI", ("EXEC", "DISCARD")
NOT_BEGUN = "its MULTI was not recorded"
NOTHING_IN_IT = "nothing of its transaction was recorded"
WITH_ARGUMENTS = "it has arguments, and takes none"
IN_SEVERAL_SLOTS = "its keys are in several slots of a cluster"
OF_ANOTHER_SLOT = "its key is in another slot than its transaction"


def deciding(key: bytes) -> bytes:
    """What decides on the slot of a key, whatever prefix without braces it gets: its hash tag, or else all of it."""
    begin = key.find(b"{")
    end = key.find(b"}", begin + 1)
    return key[begin : end + 1] if 0 <= begin < end - 1 else key


class _Transaction:
    """Of one client, from its MULTI to its end."""

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
        """So many MULTIs are not sent: nothing came after them."""
        return self._nothing_in_them + sum(one.name is not None for one in self._open.values())

    def open(self, client: bytes, arguments: Sequence[bytes]) -> None:
        """A MULTI, which is not sent yet. Raises LeftOut where it is none."""
        if len(arguments) > 1:
            raise LeftOut(WITH_ARGUMENTS)
        before = self._open.get(client)
        self._nothing_in_them += before is not None and before.name is not None
        self._open[client] = _Transaction(arguments[0])

    def require_open(self, client: bytes) -> None:
        """Raises LeftOut where the transaction that ends was begun before the recording."""
        if client not in self._open:
            raise LeftOut(NOT_BEGUN)

    def begun(self, client: bytes, keys: Sequence[bytes], *, closes: bool) -> bytes | None:
        """The MULTI that is to be sent before a command of a client with these keys, if one is."""
        found = self._open.get(client)
        if found is None or not (keys or closes):
            return None
        if keys and found.deciding is None:
            found.deciding = hash(deciding(keys[0]))
        name, found.name = found.name, None
        return name

    def close(self, client: bytes) -> None:
        """A transaction ended."""
        del self._open[client]

    def why_not_in_a_cluster(self, client: bytes, keys: Sequence[bytes]) -> str | None:
        """Why no node of a cluster takes a command of a client with these keys; None where one does."""
        found = self._open.get(client)
        if not keys or (len(keys) == 1 and found is None):
            return None
        slots = {hash(deciding(key)) for key in keys}
        if len(slots) > 1:
            return IN_SEVERAL_SLOTS
        return OF_ANOTHER_SLOT if found is not None and {found.deciding} != slots else None
