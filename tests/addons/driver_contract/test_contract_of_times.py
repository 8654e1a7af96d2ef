"""Every client library keeps the parts of the contract that hold times against each other."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import pytest
from tests.addons.driver_contract.conftest import lab_in
from tests.addons.driver_contract.kept import of_words
from tests.programs.clients.conftest import EVERY, hardly_warmed

from loadstone.addons.driver_contract import times
from loadstone.addons.driver_contract.lab import Lab, NotClaimed, Wrong
from loadstone.addons.driver_contract.parts import PARTS, TIMED, Try
from loadstone.safety.errors import LoadstoneError

pytestmark = [pytest.mark.alone, pytest.mark.timeout(600)]  # the first build downloads its libraries
KEPT = {
    "lettuce": {"a slower server"},
    "redis-py:mode=asyncio": {"think time", "arrivals of the open model", "a server that freezes", "a slower server"},
    "ioredis:pool=exclusive": {"a server that freezes"},
}
"""Parts of those whose runtime another word shows whole: what is not by the same lines. The others are `mark.prove`.

The rest is timed before an operation asks for its connection: by `clients/jvm-common`, and by the same lines in both
ways of ioredis; of redis-py the waiting alone is in two, and by think time and arrivals it is tried.
"""
TRIED = of_words(EVERY, [(name, part) for name, part in PARTS if name in TIMED], KEPT)
AT_FULL_SPEED = {times.phases}
"""These need both CPUs. In the others a driver waits nearly all the time."""
WARM_UP_S = 0.3


class Timed:
    """The drivers, of which two are tried beside each other; what fails so is tried once more, with nothing beside it.

    A driver that is wrong is so each time.
    """

    def __init__(self, wanted: dict[str, list[Try]], labs: dict[str, Lab]) -> None:
        self._labs = labs
        with ThreadPoolExecutor(2) as lanes:
            self._passed = dict(lanes.map(self._beside, wanted.items()))

    def _beside(self, wanted: tuple[str, list[Try]]) -> tuple[str, dict[Try, str]]:
        word, parts = wanted
        return word, {part: said for part in parts if (said := self._said(word, part))}

    def _said(self, word: str, part: Try) -> str:
        """The figure of a part; empty where it fails."""
        try:
            return part(self._labs[word])
        except (NotClaimed, Wrong, LoadstoneError, OSError) as failed:
            print(f"{word} beside another: {failed}")
            return ""

    def tried(self, word: str, part: Try) -> str:
        """The part's figure. Raises what it raises with nothing beside it."""
        return self._passed.get(word, {}).get(part) or part(self._labs[word])


@pytest.fixture(scope="module")
def timed(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Timed]:
    wanted: dict[str, list[Try]] = {}
    for item in request.session.items:
        is_skipped = any(mark.args[0] for mark in item.iter_markers("skipif"))
        if item.path == request.path and isinstance(item, pytest.Function) and not is_skipped:
            wanted.setdefault(item.callspec.params["word"], []).append(item.callspec.params["part"])
    folders: list[Path] = []
    with ExitStack() as stack:
        labs: dict[str, Lab] = {}
        for word in wanted:
            folders.append(tmp_path_factory.mktemp("contract"))
            labs[word] = stack.enter_context(lab_in(folders[-1], hardly_warmed(word, WARM_UP_S)))
        beside = {word: [part for part in parts if part not in AT_FULL_SPEED] for word, parts in wanted.items()}
        yield Timed(beside, labs)
    assert [path.name for folder in folders for path in folder.glob("loadstone-*")] == []


@pytest.mark.parametrize(("word", "part"), TRIED)
def test_it_keeps_its_part_of_the_contract(timed: Timed, word: str, part: Try) -> None:
    assert timed.tried(word, part)
