"""What a member serves, without a cluster."""

import asyncio

import pytest

from loadstone.addons.fleet import serving
from loadstone.addons.fleet.serving import ping


def test_a_member_that_nobody_calls_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serving, "TICK_S", 0.02)
    monkeypatch.setattr(serving, "SILENCE_S", 0.2)
    monkeypatch.setattr(serving, "_HOLDER", serving._Holder())

    async def called_for_a_while() -> tuple[bool, bool]:
        silence = asyncio.ensure_future(serving._silence())
        for _ in range(8):
            await asyncio.sleep(0.05)
            await serving.run_here("", "", ping, [])
        while_called = silence.done()
        await asyncio.wait_for(silence, 10)
        return while_called, silence.done()

    assert asyncio.run(called_for_a_while()) == (False, True)


def test_what_comes_late_of_a_command_that_is_over_claims_nothing() -> None:
    holder = serving._Holder()
    assert holder.refused("first", "one") is None
    holder.let_go("first")
    assert holder.refused("first", "one") is None
    assert holder.refused("second", "two") is None
