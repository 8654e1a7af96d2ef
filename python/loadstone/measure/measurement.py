"""What all measurements of a run share (parts, drivers, display), and a trial prepared on them."""

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from loadstone.drivers.driver import Driver
from loadstone.drivers.outcome import Interval
from loadstone.experiment.plan.drive_plan import Plan
from loadstone.experiment.plan.key_time import MANY
from loadstone.experiment.plan.run_plan import WARM_BLOCK, PlannedTrial
from loadstone.experiment.spec.levels import Condition, identity
from loadstone.judge.checks.checks import forbidding
from loadstone.judge.cost import costs_of
from loadstone.machine.placement import Placement
from loadstone.measure.driven_plan import on_endpoints, targets_of, with_spin
from loadstone.measure.failures import OomKillCounts, count_oom_kills
from loadstone.measure.listener import Exporter, Listener
from loadstone.measure.snapshots import keys_of, remove_keys
from loadstone.monitors.monitor import Monitor, Sample
from loadstone.monitors.watch import MonitorTargets
from loadstone.programs.clients.drivers import Drivers
from loadstone.programs.deployments import Deployments
from loadstone.programs.ready import RunningParts
from loadstone.run_folder.trial import TrialRecord
from loadstone.safety.errors import Interrupted, ServerGone
from loadstone.servers import registry
from loadstone.servers.free_space import SpaceWatch


@dataclass(frozen=True)
class DisplayTarget:
    """Who is shown the figures as they come in: the person at the terminal the samples, an exporter all of them.

    The terminal is shown intervals by the loop, with the name of their condition.
    """

    progress: Listener
    exporter: Exporter | None = None
    name_of: Callable[[Condition], str] = identity
    """What a condition is called."""
    _trials: dict[str, list[TrialRecord]] = field(default_factory=dict)

    def observe(self, interval: Interval, condition: Condition) -> None:
        """An interval of a condition ended."""
        if self.exporter is not None:
            self.exporter.observe(interval, self.name_of(condition))

    def sample(self, samples: Sequence[Sample]) -> None:
        """The monitors observed something. From any thread."""
        self.progress.sample(samples)
        if self.exporter is not None:
            self.exporter.sample(samples)

    def recorded(self, trial: TrialRecord) -> None:
        """A trial was judged: all are shown each that a row is made from, and each step of a search for loads."""
        if trial.block == WARM_BLOCK or trial.facts.rate_share is not None:
            return
        if not forbidding(trial):
            name, step = self.name_of(trial.condition), trial.search or {}
            load = f"{step['users']} users" if step.get("users") else ""
            load = f"{step['rate_per_s']:.0f} a second" if step.get("rate_per_s") else load
            condition = ", ".join(filter(None, (name, load)))
            self.progress.cost(condition, trial.trial, costs_of([trial]))
            if self.exporter is None:
                return
            trials = self._trials.setdefault(condition, [])
            trials.append(trial)
            self.exporter.cost(condition, costs_of(trials))


@dataclass
class PreparedTrial:
    """What one measurement works on, from its preparation until its keys are removed."""

    planned: PlannedTrial
    plan: Plan
    """On the endpoints of its target."""
    ready: RunningParts
    """Replaced where a part was started again."""
    room: SpaceWatch
    """Whether servers that are not ours lose something; a context, which watches while it is open."""
    oom_before: OomKillCounts
    offered: int | None = None
    """Operations of the drive: where each takes a key of its own, in order, there are no keys beyond them."""
    gone: ServerGone | None = None
    """Why keys could not be removed: a server that is not ours does not answer."""


@dataclass
class Measurement:
    """What all measurements of one run share."""

    parts: Deployments
    drivers: Drivers
    placement: Placement
    stopping: threading.Event
    """Set when the user requested a stop: what is being measured is not recorded."""
    progress: Listener
    live: DisplayTarget
    monitors: Callable[[MonitorTargets], Sequence[Monitor]] = registry.monitors

    @property
    def driver(self) -> Driver:
        """The native engine, which also stores the data and warms subjects up."""
        return self.drivers.native

    @property
    def cpus(self) -> tuple[int, ...]:
        """Those that something was placed on."""
        return (*self.placement.server_cpus, *self.placement.generator_cpus)

    def require_going_on(self) -> None:
        """Raises Interrupted where the user requested a stop."""
        if self.stopping.is_set():
            raise Interrupted("interrupted; what was finished is kept")

    @contextmanager
    def prepare(
        self, planned: PlannedTrial, ready: RunningParts, room: SpaceWatch | None = None
    ) -> Iterator[PreparedTrial]:
        """The plan on the parts that are ready, and its keys noted before they are made; removed in the end.

        They are removed whatever happens within: an interruption and a full disk leave no key behind either. Only who
        asks twice to stop does not wait for millions: then they stay for `loadstone clean`. `room`: the watch over the
        servers, where others are measured with it.

        Raises:
            UserError: the target is no part, or what is to be made on a server that is not ours cannot be noted.
        """
        room = room or SpaceWatch((part.server for part in ready.servers.values()), self.drivers.stop)
        plan = self.drivers.share(planned.driver, on_endpoints(planned.plan, ready, planned.target))
        plan = with_spin(plan, self.placement, ready)
        prepared = PreparedTrial(planned, plan, ready, room, count_oom_kills(ready))
        for deployed in targets_of(ready, planned.target).values():
            deployed.traces.note(*keys_of(plan))
        waited_for = True
        try:
            yield prepared
        except KeyboardInterrupt:
            waited_for = plan.keys.count < MANY
            raise
        finally:
            if waited_for:
                tell, ending = self.progress.step, self.stopping.is_set
                prepared.gone = remove_keys(planned, prepared.ready, prepared.offered, tell, ending)

    def placement_of(self, ready: RunningParts) -> Placement | None:
        """Which CPUs servers and driver were given; None where someone else placed a part."""
        return self.placement if _all_ours(ready) else None


def _all_ours(ready: RunningParts) -> bool:
    """Whether loadstone placed every part."""
    servers = all(deployed.server.ours for deployed in ready.servers.values())
    return servers and all(deployed.subject.ours for deployed in ready.subjects.values())
