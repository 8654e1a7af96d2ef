"""The monitor reports just what is declared, of a real memcached and of one that does not answer."""

import pytest

from loadstone.experiment.plan.endpoints import Endpoint
from loadstone.servers.memcached.control import MemcachedControl
from loadstone.servers.memcached.local import LocalMemcached
from loadstone.servers.memcached.monitor import MemcachedMonitor


def test_a_real_one_reports_all_that_is_declared(memcached: LocalMemcached) -> None:
    with memcached.control() as control:
        control.call("ms", "loadstone:a", "x" * 100)
        samples = {sample.metric: sample.value for sample in MemcachedMonitor("cache", control).sample(1.0)}
    assert set(samples) == set(MemcachedMonitor.METRICS)
    assert samples["answers"] == 1
    assert samples["curr_items"] == 1
    assert samples["item_bytes"] > 100
    assert samples["limit_maxbytes"] == 32 * 2**20


def test_one_that_does_not_answer_reports_that_alone() -> None:
    with MemcachedControl(Endpoint(port=1)) as control:
        samples = [(sample.metric, sample.value) for sample in MemcachedMonitor("cache", control).sample(1.0)]
    assert samples == [("answers", 0.0)]


@pytest.mark.parametrize("stats", [{}, {"bytes": "many"}, {"curr_items": ""}])
def test_nonsense_is_no_answer(stats: dict[str, str]) -> None:
    class Odd:
        def stats(self, what: str = "") -> dict[str, str]:  # noqa: ARG002 (the seam's signature)
            return stats

    samples = [(sample.metric, sample.value) for sample in MemcachedMonitor("cache", Odd()).sample(1.0)]
    assert samples == [("answers", 0.0)]
