"""The native engine (crate `engine-py`). JSON in and out; see `plan/drive_plan.py` and `drive/outcome.py`."""

class Engine:
    """One drive. Runs in threads of its own, without the GIL."""

    def __init__(self, plan_json: str) -> None:
        """Raises ValueError naming the field when the plan cannot be driven."""
    def start(self) -> None:
        """Open the pool and begin. Raises ConnectionError with the server's error text if none can be made."""
    def next_interval(self, timeout_s: float) -> str | None:
        """The next `Interval` as JSON, or None after `timeout_s` or when all were handed out."""
    def finished(self) -> bool:
        """True once the drive ended and every interval was handed out."""
    def stop(self) -> None:
        """End the drive within 100 ms; the record then says `stopped`. May be called from a signal handler's thread."""
    def result(self) -> str:
        """Wait for the end; the `DriveRecord` as JSON."""

class NullServer:
    """Answers any command or HTTP request at once with a reply of the right kind and size: the driver's ceiling.

    options (JSON): {"host": "127.0.0.1", "port": 0, "unix_path": null, "cpu": null,
    "protocol": "resp" or "http1", and of HTTP "status": 200, "body_bytes": 100,
    "document_bytes": 222, "field_bytes": null, "replies": {"JSON.GET": "document", "HGETALL": "hash", ...},
    "delay_us": 0, "busy_us": 0, "freeze_every_s": 0, "freeze_s": 0}
    """

    def __init__(self, options_json: str) -> None: ...
    @property
    def port(self) -> int: ...
    def commands(self) -> int:
        """Commands or requests answered so far."""
    def stop(self) -> None: ...

def build() -> dict[str, str]:
    """`version`, `profile` (release or debug), `backend` (epoll, kqueue)."""
