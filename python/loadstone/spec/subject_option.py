"""What `--subject` changes in an experiment: another application takes the place of the experiment's own."""

import re
from pathlib import Path as FilePath
from typing import Any

from loadstone.errors import UserError
from loadstone.spec.experiment import Experiment
from loadstone.spec.problems import listed
from loadstone.spec.yaml_text import Path

_NAMED = re.compile(r"([a-zA-Z][a-zA-Z0-9_-]*)=(.*)", re.DOTALL)


def put_subject(data: dict[str, Any], text: str, experiment: Experiment) -> Path:
    """Put the user's URLs or manifest into the experiment's data; the path of what was put.

    `URL[,URL]` is an application that runs, `PATH` a manifest of one to start (it counts from the current folder),
    and `NAME=` before it says which subject is meant. Raises UserError; no URL is shown.
    """
    named = _NAMED.fullmatch(text)
    name, place = (named[1], named[2]) if named else (next(iter(experiment.subjects), ""), text)
    known = listed(experiment.subjects)
    if not experiment.subjects:
        raise UserError(f"--subject: {experiment.name} has no subject; its servers are given by --server NAME=URL")
    if named is None and len(experiment.subjects) > 1:
        raise UserError(f"--subject: {experiment.name} has several subjects; write NAME=URL, with one of: {known}")
    if name not in experiment.subjects or not place:
        remedy = f"write URL, PATH or NAME=URL; subjects of {experiment.name} are: {known}"
        raise UserError(f"--subject {name}=...: {remedy}")
    subject = {key: value for key, value in data["subjects"][name].items() if key not in ("manifest", "url")}
    path = FilePath(place)
    kind = "url" if "://" in place else "manifest"
    subject[kind] = str(path.absolute()) if kind == "manifest" and path.exists() else place
    data["subjects"][name] = subject
    return ("subjects", name, kind)
