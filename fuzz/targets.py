"""What loadstone reads that others wrote, as functions of any bytes. See CONTRIBUTING.md.

`run` runs a target on one input. What must hold: nothing but a `LoadstoneError` comes out, and an input takes a bounded
amount of memory. `python_fuzzer.py` runs the targets under atheris; `tests/test_fuzz_corpus.py` replays the corpus.
"""

import atexit
import base64
import contextlib
import importlib.util
import json
import shutil
import socket
import struct
import sys
import tempfile
import tracemalloc
import zlib
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path
from types import ModuleType
from typing import Any

from redis.connection import Connection

from loadstone.addons.history.list_runs import list_runs
from loadstone.drivers.histogram import decode, merge, quantiles_ns
from loadstone.drivers.outcome import read_interval, read_record
from loadstone.experiment.plan.endpoints import Endpoint
from loadstone.experiment.software import SOFTWARE
from loadstone.experiment.spec.experiment import Experiment
from loadstone.experiment.spec.loading import load_experiment
from loadstone.judge.analysis.analyse import analyse
from loadstone.judge.checks.checks import judge_trial
from loadstone.monitors.jvm import figures
from loadstone.programs.manifest import read_manifest
from loadstone.programs.subjects.url import parse_subject_url
from loadstone.run_folder import reading
from loadstone.run_folder.files import ENVIRONMENT, EXPERIMENT, INTERVALS, PLAN, SAMPLES, TRIALS
from loadstone.run_folder.folder import RunFolder
from loadstone.run_folder.hlog import log_lines, measured
from loadstone.run_folder.plan_summary import summarise_plan
from loadstone.run_folder.reading import read_run, read_trials
from loadstone.safety.errors import LoadstoneError
from loadstone.servers import registry
from loadstone.servers.memcached import session as memcached
from loadstone.servers.memcached.control import MemcachedControl
from loadstone.servers.redis.connection import Bounded
from loadstone.servers.redis.control import RedisControl
from loadstone.servers.redis.monitor import snapshot

MEMORY_MAX_BYTES = 256 * 1024 * 1024
"""What one input of a few KiB may take at the most: a histogram of the finest resolution takes some 50 MiB of it."""
TESTS = Path(__file__).parents[1] / "tests"

Target = Callable[[bytes], None]


def run(target: Target, data: bytes) -> None:
    """Run a target and measure its memory. Raises what the target raises, but for typed errors; and MemoryError."""
    tracemalloc.start()
    try:
        run_fast(target, data)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    if peak > MEMORY_MAX_BYTES:
        raise MemoryError(f"{len(data)} bytes took {peak / 1e6:.0f} MB")


def run_fast(target: Target, data: bytes) -> None:
    """Run a target. Raises what it raises, but for typed errors."""
    try:
        target(data)
    except LoadstoneError as error:
        if not str(error):
            raise AssertionError("an error says nothing") from error


def experiment(data: bytes) -> None:
    """An experiment's YAML."""
    load_experiment(data.decode("utf-8", "replace"))


def resolved_experiment(data: bytes) -> None:
    """The experiment as a run's folder has it."""
    file = _scratch() / "resolved" / EXPERIMENT
    file.parent.mkdir(exist_ok=True)
    file.write_bytes(data)
    reading.read_experiment(file.parent)


def manifest(data: bytes) -> None:
    """A subject's manifest."""
    file = _scratch() / "subject.yaml"
    file.write_bytes(data)
    read_manifest(file)


def histogram(data: bytes) -> None:
    """A histogram in HdrHistogram's V2 encoding."""
    found = decode(data.decode("latin-1"))
    merged = merge([found, found])
    quantiles_ns(merged, max(0, merged.total), least=1, mean=1.0, greatest=10)


def histogram_counts(data: bytes) -> None:
    """As `histogram`, from within its envelope: a header of 40 bytes, and counts as variable-length integers."""
    packed = zlib.compress(data, 1)
    cookie = 0x1C849304 | 0x10
    histogram(base64.b64encode(struct.pack(">II", cookie, len(packed)) + packed))


def interval_log(data: bytes) -> None:
    """A trial's interval log."""
    file = _scratch() / "trial.hlog"
    file.write_bytes(data)
    quantiles_ns(measured(file, "response"), 1000, least=None, mean=None, greatest=None)


def driver_lines(data: bytes) -> None:
    """What a driver hands over: an interval a line, and the record of the drive."""
    for line in data.decode("utf-8", "replace").splitlines():
        if line.startswith('{"r'):
            read_record(line)
        else:
            list(log_lines([read_interval(line)], 1_700_000_000_000_000_000))


