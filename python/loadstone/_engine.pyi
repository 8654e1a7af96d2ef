"""The native engine (crate `engine-py`). JSON in and out; see `experiment/plan/drive_plan.py` and
`drivers/outcome.py`."""

class Engine:
    """One drive. Runs in threads of its own, without the GIL."""

    def __init__(self, plan_json: str) -> None:
        """Raises ValueError naming the field when the plan cannot be driven."""
    def start(self) -> None:
        """`open` and `begin`. Raises ConnectionError as they do."""
    def open(self) -> None:
        """Open the pool. Raises ConnectionError with the server's error text if that cannot be done."""
    def begin(self, at_monotonic_ns: int | None = None) -> int:
        """Begin at that instant of this machine's CLOCK_MONOTONIC (`time.monotonic_ns`), or at once if it has passed;
        None: when the plan says so. Returns the instant at which the load does begin. Raises ConnectionError if that
        is more than a day ahead, RuntimeError if nothing is open."""
    def lease(self, seconds: float) -> bool:
        """End the drive so long from now on, unless this is called again before; the record then says `lease ran out`.
        The engine sees to that by itself, whatever Python does. False once it has: nothing revives it. Raises
        ValueError unless that is above 0 and at most a day."""
    def hold_intervals(self, seconds: float, from_s: float) -> None:
        """Before `start`: hand out intervals that end later than `from_s`, and in which no server was full, together
        after so long or when the measured phase is over. Raises ValueError if these are no lengths of time."""
    def end_measure(self, at_monotonic_ns: int) -> None:
        """End the measure phase at that instant, or at once if it has passed, but not before `measure_s`."""
    def next_interval(self, timeout_s: float) -> str | None:
        """The next `Interval` as JSON, or None after `timeout_s` or when all were handed out. Handlers of signals run
        meanwhile, and may raise."""
    def finished(self) -> bool:
        """True once the drive ended and every interval was handed out."""
    def stop(self) -> None:
        """End the drive within 100 ms; the record then says `stopped`. May be called from a signal handler's thread."""
    def result(self) -> str:
        """Wait for the end; the `DriveRecord` as JSON."""

class Rounds:
    """Several drives that take turns: all pools are open at once, and while one has its slice the others are paused.

    A slice is settled, measured, and drained until nothing is in flight. Time paused does not exist for a drive. They
    run in threads of their own, without the GIL.

    options (JSON): {"slice_s": 0.1, "settle_s": 0.015, "orders": [[1, 0], [0, 1], ...],
    "parts": [{"redis": [pid, ...]}, ...]}; see `drivers/driver.py`.
    """

    def __init__(self, plans_json: list[str], options_json: str) -> None:
        """Raises ValueError naming the field, and the plan as `plans[0]`, when they cannot be driven in slices."""
    def start(self) -> None:
        """`open` and `begin`. Raises ConnectionError as they do."""
    def open(self) -> None:
        """Open all pools. Raises ConnectionError with the server's error text if one cannot be opened."""
    def begin(self, at_monotonic_ns: int | None = None) -> int:
        """As `Engine.begin`; with a timetable the instant holds although it has passed, and slices before now are left
        out."""
    def lease(self, seconds: float) -> bool:
        """As `Engine.lease`, of all drives together."""
    def next_interval(self, timeout_s: float) -> tuple[int, str] | None:
        """The next `Interval` of any drive, by its number, as JSON; None after `timeout_s` or when all were taken.

        With the option `rest_every_s` it waits for a rest, and is None at once in one in which all were taken. Handlers
        of signals run meanwhile, and may raise.
        """
    def is_resting(self) -> bool:
        """True from the begin of a rest to `go_on`: nothing is driven, so that Python disturbs nothing."""
    def go_on(self) -> None:
        """End a rest, if there is one."""
    def finished(self) -> bool:
        """True once every drive ended and every interval was handed out."""
    def stop(self) -> None:
        """End all drives within 100 ms; their records then say `stopped`. A signal handler's thread may call it."""
    def result(self, drive: int) -> str:
        """Wait for the end of one drive; its `DriveRecord` as JSON. Raises ValueError if there is no such drive."""

class NullServer:
    """Answers any command or HTTP request at once with a reply of the right kind and size: the driver's ceiling.

    options (JSON): {"host": "127.0.0.1", "port": 0, "unix_path": null, "cpu": null,
    "protocol": "resp" or "http1", and of HTTP "status": 200, "body_bytes": 100,
    "document_bytes": 222, "field_bytes": null, "replies": {"JSON.GET": "document", "HGETALL": "hash", ...},
    "delay_us": 0, "busy_us": 0, "freeze_every_s": 0, "freeze_s": 0, "record": false,
    "queue": {"servers": 1, "service_us": 1000, "sigma": 0, "kappa": 0, "seed": 0}}
    """

    def __init__(self, options_json: str) -> None: ...
    @property
    def port(self) -> int: ...
    def commands(self) -> int:
        """Commands or requests answered so far."""
    def left_unix_ns(self) -> list[int]:
        """When each reply left, in order, in ns since the epoch; empty without the option `record`."""
    def residence_ns(self) -> list[int]:
        """How long each command was with the server, from when the kernel had it until its reply had left, in ns.

        Without those whose arrival was not stamped, and empty without the option `record`.
        """
    def stop(self) -> None: ...

class Link:
    """A delay line: forwards connections to a server, and has what is sent arrive later. Runs in a thread of its own.

    options (JSON): {"host": "127.0.0.1", "port": 0, "to_host": "127.0.0.1", "to_port": 6379, "seed": 0,
    "to_server": {"delay_us": 500, "jitter_us": 0, "distribution": "uniform", "normal" or "exponential",
    "bits_per_s": 0}, "to_client": the same}
    """

    def __init__(self, options_json: str) -> None:
        """Raises ValueError naming the option that makes no sense, OSError if it cannot listen or finds no server."""
    @property
    def port(self) -> int: ...
    def drop_connections(self, count: int) -> int:
        """Lose so many connections, the oldest first; how many there were to lose."""
    def lead_to(self, host: str, port: int) -> None:
        """New connections lead there from now on. Raises OSError if the host has no address."""
    def report(self) -> str:
        """What it did, as JSON; begins to count pieces and their lateness anew."""
    def stop(self) -> None: ...

class Waits:
    """Looks at what the threads of other processes wait for, in a native thread that ends when this is dropped."""

    def __init__(self, pids: list[int], main: int | None = None) -> None:
        """`main`: the process of which the main thread is looked at for its disk, too."""
    def take(self, pids: list[int]) -> tuple[int, int, int, int, int, int]:
        """Since it was asked last: looks at all threads, those with one at the disk, those with threads at a lock, how
        many these were in all; looks at the main thread, and those with it in state D. `pids` are looked at from now
        on."""

def student_t_quantile(freedom: float, p: float) -> float:
    """The quantile of Student's t. Raises ValueError unless `freedom` is above 0 and `p` between 0 and 1."""

def beta_quantile(a: float, b: float, p: float) -> float:
    """The quantile of the beta distribution. Raises ValueError unless `a`, `b` are above 0 and `p` is from 0 to 1."""

def f_survival(x: float, above: float, below: float) -> float:
    """The probability that an F-distributed figure with these degrees of freedom exceeds `x`. Raises ValueError unless
    both are above 0 and `x` is not below."""

def build() -> dict[str, str]:
    """`version`, `profile` (release or debug), `backend` (io_uring, epoll, kqueue): what is used here where
    nothing else is requested."""
