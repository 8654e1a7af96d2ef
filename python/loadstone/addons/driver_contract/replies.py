"""Whether a driver calls correct what is correct, and names what is wrong, for replies of every kind."""

import json
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from loadstone.addons.driver_contract.lab import NIL, OK, Lab, items, of, require, scripted, text
from loadstone.addons.driver_contract.sent import Texts
from loadstone.drivers.outcome import DriveRecord
from loadstone.experiment.plan.drive_plan import Closed, Documents, Keys, Phases, Plan, Pool, Verify
from loadstone.experiment.plan.endpoints import Endpoint
from loadstone.experiment.plan.operations import Expect, Operation, ServerCommand

SEED, PAYLOAD, FIELD = 5, 20, 4
TEXTS = Texts(SEED, PAYLOAD, FIELD)
FIRST = TEXTS.parts(0, 1)
PARTS = ("body", "field", "id", "version")
OTHER_FIELD, OTHER_BODY = TEXTS.field(0, 2), TEXTS.body(0, 2)
CORRECT = ""
CODES = (
    *("ERR", "ASK", "BUSY", "BUSYGROUP", "BUSYKEY", "CLUSTERDOWN", "CROSSSLOT", "EXECABORT", "LOADING", "MASTERDOWN"),
    *("MISCONF", "MOVED", "NOAUTH", "NOPERM", "NOPROTO", "NOREPLICAS", "NOSCRIPT", "OOM", "READONLY", "TRYAGAIN"),
    *("UNBLOCKED", "WRONGPASS", "WRONGTYPE"),
)
"""First words of errors that are kinds of their own."""
COMMANDS: dict[str, str] = {"ok": "JSON.SET", "integer": "INCRBY", "positive": "INCRBY", "hash": "HGETALL"}
"""What is sent, for libraries that read a reply by its command; elsewhere GET. (redis-py makes False of each wrong
reply to SET.)"""


@dataclass(frozen=True)
class Case:
    """A reply to an operation on the only key, and what it must be called; empty if it is correct."""

    expect: Expect
    reply: bytes
    verdict: str
    command: str = ""
    """The command that is sent, where it is not that of `COMMANDS`."""


def _integer(number: int) -> bytes:
    return b":%d\r\n" % number


def _pairs(parts: dict[str, str]) -> bytes:
    return items([word for pair in parts.items() for word in pair])


def _document(**changed: str) -> bytes:
    return text(TEXTS.document(0, 1, **changed))


