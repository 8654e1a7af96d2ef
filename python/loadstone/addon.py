"""The seam of add-ons: what one may bring to the core, and where they are found.

An add-on is an `AddOn`: names, each with the place of what it stands for. Each field is taken by the `Slot` of one
room, which loads a place when it needs it. Those of this package stand in `addons/`, each with its `ADD_ON` in a file
`addon.py`; a package of others names its own as an entry point of the group `loadstone.addons`.
"""

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from importlib import import_module
from importlib.machinery import PathFinder
from importlib.util import find_spec
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any

from loadstone.safety.errors import UserError
from loadstone.safety.secrets.references import learn_environment
from loadstone.text.message import said

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP = "loadstone.addons"
"""The group of entry points by which add-ons of other packages are found."""
Place = str
"""Where something is, as entry points have it: `package.module:attribute`."""


@dataclass(frozen=True)
class AddOn:
    """What an add-on brings: in each field a name that neither loadstone nor another add-on has, and the place of what
    it stands for."""

    name: str
    experiment_fields: Mapping[str, Place] = field(default_factory=dict)
    """Top-level key of an experiment -> an `experiment.spec.experiment.AddOnPart` that reads what is written there."""
    planned_searches: Mapping[str, Place] = field(default_factory=dict)
    """Such a key -> `(part, experiment.plan.design.planned_search.SearchContext)`: plans a search for loads."""
    answer_files: Mapping[str, Place] = field(default_factory=dict)
    """Key of `analysis.json` -> the name of a file that holds what stands there by itself."""
    look_schedules: Mapping[str, Place] = field(default_factory=dict)
    """Such a key -> an `experiment.plan.look_schedule.LookSchedule`, made of the part."""
    decision_rules: Mapping[str, Place] = field(default_factory=dict)
    """Such a key -> a `judge.compare.decision_rule.DecisionRule`, made of the part and the experiment."""
    commands: Mapping[str, Place] = field(default_factory=dict)
    """Command -> a function as `cli.command.command` takes it, or a `typer.Typer` that is a group of commands."""
    sentences: Mapping[str, Place] = field(default_factory=dict)
    """Any name -> a catalogue: kind of message -> `text.sentences.Sentence`."""
    goals: Mapping[str, Place] = field(default_factory=dict)
    """Any name -> a `measure.goals.goal.Goal` that every run has, made of a `GoalContext`."""
    declared_goals: Mapping[str, Place] = field(default_factory=dict)
    """Kind, as an experiment names it under `goals` -> a `measure.goals.declared.AddOnGoal`; what it found is an answer
    as any other, which looks for its goals (`RunFindings.declared`)."""
    run_options: Mapping[str, Place] = field(default_factory=dict)
    """Option of commands that measure -> what carries it out, as `run.request.OF_ADD_ONS` has it."""

    answers: Mapping[str, Place] = field(default_factory=dict)
    """Key of `analysis.json` -> the `judge.analysis.analysis.Answer` that stands there."""
    evaluations: Mapping[str, Place] = field(default_factory=dict)
    """That key -> a `judge.analysis.evaluations.Evaluation`, which finds the answer."""
    later_evaluations: Mapping[str, Place] = field(default_factory=dict)
    """That key -> an `Evaluation` that rests on what the `evaluations` of all add-ons found."""
    sections: Mapping[str, Place] = field(default_factory=dict)
    """That key -> a function of the answer, which makes its `report.document.Section`; None: it has nothing to say."""
    csv_files: Mapping[str, Place] = field(default_factory=dict)
    """File beside `tables.csv` -> a function of the analysis, which gives its lines, as `report.csv_report.CsvRows`."""
    charts: Mapping[str, Place] = field(default_factory=dict)
    """Key of `analysis.json` -> a function of the answer, which gives its pictures (`report.charts.chart.Chart`)."""
    objective_figures: Mapping[str, Place] = field(default_factory=dict)
    """Figure of an answer, as `--fail-if` names it -> a `judge.analysis.objectives.AnsweredFigure`."""

    def __post_init__(self) -> None:
        """Raises TypeError where a field is not what the seam takes, so that a mistake is named where it is loaded."""
        for one in (one for one in fields(self) if one.name != "name"):
            brought = getattr(self, one.name)
            pairs = brought.items() if isinstance(brought, Mapping) else [(None, None)]
            if not all(isinstance(word, str) for pair in pairs for word in pair):
                raise TypeError(f"{one.name} is not a mapping of names to places")

    def names(self, kind: str) -> Mapping[str, Place]:
        """What it brings of a kind."""
        brought: Mapping[str, Place] = getattr(self, kind)
        return brought

    def load(self, kind: str, name: str, fits: Callable[[Any], bool] = lambda _: True) -> Any:
        """What a name stands for. Raises UserError where that cannot be loaded, or does not fit."""
        place = self.names(kind)[name]
        try:
            loaded = resolve_name(place)
        except (Exception, SystemExit) as error:
            raise _broken(self.name, place, error) from error
        if not fits(loaded):
            raise _broken(self.name, place, TypeError(f"it is not what {kind} takes"))
        return loaded

    def clash(self, kind: str, name: str, other: "AddOn | None") -> UserError:
        """That a name is another add-on's already, or loadstone's own (None)."""
        return UserError(
            "add-on {name}: '{brought}' ({kind}) is a name of {owner} already; update the package that has it, or "
            "uninstall that",
            name=self.name,
            brought=name,
            kind=kind,
            owner="loadstone" if other is None else said("add-on {name}", name=other.name),
        )


def installed() -> Iterator[AddOn]:
    """All add-ons: those of this package in the order that they have there, then those of others by their names.

    Raises:
        UserError: one of another package cannot be loaded.
    """
    if find_spec("loadstone.addons") is not None:
        for name in import_module("loadstone.addons").NAMES:
            if find_spec(f"loadstone.addons.{name}") is not None:
                yield import_module(f"loadstone.addons.{name}.addon").ADD_ON
    for entry in sorted(_of_others(), key=lambda entry: entry.name):
        try:
            add_on = entry.load()
        except (Exception, SystemExit) as error:
            raise _broken(entry.name, entry.value, error) from error
        if not isinstance(add_on, AddOn):
            raise _broken(entry.name, entry.value, TypeError("it is not an AddOn"))
        yield add_on


def _of_others() -> "Iterable[EntryPoint]":
    """The entry points of the group. What reads them takes as long to load as a command: only if a file names any."""
    finders = [finder for finder in sys.meta_path if hasattr(finder, "find_distributions")]
    if finders == [PathFinder] and not any(map(_may_name_some, sys.path)):
        return ()
    from importlib.metadata import entry_points

    return entry_points(group=GROUP)


def _may_name_some(place: str) -> bool:
    """Whether a distribution in this place of `sys.path` may have an entry point of the group."""
    try:
        with os.scandir(place or ".") as found:
            information = [one.path for one in found if one.name.lower().endswith((".dist-info", "egg-info"))]
    except NotADirectoryError:
        return True  # an archive
    except OSError:
        return False
    return any(_has_group(Path(folder, "entry_points.txt")) for folder in information)


def _has_group(file: Path) -> bool:
    try:
        return GROUP.encode() in file.read_bytes()
    except OSError:
        return False


def _broken(name: str, place: Place, error: BaseException) -> UserError:
    learn_environment()  # what it says may be a secret of there
    try:
        why = str(error)
    except Exception:
        why = ""
    return UserError(
        "add-on {name}: {place} cannot be loaded ({error}); update the package that has it, or uninstall that",
        name=name,
        place=place,
        error=f"{type(error).__name__}: {why}",
    )
