"""Rounds of slices: how often conditions that are all up take turns, and for how long each time.

A round is each condition of a group once, for one slice, in fresh random order. The machine's slow noise is the same
for both slices of a pair, so that their ratio is free of it. Source: randomised multiple interleaved trials (Abedi and
Brecht 2017); figures in docs/how-it-decides.md.
"""

from dataclasses import dataclass

from loadstone.plan.looks import rounds_of_blocks

SLICE_S = 0.1
"""Of a server alone. Half as long brings nothing: setting up takes half of the time then."""
SETTLE_S = 0.015
"""The first part of a slice, which is not measured: caches are warmed, queues fill."""
BETWEEN_S = 0.002
"""What is taken to pass between two slices: the last replies come in, clocks are read, threads are woken."""
OPENING_S = 0.5
"""What a block is taken to cost for each condition beside its slices: its data is stored, its connections opened."""
EXPECTED_SPREAD = 0.1
"""Standard deviation of a round's ln(B / A) before anything was measured: .07 to .14 on quiet and on busy machines."""
WARM_ROUNDS = 8
FIXED_ROUNDS = 16
"""Rounds of a block where the number of blocks is fixed beforehand."""


@dataclass(frozen=True)
class Rounds:
    """The rounds of a group's blocks."""

    blocks: tuple[int, ...]
    """How many rounds each block has, from block 1 on: up to the next look."""
    slice_s: float = SLICE_S
    settle_s: float = SETTLE_S

    def of(self, block: int) -> int:
        """The rounds of one block; block 0 warms the machine up."""
        return WARM_ROUNDS if block == 0 else self.blocks[block - 1]

    def upto(self, blocks: int) -> int:
        """The rounds of so many blocks together, those of block 0 not counted."""
        return sum(self.blocks[:blocks])

    def block_s(self, block: int, conditions: int) -> float:
        """Seconds that a block of so many conditions is expected to take."""
        return self.slices_s(block, conditions) + conditions * OPENING_S

    def slices_s(self, block: int, conditions: int) -> float:
        """The part of that from the first slice to the last."""
        return conditions * self.of(block) * (self.slice_s + BETWEEN_S)

    @property
    def measured_s(self) -> float:
        """Seconds of a slice that are measured."""
        return self.slice_s - self.settle_s


def sequential_rounds(slice_s: float, *, settle_s: float) -> Rounds:
    """Blocks that end at the looks."""
    return Rounds(rounds_of_blocks(), slice_s, settle_s)


def fixed_rounds(blocks: int, slice_s: float, *, settle_s: float) -> Rounds:
    """So many blocks alike."""
    return Rounds((FIXED_ROUNDS,) * blocks, slice_s, settle_s)