CASES = (
    Case("any", text("x"), CORRECT),
    Case("any", NIL, CORRECT),
    Case("ok", OK, CORRECT),
    Case("ok", text("OK"), CORRECT),
    Case("ok", b"+PONG\r\n", "wrong_reply"),
    Case("ok", _integer(1), "wrong_type"),
    Case("ok", NIL, "wrong_type"),
    Case("ok", b"-Existing key has wrong Redis type\r\n", "server_other"),
    Case("ok", b"-STRANGE new code\r\n", "server_other"),
    *(Case("value", f"-{code} 1234 127.0.0.1:1\r\n".encode(), f"server_{code.lower()}") for code in CODES),
    Case("integer", _integer(0), CORRECT),
    Case("integer", text("0"), "wrong_type"),
    Case("positive", _integer(1), CORRECT),
    Case("positive", _integer(0), "not_positive"),
    Case("positive", _integer(-3), "not_positive"),
    Case("item", text("x"), CORRECT),
    Case("item", NIL, "nil_reply"),
    Case("value", NIL, CORRECT),
    Case("value", text(TEXTS.value(0, 1)), CORRECT),
    Case("value", text("x" * PAYLOAD), CORRECT),
    Case("value", text("x" * (PAYLOAD - 1)), "wrong_reply"),
    Case("value", _integer(3), "wrong_type"),
    Case("document", _document(), CORRECT),
    Case("document", text(f"[{TEXTS.document(0, 1)}]"), CORRECT),
    Case("document", text(json.dumps(dict(reversed(FIRST.items())))), CORRECT),
    Case("document", text(TEXTS.document(0, 2)), "wrong_reply"),
    Case("document", text(TEXTS.document(0, 0)), "wrong_reply"),
    Case("document", text(TEXTS.document(1, 1)), "wrong_reply"),
    Case("document", _document(field=OTHER_FIELD), "wrong_reply"),
    Case("document", _document(body=OTHER_BODY), "wrong_reply"),
    Case("document", _document(author="someone"), "wrong_reply"),
    Case("document", text(TEXTS.document(0, 1)[:-1]), "wrong_reply"),
    Case("document", text(""), "wrong_reply"),
    Case("document", NIL, "missing"),
    Case("hash", _pairs(FIRST), CORRECT),
    Case("hash", _pairs({part: FIRST[part] for part in PARTS}), CORRECT),
    Case("hash", _pairs(FIRST | {"author": "someone"}), "wrong_reply"),
    Case("hash", _pairs(FIRST | {"more": "x"}), "wrong_reply"),
    Case("hash", _pairs({part: FIRST[part] for part in PARTS[1:]}), "wrong_reply"),
    Case("hash", items([]), "missing"),
    Case("hash", text("x"), "wrong_type", "GET"),
    Case("field", text(FIRST["field"]), CORRECT),
    Case("field", text("aZ9b"), CORRECT),
    Case("field", text("aZ9"), "wrong_reply"),
    Case("field", text('a"9b'), "wrong_reply"),
    Case("field", NIL, "missing"),
    Case("field_array", text(f'["{FIRST["field"]}"]'), CORRECT),
    Case("field_array", text("[]"), "missing"),
    Case("field_array", text(FIRST["field"]), "wrong_reply"),
)
"""Replies to a key that is loaded, and that nobody writes."""
UNKNOWN = (
    Case("document", NIL, CORRECT),
    Case("hash", items([]), CORRECT),
    Case("field", NIL, CORRECT),
    Case("field_array", text("[]"), CORRECT),
)
"""Replies to a key that may not be there."""


def verdicts(lab: Lab) -> str:
    """Each reply is called what it is, also where others write, and more strictly where a key is read back."""
    with ThreadPoolExecutor(3) as beside:  # most of it is the start of a program
        done = [
            beside.submit(judged, lab, CASES, loaded=True),
            beside.submit(judged, lab, UNKNOWN, loaded=False),
            beside.submit(_while_written, lab),
            *(beside.submit(_read_back, lab, *case) for case in _READ_BACKS if lab.can("read_back")),
        ]
        for each in done:
            each.result()
    return f"{len(CASES) + len(UNKNOWN)} replies, each called what it is"


def judged(lab: Lab, cases: Sequence[Case], *, loaded: bool) -> None:
    """Each of these replies is called what it is, in one drive. Raises Wrong."""
    names = [f"{case.expect}-{number}" for number, case in enumerate(cases)]
    operations = [
        of(name, case.command or COMMANDS.get(case.expect, "GET"), "{key}", name, expect=case.expect)
        for name, case in zip(names, cases, strict=True)
    ]
    replies = {name.encode(): case.reply for name, case in zip(names, cases, strict=True)}
    answered: Counter[bytes] = Counter()

    def answer(command: list[bytes]) -> bytes:
        answered[command[-1]] += 1
        return replies[command[-1]]

    with scripted(answer) as server:
        record = lab.drive(_plan(lab, server.port, operations, loaded=loaded))
    for name, case in zip(names, cases, strict=True):
        _require_called(record, name, case.verdict, f"{case.expect}, to {case.reply[:60]!r}")
    due: Counter[str] = Counter()
    for name, case in zip(names, cases, strict=True):
        if case.verdict:
            due[case.verdict] += answered[name.encode()]
    require(record.total.errors == due, f"errors {record.total.errors}, and {dict(due)} were given")


def _require_called(record: DriveRecord, operation: str, verdict: str, what: str) -> None:
    """All replies to an operation were called this."""
    counts = record.operations[operation].counts
    outcomes = counts.errors | ({"ok": counts.ok} if counts.ok else {})
    require(set(outcomes) == {verdict or "ok"}, f"{what}: {outcomes or 'it was not carried out'}")


