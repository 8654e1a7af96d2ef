"""Saturation of the closed model: what is found on curves that are known, and what is refused."""

import itertools
import math
import random
import statistics
from collections.abc import Callable, Sequence

import numpy as np
import pytest

from loadstone.addons.saturation.closed_estimate import (
    Probe,
    Sweep,
    Usl,
    at_least,
    best_level,
    closed_saturation,
    fit_usl,
    grid,
    hodges_lehmann,
    least_cycle,
    peaks,
    search_range,
    sweep_orders,
    usl_fits,
)
from loadstone.text.sentences import render_message

Curve = Callable[[int], float]
LAW = Usl(1000, 0.05, 0.002)


def eight_servers(users: int) -> float:
    """1 ms a request on each of eight."""
    return min(users, 8) * 1000.0


def retrograde(users: int) -> float:
    return float(LAW.throughput(np.asarray(float(users))))


def cliff(users: int) -> float:
    """Rises, and beyond 16 users falls to a third: no USL looks like that."""
    return 500.0 * users if users <= 16 else 8000.0 / (1 + 2 * math.log2(users / 16))


def sweeps_of(
    curve: Curve, levels: Sequence[int], count: int = 6, noise: float = 0.01, seed: int = 1, think_s: float = 0.0
) -> list[Sweep]:
    dice = random.Random(seed)
    sweeps = []
    for order in sweep_orders(levels, count, seed):
        rates = [curve(users) * math.exp(dice.gauss(0, noise)) for users in order]
        probes = [Probe(users, rate, users / rate - think_s) for users, rate in zip(order, rates, strict=True)]
        sweeps.append(tuple(probes))
    return sweeps


def changed(sweeps: list[Sweep], users: int, **changes: object) -> list[Sweep]:
    """The same sweeps where the trials with at least so many users differ."""
    return [
        tuple(Probe(**{**vars(p), **changes}) if p.users >= users else p for p in sweep)  # type: ignore[arg-type]
        for sweep in sweeps
    ]


def test_a_plateau_gives_the_point_where_the_asymptotes_meet() -> None:
    found = closed_saturation(sweeps_of(eight_servers, grid(32)))
    assert found.kind == "plateau"
    assert found.users is not None
    assert found.per_s is not None
    assert found.users.value == pytest.approx(8, rel=0.03)
    assert found.users.low < 8 < found.users.high
    assert found.per_s.value == pytest.approx(8000, rel=0.02)
    assert found.repeats == 6
    said = render_message(found.message)
    assert said.startswith("MAXIMUM: ")
    assert "within 5 % of it from 8 users on; the knee (where waiting begins): " in said


def gently(users: int) -> float:
    """Waiting begins with 3 users, and 8 of them do the most, as a Redis did: 3 users did 147,000 of 231,000."""
    return 231_000 / (1 + (3 / users) ** 3) ** (1 / 3)


def test_the_knee_is_not_where_the_most_is_done() -> None:
    found = closed_saturation(sweeps_of(gently, grid(32)))
    assert found.users is not None
    assert found.per_s is not None
    assert found.users.value == pytest.approx(3, rel=0.1)
    assert found.per_s.value == pytest.approx(231_000, rel=0.03)
    assert found.from_users == 6
    assert gently(3) < 0.8 * found.per_s.value < 0.95 * found.per_s.value < gently(found.from_users)


def batches(users: int) -> float:
    """Full from the second user on, and twice as fast with requests in batches of 32."""
    return min(users, 2) * 400.0 * (1 + min(math.log2(users) / 5, 1))


def test_what_goes_on_rising_beyond_the_point_levels_off_later() -> None:
    found = closed_saturation(sweeps_of(batches, grid(128), noise=0.05))
    assert found.kind == "plateau"
    assert found.users is not None
    assert found.per_s is not None
    assert found.per_s.value == pytest.approx(1600, rel=0.05)
    assert found.users.value == pytest.approx(1600 * 2 / 960, rel=0.06), "two users take 2.1 ms each, and one 2.5 ms"


def wakes_up(users: int) -> float:
    """One user waits .1 ms for a thread to wake up, which four keep awake."""
    return min(users / (0.000194 + 0.0001 * max(0, 4 - users) / 3), 41_200.0)


