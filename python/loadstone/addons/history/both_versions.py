"""Two runs' experiments as one: what differs between their servers becomes a factor, so that both take turns.

Everything else is taken of the later one. Of its tables and comparisons there is one each: the condition in question.
"""

import copy
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from loadstone.experiment.spec.experiment import TWIN
from loadstone.experiment.spec.levels import Condition, same_level
from loadstone.safety.errors import UserError

FACTOR, BEFORE, AFTER = "version", "before", "after"
_ELSE = "_measured"
"""Behind the factor's name where the experiment has one of that name."""
_OTHER_QUESTIONS = ("effects", "published", "conclusions", "lessons", "crashes", "goals")
_PARTS = ("servers", "subjects")
Data = dict[str, Any]
ReadBack = Mapping[str, Mapping[str, Any]]
"""Server -> settings that were in force."""
_LEVEL = (str, int, float)


def both_versions(
    before: Data,
    after: Data,
    condition: Condition,
    metric: str,
    in_force: tuple[ReadBack, ReadBack],
    rate_per_s: float | None = None,
) -> Data:
    """The experiment that measures one condition of both in turns.

    Args:
        before: the earlier run's experiment, as it was resolved; `after` the later one's.
        condition: a level for each factor.
        metric: what decides, of `experiment.spec.experiment.METRICS`.
        in_force: the settings that were read back from the servers of each.
        rate_per_s: at which both are loaded; None: as the experiment says.

    Raises:
        UserError: nothing differs that could be measured, or it cannot be done in turns; says what to do.
    """
    factor = FACTOR if FACTOR not in after["factors"] else f"{FACTOR}{_ELSE}"
    both = _Versions(copy.deepcopy(after), factor, in_force)
    for part in _PARTS:
        names = list(dict.fromkeys((*(before.get(part) or {}), *(after.get(part) or {}))))
        for name in [name for name in names if _is_there(before, after, part, name, condition)]:
            one, other = ((of.get(part) or {}).get(name) for of in (before, after))
            both.merge(part, name, one, other)
    data, values = both.data, both.values
    if not values[BEFORE] and factor not in _used(data):
        raise UserError("nothing that both experiments say of their servers and applications differs")
    named = {"values": values} if values[BEFORE] else {}
    data["factors"][factor] = {"title": "Version", "levels": [BEFORE, AFTER], **named}
    return _one_question(data, condition, factor, metric, rate_per_s)


def _is_there(before: Data, after: Data, part: str, name: str, condition: Condition) -> bool:
    """Whether the condition has this server or application in either run."""
    sides = [(of.get(part) or {}).get(name) for of in (before, after)]
    return any(side is not None and applies(side.get("when") or {}, condition) for side in sides)


def applies(when: Mapping[str, Any], condition: Condition) -> bool:
    """Whether a `when` allows a condition."""
    return all(
        any(same_level(condition[name], level) for level in (levels if isinstance(levels, list | tuple) else [levels]))
        for name, levels in when.items()
        if name in condition
    )


@dataclass(frozen=True)
class _Versions:
    """The experiment of both, as it grows."""

    data: Data
    factor: str
    in_force: tuple[ReadBack, ReadBack]
    values: dict[str, Data] = field(default_factory=lambda: {BEFORE: {}, AFTER: {}})
    """What the factor stands for, by level."""

    def merge(self, part: str, name: str, before: Data | None, after: Data | None) -> None:
        """Put what differs between two versions of a part behind the factor."""
        if before == after:
            return
        if before is None or after is None or part == "subjects" or before.get("kind") != after.get("kind"):
            self._put_apart(part, name, before, after)
            return
        for path, one, other in _leaves(before, after):
            sides = zip((one, other), self.in_force, strict=True)
            pair = [_known(value, side.get(name, {}), path) for value, side in sides]
            if any(value is None for value in pair):
                setting = ".".join((part, name, *path))
                raise UserError(
                    "{setting}: only one of both runs sets it, and what it was in the other is not recorded; "
                    "start both versions yourself and name them: --before {name}=URL --after {name}=URL",
                    setting=setting,
                    name=name,
                )
            key = re.sub(r"\W", "_", "_".join((name, *path)))
            self.values[BEFORE][key], self.values[AFTER][key] = pair
            place = self.data[part][name]
            for step in path[:-1]:
                place = place.setdefault(step, {})
            place[path[-1]] = f"${{{self.factor}.{key}}}"

    def _put_apart(self, part: str, name: str, before: Data | None, after: Data | None) -> None:
        """Two servers (or applications) of their own, each there for its version."""
        if before is None or after is None:
            raise UserError(
                "{part} {name}: only one of both runs has it, so there are no two versions of it", part=part, name=name
            )
        data, factor = self.data, self.factor
        if part == "servers" and data.get("subjects"):
            raise UserError(
                "servers {name}: before it was {before}, and after it {after}, behind an application; give the one "
                "of before by its URL: --before {name}=URL --after {name}=URL",
                name=name,
                before=before.get("kind"),
                after=after.get("kind"),
            )
        other = f"{name}-before"
        data[part][name] = {**after, "when": {**(after.get("when") or {}), factor: AFTER}}
        data[part][other] = {**before, "when": {**(before.get("when") or {}), factor: BEFORE}}
        if data["workload"].get("target") == name:
            data["workload"]["target"] = f"${{{factor}.target}}"
            self.values[BEFORE]["target"], self.values[AFTER]["target"] = other, name


def _known(value: Any, in_force: Mapping[str, Any], path: Sequence[str]) -> Any:
    """A value that one run leaves to the server: as it was read back."""
    if value is None and path[0] == "settings":
        value = in_force.get(path[-1])
    return value if isinstance(value, _LEVEL) else None


def _leaves(before: Any, after: Any, path: tuple[str, ...] = ()) -> list[tuple[tuple[str, ...], Any, Any]]:
    if isinstance(before, dict | None) and isinstance(after, dict | None) and before != after:
        before, after = before or {}, after or {}
        keys = dict.fromkeys((*before, *after))
        return [leaf for key in keys for leaf in _leaves(before.get(key), after.get(key), (*path, str(key)))]
    return [] if before == after else [(path, before, after)]


def _used(data: Data) -> set[str]:
    return {name for part in _PARTS for one in (data.get(part) or {}).values() for name in (one.get("when") or {})}


def _one_question(data: Data, condition: Condition, factor: str, metric: str, rate_per_s: float | None) -> Data:
    at = {name: [level] for name, level in condition.items() if name in data["factors"] and name != TWIN}
    vary = {factor: [BEFORE, AFTER], **at}
    question = f"Is {AFTER} slower than {BEFORE}?"
    data |= {name: [] for name in _OTHER_QUESTIONS}
    data |= {
        "name": f"{data['name'][:72]}-confirm",
        "question": question,
        "description": "",
        "primary_metric": metric,
        "load": None,
        "saturation": None,
        "as_published": None,
        "tables": [{"name": "results", "title": "Results", "vary": vary}],
        "comparisons": [
            {
                "name": "versions",
                "question": question,
                "between": factor,
                "levels": [BEFORE, AFTER],
                "baseline": BEFORE,
                "at": at,
                "metric": metric,
            }
        ],
    }
    data["factors"].pop(TWIN, None)
    data["design"] = {**data["design"], "table_blocks": 1, "at_rate": "never", "cost_within": None}
    if rate_per_s is not None:
        data["workload"] |= {
            "model": {"kind": "open", "rate_per_s": round(rate_per_s, 3), "arrivals": "poisson"},
            "models": [],
        }
    return data
