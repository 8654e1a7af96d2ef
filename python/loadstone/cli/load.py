"""The load of `loadstone redis` and `loadstone http`, as the options say it."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

from loadstone.cli.options import (
    LENGTH,
    LOAD,
    AtRateOption,
    BudgetOption,
    Option,
    Think,
    Threads,
    Timeout,
    amount,
    positive,
    seconds,
    whole,
)
from loadstone.safety.errors import UserError
from loadstone.text.language import author_text, translatable

CONNECTIONS = 50
REPEATS = 6
"""How often a row is measured: the fewest from which there is a 95 % interval."""
STEPS = 9
"""Levels of a range, both ends included."""
LEVELS_MAX = 50
SHARE_MAX = 1.5
"""Largest share of the capacity: beyond it queues grow without end, which one level shows as well as many."""
_SHARE = re.compile(r"(\d{1,3}(?:\.\d{1,3})?)\s*%", re.ASCII)


@dataclass(frozen=True)
class RateLevel:
    """One rate: of requests a second, or as a share of what the target can do."""

    per_s: float | None = None
    share: float | None = None

    @property
    def label(self) -> str:
        """As the table calls it."""
        if self.share is not None:
            return f"{100 * self.share:g} %"
        return f"{self.per_s:,.10g}/s"

    def of(self, capacity_per_s: float | None) -> float:
        """Requests a second, where the target can do so many."""
        if self.share is None:
            return self.per_s or 0.0
        return round(self.share * (capacity_per_s or 0.0), 3)


def rate_per_s(option: str, text: str) -> float:
    """Requests a second. Raises UserError."""
    from loadstone.text.units import MOST_PER_S  # only now: it takes time to load

    rate = float(amount(text.strip().removesuffix("/s")) or 0)
    if not 0 < rate <= MOST_PER_S:
        raise UserError(
            "{option} {text}: no rate; write requests a second, for example 5000 or 20k", option=option, text=text
        )
    return rate


def rate_levels(option: str, text: str) -> tuple[RateLevel, ...]:
    """The levels of a list or a range, in their order. Raises UserError."""
    levels = tuple(dict.fromkeys(level for part in text.split(",") for level in _part(option, text, part.strip())))
    if len({level.label for level in levels}) != len(levels):
        raise UserError(
            "{option} {text}: two rates are nearly the same; leave one of them out", option=option, text=text
        )
    if len(levels) > LEVELS_MAX:
        raise UserError(
            "{option} {text}: {levels_count} rates; write at most {levels_max}",
            option=option,
            text=text,
            levels_count=len(levels),
            levels_max=LEVELS_MAX,
        )
    if len({level.share is None for level in levels}) > 1:
        raise UserError(
            "{option} {text}: rates and shares of the capacity together; write one kind", option=option, text=text
        )
    return levels


def _part(option: str, text: str, part: str) -> Sequence[RateLevel]:
    low, dots, high = part.partition("..")
    if not dots:
        return [_level(option, text, low)]
    first, last = _level(option, text, low), _level(option, text, high)
    if (first.share is None) != (last.share is None):
        raise UserError(
            "{option} {text}: a rate and a share; write for example 10%..90%, or 1000..9000", option=option, text=text
        )
    a, b = (first.share, last.share) if first.share is not None else (first.per_s, last.per_s)
    assert a is not None
    assert b is not None
    if a >= b:
        raise UserError(
            "{option} {text}: begins with what it ends with, or more; write for example 10%..90%",
            option=option,
            text=text,
        )
    values = [round(a + (b - a) * place / (STEPS - 1), 6) for place in range(STEPS)]
    return [RateLevel(share=value) if first.share is not None else RateLevel(per_s=value) for value in values]


def _level(option: str, text: str, word: str) -> RateLevel:
    match = _SHARE.fullmatch(word.strip())
    if match is None:
        return RateLevel(per_s=rate_per_s(option, word))
    share = float(match[1]) / 100
    if not 0 < share <= SHARE_MAX:
        raise UserError(
            "{option} {text}: {word} is no share of the capacity; write 1% to {share_max:.0%}",
            option=option,
            text=text,
            word=word,
            share_max=SHARE_MAX,
        )
    return RateLevel(share=round(share, 6))


@dataclass(frozen=True)
class Load:
    """The load, and how it is measured. Options that are not given are None."""

    connections: Annotated[
        int | None,
        Option(
            "--connections",
            ("-c",),
            metavar="NUMBER",
            help=f"Connections of all threads together; each has one user, who waits for the reply ({CONNECTIONS}).",
            panel=LOAD,
            read=whole(translatable("not a number of connections"), 1, 65_536),
        ),
    ] = None
    requests: Annotated[
        int | None,
        Option(
            "--requests",
            ("-n",),
            metavar="NUMBER",
            help="Exactly so many requests of each operation, of all connections together, in the place of a time.",
            panel=LENGTH,
            read=whole(translatable("not a number of requests"), 1, 10**12),
        ),
    ] = None
    measure_s: Annotated[
        float | None,
        Option(
            "--duration",
            metavar="TIME",
            help="How long each row is measured, all its repeats together; seconds, or '2m' (2 s; of http 5 s).",
            panel=LENGTH,
            read=seconds,
        ),
    ] = None
    warm_up_s: Annotated[
        float | None,
        Option(
            "--warm-up",
            metavar="TIME",
            help="Cut off before each measurement (300 ms).",
            panel=LENGTH,
            read=seconds,
        ),
    ] = None
    repeat: Annotated[
        int | None,
        Option(
            "--repeat",
            metavar="NUMBER",
            help="Measure each so often; from 6 on there is an interval. With --against: so many blocks.",
            panel=LENGTH,
            read=whole(translatable("not a number of repeats"), 1, 1000),
        ),
    ] = None
    total_rate_per_s: Annotated[
        float | None,
        Option(
            "--rate",
            ("--rps",),
            metavar="RATE",
            help="Requests a second, of all connections together, whether or not replies came (open model): latency "
            "counts from the time that each was due. For example 5000 or 20k.",
            panel=LOAD,
            read=rate_per_s,
        ),
    ] = None
    connection_rate_per_s: Annotated[
        float | None,
        Option(
            "--rate-limiting",
            metavar="RATE",
            help="As --rate, of each connection.",
            panel=LOAD,
            read=positive(translatable("not a rate"), 1e9),
        ),
    ] = None
    rates: Annotated[
        Sequence[RateLevel],
        Option(
            "--rates",
            metavar="RATES",
            help="Latency by rate: '10%..90%' of full speed, which is measured first; '1000..9000', '1k,5k,20k'.",
            panel=LOAD,
            read=rate_levels,
        ),
    ] = ()
    arrivals: Annotated[
        Literal["constant", "poisson"],
        Option("--arrivals", help="How requests that come at a rate are spread.", panel=LOAD),
    ] = "constant"
    precise: Annotated[
        bool,
        Option(
            "--precise",
            help="With --rate or --rates: stay awake before a request is due and while a reply is, even where the "
            "generator shares its CPUs. By default it does so where it has CPUs of its own.",
            panel=LOAD,
        ),
    ] = False
    think_ms: Think = None
    at_rate: AtRateOption = None
    against: Annotated[
        str | None,
        Option(
            "--against",
            metavar="URL",
            help="Compare with this one: both take turns until it is decided which is faster, within a minute.",
            panel=LOAD,
        ),
    ] = None
    slice: Annotated[
        str | None,
        Option("--slice", metavar="TIME", help="How long a turn is with --against, e.g. '100 ms'.", panel=LENGTH),
    ] = None
    timeout_ms: Timeout = None
    threads: Threads = None
    budget: BudgetOption = None
    usual_s: float = 2.0
    """How long a row is measured at full speed where no option says it."""
    usual_warm_up_s: float = 0.3

    @property
    def users(self) -> int:
        """Each has a connection of its own."""
        return self.connections or CONNECTIONS

    @property
    def rate_per_s(self) -> float | None:
        """Return the rate of all connections together; None: full speed."""
        if self.connection_rate_per_s is not None:
            return self.connection_rate_per_s * self.users
        return self.total_rate_per_s

    @property
    def cut_off_s(self) -> float:
        """The warm-up. A number of requests is measured from the first one on."""
        if self.requests is not None:
            return 0.0
        return self.usual_warm_up_s if self.warm_up_s is None else self.warm_up_s

    @property
    def needs_capacity(self) -> bool:
        """Whether full speed is measured first."""
        return any(level.share is not None for level in self.rates)

    def faster(self, b: str, a: str, under: str = "") -> str:
        """The question of a comparison, with what decides it where that is not the rate at full speed."""
        names = {"side": b, "side2": a, "under": under, "rate": f"{self.rate_per_s or 0:,.0f}"}
        if self.rates:
            if not under:
                return author_text(
                    "Is {side} faster than {side2}, by the P99 of the response time at equal rates?", **names
                )
            return author_text(
                "Is {side} faster than {side2} under {under}, by the P99 of the response time at equal rates?", **names
            )
        if self.rate_per_s is None:
            either = author_text("Is {side} faster than {side2}?", **names)
            return author_text("Is {side} faster than {side2} under {under}?", **names) if under else either
        if not under:
            return author_text(
                "Is {side} faster than {side2}, by the P99 of the response time at {rate} requests a second?", **names
            )
        return author_text(
            "Is {side} faster than {side2} under {under}, by the P99 of the response time at {rate} requests a second?",
            **names,
        )

    @property
    def blocks(self) -> int:
        """Return how often each row is measured."""
        return self.repeat or (1 if self.requests is not None else REPEATS)

    def check(self) -> None:
        """Raises UserError where options contradict each other."""
        if self.warm_up_s and self.requests is not None:
            raise UserError(
                "-n, --warm-up: exactly so many requests are sent, and all are measured; leave one of them out"
            )
        self._check_model()
        ended_by = "-n" if self.requests is not None else "" if self.measure_s is None else "--duration"
        if ended_by and self.against is not None:
            raise UserError(
                "{ended_by}: a comparison ends when it is decided; write --repeat or --budget", ended_by=ended_by
            )
        if self.slice is not None and self.against is None:
            raise UserError("--slice: sets how long a turn of a comparison lasts; add --against, or leave it out")
        if self.requests is not None and self.measure_s is not None:
            raise UserError("-n, --duration: leave one of them out")
        if self.requests is not None and self.rates:
            raise UserError("-n: rates are measured for a time, not for a number of requests; leave it out")

    def _check_model(self) -> None:
        paced = "--rates" if self.rates else "--rate" if self.rate_per_s is not None else ""
        if self.total_rate_per_s is not None and self.connection_rate_per_s is not None:
            raise UserError("--rate, --rate-limiting: leave one of them out")
        if self.rates and self.rate_per_s is not None:
            raise UserError("--rate, --rates: leave one of them out")
        if paced and self.think_ms is not None:
            raise UserError("--think: users pause in the closed model alone; leave it or {paced} out", paced=paced)
        if paced and self.at_rate is not None:
            raise UserError("--at-rate: the load has a rate already; leave it or {paced} out", paced=paced)
        if self.think_ms and self.at_rate not in (None, "never"):
            raise UserError("--at-rate: users who pause have a rate already; leave it or --think out")
        for option, given in (("--arrivals", self.arrivals == "poisson"), ("--precise", self.precise)):
            if given and not paced:
                raise UserError("{option}: needs requests that come at a rate; add --rate", option=option)
