"""What was measured as Markdown, between two comments of `bench/results/peers.md`."""

from collections.abc import Iterable, Sequence
from itertools import groupby
from pathlib import Path
from statistics import median

from bench.peers import freezes, ratios, threaded
from bench.peers.load import VALUE_BYTES
from bench.peers.ratios import Row, Spread
from bench.peers.results import Added, Delay, Machine, Quantiles, Result, Threads, Throughput, Users

BEGIN, END = "<!-- measured: by make bench -->", "<!-- end of measured -->"


def put(page: Path, results: Sequence[Result]) -> None:
    """Write the tables into the page, in place of those that stand there. Raises ValueError if it has no place."""
    text = page.read_text()
    if BEGIN not in text or END not in text:
        raise ValueError(f"{page}: has no place for the tables; put {BEGIN} and {END} where they are to stand")
    before, after = text.split(BEGIN, 1)[0], text.split(END, 1)[1]
    page.write_text(f"{before}{BEGIN}\n\n{document(results)}\n{END}{after}")


def document(results: Sequence[Result]) -> str:
    """All tables of which there are figures."""
    parts = [
        _machines([one for one in results if isinstance(one, Machine)]),
        _throughput(ratios.rows(one for one in results if isinstance(one, Throughput))),
        _quantiles([one for one in results if isinstance(one, Quantiles)]),
        _users([one for one in results if isinstance(one, Users)]),
        _delays([one for one in results if isinstance(one, Delay)]),
        _added([one for one in results if isinstance(one, Added)]),
        _threads([one for one in results if isinstance(one, Threads)]),
    ]
    return "\n".join(part for part in parts if part)


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    return "\n".join(f"| {' | '.join(line)} |" for line in (head, ["---"] * len(head), *rows)) + "\n"


def _machines(machines: Sequence[Machine]) -> str:
    if not machines:
        return ""
    last = machines[-1]
    dates = sorted({one.date for one in machines})
    versions = {name: version for one in machines for name, version in one.versions.items()}
    programs = ", ".join(f"{name} {version}".strip() for name, version in sorted(versions.items()))
    return (
        f"Measured {' to '.join(dict.fromkeys((dates[0], dates[-1])))} on {last.cpus} CPUs ({last.cpu}), Linux "
        f"{last.kernel}; {programs or 'no other generator'}; engine "
        f"{', '.join(f'{name} {value}' for name, value in last.engine.items())}. HTTP: {last.service}, replies of "
        f"100 bytes{f', through {last.network}' if last.network else ''}. loadstone's process takes "
        f"{last.start_cpu_s:.1f} s of CPU to start (Python), which is in no "
        "figure here.\n"
    )


def _throughput(rows: Sequence[Row]) -> str:
    if not rows:
        return ""
    lines = [
        [
            _load(row), row.peer, f"{row.own_us.median:.2f}", f"{row.peer_us.median:.2f}", _spread(row.cpu),
            _spread(row.work), _required(row), f"{row.own_rate / 1000:.0f}", f"{row.peer_rate / 1000:.0f}",
            _spread(row.rate), str(row.rounds),
        ]
        for row in rows
    ]  # fmt: skip
    head = ["load, connections, pipeline", "beside", "our CPU, us", "theirs", "CPU, ratio", "of work", "target",
            "our rate, k/s", "theirs", "rate, ratio", "rounds"]  # fmt: skip
    said = "`of work`: without what loadstone's thread stayed awake for in waits, which is in all other figures."
    if any(row.connections == 1 for row in rows):
        said += (
            " With one connection a thread that stays awake has its CPU for the whole way there and back: the time of a"
            " request, 1 over the rate, is the floor of its CPU a request."
        )
    late = [f"- {_load(row)}: {row.timeouts} requests of loadstone's timed out." for row in rows if row.timeouts]
    said = "\n".join([said, *(["", *late] if late else [])])
    return f"### CPU a request, and rate\n\n{_table(head, lines)}\n{said}\n\n{_short(rows)}"


def _short(rows: Sequence[Row]) -> str:
    """Where a target is missed, or another generator is ahead."""
    missed = [row for row in rows if row.reached is False]
    lines = [f"- {_load(row)}: {row.cpu.median:.2f} of {row.peer}, {row.target:.2f} is the target." for row in missed]
    behind = [
        f"- {_load(row)}: {row.peer}; CPU {row.cpu.median:.2f}, rate {row.rate.median:.2f}."
        for row in rows
        if row.behind
    ]
    total = sum(row.target is not None for row in rows)
    ahead = [
        "",
        "loadstone is not ahead in the median in:" if behind else "loadstone is ahead in every row.",
        "",
        *behind,
    ]
    return "\n".join([f"{total - len(missed)} of {total} targets are reached.", *lines, *ahead, ""])


def _quantiles(found: Sequence[Quantiles]) -> str:
    if not found:
        return ""
    truth_ms = freezes.truth_ms()
    lines = [["**truth**, by the server's rule", "", "", *(f"{ms:.1f}" for ms in truth_ms), "", ""]]
    for one in found:
        times = ["-" if ms is None else f"{ms:.2f}" for ms in (one.p50_ms, one.p99_ms, one.p999_ms)]
        recorded = "" if one.recorded_ms is None else _errors(one, one.recorded_ms)
        lines.append([
            f"{one.generator}, {one.protocol}", f"`{one.options}`", f"{one.rate_per_s:.0f}", *times,
            _errors(one, truth_ms), recorded,
        ])  # fmt: skip
    head = ["generator", "options", "requests a second", "P50, ms", "P99, ms", "P99.9, ms", "errors, %",
            "errors against the server's record, %"]  # fmt: skip
    return f"### Quantiles of a server that freezes\n\n{_table(head, lines)}"


