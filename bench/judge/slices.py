"""Simulated slices of two conditions in rounds, many runs at once, and recorded ones.

A machine's rate wanders: one condition's slices have autocorrelations of .78, .75, .72 at lags 1 to 3 and .57 at 20
(in rounds), as recorded on a machine with noisy neighbours, and one slice in twenty loses more than nine tenths of its
speed. Both slices of a round meet nearly the same machine, so the ratio has none of this memory; where the conditions
differ, it may have one of its own.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

SLICE_S = 0.1
ROUND_S = 0.254
"""Wall time of a round of two slices of .1 s: with what is not measured around them."""
RATE_PER_S = 50_000.0
SLOW = ((0.72, 90.0), (0.08, 3.0))
"""Share of a slice's variance and time constant in rounds, of each part of the machine's slow noise."""
MEASURED_RATIO = (0.26, 0.12, 0.29)
"""Autocorrelations of the ratio's own part at lags 1 to 3: with the stalls, those of its ranks are .18, .08, .20, as
recorded with string against JSON."""


@dataclass(frozen=True)
class SliceNoise:
    """`slice_sd` is what is left in a slice without the machine's slow noise; a round's ratio has sqrt(2) times it.

    `ratio_memory` are autocorrelations of the ratio at lags from 1 on; `ratio_share` of its variance wanders with a
    time constant of `ratio_rounds`.
    """

    name: str
    slice_sd: float
    stall_share: float = 0.05
    stall_takes: tuple[float, float] = (0.9, 0.99)
    heavy_freedom: float | None = None
    ratio_memory: tuple[float, ...] = ()
    ratio_share: float = 0.0
    ratio_rounds: float = 10.0


NOISES = (
    SliceNoise("calm", 0.04, stall_share=0.005),
    SliceNoise("noisy", 0.10),
    SliceNoise("heavy", 0.06, heavy_freedom=1.5, stall_share=0.10),
    SliceNoise("follows", 0.035, ratio_memory=MEASURED_RATIO),
)
"""follows: the ratio itself follows the machine's state, as it may where the conditions differ."""
WANDERS = SliceNoise("wanders", 0.10, ratio_share=0.3)
"""Worse than what was recorded: three tenths of the ratio's variance have a memory of ten rounds."""


@dataclass(frozen=True)
class Slices:
    """Runs of two conditions: `rates` (runs, rounds, 2) by condition, `b_first` (runs, rounds)."""

    rates: Floats
    b_first: NDArray[np.bool_]


def simulated(noise: SliceNoise, rng: np.random.Generator, runs: int, rounds: int) -> Slices:
    """Rates of A and B, whose typical ratio is 1; `RATE_PER_S` is the median."""
    log_rate = _machine(noise, rng, runs, rounds)
    log_rate += noise.slice_sd * _white(noise, rng, log_rate.shape)
    stalled = rng.random(log_rate.shape) < noise.stall_share
    log_rate += np.where(stalled, np.log1p(-rng.uniform(*noise.stall_takes, log_rate.shape)), 0.0)
    b_first = rng.random((runs, rounds)) < 0.5
    by_condition = np.where(b_first[..., np.newaxis], log_rate[..., ::-1], log_rate)
    ratio = _ratio(noise, rng, runs, rounds) / 2
    by_condition += np.stack([-ratio, ratio], axis=-1)
    return Slices(RATE_PER_S * np.exp(by_condition), b_first)


def with_carry_over(slices: Slices, loss: float) -> Slices:
    """The same with every slice slower by so large a share where it follows the other condition."""
    runs, rounds, _ = slices.rates.shape
    first = slices.b_first.astype(int)
    labels = np.stack([first, 1 - first], axis=-1).reshape(runs, -1)
    follows = np.zeros(labels.shape, dtype=bool)
    follows[:, 1:] = labels[:, 1:] != labels[:, :-1]
    follows = follows.reshape(runs, rounds, 2)
    by_condition = np.where(slices.b_first[..., np.newaxis], follows[..., ::-1], follows)
    return Slices(slices.rates * np.where(by_condition, 1 - loss, 1.0), slices.b_first)


