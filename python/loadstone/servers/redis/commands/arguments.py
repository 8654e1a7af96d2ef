"""What an argument of a command may become when it is sent: its placeholders filled in, the key's prefix known."""

import re
from dataclasses import dataclass
from functools import lru_cache

from loadstone.experiment.plan.operations import is_one_key
from loadstone.experiment.spec.experiment import OUR_PREFIX

LONGEST_EXAMPLE = 16
"""Letters: longer than any option of a command."""
_PIECE = re.compile(r"(?P<open>\{\{)|(?P<close>\}\})|\{(?P<placeholder>[^{}]*)\}|(?P<text>[^{}]+|[{}])")
_RANDOM = re.compile(r"random ([0-9]{1,19}) lowercase")
_UNIFORM = re.compile(r"uniform (-?[0-9]{1,19})\.\.-?[0-9]{1,19}")
_DIGITS = {"id": "000000000000", "version": "0000000001", "seq": "0", "number": "1"}


@dataclass(frozen=True)
class Argument:
    """One argument: an example of what is sent, and what else it may be."""

    written: str
    """As the plan has it."""
    example: str
    beginning: str
    """What it begins with, whatever its placeholders become."""
    is_certain: bool
    """Whether it is always the same text."""
    form: str
    """A pattern that matches everything that it may become."""

    @property
    def is_ours(self) -> bool:
        """Whether, as the name of a key, it is always one of ours."""
        return self.beginning.startswith(OUR_PREFIX)

    def may_be(self, word: str) -> bool:
        """Whether it can become `word`, in small letters or capitals."""
        return re.fullmatch(self.form, word, re.IGNORECASE | re.DOTALL) is not None


@lru_cache(maxsize=4096)
def argument_of(written: str, prefix: str | None) -> Argument:
    """The argument that is written so, with keys that begin with `prefix`.

    With None it is one for the rows of a data set: a placeholder is a column there, and may become any text.
    """
    example, beginning, form = "", "", ""
    is_certain = True
    for piece in _PIECE.finditer(written):
        placeholder = piece["placeholder"]
        if placeholder is None:
            text = "{" if piece["open"] else "}" if piece["close"] else piece[0]
            shown, pattern = text, re.escape(text)
        else:
            shown, pattern = ("x", ".*") if prefix is None else _filled(placeholder, prefix)
            text = prefix if prefix is not None and is_one_key(piece[0]) else ""
        example, form = example + shown, form + pattern
        beginning += text if is_certain else ""
        is_certain = is_certain and placeholder is None
    return Argument(written, example, beginning, is_certain, form)


def _filled(placeholder: str, prefix: str) -> tuple[str, str]:
    """An example of what a placeholder becomes, and a pattern of all that it may become."""
    if is_one_key(f"{{{placeholder}}}"):
        return prefix + _DIGITS["id"], re.escape(prefix) + "[0-9]{12}"
    if placeholder in _DIGITS:
        return _DIGITS[placeholder], "[0-9]+"
    if uniform := _UNIFORM.fullmatch(placeholder):
        return uniform[1], "-?[0-9]+"
    if drawn := _RANDOM.fullmatch(placeholder):
        letters = min(int(drawn[1]), LONGEST_EXAMPLE)
        return "a" * min(
            letters, LONGEST_EXAMPLE
        ), f"[a-z]{{{letters}}}" if letters <= LONGEST_EXAMPLE else "[a-z]{17,}"
    return "x", ".*"
