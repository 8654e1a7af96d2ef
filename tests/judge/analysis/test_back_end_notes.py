"""What a report says of how the generator sent and received, where that is not what one expects."""

from types import ModuleType
from typing import Any, get_args

from loadstone.drivers.outcome import WhyNot
from loadstone.judge.analysis.notes import FALLEN_BACK, _back_end_notes
from loadstone.run_folder.trial import TrialRecord
from loadstone.text.sentences import render_message


def notes(synthetic: ModuleType, *back_ends: dict[str, Any] | None) -> list[str]:
    trials = []
    for back_end in back_ends:
        line = synthetic.make_trial().model_dump(mode="json")
        line["facts"]["drive"]["back_end"] = back_end
        trials.append(TrialRecord.model_validate(line))
    return [render_message(note) for note in _back_end_notes(trials)]


def test_a_fallback_has_its_sentence_once(synthetic: ModuleType) -> None:
    fallen = {"name": "epoll", "why_not_io_uring": "forbidden"}
    assert notes(synthetic, fallen, {"name": "io_uring", "why_not_io_uring": None}, fallen) == [
        "The generator used epoll in place of io_uring: this process may not use it (seccomp, as in containers)."
    ]


def test_what_was_requested_or_is_the_only_way_needs_no_sentence(synthetic: ModuleType) -> None:
    assert not notes(synthetic, {"name": "epoll", "why_not_io_uring": "not_requested"})
    assert not notes(synthetic, {"name": "epoll", "why_not_io_uring": "tls"}, None)
    assert not notes(synthetic, {"name": "kqueue", "why_not_io_uring": "missing"})


def test_every_other_reason_has_its_words(synthetic: ModuleType) -> None:
    assert set(get_args(WhyNot)) - {"not_requested", "tls", "stamps", "long_texts"} == FALLEN_BACK, (
        "the others are no fault of the machine"
    )
    for reason in FALLEN_BACK:
        assert len(notes(synthetic, {"name": "epoll", "why_not_io_uring": reason})) == 1
