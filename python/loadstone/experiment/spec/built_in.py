"""The built-in experiments: where they are, and what each queries."""

import re
from pathlib import Path

from loadstone.safety.bounds.bounded_yaml import load_yaml

FOLDER = Path(__file__).parents[2] / "experiments"
"""Package data; in a checkout a link to the repository's `experiments/`."""
_QUESTION = re.compile(r"^question:.*(?:\n[ \t].*)*", re.MULTILINE)
_QUESTION_MAX = 4000
"""Characters: a stranger's file may hold anything."""


def names() -> list[str]:
    """The names of the built-in experiments, sorted."""
    return sorted(path.stem for path in FOLDER.glob("*.yaml"))


def questions() -> list[tuple[str, str]]:
    """Name and question of each. Nothing else of their files is read: that would take a second."""
    return [(name, question_in((FOLDER / f"{name}.yaml").read_text())) for name in names()]


def question_in(text: str) -> str:
    """What an experiment's text asks; empty where it asks nothing that can be read."""
    match = _QUESTION.search(text)
    try:
        return str(load_yaml(match[0][:_QUESTION_MAX])["question"]) if match else ""
    except (ValueError, LookupError, TypeError):
        return ""
