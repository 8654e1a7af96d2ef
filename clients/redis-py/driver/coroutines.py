"""The load with redis-py's asyncio client: a coroutine is a user, or an arrival of an open model."""

import asyncio
import heapq
import threading
from collections.abc import Coroutine
from itertools import count
from typing import Any

import redis
import redis.asyncio

from driver.connections import AsyncPool, Counted
from driver.control import Control
from driver.load import AFTER_FAILURE_NS, Load, Task, User
from driver.plan import Closed
from driver.schedule import S

POLL_S = 0.02


class Alarm:
    """Wakes coroutines in time: the timers of an event loop are late by up to a millisecond, which epoll counts in."""

    def __init__(self, control: Control) -> None:
        self._control = control
        self._loop = asyncio.get_running_loop()
        self._due: list[tuple[int, int, asyncio.Future[None]]] = []
        self._numbers = count()
        self._changed = threading.Condition()
        threading.Thread(target=self._ring, daemon=True).start()

    async def until(self, time_ns: int) -> None:
        """Returns then; at once if it has passed."""
        if time_ns <= self._control.now():
            return
        future = self._loop.create_future()
        with self._changed:
            heapq.heappush(self._due, (time_ns, next(self._numbers), future))
            if self._due[0][2] is future:
                self._changed.notify()
        await future

    def _ring(self) -> None:
        with self._changed:
            while not self._loop.is_closed():
                left_ns = self._due[0][0] - self._control.now() if self._due else None
                if left_ns is None or left_ns > 0:
                    self._changed.wait(None if left_ns is None else left_ns / S)
                else:
                    self._loop.call_soon_threadsafe(_wake, heapq.heappop(self._due)[2])


def _wake(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)


class Coroutines:
    """Makes the load, once."""

    def __init__(self, load: Load) -> None:
        self.counted = Counted()
        self.connections: dict[str, int] = {}
        """What became of them until the load was over."""
        self._load = load
        self._runner = asyncio.Runner()
        self._clients: list[redis.asyncio.Redis] = []
        """Those that no arrival uses."""
        self._pool: AsyncPool
        self._alarm: Alarm

    def open(self) -> None:
        """Opens the connections that are there before the load begins. Raises RedisError."""
        self._runner.run(self._open())

    def run(self) -> None:
        """Returns when the load is over: nothing is on its way any more, there is no more time, or it was stopped."""
        self._runner.run(self._run())

    def read_back(self) -> None:
        """Reads keys back that were written last."""
        self._runner.run(self._read_back())

    async def _open(self) -> None:
        self._pool = AsyncPool(self._load.plan, self.counted)
        self._alarm = Alarm(self._load.control)
        opened = [await self._pool.get_connection() for _ in range(self._load.plan.pool.opened_first)]
        for connection in opened:
            await self._pool.release(connection)

    async def _run(self) -> None:
        jobs = asyncio.gather(*self._jobs())
        while not jobs.done() and not self._load.is_over:
            await asyncio.wait([jobs], timeout=POLL_S)
        self._load.finish()
        self.connections = self.counted.record()
        if jobs.done():
            jobs.result()
        else:  # what is on its way stays so
            jobs.cancel()

    def _jobs(self) -> list[Coroutine[Any, Any, None]]:
        if isinstance(self._load.plan.model, Closed):
            return [self._user(user) for user in self._load.users()]
        return [self._arrive()]

    async def _user(self, user: User) -> None:
        client = redis.asyncio.Redis(connection_pool=self._pool)
        while True:
            await self._alarm.until(user.next_ns)
            tasks = user.begin()
            if not tasks:
                return
            user.thinks(tasks, failed=await self._operate(client, tasks))

    async def _arrive(self) -> None:
        served = set()
        for intended_ns in self._load.arrivals():
            await self._alarm.until(intended_ns)
            task = self._load.arrived(intended_ns)
            if task is not None:
                serving = asyncio.create_task(self._serve(task))
                served.add(serving)
                serving.add_done_callback(served.discard)
        if served:
            await asyncio.wait(served)

    async def _serve(self, task: Task) -> None:
        client = self._clients.pop() if self._clients else redis.asyncio.Redis(connection_pool=self._pool)
        if await self._operate(client, [task]):
            await asyncio.sleep(AFTER_FAILURE_NS / S)
        self._clients.append(client)

    async def _operate(self, client: redis.asyncio.Redis, tasks: list[Task]) -> bool:
        """Carries operations out on one connection. Whether that failed."""
        try:
            connection = await self._pool.get_connection()
        except redis.RedisError as error:
            self.counted.failed += 1
            for task in tasks:
                self._load.unconnected(task, error)
            return True
        if len(tasks) > 1:
            return await self._pipeline(client, connection, tasks)
        client.connection = connection
        try:
            return await self._one(client, tasks[0])
        finally:
            client.connection = None
            await self._pool.release(connection)

    async def _one(self, client: redis.asyncio.Redis, task: Task) -> bool:
        command = self._load.connected(task)
        while command is not None:
            try:
                reply = await client.execute_command(*command)
            except Exception as error:
                return self._load.failed(task, error)
            command = self._load.replied(task, reply)
        return False

    async def _pipeline(self, client: redis.asyncio.Redis, connection: Any, tasks: list[Task]) -> bool:
        """Sends the commands of all at once. The pipeline releases the connection."""
        pipeline = client.pipeline(transaction=False)
        pipeline.connection = connection
        for task in tasks:
            command = self._load.connected(task)
            if command is not None:
                pipeline.execute_command(*command)
        try:
            replies = await pipeline.execute(raise_on_error=False)
        except Exception as error:
            return self._load.all_failed(tasks, error)
        self._load.all_replied(tasks, replies)
        return False

    async def _read_back(self) -> None:
        client = redis.asyncio.Redis(connection_pool=self._pool)
        for command, take in self._load.read_back():
            try:
                reply = await client.execute_command(*command)
            except Exception as error:
                reply = error
            take(reply)
