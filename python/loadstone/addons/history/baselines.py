"""Baselines: of a branch and an experiment the run that others are compared with.

They stand in `baselines.json` beside the runs, and name runs by their folders' names: one that is archived is still
found, one that was removed is missed by name.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from loadstone.run_folder.files import ARCHIVE, LAST_UNIX_S, PLAN
from loadstone.run_folder.lines import FORMAT, dump_document, read_small, write_file
from loadstone.safety.bounds.folder_files import is_file
from loadstone.safety.errors import UserError
from loadstone.text.message import said
from loadstone.text.problem import Problem

BASELINES = "baselines.json"
MOST = 1_000
_BYTES = 1024 * 1024
_NAME_MAX = 200


def _one_name(run: str) -> str:
    """A folder's name, which leads nowhere else."""
    if not 0 < len(run) <= _NAME_MAX or run in (".", "..") or "/" in run or "\0" in run:
        raise Problem("not the name of a run's folder")
    return run


class Baseline(BaseModel):
    """One of them."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    branch: str = Field(min_length=1, max_length=_NAME_MAX)
    experiment: str = Field(min_length=1, max_length=_NAME_MAX)
    run: Annotated[str, AfterValidator(_one_name)]
    """Name of its folder."""
    set_unix_s: float = Field(default=0.0, ge=0.0, le=LAST_UNIX_S)


def named(branch: str, experiment: str, folder: Path, set_unix_s: float) -> Baseline:
    """The run of a folder as a baseline. Raises UserError where it, or its experiment, has no name that can be kept."""
    names = {"branch": branch, "experiment": experiment, "run": folder.name}
    try:
        return Baseline(**names, set_unix_s=round(set_unix_s, 3))
    except ValidationError as error:
        field = str(error.errors()[0]["loc"][0])
        raise UserError(
            "{folder}: cannot be a baseline: the name of its {field} has {length} letters, and 1 to {most} are "
            "kept; name another run, or call the folder otherwise",
            folder=folder,
            field=field,
            length=len(names[field]),
            most=_NAME_MAX,
        ) from None


class _BaselineFile(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)

    format: int = FORMAT
    baselines: tuple[Baseline, ...] = Field(default=(), max_length=MOST)


def read_baselines(root: Path) -> tuple[Baseline, ...]:
    """Those of a folder of runs, by branch and experiment. Raises UserError if the file is damaged."""
    found = read_small(root / BASELINES, _BaselineFile, _BYTES)
    return () if found is None else found.baselines


def set_baseline(root: Path, new: Baseline) -> None:
    """Make a run the baseline of its branch and experiment, in the place of another. Raises UserError."""
    _write(root, [*_without(read_baselines(root), new.branch, new.experiment), new])


def remove_baseline(root: Path, branch: str, experiment: str) -> Baseline:
    """Forget a baseline; its run stays. Returns what was there. Raises UserError where there is none."""
    found = baseline_of(root, branch, experiment)
    _write(root, _without(read_baselines(root), branch, experiment))
    return found


def baseline_of(root: Path, branch: str, experiment: str) -> Baseline:
    """The baseline of a branch and experiment. Raises UserError, with those that there are."""
    known = read_baselines(root)
    found = next((one for one in known if (one.branch, one.experiment) == (branch, experiment)), None)
    if found is not None:
        return found
    others = [one.branch for one in known if one.experiment == experiment]
    there = said("; it has one on: {branches}", branches=", ".join(others)) if others else ""
    raise UserError(
        "--branch {branch}: no baseline of {experiment} among the runs of {root}{there}; make a run one: "
        "loadstone baseline set RUN",
        experiment=experiment,
        branch=branch,
        root=root,
        there=there,
    )


def folder_of(root: Path, found: Baseline) -> Path | None:
    """The folder of its run, in the archive, too; None where it was removed or renamed."""
    places = (root / found.run, root / ARCHIVE / found.run)
    return next((place for place in places if is_file(place / PLAN)), None)


def branches_of(root: Path, run: str) -> list[str]:
    """The branches of which a run is a baseline; none where the file cannot be read."""
    try:
        return [one.branch for one in read_baselines(root) if one.run == run]
    except UserError:
        return []


def _without(known: Sequence[Baseline], branch: str, experiment: str) -> list[Baseline]:
    return [one for one in known if (one.branch, one.experiment) != (branch, experiment)]


def _write(root: Path, baselines: Sequence[Baseline]) -> None:
    if len(baselines) > MOST:
        raise UserError(
            "{root}: {number} baselines; there may be {most}, remove some", root=root, number=len(baselines), most=MOST
        )
    kept = sorted(baselines, key=lambda one: (one.experiment, one.branch))
    write_file(root / BASELINES, dump_document(_BaselineFile(baselines=tuple(kept)).model_dump(mode="json")))
