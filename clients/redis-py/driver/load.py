"""The load of one plan, without its input and output: what threads and coroutines have in common."""

import queue
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from random import Random

from driver.control import Control
from driver.failures import CORRECT, TIMEOUT, Outcome, connect_outcome, outcome_of, reason
from driver.plan import Closed, Open, Plan
from driver.recorder import Interval, Recorder, Times
from driver.schedule import DRAIN, Timeline, arrivals, ns, think_ns, user_start_ns
from driver.workload import Request, Workload

AFTER_FAILURE_NS = 10_000_000
"""So long a user waits whose connection failed: a server that is gone would else be dialled without pause."""
READ_BACK_NS = 300_000_000

Command = list[bytes | str]


@dataclass(slots=True)
class Task:
    """One operation on its way."""

    request: Request
    member: str
    intended_ns: int
    picked_ns: int
    sent_ns: int = 0
    completed_ns: int = 0

    @property
    def name(self) -> str:
        return self.request.operation.name


class Load:
    """Says what is to be done when, and is told what came of it. Times are in ns since the load began."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.timeline = Timeline(plan.phases)
        self.control = Control(plan.timeouts.gone_s)
        self.workload = Workload(plan)
        self.intervals: queue.SimpleQueue[Interval | None] = queue.SimpleQueue()
        self.recorder = Recorder(plan, self.timeline, self.intervals.put)
        self.exhausted = False
        """Every key was taken that is to be taken once."""
        self.end_ns = 0
        """When the load was over."""
        self._under_way: dict[int, Task] = {}
        """Operations that did not end, by their numbers."""

    @property
    def is_over(self) -> bool:
        """The load was stopped, or the drain is over: nothing is on its way any more, or there is no more time."""
        if self.control.stopped.is_set():
            return True
        drained_ns = self.control.now() - self.timeline.drain_ns
        total = self.recorder.total
        return drained_ns >= ns(self.plan.phases.drain_s) or (drained_ns >= 0 and total.in_flight + total.waiting == 0)

    def users(self) -> "list[User]":
        """Of a closed model."""
        assert isinstance(self.plan.model, Closed)
        return [User(self, self.plan.model, number) for number in range(self.plan.model.users)]

    def arrivals(self) -> Iterator[int]:
        """Of an open model: when each operation is intended that is to be begun."""
        assert isinstance(self.plan.model, Open)
        for intended_ns in arrivals(self.plan.model, self.plan.phases, Random(self.plan.seed + 1)):
            if self.exhausted or self.timeline.phase_of(intended_ns) == DRAIN:
                return
            yield intended_ns

    def begin(self, intended_ns: int) -> Task | None:
        """The next operation, which was intended then; None if there is none."""
        member = self.timeline.phase_of(intended_ns)
        request = None if member == DRAIN or self.exhausted or self.end_ns else self.workload.begin()
        if request is None:
            self.exhausted |= member != DRAIN and not self.end_ns
            return None
        now_ns = self.control.now()
        task = Task(request, member, intended_ns, now_ns)
        self.recorder.offered(task.name, member, now_ns - intended_ns, now_ns)
        self._under_way[request.filling.seq] = task
        return task

    def arrived(self, intended_ns: int) -> Task | None:
        """An operation of an open model; None if it is dropped, or there is none."""
        assert isinstance(self.plan.model, Open)
        is_full = self.recorder.waiting() >= self.plan.model.backlog_max
        task = self.begin(intended_ns)
        if task is None or not is_full:
            return task
        self.recorder.dropped(task.name, task.member, task.picked_ns)
        self.workload.abandon(task.request)
        del self._under_way[task.request.filling.seq]
        return None

    def connected(self, task: Task) -> Command | None:
        """An operation got its connection: its first command; None if the load is over."""
        task.sent_ns = self.control.now()
        if not self.recorder.sent(task.name, task.member, task.sent_ns - task.intended_ns, task.sent_ns):
            return None
        return self._command(task)

    def unconnected(self, task: Task, error: Exception) -> None:
        """An operation got no connection: that is its end."""
        task.sent_ns = task.completed_ns = self.control.now()
        self.recorder.sent(task.name, task.member, task.sent_ns - task.intended_ns, task.sent_ns)
        self.workload.abandon(task.request)
        self._end(task, connect_outcome(error), reason(error))

    def replied(self, task: Task, reply: object) -> Command | None:
        """A reply came: the operation's next command, if it has one. To compare the reply takes no part of its time."""
        task.completed_ns = self.control.now()
        self.control.answered()
        self.recorder.command_replied(task.request.template.name)
        error = self.workload.judge(task.request, reply)
        if error is None and task.request.go_on(reply):
            return self._command(task)
        self._end(task, CORRECT if error is None else Outcome(error, replied=True))
        return None

    def failed(self, task: Task, error: Exception) -> bool:
        """redis-py raised an error in place of a reply. Whether its connection failed."""
        task.completed_ns = self.control.now()
        outcome = outcome_of(error)
        if outcome.replied:
            self.recorder.command_replied(task.request.template.name)
        self._end(task, outcome, reason(error))
        return not outcome.replied and outcome.error != TIMEOUT

    def all_replied(self, tasks: list[Task], replies: list[object]) -> None:
        """The replies to the operations of a pipeline came, in their order."""
        for task, reply in zip(tasks, replies, strict=False):
            if isinstance(reply, Exception):
                self.failed(task, reply)
            else:
                self.replied(task, reply)

    def all_failed(self, tasks: list[Task], error: Exception) -> bool:
        """redis-py raised an error in place of the replies of a pipeline. Whether its connection failed."""
        for task in tasks:
            is_lost = self.failed(task, error)
        return is_lost

    def finish(self) -> None:
        """The load is over: what is on its way stays so."""
        self.end_ns = self.control.now()
        self.recorder.end_measure(self.end_ns)
        for task in tuple(self._under_way.values()):
            self.recorder.went_on(task.name, task.intended_ns, self.end_ns)
        self.recorder.finish(self.end_ns)
        self.intervals.put(None)

    def _command(self, task: Task) -> Command:
        self.recorder.command_sent(task.request.template.name)
        return task.request.command()

    def _end(self, task: Task, outcome: Outcome, why: str = "") -> None:
        if outcome.replied:
            self.workload.answered(task.request, outcome.error is None)
        if outcome.replied or outcome.error == TIMEOUT:
            self.control.answered()
        else:
            self.control.unreachable(task.completed_ns, f"{self.plan.endpoint.label}: {why}")
        del self._under_way[task.request.filling.seq]
        times = Times(task.intended_ns, task.sent_ns, task.completed_ns)
        self.recorder.ended(task.name, task.member, outcome, times)

    def read_back(self) -> Iterator[tuple[Command, Callable[[object], None]]]:
        """After the drain: commands, one after the other, and what takes the reply of each (or its error)."""
        if self.recorder.total.in_flight:
            return
        until_ns = self.control.now() + READ_BACK_NS
        for request in self.workload.read_backs():
            if self.control.stopped.is_set() or self.control.now() > until_ns:
                return
            self.recorder.command_sent(request.template.name)
            yield request.command(), lambda reply, request=request: self._read_back(request, reply)  # type: ignore[misc]

    def _read_back(self, request: Request, reply: object) -> None:
        is_error = isinstance(reply, Exception)
        if is_error and not outcome_of(reply).replied:  # type: ignore[arg-type]
            return
        self.recorder.command_replied(request.template.name)
        self.workload.read_back.checked += 1
        self.workload.read_back.wrong += is_error or self.workload.judge(request, reply) is not None


class User:
    """A virtual user: when its next operation is intended, and how many it has left."""

    def __init__(self, load: Load, model: Closed, number: int) -> None:
        self._load = load
        self._model = model
        self._left = model.operations_per_user
        self._started = False
        self._random = Random(load.plan.seed << 20 | number)
        self.next_ns = user_start_ns(model, load.plan.phases, number)

    def begin(self) -> list[Task]:
        """What it does now; nothing if it is done."""
        if not self._started:
            self._started = True
            self._load.recorder.user_changed(+1)
        most = self._load.plan.pipeline_depth
        count = most if self._left is None else min(most, self._left)
        tasks = []
        for _ in range(count):
            task = self._load.begin(self.next_ns)
            if task is None:
                break
            tasks.append(task)
        if self._left is not None:
            self._left -= len(tasks)
        if not tasks:
            self._load.recorder.user_changed(-1)
        return tasks

    def thinks(self, tasks: list[Task], failed: bool) -> None:
        """Its operations ended, or their connection failed: the next ones are intended when it has thought."""
        pause_ns = max(think_ns(self._model, self._random), AFTER_FAILURE_NS if failed else 0)
        self.next_ns = max(task.completed_ns for task in tasks) + pause_ns
