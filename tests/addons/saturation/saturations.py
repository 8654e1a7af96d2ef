"""Saturations of every kind, as an analysis holds them: what a fake system would give, without noise in the tests."""

import math
import random
from collections.abc import Callable

from loadstone.addons.saturation.answer import with_averages
from loadstone.addons.saturation.ramp_reading import RampStretch as Step
from loadstone.addons.saturation.ramp_reading import by_eye, kneedle
from loadstone.addons.saturation.results import (
    Estimated,
    Limiting,
    ObjectiveAnswer,
    PartShare,
    RampAnswer,
    SaturationAnswer,
    SaturationPoint,
    Search,
    SearchPoint,
)
from loadstone.drivers.outcome import Quantiles
from loadstone.judge.bottleneck import Bottleneck
from loadstone.text.message import Message, message

LEVELS = (1, 2, 3, 4, 6, 8, 11, 16, 23, 32, 45, 64)
UNLOADED_S = 0.00011


def plateau_of(users: float) -> float:
    return 1 / (1 / (users / UNLOADED_S) ** 4 + 1 / 98_200**4) ** 0.25


def peak_of(users: float) -> float:
    return (users / UNLOADED_S) / (1 + 0.03 * (users - 1) + 0.003 * users * (users - 1))


def near(value: float, share: float = 0.03) -> Estimated:
    return Estimated(value=value, low=value * (1 - share), high=value * (1 + share))


