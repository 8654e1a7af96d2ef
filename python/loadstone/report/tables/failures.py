"""Which operations failed, by kind and number, and what was answered: also of rows whose figures were refused."""

from collections import Counter
from collections.abc import Iterator, Sequence

from loadstone.analyse.model import Row
from loadstone.report import format as fmt

ERRORS_FAILED = "check.errors.failed"


def failures_of(row: Row) -> dict[str, int]:
    """Kind -> number, the most frequent first: of the row's figures, or else of what they were refused for."""
    found = Counter({kind: count for kind, count in row.errors.items() if count})
    if not found:
        for reason in row.reasons:
            kinds = reason.figures.get("kinds") if reason.kind == ERRORS_FAILED else None
            found.update(kinds if isinstance(kinds, dict) else {})
    return dict(found.most_common())


def failure_lines(rows: Sequence[Row]) -> Iterator[str]:
    """`errors of get: server_wrongtype 9,802`, of each row that has any."""
    for row in rows:
        kinds = ", ".join(f"{fmt.plain(kind)} {fmt.count(count)}" for kind, count in failures_of(row).items())
        if kinds:
            yield f"errors of {fmt.plain(row.label)}: {kinds}"


def example_lines(rows: Sequence[Row]) -> Iterator[str]:
    """`server_oom, for example: OOM command not allowed...`, each reply once, however many rows have it."""
    replies = dict.fromkeys((kind, reply) for row in rows for kind, reply in row.error_examples.items())
    for kind, reply in replies:
        yield f"{fmt.plain(kind)}, for example: {fmt.plain(reply)}"
