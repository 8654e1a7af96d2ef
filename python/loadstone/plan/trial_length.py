"""How long a trial should last: where the time for one more trial is better spent than on a longer one."""

import math

TRIAL_MIN_S, TRIAL_MAX_S = 3.0, 60.0
SHORTEST_TRIAL_S = 0.7
"""Of a compared trial, where the budget has no room for longer ones."""
INTERVAL_SD = 0.05
INTERVAL_CORRELATION = 0.6
TRIAL_SD = 0.03
"""The noise taken for granted before anything was measured: that of the simulations' middle scenario."""
TRIAL_OVERHEAD_S = 0.6
"""What a trial is taken to cost beside its phases: loading and removing its data, the monitors' start, its record,
and its share of measuring the driver's ceiling. Measured on a machine of 2 cores: .1 s where nothing is to be loaded,
.6 s with large documents while others use the machine."""


def trial_length_s(
    overhead_s: float,
    interval_sd: float = INTERVAL_SD,
    interval_correlation: float = INTERVAL_CORRELATION,
    trial_sd: float = TRIAL_SD,
) -> float:
    """L* = sqrt(w V) / sigma_u, V = sigma_e^2 (1 + rho) / (1 - rho), within 3 to 60 s.

    `overhead_s` (w) is what each trial takes beside its measure phase: warm-up, loading, drain. The relative
    standard deviation of one-second intervals is `interval_sd`, their autocorrelation `interval_correlation`,
    and `trial_sd` is what differs from trial to trial however long. A driver that starts in a tenth of a second
    makes short trials the better ones: with w = 1 s the rule gives 3.3 s, with w = 5 s 7.5 s, with w = 30 s 18 s.
    """
    variance = _variance(interval_sd, interval_correlation)
    required = math.sqrt(overhead_s * variance) / trial_sd if trial_sd > 0 else TRIAL_MAX_S
    return min(max(required, TRIAL_MIN_S), TRIAL_MAX_S)


def expected_spread(trial_s: float) -> float:
    """Standard deviation of one block's ln(B / A) before anything was measured: sqrt(2 (sigma_u^2 + v(L))).

    v(L) is the variance of the mean of `trial_s` seconds (L). In long trials it is V / L. The seconds of a short one
    are nearly one and the same, and V / L would be too much: v = V / L (1 - (1 - exp(-x)) / x) with x = -L ln(rho),
    for a process whose correlation falls exponentially. So 15 s give 5.4 %, 3 s 7.1 % and .7 s 8.0 % (and not 17 %).
    """
    long = _variance(INTERVAL_SD, INTERVAL_CORRELATION) / trial_s
    x = -trial_s * math.log(INTERVAL_CORRELATION)
    return math.sqrt(2 * (TRIAL_SD**2 + long * (1 + math.expm1(-x) / x)))


def _variance(interval_sd: float, interval_correlation: float) -> float:
    """V: the variance of a trial's mean, times its length in seconds."""
    return interval_sd**2 * (1 + interval_correlation) / (1 - interval_correlation)
