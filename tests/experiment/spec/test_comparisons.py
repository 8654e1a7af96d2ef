"""What must fit together in comparisons and in the design; each misfit is one exact line."""

import pytest

from loadstone.experiment.spec.loading import load_experiment
from loadstone.safety.errors import UserError

FACTORS = "factors are: operation, payload, workers, idle"


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (
            "    between: workers\n",
            "    between: worker\n",
            f"81: comparisons.0.between: 'worker' is no factor; did you mean 'workers'? {FACTORS}",
        ),
        (
            "    levels: [1, 8]\n    at",
            "    levels: [1, 16]\n    at",
            "82: comparisons.0.levels: '16' is no level of workers; levels are: 1, 8",
        ),
        (
            "    levels: [1, 8]\n    at",
            "    levels: [8, 8]\n    at",
            "82: comparisons.0.levels.1: '8' is given twice; remove it",
        ),
        (
            "    levels: [1, 8]\n    at",
            "    levels: [1]\n    at",
            "82: comparisons.0.levels: has too few entries; write at least 2",
        ),
        (
            "    levels: [1, 8]\n    at",
            "    levels: []\n    at",
            "82: comparisons.0.levels: has too few entries; write at least 2",
        ),
        (
            "    baseline: set\n",
            "    baseline: put\n",
            "90: comparisons.1.baseline: 'put' is none of the levels that are compared; they are: get, set",
        ),
        (
            "      payload: [100 B]\n",
            "      workers: [8]\n",
            "85: comparisons.0.at.workers: 'workers' is what is compared; "
            "remove it here, or compare between another factor",
        ),
        (
            "      payload: [100 B]\n",
            "      size: [100 B]\n",
            f"85: comparisons.0.at.size: 'size' is no factor; {FACTORS}",
        ),
        (
            "      payload: [100 B]\n",
            "      payload: [100]\n",
            "85: comparisons.0.at.payload: '100' is no level of payload; levels are: 100 B, 1 kB",
        ),
        (
            "      payload: [100 B]\n",
            "      payload: []\n",
            "85: comparisons.0.at.payload: has no level; write the levels to vary, or remove the factor",
        ),
        (
            "      payload: [100 B]\n",
            "      payload: [100 B, 100 B]\n",
            "85: comparisons.0.at.payload.1: '100 B' is given twice; remove it",
        ),
        (
            "    quick_at: {idle: [many]}\n",
            "    quick_at: {operation: [set]}\n",
            "92: comparisons.1.quick_at.operation: 'operation' is what is compared; "
            "remove it here, or compare between another factor",
        ),
        (
            "    metric: response_ns.p99\n",
            "    metric: response_ns.p9\n",
            "93: comparisons.1.metric: 'response_ns.p9' is no metric; did you mean 'response_ns.p99'? "
            "metrics are: goodput_per_s, throughput_per_s, peak_per_s, units_per_s, response_ns.p99, service_ns.p99, "
            "pool_wait_ns.p99 (or mean, p50, p90, p95, p99, p999, max)",
        ),
        (
            "    margin: 20 %\n",
            "    margin: 0\n",
            "94: comparisons.1.margin: '0' must be more than 0 and at most 100 %; write for example 5 % or 0.05",
        ),
        (
            "    margin: 20 %\n",
            "    margin: 20\n",
            "94: comparisons.1.margin: '20' must be more than 0 and at most 100 %; write for example 5 % or 0.05",
        ),
        (
            "    margin: 20 %\n",
            "    margin: a fifth\n",
            "94: comparisons.1.margin: 'a fifth' is not a share; write for example `10 %`, `0.5 %`",
        ),
        (
            "  - name: kinds\n",
            "  - name: users\n",
            "86: comparisons.1.name: 'users' is used twice; give it a name of its own",
        ),
        (
            "  - name: kinds\n",
            "  - name: table\n",
            "86: comparisons.1.name: 'table' is a reserved name of loadstone; choose another one",
        ),
        (
            "  - name: kinds\n",
            "  - name: ../kinds\n",
            "86: comparisons.1.name: '../kinds' is not a valid name; use lower-case letters, digits and "
            "hyphens, and begin with a letter",
        ),
        (
            "  - name: kinds\n",
            f"  - name: {'k' * 41}\n",
            f"86: comparisons.1.name: '{'k' * 41}' is too long",
        ),
        (
            "  budget: 20m\n",
            "  budget: soon\n",
            "96: design.budget: 'soon' is not a time; write for example `90 s`, `20 min`, `1 h`",
        ),
        (
            "  budget: 20m\n",
            "  budget: -3\n",
            "96: design.budget: '-3' must be more than 0 s and at most 30 days; write for example 45 min",
        ),
        (
            "  budget: 20m\n",
            "  budget: [20]\n",
            "96: design.budget: a list is not a time; write for example `90 s`, `20 min`, `1 h`",
        ),
        (
            "  table_blocks: 3\n",
            "  table_blocks: 0\n",
            "97: design.table_blocks: '0' must be at least 1",
        ),
        (
            "  trial: 4 s\n",
            "  trial: 0 s\n",
            "98: design.trial: '0 s' must be more than 0 s and at most 30 days; write for example 45 min",
        ),
        (
            "  phases: {measure_s: 100 ms}\n",
            "  design: {budget: 3 parsecs}\n",
            "72: quick.design.budget: '3 parsecs' is not a time; write for example `90 s`, `20 min`, `1 h`",
        ),
        (
            "    against: {idle: few}\n",
            "    against: {idle: few}\n    comparison: user\n",
            "71: conclusions.1.comparison: 'user' is no comparison; did you mean 'users'? "
            "comparisons are: users, kinds",
        ),
    ],
)  # fmt: skip
def test_a_misfit_is_one_line(compared: str, old: str, new: str, expected: str) -> None:
    assert compared.count(old) == 1, f"{old!r} stands {compared.count(old)} times in the example"
    with pytest.raises(UserError) as caught:
        load_experiment(compared.replace(old, new), label="small.yaml")
    assert str(caught.value) == f"small.yaml:{expected}"


def test_a_conclusion_may_name_the_comparison_that_answers_it(compared: str) -> None:
    old = "    against: {idle: few}\n"
    experiment = load_experiment(compared.replace(old, f"{old}    comparison: kinds\n"))
    assert [conclusion.comparison for conclusion in experiment.conclusions] == [None, "kinds"]


def test_what_was_written_stays_as_it_was_written(compared: str) -> None:
    experiment = load_experiment(compared)
    assert (experiment.design.budget, experiment.design.trial, experiment.comparisons[1].margin) == (
        "20m",
        "4 s",
        "20 %",
    )
