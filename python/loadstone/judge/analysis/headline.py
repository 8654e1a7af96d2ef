"""What opens the report: the question's answer in figures and verdicts, and a line on what was compared."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from loadstone.experiment.plan.labels import condition_label
from loadstone.experiment.spec.experiment import Experiment
from loadstone.experiment.spec.levels import drop_factors, identity
from loadstone.judge.analysis.analysis import Answer, Comparison, EffectsAnswer, Family, ResultTable, Row
from loadstone.judge.checks.accounting import unknown_commands
from loadstone.judge.metrics import figure, is_rate
from loadstone.judge.verdict import COST, DECIDED, UNBOUNDED, CpuCost, Side, VerdictKind
from loadstone.run_folder.trial import TrialRecord
from loadstone.text.message import Message, message

FAMILIES_MAX = 3
"""Number of comparisons that stand in the answer; the others are counted."""
SIDES_MAX = 5
"""Number of sides of a comparison of which the opening says what a request costs."""
_SAYS: dict[VerdictKind, int] = {
    "faster": 4, "mixed": 3, "equivalent": 2, "undecided": 1, "not_decidable": 1, "invalid": 0,
}  # fmt: skip
"""Rank of a verdict: the more it says, the higher."""


@dataclass(frozen=True)
class Opening:
    """What a report begins with."""

    headline: Message
    costs: Message | None
    """What a request costs; None where nothing is known of it."""
    answer: Message
    """Both, the effects, the main verdicts of other comparisons, and what add-ons answer."""

    @classmethod
    def alone(cls, sentence: Message) -> "Opening":
        """One sentence that says all."""
        return cls(sentence, None, sentence)


def opening(
    experiment: Experiment,
    tables: Sequence[ResultTable],
    families: Sequence[Family],
    effects: Sequence[EffectsAnswer] = (),
    answers: Sequence[Answer] = (),
    *,
    quick: bool,
) -> Opening:
    """The sentences that open the report of a run that measured something."""
    answered = {effect.name for effect in effects}
    verdicts = _main_verdicts([family for family in families if family.name not in answered])
    sayings = [said for answer in answers if (said := answer.headline()) is not None]
    first = headline(experiment, tables, families, answers, sayings, quick=quick)
    costs = cost_sentence(tables, families)
    parts = [first, *([costs] if costs is not None else []), *(effect.answer for effect in effects)]
    parts += [verdicts] if verdicts is not None else []
    parts += [said for said in sayings if said is not first]
    return Opening(first, costs, parts[0] if len(parts) == 1 else message("sentences", parts=parts))


def budget_too_short(budget_s: float, needed_s: float, *, quick: bool) -> Message:
    """What stands in the place of the answer where the budget ended before anything was measured."""
    return message("headline_budget_too_short", budget_s=budget_s, needed_s=needed_s, quick=quick)


def unanswered(trials: Sequence[TrialRecord]) -> Message | None:
    """What became of the operations of a run in which none got a correct reply; None of any other run."""
    if not trials or any(trial.counts.ok for trial in trials):
        return None
    ends: Counter[str] = Counter()
    for counts in (trial.counts for trial in trials):
        ends.update({**counts.errors, "timeouts": counts.timeouts, "never_answered": counts.in_flight})
    kinds = {kind: number for kind, number in ends.items() if number}
    unknown = list(dict.fromkeys(name for trial in trials for name in unknown_commands(trial.facts)))
    return message("headline_unanswered", kinds=kinds, **({"unknown": unknown} if unknown else {}))


def headline(
    experiment: Experiment,
    tables: Sequence[ResultTable],
    families: Sequence[Family] = (),
    answers: Sequence[Answer] = (),
    sayings: Sequence[Message] = (),
    *,
    quick: bool,
) -> Message:
    """One sentence: figures of the primary metric that have an interval, or else what the run can tell.

    What an add-on knows of as many levels comes before the figures of a table.

    `sayings`: the sentences of the answers, of which the first is told where no row has a figure.

    A figure for each level of the first factor that a table varies, all at the same levels of the other factors: the
    place at which the most levels have an interval, the first such place in the order of the tables. It is never
    chosen by the figures: the best of many is one that chance helped.
    """
    if not tables:
        return message("headline_nothing_measured", quick=quick)
    metric = experiment.primary_metric
    usable = [row for table in tables for row in table.rows if row.verdict in ("valid", "suspect")]
    if all(figure(row, metric) is None for row in usable):
        if any(pair.leading.kind in DECIDED for family in families for pair in family.comparisons):
            return message("headline_others_took_cpu", quick=quick)
        return next(iter(sayings), None) or message("headline_no_figure", quick=quick)
    found = max(_groups(tables, metric), key=lambda group: group.weight, default=None)
    others = (answer.headline_of_levels(experiment, tables, quick=quick) for answer in answers)
    before = max((one for one in others if one is not None), key=lambda one: one.levels, default=None)
    if is_rate(metric) and before is not None and before.levels >= (len(found.rows) if found is not None else 1):
        return before.said
    if found is None:
        compared = not is_rate(metric) and any(family.metric == metric and family.comparisons for family in families)
        return _without_interval(usable, compared_by=metric if compared else None, quick=quick)
    return _named(experiment, found, metric, quick=quick)


def comparison_line(tables: Sequence[ResultTable], families: Sequence[Family]) -> Message:
    """One line on what was compared: `8 comparisons: 6 decided, 2 undecided`; or why nothing was."""
    kinds = Counter(pair.leading.kind for family in families for pair in family.comparisons)
    if not kinds:
        return message("no_comparison_one_block") if measured_once(tables) else message("no_comparison_declared")
    return message(
        "comparisons_counted",
        total=sum(kinds.values()),
        decided=sum(kinds[kind] for kind in DECIDED),
        undecided=kinds["undecided"],
        not_decidable=kinds["not_decidable"],
        invalid=kinds["invalid"],
    )


def measured_once(tables: Sequence[ResultTable]) -> bool:
    """Whether no condition was measured more than once."""
    return all(len(row.trials) <= 1 and not row.slices for table in tables for row in table.rows)


@dataclass(frozen=True)
class _Group:
    """Rows with an interval that differ in one factor only."""

    factor: str
    others: tuple[str, ...]
    """The other factors that the table varies."""
    rows: tuple[Row, ...]

    @property
    def weight(self) -> tuple[bool, int]:
        """Capacities before round trips of one user, and many levels before few."""
        return not any(row.bound is not None and row.bound.round_trip for row in self.rows), len(self.rows)


def _groups(tables: Sequence[ResultTable], metric: str) -> Iterator[_Group]:
    for table in tables:
        first = first_factor(table)
        places: dict[str, list[Row]] = {}
        for row in table.rows:
            if row.verdict in ("valid", "suspect") and row.interval(metric) is not None:
                place = identity(drop_factors(row.condition, {first}))
                places.setdefault(place, []).append(row)
        others = tuple(name for name in table.vary if name != first)
        yield from (_Group(first, others, tuple(rows)) for rows in places.values())


def first_factor(table: ResultTable) -> str:
    """Empty of a table that varies nothing."""
    return next((name for name, levels in table.vary.items() if len(levels) > 1), next(iter(table.vary), ""))


def _named(experiment: Experiment, group: _Group, metric: str, *, quick: bool) -> Message:
    return message(
        "headline_figures",
        place=condition_label(experiment, group.rows[0].condition, group.others),
        figures=[_level_figure(experiment, row, group.factor, metric) for row in group.rows],
        metric=metric,
        suspect=any(row.verdict == "suspect" for row in group.rows),
        quick=quick,
    )


def _without_interval(rows: Sequence[Row], *, compared_by: str | None, quick: bool) -> Message:
    """What a run tells whose primary metric has no interval anywhere."""
    different = {identity(row.condition): row for row in rows}.values()
    times = [row.blocks for row in different if not row.slices]
    return message(
        "headline_without_interval",
        conditions=len(different),
        in_rounds=len(different) - len(times),
        times_min=min(times, default=0),
        times=max(times, default=0),
        rates_have_interval=any(row.goodput_interval is not None for row in rows),
        **({} if compared_by is None else {"compared_by": compared_by}),
        quick=quick,
    )


def _level_figure(experiment: Experiment, row: Row, first: str, metric: str) -> Message:
    """A level of the first factor, with its figure, its interval, and how much higher a rate may be at most."""
    low, high = row.interval(metric) or (None, None)
    bound = row.bound if is_rate(metric) else None
    bound_share = 0.0 if bound is None or bound.round_trip else min(bound.total, UNBOUNDED)
    value = message(
        "figure",
        metric=metric,
        value=figure(row, metric) or 0.0,
        low=low,
        high=high,
        bound_share=bound_share,
        unbounded=bound_share >= UNBOUNDED,
    )
    if not first:  # a table of one row
        return value
    return message("headline_level", level=condition_label(experiment, row.condition, [first]), figure=value)


def _main_verdicts(families: Sequence[Family]) -> Message | None:
    """The clearest verdict of each of a few comparisons: what was decided first, what is INVALID last."""
    judged = sorted((family for family in families if family.comparisons), key=_rank, reverse=True)
    if not judged:
        return None
    verdicts = [_verdict(family) for family in judged[:FAMILIES_MAX]]
    return message("headline_compared", verdicts=verdicts, more=max(0, len(judged) - FAMILIES_MAX))


def _verdict(family: Family) -> Message:
    pairs = family.comparisons
    clearest = max(pairs, key=_clarity)
    judged = clearest.leading
    return message(
        "headline_verdict",
        a=judged.a.name,
        b=judged.b.name,
        place=clearest.place,
        verdict=judged.brief,
        more_pairs=len(pairs) - 1,
    )


def _rank(family: Family) -> int:
    """Return how much its clearest verdict says; comparisons that say as much stay in the order they were declared
    in."""
    return max(min(2, _SAYS[pair.leading.kind]) for pair in family.comparisons)


def _clarity(pair: Comparison) -> tuple[int, float]:
    """What is decided comes before what is not, a large difference before a small one, INVALID last."""
    return _SAYS[pair.leading.kind], abs(pair.leading.estimate or 0.0)


def cost_sentence(tables: Sequence[ResultTable], families: Sequence[Family]) -> Message | None:
    """What a request costs each side of the comparison with the most sides, at its first place; None without costs.

    Of a side that stands in no table the typical cost of its rounds. Where what is compared has none, the rows of the
    first table that has some.
    """
    rows = {identity(row.condition): row.costs for table in tables for row in table.rows}
    places = [_sides_with_costs(family, rows) for family in families]
    place, sides = max(places, key=lambda found: len(found[1]), default=("", {}))
    if families and len(sides) < 2:
        place, sides = "", _rows_with_costs(tables)
    if len(sides) < 2:
        return None
    parts = {part for costs in sides.values() for part in costs}
    each_one = all(len(costs) == 1 for costs in sides.values())
    figures = [
        message("headline_cost", name=name, ns=list(costs.values()), parts=[] if each_one else list(costs))
        for name, costs in list(sides.items())[:SIDES_MAX]
    ]
    return message("headline_costs", place=place, sides=figures, part=parts.pop() if len(parts) == 1 else "")


_Sides = dict[str, dict[str, float]]
"""Side -> part -> nanoseconds of CPU."""


def _sides_with_costs(family: Family, rows: Mapping[str, Mapping[str, CpuCost]]) -> tuple[str, _Sides]:
    """The first place of a comparison, and its sides that have a cost there."""
    place = next((one.place for one in family.comparisons), "")
    found: _Sides = {}
    for comparison in family.comparisons:
        for end in ("a", "b") if comparison.place == place else ():
            side: Side = getattr(comparison.primary, end)
            typical = [(one.metric.removeprefix(COST), getattr(one, end).typical) for one in comparison.costs]
            costs = {part: cost.ns for part, cost in rows.get(identity(side.condition), {}).items()}
            costs = costs or {part: ns for part, ns in typical if ns}
            if costs:
                found.setdefault(side.name, costs)
    return place, found


def _rows_with_costs(tables: Sequence[ResultTable]) -> _Sides:
    """The rows of the first table of which two have a cost, up to those that the opening has room for."""
    for table in tables:
        rows = [row for row in table.rows if row.costs]
        if len(rows) > 1:
            return {row.label: {part: cost.ns for part, cost in row.costs.items()} for row in rows}
    return {}
