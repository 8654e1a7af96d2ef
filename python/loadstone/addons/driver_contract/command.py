"""`loadstone check driver`: one driver through the whole of its contract, part by part."""

import tempfile
from collections import Counter
from collections.abc import Callable, Collection
from pathlib import Path

from loadstone.addons.driver_contract.lab import lab_of
from loadstone.addons.driver_contract.parts import PARTS, named, tried
from loadstone.experiment.spec.driver_names import NATIVE, DriverWord, resolved
from loadstone.experiment.spec.driver_names import names as built_in
from loadstone.machine.installed_programs import require_programs
from loadstone.programs.clients.chosen import chosen_driver
from loadstone.run.consent import require_consent_to_driver
from loadstone.safety.errors import UserError
from loadstone.servers.server import DeployContext
from loadstone.text.language import _
from loadstone.text.message import AnyText
from loadstone.text.wording import listed

FAILED_STATUS = 3


def check_driver(
    word: str,
    names: Collection[str],
    say: Callable[[str], None],
    progress: Callable[[AnyText], None],
    *,
    trust: bool = False,
) -> int:
    """Try it out on a Redis of its own, and say a line a part; the exit status.

    Args:
        word: the driver's name or path, with its options.
        names: of parts, or pieces of them; without any it is tried on all.
        say: takes the lines of the table.
        progress: takes what is being done before.
        trust: whether a program that was not run here before may be run without a question.

    Raises:
        UserError: there is no such driver or part, what it requires is missing, or it does not build.
    """
    parts = named(names)
    if not parts:
        raise UserError(
            "--part: no part has {names} in its name; parts are: {parts}",
            names=listed(names),
            parts=listed((n for n, _ in PARTS)),
        )
    try:
        meant = resolved(word, Path())
    except ValueError as problem:
        raise UserError("check driver: {problem}", problem=problem) from None
    if meant == NATIVE:
        raise UserError("check driver: the native engine is no program; name one of a client library")
    place = DriverWord.of(meant).place
    if place not in built_in():
        require_consent_to_driver(Path(place), trust=trust)
    chosen = chosen_driver(meant)
    require_programs(chosen.called, chosen.manifest)
    outcomes = Counter[str]()
    with tempfile.TemporaryDirectory(prefix="loadstone-check-") as work:
        folder = Path(work)
        context = DeployContext(work_root=folder, log_folder=folder / "logs", progress=progress)
        say(f"{chosen.manifest.title}: {chosen.manifest.library} {chosen.manifest.version}")
        with lab_of(chosen, folder, context) as lab:
            for part in tried(lab, parts):
                say(f"{part.outcome:<7} {part.name:<28} {part.said}")
                outcomes[part.outcome] += 1
    figures = {"passed": outcomes["passed"], "failed": outcomes["FAILED"], "skipped": outcomes["skipped"]}
    if outcomes["skipped"]:
        say(
            _(
                "{passed} passed, {failed} failed, {skipped} skipped, which the manifest does not claim",
                **figures,
            )
        )
    else:
        say(_("{passed} passed, {failed} failed", **figures))
    return FAILED_STATUS if outcomes["FAILED"] else 0
