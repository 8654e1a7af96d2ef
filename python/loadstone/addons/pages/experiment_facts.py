"""What the form of an experiment is made from."""

from dataclasses import dataclass


@dataclass(frozen=True)
class LevelFacts:
    """A level of a factor."""

    text: str
    on: bool
    usual: bool


@dataclass(frozen=True)
class FactorFacts:
    """What is varied."""

    name: str
    title: str
    unit: str
    levels: tuple[LevelFacts, ...]


@dataclass(frozen=True)
class PartFacts:
    """A server or an application of the experiment."""

    name: str
    what: str
    """Its kind, or its manifest."""


@dataclass(frozen=True)
class SettingFacts:
    """A setting that has one value for all conditions, and what it may be."""

    path: str
    value: str
    description: str
    lowest: float | None
    highest: float | None


@dataclass(frozen=True)
class ExperimentFacts:
    """What a form of an experiment is made from."""

    word: str
    """As the command line names it."""
    name: str
    question: str
    description: str
    factors: tuple[FactorFacts, ...]
    servers: tuple[PartFacts, ...]
    subjects: tuple[PartFacts, ...]
    users: SettingFacts | None
    """How many virtual users there are; None where a factor or another model says it."""
    settings: tuple[SettingFacts, ...]
    budget: str
    quick_budget: str
    as_published: bool
