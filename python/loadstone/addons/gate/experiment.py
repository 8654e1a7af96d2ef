"""`loadstone gate`: what its options make of an experiment."""

from dataclasses import dataclass
from functools import partial

from loadstone.addons.gate.options import LEVEL, TOLERANCE, TOLERANCE_MEMORY, TOLERANCE_P99, GateOptions
from loadstone.addons.gate.services import GateSubject
from loadstone.addons.gate.spec import BASE, GATE_P99, GATE_RATE, HEAD, STARTS_DIFFER
from loadstone.cli.ad_hoc_experiment import FACTOR, TARGET_FACTOR, AdHocLoad, Target
from loadstone.cli.http_command import COLUMNS
from loadstone.cli.http_requests import HttpRequests
from loadstone.cli.load import Load
from loadstone.cli.operations import LoadRow, YamlMapping
from loadstone.safety.errors import UserError
from loadstone.text.language import author_text


@dataclass(frozen=True)
class GateRequest:
    """What a gate is to say, and when."""

    base: str
    head: str
    level: float
    tolerance: float
    """Shares: of rate and CPU a request, of the P99, and of memory."""
    tolerance_p99: float
    tolerance_memory: float
    undecided: str = "status"
    restarts: bool = False
    """Whether both are started again for each block, where they can be."""
    starts_differ: float = 0.0
    """A share: by how much starts of one version differ, where they are not."""


def gate_fields(gate: GateRequest, ad_hoc: AdHocLoad) -> YamlMapping:
    """What a gate compares: rate and CPU a request of head and base at full speed, and P99 at one rate of both."""
    base, head = ad_hoc.targets
    names = {"base": gate.base, "head": gate.head}
    common: YamlMapping = {
        "between": TARGET_FACTOR,
        "levels": [head.label, base.label],
        "baseline": base.label,
        "at": {FACTOR: [row.name for row in ad_hoc.rows]},
    }
    rate: YamlMapping = {
        "name": GATE_RATE,
        "question": author_text("Is {head} slower than {base}?", **names),
        "metric": "goodput_per_s",
        "margin": gate.tolerance,
    }
    p99: YamlMapping = {
        "name": GATE_P99,
        "question": author_text("Is the P99 of {head} higher than that of {base}, at the same rate?", **names),
        "metric": "response_ns.p99",
        "margin": gate.tolerance_p99,
    }
    asked = [p99] if ad_hoc.load.rate_per_s is not None else [rate, p99]
    if (recording := ad_hoc.workload.get("recording")) is not None:  # at its own speed the rate is the recording's
        asked = [p99] if "speed" in recording else [rate]
    return {
        "comparisons": [{**one, **common} for one in asked],
        "primary_metric": asked[0]["metric"],
        "gate": {
            "base": gate.base,
            "head": gate.head,
            "level": gate.level,
            "figures": len(asked) + 2,
            "cost_margin": gate.tolerance,
            "memory_margin": gate.tolerance_memory,
            "undecided": gate.undecided,
            "restarts": gate.restarts,
            "starts_differ": gate.starts_differ,
        },
    }


def gate_asked(base: str, head: str, gate: GateOptions, *, restarts: bool, starts_differ: float) -> GateRequest:
    """What the options ask of a gate.

    `restarts`: whether both start again for each block, where that can be. `starts_differ`: what starts of one version
    usually differ by, where they do not. Raises UserError.
    """
    if restarts:
        require_no_guess(gate)
    return GateRequest(
        base=base,
        head=head,
        level=gate.level or LEVEL,
        tolerance=gate.tolerance or TOLERANCE,
        tolerance_p99=gate.tolerance_p99 or TOLERANCE_P99,
        tolerance_memory=gate.tolerance_memory or TOLERANCE_MEMORY,
        undecided=gate.undecided,
        restarts=restarts,
        starts_differ=starts_differ if gate.starts_differ is None else gate.starts_differ,
    )


def gate_question(base: str, head: str, requests: str) -> str:
    """What a gate asks, in English."""
    return author_text("Is {head} slower than {base} under {requests}?", head=head, base=base, requests=requests)


def require_no_guess(gate: GateOptions) -> None:
    """Raise UserError if `--starts-differ` is given for versions that start again and again: it is measured then.
    Raises UserError where `--starts-differ` says what is measured."""
    if gate.starts_differ is not None:
        raise UserError(
            "--starts-differ: both start again for each block, so what starts differ by is measured; leave it out"
        )


def http_gate(
    base: GateSubject, head: GateSubject, requests: HttpRequests, load: Load, gate: GateOptions, *, restarts: bool
) -> AdHocLoad:
    """Two versions of a service under the same requests. Raises UserError that names the option."""
    targets, row = _targets(base, head, requests)
    return AdHocLoad(
        command="gate",
        question=author_text(
            "Is {head} slower than {base} under {requests}?", head=head.name, base=base.name, requests=row.name
        ),
        load=load,
        targets=targets,
        rows=(row,),
        workload={"protocol": "http1", "pipeline_depth": 1, "keys": {"count": requests.numbers}},
        columns=COLUMNS,
        twin=gate.twin,
        compared_by=partial(
            gate_fields, gate_asked(base.name, head.name, gate, restarts=restarts, starts_differ=STARTS_DIFFER)
        ),
    )


def _targets(base: GateSubject, head: GateSubject, requests: HttpRequests) -> tuple[tuple[Target, ...], LoadRow]:
    """Both versions, at URLs each with what is requested of it, and the row that both have in common."""
    sides = ((BASE, base), (HEAD, head))
    if not base.url:
        return tuple(Target(part, part, side.settings) for part, side in sides), requests.row
    services = requests.of_each({f"--{part}-url": side.url for part, side in sides})
    targets = (Target(part, part, {"url": url}, (row,)) for (part, _), (url, row) in zip(sides, services, strict=True))
    return tuple(targets), services[0][1]
