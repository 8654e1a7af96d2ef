"""Where a link to a trial or a condition leads, the same on the page and in Markdown."""

import re

from loadstone.analyse.model import Analysis, TrialView
from loadstone.report.summary import trials_by_condition


class Anchors:
    """Names of anchors; None where the analysis holds no such trial."""

    def __init__(self, analysis: Analysis) -> None:
        self.conditions: list[tuple[str, str, list[TrialView]]] = []
        """Anchor, label and trials of each condition, in the order of the tables."""
        self._of_view: dict[int, str] = {}
        self._of_trial: dict[str, str] = {}
        self._condition_of: dict[str, str] = {}
        taken: set[str] = set()
        for number, (label, views) in enumerate(trials_by_condition(analysis).items(), 1):
            anchor = f"condition-{number}"
            self.conditions.append((anchor, label, views))
            for view in views:
                own = _free(f"trial-{re.sub(r'[^A-Za-z0-9_-]+', '-', view.trial)}", taken)
                self._of_view[id(view)] = own
                self._of_trial[view.trial] = own
                self._condition_of[view.trial] = anchor

    def view(self, view: TrialView) -> str:
        """The anchor at which this trial stands."""
        return self._of_view[id(view)]

    def trial(self, name: str | None) -> str | None:
        """The anchor of a trial by its name; of several attempts, that of the last."""
        return self._of_trial.get(name or "")

    def condition(self, trials: list[str]) -> str | None:
        """The anchor of the condition that these trials belong to."""
        return next((self._condition_of[name] for name in trials if name in self._condition_of), None)


def _free(anchor: str, taken: set[str]) -> str:
    """`anchor`, with a number behind it where it is taken."""
    number, found = 1, anchor
    while found in taken:
        number += 1
        found = f"{anchor}--{number}"
    taken.add(found)
    return found
