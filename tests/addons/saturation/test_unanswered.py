"""A server that answers nothing has no saturation point."""

from pathlib import Path

from tests.calling import called
from tests.end_to_end.test_unanswered import WAITS


def test_a_search_in_which_nothing_is_answered(tmp_path: Path) -> None:
    search = ("--command", WAITS, "--quick", "--users-max", "2", "--budget", "20s", "--share-machine")
    done = called("saturate", "redis", *search, "--out", tmp_path / "runs", folder=tmp_path)
    assert done.returncode == 3, done.stderr
    assert "NO POINT: 100.0% of the replies failed at 1 user" in done.stdout
