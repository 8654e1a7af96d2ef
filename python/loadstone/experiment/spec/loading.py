"""From a YAML file or text to an `Experiment`; every problem is one line with file, line, key and remedy."""

import hashlib
from pathlib import Path

from loadstone.experiment.spec.built_in import FOLDER, names
from loadstone.experiment.spec.consistency import cross_check
from loadstone.experiment.spec.experiment import Experiment
from loadstone.experiment.spec.problems import ExperimentSource
from loadstone.experiment.spec.yaml_text import YamlTextError, read_yaml
from loadstone.safety.bounds.files import exists, read_bytes
from loadstone.safety.errors import UserError
from loadstone.safety.secrets.in_experiments import learn_experiment
from loadstone.text.wording import listed, nearest, shown

LARGEST_BYTES = 1_000_000
_SUFFIXES = (".yaml", ".yml")


def load_experiment(path_or_text: Path | str, *, label: str = "experiment.yaml") -> Experiment:
    """The experiment in a file (a `Path`), or in YAML text (a `str`, called `label` in messages).

    Raises UserError: `file.yaml:12: workload.pool.connection: unknown key; did you mean ...`.
    """
    source = _source_of(path_or_text) if isinstance(path_or_text, Path) else read_source(path_or_text, label)
    return validate_source(source)


def validate_source(source: ExperimentSource) -> Experiment:
    """The experiment of a source, with everything in it held against everything else. Raises UserError."""
    problems = learn_experiment(source.data)
    experiment = Experiment.from_source(source)
    cross_check(experiment)
    for path, problem in problems:
        raise source.error(path, problem)
    return experiment


def read_source(text: str, label: str) -> ExperimentSource:
    """The data of a YAML text with its lines. Raises UserError."""
    try:
        data, lines = read_yaml(text)
    except YamlTextError as problem:
        raise ExperimentSource(label, {}, {problem.path: problem.line}).error(problem.path, problem.problem) from None
    if data is None:
        raise UserError(
            "{label}:1: the file is empty; write an experiment, or copy one that `loadstone list` names", label=label
        )
    if not isinstance(data, dict):
        raise UserError(
            "{label}:1: not a mapping; an experiment begins with `name: ...` and `question: ...`", label=label
        )
    return ExperimentSource(label, data, lines, digest=hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest())


def _source_of(path: Path) -> ExperimentSource:
    return read_source(_read(path), str(path))


def _read(path: Path) -> str:
    """The text of a file. Raises UserError where there is none."""
    try:
        if path.exists() and not path.is_file():
            raise UserError("{path}: not a file; name a YAML file", path=path)
        size = path.stat().st_size
        if size > LARGEST_BYTES:
            raise UserError(
                "{path}: {size:.1f} MB is too much for an experiment; the limit is 1 MB",
                path=path,
                size=size / 1000000.0,
            )
        text = read_bytes(path, LARGEST_BYTES).decode("utf-8-sig")
    except FileNotFoundError:
        raise UserError(
            "{path}: there is no such file; `loadstone list` names the built-in experiments", path=path
        ) from None
    except OSError as error:
        raise UserError(
            "{path}: cannot be read ({strerror}); check its permissions", path=path, strerror=error.strerror
        ) from None
    except ValueError:
        text = "\0"
    if "\0" in text:
        raise UserError("{path}: not a text file; write an experiment as YAML in UTF-8", path=path)
    return text


def find_source(name: str) -> ExperimentSource:
    """The built-in experiment of this name, or the one in the file of this name, as it is written.

    Raises UserError: an unknown name (with the nearest), or a file that cannot be read as YAML.
    """
    if name in names():
        return _source_of(FOLDER / f"{name}.yaml")
    if name.endswith(_SUFFIXES) or "/" in name or (exists(Path(name)) and Path(name).is_file()):
        return _source_of(Path(name))
    if name == "latest":
        raise UserError(
            "'latest' is a run, and this takes an experiment; `loadstone report latest` shows the newest "
            "run, built-in experiments are: {names}",
            names=listed(names()),
        )
    raise UserError(
        "experiment {name} is not known; {hint}built-in experiments: {names}; or name a file that ends in .yaml",
        name=shown(name),
        hint=nearest(name, names()),
        names=listed(names()),
    )
