"""A realistic analysis of the first study: its 54 rows, some invalid, suspect or missing, and two further tables."""

import itertools
import random
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from loadstone.drivers.outcome import Quantiles
from loadstone.judge.analysis.analysis import (
    Analysis,
    CheckSummary,
    FactorView,
    ResultTable,
    Row,
    TimelinePoint,
    TrialView,
)
from loadstone.run_folder.trial import CheckResult
from loadstone.text.message import verbatim

SIZES = {"10 B": 10, "100 B": 100, "500 B": 500, "1 kB": 1000, "10 kB": 10_000, "100 kB": 100_000}
OPERATIONS = ("set", "get", "update")
PAYLOADS = ("100 B", "1 kB", "10 kB")
STORAGES = ("json", "string", "hash")
PUBLISHED_BY_SIZE = {
    "set": (1089, 1394, 1005, 899, 799, 395),
    "get": (1174, 1102, 1039, 1078, 780, 371),
    "update": (887, 1135, 1038, 992, 1143, 814),
}
PUBLISHED_BY_WORKERS = {
    "set": ((3562, 4597, 6334, 8051), (3188, 4564, 5931, 7099), (1796, 2203, 2411, 2657)),
    "get": ((2816, 4379, 5250, 6851), (3224, 4703, 6278, 7028), (2562, 3427, 3784, 4034)),
    "update": ((3163, 5048, 6049, 7221), (3237, 4916, 5916, 7690), (2882, 4549, 5836, 7091)),
}
CHECKS = {
    "gain": ("%", 10.0, "The generator must leave the server little to gain, or it measures itself."),
    "taken": ("%", 10.0, "Without other programs and other machines the rate would be little higher."),
    "clock": ("ns", 1000.0, "The clock must tick much finer than the latencies it measures."),
    "errors": ("%", 1.0, "Failed requests cost less than right ones: too many of them spoil the rate."),
    "conservation": ("operations", 0.0, "Everything that was sent is right, failed, late or still in flight."),
    "server_counter": ("operations", 0.0, "The server counted as many commands as we did."),
    "replies": ("operations", 0.0, "What is read back is what was written."),
    "little": ("", 0.95, "Users = rate x response time. If not, the generator was waiting for itself."),
    "pool_wait": ("%", 10.0, "Waiting for a connection is not the server's time."),
    "payload": ("%", 1.0, "The server received the bytes that we meant to send."),
    "swap": ("bytes", 0.0, "Memory that goes to the disk and back makes every figure slow."),
    "warm_up": ("%", 10.0, "The first and the last third of the measurement must agree."),
    "replication": ("blocks", 8.0, "One run of each condition cannot tell a difference from chance."),
}
SERVICE_US = {"set": 24.0, "get": 19.0, "update": 21.0}


def quantiles(p50_ns: float, spread: float = 1.0, known: int = 10**6) -> Quantiles:
    """A latency distribution with a tail; P99 and P99.9 are None where `known` samples cannot tell them."""
    return Quantiles(
        min=int(p50_ns * 0.55),
        mean=p50_ns * 1.12,
        p50=int(p50_ns),
        p90=int(p50_ns * (1.3 + 0.1 * spread)),
        p95=int(p50_ns * (1.5 + 0.2 * spread)),
        p99=int(p50_ns * (2.2 + 0.8 * spread)) if known >= 10_000 else None,
        p999=int(p50_ns * (6 + 4 * spread)) if known >= 100_000 else None,
        max=int(p50_ns * (30 + 20 * spread)),
    )


def condition_of(operation: str, payload: str, workers: int, storage: str = "json") -> dict[str, Any]:
    return {"operation": operation, "payload": payload, "workers": workers, "storage": storage}


def label_of(condition: dict[str, Any], with_storage: bool = False) -> str:
    workers = condition["workers"]
    words = [condition["operation"], condition["payload"]]
    words += [condition["storage"]] if with_storage else []
    return ", ".join([*words, f"{workers} worker{'' if workers == 1 else 's'}"])