def _plan(
    lab: Lab,
    port: int,
    operations: Sequence[Operation],
    *,
    keys: int = 1,
    loaded: bool = True,
    read_back_max: int = 0,
) -> Plan:
    return lab.plan(
        *operations,
        endpoint=Endpoint(port=port),
        model=Closed(users=1),
        pool=Pool(connections=1),
        phases=_phases(lab),
        keys=Keys(prefix="", count=keys, loaded=loaded),
        documents=Documents(payload_bytes=PAYLOAD, field_bytes=FIELD),
        verify=Verify(read_back_max=read_back_max),
        seed=SEED,
    )


def _phases(lab: Lab) -> Phases:
    """Until each of some 70 operations was drawn, however slow the machine is."""
    until = {"measure_operations": 1500, "measure_max_s": 60.0} if lab.can("measure_operations") else {}
    return Phases(warm_up_s=0.0, measure_s=0.1 if until else 2.0, drain_s=2.0, **until)


def _while_written(lab: Lab) -> None:
    """Any version that was begun is correct, with a field of any; one that was not is not."""
    newest, operations = 1, [of("write", "SET", "{key}", "{field}", expect="ok", writes="field")]
    replies: dict[bytes, tuple[Callable[[], str], str]] = {
        b"oldest": (lambda: TEXTS.document(0, 1), CORRECT),
        b"newest": (lambda: TEXTS.document(0, newest), CORRECT),
        b"field": (lambda: TEXTS.document(0, 1, field="aZ9b"), CORRECT),
        b"none": (lambda: TEXTS.document(0, 1, field='a"9b'), "wrong_reply"),
        b"later": (lambda: TEXTS.document(0, newest + 1), "wrong_reply"),
    }
    operations += [of(name.decode(), "GET", "{key}", name.decode(), expect="document") for name in replies]

    def answer(command: list[bytes]) -> bytes:
        nonlocal newest
        if command[0].upper() == b"SET":
            newest += 1
            return OK
        return text(replies[command[-1]][0]())

    with scripted(answer) as server:
        record = lab.drive(_plan(lab, server.port, operations))
    for name, (_, verdict) in replies.items():
        _require_called(record, name.decode(), verdict, f"of a key that is written, the document '{name.decode()}'")


_Stands = Callable[[int, int], str]
"""What stands at a key, by its number and the version that was written last."""
_READ_BACKS: tuple[tuple[Expect, str, _Stands, _Stands], ...] = (
    ("value", "{value}", TEXTS.value, lambda _key, _version: "x" * PAYLOAD),
    ("document", "{document}", TEXTS.document, lambda key, version: TEXTS.document(key, version - 1)),
    ("field", "{field}", TEXTS.field, lambda key, version: TEXTS.field(key, version - 1)),
    (
        "document",
        "{field}",
        lambda key, version: TEXTS.document(key, 1, field=TEXTS.field(key, version)),
        lambda key, _version: TEXTS.document(key, 1),
    ),
)
"""What is expected of a key that is read back, what was written, and what stands there: that, or something else."""
_KEYS, _WRONG = 3, 1
"""Three keys are read back; one of them holds something else."""


def _read_back(lab: Lab, expect: Expect, written: str, right: _Stands, wrong: _Stands) -> None:
    versions: Counter[int] = Counter()

    def answer(command: list[bytes]) -> bytes:
        key = int(command[1])
        if command[0].upper() == b"SET":
            versions[key] += 1
            return OK
        return text((wrong if key == _WRONG else right)(key, 1 + versions[key]))

    back = ServerCommand(args=("GET", "{key}"), expect=expect)
    writes = "field" if written == "{field}" else "document"
    operation = of("set", "SET", "{key}", written, expect="ok", writes=writes, read_back=back)
    with scripted(answer) as server:
        read = lab.drive(_plan(lab, server.port, [operation], keys=_KEYS, read_back_max=64)).read_back
    what = f"after a SET of {written} a {expect} that is another at one key of {_KEYS}"
    require((read.checked, read.wrong) == (_KEYS, 1), f"{what}: {read.wrong} wrong of {read.checked} read back")
