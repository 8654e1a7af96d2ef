"""A search in a damaged folder: what rests on a line that is gone is not told."""

import json
from pathlib import Path

from tests.frozen_runs import unpacked
from tests.run_folder.damages import with_digests

from loadstone.addons.saturation.results import SaturationAnswers
from loadstone.judge.analysis.analyse import analyse
from loadstone.text.sentences import render_message


def test_a_search_that_lost_a_probe_ends_before_it(tmp_path: Path) -> None:
    run = with_digests(unpacked("saturate-closed", tmp_path))
    file = run / "trials.jsonl"
    lines = file.read_bytes().splitlines(keepends=True)
    lost = next(line for line in lines if json.loads(line)["saturation"]["users"] == 4)
    file.write_bytes(b"".join(line for line in lines if line != lost))
    found = analyse(run)
    answers = found.part(SaturationAnswers)
    assert answers is not None
    assert [[point.users for point in one.search.points] for one in answers.root] == [[1, 2]]
    assert any(
        render_message(note).startswith("trials.jsonl: lines that the run wrote are missing (1)")
        for note in found.notes
    )
