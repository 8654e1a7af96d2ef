"""Whether someone else's experiment may run: shows what it would do, and asks once for each content.

Loadstone's own experiments, and what the user typed on the command line, need no answer. What was answered is kept in
the private cache folder by the hash of all that the run is made of (`digest_of`), with those of the acts that were
shown: where one of these bytes changes, or another act comes, it is asked again. The acts are not kept as they were
shown: a variable that a shell could run is shown as it is, and may be a password. What is hashed is pinned
(`safety.bounds.pinned_files`): if it is another when it is used, the run ends.
"""

import hashlib
import hmac
import json
import sys
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

from loadstone.experiment.plan.run_plan import RunPlan
from loadstone.experiment.spec import driver_names, subject_names
from loadstone.experiment.spec.experiment import Experiment
from loadstone.machine.processes.cache_folder import cache_folder
from loadstone.programs import manifest as subject_manifest
from loadstone.programs.build import pinned_as, source_hash
from loadstone.programs.clients import manifest as driver_manifest
from loadstone.programs.manifest import Build
from loadstone.run.acts import KINDS, PlannedAction, acts_of_driver, planned_actions, program_fields, sent_as_text
from loadstone.safety import terminal
from loadstone.safety.bounds import pinned_files
from loadstone.safety.bounds.files import read_json
from loadstone.safety.bounds.folder_files import replace_file
from loadstone.safety.errors import UserError
from loadstone.text.language import ENGLISH, _, language, said, translated
from loadstone.text.message import AnyText

OPTION = "--trust"
FOLDER = "trusted"
"""Name of the folder within the cache folder."""
SHOWN_LINES, SHOWN_CHARACTERS = 12, 400
"""Number of acts of a kind that are asked about by name, and of characters of each; `show` prints all."""
LARGEST_BYTES = 10_000_000


def require_consent(
    experiment: Experiment,
    run_plan: RunPlan,
    *,
    trust: bool,
    of_folder: bool = False,
    secret_files: Sequence[str] = (),
    files_sent: Sequence[str] = (),
) -> None:
    """Return if the run may do what it would do; ask the user where only they can tell.

    Args:
        experiment: as the command line changed it.
        run_plan: its plan.
        trust: whether the command line says so (`--trust`).
        of_folder: whether the command line is that of a run's folder, and so nobody's word.
        secret_files: as `--secret-file` has them.
        files_sent: files whose text stands in the load already, by an option.

    Raises:
        UserError: it may not; names the first act, and what helps.
    """
    pinned_files.forget()
    if not any(act.asks for act in planned_actions(experiment, run_plan, secret_files)):
        return
    digest = digest_of(experiment, run_plan)  # pins what is hashed, and so what the acts are now read off
    acts = sent_as_text(files_sent) + planned_actions(experiment, run_plan, secret_files)
    look = (
        said("the command in the folder's environment.json") if of_folder else said("what `loadstone show` says of it")
    )
    _require(experiment.source.label, digest, acts, look, trust=trust, of_folder=of_folder)


def to_ask(
    experiment: Experiment,
    run_plan: RunPlan,
    *,
    of_folder: bool = False,
    secret_files: Sequence[str] = (),
    files_sent: Sequence[str] = (),
) -> tuple[str, list[PlannedAction]]:
    """What the user would be asked about, for who asks elsewhere than on a terminal, and the hash of the contents.

    Raises UserError.
    """
    if not any(act.asks for act in planned_actions(experiment, run_plan, secret_files)):
        return "", []
    digest = digest_of(experiment, run_plan)
    known = _known(digest)
    acts = sent_as_text(files_sent) + planned_actions(experiment, run_plan, secret_files)
    asking = [act for act in acts if act.asks]
    return digest, [act for act in asking if (of_folder or not act.typed) and _mark(digest, act.line) not in known]


def remember_answer(digest: str, acts: Sequence[PlannedAction]) -> None:
    """The user read these acts and said yes, for contents of this hash alone: for others it is asked again."""
    _remember(digest, _known(digest) | {_mark(digest, act.line) for act in acts})


