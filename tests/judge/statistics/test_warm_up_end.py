"""MSER-5 finds where the warm-up ends."""

import numpy as np

from loadstone.judge.statistics.warm_up_end import mser5_cut


def test_the_cut_falls_where_the_ramp_ends() -> None:
    rng = np.random.default_rng(1)
    cuts = []
    for _ in range(50):
        cut = mser5_cut(
            (np.concatenate([np.linspace(50, 100, 20), np.full(80, 100.0)]) + rng.normal(0, 1, 100)).tolist()
        )
        assert cut is not None
        cuts.append(cut)
    assert min(cut.observations for cut in cuts) >= 15
    assert np.median([cut.observations for cut in cuts]) <= 25
    assert sum(not cut.settled for cut in cuts) <= 10


def test_a_ramp_into_the_last_half_has_not_settled() -> None:
    cut = mser5_cut([*np.linspace(10, 100, 70), *([100.0] * 30)])
    assert cut == (70, False)


def test_chance_alone_rarely_looks_unsettled() -> None:
    rng = np.random.default_rng(2)
    cuts = [mser5_cut(rng.normal(100, 5, 100).tolist()) for _ in range(300)]
    assert sum(cut is not None and not cut.settled for cut in cuts) <= 30


def test_a_late_step_has_not_settled() -> None:
    cut = mser5_cut([50.0] * 35 + [100.0] * 25)
    assert cut is not None
    assert cut.observations == 35
    assert not cut.settled


def test_a_constant_series_needs_no_cut() -> None:
    cut = mser5_cut([5.0] * 40)
    assert cut is not None
    assert cut == (0, True)


def test_a_short_series_tells_nothing() -> None:
    assert mser5_cut([1.0] * 29) is None
    assert mser5_cut([1.0] * 30) is not None
    assert mser5_cut([1.0] * 6, batch=1) is not None
