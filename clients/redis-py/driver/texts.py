"""The generated texts: they follow from (seed, key, version) alone, so that nothing is stored to be verified."""

import json
from dataclasses import dataclass
from enum import IntEnum

from driver.random64 import GOLDEN, MASK, Xoshiro, mix

PLACES = 1 << 16
"""In so many places of the block a text may begin."""
ALPHABET = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
LETTERS = bytes(ALPHABET[byte * len(ALPHABET) >> 8] for byte in range(256))
CONSTANT = {b"type": b"document", b"author": b"loadstone", b"state": b"current"}
PARTS = (b"id", b"version", b"field", b"body")

BEFORE_ID = b'{"id":"'
BEFORE_VERSION = b'","version":"'
BEFORE_FIELD = b'","type":"document","author":"loadstone","state":"current","field":"'
BEFORE_BODY = b'","body":"'
AFTER_BODY = b'"}'
LAYOUT = b"%b%%012d%b%%010d%b%%b%b%%b%b" % (BEFORE_ID, BEFORE_VERSION, BEFORE_FIELD, BEFORE_BODY, AFTER_BODY)
VERSION_AT = len(BEFORE_ID) + 12 + len(BEFORE_VERSION)
FIELD_AT = VERSION_AT + 10 + len(BEFORE_FIELD)


class Content(IntEnum):
    FIELD = 0
    BODY = 1
    VALUE = 2


@dataclass(frozen=True)
class Document:
    """The parts of a document, as they were read."""

    id: bytes
    version: bytes
    field: bytes
    body: bytes


class Texts:
    """Makes and reads the texts of one plan."""

    def __init__(self, seed: int, payload_bytes: int, field_bytes: int) -> None:
        numbers = Xoshiro(seed, MASK)
        letters = PLACES + payload_bytes
        block = b"".join(numbers.next().to_bytes(8, "little") for _ in range(-(-letters // 8)))
        self._block = block.translate(LETTERS)[:letters]
        self.seed = seed
        self.payload_bytes = payload_bytes
        self.field_bytes = field_bytes
        self._lengths = (field_bytes, payload_bytes - field_bytes, payload_bytes)

    def text(self, key: int, version: int, content: Content) -> bytes:
        """One content of a key's version."""
        place = mix(mix(self.seed ^ (key * GOLDEN & MASK)) ^ (version << 2 | content)) % PLACES
        return self._block[place : place + self._lengths[content]]

    def field(self, key: int, version: int) -> bytes:
        return self.text(key, version, Content.FIELD)

    def body(self, key: int, version: int) -> bytes:
        return self.text(key, version, Content.BODY)

    def value(self, key: int, version: int) -> bytes:
        return self.text(key, version, Content.VALUE)

    def document(self, key: int, version: int) -> bytes:
        """The JSON text of a document."""
        parts = (key, version, self.field(key, version), self.body(key, version))
        return LAYOUT % parts

    def changed(self, previous: bytes, key: int, version: int) -> bytes:
        """`previous` with the field of `version`; the whole document of `version` if `previous` is none of ours."""
        if self._laid_out(previous) is None:
            return self.document(key, version)
        return previous[:FIELD_AT] + self.field(key, version) + previous[FIELD_AT + self.field_bytes :]

    def read_document(self, text: bytes) -> Document | None:
        """The parts of the JSON text of a document, in any order and with any spaces; None if it is none."""
        return self._laid_out(text) or read_loose(text)

    def _laid_out(self, text: bytes) -> Document | None:
        """The parts of a text that is laid out as we write it."""
        body_at = FIELD_AT + self.field_bytes + len(BEFORE_BODY)
        if (
            len(text) != body_at + self._lengths[Content.BODY] + len(AFTER_BODY)
            or not text.startswith(BEFORE_ID)
            or text[VERSION_AT - len(BEFORE_VERSION) : VERSION_AT] != BEFORE_VERSION
            or text[FIELD_AT - len(BEFORE_FIELD) : FIELD_AT] != BEFORE_FIELD
            or text[body_at - len(BEFORE_BODY) : body_at] != BEFORE_BODY
            or not text.endswith(AFTER_BODY)
        ):
            return None
        return Document(
            id=text[len(BEFORE_ID) : len(BEFORE_ID) + 12],
            version=text[VERSION_AT : VERSION_AT + 10],
            field=text[FIELD_AT : FIELD_AT + self.field_bytes],
            body=text[body_at : -len(AFTER_BODY)],
        )

    def is_some_field(self, text: bytes) -> bool:
        """Whether `text` could be the field of some version."""
        return len(text) == self.field_bytes and text.isalnum() and text.isascii()


def read_loose(text: bytes) -> Document | None:
    """The parts of a document that a server wrote in an order or with spaces of its own."""
    try:
        read = json.loads(text)
        if not isinstance(read, dict) or not all(isinstance(value, str) for value in read.values()):
            return None
        fields = {name.encode(): value.encode() for name, value in read.items()}
    except ValueError:
        return None
    return read_fields(fields) if fields.keys() >= CONSTANT.keys() else None


def read_fields(fields: dict[bytes, bytes]) -> Document | None:
    """The parts of a document kept as a hash, whose constant fields may be absent; None if it is none."""
    if any(fields[name] != value for name, value in CONSTANT.items() if name in fields):
        return None
    if not set(PARTS) <= fields.keys() <= {*PARTS, *CONSTANT}:
        return None
    return Document(*(fields[name] for name in PARTS))
