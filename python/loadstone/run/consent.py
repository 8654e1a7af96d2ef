"""Whether someone else's experiment may run: shows what it would do, and asks once for each content.

The threat:

- A stranger writes an experiment, a manifest of an application or a driver, a run's folder or a file beside them, and
  the user runs it. It may start programs and containers, make servers load code, and send the user's variables, files
  and commands to other machines or to whatever trusts loopback; all with the user's rights.
- Not a stranger: loadstone's own experiments, an installed add-on, and what the user typed on the command line.
- The text of a question may lie: it hides a command as a password, behind control characters, or in a long list.
- Files may change between the answer and their use, and an answer may be kept for a content that it never saw.

So each class lists its own actions (`experiment.action`), all are shown, a field that nobody lists is asked about, and
nothing starts, connects or is looked up before. An answer is kept in the private cache folder, by the hash of all that
the actions rest on and by that of each action that was shown: it is asked again where a byte changes, or another action
comes. Actions are not kept as they were shown: a variable that a shell could run is shown, and may be a password. What
is hashed is pinned (`safety.bounds.pinned_files`): if it is another when it is used, the run ends.
"""

import hashlib
import hmac
import json
import sys
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

from loadstone.experiment.action import KINDS, PlannedAction
from loadstone.experiment.plan.run_plan import RunPlan
from loadstone.experiment.spec.experiment import Experiment
from loadstone.machine.processes.cache_folder import cache_folder
from loadstone.run.actions import actions_of_driver, planned_actions, sent_as_text
from loadstone.safety import terminal
from loadstone.safety.bounds import pinned_files
from loadstone.safety.bounds.files import read_json
from loadstone.safety.bounds.folder_files import replace_file
from loadstone.safety.errors import UserError
from loadstone.text.language import ENGLISH, _, language, translated
from loadstone.text.message import AnyText, said

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
    digest, acts = _planned(experiment, run_plan, secret_files, files_sent)
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
    digest, acts = _planned(experiment, run_plan, secret_files, files_sent)
    return digest, _unanswered(digest, acts, of_folder=of_folder)


def _planned(
    experiment: Experiment, run_plan: RunPlan, secret_files: Sequence[str], files_sent: Sequence[str]
) -> tuple[str, list[PlannedAction]]:
    """The hash of the contents, which are pinned, and the actions; none: the run does nothing that asks."""
    pinned_files.forget()
    actions = planned_actions(experiment, run_plan, secret_files)
    if not any(action.asks for action in actions):
        return "", []
    _pin(actions)  # the manifests that are read for the next line are those that are hashed
    actions = planned_actions(experiment, run_plan, secret_files)
    source = experiment.source
    written = source.digest or hashlib.sha256(json.dumps(source.data, default=str).encode()).hexdigest()
    return _digest(written, *_pin(actions)), sent_as_text(files_sent) + actions


def _pin(actions: Sequence[PlannedAction]) -> list[str]:
    """Pin what the actions rest on; the name and digest of each. Raises UserError where one cannot be read."""
    return sorted({pin() for action in actions for pin in action.pins})


def _digest(*parts: str) -> str:
    return hashlib.sha256("\n".join(parts).encode(errors="surrogateescape")).hexdigest()


def remember_answer(digest: str, acts: Sequence[PlannedAction]) -> None:
    """The user read these acts and said yes, for contents of this hash alone: for others it is asked again."""
    _remember(digest, _known(digest) | {_mark(digest, act.line) for act in acts})


def require_consent_to_driver(path: Path, *, trust: bool) -> None:
    """Require that a client library's program by itself is trusted. Raises UserError."""
    pinned_files.forget()
    _pin(actions_of_driver(path))
    actions = actions_of_driver(path)
    _require(str(path), _digest(*_pin(actions)), actions, said("its manifest"), trust=trust, of_folder=False)


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
    unknown = _unanswered(digest, acts, of_folder=of_folder)
    if unknown and not trust:
        _ask(label, unknown, look)
    remember_answer(digest, asking)


def _unanswered(digest: str, acts: Sequence[PlannedAction], *, of_folder: bool) -> list[PlannedAction]:
    """Those that ask, are not the user's own word, and were not answered for this content."""
    known = _known(digest)
    asking = [act for act in acts if act.asks and (of_folder or not act.typed)]
    return [act for act in asking if _mark(digest, act.line) not in known]


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
                    kind=kind if language() == ENGLISH else translated(KINDS[kind].many),
                    more=len(of_kind) - SHOWN_LINES,
                    look=look,
                )
            )
    if not terminal.confirmed(_("{summary}; programs run with your rights. Run it? [y/N] ", summary=summary(acts))):
        raise UserError("{label}: not trusted; nothing was started", label=terminal.printable(label))


def summary(acts: Sequence[PlannedAction]) -> str:
    """Return how many there are of each kind: `programs: 2, addresses: 1`."""
    numbers = Counter(act.kind for act in acts)
    return ", ".join(f"{translated(named.many)}: {numbers[kind]}" for kind, named in KINDS.items() if numbers[kind])


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
