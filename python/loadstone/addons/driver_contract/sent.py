"""What a driver sends, held against its plan: the counts of the server, keys by their distribution, and every text."""

import re
from collections import defaultdict
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import islice
from math import exp, pow, sqrt

from loadstone.addons.driver_contract.lab import GET, OK, PREFIX, SET, UPDATE, Lab, of, require, scripted, text
from loadstone.drivers.driver import drive_alone
from loadstone.drivers.native import NativeDriver
from loadstone.drivers.outcome import DriveRecord
from loadstone.experiment.plan.drive_plan import Closed, Documents, Keys, Phases, Plan, Pool, Verify
from loadstone.experiment.plan.endpoints import Endpoint
from loadstone.experiment.plan.operations import Operation, ServerCommand

POOLS = (1, 8, 64)
LONGER_S = 5.0
"""Time in which each kind comes, where another program had the CPU in the usual one."""


def counts_at(lab: Lab, connections: int) -> str:
    """All that is counted with a pool of so many connections is what the server counted."""
    return f"{operations_at(lab, connections):,} operations, each command as the server counted it"


def operations_at(lab: Lab, connections: int) -> int:
    """A mix of reads and writes: what was sent, what the server executed, and how many connections it got.

    The operations that ended correctly. Raises Wrong.
    """
    plan = lab.plan(
        SET,
        GET,
        UPDATE,
        model=Closed(users=connections),
        pool=Pool(connections=connections),
        keys=Keys(prefix=PREFIX, count=200, loaded=True),
    )
    lab.store(plan, SET)
    with lab.counted() as executed:
        record = lab.drive(plan)
    lab.forget()
    total = record.total
    require(record.stopped is None, f"it stopped early: {record.stopped}")
    require(not total.errors and not total.timeouts, f"errors {total.errors}, {total.timeouts} timeouts")
    require(total.ok > 0, "no operation was carried out")
    require(total.in_flight + total.unsent == 0, f"{total.in_flight} operations in flight, {total.unsent} unsent")
    for name, command in record.commands.items():
        counted = executed.get(name, 0)
        require(counted == command.replied, f"{name}: {command.replied} replies, and the server executed {counted}")
    require(record.read_back.wrong == 0, f"{record.read_back.wrong} keys read back hold something else")
    checked = record.read_back.checked
    require(checked > 0 or not lab.can("read_back"), "no key was read back")
    opened = record.connections.opened
    require(opened >= 1 and record.connections.open_at_end <= connections, f"{opened} connections were opened")
    require(total.ok == _of_intervals(lab), f"{total.ok} correct, and {_of_intervals(lab)} in all intervals")
    return total.ok


def _of_intervals(lab: Lab) -> int:
    return sum(operation.ok for interval in lab.intervals for operation in interval.operations.values())


def connections(lab: Lab) -> str:
    """With more users than connections no more are open than the pool has, and users wait."""
    plan = lab.plan(SET, model=Closed(users=32), pool=Pool(connections=4), phases=_long(lab))
    most = 0
    with lab.server.control() as control:
        before = int(control.info("clients")["connected_clients"])  # type: ignore[attr-defined]

        def look(interval: object) -> None:
            nonlocal most
            lab.intervals.append(interval)  # type: ignore[arg-type]
            most = max(most, int(control.info("clients")["connected_clients"]) - before)  # type: ignore[attr-defined]

        record = drive_alone(lab.client.driver, plan, look)
    lab.forget()
    require(most <= 4, f"the server had {most} connections of it, and the pool has 4")
    program = record.program
    if program is None or not program.reports_pool_wait:
        return f"at most {most} of 4; the library does not report how long an operation waits"
    # Where a pool is not fair some users wait all the time, and what they wait for began before the measure phase.
    operation = record.operations["set"]
    took_ns = operation.response_sum_ns + operation.earlier_ns
    served_ns = operation.service_ns.mean * operation.service_ns.count
    waited = 1 - served_ns / max(1, took_ns)
    require(record.pool_wait_ns.mean > 0, "no operation waits for its connection")
    require(waited > 0.5, f"32 users wait {waited:.0%} of their time for 4 connections")
    return f"at most {most} of 4; users wait {waited:.0%} of their time"