def require_consent_to_driver(path: Path, *, trust: bool) -> None:
    """Require that a client library's program by itself is trusted. Raises UserError."""
    digest = digest_of_driver(path)
    _require(str(path), digest, acts_of_driver(path), said("its manifest"), trust=trust, of_folder=False)


def listing(acts: Sequence[PlannedAction]) -> Iterator[str]:
    """Every act, the most dangerous kind first, and how many there are of each.

    Of many, the numbers of those that ask stand last once more: the first ones may have left the screen.
    """
    if acts:
        yield _("What a run does here ({summary}):", summary=summary(acts))
        yield from (f"  {act.spoken}" for act in acts)
        if any(act.kind in ("starts", "builds") for act in acts):
            yield _(
                "Programs run with your rights. Of your environment they get a few variables, and those named above."
            )
        asking = [act for act in acts if act.asks]
        if asking and (len(acts) > SHOWN_LINES or max(len(act.line) for act in acts) > SHOWN_CHARACTERS):
            yield _(
                "Of these a run asks about {summary}; they stand first of their kind, above.", summary=summary(asking)
            )


def _require(
    label: str, digest: str, acts: Sequence[PlannedAction], look: AnyText, *, trust: bool, of_folder: bool
) -> None:
    """`look`: what the user reads before they trust it. Raises UserError."""
    asking = [act for act in acts if act.asks]
    if not asking:
        return
    known = _known(digest)
    marks = {act: _mark(digest, act.line) for act in asking}
    unknown = [act for act in asking if (of_folder or not act.typed) and marks[act] not in known]
    if unknown and not trust:
        _ask(label, unknown, look)
    _remember(digest, known | set(marks.values()))


