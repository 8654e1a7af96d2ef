"""The experiment that a name or a path on the command line means."""

from pathlib import Path

from loadstone.bounds.files import is_there
from loadstone.errors import UserError
from loadstone.spec.built_in import FOLDER, names
from loadstone.spec.experiment import Experiment
from loadstone.spec.load_settings import load_experiment
from loadstone.spec.problems import listed, nearest, shown

_SUFFIXES = (".yaml", ".yml")


def find(name: str) -> Experiment:
    """The built-in experiment of this name, or the one in the file of this name.

    Raises UserError: an unknown name (with the nearest), or whatever is wrong with the file.
    """
    if name in names():
        return load_experiment(FOLDER / f"{name}.yaml")
    if name.endswith(_SUFFIXES) or "/" in name or (is_there(Path(name)) and Path(name).is_file()):
        return load_experiment(Path(name))
    raise UserError(
        f"experiment {shown(name)} is not known; {nearest(name, names())}"
        f"built-in experiments: {listed(names())}; or name a file that ends in .yaml"
    )