def _long(lab: Lab) -> Phases:
    return lab.plan(SET).phases.model_copy(update={"measure_s": 1.0})


def each_key_once(lab: Lab) -> str:
    """Every key is written exactly once, with the texts that every driver makes: the native engine reads them."""
    keys = Keys(prefix=PREFIX, count=200, distribution="exactly_once")
    phases = Phases(warm_up_s=0.0, measure_s=0.001, measure_max_s=20.0)
    hash_ = of(
        "set", "HSET", "{key}", "id", "{id}", "version", "{version}", "field", "{field}", "body", "{body}",
        expect="integer", writes="document",
    )  # fmt: skip
    for stored, read in ((SET, GET), (hash_, of("get", "HGETALL", "{key}", expect="hash"))):
        plan = lab.plan(stored, keys=keys, phases=phases)
        record = lab.drive(plan)
        require(record.total.ok == keys.count, f"{record.total.ok} of {keys.count} keys were written")
        record_read = _read_natively(plan, read)
        require(
            record_read.total.ok == keys.count,
            f"of {keys.count} keys {record_read.total.errors} are not as they must be",
        )
        lab.forget()
    return f"{keys.count} documents and {keys.count} hashes, all as the native engine expects them"


def _read_natively(plan: Plan, read: Operation) -> DriveRecord:
    keys = plan.keys.model_copy(update={"loaded": True})
    return drive_alone(NativeDriver(), plan.model_copy(update={"operations": (read,), "keys": keys}))


def expectations(lab: Lab) -> str:
    """Replies of every kind that are correct, over commands of several types."""
    operations = (
        of("integer", "INCRBY", "{key}:n", "{uniform 1..10}", expect="integer"),
        of("positive", "SADD", "{key}:s", "{random 10 lowercase}{seq}", expect="positive"),
        of("value", "SET", "{key}:v", "{value}", expect="ok", writes="document"),
        of("nil", "GET", "{key}:none", expect="value"),
        Operation(
            name="item",
            commands=(
                ServerCommand(args=("RPUSH", "{key}:l", "{{x}}"), expect="integer"),
                ServerCommand(args=("LPOP", "{key}:l"), expect="item"),
            ),
        ),
        of("field", "HSET", "{key}:h", "field", "{field}", expect="integer", writes="field"),
    )
    plan = lab.plan(*operations, model=Closed(users=1), pool=Pool(connections=1))
    for measure_s in (plan.phases.measure_s, LONGER_S):
        record = lab.drive(plan.model_copy(update={"phases": plan.phases.model_copy(update={"measure_s": measure_s})}))
        with lab.server.control() as control:
            control.remove_beginning(PREFIX)  # type: ignore[attr-defined]
        kinds = record.operations.items()
        errors = {name: operation.counts.errors for name, operation in kinds if operation.counts.errors}
        require(not errors, f"errors {errors}")
        missing = [name for name, operation in kinds if not operation.counts.ok]
        if not missing:
            break
    require(not missing, f"operation {', '.join(missing)} was not carried out")
    return f"{record.total.ok:,} replies of {len(operations)} kinds"


def wrong_replies(lab: Lab) -> str:
    """Documents of another seed, keys that are not there, and values of another type are found."""
    plan = lab.plan(GET, keys=Keys(prefix=PREFIX, count=200, loaded=True))
    lab.store(plan.model_copy(update={"seed": plan.seed + 1}), SET)
    _all(lab, plan, "wrong_reply")
    lab.forget()
    _all(lab, plan, "missing")
    with lab.server.control() as control:
        for number in range(200):
            control.call("RPUSH", f"{PREFIX}{number:012d}", "x")  # type: ignore[attr-defined]
    _all(lab, plan, "server_wrongtype")
    lab.forget()
    _all(lab, lab.plan(of("get", "GET", "{key}", expect="integer")), "wrong_type")
    return "wrong_reply, missing, server_wrongtype, wrong_type"


