"""The metrics of the host, of each process on it, and of loadstone itself."""

from loadstone.monitors.metric import KIB, PERCENT, STORES, Metric, MetricColumn, MetricKind, MetricTable, Series, label
from loadstone.monitors.part_kind import LockMetrics, ObservedSoftware, PartKind

HOST, KERNEL, CPU, OTHERS, GENERATOR, PROCESS = "host", "kernel", "cpu<number>", "others", "generator", "process"
PROGRAMS = "other programs"
"""All that is not loadstone's."""
HELPERS = "loadstone"
"""What loadstone started beside servers and subjects."""

KINDS = (
    PartKind("host"),
    PartKind("driver", threads="many"),
    PartKind("subject", shows_machine=True),
    PartKind("link", threads="many"),
)
MACHINE = MetricTable("The machine (vmstat's columns; memory in MiB, disk and swap in KiB/s)", ("host",))
EACH_PART = MetricTable("Each part", ("subject", STORES, "driver"))

_MODE = "Share of the time of all CPUs that they spent so"
_MEMORY = "Memory of the host"
_SWAP = "Memory swapped in and out"
_BLOCKS = "Bytes read from and written to block devices"
_SWITCHES = "Context switches of all threads"
_THREADS = "CPUs that threads of loadstone took over the last second"
_SWITCHES_COLUMN = MetricColumn(EACH_PART, 3, "context switches /s", "Context switches of all its threads.")


def _threads(place: int, name: str, text: str, series: Series) -> Metric:
    return Metric(name, HOST, "gauge", "threads", text, series, MetricColumn(MACHINE, place, name, f"{text}."))


def _memory(place: int, name: str, text: str, kind: str) -> Metric:
    series = Series("host_memory_bytes", _MEMORY, label("kind", kind), KIB)
    column = MetricColumn(MACHINE, place, name, f"{text}, MiB.", "mebibytes")
    return Metric(name, HOST, "gauge", "KiB", text, series, column, csv_unit="_kib")


def _moved(place: int, name: str, text: str, series: Series) -> Metric:
    column = MetricColumn(MACHINE, place, name, f"{text}, KiB/s.")
    return Metric(name, HOST, "rate", "KiB/s", text, series, column, csv_unit="_kib_per_s")


def _per_second(place: int, name: str, unit: str, text: str, series: Series) -> Metric:
    column = MetricColumn(MACHINE, place, name, f"{text} a second.")
    return Metric(name, HOST, "rate", unit, text, series, column, csv_unit="_per_s")


def _mode(place: int, name: str, text: str, mode: str) -> Metric:
    series = Series("host_cpu_ratio", _MODE, label("mode", mode), PERCENT)
    column = MetricColumn(MACHINE, place, name, f"Per cent of all CPUs: {text}.")
    return Metric(name, HOST, "rate", "% of all CPUs", f"CPU time {text}", series, column, csv_unit="_percent")


_VMSTAT = (
    _threads(
        1, "r", "Threads that run or wait for a CPU",
        Series("host_runnable_threads", "Threads that run or wait for a CPU"),
    ),
    _threads(
        2, "b", "Threads that wait for input or output",
        Series("host_blocked_threads", "Threads that wait for input or output"),
    ),
    _memory(3, "swpd", "Memory swapped out", "swapped"),
    _memory(4, "free", "Free memory", "free"),
    _memory(5, "buff", "Memory used for buffers", "buffers"),
    _memory(6, "cache", "Memory used for files", "cache"),
    _moved(7, "si", "Swapped in", Series("host_swap_bytes_per_second", _SWAP, label("direction", "in"), KIB)),
    _moved(8, "so", "Swapped out", Series("host_swap_bytes_per_second", _SWAP, label("direction", "out"), KIB)),
    _moved(
        9, "bi", "Read from disks", Series("host_block_bytes_per_second", _BLOCKS, label("direction", "read"), KIB)
    ),
    _moved(
        10, "bo", "Written to disks", Series("host_block_bytes_per_second", _BLOCKS, label("direction", "written"), KIB)
    ),
    _per_second(11, "in", "interrupts/s", "Interrupts", Series("host_interrupts_per_second", "Interrupts")),
    _per_second(
        12, "cs", "context switches/s", "Context switches",
        Series("host_context_switches_per_second", "Context switches of the host"),
    ),
    _mode(13, "us", "in programs", "user"),
    _mode(14, "sy", "in the kernel", "system"),
    _mode(15, "id", "idle", "idle"),
    _mode(16, "wa", "idle while a disk was waited for", "iowait"),
    _mode(17, "st", "taken by other virtual machines", "steal"),
)  # fmt: skip


