"""Whose memory a gate compares: the service's or server's by its monitors, and the program's with a client library."""

from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from tests.changed_facts import with_drive

from loadstone.addons.gate.outcome import memory_verdict
from loadstone.addons.gate.rule import figure_verdict
from loadstone.addons.gate.spec import Gate
from loadstone.monitors.monitor import Sample
from loadstone.run_folder.trial import TrialRecord

MEGABYTE = 1_000_000
BLOCKS = range(1, 21)
PROGRAM = {"name": "jedis", "library": "jedis", "version": "7", "runtime": "java", "reports_pool_wait": False}


def trial_of(clean: TrialRecord, block: int, levels: dict[str, Any], **changed: Any) -> TrialRecord:
    """A trial of one side in one block."""
    named = {"trial": f"{block}-{'-'.join(map(str, levels.values()))}", "condition": levels, "block": block}
    return with_drive(clean, **changed).model_copy(update=named)


def wobbling(block: int) -> float:
    """No two starts take exactly the same."""
    return 1 + 0.002 * (block * 7 % 5)


@pytest.mark.parametrize(("head_mb", "expected"), [(100, "same"), (105, "same"), (130, "slower"), (60, "faster")])
def test_of_client_libraries_it_is_the_programs(synthetic: ModuleType, head_mb: float, expected: str) -> None:
    clean = synthetic.make_trial()
    trials = [
        trial_of(
            clean,
            block,
            {"target": side, "twin": twin},
            program=PROGRAM | {"peak_memory_bytes": round(size * MEGABYTE * wobbling(block + len(side)))},
        )
        for block in BLOCKS
        for side, twin, size in (("base", "original", 100), ("head", "original", head_mb), ("base", "twin", 900))
    ]
    run: Any = SimpleNamespace(samples={})
    found = memory_verdict(run, trials, Gate())
    assert found is not None
    assert figure_verdict(found) == expected
    assert found.b.typical == pytest.approx(head_mb * MEGABYTE, rel=0.01)
    unseen = [with_drive(one, program=PROGRAM) for one in trials]
    assert memory_verdict(run, unseen, Gate()) is None, "a run of before"


def test_of_services_it_is_what_the_monitors_saw(synthetic: ModuleType) -> None:
    clean = synthetic.make_trial()
    trials = [trial_of(clean, block, {"target": side}) for block in BLOCKS for side in ("base", "head")]
    size = {"base": 100 * MEGABYTE, "head": 130 * MEGABYTE}
    samples = {
        one.trial: [
            Sample(1.0, str(one.condition["target"]), "rss_bytes", share * size[str(one.condition["target"])])
            for share in (0.5, wobbling(one.block), 0.7)
        ]
        for one in trials
    }
    run: Any = SimpleNamespace(samples=samples)
    found = memory_verdict(run, trials, Gate())
    assert found is not None
    assert figure_verdict(found) == "slower"