@pytest.mark.parametrize("seed", range(5))
def test_no_level_does_more_than_the_bound_that_the_point_rests_on(seed: int) -> None:
    sweeps = sweeps_of(wakes_up, grid(64), noise=0.02, seed=seed)
    found, least = closed_saturation(sweeps), least_cycle(sweeps)
    assert found.users is not None
    assert least is not None
    assert found.users.low < 41_200 * 0.000194 < found.users.high, "8 users, and not 12 by what one user takes"
    for users in grid(64):
        typical = statistics.median(probe.goodput_per_s for sweep in sweeps for probe in sweep if probe.users == users)
        assert typical <= users / least[0] * 1.001


def test_an_unloaded_time_that_is_least_with_one_user_is_that_of_one_user() -> None:
    """As before: where waiting only grows with users, nothing else is chosen."""
    least = least_cycle(sweeps_of(lambda users: users / (0.001 * (1 + users / 10)), grid(32), noise=0.01))
    assert least is not None
    assert least[1] == 1


@pytest.mark.parametrize("seed", range(5))
def test_what_rises_to_the_end_has_no_point(seed: int) -> None:
    def slowly(users: int) -> float:
        return 400.0 * users**0.15

    found = closed_saturation(sweeps_of(slowly, grid(128), noise=0.02, seed=seed))
    assert (
        render_message(found.message) == f"CAPACITY >= {found.at_least_per_s:,.0f} a second: it still rose at 128 users"
    )


def test_a_bound_is_that_of_the_best_level_by_its_typical_rate() -> None:
    """One sweep's luck is noise; a level whose replies failed is no bound, and where the generator gave out is one."""
    sweeps = sweeps_of(eight_servers, grid(32), noise=0.05)
    by_users = [sorted(p.goodput_per_s for sweep in sweeps for p in sweep if p.users == users) for users in grid(32)]
    middles = [math.exp(statistics.median(map(math.log, rates))) for rates in by_users]
    assert best_level(sweeps) == pytest.approx(max(middles))
    assert best_level(sweeps) < max(rates[-1] for rates in by_users)
    full = closed_saturation(changed(sweeps, 3, generator_limit="full"))
    assert full.at_least_per_s == pytest.approx(max(middles))
    failed = closed_saturation(changed(sweeps, 3, error_share=0.5))
    assert failed.at_least_per_s == pytest.approx(max(middles[:2]))
    assert best_level([]) == 0


def test_users_who_think_saturate_later() -> None:
    def thinking(users: int) -> float:
        return min(users / 0.021, 1000.0)

    found = closed_saturation(sweeps_of(thinking, grid(84), think_s=0.020))
    assert found.users is not None
    assert found.users.value == pytest.approx(21, rel=0.03)


def test_what_falls_again_has_a_peak_by_the_usl() -> None:
    found = closed_saturation(sweeps_of(retrograde, grid(64)))
    assert found.kind == "peak"
    assert found.method == "usl"
    assert found.users is not None
    assert found.users.value == pytest.approx(LAW.peak_users, rel=0.05)
    assert "beyond it throughput falls" in render_message(found.message)


def bell(users: int) -> float:
    """Falls as fast as it rose, on log scales: no USL does."""
    return 8000.0 * math.exp(-0.4 * math.log(users / 16) ** 2)


def test_where_the_usl_does_not_fit_the_peak_is_that_of_a_parabola() -> None:
    found = closed_saturation(sweeps_of(bell, grid(128), noise=0.003))
    assert found.kind == "peak"
    assert found.method == "log-quadratic"
    assert found.users is not None
    assert 13 < found.users.value < 19


def test_a_peak_that_the_levels_contradict_is_that_of_a_level() -> None:
    """The parabola through a cliff does not come near what 16 users did."""
    found = closed_saturation(sweeps_of(cliff, grid(128), noise=0.003))
    assert (found.kind, found.method) == ("peak", "levels")
    assert found.users is not None
    assert found.per_s is not None
    assert (found.users.low, found.users.value, found.users.high) == (11, 16, 23)
    assert found.per_s.value == pytest.approx(8000, rel=0.01)


