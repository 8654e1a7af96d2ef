"""What an experiment consists of, as one hash: its text, the manifests and the files that it names.

What is hashed is pinned (`bounds.pinned`): if it is another when it is used, the run ends.
"""

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path

from loadstone.bounds import pinned
from loadstone.deploy import driver_manifest
from loadstone.deploy.subjects import manifest as subject_manifest
from loadstone.deploy.subjects.build import pinned_as, source_hash
from loadstone.deploy.subjects.manifest import Build
from loadstone.errors import UserError
from loadstone.plan.run_plan import RunPlan
from loadstone.spec import drivers, subjects
from loadstone.spec.experiment import Experiment


def digest_of(experiment: Experiment, run_plan: RunPlan) -> str:
    """A hash that changes with every byte that the run is made of. Pins each file.

    Raises:
        UserError: one cannot be read.
    """
    pinned.forget()
    source = experiment.source
    parts = [source.digest or hashlib.sha256(json.dumps(source.data, default=str).encode()).hexdigest()]
    known: set[str] = set()
    for trial in run_plan.every_trial:
        for subject in trial.subjects.values():
            if subject.manifest is not None and subject.manifest not in known:
                known.add(subject.manifest)
                if Path(subject.manifest).parent.resolve() != subjects.FOLDER.resolve():
                    parts += _of_subject(Path(subject.manifest))
        word = drivers.DriverWord.of(trial.driver).place
        if word not in (*known, drivers.NATIVE, *drivers.names()):
            known.add(word)
            parts += _of_driver(Path(word))
        files = [trial.plan.data.path] if trial.plan.data is not None else []
        files += [trial.plan.recording.path] if trial.plan.recording is not None else []
        for settings in trial.servers.values():
            files += [str(settings[key]) for key in ("binary", "json_module") if settings.get(key)]
        for file in (one for one in files if one not in known):
            known.add(file)
            parts += [_pinned(Path(file))] if Path(file).is_file() else []
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def digest_of_driver(path: Path) -> str:
    """The same of a client library's program by itself. Raises UserError."""
    pinned.forget()
    return hashlib.sha256("\n".join(_of_driver(path)).encode()).hexdigest()


def _of_subject(path: Path) -> Iterator[str]:
    file = path / subject_manifest.FILE if path.is_dir() else path
    yield _pinned(file)  # before it is read, so that what is read is this
    manifest, folder = subject_manifest.read_manifest(path)
    yield from _of_build(manifest.build, folder)
    for table in manifest.tables.values():
        yield _pinned(folder / table)
    for one in pinned.named_files(manifest.run.command, folder, {}):
        yield _pinned(one)


def _of_driver(path: Path) -> Iterator[str]:
    file = path / driver_manifest.FILE if path.is_dir() else path
    yield _pinned(file)
    manifest, folder = driver_manifest.read_driver_manifest(path)
    yield from _of_build(manifest.build, folder)
    for one in pinned.named_files(manifest.run.command, folder, {"folder": str(folder)}):
        yield _pinned(one)


def _of_build(build: Build | None, folder: Path) -> Iterator[str]:
    if build is not None:
        root = (folder / build.root).resolve()
        try:
            yield pinned.pin(pinned_as(root), source_hash(build, root))
        except OSError as error:
            raise UserError(f"{root}: its sources cannot be read ({error}); allow it") from None


def _pinned(path: Path) -> str:
    try:
        return f"{path.absolute()} {pinned.pin_file(path)}"
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror}); correct the path, or its permissions") from None
