"""Whether a reply is correct: compared with the text that its key and version generate."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum

from driver.plan import Plan
from driver.texts import Document, Texts, read_fields

WRONG, WRONG_TYPE, MISSING = "wrong_reply", "wrong_type", "missing"


class Strict(Enum):
    """What must be there because nothing else was written since."""

    NO = "any version that was begun"
    DOCUMENT = "the document of this version"
    FIELD = "the field of this version"
    VALUE = "the value of this version"


@dataclass(frozen=True)
class Expected:
    """What a reply is compared with."""

    key: int
    version: int
    known: bool
    """The key held a document for certain when the operation began."""
    newest: Callable[[], int]
    """The newest version of the key that was begun."""
    strict: Strict = Strict.NO


class Judge:
    """The rules of one plan."""

    def __init__(self, plan: Plan, texts: Texts) -> None:
        self._texts = texts
        self._replies = plan.verify.replies
        self._count_mismatch = plan.verify.count_mismatch
        self._writes_fields = any(operation.writes == "field" for operation in plan.operations)

    def judge(self, expect: str, expected: Expected, reply: object) -> str | None:
        """The kind of error that a reply is which the server did not call one; None if it is correct."""
        if not self._replies:
            return None
        error = self._compare(expect, expected, reply)
        return error if self._count_mismatch else None

    def _compare(self, expect: str, expected: Expected, reply: object) -> str | None:
        match expect:
            case "any":
                return None
            case "ok":
                # redis-py makes True of the OK of some commands, and False of another status.
                return _ok(reply)
            case "integer":
                return None if isinstance(reply, int) else WRONG_TYPE
            case "positive":
                return _positive(reply)
            case "item":
                return "nil_reply" if reply is None else None if isinstance(reply, bytes) else WRONG_TYPE
            case "value":
                return self._value(expected, reply)
            case "hash":
                return self._hash(expected, reply)
        if reply is None:
            return _absent(expected)
        if not isinstance(reply, bytes):
            return WRONG_TYPE
        if expect == "document":
            return self._document(expected, reply)
        if expect == "field":
            return self._field(expected, reply)
        if reply == b"[]":
            return _absent(expected)
        return self._field(expected, reply[2:-2]) if re.fullmatch(rb'\[".*"\]', reply, re.DOTALL) else WRONG

    def _value(self, expected: Expected, reply: object) -> str | None:
        if reply is None:
            return None if expected.strict is Strict.NO else MISSING
        if not isinstance(reply, bytes):
            return WRONG_TYPE
        if expected.strict is Strict.VALUE:
            return _unless(reply == self._texts.value(expected.key, expected.version))
        return _unless(len(reply) == self._texts.payload_bytes)

    def _document(self, expected: Expected, text: bytes) -> str | None:
        if text.startswith(b"[") and text.endswith(b"]"):
            text = text[1:-1]
        document = self._texts.read_document(text)
        return WRONG if document is None else self._parts(expected, document)

    def _hash(self, expected: Expected, reply: object) -> str | None:
        if isinstance(reply, list) and len(reply) % 2 == 0:
            reply = dict(zip(reply[::2], reply[1::2], strict=True))
        if reply is None or reply == {}:
            return _absent(expected)
        if not isinstance(reply, Mapping):
            return WRONG_TYPE
        document = read_fields(dict(reply))
        return WRONG if document is None else self._parts(expected, document)

    def _parts(self, expected: Expected, document: Document) -> str | None:
        """Every comparison is made, whatever the others say: against the null server the work must be the same."""
        version = int(document.version) if document.version.isdigit() else 0
        is_whole = expected.strict is Strict.DOCUMENT
        known_version = version == expected.version if is_whole else 1 <= version <= expected.newest()
        is_key = document.id == b"%012d" % expected.key
        body = document.body == self._texts.body(expected.key, version)
        if expected.strict is not Strict.NO:
            field = document.field == self._texts.field(expected.key, expected.version)
        elif self._writes_fields:
            field = self._texts.is_some_field(document.field)
        else:
            field = document.field == self._texts.field(expected.key, version)
        return _unless(is_key and known_version and body and field)

    def _field(self, expected: Expected, text: bytes) -> str | None:
        if expected.strict is Strict.NO:
            return _unless(self._texts.is_some_field(text))
        return _unless(text == self._texts.field(expected.key, expected.version))


def _ok(reply: object) -> str | None:
    if reply is True or reply == b"OK":
        return None
    return WRONG if isinstance(reply, bytes | str | bool) else WRONG_TYPE


def _positive(reply: object) -> str | None:
    if not isinstance(reply, int):
        return WRONG_TYPE
    return None if reply >= 1 else "not_positive"


def _absent(expected: Expected) -> str | None:
    """The key, or the field, is not there."""
    return MISSING if expected.known or expected.strict is not Strict.NO else None


def _unless(correct: bool) -> str | None:
    return None if correct else WRONG
