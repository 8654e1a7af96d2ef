"""What spreadsheets have of full servers: `full-servers.csv`."""

import json
from collections.abc import Iterator

from loadstone.addons.capacity.full_server_rates import FullServers
from loadstone.judge.analysis.analysis import Analysis
from loadstone.report import figure_format as fmt
from loadstone.report.tables.column import CsvValue


def full_server_rows(analysis: Analysis) -> Iterator[dict[str, CsvValue]]:
    """Peak throughput of one server, at each place."""
    full = analysis.part(FullServers)
    for one in full.root if full is not None else ():
        found = one.capacity
        yield {
            "label": one.label,
            "condition": json.dumps(one.condition, ensure_ascii=False),
            "server": one.server,
            "how": found.how,
            "per_s": found.per_s,
            "per_s_low": found.low_per_s,
            "per_s_high": found.high_per_s,
            "users": found.users,
            "busy_share": found.busy,
            "taken_share": found.taken,
            "why_not": "" if found.why is None else fmt.sentence(found.why),
        }
