"""What the parts of a run need of this machine: all of it is looked at before anything is built or started."""

from collections.abc import Sequence
from pathlib import Path

from loadstone.experiment.plan.required import named_host
from loadstone.experiment.plan.run_plan import RunPlan
from loadstone.experiment.spec.driver_names import NATIVE
from loadstone.machine.extras import MEGABYTES, Extra
from loadstone.machine.fetched_programs import FetchedProgram
from loadstone.machine.installation import own_command
from loadstone.machine.needs import Need, each_once, left_to_pages, line_for, missing, programs_needed
from loadstone.programs.clients.chosen import chosen_driver, measured_without
from loadstone.programs.manifest import read_manifest
from loadstone.run.request import RunRequest
from loadstone.safety.errors import UserError
from loadstone.servers import registry
from loadstone.text.message import AnyText, joined, said


def needs_of(run_plan: RunPlan, *, trusted: bool = False) -> list[Need]:
    """What servers, applications and client libraries on this machine need, there or not.

    `trusted`: as of `programs_needed`. Raises UserError for settings, manifests and drivers that are wrong.
    """
    needs: dict[str, list[Need]] = {}
    for trial in run_plan.every_trial:
        for name, settings in trial.servers.items():
            key = repr((name, settings))
            if key not in needs and named_host(settings) is None:
                needs[key] = list(registry.needs(name, settings))
        for name, subject in trial.subjects.items():
            key = repr((name, subject.manifest))
            if key not in needs and subject.manifest is not None and subject.host is None:
                manifest, _ = read_manifest(Path(subject.manifest))
                needs[key] = programs_needed(f"subject {name}", manifest, trusted=trusted)
        if trial.driver != NATIVE and trial.driver not in needs:
            needs[trial.driver] = _of_driver(trial.driver, trusted=trusted)
    return each_once(need for part in sorted(needs) for need in needs[part])


def require_all(run_plan: RunPlan, options: RunRequest, *, trusted: bool = False) -> None:
    """Returns if everything is there. `trusted`: as of `programs_needed`.

    Raises:
        UserError: something is not: all of it, with one line that gets it.
    """
    lacking = missing(needs_of(run_plan, trusted=trusted))
    if not lacking:
        return
    drivers = {trial.driver for trial in run_plan.every_trial} - {NATIVE}
    of_drivers = {word for word in drivers if missing(_of_driver(word, trusted=trusted))}
    only_drivers = all(need.needed_by.startswith("driver ") for need in lacking)
    raise UserError(
        "this machine lacks {lacking}{remedy}{others}",
        lacking=joined(", ", map(_told, lacking)),
        remedy=remedy(lacking, options),
        others=measured_without(run_plan, of_drivers) if only_drivers else "",
    )


def _of_driver(word: str, *, trusted: bool) -> list[Need]:
    chosen = chosen_driver(word)
    return programs_needed(chosen.called, chosen.manifest, trusted=trusted)


def _told(need: Need) -> AnyText:
    if str(need.problem) == "not installed":
        return f"{need.name} ({need.needed_by})"
    return said("{name} ({parts}: {problem})", name=need.name, parts=need.needed_by, problem=need.problem)


def remedy(lacking: Sequence[Need], options: RunRequest) -> AnyText:
    """The line that gets what is missing, what that transfers or takes, and whose makers have to be asked."""
    setup = _setup(options)
    line = line_for(lacking, setup)
    brought: list[AnyText] = [one.title for one in to_fetch(lacking)] if setup else []
    brought += [f"loadstone[{extra}], {MEGABYTES[extra]} MB" for extra in extras_in(lacking)]
    pages = ", ".join(f"{name}: {page}" for name, page in left_to_pages(lacking).items())
    told = [
        said("; get all by: {line}", line=line) if line else "",
        said(" (which fetches {fetched})", fetched=joined("; ", brought)) if brought else "",
        said("; by hand: {pages}", pages=pages) if pages else "",
    ]
    return joined("", [part for part in told if part]) if any(told) else ""


def to_fetch(lacking: Sequence[Need]) -> list[FetchedProgram]:
    """Each program that `loadstone setup` would fetch, once."""
    return list(dict.fromkeys(need.fetched for need in lacking if need.fetched and need.is_for_setup))


def extras_in(lacking: Sequence[Need]) -> list[Extra]:
    """Each extra that would be installed, once."""
    return list(dict.fromkeys(need.extra for need in lacking if need.extra and need.is_for_setup))


def _setup(options: RunRequest) -> list[str]:
    """The words of `loadstone setup` for what is asked; none where the command line itself describes the run."""
    if options.described is not None or not options.experiment:
        return []
    words = [own_command(), "setup", options.experiment]
    for option, values in (("--only", options.only), ("--set", options.set)):
        words += [word for value in values for word in (option, value)]
    return [*words, *(["--driver", options.driver] if options.driver else [])]
