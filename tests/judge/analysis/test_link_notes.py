"""What a report says of the lines of a run, over its trials."""

from types import ModuleType
from typing import Any

from loadstone.judge.analysis.notes import _link_notes
from loadstone.run_folder.trial import TrialRecord
from loadstone.text.sentences import render_message

LINK = {
    **{"requested_ns": 1_000_000, "part": "redis.link", "pings": 60, "pieces": 100, "late_ns": [20_000.0, 90_000.0]},
    **{"added_ns": [1_010_000.0, 1_000_000.0, 1_020_000.0], "unrecorded_ns": [0.0, -10_000.0, 10_000.0]},
}


def said(synthetic: ModuleType, *links: dict[str, Any]) -> list[str]:
    trials = []
    for link in links:
        line = synthetic.make_trial().model_dump(mode="json")
        line["facts"]["links"] = {"redis": link}
        line["facts"]["parts"]["redis.link"] = {"mean_share": 0.12}
        trials.append(TrialRecord.model_validate(line))
    return [render_message(note) for note in _link_notes(trials)]


def test_each_delay_of_a_line_has_its_sentence(synthetic: ModuleType) -> None:
    assert said(synthetic, LINK, LINK, LINK | {"requested_ns": 0}) == [
        "Link of redis: 0.00 ms were required, it added 1.01 [1.00, 1.02] ms to a round trip before the trials and "
        "0.02 [0.01, 0.03] ms during them; it used 12% of a core on the generator's CPUs.",
        "Link of redis: 1.00 ms were required, it added 1.01 [1.00, 1.02] ms to a round trip before the trials and "
        "1.02 [1.01, 1.03] ms during them; it used 12% of a core on the generator's CPUs.",
    ]


def test_what_was_not_measured_is_not_made_up(synthetic: ModuleType) -> None:
    (without_record,) = said(synthetic, LINK | {"late_ns": None})
    assert "it added 1.01 [1.00, 1.02] ms to a round trip before the trials; it used" in without_record
    (without_pings,) = said(synthetic, LINK | {"added_ns": None, "unrecorded_ns": None})
    assert "1.00 ms were required, what it added was not measured; it used" in without_pings
