"""Figures that are kept of runs: as long as the folder is the same, and loadstone judges as it did."""

from pathlib import Path

from tests.frozen_runs import unpacked

from loadstone.addons.history.index import Index, collect
from loadstone.addons.history.run_row import fingerprint, read_row
from loadstone.addons.history.trends import RunFigures


def test_another_version_of_loadstone_reads_a_run_again(tmp_path: Path) -> None:
    run = unpacked("redis-rate", tmp_path)
    row, index = read_row(run), Index(tmp_path, tmp_path / "index.sqlite")
    (measured,) = collect(index, [row]).runs

    def keep(figures: RunFigures, version: str) -> None:
        index.keep_figures(row.name, f"{fingerprint(run)} {version}".strip(), figures.model_dump_json())

    for version in ("", "0.0.1"):
        keep(measured.model_copy(update={"places": []}), version)
        assert collect(index, [row]).runs == [measured]