def _errors(one: Quantiles, truth_ms: Sequence[float]) -> str:
    return ", ".join("-" if error is None else f"{100 * error:+.1f}" for error in ratios.errors(one, truth_ms))


def _users(found: Sequence[Users]) -> str:
    if not found:
        return ""
    lines = []
    for connections, group in groupby(sorted(found, key=lambda one: one.connections), lambda one: one.connections):
        ones = list(group)
        late50, late99, rate, cpu, memory = (
            Spread.of([getattr(one, name) for one in ones])
            for name in ("lag_p50_us", "lag_p99_us", "rate_per_s", "cpu_us", "user_bytes")
        )
        lines.append([
            f"{ones[0].users:,}", f"{connections:,}", f"{ones[0].offered_per_s:,.0f}", _spread(rate, 0),
            _spread(late50, 0), _spread(late99, 0), _spread(cpu, 1), f"{memory.median:,.0f}", str(len(ones)),
        ])  # fmt: skip
    head = ["users", "connections", "offered a second", "achieved", "lag P50, us", "lag P99, us (target 1,000)",
            "CPU a request, us", "memory a user, bytes", "times"]  # fmt: skip
    return f"### Users who think, on one thread\n\n{_table(head, lines)}"


def _delays(found: Sequence[Delay]) -> str:
    if not found:
        return ""
    targets = {"default": 60, "--precise": 25}
    lines = []
    for mode, group in groupby(sorted(found, key=lambda one: list(targets).index(one.mode)), lambda one: one.mode):
        ones = list(group)
        late50, late99, cpu = (
            Spread.of([getattr(one, name) for one in ones]) for name in ("lag_p50_us", "lag_p99_us", "cpu_us")
        )
        rate = median(one.rate_per_s for one in ones)
        lines.append([
            f"`{mode}`" if mode[0] == "-" else mode, f"{rate:,.0f}", str(ones[0].connections), _spread(late50, 0),
            _spread(late99, 0), str(targets[mode]), _spread(cpu, 1), str(len(ones)),
        ])  # fmt: skip
    head = ["mode", "rate", "connections", "P50, us", "P99, us", "target", "CPU a request, us", "times"]
    return f"### Send delay at a rate\n\n{_table(head, lines)}"


def _added(found: Sequence[Added]) -> str:
    if not found:
        return ""

    def key(one: Added) -> tuple[float, str]:
        return one.service_us, one.generator

    lines = []
    for (service_us, generator), group in groupby(sorted(found, key=key), key):
        p50_us = Spread.of([one.p50_us for one in group])
        beyond = f"{p50_us.median - service_us:.1f}"
        lines.append(
            [
                f"{service_us:g}",
                generator,
                _spread(p50_us, 1),
                beyond,
                str(sum(key(one) == (service_us, generator) for one in found)),
            ]
        )
    head = ["service time, us", "generator", "P50 reported, us", "beyond the service time", "times"]
    return f"### Response time of one connection\n\n{_table(head, lines)}"


def _threads(found: Sequence[Threads]) -> str:
    if not found:
        return ""

    def key(one: Threads) -> tuple[int, str, int]:
        return one.connections, one.generator, one.threads

    lines = []
    for (connections, generator, threads), group in groupby(sorted(found, key=key), key):
        ones = list(group)
        rate, cpu = (Spread.of([getattr(one, name) for one in ones]) for name in ("rate_per_s", "cpu_us"))
        line = rate.median * threaded.DELAY_S / connections
        p50_ms = [one.p50_ms for one in ones if one.p50_ms is not None]
        lines.append([
            str(connections), generator, str(threads), _spread(rate, 0), f"{line:.2f}", _spread(cpu),
            f"{median(p50_ms):.2f}" if p50_ms else "-", str(len(ones)),
        ])  # fmt: skip
    head = ["connections", "generator", "threads", "rate", "of what the line lets through", "CPU a request, us",
            "P50, ms", "times"]  # fmt: skip
    said = (
        f"Replies leave {1e3 * threaded.DELAY_S:g} ms after their requests came in the mean, at random times; "
        "server and generator share the CPUs."
    )
    return f"### Threads, beside a server that its line limits\n\n{_table(head, lines)}\n{said}\n"


def _load(row: Row) -> str:
    size = "" if row.value_bytes == VALUE_BYTES else f" {row.value_bytes:,} B"
    return f"{row.load}{size}, {row.connections}" + ("" if row.load.startswith("HTTP") else f", {row.pipeline}")


def _required(row: Row) -> str:
    return "" if row.target is None else f"{row.target:.2f} {'reached' if row.reached else '**missed**'}"


def _spread(spread: Spread, digits: int = 2) -> str:
    return f"{spread.median:.{digits}f} [{spread.least:.{digits}f}, {spread.greatest:.{digits}f}]"
