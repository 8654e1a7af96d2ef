"""A verdict by processes that were started once says so, if it claims anything."""

import pytest

from loadstone.judge.verdict import Side, Verdict
from loadstone.run_folder.look import VerdictKind
from loadstone.text import sentences

ONCE = "of these processes, started once"


def said(kind: VerdictKind, *, started_once: bool) -> str:
    verdict = Verdict(
        kind=kind,
        a=Side(name="jedis"),
        b=Side(name="lettuce"),
        larger_is_faster=True,
        margin=0.05,
        winner="b" if kind != "equivalent" else None,
        blocks=48,
        blocks_min=32,
        estimate=0.1,
        low=0.05,
        high=0.15,
        total=-0.01,
        quick=True,
        started_once=started_once,
    )
    return sentences.render_message(verdict.message)


@pytest.mark.parametrize("kind", ["faster", "equivalent", "mixed"])
def test_what_is_claimed_is_claimed_of_these_processes(kind: VerdictKind) -> None:
    assert said(kind, started_once=True).endswith(f", {ONCE} (quick)")
    assert ONCE not in said(kind, started_once=False)


def test_what_is_not_decided_claims_nothing_of_them() -> None:
    assert ONCE not in said("undecided", started_once=True)