def _all(lab: Lab, plan: Plan, kind: str) -> None:
    total = lab.drive(plan).total
    count = total.errors.get(kind, 0)
    require(count > 0 and count == total.sent, f"{count} of {total.sent} replies are '{kind}', {total.errors}")


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


DRAWN_KEYS = 50
LAWS: tuple[tuple[str, float], ...] = (
    ("sequential", 0.0),
    ("uniform", 0.0),
    ("zipf", 0.3),
    ("zipf", 1.0),
    ("zipf", 2.5),
    ("gaussian", 0.15),
    ("gaussian", 0.5),
)
"""Distributions, with an exponent or a deviation."""
PLANS = ((5, 100, 10, 12), (1, 2, 1, 12), (2**63 - 1, 1000, 10, 10**12))
"""Seeds, bytes of a payload and of its field, numbers of keys."""
LETTERS = re.compile(rb"([a-z]{10})/([a-z]{10})")


def distributions(lab: Lab) -> str:
    """Keys follow the law that the plan names: counted by the Redis, and held against it by Pearson's statistic."""
    claimed = [law for law in LAWS if law[0] in lab.chosen.manifest.can.distributions]
    worst = max(_deviation(lab, *law) for law in claimed)
    return f"{len(claimed)} laws, at most {worst:.1f} times the deviation that is due"


def _deviation(lab: Lab, distribution: str, parameter: float) -> float:
    """Pearson's statistic of a drive's keys by its degrees of freedom: about 1 where they follow the law."""
    law = {"zipf": {"zipf_exponent": parameter}, "gaussian": {"gaussian_sd": parameter}}.get(distribution, {})
    keys = Keys(prefix=PREFIX, count=DRAWN_KEYS, distribution=distribution, **law)
    lab.drive(lab.plan(of("count", "INCR", "{key}", expect="positive"), keys=keys))
    with lab.server.control() as control:
        names = [f"{PREFIX}{key:012d}" for key in range(DRAWN_KEYS)]
        counts = [int(count or 0) for count in control.call("MGET", *names)]  # type: ignore[attr-defined]
    lab.forget()
    what = f"{distribution} {parameter:g}: keys of {sum(counts):,} operations"
    if distribution == "sequential":
        require(max(counts) - min(counts) <= 1, f"{what} were taken {min(counts)} to {max(counts)} times each")
        return 1.0
    weights = [_weight(distribution, parameter, key) for key in range(DRAWN_KEYS)]
    due = [weight / sum(weights) * sum(counts) for weight in weights]
    statistic = sum((count - mean) ** 2 / mean for count, mean in zip(counts, due, strict=True) if mean >= 1)
    deviation = statistic / (DRAWN_KEYS - 1)
    require(
        deviation < 1 + 6 * sqrt(2 / DRAWN_KEYS), f"{what} deviate from the law, by {deviation:.1f} times what is due"
    )
    return deviation


def _weight(distribution: str, parameter: float, key: int) -> float:
    if distribution == "zipf":
        return pow(key + 1, -parameter)
    if distribution == "gaussian":
        return sum(
            exp(-((((key + (part + 0.5) / 100) / DRAWN_KEYS - 0.5) / parameter) ** 2) / 2) for part in range(100)
        )
    return 1.0


def several_keys(lab: Lab) -> str:
    """`{key2}` to `{key12}` are other keys than `{key}` and than each other, also where there are no more."""
    claimed = {law for law, _ in LAWS} & set(lab.chosen.manifest.can.distributions)
    with ThreadPoolExecutor(2) as beside:
        drawn = sum(beside.map(partial(_all_different, lab), claimed))
    return f"{drawn:,} operations, each with 12 different keys"


def _all_different(lab: Lab, distribution: str) -> int:
    drawn: list[list[bytes]] = []

    def answer(command: list[bytes]) -> bytes:
        drawn.append(command[1:])
        return OK

    named = ("{key}", *(f"{{key{number}}}" for number in range(2, 13)))
    keys = Keys(prefix=PREFIX, count=12, distribution=distribution)
    with scripted(answer) as server:
        plan = lab.plan(of("get", "MGET", *named, expect="any"), endpoint=Endpoint(port=server.port), keys=keys)
        lab.drive(plan)
    same = next((keys for keys in drawn if len(set(keys)) < 12), None)
    require(bool(drawn), "no operation was carried out")
    require(same is None, f"{distribution}: an operation had the same key twice: {b' '.join(same or [])!r}")
    return len(drawn)


