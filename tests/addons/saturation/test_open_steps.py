"""Which rate of the open model comes next, against a system that keeps its objective up to a known rate."""

from types import ModuleType

import pytest
from tests.addons.saturation.trials import System, latencies_ns, planned, system_of

from loadstone.addons.saturation.bisection import BLOCK_STEPS, BLOCKS, LOCATE_STEPS
from loadstone.addons.saturation.open_steps import RateSearch, RateTrial, length_s, rate_search
from loadstone.addons.saturation.options import SearchOptions
from loadstone.addons.saturation.recorded_steps import rate_of, step_of
from loadstone.addons.saturation.spec import SaturationStep
from loadstone.drivers.histogram import Histogram
from loadstone.run_folder.trial import TrialRecord

_, SETTINGS = planned(SearchOptions(model="open", objective="p99 < 10 ms"))
CAPACITY, LIMIT = 8000.0, 5000.0


class Kept:
    """Trials that keep the objective up to `limit` a second, by their histograms."""

    def __init__(self, system: System, limit_per_s: float = LIMIT) -> None:
        self.system, self.limit_per_s = system, limit_per_s
        self.trials: list[TrialRecord] = []
        offered = system.template.counts.offered
        self.early, self.late = latencies_ns([1e6] * offered), latencies_ns([20e6] * offered)

    def histogram(self, name: str) -> Histogram:
        trial = next(one for one in reversed(self.trials) if one.trial == name)
        assert trial.search is not None
        late = (rate_of(trial) or 0) > self.limit_per_s
        return self.late if late else self.early

    def search(self) -> RateSearch:
        return rate_search(SETTINGS, CAPACITY, self.trials, self.histogram, seed=7)

    def take(self, step: RateTrial) -> None:
        phase = "locate" if step.phase == "locate" else "bisect"
        number = step.number if step.phase == "locate" else step.block
        of_step = SaturationStep(phase=phase, rate_per_s=step.rate_per_s, number=number)
        self.trials.append(self.system.trial(of_step, f"{step.phase}{step.block}-{step.number}"))

    def to_the_end(self) -> RateSearch:
        while (found := self.search()).next is not None:
            self.take(found.next)
            assert len(self.trials) < 100, "it never ends"
        return found


@pytest.fixture
def kept(synthetic: ModuleType) -> Kept:
    return Kept(system_of(synthetic))


def test_it_begins_in_the_middle_of_what_the_closed_search_brought(kept: Kept) -> None:
    found = kept.search()
    assert found.next is not None
    assert (found.next.phase, found.next.block, found.next.number) == ("locate", 0, 1)
    assert found.next.rate_per_s == pytest.approx((CAPACITY / 32 * CAPACITY * 1.25) ** 0.5)
    assert found.located_per_s is None


def test_a_kept_objective_raises_the_rate_and_a_missed_one_lowers_it(kept: Kept) -> None:
    first = kept.search().next
    assert first is not None
    kept.take(first)
    second = kept.search().next
    assert second is not None
    assert second.rate_per_s > first.rate_per_s, f"{first.rate_per_s:.0f} a second is kept"
    kept.limit_per_s = 100.0
    lower = kept.search().next
    assert lower is not None
    assert lower.rate_per_s < first.rate_per_s


def test_all_blocks_lie_around_the_limit(kept: Kept) -> None:
    found = kept.to_the_end()
    assert len(kept.trials) == LOCATE_STEPS + BLOCKS * BLOCK_STEPS
    assert len(found.steps) == len(kept.trials)
    assert found.located_per_s == pytest.approx(LIMIT, rel=0.03)
    assert [block.rate_per_s for block in found.blocks] == pytest.approx([LIMIT] * BLOCKS, rel=0.03)
    first_rates = {rate_of(one) for one in kept.trials if one.search and one.trial.endswith("-1")}
    assert len(first_rates) == BLOCKS + 1, "no block tries the rates of another"


def test_the_next_step_follows_from_the_trials_alone(kept: Kept) -> None:
    kept.to_the_end()
    trials = kept.trials
    for done in (0, 5, LOCATE_STEPS, LOCATE_STEPS + 3, len(trials) - 1):
        kept.trials = trials[:done]
        following = kept.search().next
        step = step_of(trials[done])
        assert following is not None
        assert step is not None
        assert following.rate_per_s == pytest.approx(step.rate_per_s), done


def test_of_several_attempts_at_a_step_the_last_counts(kept: Kept) -> None:
    first = kept.search().next
    assert first is not None
    kept.take(first)
    once = kept.search().next
    kept.take(first)
    assert kept.search().next == once


def test_without_an_objective_there_is_nothing_to_look_for() -> None:
    _, closed = planned()
    with pytest.raises(ValueError, match="objective"):
        rate_search(closed, CAPACITY, [], lambda _: latencies_ns([]), seed=7)


def test_a_rate_is_measured_until_its_queue_forgot_its_start() -> None:
    assert length_s(SETTINGS, 1e6, 1e5) == 1.0, "never shorter"
    assert length_s(SETTINGS, 1e6, 5000) == pytest.approx(2.4), "12,000 operations"
    assert length_s(SETTINGS, 10, 9) == 15.0, "never longer"
    quick = SETTINGS.model_copy(update={"quick": True})
    assert length_s(quick, 10, 9) == 5.0
    assert length_s(SETTINGS.model_copy(update={"trial_s": 0.2}), 10, 9) == 0.2
