"""When intervals are passed on in a drive without rests: to take one costs time of the generator's CPU."""

from collections.abc import Iterator

import pytest

from loadstone.drivers import native


class Scripted:
    """An engine whose intervals end every quarter of a second of a clock that only it moves."""

    def __init__(self, *phases: tuple[str, int], failed: int | None = None) -> None:
        self.steps = 0
        self.left = sum(times for _, times in phases)
        names = [phase for phase, times in phases for _ in range(times)]
        self.texts = [f'{{"index":{number},"phase":"{phase}","errors":{{}}}}' for number, phase in enumerate(names)]
        if failed is not None:
            self.texts[failed] = self.texts[failed].replace('"errors":{', '"errors":{"server_oom":1')
        self.intervals: Iterator[str] = iter(self.texts)

    @property
    def now_s(self) -> float:
        return self.steps / 4

    def finished(self) -> bool:
        return self.left == 0

    def next_interval(self, _: float) -> str | None:
        self.steps += 1
        self.left -= 1
        return next(self.intervals)


def turns(monkeypatch: pytest.MonkeyPatch, engine: Scripted) -> tuple[list[float], list[float]]:
    """When intervals were passed on, all of them in order, and when whoever drives had its turn beside."""
    taken_s: list[float] = []
    rests_s: list[float] = []
    found: list[str] = []
    monkeypatch.setattr("loadstone.drivers.native.time.monotonic", lambda: engine.now_s)

    def take(text: str) -> None:
        taken_s.append(engine.now_s)
        found.append(text)

    native._follow_whole(engine, take, lambda: rests_s.append(engine.now_s))  # type: ignore[arg-type]
    assert found == engine.texts
    return taken_s, rests_s


def test_two_measured_seconds_are_disturbed_at_their_ends_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    taken_s, rests_s = turns(monkeypatch, Scripted(("warm_up", 3), ("measure", 8), ("drain", 1)))
    assert taken_s == [0.25, 0.5, 0.75, 1.0, *[3.0] * 8]
    assert rests_s == [step / 4 for step in range(1, 13)]


def test_in_a_long_trial_intervals_are_passed_on_every_two_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    taken_s, _ = turns(monkeypatch, Scripted(("measure", 50)))
    assert sorted(set(taken_s)) == [0.25, 2.25, 4.25, 6.25, 8.25, 10.25, 12.25, 12.5]


def test_what_failed_is_passed_on_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server of a user's that refuses commands, since its memory is full, is loaded no longer."""
    taken_s, _ = turns(monkeypatch, Scripted(("measure", 8), failed=3))
    assert taken_s == [0.25, *[1.0] * 3, *[2.0] * 4]
