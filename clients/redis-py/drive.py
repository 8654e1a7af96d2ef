"""Carries out the plan that stands on standard input, with redis-py."""

import platform
import sys

import redis

from driver.coroutines import Coroutines
from driver.failures import UNREADABLE, reason
from driver.load import Load
from driver.messages import Input, Writer, record_message, write
from driver.plan import PlanError, read_message
from driver.threads import Threads


class NotConnected(Exception):
    """The pool could not be opened."""


MODES: dict[str, type[Threads] | type[Coroutines]] = {"threads": Threads, "asyncio": Coroutines}


def drive(line: bytes, input_: Input) -> None:
    """The load, from the plan to the record."""
    plan, options = read_message(line)
    load = Load(plan)
    input_.then(lambda: load.control.stop("stopped on request"))
    driver = MODES[options["mode"]](load)
    try:
        driver.open()
    except redis.TimeoutError:
        within_ms = f"{plan.timeouts.connect_ms:g}"
        raise NotConnected(f"{plan.endpoint.label}: no answer to the connection within {within_ms} ms") from None
    except (redis.RedisError, OSError, ValueError, *UNREADABLE) as error:
        raise NotConnected(f"{plan.endpoint.label}: {reason(error)}") from None
    load.recorder.open_connections = driver.counted.open
    writer = Writer(load)
    write("ready", library="redis-py", version=redis.__version__, runtime=f"Python {platform.python_version()}")
    load.control.begin()
    writer.start()
    driver.run()
    driver.read_back()
    writer.join()
    write("record", **record_message(load, driver.connections))


def main() -> int:
    input_ = Input()
    line = input_.next()
    if line is None:
        return 1
    try:
        drive(line, input_)
    except (PlanError, NotConnected) as error:
        write("failed", kind="plan" if isinstance(error, PlanError) else "connect", message=str(error))
        return 1
    except Exception as error:
        write("failed", kind="internal", message=f"{type(error).__name__}: {error}"[:1000].replace("\n", " "))
        raise
    return 0


if __name__ == "__main__":
    sys.exit(main())