def _of_one_cpu(name: str, text: str, series: Series) -> Metric:
    return Metric(name, CPU, "rate", "% of one CPU", text, series)


_CPUS = (
    _of_one_cpu(
        "busy", "time in which the CPU was busy",
        Series("host_one_cpu_ratio", "Share of the time that one CPU, the part, was busy", scale=PERCENT),
    ),
    _of_one_cpu(
        "stolen", "time that other machines took of the CPU (steal)",
        Series("host_one_cpu_stolen_ratio", "Share of one CPU, the part, that other machines took", scale=PERCENT),
    ),
)  # fmt: skip
OF_OTHERS = (
    _of_one_cpu(
        "others", "time that processes took of the CPU which are no parts of the condition",
        Series("host_one_cpu_others_ratio", "Share of one CPU, the part, that other programs took", scale=PERCENT),
    ),
    Metric(
        PROGRAMS, OTHERS, "rate", "cores", "taken by what is not loadstone's",
        "host_one_cpu_others_ratio has them for each CPU", kept=False,
    ),
    Metric(
        HELPERS, OTHERS, "rate", "cores", "taken by what loadstone started in addition to servers and subjects",
        "host_one_cpu_others_ratio has it for each CPU", kept=False,
    ),
)  # fmt: skip
"""Metrics of the part `others`, which is there once more for each part of other conditions that is up, by its name, and
for each of the other programs that took most (`monitors.metric.PROGRAM` and its name). `run_folder.part_figures` keeps
all of them."""
_KERNEL = (
    Metric(
        "huge_pages_always", KERNEL, "gauge", "1 or 0", "1 if every process is given huge pages without a request",
        "a setting of the kernel, in environment.json", kept=False,
    ),
    Metric(
        "overcommit_memory", KERNEL, "gauge", "0, 1 or 2",
        "0: memory is promised by an estimate, 1: always, 2: up to a limit",
        "a setting of the kernel, in environment.json", kept=False,
    ),
)  # fmt: skip
_TCP = (
    Metric(
        "listen_drops", HOST, "rate", "connections/s",
        "connections that servers did not accept, because too many waited for that already",
        Series("host_listen_drops_per_second", "Connections that a full queue refused"), kept=False,
    ),
)  # fmt: skip
OF_HOST = (*_VMSTAT, *_CPUS, *_KERNEL, *_TCP)


def _of_process(
    name: str, kind: MetricKind, unit: str, text: str, series: Series, column: MetricColumn | None
) -> Metric:
    return Metric(name, PROCESS, kind, unit, text, series, column, kept=column is not None)


