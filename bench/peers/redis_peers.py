"""redis-benchmark, valkey-benchmark and memtier_benchmark: their command lines, and what they print."""

import json
import re

from bench.peers.load import Case, Kind, Length, Reading, Target, UnreadableOutput

LEAST_S = 0.1
"""No run is shorter."""
RATIOS: dict[Kind, str] = {"SET": "1:0", "GET": "0:1", "GET and SET": "1:1"}
"""SETs to GETs."""


def redis_benchmark(program: str, case: Case, target: Target, length: Length) -> list[str]:
    """It ends by requests; its own keys."""
    return [
        program, "-h", target.endpoint.host, "-p", str(target.endpoint.port), "-c", str(case.connections),
        "-P", str(case.pipeline), "-n", str(length.requests), "-r", str(case.keys), "-d", str(case.value_bytes),
        "--precision", "3",
        *(["-a", target.endpoint.password] if target.endpoint.password else []),
        *(["JSON.SET", "document:__rand_int__", "$", case.document] if case.kind == "JSON.SET"
          else ["-t", case.kind.lower()]),
    ]  # fmt: skip


def valkey_benchmark_paced(program: str, case: Case, target: Target, length: Length, rate_per_s: float) -> list[str]:
    """valkey-benchmark at a rate of all connections together; it ends by a time then."""
    paced = ["--rps", f"{rate_per_s:.0f}", "--duration", str(max(1, round(length.seconds)))]
    return [*redis_benchmark(program, case, target, length), *paced]


def read_redis_benchmark(text: str, name: str = "redis-benchmark") -> Reading:
    """Its report of one test, or that of another program by this name. Raises UnreadableOutput."""
    text = text.replace("\r", "\n")
    done = re.search(r"(\d+) requests completed in", text)
    rate = re.search(r"throughput summary: ([\d.]+) requests per second", text)
    if done is None or rate is None:
        raise UnreadableOutput(f"{name} printed no summary: {text[-500:]}")
    summary = re.search(r"latency summary.*\n +avg +min +p50 +p95 +p99 +max\n((?: +[\d.]+){6})", text)
    if summary is None:
        raise UnreadableOutput(f"{name} printed no latencies: {text[-500:]}")
    _, _, p50, _, p99, _ = map(float, summary[1].split())
    listed = [(float(share), float(ms)) for share, ms in re.findall(r"([\d.]+)% <= ([\d.]+) milliseconds", text)]
    p999 = next((ms for share, ms in listed if share >= 99.9), None)
    return Reading(int(done[1]), float(rate[1]), p50, p99, p999)


def read_valkey_benchmark(text: str) -> Reading:
    """Its report of one test. Raises UnreadableOutput."""
    return read_redis_benchmark(text, "valkey-benchmark")


def memtier(program: str, case: Case, target: Target, length: Length) -> list[str]:
    """One thread; a time in whole seconds, which is all it takes."""
    return [
        program, "-h", target.endpoint.host, "-p", str(target.endpoint.port), "-t", "1", "-c", str(case.connections),
        "--pipeline", str(case.pipeline), "--key-maximum", str(case.keys), "--key-minimum", "1",
        *(["--command", f"JSON.SET __key__ $ {case.document!r}", "--command-key-pattern", "R"]
          if case.kind == "JSON.SET"
          else ["--ratio", RATIOS[case.kind], "--key-pattern", "R:R"]),
        "-d", str(case.value_bytes),
        "--test-time", str(max(1, round(length.seconds))), "--hide-histogram", "--print-percentiles", "50,99,99.9",
        "--out-file", "/dev/null", "--json-out-file", "/dev/stdout",
        *(["-a", target.endpoint.password] if target.endpoint.password else []),
    ]  # fmt: skip


def memtier_paced(program: str, case: Case, target: Target, length: Length, rate_per_s: float) -> list[str]:
    """The same at a rate, which it has of each connection."""
    of_each = str(max(1, round(rate_per_s / case.connections)))
    return [*memtier(program, case, target, length), "--rate-limiting", of_each]


def read_memtier(text: str) -> Reading:
    """Its JSON. Raises UnreadableOutput."""
    try:
        totals = json.loads(text[text.index("{") :])["ALL STATS"]["Totals"]
        quantiles = {
            float(name[1:]): float(ms) for name, ms in totals["Percentile Latencies"].items() if name[0] == "p"
        }
        reading = Reading(int(totals["Count"]), totals["Ops/sec"], quantiles[50], quantiles[99], quantiles[99.9])
    except (ValueError, KeyError) as error:
        raise UnreadableOutput(f"memtier_benchmark printed other JSON than expected ({error}): {text[:500]}") from None
    if reading.requests < reading.rate_per_s * LEAST_S:
        # Seen on a busy machine: a run of a second that it says took 1 ms.
        raise UnreadableOutput(f"memtier_benchmark says {reading.requests} requests, {reading.rate_per_s:.4g} a second")
    return reading
