"""What the operations of a plan are: drawn, filled, judged. All users share one."""

import threading
from collections import defaultdict, deque
from dataclasses import dataclass, field
from itertools import accumulate, count
from random import Random

from driver.judge import Expected, Judge, Strict
from driver.keys import key_picker, others
from driver.plan import Operation, Plan
from driver.random64 import mix
from driver.templates import Filling, Template
from driver.texts import Texts


@dataclass(slots=True)
class Key:
    """A key: its newest version that was begun, whether it holds a document for certain, writes without a reply."""

    version: int
    stored: bool
    writing: int = 0


@dataclass(slots=True)
class Request:
    """One operation on its way, and the command that it is at."""

    operation: "Prepared"
    filling: Filling
    expected: Expected
    alone: bool = True
    """No other write of the key was in flight when it began."""
    step: int = 0

    @property
    def template(self) -> Template:
        return self.operation.templates[self.step]

    def command(self) -> list[bytes | str]:
        return self.template.fill(self.filling)

    def go_on(self, reply: object) -> bool:
        """To the next command, after this correct reply; False if there is none."""
        self.filling.previous = reply if isinstance(reply, bytes) else b""
        self.step += 1
        return self.step < len(self.operation.templates)


@dataclass(frozen=True)
class Prepared:
    """An operation of the plan."""

    name: str
    writes: str
    templates: list[Template]
    read_back: Template | None
    strict: Strict
    others: int = 0
    """How many keys its commands name beside `{key}`."""


@dataclass
class ReadBack:
    """Keys that were read back after the drain."""

    checked: int = 0
    wrong: int = 0
    skipped: int = 0


@dataclass
class Workload:
    """Draws operations, and follows the versions of their keys."""

    plan: Plan
    read_back: ReadBack = field(default_factory=ReadBack)

    def __post_init__(self) -> None:
        plan = self.plan
        texts = Texts(plan.seed, plan.documents.payload_bytes, plan.documents.field_bytes)
        self._random = Random(plan.seed)
        self._operations = [_prepared(operation, at, plan, texts) for at, operation in enumerate(plan.operations)]
        self._thresholds = list(accumulate(operation.weight for operation in plan.operations))
        self._draw_key = key_picker(plan.keys, Random(mix(plan.seed)))
        self._judge = Judge(plan, texts)
        at_start = (1, True) if plan.keys.loaded else (0, False)
        self._keys: defaultdict[int, Key] = defaultdict(lambda: Key(*at_start))
        self._seq = count()
        self._lock = threading.Lock()
        self._recent: deque[tuple[Prepared, int, int]] = deque(maxlen=plan.verify.read_back_max)

    @property
    def names(self) -> list[str]:
        return [operation.name for operation in self._operations]

    def begin(self) -> Request | None:
        """The next operation; None once every key of `exactly_once` was taken."""
        operation = self._operations[0]
        if len(self._operations) > 1:
            (operation,) = self._random.choices(self._operations, cum_weights=self._thresholds)
        number = self._draw_key()
        if number is None:
            return None
        with self._lock:
            key = self._keys[number]
            alone = key.writing == 0
            if operation.writes != "nothing":
                key.version += 1
                key.writing += 1
            filling = Filling(number, key.version, next(self._seq))
            if operation.others:
                filling.others = others(self.plan.keys, self._draw_key, number, operation.others)
            return Request(operation, filling, Expected(number, key.version, key.stored, lambda: key.version), alone)

    def judge(self, request: Request, reply: object) -> str | None:
        """The kind of error that a reply is; None if it is correct."""
        return self._judge.judge(request.template.expect, request.expected, reply)

    def answered(self, request: Request, correct: bool) -> None:
        """The operation ended with a reply. (A write that was never answered may still happen.)"""
        operation, number = request.operation, request.filling.key
        if operation.writes == "nothing":
            return
        with self._lock:
            key = self._keys[number]
            key.writing -= 1
            key.stored |= correct and operation.writes == "document"
            if correct and request.alone and operation.read_back is not None:
                self._recent.append((operation, number, request.filling.version))

    def abandon(self, request: Request) -> None:
        """The operation was never sent: its write will not happen."""
        if request.operation.writes != "nothing":
            with self._lock:
                self._keys[request.filling.key].writing -= 1

    def read_backs(self) -> list[Request]:
        """What is to be read back after the drain, the newest write of each key first. Counts what is skipped."""
        requests: dict[int, Request] = {}
        taken = set()
        for operation, number, version in reversed(self._recent):
            if number in taken or operation.read_back is None:
                continue
            taken.add(number)
            if self._keys[number].version != version:
                self.read_back.skipped += 1
                continue
            reading = Prepared(operation.name, "nothing", [operation.read_back], None, operation.strict)
            expected = Expected(number, version, True, lambda version=version: version, operation.strict)  # type: ignore[misc]
            requests[number] = Request(reading, Filling(number, version, next(self._seq)), expected)
        return list(requests.values())


def _prepared(operation: Operation, at: int, plan: Plan, texts: Texts) -> Prepared:
    def template(place: str, number: int) -> Template:
        command = operation.read_back if number < 0 else operation.commands[number]
        assert command is not None
        return Template(command, f"operations[{at}].{place}", plan.keys.prefix, texts, mix(at << 20 | number + 1))

    templates = [template(f"commands[{number}]", number) for number in range(len(operation.commands))]
    read_back = None if operation.read_back is None else template("read_back", -1)
    named = max(one.others for one in templates)
    return Prepared(operation.name, operation.writes, templates, read_back, _strict(operation), named)


def _strict(operation: Operation) -> Strict:
    """How the read-back of an operation is judged."""
    if operation.read_back is None or operation.writes == "nothing":
        return Strict.NO
    if operation.writes == "field":
        return Strict.FIELD
    if operation.read_back.expect != "value":
        return Strict.DOCUMENT
    writes_value = any("{value}" in argument for command in operation.commands for argument in command.args)
    return Strict.VALUE if writes_value else Strict.NO