def run_folder(data: bytes) -> None:
    """A run's folder that is read again, after something happened to it."""
    folder = _damaged(data, FILES)
    list_runs(folder.parent)
    with _experiment_remembered():
        read_run(folder)


def trials(data: bytes) -> None:
    """The trials of a run's folder that something happened to, judged anew from their facts."""
    found, _ = read_trials(_damaged(data, (TRIALS,)))
    for trial in found:
        judge_trial(trial)


def analysis(data: bytes) -> None:
    """The analysis of a run's folder that something happened to."""
    folder = _damaged(data, FILES)
    with _experiment_remembered():
        analyse(folder)


def urls(data: bytes) -> None:
    """The URL of a server or a subject."""
    text = data.decode("utf-8", "replace")
    places = [partial(registry.room(name).place, "fuzzed") for name in SOFTWARE]
    for parse in (*places, parse_subject_url):
        try:
            parse(text)  # type: ignore[operator]
        except LoadstoneError as error:
            if not str(error):
                raise AssertionError("an error says nothing") from error


def metrics_page(data: bytes) -> None:
    """An application's page in Prometheus's format: no such page is a ValueError, which its caller takes."""
    try:
        figures(data.decode("utf-8", "replace"))
    except ValueError:
        return


def control_replies(data: bytes) -> None:
    """What a Redis replies to loadstone's own commands, one after the other."""
    with RedisControl(Endpoint(), timeout_s=0.01) as control:
        control.client.connection_pool.connection_class = _scripted(data)
        snapshot(control)
        snapshot(control)
        control.keys()
        control.commandstats()


def memcached_replies(data: bytes) -> None:
    """What a memcached replies to loadstone's own commands: a connection for each part of the input; 0 parts them."""
    parts, theirs = iter(data[:65536].split(b"\0")), list[socket.socket]()

    def dial(_: Endpoint, timeout_s: float) -> socket.socket:
        ours, other = socket.socketpair()
        theirs.append(other)
        ours.settimeout(timeout_s)
        other.sendall(next(parts, b""))
        other.shutdown(socket.SHUT_WR)
        return ours

    real, memcached.dialled = memcached.dialled, dial
    try:
        with MemcachedControl(Endpoint(), timeout_s=0.01) as control:
            asked = (control.snapshot, control.keys, control.facts, control.evicting_policy)
            for ask in (*asked, partial(control.call, "mg", "k", "v"), partial(control.count, "mg k v")):
                with contextlib.suppress(LoadstoneError):
                    ask()
    finally:
        memcached.dialled = real
        for one in theirs:
            one.close()


TARGETS: dict[str, Target] = {
    "experiment": experiment,
    "resolved_experiment": resolved_experiment,
    "histogram": histogram,
    "histogram_counts": histogram_counts,
    "interval_log": interval_log,
    "driver_lines": driver_lines,
    "trials": trials,
    "run_folder": run_folder,
    "analysis": analysis,
    "urls": urls,
    "metrics_page": metrics_page,
    "manifest": manifest,
    "control_replies": control_replies,
    "memcached_replies": memcached_replies,
}


@cache
def _scratch() -> Path:
    """A folder that goes with the process."""
    path = Path(tempfile.mkdtemp(prefix="loadstone-fuzz-"))
    atexit.register(shutil.rmtree, path, ignore_errors=True)
    return path


@cache
def _synthetic() -> ModuleType:
    name = "loadstone_synthetic"
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, TESTS / "run_folder" / "synthetic.py")
        assert spec is not None
        assert spec.loader is not None
        sys.modules[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules[name])
    return sys.modules[name]


FILES = (TRIALS, PLAN, ENVIRONMENT, INTERVALS, SAMPLES)
ODD: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 1, 2, 0.5, -0.5, 1e308, -1e308, 1e-300, 2**31, 2**63, -(2**63), 10**30, 10**400),
    *("", "x", "0", "nan", "b01-001", "../x", "\x1b[31m", "\ud800", "a" * 300),
    *([], {}, [None], {"x": None}, [[]], {"": {}}, [0, 0], ["x"], "@inf@", "@deep@"),
)
"""What may stand where another value was."""
UNSPEAKABLE = {b'"@inf@"': b"1e999", b'"@deep@"': b"[" * 100_000 + b"]" * 100_000}
"""JSON that Python's writer does not write, for the words that stand for it."""