class Builder:
    """Makes rows, trials and seconds that agree with each other."""

    def __init__(self, seed: int, as_published: bool) -> None:
        self.random = random.Random(seed)
        self.as_published = as_published
        self.trials: list[TrialView] = []
        self.timeline: list[TimelinePoint] = []
        self.now = 1_790_000_000.0

    def row(self, condition: dict[str, Any], label: str, published: float | None, verdict: str = "valid") -> Row:
        if verdict == "missing":
            return self.empty(condition, label, published)
        users, size = condition["workers"], SIZES[condition["payload"]]
        service_us = SERVICE_US[condition["operation"]] + size / 900
        ceiling = 1e6 / (service_us * 0.45)
        rate = min(users * 1e6 / (service_us + 32), ceiling) * self.random.uniform(0.96, 1.04)
        operations = users * 1000 if self.as_published else int(rate * 5)
        response = quantiles(users / rate * 9e8, self.random.uniform(0.5, 2.5), operations)
        trial = self.trial(condition, label, verdict, rate, response)
        if verdict == "invalid":
            return self.empty(condition, label, published, trial)
        unmeasurable = ["p99", "p999"] if operations < 10_000 else ["p999"] if operations < 100_000 else []
        return Row(
            condition=condition,
            label=label,
            trials=[trial.trial],
            verdict=verdict,
            reasons=[c.reason for c in trial.checks if c.verdict in ("suspect", "invalid") and c.reason],
            operations=operations,
            elapsed_s=operations / rate,
            throughput_per_s=rate * 1.0003,
            goodput_per_s=rate,
            peak_per_s=rate * 1.05,
            response_ns=response,
            service_ns=quantiles((response.p50 or 0) * 0.97),
            pool_wait_ns=quantiles((response.p50 or 0) * 0.1 if users == 32 else 400),
            errors={"timeout": 12} if verdict == "suspect" else {},
            cpu_share={"generator": 0.41, "redis": min(0.99, rate * service_us * 0.45e-6)},
            published=published,
            unmeasurable={
                name: verbatim(f"{operations:,} samples; 100 beyond the quantile are needed") for name in unmeasurable
            },
        )

    def trial(self, condition: dict[str, Any], label: str, verdict: str, rate: float, response: Quantiles) -> TrialView:
        name = f"b01-{len(self.trials):03d}"
        view = TrialView(
            trial=name,
            label=label,
            condition=condition,
            block=1,
            order=len(self.trials),
            verdict=verdict,
            goodput_per_s=None if verdict == "invalid" else rate,
            p99_ns=None if verdict == "invalid" else response.p99,
            checks=self.checks(verdict),
        )
        self.trials.append(view)
        self.seconds(name, rate, response)
        return view

    def empty(
        self, condition: dict[str, Any], label: str, published: float | None, trial: TrialView | None = None
    ) -> Row:
        return Row(
            condition=condition, label=label, published=published,
            trials=[trial.trial] if trial else [], verdict="invalid" if trial else "missing",
            reasons=[check.reason for check in trial.checks if check.verdict == "invalid"] if trial else [],
            operations=None, elapsed_s=None, throughput_per_s=None, goodput_per_s=None, peak_per_s=None,
            response_ns=None, service_ns=None, pool_wait_ns=None, errors={}, cpu_share={}, unmeasurable={},
        )  # fmt: skip

    def checks(self, verdict: str) -> list[CheckResult]:
        results = []
        for name, (unit, limit, _) in CHECKS.items():
            measured: float | None = limit * self.random.uniform(0.05, 0.8)
            outcome, reason = "valid", ""
            if name == "replication":
                outcome, measured, reason = "unknown", 1.0, "one block"
            if name == "gain" and verdict == "invalid":
                outcome, measured = "invalid", 93.4
                reason = "without the generator the rate could be up to 93.4 % higher, limit 50 %"
            if name == "warm_up" and verdict == "suspect":
                outcome, measured = "suspect", 12.5
                reason = "warm-up: the first and the last third differ by 12.5 %, limit 10 %"
            results.append(
                CheckResult(
                    name=name,
                    verdict=outcome,
                    measured=measured,
                    limit=limit,
                    unit=unit,
                    reason=verbatim(reason) if reason else None,
                )
            )
        return results

    def seconds(self, trial: str, rate: float, response: Quantiles) -> None:
        for second in range(7):
            phase = "warm_up" if second < 1 else "measure" if second < 6 else "drain"
            share = 0.8 if phase == "warm_up" else 0.02 if phase == "drain" else self.random.uniform(0.95, 1.03)
            p99_ns = int((response.p50 or 1) * self.random.uniform(2.5, 4.5)) if phase != "drain" else None
            cpu = {"generator": 0.41 * share, "redis": min(1.0, rate / 42_000) * share, "host": 0.9 * share}
            self.timeline.append(
                TimelinePoint(
                    unix_s=self.now,
                    trial=trial,
                    phase=phase,
                    throughput_per_s=rate * share,
                    goodput_per_s=rate * share,
                    p50_ns=p99_ns and p99_ns // 4,
                    p95_ns=p99_ns and p99_ns // 2,
                    p99_ns=p99_ns,
                    cpu_share=cpu,
                )
            )
            self.now += 1
        self.now += 0.6


