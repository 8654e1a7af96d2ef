"""The load with redis-py's blocking client: a thread for each user, or for each connection of an open model."""

import queue
import threading
from collections.abc import Callable
from typing import Any

import redis

from driver.connections import Counted, Pool
from driver.load import AFTER_FAILURE_NS, Load, Task, User
from driver.plan import Closed, PlanError
from driver.schedule import S

THREADS_MAX = 4000
POLL_S = 0.02


def require_drivable(load: Load) -> None:
    """Raises PlanError where too many threads would be needed."""
    model, pool = load.plan.model, load.plan.pool
    field, needed = "pool.connections", pool.connections
    if isinstance(model, Closed):
        field, needed = "model.users", model.users
    if needed > THREADS_MAX:
        raise PlanError(f"{field}: {needed}: at most {THREADS_MAX}, a thread each; use the option mode=asyncio")


class Threads:
    """Makes the load, once."""

    def __init__(self, load: Load) -> None:
        require_drivable(load)
        self.counted = Counted()
        self.connections: dict[str, int] = {}
        """What became of them until the load was over."""
        self._load = load
        self._pool = Pool(load.plan, self.counted)
        self._arrived: queue.SimpleQueue[Task | None] = queue.SimpleQueue()
        self._working = 0
        self._lock = threading.Lock()
        self._done = threading.Event()

    def open(self) -> None:
        """Opens the connections that are there before the load begins. Raises RedisError."""
        opened = [self._pool.get_connection() for _ in range(self._load.plan.pool.opened_first)]
        for connection in opened:
            self._pool.release(connection)

    def run(self) -> None:
        """Returns when the load is over: nothing is on its way any more, there is no more time, or it was stopped."""
        jobs = self._jobs()
        self._working = len(jobs)
        for job in jobs:
            threading.Thread(target=self._work, args=(job,), daemon=True).start()
        while not self._done.wait(POLL_S) and not self._load.is_over:
            pass
        self._load.finish()
        self.connections = self.counted.record()

    def read_back(self) -> None:
        """Reads keys back that were written last."""
        client = redis.Redis(connection_pool=self._pool)
        for command, take in self._load.read_back():
            try:
                reply = client.execute_command(*command)
            except Exception as error:
                reply = error
            take(reply)

    def _jobs(self) -> list[Callable[[], None]]:
        if isinstance(self._load.plan.model, Closed):
            return [lambda user=user: self._user(user) for user in self._load.users()]  # type: ignore[misc]
        return [self._arrive, *[self._serve] * self._load.plan.pool.connections]

    def _work(self, job: Callable[[], None]) -> None:
        try:
            job()
        except BaseException as error:
            self._load.control.stop(f"the driver broke off: {type(error).__name__}: {error}")
            raise
        finally:
            with self._lock:
                self._working -= 1
                if self._working == 0:
                    self._done.set()

    def _user(self, user: User) -> None:
        client = redis.Redis(connection_pool=self._pool)
        while self._load.control.wait_until(user.next_ns) and (tasks := user.begin()):
            user.thinks(tasks, failed=self._operate(client, tasks))

    def _arrive(self) -> None:
        for intended_ns in self._load.arrivals():
            if not self._load.control.wait_until(intended_ns):
                break
            task = self._load.arrived(intended_ns)
            if task is not None:
                self._arrived.put(task)
        for _ in range(self._load.plan.pool.connections):
            self._arrived.put(None)

    def _serve(self) -> None:
        client = redis.Redis(connection_pool=self._pool)
        while (task := self._arrived.get()) is not None:
            if self._operate(client, [task]):
                self._load.control.stopped.wait(AFTER_FAILURE_NS / S)

    def _operate(self, client: redis.Redis, tasks: list[Task]) -> bool:
        """Carries operations out on one connection. Whether that failed."""
        try:
            connection = self._pool.get_connection()
        except redis.RedisError as error:
            self.counted.failed += 1
            for task in tasks:
                self._load.unconnected(task, error)
            return True
        if len(tasks) > 1:
            return self._pipeline(client, connection, tasks)
        client.connection = connection
        try:
            return self._one(client, tasks[0])
        finally:
            client.connection = None
            self._pool.release(connection)

    def _one(self, client: redis.Redis, task: Task) -> bool:
        command = self._load.connected(task)
        while command is not None:
            try:
                reply = client.execute_command(*command)
            except Exception as error:
                return self._load.failed(task, error)
            command = self._load.replied(task, reply)
        return False

    def _pipeline(self, client: redis.Redis, connection: Any, tasks: list[Task]) -> bool:
        """Sends the commands of all at once. The pipeline releases the connection."""
        pipeline = client.pipeline(transaction=False)
        pipeline.connection = connection
        for task in tasks:
            command = self._load.connected(task)
            if command is not None:
                pipeline.execute_command(*command)
        try:
            replies = pipeline.execute(raise_on_error=False)
        except Exception as error:
            return self._load.all_failed(tasks, error)
        self._load.all_replied(tasks, replies)
        return False
