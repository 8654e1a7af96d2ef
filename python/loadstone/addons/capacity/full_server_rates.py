"""Peak throughput of one server, as data, and how a report opens with it."""

from collections.abc import Iterator, Sequence

from loadstone.addons.capacity.full_server import FullServer
from loadstone.experiment.plan.labels import condition_label
from loadstone.experiment.spec.experiment import Experiment
from loadstone.experiment.spec.levels import Level, drop_factors, identity
from loadstone.judge.analysis.analysis import AnswerList, HeadlineOfLevels, ResultTable
from loadstone.judge.analysis.headline import first_factor
from loadstone.judge.verdict import AnalysisModel
from loadstone.text.message import Message, message


class FullServerRates(AnalysisModel):
    """What one server does at most, at one place of the run's conditions."""

    server: str
    condition: dict[str, Level]
    """Without the factors that set how many users there are."""
    label: str
    """`set, 1 kB`."""
    users_are: str = "users"
    """What the experiment calls them: `workers`."""
    users_vary: bool = False
    """Whether the experiment varies how many there are."""
    capacity: FullServer

    @property
    def said(self) -> Message:
        """`127,000 [125,000, 129,000] a second (measured at 32 workers)`, or why it is not known."""
        found = self.capacity
        if found.per_s is None:
            return found.why or message("full_unknown")
        return message(
            "full_figure",
            per_s=found.per_s,
            low=found.low_per_s,
            high=found.high_per_s,
            how=found.how,
            users=found.users,
            users_are=self.users_are,
            busy=found.busy,
            taken=found.taken,
        )


class FullServers(AnswerList[FullServerRates]):
    """Peak throughput of one server, at each place; left out where no server's CPU was seen."""

    def headline_of_levels(
        self, experiment: Experiment, tables: Sequence[ResultTable], *, quick: bool
    ) -> HeadlineOfLevels | None:
        """What it does under each level, where the users are varied: that comes before what some number of them got."""
        full = max(_full(tables, self.root), key=len, default=())
        return HeadlineOfLevels(len(full), _headline(experiment, tables, full, quick=quick)) if full else None


def _full(
    tables: Sequence[ResultTable], full_servers: Sequence[FullServerRates]
) -> Iterator[tuple[FullServerRates, ...]]:
    """What is known of full servers, of conditions that differ in the first factor of a table only."""
    for table in tables:
        first, places = first_factor(table), dict[str, list[FullServerRates]]()
        known = [one for one in full_servers if one.users_vary and one.capacity.per_s is not None]
        for one in known:
            usual = all(
                any(row.condition.get(name) == level for row in table.rows) for name, level in one.condition.items()
            )
            if first in one.condition and usual:
                places.setdefault(identity(drop_factors(one.condition, {first})), []).append(one)
        yield from map(tuple, places.values())


def _headline(
    experiment: Experiment, tables: Sequence[ResultTable], full: Sequence[FullServerRates], *, quick: bool
) -> Message:
    conditions = [one.condition for one in full]
    table = next(table for table in tables if first_factor(table) in conditions[0])
    first = first_factor(table)
    others = [name for name in table.vary if name != first and name in conditions[0]]
    servers = list(dict.fromkeys(one.server for one in full))
    return message(
        "headline_full",
        server=servers[0] if len(servers) == 1 else None,
        place=condition_label(experiment, conditions[0], others),
        figures=[
            message("headline_level", level=condition_label(experiment, one.condition, [first]), figure=one.said)
            for one in full
        ],
        quick=quick,
    )
