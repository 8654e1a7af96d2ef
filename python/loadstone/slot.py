"""Where a room takes what add-ons bring: `SENTENCES: Slot[Catalogue] = Slot("sentences")` has the catalogues of all.

A room names the kind of thing that it takes, and no add-on. Nothing of an add-on is loaded before a room asks for it.
"""

from collections.abc import Callable, Container, Iterator
from functools import cache
from importlib import import_module
from typing import Any, Generic, TypeVar

T = TypeVar("T")


@cache
def _add_ons() -> tuple[Any, ...]:
    return tuple(import_module("loadstone.addon").installed())


class Slot(Generic[T]):
    """What all add-ons bring of one kind, each under its name."""

    def __init__(
        self, kind: str, own: Callable[[], Container[str]] = tuple, fits: Callable[[Any], bool] = lambda _: True
    ) -> None:
        """What is of a kind.

        Args:
            kind: the field of `AddOn` that it takes.
            own: the names that are the room's own, which no add-on may bring.
            fits: whether something that was loaded can be taken.
        """
        self._kind, self._own, self._fits = kind, own, fits
        self._read: tuple[Any, ...] | None = None
        self._brought_by: dict[str, Any] = {}
        self._loaded: dict[str, T] = {}

    def names(self) -> tuple[str, ...]:
        """The names, in the order of the add-ons; nothing is loaded for it."""
        return tuple(self._add_on_of())

    def get(self, name: str) -> T | None:
        """What has that name; None: no add-on brings it. Raises UserError where an add-on of others is broken."""
        add_on = self._add_on_of().get(name)
        if add_on is None:
            return None
        if name not in self._loaded:
            self._loaded[name] = add_on.load(self._kind, name, self._fits)
        return self._loaded[name]

    def items(self) -> Iterator[tuple[str, T]]:
        """Everything with its name, in the order of the add-ons. Raises UserError as `get`."""
        for name in self.names():
            loaded = self.get(name)
            assert loaded is not None
            yield name, loaded

    def _add_on_of(self) -> dict[str, Any]:
        """Name -> the add-on that brings it. Raises UserError where a name would mean two things."""
        add_ons = _add_ons()
        if add_ons is not self._read:
            brought_by: dict[str, Any] = {}
            for add_on in add_ons:
                for name in add_on.names(self._kind):
                    if name in brought_by or name in self._own():
                        raise add_on.clash(self._kind, name, brought_by.get(name))
                    brought_by[name] = add_on
            self._read, self._loaded, self._brought_by = add_ons, {}, brought_by
        return self._brought_by
