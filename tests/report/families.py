"""Two declared comparisons with every kind of verdict, with the real verdicts, and the trials behind them."""

import math
import random
from dataclasses import dataclass
from statistics import median
from typing import Any

from loadstone.judge.analysis.analysis import Analysis, Bottleneck, Comparison, Family, Row, TrialView
from loadstone.judge.statistics.decision import refused, verdict_of
from loadstone.judge.statistics.pair_evidence import block_evidence
from loadstone.judge.statistics.settings import Settings
from loadstone.judge.verdict import BlockPoint, Side, Verdict
from loadstone.run_folder.trial import CheckResult
from loadstone.text.message import verbatim

LATENCY = "response_ns.p50"
TOO_MANY_ERRORS = CheckResult(
    name="errors", verdict="invalid", measured=3.4, limit=1.0, unit="%",
    reason=verbatim("hash: 3.4 % of the operations failed, limit 1 %"),
)  # fmt: skip


@dataclass(frozen=True)
class Pair:
    """How the blocks of one pair are to come out: ln(B / A) with its noise, and blocks in which B stalls."""

    a: str
    b: str
    place: str
    truth: float
    noise: float
    blocks: int
    stalls: tuple[int, ...] = ()
    spoiled: bool = False
    ended: Any = "decided"
    warnings: tuple[str, ...] = ()


STORAGE = (
    Pair("json", "string", "1 kB, 8 workers", 0.12, 0.02, 12),
    Pair("json", "hash", "1 kB, 8 workers", 0.01, 0.01, 18),
    Pair("string", "hash", "1 kB, 8 workers", -0.11, 0.02, 18),
    Pair("json", "string", "10 kB, 8 workers", 1.1, 0.05, 18),
    Pair("json", "hash", "10 kB, 8 workers", 0.0, 0.02, 18, spoiled=True, ended="carry-over"),
)
CLIENTS = (
    Pair("jedis", "lettuce", "8 workers", 0.03, 0.09, 18, ended="out of budget"),
    Pair("jedis", "lettuce", "16 workers", 0.06, 0.02, 40, stalls=(3, 9, 14, 33),
         warnings=("Which one ran first in its block mattered: the order shifts the ratio by 4 %.",)),
    Pair("jedis", "lettuce", "32 workers", 0.002, 0.9, 12, ended="last look"),
    Pair("jedis", "lettuce", "64 workers", -0.3, 0.02, 3, ended="interrupted"),
)  # fmt: skip


