"""`loadstone doctor STUDY` and `loadstone setup STUDY`: what an experiment needs of this machine, shown, or fetched."""

from collections.abc import Callable

from loadstone.machine.extras import add
from loadstone.machine.needs import missing
from loadstone.run.needs import extras_in, needs_of, remedy, require_all, to_fetch
from loadstone.run.prepare import requested_experiment, requested_plan
from loadstone.run.request import RunRequest
from loadstone.safety.errors import UserError
from loadstone.text.language import _, in_language


def examine_needs(options: RunRequest, say: Callable[[str], None]) -> bool:
    """Print what an experiment needs of this machine, a line each, and what gets all; False if something is missing.

    Raises UserError.
    """
    needs = needs_of(requested_plan(requested_experiment(options), options))
    for need in needs:
        verdict = _("ok") if not need.problem else _("lacks")
        told = in_language(need.problem or need.found)
        say(f"{verdict:<6} {need.name:<16} {told} ({need.needed_by})")
    lacking = missing(needs)
    if lacking and (told := remedy(lacking, options)):
        say("")
        say(in_language(told).removeprefix("; "))
    return not lacking


def set_up(options: RunRequest, say: Callable[[str], None]) -> None:
    """Get what an experiment needs and registries have; print what is fetched.

    Raises:
        UserError: a fetch failed, or something is still missing that no registry has.
    """
    run_plan = requested_plan(requested_experiment(options), options)
    lacking = missing(needs_of(run_plan))
    try:
        for program in to_fetch(lacking):
            program.fetch(say)
    except OSError as error:
        raise UserError("setup: {error}; free some room, or set XDG_CACHE_HOME to another disk", error=error) from None
    if extras := extras_in(lacking):
        add(extras, say)
    require_all(run_plan, options)
    say(_("all that {experiment} needs is here", experiment=options.experiment))
