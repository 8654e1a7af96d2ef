"""What a run tells, as tests have it told."""

import json
import time
from pathlib import Path
from typing import Any

from loadstone.machine.process_identity import boot_id, started

PAIRS = ("string against json, 8 users", "hash against json, 8 users")
GROUP = {
    "name": "storage", "question": "Is it faster as a string?", "pairs": list(PAIRS), "unit": "round",
    "looks": [12, 20, 32, 48, 72], "metric": "goodput_per_s", "margin": 0.05,
}  # fmt: skip

AGENTS = {
    "b <1>": {"state": "lost", "why": "no answer for 5 s"},
    "a": {"state": "ready", "tps": 900.0, "share": 0.5, "errors": 2, "p99_ns": 4e6, "cpus": 0.5, "late_s": 0.7},
}


def tell_of_comparisons(path: Path, pid: int, *, rounds: int = 32, kind: str = "undecided", said: str = "open") -> None:
    """Append what a run of two pairs tells of a minute, up to a look; the first time its beginning, too."""
    now_s = time.time() - 60
    lines: list[dict[str, Any]] = []
    if not path.exists():
        plan = {"experiment": "json", "question": "Which one is faster?", "quick": True, "groups": [GROUP]}
        who = {"pid": pid, "pid_started_ticks": started(pid), "boot": boot_id()}
        lines += [{"what": "began", **who, **plan}, {"what": "log", "text": "starting redis <script>"}]
        lines += [_look(count, "undecided", "open") for count in (12, 20)]
    for second in range(20):
        conditions = {name: _figures(1000 + second) for name in ("set <b>", "get", "string & json")}
        parts = {"redis": {"cpus": 0.9, "rss_bytes": 5e7, "connections": 9}, "generator": {"cpus": 0.4}}
        where = {"group": "storage", "place": "rounds 1 to 12", "label": "storage", "trial": "storage b01"}
        state = {"state": "running", "left_s": 60 - second, "decided": 0, "of": 1, "invalid": 1}
        lines.append({"what": "now", **where, **state, "conditions": conditions, "parts": parts, "agents": AGENTS})
    lines.append({"what": "cost", "condition": "set <b>", "trial": "b01", "parts": {"redis": {"ns": 12_000.0}}})
    lines.append(_look(rounds, kind, said))
    with path.open("a") as file:
        for place, line in enumerate(lines):
            file.write(json.dumps({"format": 1, "unix_s": now_s + place, **line}) + "\n")


def _figures(tps: float) -> dict[str, Any]:
    latencies = {"p50_ns": 1e6, "p99_ns": 4e6, "mean_ns": 1.2e6}
    return {"phase": "measure", "tps": tps, "mean_tps": tps, "peak_tps": tps, "errors": {"timeout": 3}, **latencies}


def _look(count: int, kind: str, said: str) -> dict[str, Any]:
    half = 2.0 / count**0.5
    message = {"kind": "as_written", "figures": {"text": said}}
    pairs = [
        {"name": name, "kind": kind, "margin": 0.05, "estimate": 0.3, "low": 0.3 - half, "high": 0.3 + half,
         "said": message}
        for name in PAIRS
    ]  # fmt: skip
    return {"what": "look", "group": "storage", "longer": 0, "count": count, "reason": "go on", "pairs": pairs}
