"""What the CPUs of servers and generator did, from the figures of each and from the machine's totals."""

import copy
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

from loadstone.judge.checks.evidence import TrialEvidence, evidence_of
from loadstone.judge.checks.utilisation import CpuUse, generator_cpus, place_cpus, server_cpus
from loadstone.run_folder.trial import TrialRecord

Line = dict[str, Any]
Found = Callable[..., TrialEvidence]


@pytest.fixture
def found(synthetic: ModuleType) -> Found:
    """The evidence of a clean trial: servers on CPU 0, generator on CPU 1, unless `placement` says otherwise."""

    def make(seen: dict[str, dict[str, float]] | None = None, host: Line | None = None, **placement: Any) -> Any:
        line = copy.deepcopy(synthetic.make_trial().model_dump(mode="json"))
        for cpu, figures in (seen or {}).items():
            line["facts"]["seen"][cpu] = {name: {"avg": value, "max": value} for name, value in figures.items()}
        line["facts"]["host"] |= host or {}
        line["facts"]["placement"] |= placement
        if placement.get("none"):
            line["facts"]["placement"] = None
        return evidence_of(TrialRecord.model_validate(line))

    return make


def test_each_cpu_counts_for_its_side(found: Found) -> None:
    seen = {
        "cpu0": {"busy": 90.0, "stolen": 10.0, "others": 5.0},
        "cpu1": {"busy": 40.0, "stolen": 2.0, "others": 30.0},
        "cpu2": {"busy": 50.0, "stolen": 0.0, "others": 1.0},
    }
    evidence = found(seen, server_cpus=[0, 2])
    servers = server_cpus(evidence)
    assert servers == CpuUse(
        number=2,
        busy=pytest.approx(0.7),
        stolen=pytest.approx(0.05),
        others=pytest.approx(0.03),
        worst_stolen=pytest.approx(0.1),
        worst_others=pytest.approx(0.05),
        observed=True,
    )

    generator = generator_cpus(evidence)
    assert generator is not None
    assert (generator.stolen, generator.others) == (pytest.approx(0.02), pytest.approx(0.3))


def test_others_that_no_one_looked_for_are_not_observed(found: Found) -> None:
    use = server_cpus(found({"cpu0": {"busy": 90.0, "stolen": 10.0}}))
    assert use is not None
    assert (use.others, use.observed) == (0.0, False)


def test_figures_beyond_a_cpu_are_one_cpu(found: Found) -> None:
    use = server_cpus(found({"cpu0": {"busy": 104.0, "stolen": 70.0, "others": 60.0}}))
    assert use is not None
    assert (use.busy, use.worst_stolen, use.worst_others) == (1.0, 0.7, 0.6)


def test_without_figures_of_each_cpu_the_machines_totals_tell(found: Found) -> None:
    """Two CPUs, 60 % idle: .8 of a CPU was busy, of which the driver's side had .05."""
    use = server_cpus(found(host={"idle_share": 0.6, "steal_share": 0.1}))
    assert use is not None
    assert use.busy == pytest.approx(0.75, abs=0.01)
    assert use.stolen == pytest.approx(0.2), "all of it on the servers' CPU, at worst"
    assert not use.observed


def test_waiting_for_the_disk_is_idle(found: Found) -> None:
    use = server_cpus(found({"host": {"wa": 10.0}}, host={"idle_share": 0.6, "steal_share": 0.0}))
    assert use is not None
    assert use.busy == pytest.approx(0.55, abs=0.01)


def test_of_an_older_run_stolen_time_counts_once(found: Found) -> None:
    use = generator_cpus(found(host={"steal_share": 0.1}))
    assert use is not None
    assert (use.stolen, use.others) == (0.0, 0.0)


def test_nothing_observed_is_not_nothing_taken(found: Found) -> None:
    blind = found(host={"idle_share": None, "steal_share": None})
    assert server_cpus(blind) is None
    assert generator_cpus(blind) is None


def test_parts_that_no_one_placed_have_no_cpus_of_their_own(found: Found) -> None:
    nowhere = found(server_cpus=[], generator_cpus=[])
    assert server_cpus(nowhere) is None
    assert generator_cpus(nowhere) is None
    assert generator_cpus(found(shared=True)) is None


def test_servers_on_other_machines_have_the_cpus_of_these(found: Found) -> None:
    """Two machines: one with the Redis, one with an application's two replicas. This machine's CPUs are nobody's."""
    here = {"cpu0": {"busy": 90.0, "stolen": 10.0}, "cpu1": {"busy": 40.0, "stolen": 2.0}}
    redis = {"redis": {"machine_number": 1.0, "machine_cpus": 16.0}}
    assert place_cpus(found(here, none=True)) == 2
    assert place_cpus(found(here | redis, none=True)) == 16
    assert server_cpus(found(here, none=True)) is not None
    assert server_cpus(found(here | redis, none=True)) is None

    replicas = {f"app-{at}": {"machine_number": 2.0, "machine_cpus": 4.0} for at in (1, 2)}
    both = found(here | redis | replicas, none=True)
    assert place_cpus(both, ["app-1", "app-2"]) == 4
    assert place_cpus(both, ["redis", "app-1"]) == 20
