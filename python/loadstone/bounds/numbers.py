"""Whole numbers in texts that others wrote.

`int` raises for a text of more than 4,300 digits, and `isdigit` is true for characters that `int` does not read.
"""

DIGITS_MAX = 19
"""Of a 64-bit number: what has more fits neither a plan, nor a record, nor a server."""


def whole_number(text: str) -> int | None:
    """The number that a text of plain digits stands for; None where it is no such text, or longer than any number."""
    if not 0 < len(text) <= DIGITS_MAX or not (text.isascii() and text.isdecimal()):
        return None
    return int(text)
