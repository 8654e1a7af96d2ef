"""Which parts of the contract `make test` tries with which words; the others are proofs."""

from collections.abc import Collection, Mapping
from typing import Any

import pytest

from loadstone.addons.driver_contract.parts import Try


def of_words(
    every: Collection[Any], parts: Collection[tuple[str, Try]], kept: Mapping[str, Collection[str]]
) -> list[Any]:
    """Parameters of a test, a word and a part each: of a word that `kept` names, its other parts are marked `prove`."""
    assert {word.values[0] for word in every} >= set(kept)
    assert {name for name, _ in parts} >= set().union(*kept.values())
    return [
        pytest.param(
            word.values[0],
            part,
            id=f"{word.values[0]}-{name}",
            marks=[*word.marks, *([] if name in kept.get(word.values[0], {name}) else [pytest.mark.prove])],
        )
        for word in every
        for name, part in parts
    ]