def arguments(lab: Lab) -> str:
    """Every placeholder stands for what it should, of short texts and long ones, small seeds and large."""
    with ThreadPoolExecutor(2) as beside:
        checked = sum(beside.map(lambda plan: _filled(lab, *plan), PLANS))
    return f"the arguments of {checked:,} operations"


_ARGUMENTS = (
    *("{key}", "{id}/{version}", "{field_json}", "{field}", "{body}", "{value}", "{document}", "{{x}} größe", "{seq}"),
    *("{uniform -2..2}", "{random 10 lowercase}/{random 10 lowercase}"),
)


def _filled(lab: Lab, seed: int, payload: int, field: int, count: int) -> int:
    texts = Texts(seed, payload, field)
    sent: list[list[bytes]] = []
    changed: defaultdict[int, list[bytes]] = defaultdict(list)

    def answer(command: list[bytes]) -> bytes:
        if command[0] == b"GETEX":
            return text(texts.document(int(command[1][-12:]), 1))
        if command[0] == b"SET":
            changed[int(command[1][-12:])].append(command[2])
        else:
            sent.append(command[1:])
        return OK

    with scripted(answer) as server:
        lab.drive(
            lab.plan(
                of("all", "APPEND", *_ARGUMENTS, expect="any"),
                *((_UPDATE,) if count < 10**6 else ()),  # the versions of so many keys cannot be followed
                endpoint=Endpoint(port=server.port),
                model=Closed(users=1),
                pool=Pool(connections=1),
                phases=_phases(lab),
                keys=Keys(prefix=PREFIX, count=count, loaded=True),
                documents=Documents(payload_bytes=payload, field_bytes=field),
                verify=Verify(read_back_max=0),
                seed=seed,
            )
        )
    require(len(sent) > 20, f"{len(sent)} operations were carried out")
    for command in sent:
        for argument, text_, due in zip(_ARGUMENTS, command, _due(texts, command), strict=False):
            require(text_.decode() == due, f"seed {seed}: {argument} became {text_[:80]!r}, where {due[:80]!r} is due")
        require(bool(LETTERS.fullmatch(command[10])), f"{_ARGUMENTS[10]} became {command[10]!r}")
    for place in (8, 10):
        require(len({command[place] for command in sent}) == len(sent), f"{_ARGUMENTS[place]} was twice the same")
    drawn = {command[9] for command in sent}
    require(drawn == {b"-2", b"-1", b"0", b"1", b"2"}, f"{_ARGUMENTS[9]} became {sorted(drawn)}")
    for key, documents in changed.items():
        for version, document in enumerate(documents, 2):
            due = texts.document(key, 1, field=texts.field(key, version))
            require(document.decode() == due, f"{{changed}} became {document[:200]!r}, where {due[:200]!r} is due")
    return len(sent)


def _phases(lab: Lab) -> Phases:
    """Until every number was drawn, however slowly a runtime begins beside others."""
    until = {"measure_operations": 200, "measure_max_s": 30.0} if lab.can("measure_operations") else {}
    return Phases(warm_up_s=0.0, measure_s=0.1 if until else 0.5, drain_s=2.0, **until)


def _due(texts: Texts, command: list[bytes]) -> Iterator[str]:
    """What the first arguments must be, by the number and the version that the second one names."""
    key, version = map(int, command[1].split(b"/"))
    parts = texts.parts(key, version)
    yield f"{PREFIX}{key:012d}"
    yield f"{key:012d}/{version:010d}"
    yield f'"{parts["field"]}"'
    yield parts["field"]
    yield parts["body"]
    yield texts.value(key, version)
    yield texts.document(key, version)
    yield "{x} größe"


_UPDATE = Operation(
    name="update",
    commands=(
        ServerCommand(args=("GETEX", "{key}"), expect="document"),
        ServerCommand(args=("SET", "{key}", "{changed}"), expect="ok"),
    ),
    writes="field",
)
