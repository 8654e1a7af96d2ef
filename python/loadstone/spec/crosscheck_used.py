"""Whether the load, the servers or the rows depend on each factor at all.

Levels that nothing uses are measured alike, and their comparison ends in a confident EQUIVALENT about nothing.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from loadstone.spec.experiment import Experiment
from loadstone.spec.levels import factors_in
from loadstone.spec.yaml_text import in_one_line

_PARTS = ("servers", "subjects", "data", "workload")
"""What a trial is made of. What `--quick` and `--as-published` replace is measured by those alone."""


def check_used(experiment: Experiment) -> None:
    """Raises UserError for the first factor of several levels that no text and no `when` of a trial names."""
    parts = [experiment.source.data.get(part) for part in _PARTS]
    used = {name for part in parts for name in _names(part)}
    for name, factor in experiment.factors.items():
        if len(factor.levels) > 1 and name not in used and not factor.alike:
            problem = "nothing uses it: its levels would be measured alike; write"
            when = in_one_line({name: [factor.levels[0]]})
            remedy = f"${{{name}}} or when: {when}, or alike: true if that is meant"
            raise experiment.source.error(("factors", name), f"{problem} {remedy}")


def _names(data: Any) -> Iterator[str]:
    """The factors that stand in texts and in each `when`."""
    if isinstance(data, str):
        yield from factors_in(data)
    elif isinstance(data, Mapping):
        when = data.get("when")
        yield from when if isinstance(when, Mapping) else ()
        for value in data.values():
            yield from _names(value)
    elif isinstance(data, list | tuple):
        for item in data:
            yield from _names(item)
