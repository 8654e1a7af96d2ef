"""The ratios by size as one picture: loadstone's CPU a request and rate over a peer's, as read from the file."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import vl_convert

from bench.peers.ratios import Row

COLOURS = {
    "GET": "#1f5fa8",
    "SET": "#b3551f",
    "JSON.SET": "#2d7d46",
    "HTTP": "#6b4a9e",
    "HTTP chunked": "#8a8a8a",
    "HTTPS": "#a8326b",
}
PANELS = {"cpu": "CPU a request, over the peer's", "rate": "Rate, over the peer's"}
SIZES = (
    "datum.value < 1e3 ? datum.value + ' B' : datum.value < 1e6 ? datum.value / 1e3 + ' kB' : datum.value / 1e6 + ' MB'"
)


CONNECTIONS = 50
"""Of what is drawn: larger values are not measured over many more."""


def draw(file: Path, rows: Sequence[Row], peers: Sequence[str] = ("redis-benchmark", "wrk")) -> None:
    """Write the picture of the rows beside these peers, with `CONNECTIONS` and no pipelining.

    Raises ValueError where there are none.
    """
    chosen = [row for row in rows if row.peer in peers and row.pipeline == 1 and row.connections == CONNECTIONS]
    if not chosen:
        raise ValueError(f"no row beside {' or '.join(peers)} to draw")
    named = " and ".join(dict.fromkeys(row.peer for row in chosen))
    spec = {
        "title": {
            "text": f"loadstone beside {named}, {CONNECTIONS} connections, by size of a value or page",
            "fontSize": 13,
        },
        "hconcat": [_panel(chosen, figure, title) for figure, title in PANELS.items()],
        "config": {"view": {"stroke": None}},
    }
    file.write_text(vl_convert.vegalite_to_svg(spec))


def _panel(rows: Sequence[Row], figure: str, title: str) -> dict[str, Any]:
    points = [
        {"load": row.load, "bytes": row.value_bytes, **vars(getattr(row, figure))}
        for row in rows
        if row.load in COLOURS
    ]
    loads = [load for load in COLOURS if any(point["load"] == load for point in points)]
    colour = {"field": "load", "scale": {"domain": loads, "range": [COLOURS[load] for load in loads]}, "title": None}
    x = {
        "field": "bytes",
        "type": "quantitative",
        "scale": {"type": "log"},
        "axis": {"labelExpr": SIZES, "grid": False, "values": [10**power for power in range(9)]},
        "title": None,
    }
    y = {"type": "quantitative", "scale": {"zero": True}, "title": title}
    return {
        "width": 330,
        "height": 230,
        "data": {"values": points},
        "layer": [
            {"mark": {"type": "rule", "strokeDash": [3, 3]}, "encoding": {"y": {"datum": 1}}},
            {
                "mark": {"type": "rule", "opacity": 0.5},
                "encoding": {"x": x, "y": y | {"field": "least"}, "y2": {"field": "greatest"}, "color": colour},
            },
            {
                "mark": {"type": "line", "point": True},
                "encoding": {"x": x, "y": y | {"field": "median"}, "color": colour},
            },
        ],
    }
