"""The words of the pages: whole sentences, each through `_`."""


def _(sentence: str) -> str:
    """A sentence in the reader's language; figures are filled in afterwards: `_("%(name)s ended") % {...}`."""
    return sentence
