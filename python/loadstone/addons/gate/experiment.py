"""`loadstone gate`: what its options make of an experiment."""

from collections.abc import Callable
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


def gate_fields(
    base: str, head: str, gate: GateOptions, *, restarts: bool, starts_differ: float
) -> Callable[[AdHocLoad], YamlMapping]:
    """What a gate puts into an ad-hoc experiment.

    `restarts`: whether both start again for each block, where that can be. `starts_differ`: the share by which starts
    of one version usually differ, where they do not. Raises UserError.
    """
    if restarts:
        require_no_guess(gate)
    differ = starts_differ if gate.starts_differ is None else gate.starts_differ
    return partial(_fields, base, head, gate, restarts, differ)


def _fields(
    base: str, head: str, gate: GateOptions, restarts: bool, starts_differ: float, ad_hoc: AdHocLoad
) -> YamlMapping:
    """Rate and CPU per request of head and base at full speed, and P99 at one rate of both."""
    old, new = ad_hoc.targets
    tolerance, names = gate.tolerance or TOLERANCE, {"base": base, "head": head}
    common: YamlMapping = {
        "between": TARGET_FACTOR,
        "levels": [new.label, old.label],
        "baseline": old.label,
        "at": {FACTOR: [row.name for row in ad_hoc.rows]},
    }
    rate: YamlMapping = {
        "name": GATE_RATE,
        "question": author_text("Is {head} slower than {base}?", **names),
        "metric": "goodput_per_s",
        "margin": tolerance,
    }
    p99: YamlMapping = {
        "name": GATE_P99,
        "question": author_text("Is the P99 of {head} higher than that of {base}, at the same rate?", **names),
        "metric": "response_ns.p99",
        "margin": gate.tolerance_p99 or TOLERANCE_P99,
    }
    asked = [p99] if ad_hoc.load.rate_per_s is not None else [rate, p99]
    if (recording := ad_hoc.workload.get("recording")) is not None:  # at its own speed the rate is the recording's
        asked = [p99] if "speed" in recording else [rate]
    return {
        "comparisons": [{**one, **common} for one in asked],
        "primary_metric": asked[0]["metric"],
        "gate": {
            **names,
            "level": gate.level or LEVEL,
            "figures": len(asked) + 2,
            "cost_margin": tolerance,
            "memory_margin": gate.tolerance_memory or TOLERANCE_MEMORY,
            "undecided": gate.undecided,
            "restarts": restarts,
            "starts_differ": starts_differ,
        },
    }


def gate_question(base: str, head: str, requests: str) -> str:
    """What a gate asks, in English."""
    return author_text("Is {head} slower than {base} under {requests}?", head=head, base=base, requests=requests)


def require_no_guess(gate: GateOptions) -> None:
    """Raises UserError where `--starts-differ` is given for versions that start again and again: that is measured."""
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
        question=gate_question(base.name, head.name, row.name),
        load=load,
        targets=targets,
        rows=(row,),
        workload={"protocol": "http1", "pipeline_depth": 1, "keys": {"count": requests.numbers}},
        columns=COLUMNS,
        twin=gate.twin,
        compared_by=gate_fields(base.name, head.name, gate, restarts=restarts, starts_differ=STARTS_DIFFER),
    )


def _targets(base: GateSubject, head: GateSubject, requests: HttpRequests) -> tuple[tuple[Target, ...], LoadRow]:
    """Both versions, at URLs each with what is requested of it, and the row that both have in common."""
    sides = ((BASE, base), (HEAD, head))
    if not base.url:
        return tuple(Target(part, part, side.settings) for part, side in sides), requests.row
    services = requests.of_each({f"--{part}-url": side.url for part, side in sides})
    targets = (Target(part, part, {"url": url}, (row,)) for (part, _), (url, row) in zip(sides, services, strict=True))
    return tuple(targets), services[0][1]
