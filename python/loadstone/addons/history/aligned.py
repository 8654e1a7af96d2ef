"""Rows of texts as lines that stand below each other."""

from collections.abc import Callable, Sequence


def aligned(rows: Sequence[Sequence[str]], length: Callable[[str], int] = len) -> list[str]:
    """A line a row, all of one length: each column is as wide as its longest cell, and an empty one is left out."""
    widths = [max(map(length, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(f"{cell}{' ' * (wide - length(cell))}" for cell, wide in zip(row, widths, strict=True) if wide)
        for row in rows
    ]