class Maker:
    """Makes comparisons and trials that agree with each other."""

    def __init__(self, analysis: Analysis, seed: int = 5) -> None:
        self.random = random.Random(seed)
        self.checks = analysis.trials[0].checks
        self.trials: list[TrialView] = []

    def family(self, name: str, question: str, answer: str, pairs: tuple[Pair, ...], metric: str) -> Family:
        settings = {"pairs": len(pairs), "budget": 2.0 if metric == LATENCY else 45.0}
        comparisons = [self.comparison(name, question, pair, metric, **settings) for pair in pairs]
        return Family(
            name=name, question=question, answer=verbatim(answer), note="", metric=metric, comparisons=comparisons
        )

    def comparison(self, name: str, question: str, pair: Pair, metric: str, *, pairs: int, budget: float) -> Comparison:
        points = [self.point(name, pair, block, metric) for block in range(1, pair.blocks + 1)]
        if pair.spoiled:
            points[4] = points[4].model_copy(
                update={"used": False, "why": verbatim(f"{points[4].trial_a} is invalid: generator cpu")}
            )
        primary = self.verdict(pair, points, metric, "primary", pairs, budget)
        other = LATENCY if metric == "goodput_per_s" else "goodput_per_s"
        flipped = [
            point.model_copy(update={"a": 1e9 / (point.a or 1), "b": 1e9 / (point.b or 1), "used": True})
            for point in points
        ]
        return Comparison(
            name=name, question=question, place=pair.place, between="storage", primary=primary,
            exploratory=[self.verdict(pair, flipped, other, "exploratory", pairs, budget)], pairs=pairs,
            sequential=True, blocks_done=pair.blocks, blocks_repeated=2 if pair.spoiled else 0, ended=pair.ended,
            checks=self.comparison_checks(pair), warnings=list(map(verbatim, pair.warnings)),
        )  # fmt: skip

    def comparison_checks(self, pair: Pair) -> list[CheckResult]:
        replication = CheckResult(
            name="replication", verdict="valid", measured=pair.blocks, limit=8, unit="blocks", reason=None
        )
        return [replication, TOO_MANY_ERRORS] if pair.spoiled else [replication]

    def point(self, name: str, pair: Pair, block: int, metric: str) -> BlockPoint:
        ratio = self.random.gauss(pair.truth, pair.noise) - (1.5 if block in pair.stalls else 0.0)
        base = 20_000 * self.random.uniform(0.9, 1.1)
        a = base if metric == "goodput_per_s" else 1e10 / base
        b = a * math.exp(ratio if metric == "goodput_per_s" else -ratio)
        swapped = self.random.random() < 0.5
        names = [self.trial(name, side, pair.place, block, swapped != (side == pair.b)) for side in (pair.a, pair.b)]
        return BlockPoint(
            block=block, trial_a=names[0], trial_b=names[1], a=a, b=b, log_ratio=math.log(b / a), used=True
        )

    def trial(self, group: str, side: str, place: str, block: int, late: bool) -> str:
        name = f"{group}-b{block:02d}-{len(self.trials):03d}"
        self.trials.append(
            TrialView(
                trial=name, label=f"{side}, {place}", condition={"storage": side}, group=group, block=block,
                order=len(self.trials) + 2 * late, attempt=2 if block == 4 else 1, verdict="valid",
                goodput_per_s=20_000.0, p99_ns=2_000_000, checks=self.checks[:3],
            )
        )  # fmt: skip
        return name

    def verdict(
        self, pair: Pair, points: list[BlockPoint], metric: str, role: Any, pairs: int, budget: float
    ) -> Verdict:
        larger = metric == "goodput_per_s"
        settings = Settings(
            metric=metric, larger_is_faster=larger, margin=0.05 if larger else 0.10, pairs=pairs, trial_s=3,
            overhead_s=1, budget_minutes=budget, names=(pair.a, pair.b),
        )  # fmt: skip
        used = [point for point in points if point.used and point.a and point.b]
        a, b = [point.a or 1.0 for point in used], [point.b or 1.0 for point in used]
        found = verdict_of(block_evidence(a, b, settings), settings, rejected=False)
        if pair.spoiled and role == "primary":
            found = refused(TOO_MANY_ERRORS, len(used), settings)
        sides = {
            side: Side(condition={"storage": name}, name=name, typical=median(getattr(point, side) for point in points))
            for side, name in (("a", pair.a), ("b", pair.b))
        }
        return found.model_copy(update={**sides, "role": role, "points": points if role == "primary" else []})


def with_families(analysis: Analysis) -> Analysis:
    """The analysis with both families, and their trials beside its own."""
    maker = Maker(analysis)
    families = [
        maker.family(
            "storage", "Does a JSON document cost more than a string or a hash of the same content?",
            "A string is faster than JSON by 12 to 200 %; a hash is no different at 1 kB.", STORAGE, "goodput_per_s",
        ),
        maker.family(
            "client-library", "Does the client library change what a user waits?",
            "Not decided on this machine: 4 pairs, none of them decided.", CLIENTS, LATENCY,
        ),
    ]  # fmt: skip
    return analysis.model_copy(
        update={
            "families": families, "trials": [*analysis.trials, *maker.trials], "elapsed_s": 723.0, "budget_s": 2700.0,
            "comparison": verbatim("9 comparisons: 4 decided, 4 undecided, 1 invalid"),
        }
    )  # fmt: skip


def with_intervals(analysis: Analysis) -> Analysis:
    """Every measured row with an interval, six blocks and its bottleneck."""
    tables = [
        table.model_copy(update={"rows": [_with_interval(row) for row in table.rows]}) for table in analysis.tables
    ]
    return analysis.model_copy(update={"tables": tables})


def _with_interval(row: Row) -> Row:
    rate = row.goodput_per_s
    if rate is None:
        return row
    bottleneck = Bottleneck(
        part="server", message=verbatim("server-bound: main thread of redis 98 % busy"), evidence={"redis": 0.98}
    )
    ends = (0.98 * rate, 1.03 * rate)
    return row.model_copy(update={"goodput_interval": ends, "blocks": 6, "bottleneck": bottleneck})