def _ask(label: str, acts: Sequence[PlannedAction], look: AnyText) -> None:
    """Raises UserError unless the user says yes."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        more = said(", and {n} more", n=len(acts) - 1) if len(acts) > 1 else ""
        raise UserError(
            "{label}: it was not run here before as it is, and a run {line}{more}; read {look}, then add {option}",
            label=terminal.printable(label),
            line=acts[0].told if len(acts[0].line) <= SHOWN_CHARACTERS else _shortened(acts[0].line),
            more=more,
            look=look,
            option=OPTION,
        )
    terminal.remark(
        _(
            "{label} was not run here before as it is. What a run does ({summary}):",
            label=terminal.printable(label),
            summary=summary(acts),
        )
    )
    for kind in KINDS:
        of_kind = [act for act in acts if act.kind == kind]
        for act in of_kind[:SHOWN_LINES]:
            terminal.print_unredacted(f"  {_shortened(act.spoken)}", result=False)
        if len(of_kind) > SHOWN_LINES:
            terminal.remark(
                _(
                    "  {kind} {more} more that are not named here: read {look}",
                    kind=kind if language() == ENGLISH else translated(KINDS[kind]),
                    more=len(of_kind) - SHOWN_LINES,
                    look=look,
                )
            )
    if not terminal.confirmed(_("{summary}; programs run with your rights. Run it? [y/N] ", summary=summary(acts))):
        raise UserError("{label}: not trusted; nothing was started", label=terminal.printable(label))


def summary(acts: Sequence[PlannedAction]) -> str:
    """Return how many there are of each kind: `programs: 2, addresses: 1`."""
    numbers = Counter(act.kind for act in acts)
    return ", ".join(f"{translated(named)}: {numbers[kind]}" for kind, named in KINDS.items() if numbers[kind])


def _shortened(line: str) -> str:
    """A long one without its middle: what matters may stand at either end."""
    if len(line) <= SHOWN_CHARACTERS:
        return line
    half = SHOWN_CHARACTERS // 2
    left_out = _("[{n} characters are left out here]", n=len(line) - 2 * half)
    return f"{line[:half]} {left_out} {line[-half:]}"


def _mark(digest: str, line: str) -> str:
    """What is kept of an act. Its key is the hash of the contents, so that nobody finds a password by trying.

    Who has the contents has what stands in them; the file's name does not tell their hash.
    """
    return hmac.new(digest.encode(), line.encode(errors="surrogateescape"), hashlib.sha256).hexdigest()


def _file(digest: str) -> Path:
    return cache_folder() / FOLDER / f"{_mark(digest, 'name')}.json"


def _known(digest: str) -> set[str]:
    """The marks of the acts that were answered for this content; none where that cannot be read."""
    try:
        answered = read_json(_file(digest), LARGEST_BYTES)
        return {one for one in answered["acts"] if isinstance(one, str)}
    except (OSError, ValueError, LookupError, TypeError):
        return set()


def _remember(digest: str, marks: Collection[str]) -> None:
    """Keep an answer; where that is not possible, it is asked again."""
    try:
        file = _file(digest)
        file.parent.mkdir(mode=0o700, exist_ok=True)
        replace_file(file, json.dumps({"format": 2, "acts": sorted(marks)}).encode())
    except OSError:
        return


def digest_of(experiment: Experiment, run_plan: RunPlan) -> str:
    """A hash that changes with every byte that the run is made of. Pins each file.

    Raises:
        UserError: one cannot be read.
    """
    pinned_files.forget()
    source = experiment.source
    parts = [source.digest or hashlib.sha256(json.dumps(source.data, default=str).encode()).hexdigest()]
    known: set[str] = set()
    for trial in run_plan.every_trial:
        for subject in trial.subjects.values():
            if subject.manifest is not None and subject.manifest not in known:
                known.add(subject.manifest)
                if Path(subject.manifest).parent.resolve() != subject_names.FOLDER.resolve():
                    parts += _of_subject(Path(subject.manifest))
        word = driver_names.DriverWord.of(trial.driver).place
        if word not in (*known, driver_names.NATIVE, *driver_names.names()):
            known.add(word)
            parts += _of_driver(Path(word))
        files = [trial.plan.data.path] if trial.plan.data is not None else []
        files += [trial.plan.recording.path] if trial.plan.recording is not None else []
        for settings in trial.servers.values():
            files += [str(settings[key]) for key in program_fields(settings) if settings.get(key)]
        for file in (one for one in files if one not in known):
            known.add(file)
            parts += [_pinned(Path(file))] if Path(file).is_file() else []
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def digest_of_driver(path: Path) -> str:
    """Return the digest of a client library's program by itself. Raises UserError."""
    pinned_files.forget()
    return hashlib.sha256("\n".join(_of_driver(path)).encode()).hexdigest()


def _of_subject(path: Path) -> Iterator[str]:
    file = path / subject_manifest.FILE if path.is_dir() else path
    yield _pinned(file)  # before it is read, so that what is read is this
    manifest, folder = subject_manifest.read_manifest(path)
    yield from _of_build(manifest.build, folder)
    for script in manifest.scripts.values():
        yield _pinned(folder / script)
    for one in pinned_files.named_files(manifest.run.command, folder, {}):
        yield _pinned(one)


def _of_driver(path: Path) -> Iterator[str]:
    file = path / driver_manifest.FILE if path.is_dir() else path
    yield _pinned(file)
    manifest, folder = driver_manifest.read_driver_manifest(path)
    yield from _of_build(manifest.build, folder)
    for one in pinned_files.named_files(manifest.run.command, folder, {"folder": str(folder)}):
        yield _pinned(one)


def _of_build(build: Build | None, folder: Path) -> Iterator[str]:
    if build is not None:
        root = (folder / build.root).resolve()
        try:
            yield pinned_files.pin_digest(pinned_as(root), source_hash(build, root))
        except OSError as error:
            raise UserError("{root}: its sources cannot be read ({error}); allow it", root=root, error=error) from None


def _pinned(path: Path) -> str:
    try:
        return f"{path.absolute()} {pinned_files.pin_file(path)}"
    except OSError as error:
        raise UserError(
            "{path}: cannot be read ({strerror}); correct the path, or its permissions",
            path=path,
            strerror=error.strerror,
        ) from None
