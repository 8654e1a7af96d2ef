"""Runs of commands, listed and compared as a user does it."""

from pathlib import Path

from tests.calling import called
from tests.end_to_end.conftest import Lab, lab  # noqa: F401 (a fixture)
from tests.end_to_end.test_kept_runs import DONE, SHORT, here, loadstone, names  # noqa: F401 (a fixture)


def test_no_runs_is_a_remark(lab: Lab) -> None:  # noqa: F811
    done = lab.loadstone("runs")
    assert (done.status, done.out) == (0, "")
    assert "there is no run in runs" in done.err


def test_what_just_ran_is_listed_and_compared(here: Path) -> None:  # noqa: F811
    for _ in range(2):
        done = loadstone(*SHORT, "-q", folder=here)
        assert done.returncode in DONE, done.stderr
    older, newer = names(here)
    listed = called("runs", folder=here).stdout.splitlines()
    assert [line.split()[0] for line in listed] == [newer, older]
    assert all("  complete  " in line for line in listed)
    compared = called("compare", f"runs/{older}", f"runs/{newer}", folder=here)
    assert "is not a run" not in compared.stderr
    assert compared.returncode in DONE, compared.stderr
    twice = called("compare", "latest", f"runs/{newer}", folder=here)
    assert (twice.returncode, twice.stdout) == (2, "")
    assert "the same run twice" in twice.stderr
