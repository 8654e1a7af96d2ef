"""Simulated throughput of A/A trials under five kinds of noise, many runs at once.

A run is `blocks` blocks of `conditions` trials in fresh random order, one after another on one
machine: 10 s of set-up and warm-up, 15 s measured. What the machine does goes on between trials:
a slow drift (Ornstein-Uhlenbeck), a neighbour that comes and goes (two states), or a clock that
toggles between two speeds. What belongs to a trial is drawn again for each: its own level (memory
layout, hash seeds), the mean of its correlated seconds, now and then a stall.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

STEP_S = 5
STEPS_IDLE, STEPS_MEASURED = 2, 3
TRIAL_S = STEP_S * STEPS_MEASURED
SLOT_S = STEP_S * (STEPS_IDLE + STEPS_MEASURED)


@dataclass(frozen=True)
class Noise:
    """Shares are of the rate. `trial_freedom`: degrees of freedom of the trial effect's t; None: normal."""

    name: str
    drift_sd: float
    neighbour_takes: float
    neighbour_stays_s: float
    neighbour_away_s: float
    trial_sd: float
    interval_sd: float
    interval_correlation: float
    stall_share: float
    drift_tau_s: float = 600.0
    trial_freedom: float | None = None
    stall_takes: tuple[float, float] = (0.03, 0.2)


SCENARIOS = (
    Noise("quiet", 0.015, 0.03, 20, 300, 0.012, 0.025, 0.5, 0.005),
    Noise("mixed", 0.04, 0.08, 30, 300, 0.03, 0.05, 0.6, 0.03),
    Noise("ugly", 0.10, 0.15, 30, 300, 0.055, 0.08, 0.6, 0.06, stall_takes=(0.05, 0.3)),
    Noise("heavy", 0.04, 0.08, 30, 120, 0.02, 0.05, 0.6, 0.10, trial_freedom=1.5, stall_takes=(0.05, 0.95)),
    Noise("two-speed", 0.01, 0.20, 90, 90, 0.01, 0.03, 0.6, 0.01),
)
"""One block's d spreads by about 2.5, 6.6, 12.5, 14 and 7 % (two conditions).

quiet, mixed and ugly are close to the noise for which the thresholds were found. heavy: trial
effects whose variance is infinite, and a stall in every tenth trial that takes up to nearly all of
it. two-speed: a machine whose rate falls to 80 % and rises by 25 % again, every minute and a half.
"""


def machine_alone(noise: Noise) -> Noise:
    """What goes on between trials, without what belongs to single ones: with equally seeded dice the same drift."""
    return replace(noise, trial_sd=0.0, interval_sd=0.0, stall_share=0.0)


def rates(noise: Noise, rng: np.random.Generator, runs: int, blocks: int, conditions: int) -> Floats:
    """Goodput of each trial, shape (runs, blocks, conditions), when all conditions are the same."""
    slots = blocks * conditions
    log_rate = _drift(noise, rng, runs, slots)
    log_rate += np.log1p(-noise.neighbour_takes * _neighbour_share(noise, rng, runs, slots))
    log_rate += _trial_effect(noise, rng, (runs, slots))
    log_rate += _seconds_sd(noise) * rng.normal(size=(runs, slots))
    stalled = rng.random((runs, slots)) < noise.stall_share
    log_rate += np.where(stalled, np.log1p(-rng.uniform(*noise.stall_takes, (runs, slots))), 0.0)
    by_slot = np.exp(log_rate).reshape(runs, blocks, conditions)
    order = np.argsort(rng.random((runs, blocks, conditions)), axis=-1)
    return np.take_along_axis(by_slot, order, axis=-1)


def _drift(noise: Noise, rng: np.random.Generator, runs: int, slots: int) -> Floats:
    kept = np.exp(-SLOT_S / noise.drift_tau_s)
    drift = np.empty((runs, slots))
    drift[:, 0] = rng.normal(size=runs)
    for slot in range(1, slots):
        drift[:, slot] = kept * drift[:, slot - 1] + np.sqrt(1 - kept**2) * rng.normal(size=runs)
    return noise.drift_sd * drift


def _neighbour_share(noise: Noise, rng: np.random.Generator, runs: int, slots: int) -> Floats:
    """Share of each trial's measured time in which the neighbour was there (or the clock slow)."""
    there = rng.random(runs) < noise.neighbour_stays_s / (noise.neighbour_stays_s + noise.neighbour_away_s)
    leaves, comes = (1 - np.exp(-STEP_S / stay) for stay in (noise.neighbour_stays_s, noise.neighbour_away_s))
    share = np.zeros((runs, slots))
    for slot in range(slots):
        for step in range(STEPS_IDLE + STEPS_MEASURED):
            there ^= rng.random(runs) < np.where(there, leaves, comes)
            if step >= STEPS_IDLE:
                share[:, slot] += there / STEPS_MEASURED
    return share


def _trial_effect(noise: Noise, rng: np.random.Generator, shape: tuple[int, int]) -> Floats:
    if noise.trial_freedom is None:
        return noise.trial_sd * rng.normal(size=shape)
    return noise.trial_sd * rng.standard_t(noise.trial_freedom, size=shape).clip(-50, 50)


def _seconds_sd(noise: Noise) -> float:
    """Standard deviation of the mean of one trial's seconds, an AR(1) series: exact, not its limit."""
    rho, n = noise.interval_correlation, TRIAL_S
    lags = np.arange(1, n)
    return float(noise.interval_sd * np.sqrt((1 + 2 * np.sum((1 - lags / n) * rho**lags)) / n))