def _machine(noise: SliceNoise, rng: np.random.Generator, runs: int, rounds: int) -> Floats:
    """ln of the machine's speed in each slot (runs, rounds, 2)."""
    white = 1 - sum(share for share, _ in SLOW)
    total = np.zeros((runs, 2 * rounds))
    for share, tau in SLOW:
        lags = np.arange(2 * rounds)
        total += noise.slice_sd * np.sqrt(share / white) * gaussian(np.exp(-lags / (2 * tau)), rng, runs)
    return total.reshape(runs, rounds, 2)


def _white(noise: SliceNoise, rng: np.random.Generator, shape: tuple[int, ...]) -> Floats:
    if noise.heavy_freedom is None:
        return rng.normal(size=shape)
    return rng.standard_t(noise.heavy_freedom, size=shape).clip(-50, 50)


def _ratio(noise: SliceNoise, rng: np.random.Generator, runs: int, rounds: int) -> Floats:
    """What the ratio does by itself. The white parts of both slices make up the rest of its variance."""
    if noise.ratio_share:
        own = np.sqrt(2 * noise.ratio_share / (1 - noise.ratio_share)) * noise.slice_sd
        return own * gaussian(np.exp(-np.arange(rounds) / noise.ratio_rounds), rng, runs)
    if not noise.ratio_memory:
        return np.zeros((runs, rounds))
    covariance = np.zeros(rounds)
    covariance[: 1 + len(noise.ratio_memory)] = (OWN_SHARE, *noise.ratio_memory)
    return np.sqrt(2 / (1 - OWN_SHARE)) * noise.slice_sd * gaussian(covariance, rng, runs)


OWN_SHARE = 0.9
"""Of the ratio's variance that belongs to its own memory: the least that such autocorrelations need."""


def gaussian(covariance: Floats, rng: np.random.Generator, runs: int) -> Floats:
    """Series with these autocovariances, exact up to a circle (Dietrich & Newsam 1997)."""
    n = len(covariance)
    circle = np.concatenate([covariance, covariance[-2:0:-1]])
    power = np.maximum(np.fft.rfft(circle).real, 0.0)
    noise = np.fft.rfft(rng.normal(size=(runs, len(circle))))
    found: Floats = np.fft.irfft(noise * np.sqrt(power), len(circle))[:, :n]
    return found


def recorded(lines: Iterable[str]) -> tuple[Slices, list[str]]:
    """One run of two conditions out of JSON lines: round, position, condition, ok, seconds (and block, if several).

    Also what the conditions are called. Rounds that lack one are left out.
    Raises ValueError if there are not two conditions.
    """
    found: dict[tuple[int, int], dict[str, tuple[int, float, float]]] = {}
    for text in lines:
        if text.strip():
            line = json.loads(text)
            at = found.setdefault((line.get("block", 0), line["round"]), {})
            at[str(line["condition"])] = (line["position"], line["ok"], line["seconds"])
    names = sorted({name for at in found.values() for name in at})
    if len(names) != 2:
        raise ValueError(f"{len(names)} conditions ({', '.join(names)}): a replay needs the slices of two")
    rounds = [at for _, at in sorted(found.items()) if len(at) == 2]
    rates = np.array([[max(at[name][1], 0.5) / at[name][2] for name in names] for at in rounds])
    b_first = np.array([at[names[1]][0] < at[names[0]][0] for at in rounds])
    return Slices(rates[np.newaxis], b_first[np.newaxis]), names


def write(slices: Slices, path: Path) -> None:
    """The first run as JSON lines, as `recorded` reads them."""
    with path.open("w") as file:
        for number, (rates, b_first) in enumerate(zip(slices.rates[0], slices.b_first[0], strict=True)):
            for position, condition in enumerate((1, 0) if b_first else (0, 1)):
                done = round(float(rates[condition]) * SLICE_S)
                line = {"round": number, "position": position, "condition": "ab"[condition], "ok": done}
                file.write(json.dumps(line | {"seconds": SLICE_S}) + "\n")
