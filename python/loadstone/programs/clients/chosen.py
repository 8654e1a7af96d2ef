"""The drivers that a run names, checked against its plans before anything starts."""

import re
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from loadstone.experiment.plan.drive_plan import Plan
from loadstone.experiment.plan.driver_features import OPTIONAL, needed
from loadstone.experiment.plan.run_plan import RunPlan
from loadstone.experiment.spec.driver_names import NATIVE, VERSION, DriverWord, driver_path
from loadstone.machine.installed_programs import require_programs
from loadstone.programs.build import OtherVersion
from loadstone.programs.clients.manifest import DriverManifest, read_driver_manifest
from loadstone.safety.errors import UserError
from loadstone.text.message import AnyText, Message, said
from loadstone.text.wording import listed, nearest

_VERSION = re.compile(r"\d[0-9A-Za-z.+-]{0,39}", re.ASCII)


@dataclass(frozen=True)
class ChosenDriver:
    """A driver as an experiment chose it."""

    word: str
    manifest: DriverManifest
    folder: Path
    options: dict[str, str]
    """The value of every option of the manifest."""
    other: OtherVersion | None = None
    """Where another version of the library was asked for; it is the manifest's here, too."""
    called: str = ""
    """Name in messages: `driver jedis:version=7.1.0`, or the option that named it."""

    def share(self, plan: Plan) -> Plan:
        """The plan as this driver gets it: with its least warm-up, and without what it may leave out.

        Work that ends by itself is not warmed up for longer: there might be nothing left of it to measure.
        """
        changed: dict[str, object] = {}
        if self.manifest.warm_up_s > plan.phases.warm_up_s and not plan.ends_by_itself:
            changed["phases"] = plan.phases.model_copy(update={"warm_up_s": self.manifest.warm_up_s})
        if OPTIONAL not in self.manifest.can.features and plan.verify.read_back_max:
            changed["verify"] = plan.verify.model_copy(update={"read_back_max": 0})
        if plan.model.spin_us is None:
            changed["model"] = plan.model.model_copy(update={"spin_us": 0.0})  # its program waits as it does
        return plan.model_copy(update=changed) if changed else plan


def chosen_driver(word: str, called: str = "") -> ChosenDriver:
    """The driver that a resolved word means. Raises UserError: there is no such driver, or option of it.

    `called`: how messages call it, e.g. `--head jedis=7.4.1`; empty: as the driver that it is.
    """
    meant = DriverWord.of(word)
    try:
        path = driver_path(meant.place, Path())
    except ValueError as problem:
        raise UserError("driver: {problem}", problem=problem) from None
    manifest, folder = read_driver_manifest(path)
    options = {name: values[0] for name, values in manifest.options.items()}
    usual = f"driver {manifest.name}"
    other: OtherVersion | None = None
    for name, value in meant.options:
        if name == VERSION:
            other = _other_version(manifest, value, called or f"{usual}:{VERSION}={value}")
            continue
        if name not in options:
            known = (
                listed([*options, *([VERSION] if manifest.build and manifest.build.version_commands else [])]) or "none"
            )
            raise UserError(
                "{driver}: '{name}' is no option; {hint}it has: {known}",
                driver=called or usual,
                name=name,
                hint=nearest(name, options),
                known=known,
            )
        if value not in manifest.options[name]:
            values = listed(manifest.options[name])
            raise UserError(
                "{driver}: {name}: '{value}' is not known; write one of: {values}",
                driver=called or usual,
                name=name,
                value=value,
                values=values,
            )
        options[name] = value
    if other is not None:
        manifest = manifest.model_copy(update={"version": other.version})
        usual = f"{usual}:{VERSION}={other.version}"
    return ChosenDriver(word, manifest, folder, options, other, called or usual)


def _other_version(manifest: DriverManifest, version: str, word: str) -> OtherVersion | None:
    """Return how a version of the library is built; None: it is the one that is built anyway. Raises UserError."""
    if version == manifest.version:
        return None
    if not _VERSION.fullmatch(version):
        raise UserError("{word}: no version; write it in full, as {pinned}", word=word, pinned=manifest.version)
    commands = () if manifest.build is None else manifest.build.version_commands
    if not commands:
        raise UserError(
            "{word}: it is built with {pinned} alone; leave it out, or add build.version_commands to its driver.yaml",
            word=word,
            pinned=manifest.version,
        )
    filled = tuple(command.replace("{version}", version) for command in commands)
    return OtherVersion(manifest.library, version, manifest.version, filled)


def chosen_drivers(run_plan: RunPlan) -> dict[str, ChosenDriver]:
    """Every driver of a run that is a program, by its word; what builds and runs it is there, and it can drive.

    Raises:
        UserError: one cannot; names the field and the value, and what can be measured without it.
    """
    chosen: dict[str, ChosenDriver] = {}
    lacking: dict[str, Message] = {}
    for trial in run_plan.every_trial:
        if trial.driver == NATIVE:
            continue
        if trial.driver not in chosen:
            chosen[trial.driver] = chosen_driver(trial.driver)
            try:
                require_programs(chosen[trial.driver].called, chosen[trial.driver].manifest)
            except UserError as problem:
                lacking[trial.driver] = problem.message
        require_can(chosen[trial.driver].manifest, trial.plan)
    if lacking:
        raise UserError("{why}{others}", why=next(iter(lacking.values())), others=measured_without(run_plan, lacking))
    return chosen


def measured_without(run_plan: RunPlan, lacking: Collection[str]) -> AnyText:
    """Return how to measure what these drivers are not needed for, where a factor's levels tell them from the
    others."""
    trials = run_plan.every_trial
    for factor in trials[0].condition:
        theirs = {trial.condition[factor] for trial in trials if trial.driver in lacking}
        others = dict.fromkeys(trial.condition[factor] for trial in trials if trial.driver not in lacking)
        if others and not theirs & others.keys():
            only = f"{factor}={','.join(map(str, others))}"
            return said("; or measure the others: --only {only}", only=only)
    return ""


def require_can(manifest: DriverManifest, plan: Plan) -> None:
    """Raises UserError where a driver cannot carry a plan out; names the field, the value and what helps."""
    can, model, distribution = manifest.can, plan.model.kind, plan.keys.distribution
    for field, value, known in (
        ("protocol", plan.protocol, can.protocols),
        ("model.kind", model, can.models),
        ("keys.distribution", distribution, can.distributions),
    ):
        if value not in known:
            raise UserError(
                "driver {manifest}: {field}: it cannot drive '{value}'; it can: {known}",
                manifest=manifest.name,
                field=field,
                value=value,
                known=listed(known),
            )
    for feature, place, requested in needed(plan):
        if feature not in can.features:
            raise UserError(
                "driver {manifest}: {field}: it cannot drive '{value}' (feature '{feature}'); leave it out, or use "
                "driver {native}",
                manifest=manifest.name,
                field=place,
                value=requested,
                feature=feature,
                native=NATIVE,
            )
