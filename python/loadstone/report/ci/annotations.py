"""`--annotations github`: a line that GitHub shows beside the job: `::error title=...::...`.

A workflow obeys such lines, so what strangers wrote is escaped as its runner unescapes it.
"""

from loadstone.judge.gate_result import GateResult
from loadstone.report import format as fmt

TITLE = "loadstone gate"


def github(result: GateResult) -> str:
    """One command, which ends with a line break."""
    kind = "notice"
    if result.verdict in ("slower", "invalid") or result.status == 1:
        kind = "error"
    elif result.verdict == "undecided":
        kind = "warning"
    text = f"{fmt.sentence(result.message)} ({fmt.plain(result.head)} against {fmt.plain(result.base)})"
    return f"::{kind} title={_property(TITLE)}::{_data(text)}\n"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
