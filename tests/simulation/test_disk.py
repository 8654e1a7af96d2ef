"""A run's folder on a disk that breaks at each of its calls, one after the other."""

import random
from pathlib import Path
from types import ModuleType

import pytest

from loadstone.run_folder.folder import RunFolder
from loadstone.run_folder.make_trial import failed_trial_record
from loadstone.run_folder.plan_summary import summarise_plan
from loadstone.run_folder.reading import read_trials
from loadstone.safety.bounds.disk import on_disk
from loadstone.safety.errors import LoadstoneError

from .disk import SimulatedDisk
from .world import World


def create(synthetic: ModuleType, root: Path) -> RunFolder:
    written = synthetic.make_experiment().model_dump(mode="json")
    return RunFolder.create(root, "small", written, synthetic.ENVIRONMENT, summarise_plan(synthetic.make_run_plan()))


@pytest.mark.fault("the power is cut after a trial", "the trial and all before it are in the folder", area="disk")
def test_a_power_cut_after_a_trial_takes_nothing_of_it(synthetic: ModuleType, tmp_path: Path) -> None:
    for seed in range(20):
        disk = SimulatedDisk(World(random.Random(seed)))
        root = tmp_path / str(seed)
        root.mkdir()
        with on_disk(disk), create(synthetic, root) as folder:
            synthetic.write_trial(folder, synthetic.make_run_plan().trials[0])
        disk.settles(root)
        (path,) = root.iterdir()
        assert len(read_trials(path)[0]) == 1


@pytest.mark.fault("the disk fails while a folder is made", "one typed line, and no folder", area="disk")
def test_a_disk_that_fails_while_a_folder_is_made_is_one_line(synthetic: ModuleType, tmp_path: Path) -> None:
    for call in range(1, 30):
        disk = SimulatedDisk(world := World(random.Random(call)))
        world.due["disk", call] = lambda disk=disk: disk.breaks("failing")
        with on_disk(disk), pytest.raises(LoadstoneError, match=r"Input/output error"):
            create(synthetic, tmp_path / str(call))


def test_a_trial_that_could_not_be_driven_is_an_attempt(synthetic: ModuleType, tmp_path: Path) -> None:
    """It has no intervals, and the next session's attempt at it is the second one all the same."""
    planned = synthetic.make_run_plan().trials[0]
    create(synthetic, tmp_path).close()
    (path,) = tmp_path.iterdir()
    for attempt in (1, 2):
        with RunFolder.resume(path) as folder:
            writer = folder.begin_trial(planned.name)
            assert writer.attempt == attempt
            writer.finish(failed_trial_record(planned, planned.plan, "nobody answers", 1))