def test_a_plateau_with_noise_is_never_a_peak() -> None:
    kinds = [closed_saturation(sweeps_of(eight_servers, grid(64), noise=0.06, seed=seed)).kind for seed in range(100)]
    assert kinds.count("plateau") >= 98


def test_a_ramp_gives_no_point_and_says_why() -> None:
    ramp = tuple(Probe(users, eight_servers(users), users / eight_servers(users)) for users in grid(64))
    for sweeps in ([ramp], [ramp] * 8):
        found = closed_saturation(sweeps)
        assert found.kind == "none"
        assert found.users is None
        assert found.per_s is None
        assert "users only rose" in render_message(found.message)
        assert "random order" in render_message(found.message)


def test_too_few_sweeps_give_no_point() -> None:
    found = closed_saturation(sweeps_of(eight_servers, grid(64), count=5))
    assert render_message(found.message) == "NO POINT: 5 sweeps; an interval needs at least 6"
    cut = sweeps_of(eight_servers, grid(64))
    cut[2] = cut[2][:-1]
    assert (
        render_message(closed_saturation(cut).message)
        == "NO POINT: only 5 of 6 sweeps hold every level; an interval needs at least 6"
    )
    assert closed_saturation([]).kind == "none"


def test_one_order_for_all_sweeps_gives_no_point() -> None:
    one = sweeps_of(eight_servers, grid(64))[0]
    assert "same order" in render_message(closed_saturation([one] * 6).message)


def test_without_one_user_the_unloaded_time_is_not_known() -> None:
    found = closed_saturation(sweeps_of(eight_servers, grid(64)[1:]))
    assert found.kind == "none"
    assert "R_0" in render_message(found.message)


def test_a_generator_that_gives_out_leaves_a_bound() -> None:
    found = closed_saturation(changed(sweeps_of(eight_servers, grid(64)), 11, generator_limit="hottest thread 96 %"))
    assert found.kind == "at_least"
    assert found.at_least_per_s == pytest.approx(8000, rel=0.05)
    assert render_message(found.message).endswith("from 11 users on the generator was saturated: hottest thread 96 %")


def test_a_plateau_before_the_generator_gives_out_is_a_point() -> None:
    found = closed_saturation(changed(sweeps_of(eight_servers, grid(64)), 45, generator_limit="hottest thread 96 %"))
    assert found.kind == "plateau"


def test_errors_end_the_curve() -> None:
    found = closed_saturation(changed(sweeps_of(eight_servers, grid(64)), 16, error_share=0.02))
    assert found.kind == "at_least"
    assert "from 16 users on 2.0% of the replies failed" in render_message(found.message)


def test_what_still_rises_has_no_plateau() -> None:
    def slow(users: int) -> float:
        return 1000.0 * users / (1 + 0.02 * (users - 1))

    assert closed_saturation(sweeps_of(slow, grid(32))).kind == "at_least"
    found = closed_saturation(sweeps_of(slow, grid(128), noise=0.002))
    assert found.kind == "at_least"
    assert "still rose at 128 users" in render_message(found.message)


def test_a_stalled_trial_does_not_move_the_point() -> None:
    sweeps = sweeps_of(eight_servers, grid(64))
    stalled = [
        tuple(Probe(p.users, p.goodput_per_s / 10, p.response_s) if p.users == 32 else p for p in sweeps[0]),
        *sweeps[1:],
    ]
    clean, hit = closed_saturation(sweeps).users, closed_saturation(stalled).users
    assert clean is not None
    assert hit is not None
    assert hit.value == pytest.approx(clean.value, rel=0.01)


def test_the_search_doubles_until_twice_nothing_is_gained() -> None:
    probes: list[Probe] = []
    while (found := search_range(probes)).next_users is not None:
        users = found.next_users
        probes.append(Probe(users, eight_servers(users), users / eight_servers(users)))
    assert [probe.users for probe in probes] == [1, 2, 4, 8, 16, 32]
    assert found.levels == grid(32)
    assert found.answer is None