def build_analysis(
    seed: int = 7,
    invalid: tuple[str, ...] = ("set, 10 kB, 32 workers", "get, 100 B, 32 workers"),
    suspect: tuple[str, ...] = ("update, 1 kB, 8 workers",),
    missing: tuple[str, ...] = ("get, 10 kB, 16 workers", "get, 10 kB, 32 workers"),
    as_published: bool = False,
    all_invalid: bool = False,
) -> Analysis:
    """The whole sample. Conditions are named by their labels."""
    builder = Builder(seed, as_published)
    verdicts = dict.fromkeys(suspect, "suspect") | dict.fromkeys(missing, "missing") | dict.fromkeys(invalid, "invalid")

    def row(condition: dict[str, Any], published: float | None = None, with_storage: bool = False) -> Row:
        label = label_of(condition, with_storage)
        return builder.row(condition, label, published, "invalid" if all_invalid else verdicts.get(label, "valid"))

    by_size = [
        row(condition_of(operation, size, 1), figure)
        for operation in OPERATIONS
        for size, figure in zip(SIZES, PUBLISHED_BY_SIZE[operation], strict=True)
    ]
    by_workers = [
        row(condition_of(operation, payload, workers), PUBLISHED_BY_WORKERS[operation][i][j])
        for operation, (i, payload), (j, workers) in itertools.product(
            OPERATIONS, enumerate(PAYLOADS), enumerate((4, 8, 16, 32))
        )
    ]
    by_storage = [
        row(condition_of(operation, payload, 8, storage), with_storage=True)
        for operation, payload, storage in itertools.product(OPERATIONS, PAYLOADS, STORAGES)
    ]
    warm_up = [row(condition_of("set", "500 B", workers)) for workers in (2, 6)]
    sizes, operations, payloads = list(SIZES), list(OPERATIONS), list(PAYLOADS)
    tables = [
        ResultTable(
            name="by-size", title="By document size, one worker", rows=by_size,
            note="With one worker there is one request at a time: the figure is the length of a round trip.",
            vary={"operation": operations, "payload": sizes, "workers": [1]},
        ),
        ResultTable(
            name="by-concurrency", title="By number of workers", note="", rows=by_workers,
            vary={"operation": operations, "payload": payloads, "workers": [4, 8, 16, 32]},
        ),
        ResultTable(
            name="storage", title="JSON, string or hash, 8 workers", note="", rows=by_storage,
            vary={"operation": operations, "payload": payloads, "storage": list(STORAGES), "workers": [8]},
        ),
        ResultTable(
            name="two", title="Two conditions", note="", rows=warm_up, vary={"operation": ["set"], "workers": [2, 6]},
        ),
    ]  # fmt: skip
    return finish(builder, tables, as_published)


def finish(builder: Builder, tables: list[ResultTable], as_published: bool) -> Analysis:
    verdicts = [view.verdict for view in builder.trials]
    planned = sum(len(table.rows) for table in tables)
    return Analysis(
        experiment="json-documents",
        run="20261114T091502Z-json-documents",
        question="How many JSON documents a second does one Redis take, by document size and by concurrency?",
        answer=verbatim(
            "One Redis takes 18,432 JSON documents of 222 B a second from one worker and up to 92,593 from 32; "
            "from 10 kB on, the size of the document decides."
        ),
        comparison=verbatim("no comparison: one block"),
        quick=True,
        as_published=as_published,
        complete=len(verdicts) == planned,
        trials_planned=planned,
        trials_done=len(verdicts),
        trials_valid=verdicts.count("valid"),
        trials_suspect=verdicts.count("suspect"),
        trials_invalid=verdicts.count("invalid"),
        published_source=verbatim("A blog post on RedisJSON, 11-year-old laptop, Redis in a container, go-redis"),
        notes=[verbatim("This run was quick: its trials are shorter than those of the full study.")],
        tables=tables,
        checks=summaries(builder.trials),
        timeline=builder.timeline,
        environment={
            "machine": {"cpu": "Intel Xeon, 2 cores at 2.6 GHz", "memory_bytes": 8_589_934_592, "kernel": "6.1.0"},
            "versions": {"loadstone": "0.1.0", "redis": "8.2.3", "rejson": "2.8.3", "python": "3.11.7"},
            "placement": {"generator": [1], "redis": [0], "shared": False},
            "transparent_huge_pages": "madvise",
        },
        trials=builder.trials,
        factors={
            "operation": FactorView(title="Operation"),
            "payload": FactorView(title="Payload of the document"),
            "workers": FactorView(title="Workers", unit="workers"),
            "storage": FactorView(title="How the document is stored"),
        },
    )


