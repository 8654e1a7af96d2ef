"""Which rows a short table shows, of all tables of a run."""

from loadstone.analyse.model import Analysis, Row
from loadstone.report import verdicts
from loadstone.report.trust import different_rows, is_well_bounded
from loadstone.spec.levels import identity


def most_telling(analysis: Analysis, number: int) -> list[Row]:
    """So many rows in the order of the tables: those that are compared and have an interval, then other intervals.

    Of what has none, what is well bounded comes first and what has no figure last, evenly from all tables.
    """
    rows = different_rows(analysis)
    sides = {
        identity(side.condition)
        for one in verdicts.all_comparisons(analysis)
        for side in (one.primary.a, one.primary.b)
    }
    ranks: dict[int, list[int]] = {}
    for place, row in enumerate(rows):
        if row.goodput_interval is not None:
            rank = 0 if identity(row.condition) in sides else 1
        else:
            rank = 4 if row.goodput_per_s is None else 2 if is_well_bounded(row) else 3
        ranks.setdefault(rank, []).append(place)
    chosen: list[int] = []
    for rank in sorted(ranks):
        places, free = ranks[rank], number - len(chosen)
        step = max(1.0, len(places) / max(1, free))
        chosen += [places[int(lap * step)] for lap in range(min(free, len(places)))]
    return [rows[place] for place in sorted(chosen)]
