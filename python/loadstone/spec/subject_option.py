"""What `--subject` changes in an experiment: another application takes the place of the experiment's own."""

import re
from pathlib import Path as FilePath
from typing import Any

from loadstone.errors import UserError
from loadstone.secrecy.references import resolve
from loadstone.spec.experiment import Experiment
from loadstone.spec.problems import listed
from loadstone.spec.subjects import MANIFEST, names
from loadstone.spec.yaml_text import Path

_HOST_AND_PORT = re.compile(r"[A-Za-z0-9.-]+:[0-9]{1,5}(/.*)?|\[[0-9a-fA-F:]+\]:[0-9]{1,5}(/.*)?", re.DOTALL)
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
    kind = "url" if "://" in resolve(place) else "manifest"
    subject[kind] = place if kind == "url" else _manifest(place, text)
    data["subjects"][name] = subject
    return ("subjects", name, kind)


def _manifest(place: str, text: str) -> str:
    """A manifest's full path, or the name of a built-in subject. Raises UserError."""
    path = FilePath(place)
    if path.is_file() or (path / MANIFEST).is_file():
        return str(path.absolute())
    if place in names():
        return place
    shown = text if "@" not in text else "..."  # it may be a URL without its scheme, with a password
    meant = f"did you mean http://{place}? " if _HOST_AND_PORT.fullmatch(place) else ""
    raise UserError(
        f"--subject {shown}: neither a URL nor a manifest; {meant}write http://HOST:PORT, or the path of a {MANIFEST}, "
        f"which counts from the current folder; built-in subjects: {listed(names())}"
    )