def summaries(trials: list[TrialView]) -> list[CheckSummary]:
    found = []
    for name, (_, _, explanation) in CHECKS.items():
        results = [(check, view.trial) for view in trials for check in view.checks if check.name == name]
        kinds = [check.verdict for check, _ in results]
        worst = max(
            results, key=lambda pair: ("valid", "unknown", "suspect", "invalid").index(pair[0].verdict), default=None
        )
        found.append(
            CheckSummary(
                name=name,
                explanation=verbatim(explanation),
                valid=kinds.count("valid"),
                suspect=kinds.count("suspect"),
                invalid=kinds.count("invalid"),
                unknown=kinds.count("unknown"),
                worst=worst[0] if worst else None,
                worst_trial=worst[1] if worst else None,
            )
        )
    return found


@pytest.fixture(scope="session")
def analysis() -> Analysis:
    return build_analysis()


@pytest.fixture(scope="session")
def families(load_module: Callable[[Path], ModuleType]) -> ModuleType:
    """The module `families.py` beside this file."""
    return load_module(Path(__file__).with_name("families.py"))


@pytest.fixture(scope="session")
def judged(analysis: Analysis, families: ModuleType) -> Analysis:
    """The sample with two declared comparisons, which have every kind of verdict, and rows with intervals."""
    found: Analysis = families.with_intervals(families.with_families(analysis))
    return found


@pytest.fixture(scope="session")
def fixed_rates(load_module: Callable[[Path], ModuleType]) -> ModuleType:
    """The module `fixed_rates.py` beside this file."""
    return load_module(Path(__file__).with_name("fixed_rates.py"))


@pytest.fixture(scope="session")
def paced(judged: Analysis, fixed_rates: ModuleType) -> Analysis:
    """The sample with comparisons and intervals, and its rows measured at half of their capacity, too."""
    found: Analysis = fixed_rates.with_fixed_rates(judged)
    return found


@pytest.fixture(scope="session")
def applications(load_module: Callable[[Path], ModuleType]) -> ModuleType:
    """The module `applications.py` beside this file."""
    return load_module(Path(__file__).with_name("applications.py"))


@pytest.fixture(scope="session")
def application(analysis: Analysis, applications: ModuleType) -> Analysis:
    """A study of an application with its stores and crashes, scaled to a tenth."""
    found: Analysis = applications.application(analysis)
    return found


@pytest.fixture(scope="session")
def small(analysis: Analysis) -> Analysis:
    """One table of two rows, and nothing that takes long to draw."""
    two = analysis.tables[-1]
    trials = [view for view in analysis.trials if any(view.trial in row.trials for row in two.rows)]
    return analysis.model_copy(update={"tables": [two], "trials": trials, "timeline": analysis.timeline[:20]})


@pytest.fixture(scope="session")
def build() -> Callable[..., Analysis]:
    return build_analysis


@pytest.fixture(scope="session")
def empty_analysis() -> Analysis:
    """A run that was stopped before its first trial ended."""
    full, builder = build_analysis(), Builder(1, False)
    tables = [
        table.model_copy(
            update={"rows": [builder.empty(row.condition, row.label, row.published) for row in table.rows]}
        )
        for table in full.tables
    ]
    return full.model_copy(
        update={
            "tables": tables, "trials": [], "timeline": [], "checks": [], "complete": False,
            "trials_done": 0, "trials_valid": 0, "trials_suspect": 0, "trials_invalid": 0, "environment": {},
            "answer": verbatim("Nothing was measured."),
        }
    )  # fmt: skip
