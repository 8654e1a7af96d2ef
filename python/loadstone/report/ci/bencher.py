"""`--bencher`: a gate in Bencher's own JSON (BMF): `bencher run --adapter json --file FILE`.

Of each figure there are the head's and its ratio to the base: the ratio was measured in turns and has an interval, and
the figure alone differs from machine to machine.
"""

import json
from typing import Any

from loadstone.judge.gate_result import GateResult
from loadstone.report import format as fmt

MEASURES = {"rate": "throughput", "cpu": "cpu-per-request", "p99": "latency-p99", "memory": "memory"}
"""`throughput` is one of Bencher's own."""
_NAME_MAX = 200


def bencher(result: GateResult, name: str = "loadstone gate") -> str:
    """The document; a gate without figures has none, nor has one that is invalid."""
    measures: dict[str, Any] = {}
    for figure in result.figures if result.verdict != "invalid" else ():
        measure = MEASURES[figure.name]
        if figure.head is not None:
            measures[measure] = {"value": figure.head}
        if figure.ratio is not None:
            ends = {"lower_value": figure.low, "upper_value": figure.high}
            known = {end: value for end, value in ends.items() if value is not None}
            measures[f"{measure}-ratio"] = {"value": figure.ratio, **known}
    return json.dumps({fmt.plain(name)[:_NAME_MAX]: measures} if measures else {}, indent=1) + "\n"