OF_PROCESS = (
    _of_process("alive", "gauge", "1 or 0", "1 while the process lives",
                Series("process_up", "1 while the process lives"), None),
    _of_process(
        "cpu_s", "counter", "s", "user and system time of all its threads since the process began",
        Series("process_cpu_seconds", "User and system time of the process"), None,
    ),
    _of_process(
        "system_s", "counter", "s", "system time (in the kernel) of all its threads since the process began; the rest "
        "of `cpu_s` is user time",
        Series("process_system_cpu_seconds", "System time of the process"), None,
    ),
    _of_process(
        "children_s", "counter", "s", "user and system time of processes that it started: of a Redis those that write "
        "a snapshot or a new append-only file",
        Series("process_children_cpu_seconds", "User and system time of the process's children"), None,
    ),
    _of_process(
        "cpu_share", "rate", "cores", "user and system time, as pidstat has them (its 100 % is 1)",
        Series("process_cpu_cores", "CPUs that the process took over the last second"),
        MetricColumn(EACH_PART, 1, "CPU", "CPU of the process; 100 % is one core.", "percent"),
    ),
    _of_process(
        "main_thread_share", "rate", "cores", "user and system time of its main thread",
        Series("process_main_thread_cores", "CPUs that the main thread took over the last second"), None,
    ),
    _of_process(
        "main_thread_wait_s", "counter", "s", "time since the process began in which its main thread was ready and had "
        "no CPU",
        Series("process_main_thread_waiting_seconds", "Time that the main thread was ready and had no CPU"), None,
    ),
    _of_process(
        "main_thread_wait_share", "rate", "share of the time", "in which its main thread was ready and had no CPU",
        Series("process_main_thread_waiting_ratio", "Share of the time that the main thread was ready and had no CPU"),
        None,
    ),
    _of_process(
        "main_thread_disk_share", "rate", "share of the time", "in which its main thread waited for the disk",
        Series("process_main_thread_disk_ratio", "Share of the time that the main thread waited for the disk"), None,
    ),
    Metric(
        "disk_wait_share", PROCESS, "rate", "share of the time",
        "in which one of its threads waited for the disk (an fsync, a read or a write of a file)",
        Series("process_disk_waiting_ratio", "Share of the time that a thread waited for the disk"),
    ),
    Metric(
        "lock_wait_share", PROCESS, "rate", "share of the time",
        "in which threads waited for one lock (several at one futex, beyond those that were there without load)",
        Series("process_lock_waiting_ratio", "Share of the time that threads waited for one lock"),
    ),
    Metric(
        "lock_waiters", PROCESS, "gauge", "threads", "threads that waited for that lock, on average",
        Series("process_lock_waiters", "Threads that waited for one lock"),
    ),
    _of_process(
        "rss_bytes", "gauge", "bytes", "resident memory",
        Series("process_resident_memory_bytes", "Memory of the process"),
        MetricColumn(EACH_PART, 2, "memory", "Memory of the process.", "size"),
    ),
    _of_process(
        "voluntary_per_s", "rate", "context switches/s", "of all its threads, to wait for something",
        Series("process_context_switches_per_second", _SWITCHES, label("kind", "voluntary")), _SWITCHES_COLUMN,
    ),
    _of_process(
        "involuntary_per_s", "rate", "context switches/s", "of all its threads, because others had the CPU",
        Series("process_context_switches_per_second", _SWITCHES, label("kind", "involuntary")), _SWITCHES_COLUMN,
    ),
    _of_process(
        "threads", "gauge", "threads", "threads of the process", Series("process_threads", "Threads of the process"),
        MetricColumn(EACH_PART, 4, "threads", "Threads of the process."),
    ),
    _of_process("stopped", "gauge", "1 or 0", "1 while a signal or a debugger holds the process",
                Series("process_stopped", "1 while a signal or a debugger holds the process"), None),
    _of_process("fds", "gauge", "open files", "open files, sockets among them",
                Series("process_open_fds", "Open files of the process, sockets among them"), None),
    _of_process(
        "sockets", "gauge", "open sockets", "open sockets, connections among them; not in each sample where there are "
        "thousands",
        Series("process_sockets", "Open sockets of the process"),
        MetricColumn(EACH_PART, 5, "sockets", "Open sockets, connections among them."),
    ),
    _of_process(
        "workers", "gauge", "processes", "worker processes that do its work, each in its main thread; the "
        "part's main thread is that of the busiest",
        Series("process_workers", "Worker processes of the part"), None,
    ),
)  # fmt: skip

OF_ELSEWHERE = (
    Metric(
        "machine_cpus", PROCESS, "gauge", "CPUs", "of the machine that it runs on, where that is another one",
        Series("process_machine_cpus", "CPUs of the other machine that the process runs on"),
    ),
    Metric(
        "machine_number", PROCESS, "gauge", "number", "of that machine, among those of a fleet's monitors",
        Series("process_machine_number", "The other machine that the process runs on"),
    ),
)  # fmt: skip
"""Metrics of processes on other machines, in addition to what every process has."""


def _of_generator(name: str, kind: MetricKind, unit: str, text: str, series: Series) -> Metric:
    return Metric(name, GENERATOR, kind, unit, text, series, kept=False)


_GENERATOR = (
    _of_generator(
        "python_share", "rate", "cores", "the threads that run Python (monitors, progress, record)",
        Series("generator_thread_cores", _THREADS, label("threads", "python")),
    ),
    _of_generator(
        "native_share", "rate", "cores", "all other threads, the engine's among them",
        Series("generator_thread_cores", _THREADS, label("threads", "engine")),
    ),
    _of_generator(
        "hottest_native_share", "rate", "cores", "the busiest of the other threads",
        Series("generator_hottest_thread_cores", "CPU of the busiest thread of the engine"),
    ),
    _of_generator(
        "hottest_native_wait_share", "rate", "share of the time",
        "in which one of the other threads was ready and had no CPU, the worst of them",
        Series(
            "generator_hottest_thread_waiting_ratio",
            "Share of the time that a thread of the engine was ready and had no CPU",
        ),
    ),
    _of_generator(
        "throttled_s", "counter", "s", "time since its control group began in which the CPU limit stopped it",
        Series("generator_throttled_seconds", "Time in which loadstone's control group was throttled by its CPU limit"),
    ),
)  # fmt: skip
OF_GENERATOR = (*(metric for metric in OF_PROCESS if metric.name in ("cpu_s", "cpu_share", "rss_bytes")), *_GENERATOR)
METRICS = (*OF_HOST, *OF_OTHERS, *OF_PROCESS, *OF_ELSEWHERE, *_GENERATOR)
OBSERVED = ObservedSoftware(METRICS, KINDS, locks=(LockMetrics("lock_waiters", "lock_wait_share"),))
