"""Tables in rounds: how many of its rounds a deck of rows gets, and which of its blocks there is time for."""

from collections.abc import Sequence
from typing import Protocol

from loadstone.goals.passes import Passes
from loadstone.plan.rounds import Rounds
from loadstone.record.look import Look, Reason

FEWEST_ROUNDS = 2
"""With fewer rounds the first block of a deck waits until the comparisons had their first looks."""


class DeckSteps(Protocol):
    """What is done with a deck, and what is known of it; see `campaign.Campaign`."""

    def measure(self, deck: Passes, block: int, rounds: Rounds | None) -> None:
        """One block of it: in the rounds of its plan, or in these."""

    def left_s(self) -> float:
        """Seconds that are left for trials."""

    def fits(self, seconds: float) -> bool:
        """Whether there is time for so many."""

    def end(self, deck: Passes, reason: Reason) -> None:
        """Nothing more is measured of it."""

    def look(self, deck: Passes) -> Look | None:
        """How it ended, if it did."""


class TableDecks:
    """The decks of all tables."""

    def __init__(self, decks: Sequence[Passes], steps: DeckSteps) -> None:
        self._decks = decks
        self._steps = steps

    def begin(self, kept_s: float, others_s: float) -> None:
        """The first block of each, in as many rounds as there is time for.

        `kept_s` are not for tables; `others_s` is what the first trials of other rows take.
        """
        for number, deck in enumerate(self._decks):
            if self._ended(deck):
                continue
            needed_s = sum(one.seconds_to(1) for one in self._decks[number:]) + others_s
            share = deck.seconds_to(1) / needed_s if needed_s > 0 else 1.0
            self._first(deck, share * (self._steps.left_s() - kept_s))
            if _whole(deck):
                self._steps.end(deck, "last look")

    def finish(self) -> None:
        """The other blocks of each, as far as the budget goes."""
        for deck in self._decks:
            if self._ended(deck):
                continue
            self._first(deck, self._steps.left_s())
            while deck.complete and not _whole(deck) and self._steps.fits(deck.next_s()):
                self._steps.measure(deck, deck.complete + 1, None)
            self._steps.end(deck, "last look" if _whole(deck) else "out of budget")

    def left_s(self) -> float:
        """Seconds that the blocks not measured yet will take."""
        return sum(deck.seconds_to(deck.group.looks[-1]) for deck in self._decks if not self._ended(deck))

    def _first(self, deck: Passes, room_s: float) -> None:
        """The first block in as many of its rounds as there is room for, so that every row has some."""
        planned = deck.group.rounds
        if deck.complete or planned is None:
            return
        slower = deck.seconds_to(1) / deck.group.seconds([1])
        fitting = planned.within(room_s / slower, 1, len(deck.group.conditions))
        if fitting >= min(FEWEST_ROUNDS, planned.of(1)):
            self._steps.measure(deck, 1, planned.shortened(1, fitting))

    def _ended(self, deck: Passes) -> bool:
        """Whether nothing more is to be measured of it: what a budget ended goes on where there is time for it now."""
        look = self._steps.look(deck)
        if look is None or not look.stop:
            return False
        return look.reason != "out of budget" or _whole(deck) or not self._steps.fits(deck.next_s())


def _whole(deck: Passes) -> bool:
    return deck.complete == deck.group.looks[-1]
