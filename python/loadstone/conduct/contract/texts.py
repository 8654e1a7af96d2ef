"""The texts of documents, as docs/driver-contract.md has their rules: what a driver sends is held against them."""

from collections.abc import Iterator
from itertools import islice

_ALL = (1 << 64) - 1
_GOLDEN = 0x9E3779B97F4A7C15
_PLACES = 1 << 16
_ALPHABET = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
_LETTERS = bytes(_ALPHABET[byte * len(_ALPHABET) >> 8] for byte in range(256))
_FIELD, _BODY, _VALUE = range(3)


class Texts:
    """Those of one plan."""

    def __init__(self, seed: int, payload_bytes: int, field_bytes: int) -> None:
        self._seed = seed
        self._lengths = {_FIELD: field_bytes, _BODY: payload_bytes - field_bytes, _VALUE: payload_bytes}
        letters = _PLACES + payload_bytes
        numbers = islice(_random(_mix(seed) + _mix(0)), -(-letters // 8))
        self._block = b"".join(number.to_bytes(8, "little") for number in numbers).translate(_LETTERS).decode()

    def field(self, key: int, version: int) -> str:
        """The field of a key's version."""
        return self._cut(key, version, _FIELD)

    def body(self, key: int, version: int) -> str:
        """The rest of its payload."""
        return self._cut(key, version, _BODY)

    def value(self, key: int, version: int) -> str:
        """All of the payload as one text."""
        return self._cut(key, version, _VALUE)

    def parts(self, key: int, version: int, **changed: str) -> dict[str, str]:
        """What stands in a document, in its order; with some of it changed."""
        return {
            "id": f"{key:012d}",
            "version": f"{version:010d}",
            "type": "document",
            "author": "loadstone",
            "state": "current",
            "field": self.field(key, version),
            "body": self.body(key, version),
        } | changed

    def document(self, key: int, version: int, **changed: str) -> str:
        """Its JSON text."""
        return "{" + ",".join(f'"{name}":"{part}"' for name, part in self.parts(key, version, **changed).items()) + "}"

    def _cut(self, key: int, version: int, content: int) -> str:
        place = _mix(_mix(self._seed ^ key * _GOLDEN & _ALL) ^ (version << 2 | content)) % _PLACES
        return self._block[place : place + self._lengths[content]]


def _mix(x: int) -> int:
    """The output step of SplitMix64 (Steele, Lea & Flood 2014)."""
    x = x + _GOLDEN & _ALL
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 & _ALL
    x = (x ^ x >> 27) * 0x94D049BB133111EB & _ALL
    return x ^ x >> 31


def _random(start: int) -> Iterator[int]:
    """xoshiro256++ (Blackman & Vigna 2021), its state from SplitMix64."""
    a, b, c, d = (_mix(start + number * _GOLDEN & _ALL) for number in range(4))
    while True:
        yield _turned(a + d & _ALL, 23) + a & _ALL
        shifted = b << 17 & _ALL
        c ^= a
        d ^= b
        b ^= c
        a ^= d
        c ^= shifted
        d = _turned(d, 45)


def _turned(x: int, bits: int) -> int:
    return (x << bits | x >> 64 - bits) & _ALL
