"""What became of a run in which a fault came: its trials, its load, its processes and its words."""

import contextlib
import json
import re
import shutil
import time
from pathlib import Path
from typing import Any

import psutil

from bench.fleet.cases import Fault, Seen
from bench.fleet.lab import AGENTS, CLAIM_S, LEASE_S, PLANNED, Lab, Running, until


def judged(lab: Lab, one: Fault) -> dict[str, Any]:
    """Have a fault happen once, and say what became of it."""
    seen = Seen()
    begun = time.time()
    prepared = {} if one.prepare is None else one.prepare(lab)
    log: Path | None = prepared.pop("log", None)
    running = lab.begin("--duration", f"{PLANNED * one.trial_s}s", *one.options, **prepared)
    try:
        before = []
        if not one.refused:
            before = _second_trial(lab, running, begun)
            seen.at = time.time()
            one.does(lab, running, seen)
        status = running.wait(120)
        ended = time.time()
        with contextlib.suppress(TimeoutError):
            until(lambda: not running.left(), 10, "nothing left")
        left = [*seen.left, *running.left()]
        if seen.quiet and ended - seen.at < LEASE_S + 3 and seen.quiet_till > ended:
            time.sleep(LEASE_S + 3 - (ended - seen.at))
        return _row(lab, one, seen, running, status, before, left, ended, begun, log)
    finally:
        with contextlib.suppress(psutil.NoSuchProcess):
            running.process.kill()
        shutil.rmtree(running.folder, ignore_errors=True)
        lab.repair()
        if seen.quiet:  # nobody may have told these agents that they are free
            time.sleep(CLAIM_S)


def _second_trial(lab: Lab, running: Running, begun: float) -> list[str]:
    """Waits until the second one is under load for a second; the lines of what was finished till then."""
    until(lambda: len(running.finished()) == 1 or running.process.poll() is not None, 90, "one trial")
    at = time.time()
    there = [name for name in AGENTS if lab.sets(begun, at)[name]]
    until(lambda: all(lab.sets(at)[name] for name in there) or running.process.poll() is not None, 60, "two trials")
    if running.process.poll() is not None:
        raise RuntimeError(f"the command ended before the fault: {running.said[-1500:]}")
    time.sleep(1.0)
    return running.finished()


def _row(
    lab: Lab, one: Fault, seen: Seen, running: Running, status: int, before: list[str], left: list[str],
    ended: float, begun: float, log: Path | None,
) -> dict[str, Any]:  # fmt: skip
    lines = running.finished()
    trials = [json.loads(line) for line in lines]
    verdicts = [trial["verdict"] for trial in trials]
    agents = [agent["name"] for agent in (trials[-1]["facts"]["drive"] or {}).get("agents", [])] if trials else []
    late = {name: round(max(times) - seen.at, 3) for name, times in lab.sets(seen.at, seen.quiet_till).items() if times}
    flagged = [_flagged(trial) for trial in trials]
    words = "\n".join([running.said, *(f"{line}" for each in flagged for line in each), log.read_text() if log else ""])
    named = next((at - seen.at for at, line in running.lines if one.reason and re.search(one.reason, line)), None)
    right = {
        "kept": lines[: len(before)] == before,
        "load": all(late.get(name, 0.0) <= LEASE_S for name in seen.quiet),
        "left": not left,
        "reason": not one.reason or re.search(one.reason, words) is not None,
        "status": status in one.status,
        "trials": (
            not trials and not any(lab.sets(begun).values())
            if one.refused
            else len(trials) == one.trials
            and (one.invalid is None or verdicts.count("invalid") == one.invalid)
            and (not one.agents or agents == list(one.agents))
        ),
        "one line": "Traceback" not in words,
    }
    wrong = [name for name, good in right.items() if not good]
    return {
        "fault": one.name,
        "right": not wrong,
        "wrong": wrong,
        "status": status,
        "verdicts": verdicts,
        "agents_of_the_last": agents,
        "last_load_after_s": {name: late[name] for name in seen.quiet if name in late},
        "flagged": flagged[1:2] if verdicts.count("invalid") <= 1 else flagged,
        "named_after_s": None if named is None or one.refused else round(named, 3),
        "run_ended_after_s": None if one.refused else round(ended - seen.at, 2),
        "left": left,
        **({"cut_within_s": round(lab.cut_at - seen.at, 3)} if lab.cut_at > seen.at > 0 else {}),
        **seen.more,
        **({"said": words[-2500:] if not wrong else words[-6000:]} if wrong else {}),
    }


def _flagged(trial: dict[str, Any]) -> list[str]:
    """The checks that refuse or doubt it, with the reason."""
    return [
        f"{check['verdict']} {check['name']}: {json.dumps(check['reason'])[:300]}"
        for check in trial["checks"]
        if check["verdict"] in ("invalid", "suspect")
    ]
