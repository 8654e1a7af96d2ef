"""Counts how many conditions, pairs and trials an experiment makes, before any of them is made."""

import math
from collections.abc import Collection, Mapping

from loadstone.experiment.spec.experiment import ComparisonSpec, Experiment
from loadstone.experiment.spec.yaml_text import Path
from loadstone.text.message import said

CONDITIONS_MAX = 10_000
"""Limit for all tables, comparisons, effects, crashes and goals together: each is planned before the run."""
TRIALS_MAX = 100_000
"""Limit for a run, if every comparison goes on to its last look."""


def check_counts(experiment: Experiment) -> None:
    """Raises UserError where the levels multiply to more conditions than can be planned; with the factors."""
    total = 0
    for index, table in enumerate(experiment.tables):
        total = _within(experiment, ("tables", index, "vary"), total, table.vary)
    for index, comparison in enumerate(experiment.comparisons):
        for key, places in (("at", comparison.at), ("quick_at", comparison.quick_at or {})):
            total = _within(experiment, ("comparisons", index, key), total, places, _pairs(comparison))
    for index, effects in enumerate(experiment.effects):
        varied = {name: experiment.factors[name].levels for name in effects.factors}
        total = _within(experiment, ("effects", index, "factors"), total, varied, len(varied))
    for key, part in experiment.parts.items():
        if part.varied is not None:
            total = _within(experiment, (key, "vary"), total, part.varied)
    for index, crash in enumerate(experiment.crashes):
        total = _within(experiment, ("crashes", index, "vary"), total, crash.vary, crash.times)
    for index, goal in enumerate(experiment.goals):
        total = _within(experiment, ("goals", index, "vary"), total, goal.vary)


def _pairs(comparison: ComparisonSpec) -> int:
    """Return how often two levels are compared at each place."""
    levels = len(comparison.levels)
    return math.comb(levels, 2) if comparison.baseline is None else levels


def _within(
    experiment: Experiment, path: Path, before: int, vary: Mapping[str, Collection[object]], times: int = 1
) -> int:
    """What was found before, and what these factors add. Raises UserError where it is too much."""
    total = before + times * math.prod(len(levels) for levels in vary.values())
    if total <= CONDITIONS_MAX:
        return total
    factors = " x ".join(f"{len(levels)} of {factor}" for factor, levels in vary.items()) or said("no factor varied")
    each = said(", {times:,} times each", times=times) if times > 1 else ""
    earlier = said(", after {before:,} before it", before=before) if before else ""
    problem = said(
        "makes {total:,} conditions or pairs ({factors}{each}{earlier})",
        total=total - before,
        factors=factors,
        each=each,
        earlier=earlier,
    )
    raise experiment.source.error(
        path,
        said(
            "{problem}; at most {most:,} in all: vary fewer levels",
            problem=problem,
            most=CONDITIONS_MAX,
        ),
    )
