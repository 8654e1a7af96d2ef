"""The machine and its parts while a table was measured: maxima and averages of what the monitors saw."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from loadstone.analyse.model import Analysis, ResultTable, Row
from loadstone.record.facts import AvgMax
from loadstone.report import format as fmt
from loadstone.report import seen

HEADING = "The machine and each part while it ran"
READING = "Maxima over the trials of a condition; averages in brackets."
_HOST_TITLE = "The machine (vmstat's columns; memory in MiB, disk and swap in KiB/s)"


@dataclass(frozen=True)
class SeenColumn:
    """One column: the sum of `metrics`, each figure in words by `text`."""

    header: str
    explanation: str
    metrics: tuple[str, ...]
    text: Callable[[float], str]
    always: bool = True
    """Whether it is there even where all its figures are 0."""

    def figure(self, figures: seen.Figures) -> AvgMax | None:
        """The sum of its metrics; None where none was observed."""
        found = [figures[metric] for metric in self.metrics if metric in figures]
        return AvgMax(avg=sum(one.avg for one in found), max=sum(one.max for one in found)) if found else None


@dataclass(frozen=True)
class SeenCell:
    """A figure in words; empty where nothing was observed."""

    highest: str = ""
    average: str = ""

    def __str__(self) -> str:
        return f"{self.highest} ({self.average})" if self.highest else fmt.NONE


@dataclass(frozen=True)
class SeenLine:
    row: Row
    part: str
    """Empty for the machine."""
    cells: list[SeenCell]


@dataclass(frozen=True)
class SeenTable:
    title: str
    columns: list[SeenColumn]
    lines: list[SeenLine]

    @property
    def of_parts(self) -> bool:
        """Whether each line says which part it is about."""
        return any(line.part for line in self.lines)


def _plain(value: float) -> str:
    """A figure of vmstat or a count: whole from 10 on."""
    return f"{value:,.0f}" if abs(value) >= 10 or value == int(value) else f"{value:.1f}"


def _mebibytes(kibibytes: float) -> str:
    return f"{kibibytes / 1024:,.0f}"


def _hits(percent: float) -> str:
    """Two decimals: 99.98 % of the hits is not all of them."""
    return f"{percent:.2f} %"


def _pause(value_s: float) -> str:
    return fmt.duration(value_s * 1e9)


def _vmstat(name: str, explanation: str, text: Callable[[float], str] = _plain) -> SeenColumn:
    return SeenColumn(name, explanation, (name,), text)


MACHINE = (
    _vmstat("r", "Threads that run or wait for a CPU."),
    _vmstat("b", "Threads that wait for input or output."),
    _vmstat("swpd", "Memory swapped out, MiB.", _mebibytes),
    _vmstat("free", "Free memory, MiB.", _mebibytes),
    _vmstat("buff", "Memory used for buffers, MiB.", _mebibytes),
    _vmstat("cache", "Memory used for files, MiB.", _mebibytes),
    _vmstat("si", "Swapped in, KiB/s."),
    _vmstat("so", "Swapped out, KiB/s."),
    _vmstat("bi", "Read from disks, KiB/s."),
    _vmstat("bo", "Written to disks, KiB/s."),
    _vmstat("in", "Interrupts a second."),
    _vmstat("cs", "Context switches a second."),
    _vmstat("us", "Per cent of all CPUs: in programs."),
    _vmstat("sy", "Per cent of all CPUs: in the kernel."),
    _vmstat("id", "Per cent of all CPUs: idle."),
    _vmstat("wa", "Per cent of all CPUs: idle while a disk was waited for."),
    _vmstat("st", "Per cent of all CPUs: taken by other virtual machines."),
)
PROCESSES = (
    SeenColumn("CPU", "CPU of the process; 100 % is one core.", ("cpu_share",), fmt.percent),
    SeenColumn("memory", "Memory of the process.", ("rss_bytes",), fmt.size),
    SeenColumn(
        "context switches /s", "Context switches of all its threads.", ("voluntary_per_s", "involuntary_per_s"), _plain
    ),
    SeenColumn("threads", "Threads of the process.", ("threads",), _plain),
    SeenColumn("sockets", "Open sockets, connections among them.", ("sockets",), _plain),
)
REDIS = (
    SeenColumn("connections", "Connections, loadstone's own two among them.", ("connected_clients",), _plain),
    SeenColumn("commands /s", "Commands that it carried out.", ("instantaneous_ops_per_sec",), _plain),
    SeenColumn("memory of the data", "What it says that it uses.", ("used_memory",), fmt.size),
    SeenColumn("AOF", "Size of the append-only files.", ("aof_current_size",), fmt.size, always=False),
    SeenColumn("AOF to write", "Waiting to be written to the append-only file.", ("aof_buffer_length",), fmt.size,
               always=False),
    SeenColumn("fsyncs waiting", "In the background.", ("aof_pending_bio_fsync",), _plain, always=False),
    SeenColumn("rewrites", "1 while the append-only file is rewritten.", ("aof_rewrite_in_progress",), _plain,
               always=False),
    SeenColumn("snapshots", "1 while a snapshot is saved.", ("rdb_bgsave_in_progress",), _plain, always=False),
    SeenColumn("replicas", "Redis servers that follow it.", ("connected_slaves",), _plain, always=False),
)  # fmt: skip
MARIADB = (
    SeenColumn("connections", "Connections, loadstone's own two among them.", ("threads_connected",), _plain),
    SeenColumn("working", "Threads that work on a statement.", ("threads_running",), _plain),
    SeenColumn("buffer pool hits", "Reads of pages that found them in memory.", ("buffer_pool_hits",), _hits),
    SeenColumn("rows read /s", "Rows that it read from its storage.", ("rows_read_per_s",), _plain),
    SeenColumn(
        "rows written /s", "Rows inserted, updated and deleted.",
        ("rows_inserted_per_s", "rows_updated_per_s", "rows_deleted_per_s"), _plain,
    ),
    SeenColumn("disk reads /s", "Reads of InnoDB's files.", ("disk_reads_per_s",), _plain),
    SeenColumn("disk writes /s", "Writes to InnoDB's files.", ("disk_writes_per_s",), _plain),
    SeenColumn("fsyncs /s", "Calls of fsync on InnoDB's files.", ("fsyncs_per_s",), _plain),
    SeenColumn("redo log /s", "Written to the redo log.", ("log_written_bytes_per_s",), fmt.size),
    SeenColumn("lock waits /s", "For a row that another transaction had locked.", ("row_lock_waits_per_s",), _plain,
               always=False),
    SeenColumn("query cache hits /s", "Answered from the query cache.", ("query_cache_hits_per_s",), _plain,
               always=False),
)  # fmt: skip
JVM = (
    SeenColumn("heap", "Memory of its objects.", ("heap_used_bytes",), fmt.size),
    SeenColumn("GC, of the time", "Share of the time in pauses of the garbage collector.", ("gc_pause_share",),
               fmt.percent),
    SeenColumn("longest GC", "The longest pause of the last minutes.", ("gc_pause_max_s",), _pause),
    SeenColumn("threads", "Threads of Java.", ("jvm_threads",), _plain),
    SeenColumn("requests at work", "Threads of Tomcat that work on a request.", ("tomcat_busy",), _plain),
    SeenColumn("clients", "Connections from clients.", ("tomcat_connections",), _plain),
    SeenColumn("MariaDB pool active", "Connections to MariaDB in use.", ("hikari_active",), _plain),
    SeenColumn("MariaDB pool pending", "Threads that wait for a connection to MariaDB.", ("hikari_pending",), _plain),
    SeenColumn("Redis pool active", "Connections of Jedis' or Lettuce's pool in use.", ("redis_pool_active",), _plain),
    SeenColumn("Redis pool pending", "Threads that wait for one of that pool.", ("redis_pool_pending",), _plain),
)  # fmt: skip


def seen_tables(analysis: Analysis, table: ResultTable) -> list[SeenTable]:
    """What was observed while `table` was measured; nothing where no application and no MariaDB was under test."""
    if not seen.has_application(analysis):
        return []
    made = (
        _table(_HOST_TITLE, MACHINE, _lines(table.rows, "host")),
        _table("Each part", PROCESSES, _lines(table.rows, "subject", "mariadb", "redis", "driver")),
        _table("MariaDB", MARIADB, _lines(table.rows, "mariadb")),
        _table("Redis", REDIS, _lines(table.rows, "redis")),
        _table("The application's JVM", JVM, _lines(table.rows, "subject")),
    )
    return [one for one in made if one is not None]


def _lines(rows: Iterable[Row], *kinds: seen.Kind) -> Iterator[tuple[Row, str, seen.Figures]]:
    """The parts of these kinds, row by row, in this order of kinds."""
    for row in rows:
        for kind in kinds:
            for part, figures in seen.parts(row, kind):
                yield row, "" if kind == "host" else part, figures


def _table(
    title: str, columns: Iterable[SeenColumn], lines: Iterable[tuple[Row, str, seen.Figures]]
) -> SeenTable | None:
    """The columns and lines with something to say; None where there is nothing."""
    known = list(lines)
    shown = [column for column in columns if _says_something(column, [figures for _, _, figures in known])]
    made = [SeenLine(row, part, [_cell(column, figures) for column in shown]) for row, part, figures in known]
    made = [line for line in made if any(cell.highest for cell in line.cells)]
    return SeenTable(title, shown, made) if made else None


def _says_something(column: SeenColumn, seen_of: Iterable[seen.Figures]) -> bool:
    found = [figure for figures in seen_of if (figure := column.figure(figures)) is not None]
    return any(figure.max for figure in found) or (bool(found) and column.always)


def _cell(column: SeenColumn, figures: seen.Figures) -> SeenCell:
    figure = column.figure(figures)
    return SeenCell() if figure is None else SeenCell(column.text(figure.max), column.text(figure.avg))