def response(mean_ns: float) -> Quantiles:
    p50, p99 = int(mean_ns * 0.93), int(mean_ns * 2.1)
    return Quantiles(min=p50 // 2, mean=mean_ns, p50=p50, p90=p50 * 2, p95=p50 * 2, p99=p99, p999=p99 * 2, max=p99 * 4)


def point(users: int, curve: Callable[[float], float], verdict: str = "valid") -> SaturationPoint:
    per_s = curve(users)
    reasons = [] if verdict == "valid" else [message("generator_gave_out", limit="generator")]
    return SaturationPoint(
        users=users,
        rate_per_s=None,
        per_s=per_s,
        low=per_s * 0.96,
        high=per_s * 1.03,
        response_ns=response(1e9 * users / per_s),
        cpu={"redis": min(0.99, per_s / 98_000), "generator": min(0.95, per_s / 150_000)},
        errors=0.0,
        sweeps=6,
        verdict=verdict,
        reasons=reasons,
    )


def limiting(part: str = "server", name: str = "redis") -> Limiting:
    busy = message("bottleneck_main_thread_busy", name=name, busy_share=0.98)
    return Limiting(
        bottleneck=Bottleneck(
            part=part,
            message=message("bottleneck_full", part=part, busy=[busy], stores=None),
            evidence={name: 0.98, "generator": 0.62},
        ),
        users=11,
        rate_per_s=None,
        runner_up="generator",
        runner_up_share=0.62,
        shares=[
            PartShare(part=name, unloaded=0.21, knee=0.93, beyond=0.98),
            PartShare(part="generator", unloaded=0.17, knee=0.6, beyond=0.62),
        ],
    )


def ramp_answer(found: Estimated | None, seed: int = 3) -> RampAnswer:
    dice = random.Random(seed)
    steps = [
        Step(users, 6.0 * place, 6.0 * (place + 1), plateau_of(users) * math.exp(dice.gauss(0, 0.06)))
        for place, users in enumerate(range(1, 65))
    ]
    eye, knee = by_eye(steps), kneedle(steps)
    said = message(
        "ramp_differs",
        users=None if found is None else [found.value, found.low, found.high],
        eye_users=eye.users if eye else None,
    )
    return RampAnswer(
        steps=with_averages(steps),
        eye_users=eye.users if eye else None,
        eye_per_s=eye.per_s if eye else None,
        knee_users=knee.users if knee else None,
        knee_per_s=knee.per_s if knee else None,
        message=said,
    )


def saturation(
    kind: str, said: Message, curve: Callable[[float], float] = plateau_of, label: str = "get", **changes: object
) -> SaturationAnswer:
    base = {
        "condition": {"operation": label},
        "label": label,
        "model": "closed",
        "kind": kind,
        "message": said,
        "users": None,
        "per_s": None,
        "at_least_per_s": None,
        "sweeps": 6,
        "rounds_a_sweep": 4,
        "seconds": 83.0,
        "think_s": 0.0,
        "unloaded_s": UNLOADED_S,
        "points": [point(users, curve) for users in LEVELS],
        "search": Search(
            points=[
                SearchPoint(users=users, rate_per_s=None, per_s=curve(users)) for users in (1, 2, 4, 8, 16, 32, 64)
            ],
            why=message("no_longer_exceeded", per_s=98_000.0),
        ),
        "limiting": limiting(),
    }
    return SaturationAnswer.model_validate({**base, **changes})


def plateau(label: str = "get", *, ramp: bool = True) -> SaturationAnswer:
    users, per_s = near(10.8), near(98_200, 0.01)
    said = message("saturation_plateau", users=[10.8, 10.4, 11.1], per_s=[98_200.0, 97_100.0, 99_300.0], from_users=16)
    objective = ObjectiveAnswer(
        text="p99 < 1 ms",
        kind="limit",
        message=message("saturation_limit", objective="p99 < 1 ms", per_s=[91_000.0, 88_000.0, 93_000.0]),
        rate_per_s=near(91_000),
    )
    found = ramp_answer(users) if ramp else None
    return saturation("plateau", said, label=label, users=users, per_s=per_s, objective=objective, ramp=found)


def peak() -> SaturationAnswer:
    users, per_s = near(17.6, 0.08), near(peak_of(17.6), 0.02)
    figures = {"end_per_s": peak_of(64), "end_users": 64}
    said = message("saturation_peak", users=[17.6, 16.2, 19.0], per_s=[per_s.value, per_s.low, per_s.high], **figures)
    return saturation("peak", said, peak_of, label="zadd", users=users, per_s=per_s)


def at_least() -> SaturationAnswer:
    why = message("generator_gave_out_at", users=16, limit="hottest thread 97 % busy")
    said = message("saturation_at_least", per_s=88_000.0, why=why)
    points = [point(users, plateau_of, "invalid" if users >= 16 else "valid") for users in LEVELS[:8]]
    return saturation(
        "at_least", said, label="pipeline", at_least_per_s=88_000.0, points=points,
        limiting=limiting("generator", "generator"),
    )  # fmt: skip


def none() -> SaturationAnswer:
    said = message("saturation_none", why=message("no_correct_reply"))
    search = Search(points=[], why=message("no_correct_reply"))
    return saturation(
        "none", said, label="error", points=[], search=search, limiting=None, unloaded_s=None, sweeps=0, seconds=0.4
    )


def limit() -> SaturationAnswer:
    """The open model: P99 grows as the rate comes near what the server can do."""
    rates = [1000 * 2**step for step in range(6)] + [40_000, 44_000, 47_000, 50_000, 54_000]
    points = [
        SaturationPoint(
            users=None,
            rate_per_s=rate,
            per_s=min(rate, 56_000),
            low=min(rate, 55_000),
            high=min(rate, 57_000),
            response_ns=response(1e5 / max(0.02, 1 - rate / 56_000)),
            cpu={"service": rate / 57_000, "mariadb": rate / 110_000, "generator": rate / 200_000},
            errors=0.0,
            sweeps=8,
            verdict="valid",
            reasons=[],
        )
        for rate in sorted(rates)
    ]
    kept = message("latency_objective", quantile=0.99, latency_s=0.001)
    per_s = near(48_600)
    said = message("saturation_limit", objective=kept, per_s=[per_s.value, per_s.low, per_s.high])
    objective = ObjectiveAnswer(
        text="p99 < 1 ms",
        kind="limit",
        message=message("saturation_per_s", per_s=[per_s.value, per_s.low, per_s.high]),
        rate_per_s=per_s,
    )
    found = [SearchPoint(users=None, rate_per_s=rate, per_s=rate, kept=rate < 48_000) for rate in (16_000, 64_000)]
    return saturation(
        "limit", said, label="list", model="open", users=None, per_s=per_s, points=points, objective=objective,
        search=Search(points=found, why=None), limiting=limiting("subject", "service"), rounds_a_sweep=0,
    )  # fmt: skip


KINDS: dict[str, Callable[[], SaturationAnswer]] = {
    "plateau": plateau, "peak": peak, "at_least": at_least, "none": none, "limit": limit,
}  # fmt: skip
