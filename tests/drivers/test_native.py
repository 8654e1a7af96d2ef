"""When whoever drives has its turn in a drive without rests: each turn takes time from the generator's CPU."""

from collections.abc import Iterator

import pytest

from loadstone.drivers import native


class Scripted:
    """An engine whose intervals end every quarter of a second of a clock that only it moves."""

    def __init__(self, *phases: tuple[str, int]) -> None:
        self.steps = 0
        self.intervals: Iterator[str] = iter(
            f'{{"index":{number},"phase":"{phase}","start_s":0}}' for phase, times in phases for number in range(times)
        )
        self.left = sum(times for _, times in phases)

    @property
    def now_s(self) -> float:
        return self.steps / 4

    def finished(self) -> bool:
        return self.left == 0

    def next_interval(self, _: float) -> str | None:
        self.steps += 1
        self.left -= 1
        return next(self.intervals)


def turns(monkeypatch: pytest.MonkeyPatch, *phases: tuple[str, int]) -> tuple[list[float], list[float], list[str]]:
    """When intervals were passed on, when there was a rest, and the intervals."""
    engine, taken_s, rests_s, found = Scripted(*phases), [], [], []
    monkeypatch.setattr("loadstone.drivers.native.time.monotonic", lambda: engine.now_s)

    def take(text: str) -> None:
        taken_s.append(engine.now_s)
        found.append(text)

    native._follow_whole(engine, take, lambda: rests_s.append(engine.now_s))  # type: ignore[arg-type]
    return taken_s, rests_s, found


def test_two_measured_seconds_are_disturbed_at_their_ends_and_by_one_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    taken_s, rests_s, found = turns(monkeypatch, ("warm_up", 3), ("measure", 8), ("drain", 1))
    assert taken_s == [0.25, 0.5, 0.75, 1.0, *[3.0] * 8]
    assert rests_s == [0.25, 0.5, 0.75, 1.0, 2.0, 3.0]
    assert found == list(Scripted(("warm_up", 3), ("measure", 8), ("drain", 1)).intervals)


def test_in_a_long_trial_there_is_a_turn_every_two_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    taken_s, rests_s, found = turns(monkeypatch, ("measure", 50))
    assert sorted(set(taken_s)) == [0.25, 2.25, 4.25, 6.25, 8.25, 10.25, 12.25, 12.5]
    assert rests_s == [0.25 + second for second in range(13)]
    assert found == [f'{{"index":{number},"phase":"measure","start_s":0}}' for number in range(50)]
