"""What is measured on the days: small experiments, each with what it may end by."""

from dataclasses import replace
from functools import cache

from loadstone.experiment.plan.design.run_design import make_run_plan
from loadstone.experiment.spec.loading import load_experiment
from loadstone.machine.placement import Placement
from loadstone.run.prepare import Prepared

_TEXT = """\
format: 1
name: simulated
question: Is what happened what was recorded?
factors:
  operation: {levels: [get, set]}
tables:
  - {name: all, title: All, vary: {operation: [get, set]}}
{comparisons}
servers:
  redis: {server}
workload:
  model: {kind: closed, users: 4}
  pool: {connections: 4}
  phases: {warm_up_s: 100 ms, measure_s: 1 s, drain_s: 1 s}
  keys: {count: 250}
  operations:
    - {name: set, when: {operation: [set]}, commands: [{args: "SET {key} {value}", expect: ok}]}
    - {name: get, when: {operation: [get]}, commands: [{args: "GET {key}", expect: value}]}
  load:
    - {operation: set, when: {operation: [get]}}
design: {design, budget: 10m, trial: 1 s, at_rate: never}
"""
_COMPARISON = "comparisons:\n  - {name: kinds, question: Which is faster?, between: operation, levels: [get, set]}\n"
OURS, THEIRS = "{kind: embedded}", "{kind: url, url: 'redis://127.0.0.1:6379'}"
KINDS = {
    "table": ("", "table_blocks: 2, rounds: never", None),
    "blocks": (_COMPARISON, "table_blocks: 1, rounds: never", 3),
    "looks": (_COMPARISON, "table_blocks: 1, rounds: never", None),
    "rounds": (_COMPARISON, "table_blocks: 1", None),
}
"""Comparisons, design, and how many blocks are asked for."""


@cache
def prepared(kind: str, server: str, seed: int, budget_s: float | None) -> Prepared:
    """A run that may be started, as `run.prepare` makes it."""
    comparisons, design, blocks = KINDS[kind]
    text = _TEXT.replace("{comparisons}\n", comparisons).replace("{server}", server).replace("{design,", f"{{{design},")
    experiment = load_experiment(text)
    run_plan = make_run_plan(experiment, blocks=blocks, seed=seed)
    if budget_s is not None:
        run_plan = replace(run_plan, budget_s=budget_s)
    return Prepared(experiment, run_plan, Placement((), (), shared=True, note="not placed"))