def test_the_search_ends_where_the_generator_gives_out_or_errors_begin() -> None:
    fine = [Probe(users, 1000.0 * users, 0.001) for users in (1, 2)]
    limited = search_range([*fine, Probe(4, 3500, 0.001, generator_limit="throttled")])
    assert limited.answer is not None
    assert (
        render_message(limited.answer.message)
        == "CAPACITY >= 3,500 a second: the generator was saturated at 4 users: throttled"
    )
    failing = search_range([*fine, Probe(4, 3500, 0.001, error_share=0.05)])
    assert failing.levels == grid(2)
    assert "5.0% of the replies failed at 4 users" in render_message(failing.why)
    assert search_range([Probe(1, 10, 0.001, error_share=1.0)]).answer is not None
    assert search_range(fine, users_max=2).answer is not None


def test_the_search_takes_doublings_only() -> None:
    with pytest.raises(ValueError, match="doubles"):
        search_range([Probe(1, 1000, 0.001), Probe(3, 1000, 0.001)])


def test_the_grid() -> None:
    assert grid(1) == (1,)
    assert grid(32) == (1, 2, 3, 4, 6, 8, 11, 16, 23, 32)
    assert grid(33)[-1] == 45


def test_sweeps_have_orders_of_their_own() -> None:
    orders = sweep_orders(grid(64), 6, seed=3)
    assert all(sorted(order) == list(grid(64)) for order in orders)
    assert len(set(orders)) == 6
    assert orders == sweep_orders(grid(64), 6, seed=3)


def test_the_usl_is_found_again() -> None:
    users = np.array(grid(64), dtype=float)
    assert fit_usl(users, LAW.throughput(users)) == pytest.approx(LAW, rel=1e-6)
    assert fit_usl(users, 1000 * users).peak_users is None


def test_residuals_tell_whether_the_usl_fits() -> None:
    users = np.array(grid(64), dtype=float)
    dice = np.random.default_rng(1)
    noise = np.exp(0.02 * dice.normal(size=(6, len(users))))
    assert usl_fits(users, LAW.throughput(users) * noise)
    assert not usl_fits(users, np.array([cliff(int(u)) for u in users]) * noise)


def test_no_peak_among_the_levels_is_no_peak() -> None:
    users = np.array([1.0, 2, 3, 4, 6, 8])
    assert peaks(users, np.tile(1000 * users, (6, 1))) is None


def test_an_interval_needs_six_estimates() -> None:
    assert hodges_lehmann([1.0, 2, 3, 4, 5, 6]).low == 1.0
    with pytest.raises(ValueError, match="no interval"):
        hodges_lehmann([1.0] * 5)
    with pytest.raises(ValueError, match="above zero"):
        hodges_lehmann([1.0, 2, 3, 4, 5, 0])


def test_nothing_right_is_no_bound() -> None:
    assert at_least(0.0, "every reply failed").kind == "none"


def test_any_sweeps_get_texts() -> None:
    """Whatever is measured: an answer with its reason, never an exception."""
    dice = random.Random(7)
    for case, count, levels in itertools.product(range(20), (1, 6), ((1,), (1, 2), grid(16))):
        sweeps = [
            tuple(
                Probe(users, dice.choice([0.0, 10 ** dice.uniform(-3, 6)]), dice.choice([0.0, 0.1])) for users in order
            )
            for order in sweep_orders(levels, count, seed=case)
        ]
        found = closed_saturation(sweeps)
        assert render_message(found.message)
        assert (found.kind in ("plateau", "peak")) == (found.users is not None)


def ramp(users_max: int) -> Sweep:
    """Throughput over a ramp whose server takes 1,000 a second, and is fully used from 155 users on."""
    levels = range(1, users_max + 1, 11)
    return [Probe(users=n, goodput_per_s=min(1000.0, n / 0.155), response_s=max(0.155, n / 1000.0)) for n in levels]


@pytest.mark.parametrize("ramps", [1, 8])
def test_saturation_is_not_read_off_a_ramp(ramps: int) -> None:
    found = closed_saturation([ramp(600)] * ramps)
    assert found.kind == "none"
    assert found.users is None
    assert found.per_s is None
    assert "users only rose" in render_message(found.message)