@cache
def _whole() -> dict[str, bytes]:
    """The files of a sound run's folder, with one short trial."""
    synthetic = _synthetic()
    root, plan = _scratch() / "whole", synthetic.make_run_plan()
    written = synthetic.make_experiment().model_dump(mode="json")
    with RunFolder.create(root, "small", written, synthetic.ENVIRONMENT, summarise_plan(plan)) as folder:
        drive = synthetic.make_drive(plan.trials[0].plan, seed=1, per_interval=20)
        writer = folder.begin_trial(plan.trials[0].name)
        for interval in drive.intervals[-2:]:
            writer.add_interval(interval)
        writer.add_samples(drive.samples[:20])
        writer.finish(synthetic.make_trial(drive, plan.trials[0]))
        path = folder.path
    return {str(file.relative_to(path)): file.read_bytes() for file in path.rglob("*") if file.is_file()}


_ON_DISK: dict[str, bytes] = {}
"""What the files of the damaged folder hold."""


@contextlib.contextmanager
def _experiment_remembered() -> Iterator[None]:
    """The experiment is read once, since YAML would take nine tenths of the time; `resolved_experiment` is for it."""
    read = reading.read_experiment
    reading.read_experiment = lambda path: _remembered(read, path)
    try:
        yield
    finally:
        reading.read_experiment = read


@cache
def _remembered(read: Callable[[Path], Experiment], path: Path) -> Experiment:
    return read(path)


def _damaged(data: bytes, names: tuple[str, ...]) -> Path:
    """The sound run's folder, with those of `names` damaged that the input says.

    Four bytes are one damage: its kind and file, two for the place, and which value. What is left is put in as it is.
    """
    folder = _scratch() / "damaged" / "20260101T000000Z-small"
    files = dict(_whole())
    whole, rest = data[: len(data) // 4 * 4][:32], data[32:]
    for start in range(0, len(whole), 4):
        kind, place, value = whole[start], int.from_bytes(whole[start + 1 : start + 3]), whole[start + 3]
        name = names[kind % len(names)]
        files[name] = _damage(kind // len(names) % 4, files[name], place, value, rest)
    for name, content in files.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        if _ON_DISK.get(name) != content:
            file.write_bytes(content)
            _ON_DISK[name] = content
    return folder


def _damage(kind: int, content: bytes, place: int, value: int, rest: bytes) -> bytes:
    if kind == 0:  # one value of one line is another, or is gone
        lines = content.splitlines(keepends=True)
        try:
            index, document = 0, json.loads(content)
        except (ValueError, RecursionError):
            index = value // len(ODD) % max(1, len(lines))
            try:
                document = json.loads(lines[index])
            except (ValueError, RecursionError, IndexError):
                return _damage(1, content, place, value, rest)
            lines[index] = _replaced(document, place, value) + b"\n"
            return b"".join(lines)
        return _replaced(document, place, value)
    at = place % (len(content) + 1)
    if kind == 1:  # a part is overwritten
        return content[:at] + rest + content[at + value :]
    if kind == 2:  # cut off
        return content[:at]
    return rest  # another file altogether


def _replaced(document: Any, place: int, value: int) -> bytes:
    """The JSON document with the value number `place` replaced; the last of `ODD` means: taken away."""
    places = list(_places(document))
    if not places:
        return json.dumps(document).encode()
    holder, key = places[place % len(places)]
    odd = value % (len(ODD) + 1)
    if odd < len(ODD):
        holder[key] = ODD[odd]
    else:
        del holder[key]
    written = json.dumps(document).encode()
    for word, text in UNSPEAKABLE.items():
        written = written.replace(word, text)
    return written


def _places(value: Any) -> list[tuple[Any, Any]]:
    """Every value within a document: what holds it, and where."""
    found: list[tuple[Any, Any]] = []
    open_values = [value]
    while open_values:
        holder = open_values.pop()
        inner = holder.items() if isinstance(holder, dict) else enumerate(holder) if isinstance(holder, list) else ()
        for key, item in inner:
            found.append((holder, key))
            open_values.append(item)
    return found


def _scripted(data: bytes) -> type[Connection]:
    """A connection of redis-py whose other side answers each command with the next part of `data`; 0 parts them."""
    parts = iter(data[:65536].split(b"\0"))

    class Pair(Connection):
        def _connect(self) -> socket.socket:
            ours, self.theirs = socket.socketpair()
            ours.settimeout(self.socket_timeout)
            return ours

        def send_packed_command(self, *_args: Any, **_options: Any) -> None:
            if self._sock is None:
                self.connect()
            reply = next(parts, b"")
            self.theirs.sendall(reply)
            if not reply:
                self.theirs.shutdown(socket.SHUT_WR)

        def disconnect(self, *args: Any, **options: Any) -> None:
            super().disconnect(*args, **options)
            if hasattr(self, "theirs"):
                self.theirs.close()

    class Scripted(Bounded, Pair):
        """As loadstone's own: with a bound on every reply."""

    return Scripted
