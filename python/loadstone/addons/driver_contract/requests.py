"""Whether a driver requests what its plan says: keys by their distribution, and arguments with the right texts."""

import re
from collections import defaultdict
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from math import exp, pow, sqrt

from loadstone.addons.driver_contract.lab import OK, Lab, of, require, scripted, text
from loadstone.addons.driver_contract.sent import Texts
from loadstone.experiment.plan.drive_plan import Closed, Documents, Keys, Phases, Pool, Verify
from loadstone.experiment.plan.endpoints import Endpoint
from loadstone.experiment.plan.operations import Command, Operation

KEYS = 50
PREFIX = "loadstone:contract:"
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
    keys = Keys(prefix=PREFIX, count=KEYS, distribution=distribution, **law)
    lab.drive(lab.plan(of("count", "INCR", "{key}", expect="positive"), keys=keys))
    with lab.server.control() as control:
        names = [f"{PREFIX}{key:012d}" for key in range(KEYS)]
        counts = [int(count or 0) for count in control.call("MGET", *names)]  # type: ignore[attr-defined]
    lab.forget()
    what = f"{distribution} {parameter:g}: keys of {sum(counts):,} operations"
    if distribution == "sequential":
        require(max(counts) - min(counts) <= 1, f"{what} were taken {min(counts)} to {max(counts)} times each")
        return 1.0
    weights = [_weight(distribution, parameter, key) for key in range(KEYS)]
    due = [weight / sum(weights) * sum(counts) for weight in weights]
    statistic = sum((count - mean) ** 2 / mean for count, mean in zip(counts, due, strict=True) if mean >= 1)
    deviation = statistic / (KEYS - 1)
    require(deviation < 1 + 6 * sqrt(2 / KEYS), f"{what} deviate from the law, by {deviation:.1f} times what is due")
    return deviation


def _weight(distribution: str, parameter: float, key: int) -> float:
    if distribution == "zipf":
        return pow(key + 1, -parameter)
    if distribution == "gaussian":
        return sum(exp(-((((key + (part + 0.5) / 100) / KEYS - 0.5) / parameter) ** 2) / 2) for part in range(100))
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
    return Phases(warm_up_s=0.0, measure_s=0.3 if until else 0.5, drain_s=2.0, **until)


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
        Command(args=("GETEX", "{key}"), expect="document"),
        Command(args=("SET", "{key}", "{changed}"), expect="ok"),
    ),
    writes="field",
)
