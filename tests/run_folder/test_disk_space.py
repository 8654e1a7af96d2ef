"""Room on the disk is requested before the run."""

from pathlib import Path
from types import ModuleType

import pytest

from loadstone.run_folder.disk_space import check_space, estimate_bytes
from loadstone.safety.errors import UserError


def test_room_for_a_little_is_there(tmp_path: Path) -> None:
    check_space(tmp_path / "runs" / "not" / "there" / "yet", 1000)


def test_no_room_is_one_clear_line(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"--out .*runs: .* MB free and 1,000,000,000 MB needed; free some space"):
        check_space(tmp_path / "runs", 10**15)


def test_a_run_takes_no_more_than_estimated(synthetic: ModuleType, tmp_path: Path) -> None:
    run_plan = synthetic.make_run_plan()
    path = synthetic.write_run(tmp_path, run_plan)
    taken = sum(file.stat().st_size for file in path.rglob("*") if file.is_file())
    assert taken < estimate_bytes(run_plan) < 100 * taken


def test_more_trials_need_more(synthetic: ModuleType) -> None:
    assert estimate_bytes(synthetic.make_run_plan(blocks=2)) > 1.5 * estimate_bytes(synthetic.make_run_plan())


def test_no_more_is_needed_than_fits_into_the_budget(synthetic: ModuleType) -> None:
    """Seven seconds of load a trial, and the budget ends the run in the middle."""
    plan = synthetic.make_run_plan(blocks=20)
    half = synthetic.make_run_plan(blocks=20, budget_s=len(plan.trials) * 7 / 2)
    assert estimate_bytes(half) < 0.6 * estimate_bytes(synthetic.make_run_plan(blocks=20, budget_s=1e6))


def test_a_tables_first_block_needs_its_room_whatever_the_budget(synthetic: ModuleType) -> None:
    assert estimate_bytes(synthetic.make_run_plan(budget_s=1.0)) == estimate_bytes(synthetic.make_run_plan())
