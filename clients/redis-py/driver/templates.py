"""The arguments of a command: parsed once, filled for each operation."""

import re
from collections.abc import Callable
from dataclasses import dataclass

from driver.plan import Command, PlanError
from driver.random64 import Xoshiro, mix
from driver.texts import Texts

TOKEN = re.compile(r"\{\{|\}\}|\{([^{}]*)\}|[{}]")
UNIFORM = re.compile(r"uniform (-?\d+)\.\.(-?\d+)")
OTHER = re.compile(r"key([1-9][0-9]{0,4})")
RANDOM = re.compile(r"random (\d+) lowercase")
NAMED = re.compile(r"\{\{|\{key([1-9][0-9]{0,4})\}")
SMALL = bytes(ord("a") + byte * 26 // 256 for byte in range(256))


@dataclass
class Filling:
    """What the placeholders of one operation stand for."""

    key: int
    version: int
    seq: int
    previous: bytes = b""
    others: tuple[int, ...] = ()
    """The operation's other keys: `{key2}`, `{key3}`..."""


Fill = Callable[[Filling], bytes]


class Template:
    """A command of the plan, ready to be filled."""

    def __init__(self, command: Command, field: str, prefix: str, texts: Texts, salt: int) -> None:
        """`field` is the command's place in the plan; `salt` makes its random texts differ from another command's."""
        self.name = command.name
        self.expect = command.expect
        parser = _Parser(prefix, texts, salt)
        named = [one[1] for text in command.args for one in NAMED.finditer(text) if one[1]]
        self.others = max((int(number) - 1 for number in named), default=0)
        self._arguments = [parser.parse(argument, f"{field}.args[{at}]") for at, argument in enumerate(command.args)]

    def fill(self, filling: Filling) -> list[bytes | str]:
        """The command's arguments, its name first."""
        return [self.name, *(argument(filling) for argument in self._arguments[1:])]


class _Parser:
    def __init__(self, prefix: str, texts: Texts, salt: int) -> None:
        self._texts = texts
        self._salt = salt
        self._prefix = prefix.encode()
        self._named: dict[str, Fill] = {
            "key": lambda f, p=prefix.encode(): b"%b%012d" % (p, f.key),  # type: ignore[misc]
            "document": lambda f: texts.document(f.key, f.version),
            "id": lambda f: b"%012d" % f.key,
            "version": lambda f: b"%010d" % f.version,
            "field": lambda f: texts.field(f.key, f.version),
            "body": lambda f: texts.body(f.key, f.version),
            "field_json": lambda f: b'"%b"' % texts.field(f.key, f.version),
            "changed": lambda f: texts.changed(f.previous, f.key, f.version),
            "value": lambda f: texts.value(f.key, f.version),
            "seq": lambda f: b"%d" % f.seq,
        }

    def parse(self, text: str, field: str) -> Fill:
        pieces: list[Fill | bytes] = []
        end = 0
        for token in TOKEN.finditer(text):
            pieces.append(text[end : token.start()].encode())
            end = token.end()
            if token[0] in ("{{", "}}"):
                pieces.append(token[0][:1].encode())
            elif token[1] is None:
                raise PlanError(f"{field}: `{text}`: a lone `{token[0]}`; write {token[0] * 2} for a brace")
            else:
                pieces.append(self._placeholder(token[1], text, field))
        pieces.append(text[end:].encode())
        return _joined([piece for piece in pieces if piece])

    def _placeholder(self, name: str, text: str, field: str) -> Fill:
        if name in self._named:
            return self._named[name]
        if (found := OTHER.fullmatch(name)) and int(found[1]) > 1:
            place, prefix = int(found[1]) - 2, self._prefix
            return lambda f: b"%b%012d" % (prefix, f.others[place])
        self._salt = salt = mix(self._salt)
        seed = self._texts.seed ^ salt
        if (found := UNIFORM.fullmatch(name)) and int(found[1]) <= int(found[2]):
            low, span = int(found[1]), int(found[2]) - int(found[1]) + 1
            return lambda f: b"%d" % (low + Xoshiro(seed, f.seq).below(span))
        if (found := RANDOM.fullmatch(name)) and int(found[1]) > 0:
            letters = int(found[1])
            return lambda f: _letters(Xoshiro(seed, f.seq), letters)
        raise PlanError(f"{field}: `{text}`: unknown placeholder {{{name}}}")


def _letters(numbers: Xoshiro, count: int) -> bytes:
    text = b"".join(numbers.next().to_bytes(8, "little") for _ in range(-(-count // 8)))
    return text[:count].translate(SMALL)


def _joined(pieces: list[Fill | bytes]) -> Fill:
    """One function for all pieces; most arguments have one."""
    if all(isinstance(piece, bytes) for piece in pieces):
        literal = b"".join(piece for piece in pieces if isinstance(piece, bytes))
        return lambda _: literal
    if len(pieces) == 1 and not isinstance(pieces[0], bytes):
        return pieces[0]
    return lambda f: b"".join(piece if isinstance(piece, bytes) else piece(f) for piece in pieces)
