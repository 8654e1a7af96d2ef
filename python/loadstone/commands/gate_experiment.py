"""`loadstone gate`: what its options make of an experiment."""

from loadstone.commands.ad_hoc import AdHoc, GateAsked, Target
from loadstone.commands.gate_options import LEVEL, TOLERANCE, TOLERANCE_MEMORY, TOLERANCE_P99, GateOptions
from loadstone.commands.gate_services import BASE, HEAD, Subject
from loadstone.commands.http_experiment import COLUMNS
from loadstone.commands.http_options import HttpWork
from loadstone.commands.load import Load
from loadstone.commands.operations import LoadRow, http_operations
from loadstone.commands.targets import http_target


def asked(base: str, head: str, gate: GateOptions, *, restarts: bool = False) -> GateAsked:
    """What the options ask of a gate."""
    return GateAsked(
        base=base,
        head=head,
        level=gate.level or LEVEL,
        tolerance=gate.tolerance or TOLERANCE,
        tolerance_p99=gate.tolerance_p99 or TOLERANCE_P99,
        tolerance_memory=gate.tolerance_memory or TOLERANCE_MEMORY,
        undecided=gate.undecided,
        twin=gate.twin,
        restarts=restarts,
    )


def http_gate(base: Subject, head: Subject, work: HttpWork, load: Load, gate: GateOptions, *, restarts: bool) -> AdHoc:
    """Two versions of a service under the same requests. Raises UserError that names the option."""
    paths = work.paths or ("/",)
    if base.url:
        paths = http_target(base.url, work.paths, "--base-url").paths
    row = LoadRow(f"{work.method} {', '.join(path.partition('?')[0] for path in paths)}"[:80], ())
    rows = tuple(LoadRow(row.name, tuple(http_operations(paths, work))) for _ in (base, head))
    return AdHoc(
        command="gate",
        question=f"Is {head.name} slower than {base.name} under {row.name}?",
        load=load,
        targets=(Target(BASE, BASE, base.settings), Target(HEAD, HEAD, head.settings)),
        rows=rows[:1],
        workload={"protocol": "http1", "pipeline_depth": 1, "keys": {"count": work.numbers}},
        columns=COLUMNS,
        gate=asked(base.name, head.name, gate, restarts=restarts),
    )
