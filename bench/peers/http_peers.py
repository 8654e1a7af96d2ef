"""wrk, oha, hey and k6: their command lines, and what they print."""

import csv
import io
import json
import math
from pathlib import Path
from typing import Any

from bench.peers.load import Case, Length, Reading, Target, UnreadableOutput

SCRIPTS = Path(__file__).parent / "scripts"


def wrk(program: str, case: Case, target: Target, length: Length) -> list[str]:
    """One thread; whole seconds. A script prints its figures as JSON at the end."""
    seconds = max(1, round(length.seconds))
    return [program, "-t1", f"-c{case.connections}", f"-d{seconds}s", "-s", str(SCRIPTS / "wrk.lua"), target.url(case)]


def read_wrk(text: str) -> Reading:
    """The line of JSON of the script. Raises UnreadableOutput."""
    found = _json("wrk", text)
    if found["errors"]:
        raise UnreadableOutput(f"wrk: {found['errors']:.0f} requests failed")
    return Reading(
        int(found["requests"]), found["requests"] / found["seconds"], found["p50_ms"], found["p99_ms"], found["p999_ms"]
    )


def oha(program: str, case: Case, target: Target, length: Length) -> list[str]:
    """Without its picture; requests in flight at the end are not counted. Like wrk, it takes any certificate."""
    return [
        program, "--no-tui", "--output-format", "json", "-c", str(case.connections), "-z", f"{length.seconds:g}s",
        "--insecure", target.url(case),
    ]  # fmt: skip


def oha_paced(program: str, case: Case, target: Target, length: Length, rate_per_s: float) -> list[str]:
    """The same at a rate of all connections together."""
    return [*oha(program, case, target, length), "-q", f"{rate_per_s:g}"]


def oha_corrected(program: str, case: Case, target: Target, length: Length, rate_per_s: float) -> list[str]:
    """The same, with latencies that count from the intended time."""
    return [*oha_paced(program, case, target, length, rate_per_s), "--latency-correction"]


def read_oha(text: str) -> Reading:
    """Its JSON. Raises UnreadableOutput."""
    found = _json("oha", text)
    done = sum(found["statusCodeDistribution"].values())
    wrong = {code: n for code, n in found["statusCodeDistribution"].items() if code != "200"}
    if wrong:
        raise UnreadableOutput(f"oha: replies that are not 200: {wrong}")
    seconds = found["summary"]["total"]
    quantiles = found["latencyPercentiles"]
    return Reading(done, done / seconds, *(1e3 * quantiles[name] for name in ("p50", "p99", "p99.9")))


def hey(program: str, case: Case, target: Target, length: Length) -> list[str]:
    """A line a request, since its summary has no P99.9."""
    return [program, "-z", f"{length.seconds:g}s", "-c", str(case.connections), "-o", "csv", target.url(case)]


def hey_paced(program: str, case: Case, target: Target, length: Length, rate_per_s: float) -> list[str]:
    """The same at a rate, which it has of each connection."""
    command = hey(program, case, target, length)
    return [*command[:-1], "-q", f"{rate_per_s / case.connections:g}", command[-1]]


def read_hey(text: str) -> Reading:
    """Its rows: response time, five parts of it, status, and when it began. Raises UnreadableOutput."""
    rows = list(csv.DictReader(io.StringIO(text)))
    if not rows or "response-time" not in rows[0]:
        raise UnreadableOutput(f"hey printed no rows: {text[:500]}")
    if wrong := sum(row["status-code"] != "200" for row in rows):
        raise UnreadableOutput(f"hey: {wrong} replies that are not 200")
    times_s = sorted(float(row["response-time"]) for row in rows)
    seconds = max(float(row["offset"]) + float(row["response-time"]) for row in rows)

    def quantile_ms(share: float) -> float:
        return 1e3 * times_s[min(len(times_s) - 1, math.ceil(share * len(times_s)) - 1)]

    return Reading(len(rows), len(rows) / seconds, quantile_ms(0.5), quantile_ms(0.99), quantile_ms(0.999))


def k6(program: str, case: Case, target: Target, length: Length) -> list[str]:
    """A user a connection; a script prints its figures as JSON at the end."""
    return _k6(program, case, target, length, 0)


def k6_paced(program: str, case: Case, target: Target, length: Length, rate_per_s: float) -> list[str]:
    """The same at a rate: arrivals that find no free user are dropped."""
    return _k6(program, case, target, length, rate_per_s)


def _k6(program: str, case: Case, target: Target, length: Length, rate_per_s: float) -> list[str]:
    settings = {
        "TARGET": target.url(case),
        "USERS": case.connections,
        "SECONDS": f"{length.seconds:g}",
        "RATE": rate_per_s,
    }
    given = [part for name, value in settings.items() for part in ("-e", f"{name}={value}")]
    return [program, "run", "--quiet", "--no-usage-report", *given, str(SCRIPTS / "k6.js")]


def read_k6(text: str) -> Reading:
    """The line of JSON of the script. Raises UnreadableOutput."""
    found = _json("k6", text)
    if found["failed"]:
        raise UnreadableOutput(f"k6: {100 * found['failed']:.2g} % of the requests failed")
    return Reading(int(found["requests"]), found["rate_per_s"], found["p50_ms"], found["p99_ms"], found["p999_ms"])


def _json(name: str, text: str) -> dict[str, Any]:
    try:
        found: dict[str, Any] = json.loads(text[text.index("{") : text.rindex("}") + 1])
    except ValueError as error:
        raise UnreadableOutput(f"{name} printed no JSON ({error}): {text[-500:]}") from None
    return found
